//! The `reach` row: what a fork or a run of merges has added to what the commits above it descend from
//! (docs/format.md). How reaches are put together is said by `protocol-types`.

use graphwrite_protocol_types::{CommitId, ReachKey, Tip};
use serde::{Deserialize, Serialize};

/// What a graph commit reaches beyond its first parent's line. Rows are only ever added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ReachRow {
    /// The fork or the merge.
    pub(crate) key: ReachKey,
    /// The commit that recorded it: the first one after the fork, or the merge.
    pub(crate) commit: CommitId,
    /// The manifest version of that commit.
    pub(crate) manifest_version: u64,
    /// The youngest commit of each line that is reached through it, in the order of the lines.
    pub(crate) tips: Vec<Tip>,
}
