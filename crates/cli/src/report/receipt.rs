//! The receipt of a write: which request, which commit, which rows, and which earlier writes it
//! ended.

use graphwrite_protocol_types::Receipt;
use serde::Serialize;

use crate::render::{Block, Cell, Report, Tone};
use crate::report::recovered::{self, RecoveredEntry};
use crate::report::table_change::{self, TableChange};

/// The receipt of a write that is committed, or that had nothing to change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ReceiptReport {
    /// `committed` or `no_change`.
    pub(crate) outcome: &'static str,
    pub(crate) operation_id: String,
    pub(crate) attempt_id: String,
    pub(crate) branch: String,
    /// Number of the branch's incarnation, which the operation id belongs to; 0 for main.
    pub(crate) incarnation: u64,
    pub(crate) commit_id: Option<String>,
    pub(crate) manifest_version: u64,
    pub(crate) writer: &'static str,
    pub(crate) restarts: u32,
    pub(crate) rows: u64,
    pub(crate) tables: Vec<TableChange>,
    /// Earlier writes that were ended first.
    pub(crate) recovered: Vec<RecoveredEntry>,
}

impl ReceiptReport {
    pub(crate) fn committed(receipt: &Receipt) -> Self {
        Self::of("committed", receipt)
    }

    pub(crate) fn no_change(receipt: &Receipt) -> Self {
        Self::of("no_change", receipt)
    }

    fn of(outcome: &'static str, receipt: &Receipt) -> Self {
        let tables = table_change::changes(&receipt.tables);
        Self {
            outcome,
            operation_id: receipt.operation.to_string(),
            attempt_id: receipt.attempt.to_string(),
            branch: receipt.branch.name.clone(),
            incarnation: receipt.branch.record,
            commit_id: receipt.commit.map(|commit| commit.to_string()),
            manifest_version: receipt.manifest_version,
            writer: receipt.writer.name(),
            restarts: receipt.restarts,
            rows: table_change::rows_in_all(&tables),
            tables,
            recovered: receipt.recovered.iter().map(RecoveredEntry::from).collect(),
        }
    }

    /// The rows of each table.
    pub(super) fn table_block(&self) -> Block {
        table_change::block(&self.tables)
    }

    fn outcome_cell(&self) -> Cell {
        Cell::text(self.outcome).toned(Tone::Good)
    }
}

impl ReceiptReport {
    /// What it is about, without its lists.
    pub(super) fn facts(&self) -> Vec<(&'static str, Cell)> {
        vec![
            ("outcome", self.outcome_cell()),
            ("operation", Cell::text(&self.operation_id)),
            ("commit", Cell::optional(self.commit_id.as_ref())),
            ("branch", Cell::text(&self.branch)),
            ("attempt", Cell::text(&self.attempt_id)),
            ("manifest", Cell::number(self.manifest_version)),
            ("restarts", Cell::number(self.restarts.into())),
            ("rows", Cell::number(self.rows)),
        ]
    }

    /// Earlier writes that were ended first.
    pub(super) fn recovered_block(&self) -> Block {
        recovered::block(&self.recovered)
    }
}

impl Report for ReceiptReport {
    fn blocks(&self) -> Vec<Block> {
        vec![Block::Facts(self.facts()), self.table_block(), self.recovered_block()]
    }
}
