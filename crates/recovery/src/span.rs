//! The span of one intent on its way to its end: whose it is, which rules decided, what came of it.
//! It decides nothing.

use std::fmt;

use graphwrite_protocol_types::Intent;
use tracing::field::{Empty, display};
use tracing::{Span, info_span};

use crate::rule::Rule;
use crate::wait::Owner;

/// The name of the span.
pub const RESOLVE_SPAN: &str = "resolve";

pub(crate) fn of(intent: &Intent, owner: &Owner) -> Span {
    info_span!(
        RESOLVE_SPAN,
        operation = %intent.operation,
        attempt = %intent.attempt,
        branch = %intent.branch.name,
        writer = intent.writer.name(),
        owner = ?owner,
        rules = Empty,
        resolution = Empty,
    )
}

pub(crate) fn ended(span: &Span, rules: &[Rule], resolution: Option<&'static str>) {
    span.record("rules", display(Names(rules)));
    span.record("resolution", resolution.unwrap_or("fault"));
}

/// Rules as `TakeBack,Aborted,RolledBack`.
struct Names<'a>(&'a [Rule]);

impl fmt::Display for Names<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, rule) in self.0.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(f, "{comma}{rule:?}")?;
        }
        Ok(())
    }
}
