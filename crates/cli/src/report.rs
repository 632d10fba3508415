//! The results of the commands, as data: what programs read, and of which parts a person's view
//! consists. It must not know how a graph is asked.

mod audit;
mod branch;
mod commit;
mod created;
mod diff;
mod intent;
mod merge;
mod outcome;
mod receipt;
mod recovered;
mod status;
mod table_change;
mod verify;
mod version;
mod waiting;

pub(crate) use audit::AuditReport;
pub(crate) use branch::{BranchChanged, BranchList, BranchReport};
pub(crate) use commit::{CommitEntry, CommitLog};
pub(crate) use created::Created;
pub(crate) use diff::DiffReport;
pub(crate) use intent::{
    BlockingEntry, Explanation, IntentList, IntentRecord, Owner, Resolution, ResolutionEntry,
    blocking_list,
};
pub(crate) use merge::{Compared, Comparison, MergeOutcome, SourceBranch};
pub(crate) use outcome::OutcomeReport;
pub(crate) use receipt::ReceiptReport;
pub(crate) use status::{Branches, NewestBranch, PendingEntry, Sample, Status, TableState};
#[cfg(test)]
pub(crate) use table_change::TableChange;
pub(crate) use table_change::{changes, rows_in_all};
pub(crate) use verify::{FindingEntry, ObjectGroup, Verification};
pub(crate) use version::Version;
pub(crate) use waiting::{WaitingEntry, waiting_list};
