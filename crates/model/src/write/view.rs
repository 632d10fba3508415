//! What one branch's manifest says of the tables, and what it says to one attempt.

use super::code::{Pin, Rows, TABLES};

/// The head of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub(crate) enum Head {
    /// Declared, never loaded.
    #[default]
    Absent,
    /// Dropped for good.
    Tombstoned,
    /// Rows on the ref `line`.
    Live {
        /// The ref, by its logical name: a table's first dataset, or the one of an attempt.
        line: u8,
        /// The visible version.
        pin: Pin,
        /// The attempt that last changed the rows, counted from 1; 0 before the scenario.
        content: u8,
    },
}

impl Head {
    pub(crate) fn live(self) -> Option<(u8, Pin)> {
        match self {
            Self::Live { line, pin, .. } => Some((line, pin)),
            Self::Absent | Self::Tombstoned => None,
        }
    }
}

/// The heads of all tables.
pub(crate) type View = [Head; TABLES];

/// The row of an attempt (K2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub(crate) enum Row {
    #[default]
    None,
    Committed,
    Aborted,
    RolledBack,
}

/// What became of an attempt's request under other attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Elsewhere {
    Nothing,
    Committed,
    Sealed,
}

/// All that the manifest says to one attempt, read at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Sight {
    pub(crate) view: View,
    pub(crate) row: Row,
    pub(crate) elsewhere: Elsewhere,
    /// Whether the incarnation of the branch was deleted.
    pub(crate) is_gone: bool,
}

/// What an attempt is made over: the view that it captured, and the version of each table that its
/// effects start from. Those are the pins, unless a defect is planted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub(crate) struct Plan {
    pub(crate) base: View,
    pub(crate) over: [Pin; TABLES],
    /// The rows that it read, for the properties alone.
    pub(crate) read: [Option<Rows>; TABLES],
}

impl Plan {
    pub(crate) fn new(base: View, read: [Option<Rows>; TABLES]) -> Self {
        let over = base.map(|head| head.live().map_or_else(Pin::default, |(_, pin)| pin));
        Self { base, over, read }
    }
}
