//! The commits of one effect, in order (design 01 section 6): how much each may carry, and how they are
//! performed. Each is planned to land directly above the one before, and lands there or not at all.

use std::ops::Range;

use graphwrite_protocol_types::{CommitPermit, PlannedStep, TxUuid};
use graphwrite_substrate::{
    BatchStream, Landing, RowAddresses, StagedCommit, Store, SubstrateError, TableHandle,
    TableVersion, stage_change, stage_create, stage_following, strict_commit,
};
use tokio::sync::OnceCell;

use crate::change::Added;
use crate::error::PerformError;

/// How much one commit to a table may carry. What is more becomes several commits of one effect, of
/// which readers see all or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommitBounds {
    /// Rows that are added, and rows that are removed; those removed from one fragment count as one
    /// where they are more.
    pub rows: u64,
    /// Bytes of the values of the rows that are added, taken for rows of the same size.
    pub bytes: u64,
}

impl Default for CommitBounds {
    /// A million rows, or half a GiB.
    fn default() -> Self {
        Self { rows: 1 << 20, bytes: 512 << 20 }
    }
}

impl CommitBounds {
    /// One commit, whatever it carries.
    pub const NONE: Self = Self { rows: u64::MAX, bytes: u64::MAX };

    /// How many of these rows go into one commit.
    fn rows_of(self, adds: &Added) -> u64 {
        let size = adds.bytes().checked_div(adds.rows()).unwrap_or(0).max(1);
        (self.bytes / size).min(self.rows).max(1)
    }
}

/// What one commit carries.
#[derive(Debug, Clone)]
pub(crate) struct Portion {
    pub(crate) removes: RowAddresses,
    pub(crate) adds: Option<Added>,
}

/// The commits that a change is made in: at least one. Later ones touch no fragment that an earlier one
/// touches, so that all of them are staged over one version.
pub(crate) fn portions(
    removes: &RowAddresses,
    adds: Option<Added>,
    bounds: CommitBounds,
) -> Vec<Portion> {
    let mut removes = removes.in_portions(bounds.rows.max(1)).into_iter();
    let mut adds = match adds {
        Some(adds) => adds.in_portions(bounds.rows_of(&adds)),
        None => Vec::new(),
    }
    .into_iter();
    let count = removes.len().max(adds.len()).max(1);
    let mut portion = || Portion { removes: removes.next().unwrap_or_default(), adds: adds.next() };
    (0..count).map(|_| portion()).collect()
}

/// Stages every portion over `table`, to land one above the other.
///
/// # Errors
/// The storage failed; nothing is committed.
pub(crate) async fn stage_portions(
    table: &TableHandle,
    portions: &[Portion],
    steps: &[PlannedStep],
) -> Result<Chain, SubstrateError> {
    let mut staged = Vec::with_capacity(portions.len());
    for (above, (portion, step)) in (0..).zip(portions.iter().zip(steps)) {
        let (adds, uuid) = (portion.adds.as_ref().map(Added::stream), step.tx_uuid.clone());
        let commit = Box::pin(stage_change(table, &portion.removes, adds, uuid)).await?;
        staged.push(commit.above(above));
    }
    Ok(Chain::new(staged))
}

/// Stages the creation of a dataset with the first portion, and the others to land above it.
///
/// # Errors
/// The storage failed; nothing is committed.
pub(crate) async fn stage_creation(
    (store, path): (&Store, &str),
    portions: &[Portion],
    steps: &[PlannedStep],
    schema: impl Fn() -> BatchStream,
) -> Result<Chain, SubstrateError> {
    let mut staged = Vec::with_capacity(portions.len());
    for (above, (portion, step)) in (0..).zip(portions.iter().zip(steps)) {
        let rows = portion.adds.as_ref().map_or_else(&schema, Added::stream);
        let uuid = step.tx_uuid.clone();
        staged.push(match above {
            0 => Box::pin(stage_create(store, path, rows, uuid)).await?,
            _ => {
                let commit = Box::pin(stage_following(store, path, rows, uuid)).await?;
                commit.above(above - 1)
            }
        });
    }
    Ok(Chain::new(staged))
}

/// One step over `base` for each of `uuids`.
pub(crate) fn steps(base: u64, uuids: Vec<TxUuid>) -> Vec<PlannedStep> {
    let step = |(read_version, tx_uuid)| PlannedStep { read_version, tx_uuid };
    (base..).zip(uuids).map(step).collect()
}

/// Consecutive ranges of `size` over `all`.
pub(crate) fn ranges(all: u64, size: u64) -> impl Iterator<Item = Range<u64>> {
    let size = size.max(1);
    (0..all.div_ceil(size)).map(move |at| at * size..all.min((at + 1) * size))
}

/// Staged commits in order, and how far they are.
#[derive(Debug)]
pub(crate) struct Chain {
    steps: Vec<Step>,
}

#[derive(Debug)]
struct Step {
    staged: StagedCommit,
    landed: OnceCell<(TableVersion, TableHandle)>,
}

impl Chain {
    pub(crate) fn new(staged: Vec<StagedCommit>) -> Self {
        let step = |staged| Step { staged, landed: OnceCell::new() };
        Self { steps: staged.into_iter().map(step).collect() }
    }

    pub(crate) fn rows(&self) -> u64 {
        self.steps.iter().map(|step| step.staged.rows()).sum()
    }

    pub(crate) fn files(&self) -> impl Iterator<Item = &String> {
        self.steps.iter().flat_map(|step| step.staged.new_files())
    }

    /// How many are known to have landed.
    pub(crate) fn landed(&self) -> usize {
        self.steps.iter().take_while(|step| step.landed.initialized()).count()
    }

    /// Goes on from the last step that landed. The first is sent by `first`, the others to the table
    /// that the one before has left.
    pub(crate) async fn perform<F>(
        &self,
        permit: &CommitPermit<'_>,
        first: impl FnOnce(StagedCommit) -> F,
    ) -> Result<Landing, PerformError>
    where
        F: Future<Output = Result<Landing, PerformError>>,
    {
        let mut first = Some(first);
        let mut landed: Option<&(TableVersion, TableHandle)> = None;
        for step in &self.steps {
            if let Some(before) = step.landed.get() {
                landed = Some(before);
                continue;
            }
            let staged = step.staged.clone();
            let landing = match (landed, first.take()) {
                (Some((_, table)), _) => Box::pin(strict_commit(permit, table, staged)).await?,
                (None, Some(first)) => Box::pin(first(staged)).await?,
                (None, None) => break,
            };
            let Landing::Landed { version, table } = landing else { return Ok(landing) };
            landed = Some(step.landed.get_or_init(|| async { (version, table) }).await);
        }
        match landed {
            Some((version, table)) => {
                Ok(Landing::Landed { version: version.clone(), table: table.clone() })
            }
            // An effect has at least one step.
            None => Ok(Landing::Unknown("an effect without a step".into())),
        }
    }
}
