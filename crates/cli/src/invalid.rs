//! Rows that break rules, as a failure that lists them.

use graphwrite_coordinator::{
    InputError, PrepareError, Violation, Violations, WriteError, WriteErrorKind,
};

use crate::answer::of_answer;
use crate::classes::class;
use crate::exit::Exit;
use crate::failure::{Detail, Failure};
use crate::text;
use graphwrite_protocol_types::Answer;

/// The rows that a write was refused for, if it was.
pub(crate) fn rows_of(error: &WriteError) -> Option<&Violations> {
    match &error.kind {
        WriteErrorKind::Prepare(PrepareError::Invalid(rows)) => Some(rows),
        _ => None,
    }
}

/// The failure of an input that cannot be used.
pub(crate) fn input(error: &InputError, graph: &str) -> Failure {
    match error {
        InputError::Invalid(violations) => rows(violations, graph),
        InputError::Source(source) => {
            of_answer(class(source.code()), source, source.to_string(), graph)
        }
        InputError::Temp(error) => of_answer(class(error.code()), error, error.to_string(), graph),
        InputError::Limit(limit) => of_answer(class(limit.code()), limit, limit.to_string(), graph),
        other => Failure::new(Exit::Bug, "internal", other.to_string())
            .help("the graph is unchanged; please report this"),
    }
}

/// The failure of rows that break rules.
pub(crate) fn rows(violations: &Violations, graph: &str) -> Failure {
    let listed = violations.listed();
    let shown = match (listed.len() as u64, violations.total()) {
        (shown, total) if shown < total => format!("; the first {shown} are listed"),
        _ => String::new(),
    };
    let faults = text::count(violations.total(), "fault");
    let message = format!("the input has {faults}, so nothing was written{shown}");
    of_answer(Exit::Refused, violations, message, graph)
        .details(listed.iter().map(detail).collect())
}

fn detail(violation: &Violation) -> Detail {
    let field = match (&violation.table, &violation.field) {
        (Some(table), Some(field)) => Some(format!("{table}.{field}")),
        (Some(one), None) | (None, Some(one)) => Some(one.clone()),
        (None, None) => None,
    };
    Detail {
        place: violation.place.to_string(),
        field,
        rule: violation.rule.code().to_owned(),
        message: violation.message.clone(),
    }
}
