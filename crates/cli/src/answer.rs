//! Turns the outcome of a write into a receipt or a failure: the one place where outcomes get their
//! exit codes.

use graphwrite_protocol_types::{
    Answer, BranchDeleted, OperationId, Unknown, Unresolved, WriteOutcome,
};

use crate::exit::Exit;
use crate::failure::{Effect, Failure};
use crate::in_the_way::InTheWay;
use crate::report::ReceiptReport;

/// `operation` is the caller's own key, if the request had one.
pub(crate) fn settled(
    outcome: &WriteOutcome,
    operation: Option<&OperationId>,
    graph: &str,
) -> Result<ReceiptReport, Failure> {
    let failure = match outcome {
        WriteOutcome::Committed(receipt) => return Ok(ReceiptReport::committed(receipt)),
        WriteOutcome::NoChange(receipt) => return Ok(ReceiptReport::no_change(receipt)),
        WriteOutcome::Conflict(conflict) => {
            of_answer(Exit::Conflict, conflict, conflict.to_string(), graph)
        }
        WriteOutcome::RecoveryRequired(unresolved) => {
            of_answer(Exit::Recovery, outcome, unresolved_message(unresolved), graph)
        }
        WriteOutcome::Contended(contention) => {
            let in_the_way = InTheWay::from(contention);
            of_answer(Exit::Recovery, outcome, in_the_way.message(), graph).contention(in_the_way)
        }
        WriteOutcome::BranchDeleted(deleted) => {
            return Err(of_answer(Exit::Conflict, outcome, deleted_message(deleted), graph)
                .operation(&deleted.operation));
        }
        WriteOutcome::OutcomeUnknown(unknown) => {
            return Err(of_answer(Exit::Unknown, outcome, unknown_message(unknown), graph)
                .operation(&unknown.operation));
        }
    };
    Err(Failure { operation: operation.map(|id| id.to_string().into()), ..failure })
}

/// A failure with an answer's own code, help and effect.
pub(crate) fn of_answer(
    exit: Exit,
    answer: &(impl Answer + ?Sized),
    message: String,
    graph: &str,
) -> Failure {
    let effect = if answer.had_no_effect() { Effect::None } else { Effect::Unknown };
    Failure::new(exit, answer.code(), message)
        .help(named(&answer.help(), graph))
        .effect(effect)
        .may_retry(answer.may_retry())
}

/// A remedy whose commands can be copied: they name the graph at hand.
pub(crate) fn named(help: &str, graph: &str) -> String {
    help.replace("<graph>", graph)
}

fn unresolved_message(unresolved: &Unresolved) -> String {
    let Unresolved { attempt, operation, table, reason } = unresolved;
    let request = operation.as_ref().map(|id| format!(" of operation {id}")).unwrap_or_default();
    let place = table.as_ref().map(|table| format!(" at {table}")).unwrap_or_default();
    format!(
        "attempt {attempt}{request} was interrupted{place} and cannot be resolved here: {reason}"
    )
}

fn deleted_message(deleted: &BranchDeleted) -> String {
    let name = &deleted.branch.name;
    let landed = deleted
        .landed
        .map(|commit| format!("; commit {commit} landed on it, which nobody reads by its name"));
    format!("branch `{name}` was deleted{}", landed.unwrap_or_default())
}

fn unknown_message(unknown: &Unknown) -> String {
    let Unknown { operation, attempt, cause, .. } = unknown;
    format!("whether operation {operation} (attempt {attempt}) committed is not known: {cause}")
}
