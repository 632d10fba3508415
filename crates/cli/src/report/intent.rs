//! Writes that were interrupted: the list of them, what was recorded, what was found and what
//! follows, what was done.

mod explanation;
mod list;
mod record;
mod resolution;

use serde::Serialize;

use crate::render::Cell;

pub(crate) use explanation::Explanation;
pub(crate) use list::{BlockingEntry, IntentList, blocking_list};
pub(crate) use record::IntentRecord;
pub(crate) use resolution::{Resolution, ResolutionEntry};

/// The process that armed an intent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Owner {
    pub(crate) host: String,
    pub(crate) pid: u32,
    pub(crate) instance: String,
    /// What is known of it.
    pub(crate) state: String,
}

impl Owner {
    fn of(intent: &graphwrite_coordinator::Explanation) -> Self {
        let record = &intent.owner;
        let (instance, state) = (record.instance.to_string(), intent.owner_state.clone());
        Self { host: record.host.clone(), pid: record.pid, instance, state }
    }

    fn cell(&self) -> Cell {
        Cell::text(format!("pid {} on {}, {}", self.pid, self.host, self.state))
    }
}
