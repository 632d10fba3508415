//! What became of a request.

use graphwrite_coordinator::OperationOutcome;
use graphwrite_protocol_types::{OperationId, OwnerRecord};
use serde::Serialize;

use crate::render::{Block, Cell, Report, Tone};
use crate::report::ReceiptReport;

/// The process that armed a pending attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct PendingOwner {
    host: String,
    pid: u32,
    instance: String,
}

impl PendingOwner {
    fn of(owner: &OwnerRecord) -> Self {
        Self { host: owner.host.clone(), pid: owner.pid, instance: owner.instance.to_string() }
    }
}

/// What became of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct OutcomeReport {
    /// `committed`, `aborted`, `pending`, `branch_deleted` or `unknown`.
    pub(crate) outcome: &'static str,
    pub(crate) operation_id: String,
    pub(crate) branch: String,
    /// Number of the incarnation that is deleted.
    incarnation: Option<u64>,
    /// Whether nothing can change the outcome any more.
    #[serde(rename = "final")]
    is_final: bool,
    /// The attempt that decided, or that is pending; for a sealed operation the seal.
    attempt_id: Option<String>,
    owner: Option<PendingOwner>,
    age_ms: Option<u64>,
    /// The first receipt, if the request is committed.
    receipt: Option<ReceiptReport>,
    /// The next command, where one is worth running.
    pub(crate) next: Option<String>,
}

impl OutcomeReport {
    pub(crate) fn of(
        outcome: &OperationOutcome,
        operation: &OperationId,
        branch: &str,
        graph: &str,
    ) -> Self {
        let unknown = Self {
            outcome: "unknown",
            operation_id: operation.to_string(),
            branch: branch.to_owned(),
            incarnation: None,
            is_final: false,
            attempt_id: None,
            owner: None,
            age_ms: None,
            receipt: None,
            next: Some(format!("graphwrite outcome {graph} {operation} --seal")),
        };
        match outcome {
            OperationOutcome::Committed(receipt) => Self {
                outcome: "committed",
                is_final: true,
                attempt_id: Some(receipt.attempt.to_string()),
                receipt: Some(ReceiptReport::committed(receipt)),
                next: None,
                ..unknown
            },
            OperationOutcome::Aborted { attempt, is_final } => Self {
                outcome: "aborted",
                is_final: *is_final,
                attempt_id: Some(attempt.to_string()),
                next: unknown.next.clone().filter(|_| !is_final),
                ..unknown
            },
            OperationOutcome::Pending { attempt, owner, age_ms } => Self {
                outcome: "pending",
                attempt_id: Some(attempt.to_string()),
                owner: Some(PendingOwner::of(owner)),
                age_ms: Some(*age_ms),
                next: Some(format!("graphwrite intent explain {graph} {attempt}")),
                ..unknown
            },
            OperationOutcome::BranchDeleted { incarnation, .. } => Self {
                outcome: "branch_deleted",
                incarnation: Some(*incarnation),
                is_final: true,
                next: None,
                ..unknown
            },
            _ => unknown,
        }
    }

    fn outcome_cell(&self) -> Cell {
        let tone = match self.outcome {
            "committed" => Tone::Good,
            "aborted" | "branch_deleted" => Tone::Bad,
            _ => Tone::Warn,
        };
        Cell::text(self.outcome).toned(tone)
    }

    /// What the answer means, for people.
    fn meaning(&self) -> &'static str {
        match (self.outcome, self.is_final) {
            ("committed", _) => "The request was carried out, once.",
            ("aborted", true) => "The request is sealed: it was not carried out and never will be.",
            ("aborted", false) => {
                "An attempt was given up. Another one may still commit; a seal would exclude that."
            }
            ("branch_deleted", _) => {
                "The branch that it was sent to is deleted, and what it did there with it."
            }
            ("pending", _) => {
                "An attempt is under way or was interrupted; the next write to its tables ends it."
            }
            _ => {
                "The graph knows nothing of the request. It changed nothing, is still on its way, or \
                 was never sent; a seal would exclude that it still commits."
            }
        }
    }
}

impl Report for OutcomeReport {
    fn blocks(&self) -> Vec<Block> {
        let owner = self.owner.as_ref().map(|it| format!("pid {} on {}", it.pid, it.host));
        let age = self.age_ms.map_or_else(|| Cell::optional(None::<u64>), Cell::age);
        let commit = self.receipt.as_ref().and_then(|receipt| receipt.commit_id.as_ref());
        let facts = vec![
            ("outcome", self.outcome_cell()),
            ("operation", Cell::text(&self.operation_id)),
            ("branch", Cell::text(&self.branch)),
            ("final", Cell::text(if self.is_final { "yes" } else { "no" })),
            ("attempt", Cell::optional(self.attempt_id.as_ref())),
            ("commit", Cell::optional(commit)),
            ("owner", Cell::optional(owner)),
            ("age", age),
        ];
        let mut blocks = vec![Block::Facts(facts)];
        blocks.extend(self.receipt.iter().map(ReceiptReport::table_block));
        blocks.push(Block::Note(self.meaning().to_owned()));
        blocks.extend(self.next.iter().map(|next| Block::Note(format!("Next: {next}"))));
        blocks
    }
}
