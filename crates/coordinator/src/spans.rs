//! The spans of a write and of recovery: a closed list of names, each with the ids of what it is
//! about. It must not know what a stage does. Without a subscriber nothing is formatted.

use graphwrite_protocol_types::{
    Answer, AttemptId, OperationId, Receipt, TableSummary, WriteOutcome, WriterKind,
};
use tracing::field::{Empty, display};
use tracing::{Span, debug_span, info_span};

use crate::core::Core;
use crate::error::WriteErrorKind;
use crate::operation::Write;
use crate::restart::Attempted;
use crate::{RecoverError, RecoverRequest, WriteError};

/// Every span name, outermost first; the stages of RFC-022 section 4 in their order.
/// `docs/operations.md` says what each carries.
pub const SPANS: [&str; 12] = [
    "write",
    "attempt",
    "barrier",
    "prepare",
    "gates",
    "revalidate",
    "arm",
    "effects",
    "publish",
    "finalize",
    "recover",
    graphwrite_recovery::RESOLVE_SPAN,
];

/// The span of one request.
pub(crate) fn write(core: &Core, write: &Write) -> Span {
    info_span!(
        "write",
        operation = %write.operation,
        branch = %core.branch().name,
        writer = write.writer().name(),
        outcome = Empty,
        attempt = Empty,
        restarts = Empty,
        tables = Empty,
        rows = Empty,
    )
}

/// Records how the request ended.
pub(crate) fn answered(span: &Span, answered: &Result<WriteOutcome, WriteError>) {
    span.record("outcome", code_of(answered));
    if let Ok(WriteOutcome::Committed(receipt) | WriteOutcome::NoChange(receipt)) = answered {
        record_receipt(span, receipt);
    }
}

fn code_of(answered: &Result<WriteOutcome, WriteError>) -> &'static str {
    match answered {
        Ok(outcome) => outcome.code(),
        Err(error) => error.code(),
    }
}

fn record_receipt(span: &Span, receipt: &Receipt) {
    let rows = |table: &TableSummary| table.inserted + table.updated + table.deleted;
    span.record("attempt", display(receipt.attempt));
    span.record("restarts", receipt.restarts);
    span.record("tables", receipt.tables.len());
    span.record("rows", receipt.tables.iter().map(rows).sum::<u64>());
}

/// Recovery on request.
pub(crate) fn recover(core: &Core, request: &RecoverRequest) -> Span {
    info_span!(
        "recover",
        branch = %core.branch().name,
        attempt = request.attempt.map(display),
        mode = ?request.mode,
        resolved = Empty,
        error = Empty,
    )
}

/// Records how many intents recovery on request took up.
pub(crate) fn recovered(
    span: &Span,
    report: &Result<graphwrite_recovery::BarrierReport, RecoverError>,
) {
    match report {
        Ok(report) => span.record("resolved", report.resolved.len()),
        Err(error) => span.record("error", error.code()),
    };
}

/// One attempt: its span, and the ids that the spans of its stages carry as well, so that each can be
/// found by itself.
#[derive(Debug, Clone)]
pub(crate) struct Trace {
    operation: OperationId,
    pub(crate) attempt: AttemptId,
    branch: String,
    writer: WriterKind,
    span: Span,
}

/// The span of one stage. Further fields are results, recorded when they are known.
macro_rules! stage {
    ($name:literal, $trace:expr $(, $result:ident)*) => {
        debug_span!(
            $name,
            operation = %$trace.operation,
            attempt = %$trace.attempt,
            branch = %$trace.branch,
            writer = $trace.writer.name(),
            $($result = Empty,)*
        )
    };
}

impl Trace {
    /// An attempt of `write` after `restarts` others. Made inside the span of the request.
    pub(crate) fn new(core: &Core, write: &Write, restarts: u32) -> Self {
        let (operation, attempt) = (write.operation.clone(), write.mint_attempt(core));
        let (branch, writer) = (core.branch().name, write.writer());
        let span = info_span!(
            "attempt",
            %operation,
            %attempt,
            %branch,
            writer = writer.name(),
            restarts,
            outcome = Empty,
            restart = Empty,
            obstacle = Empty,
            gate_wait_us = Empty,
            gate_hold_us = Empty,
        );
        Self { operation, attempt, branch, writer, span }
    }

    /// The span of the attempt.
    pub(crate) fn span(&self) -> Span {
        self.span.clone()
    }

    /// Records how the attempt ended: with an answer, or with `restart` and what stood in its way.
    pub(crate) fn ended(&self, ended: &Result<Attempted, WriteErrorKind>) {
        match ended {
            Ok(Attempted::Done(outcome)) => self.span.record("outcome", outcome.code()),
            Ok(Attempted::Again(obstacle)) => {
                self.span.record("outcome", "restart");
                self.span.record("restart", obstacle.reason().name());
                self.span.record("obstacle", display(obstacle))
            }
            Err(kind) => self.span.record("outcome", kind.code()),
        };
    }

    /// Stage A.
    pub(crate) fn barrier(&self) -> Span {
        stage!("barrier", self)
    }

    /// Stage B.
    pub(crate) fn prepare(&self) -> Span {
        stage!("prepare", self)
    }

    /// Stage C, from asking for the gates to their grant.
    pub(crate) fn gates(&self) -> Span {
        stage!("gates", self)
    }

    /// Stage D.
    pub(crate) fn revalidate(&self) -> Span {
        stage!("revalidate", self)
    }

    /// Stage E.
    pub(crate) fn arm(&self) -> Span {
        stage!("arm", self)
    }

    /// Stage F.
    pub(crate) fn effects(&self) -> Span {
        stage!("effects", self)
    }

    /// Stage G.
    pub(crate) fn publish(&self) -> Span {
        stage!("publish", self)
    }

    /// Stage H.
    pub(crate) fn finalize(&self) -> Span {
        stage!("finalize", self)
    }
}
