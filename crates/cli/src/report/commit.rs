//! History: one commit, and the list of them.

use serde::Serialize;

use crate::render::{Block, Cell, Report, Rows, line};
use crate::report::table_change::{self, TableChange};

/// One commit of the graph.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct CommitEntry {
    pub(crate) commit_id: String,
    pub(crate) operation_id: String,
    pub(crate) attempt_id: String,
    pub(crate) parents: Vec<String>,
    pub(crate) at: String,
    pub(crate) at_unix_us: u64,
    pub(crate) actor: String,
    pub(crate) writer: &'static str,
    pub(crate) message: Option<String>,
    pub(crate) manifest_version: u64,
    pub(crate) rows: u64,
    pub(crate) tables: Vec<TableChange>,
}

impl Report for CommitEntry {
    fn blocks(&self) -> Vec<Block> {
        let facts = vec![
            ("commit", Cell::text(&self.commit_id)),
            ("operation", Cell::text(&self.operation_id)),
            ("parents", Cell::optional(joined(&self.parents))),
            ("at", Cell::text(&self.at)),
            ("actor", Cell::text(&self.actor)),
            ("writer", Cell::text(self.writer)),
            ("message", Cell::optional(self.message.as_ref())),
            ("manifest", Cell::number(self.manifest_version)),
            ("rows", Cell::number(self.rows)),
            ("attempt", Cell::text(&self.attempt_id)),
            ("merges", Cell::optional(self.merges())),
        ];
        vec![Block::Facts(facts), table_change::block(&self.tables)]
    }
}

impl CommitEntry {
    /// The commit of another branch that this one has merged.
    fn merges(&self) -> Option<&String> {
        self.parents.get(1)
    }
}

fn joined(ids: &[String]) -> Option<String> {
    (!ids.is_empty()).then(|| ids.join(" "))
}

/// Commits, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct CommitLog {
    pub(crate) commits: Vec<CommitEntry>,
}

impl CommitLog {
    fn row(commit: &CommitEntry) -> Vec<Cell> {
        vec![
            Cell::text(&commit.commit_id),
            Cell::text(&commit.at),
            Cell::text(commit.writer),
            Cell::text(&commit.actor),
            Cell::number(commit.tables.len() as u64),
            Cell::number(commit.rows),
            Cell::text(&commit.operation_id),
            Cell::optional(commit.message.as_ref()),
            Cell::optional(commit.merges()),
        ]
    }
}

impl Report for CommitLog {
    fn blocks(&self) -> Vec<Block> {
        vec![Block::Rows(Rows {
            kind: "commit",
            title: "Commits, newest first".to_owned(),
            columns: vec![
                "commit",
                "at",
                "writer",
                "actor",
                "tables",
                "rows",
                "operation",
                "message",
                "merges",
            ],
            rows: self.commits.iter().map(Self::row).collect(),
        })]
    }

    fn lines(&self) -> Vec<String> {
        self.commits.iter().map(line).collect()
    }
}
