//! Receipts: what a write answers, taken from what the manifest recorded.

use graphwrite_manifest::{CommitRow, ManifestState};
use graphwrite_protocol_types::{AttemptId, BranchToken, Receipt, TableSummary};

use crate::operation::Write;

/// The receipt of a commit that is visible.
pub(crate) fn receipt_of_commit(row: &CommitRow, branch: &BranchToken, restarts: u32) -> Receipt {
    Receipt {
        operation: row.operation.clone(),
        attempt: row.attempt,
        branch: branch.clone(),
        commit: Some(row.commit),
        manifest_version: row.manifest_version,
        writer: row.writer,
        tables: row.tables.clone(),
        restarts,
        recovered: Vec::new(),
    }
}

/// The receipt of a request that the graph already answers.
pub(crate) fn receipt_of_no_change(
    write: &Write,
    attempt: AttemptId,
    state: &ManifestState,
    tables: Vec<TableSummary>,
    restarts: u32,
) -> Receipt {
    Receipt {
        operation: write.operation.clone(),
        attempt,
        branch: state.base().branch.clone(),
        commit: state.base().graph_head.0,
        manifest_version: state.version(),
        writer: write.writer(),
        tables,
        restarts,
        recovered: Vec::new(),
    }
}
