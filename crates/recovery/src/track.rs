//! One intent on its way to its end: what looks have shown of it so far. It keeps no fact that a
//! decision is made from; it only counts, so that a pass which gets nowhere ends.

use graphwrite_protocol_types::{AttemptId, Intent};
use tracing::Span;

use crate::facts::AttemptOutcome;
use crate::look::{Look, Subject};
use crate::port::RecordSet;
use crate::resolution::{Resolution, StopReason, stopped};
use crate::rule::{Rule, Verdict};
use crate::span;
use crate::standing::Standing;
use crate::wait::Owner;

/// How many looks in a row may show the same before the pass gives an intent up.
const IDLE_LOOKS_MAX: u32 = 6;

/// How many looks a pass may take at one intent in all: ample for every step of the largest plan,
/// and a bound on a manifest that is always busy.
const LOOKS_MAX: u32 = 256;

/// One intent that is to be taken to its end.
#[derive(Debug, Clone, Copy)]
pub struct Pending<'a> {
    /// The intent.
    pub intent: &'a Intent,
    /// Its control records as last listed; an owner that resolves its own attempt passes what it
    /// created.
    pub records: &'a RecordSet,
    /// What is known of its owner.
    pub owner: &'a Owner,
}

pub(crate) struct Track<'a> {
    pub(crate) pending: Pending<'a>,
    /// Whether this pass published it.
    pub(crate) published: bool,
    idle_looks: u32,
    looks: u32,
    last_seen: Option<(AttemptOutcome, Vec<Standing>)>,
    /// What stood in the way last.
    trouble: String,
    /// The rules that decided, in order, without repetitions.
    rules: Vec<Rule>,
    span: Span,
    ended: Option<&'static str>,
}

impl<'a> Track<'a> {
    pub(crate) fn new(pending: Pending<'a>) -> Self {
        Self {
            pending,
            published: false,
            idle_looks: 0,
            looks: 0,
            last_seen: None,
            trouble: String::from("every manifest slot went to somebody else"),
            rules: Vec::new(),
            span: span::of(pending.intent, pending.owner),
            ended: None,
        }
    }

    pub(crate) fn intent(&self) -> &'a Intent {
        self.pending.intent
    }

    pub(crate) fn attempt(&self) -> AttemptId {
        self.pending.intent.attempt
    }

    pub(crate) fn subject(&self) -> Subject<'a> {
        (self.pending.intent, self.pending.owner)
    }

    pub(crate) fn note(&mut self, look: &Look) {
        let judgement = &look.judgement;
        let seen = (look.authority.outcome, judgement.standings.clone());
        let idle = self.last_seen.as_ref() == Some(&seen);
        self.idle_looks = if idle { self.idle_looks + 1 } else { 0 };
        self.looks += 1;
        if self.rules.last() != Some(&judgement.rule) {
            self.rules.push(judgement.rule);
        }
        self.last_seen = Some(seen);
        self.span.in_scope(|| {
            tracing::debug!(attempt = %self.attempt(), rule = ?judgement.rule,
                decision = ?judgement.decision, "recovery decision");
        });
    }

    /// Nothing was tried for it since the last look, so that the next one may show the same.
    pub(crate) fn forget_seen(&mut self) {
        self.last_seen = None;
    }

    pub(crate) fn note_trouble(&mut self, cause: String) {
        self.trouble = cause;
    }

    pub(crate) fn idle_looks(&self) -> u32 {
        self.idle_looks
    }

    pub(crate) fn is_exhausted(&self) -> bool {
        self.idle_looks >= IDLE_LOOKS_MAX || self.looks >= LOOKS_MAX
    }

    pub(crate) fn without_progress(&self, look: &Look) -> Resolution {
        let reason = StopReason::NoProgress { last: self.trouble.clone() };
        stopped(self.intent(), look, None, reason)
    }

    pub(crate) fn forbidden(&self, look: &Look, verdict: Verdict) -> Resolution {
        stopped(self.intent(), look, None, StopReason::ModeForbids(verdict))
    }

    pub(crate) fn end(mut self, resolution: Resolution) -> (AttemptId, Resolution) {
        self.ended = Some(resolution.name());
        (self.attempt(), resolution)
    }
}

/// A track that goes without an end met a fault.
impl Drop for Track<'_> {
    fn drop(&mut self) {
        span::ended(&self.span, &self.rules, self.ended);
    }
}
