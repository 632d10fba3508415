//! One try of a transition over one state, without I/O: what would be written, or why nothing is.
//! It joins arbitration and change; it must not know storage.

use std::collections::BTreeSet;

use graphwrite_protocol_types::{
    AttemptId, BaseView, CommitId, Defect, Intent, ManifestDelta, OperationId, Planted,
    ProcessInstanceId, RequestDigest, Stale, TableIdentity,
};

use crate::arbitration::{CommitVerdict, decided_operation, judge_commit, outcome_of};
use crate::change::{Stamp, check_fence};
use crate::hot::{Concerned, HotRows};
use crate::outcome_row::{OutcomeKind, OutcomeRow};
use crate::rows::CommitRow;
use crate::transition::{
    AbortedAttempt, CompensatedAttempt, DiscardedAttempt, InvalidTransition, PinFate, PinMove,
    Transition,
};

type Fates = Vec<(TableIdentity, PinFate)>;

#[derive(Debug)]
pub(crate) enum Decision {
    /// These rows follow; the report is true when they have landed.
    Write { hot: Box<HotRows>, report: Report },
    /// Nothing is to be written.
    Settled(Settled),
}

#[derive(Debug)]
pub(crate) enum Report {
    Committed(Box<CommitRow>),
    Aborted(Vec<OutcomeRow>),
    Sealed(Box<OutcomeRow>),
    PinsMoved(Fates),
    Discarded,
}

#[derive(Debug)]
pub(crate) enum Settled {
    Converged(CommitId),
    AlreadyDecided(Box<OutcomeRow>),
    OperationTaken(Box<OutcomeRow>),
    OperationSealed(Box<OutcomeRow>),
    /// A seal found that the operation is sealed.
    SealedBefore(Box<OutcomeRow>),
    Stale(Stale),
    PinsMoved(Fates),
    DiscardedBefore,
}

/// What a transition is judged over.
pub(crate) struct Ground<'a> {
    pub(crate) base: &'a BaseView,
    pub(crate) hot: &'a HotRows,
    /// Outcome rows of the attempts or their operations, from hot and cold.
    pub(crate) found: &'a [OutcomeRow],
    pub(crate) now_unix_us: u64,
    pub(crate) planted: Planted,
}

impl Transition<'_> {
    /// The attempt on whose behalf the manifest is changed; the first, if there are several.
    pub(crate) fn attempt(&self) -> Result<AttemptId, InvalidTransition> {
        match self {
            Self::Commit { intent, .. } | Self::RollForward { intent, .. } => Ok(intent.attempt),
            Self::Seal { attempt, .. } => Ok(*attempt),
            Self::Abort { attempts, .. } => first_of(attempts.iter().map(|of| of.attempt)),
            Self::MovePins { attempts } => first_of(attempts.iter().map(|of| of.attempt)),
            Self::Discard { attempts, .. } => first_of(attempts.iter().map(|of| of.attempt)),
            Self::AdoptFence(PinMove { from, to, .. }) => {
                let fence = to.tx_uuid.as_fence().map(|(attempt, _)| attempt);
                let refused =
                    || InvalidTransition::NotAFence { from: from.clone(), to: to.clone() };
                fence.ok_or_else(refused)
            }
        }
    }

    /// The attempts and the operation whose outcomes matter to it.
    pub(crate) fn concerns(&self) -> Concerned<'_> {
        match self {
            Self::Commit { intent, .. } | Self::RollForward { intent, .. } => {
                Concerned::one(intent.attempt, Some(&intent.operation))
            }
            Self::Seal { operation, attempt, .. } => Concerned::one(*attempt, Some(operation)),
            Self::Abort { attempts, .. } => {
                Concerned::of(attempts.iter().map(|of| (of.attempt, None)))
            }
            Self::MovePins { attempts } => {
                Concerned::of(attempts.iter().map(|of| (of.attempt, None)))
            }
            Self::Discard { attempts, .. } => {
                Concerned::of(attempts.iter().map(|of| (of.attempt, None)))
            }
            Self::AdoptFence(_) => Concerned::default(),
        }
    }
}

