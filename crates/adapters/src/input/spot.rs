//! A place within a mutation, small enough to be kept for every row.

use super::violation::Place;

/// A statement, or a row of its record batch. In the order of the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Spot {
    /// Counted from 1.
    pub(crate) statement: u32,
    /// None where the statement is one row.
    pub(crate) row: Option<u32>,
}

impl Spot {
    pub(crate) fn place(self) -> Place {
        let statement = self.statement.into();
        match self.row {
            Some(row) => Place::StatementRow { statement, row: row.into() },
            None => Place::Statement(statement),
        }
    }
}
