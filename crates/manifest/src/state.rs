//! One version of the manifest, read at once: what is true, and the newest of how it came to be.
//! Nothing of it can straddle a commit, because all of it is one version.

use std::collections::BTreeSet;
use std::sync::Arc;

use graphwrite_protocol_types::{
    BaseView, BranchToken, FormatStamp, IdentityDomain, TableIdentity,
};
use graphwrite_substrate::{TableHandle, TableVersion};

use crate::error::Damage;
use crate::facts::GraphFacts;
use crate::hot::HotRows;
use crate::outcome_row::OutcomeRow;
use crate::rows::CommitRow;
use crate::spill::ColdFragment;

/// The manifest at one version. Clones share it.
#[derive(Clone)]
pub struct ManifestState(Arc<Snapshot>);

struct Snapshot {
    base: BaseView,
    facts: GraphFacts,
    hot: HotRows,
    fragments: Fragments,
    table: TableHandle,
}

/// The fragments of one version: the one with the highest id is hot.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Fragments {
    hot: u64,
    /// In ascending order of their ids, so oldest first.
    cold: Vec<ColdFragment>,
}

impl ManifestState {
    pub(crate) fn new(
        facts: GraphFacts,
        hot: HotRows,
        version: &TableVersion,
        table: TableHandle,
        branch: BranchToken,
    ) -> Result<Self, Damage> {
        let base = BaseView {
            branch,
            manifest: version.pin(),
            schema: hot.schema_token(),
            heads: hot.head_tokens(),
            graph_head: hot.graph_head_token(),
        };
        let fragments = Fragments::of(&table)?;
        Ok(Self(Arc::new(Snapshot { base, facts, hot, fragments, table })))
    }

    /// The authority that a write is computed against.
    pub fn base(&self) -> &BaseView {
        &self.0.base
    }

    /// The manifest version.
    pub fn version(&self) -> u64 {
        self.0.base.manifest.version
    }

    /// The canonical bytes of the accepted schema.
    pub fn schema_canonical(&self) -> &[u8] {
        &self.0.hot.schema.value.canonical
    }

    /// The tables whose head the branch has from its fork, on a ref that it does not own: it may pin
    /// it and never commits to it (design 01 section 6). None on main.
    pub fn inherited(&self) -> BTreeSet<TableIdentity> {
        let forked_at = self.base().branch.identifier.forked_at();
        let heads = self.0.hot.heads.iter();
        let inherited =
            heads.filter(|(_, head)| head.version <= forked_at && head.value.live().is_some());
        inherited.map(|(identity, _)| *identity).collect()
    }

    /// The newest commits, newest first, as many as current state carries with it: all, or at least
    /// the last few. For more see [`ManifestState::commits`].
    pub fn recent_commits(&self) -> impl Iterator<Item = &CommitRow> {
        self.0.hot.commits.iter().rev()
    }

    /// The newest outcomes, newest first.
    pub fn recent_outcomes(&self) -> impl Iterator<Item = &OutcomeRow> {
        self.0.hot.outcomes.iter().rev()
    }

    /// The fragments of older rows, oldest first.
    pub fn cold_fragments(&self) -> &[ColdFragment] {
        &self.0.fragments.cold
    }

    /// What the creating commit says of the graph.
    pub fn facts(&self) -> &GraphFacts {
        &self.0.facts
    }

    /// The graph's identity.
    pub fn domain(&self) -> IdentityDomain {
        self.0.facts.domain
    }

    /// What a binary must understand.
    pub fn stamp(&self) -> &FormatStamp {
        &self.0.facts.stamp
    }

    pub(crate) fn hot(&self) -> &HotRows {
        &self.0.hot
    }

    pub(crate) fn hot_fragment(&self) -> u64 {
        self.0.fragments.hot
    }

    pub(crate) fn table(&self) -> &TableHandle {
        &self.0.table
    }
}

impl std::fmt::Debug for ManifestState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ManifestState").field("base", &self.0.base).finish_non_exhaustive()
    }
}

impl Fragments {
    fn of(table: &TableHandle) -> Result<Self, Damage> {
        let hot = hot_fragment_of(table)?;
        let files = table.fragments().map_err(|_| Damage::Fragments)?;
        let cold = files.iter().filter(|fragment| fragment.id != hot).map(|fragment| {
            let rows = fragment.physical_rows.ok_or(Damage::Fragments)?;
            Ok(ColdFragment { id: fragment.id, rows })
        });
        let mut cold = cold.collect::<Result<Vec<_>, Damage>>()?;
        cold.sort_by_key(|fragment| fragment.id);
        Ok(Self { hot, cold })
    }
}

pub(crate) fn hot_fragment_of(table: &TableHandle) -> Result<u64, Damage> {
    let files = table.fragments().map_err(|_| Damage::Fragments)?;
    files.iter().map(|fragment| fragment.id).max().ok_or(Damage::Fragments)
}