/// The first of the attempts, each of which is named once.
fn first_of(mut attempts: impl Iterator<Item = AttemptId>) -> Result<AttemptId, InvalidTransition> {
    let first = attempts.next().ok_or(InvalidTransition::NoAttempt)?;
    let mut named = BTreeSet::from([first]);
    match attempts.find(|attempt| !named.insert(*attempt)) {
        Some(attempt) => Err(InvalidTransition::AttemptTwice { attempt }),
        None => Ok(first),
    }
}

impl Ground<'_> {
    pub(crate) fn decide(
        &self,
        transition: &Transition<'_>,
    ) -> Result<Decision, InvalidTransition> {
        match transition {
            Transition::Commit { intent, delta } => {
                self.commit(intent, delta, intent.owner.instance)
            }
            Transition::RollForward { intent, delta, by } => self.commit(intent, delta, *by),
            Transition::Abort { attempts, by } => Ok(self.abort(attempts, *by)),
            Transition::Seal { operation, attempt, by, reason } => {
                let kind = OutcomeKind::Sealed { by: *by, reason: reason.clone() };
                Ok(self.seal(self.row(*attempt, operation, None, kind)))
            }
            Transition::MovePins { attempts } => self.move_pins(attempts),
            Transition::Discard { attempts, by } => self.discard(attempts, *by),
            Transition::AdoptFence(pin) => {
                check_fence(&pin.from, &pin.to)?;
                Ok(self.moved([pin], Vec::new()))
            }
        }
    }

    fn stamp(&self) -> Stamp<'_> {
        Stamp {
            version: self.base.manifest.version + 1,
            branch_record: self.base.branch.record,
            forked_at: self.base.branch.identifier.forked_at(),
            at_unix_us: self.now_unix_us,
            line: &self.base.branch.native,
        }
    }

    fn commit(
        &self,
        intent: &Intent,
        delta: &ManifestDelta,
        by: ProcessInstanceId,
    ) -> Result<Decision, InvalidTransition> {
        let settled = match judge_commit(intent, self.base, self.found) {
            CommitVerdict::Publish => return self.graph_commit(intent, delta, by),
            CommitVerdict::Stale(_) if self.compares_no_more(intent) => {
                return self.graph_commit(intent, delta, by);
            }
            CommitVerdict::Converged(commit) => Settled::Converged(commit),
            CommitVerdict::AlreadyDecided(row) => Settled::AlreadyDecided(Box::new(row)),
            CommitVerdict::OperationTaken(row) => Settled::OperationTaken(Box::new(row)),
            CommitVerdict::OperationSealed(row) => Settled::OperationSealed(Box::new(row)),
            CommitVerdict::Stale(stale) => Settled::Stale(stale),
        };
        Ok(Decision::Settled(settled))
    }

    fn graph_commit(
        &self,
        intent: &Intent,
        delta: &ManifestDelta,
        by: ProcessInstanceId,
    ) -> Result<Decision, InvalidTransition> {
        let mut hot = Box::new(self.hot.clone());
        let commit = hot.apply_commit(intent, delta, by, self.stamp())?;
        Ok(Decision::Write { hot, report: Report::Committed(Box::new(commit)) })
    }

    /// [`Defect::ArbitratedOnce`]: the read set was compared when the intent was armed.
    fn compares_no_more(&self, intent: &Intent) -> bool {
        self.planted.has(Defect::ArbitratedOnce) && self.base.manifest != intent.manifest
    }

    fn row(
        &self,
        attempt: AttemptId,
        operation: &OperationId,
        request: Option<RequestDigest>,
        kind: OutcomeKind,
    ) -> OutcomeRow {
        let stamp = self.stamp();
        OutcomeRow {
            attempt,
            operation: operation.clone(),
            request,
            branch_record: stamp.branch_record,
            manifest_version: stamp.version,
            kind,
            recorded_at_unix_us: stamp.at_unix_us,
        }
    }

    /// All of them or none: what was decided about the others was decided over a state that may be
    /// as old as what was not known of this one.
    fn abort(&self, attempts: &[AbortedAttempt], by: ProcessInstanceId) -> Decision {
        let mut decided = attempts.iter().filter_map(|of| outcome_of(of.attempt, self.found));
        if let Some(decided) = decided.next() {
            return Decision::Settled(Settled::AlreadyDecided(Box::new(decided.clone())));
        }
        let row = |of: &AbortedAttempt| {
            let kind = OutcomeKind::Aborted { by, reason: of.reason.clone() };
            self.row(of.attempt, &of.operation, Some(of.request), kind)
        };
        self.with_outcomes(attempts.iter().map(row).collect(), Report::Aborted)
    }

    /// Looks at no attempt and at no table: whatever is pending of the operation can then only be
    /// aborted.
    fn seal(&self, row: OutcomeRow) -> Decision {
        match decided_operation(&row.operation, self.base, self.found) {
            Some(found) if found.sealed().is_some() => {
                Decision::Settled(Settled::SealedBefore(Box::new(found.clone())))
            }
            Some(found) => Decision::Settled(Settled::OperationTaken(Box::new(found.clone()))),
            None => self.with_outcomes(vec![row.clone()], |_| Report::Sealed(Box::new(row))),
        }
    }

    /// Each attempt by itself: what another recoverer has recorded of some is no reason to keep the
    /// others. What is recorded is the same whoever does it.
    fn discard(
        &self,
        attempts: &[DiscardedAttempt],
        by: ProcessInstanceId,
    ) -> Result<Decision, InvalidTransition> {
        if let (false, Some(of)) = (self.base.branch.native.is_main(), attempts.first()) {
            return Err(InvalidTransition::DiscardedOnBranch { attempt: of.attempt });
        }
        let is_news = |of: &&DiscardedAttempt| {
            !self.found.iter().any(|row| row.attempt == of.attempt && row.is_discarded())
        };
        let row = |of: &DiscardedAttempt| {
            let kind = OutcomeKind::Discarded { by, branch: Box::new(of.branch.clone()) };
            self.row(of.attempt, &of.operation, Some(of.request), kind)
        };
        let rows: Vec<OutcomeRow> = attempts.iter().filter(is_news).map(row).collect();
        if rows.is_empty() {
            return Ok(Decision::Settled(Settled::DiscardedBefore));
        }
        Ok(self.with_outcomes(rows, |_| Report::Discarded))
    }

    fn with_outcomes(
        &self,
        rows: Vec<OutcomeRow>,
        report: impl FnOnce(Vec<OutcomeRow>) -> Report,
    ) -> Decision {
        let mut hot = Box::new(self.hot.clone());
        hot.outcomes.extend(rows.iter().cloned());
        Decision::Write { hot, report: report(rows) }
    }

    fn move_pins(&self, attempts: &[CompensatedAttempt]) -> Result<Decision, InvalidTransition> {
        let mut rows = Vec::new();
        for of in attempts {
            rows.extend(self.rolled_back_row(of)?);
        }
        Ok(self.moved(attempts.iter().flat_map(|of| &of.moves), rows))
    }

    /// The row that says that an aborted attempt is taken back, if that is news.
    fn rolled_back_row(
        &self,
        of: &CompensatedAttempt,
    ) -> Result<Option<OutcomeRow>, InvalidTransition> {
        let outcome = outcome_of(of.attempt, self.found);
        let outcome = outcome.filter(|row| !row.decides_operation());
        let outcome = outcome.ok_or(InvalidTransition::NotAborted { attempt: of.attempt })?;
        let is_news = of.rolled_back && outcome.kind != OutcomeKind::RolledBack;
        let stamp = self.stamp();
        Ok(is_news.then(|| OutcomeRow {
            manifest_version: stamp.version,
            kind: OutcomeKind::RolledBack,
            recorded_at_unix_us: stamp.at_unix_us,
            ..outcome.clone()
        }))
    }

    fn moved<'m>(
        &self,
        moves: impl IntoIterator<Item = &'m PinMove>,
        rows: Vec<OutcomeRow>,
    ) -> Decision {
        let mut hot = Box::new(self.hot.clone());
        let fates = hot.apply_moves(moves, self.stamp().version);
        if rows.is_empty() && fates.iter().all(|(_, fate)| *fate != PinFate::Moved) {
            return Decision::Settled(Settled::PinsMoved(fates));
        }
        hot.outcomes.extend(rows);
        Decision::Write { hot, report: Report::PinsMoved(fates) }
    }
}
