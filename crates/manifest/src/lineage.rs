//! What the commits of a state descend from, read from its own rows: as many as the commit has forks and
//! a few for its merges, found by key in one search of the hot rows and one scan of the cold ones. No
//! history is walked, and no row of another branch is asked for (RFC 6.2).

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::StringArray;
use graphwrite_protocol_types::{MergeParents, Position, Reach, ReachKey, Tip};
use graphwrite_substrate::RowFilter;

use crate::batch::KEY;
use crate::error::{Damage, ManifestError};
use crate::lookup::of_kind;
use crate::reach_row::ReachRow;
use crate::reading::one_of;
use crate::rows::{CommitRow, HeadCommit, REACH, RowBody};
use crate::state::ManifestState;

/// The rows of a reach by what they are about.
type Rows = BTreeMap<ReachKey, Vec<Tip>>;

impl ManifestState {
    /// The head commit by its place; none before the first graph commit. A branch without a commit of its
    /// own has the place that it was made of.
    pub fn head_tip(&self) -> Option<Tip> {
        let HeadCommit { commit, position } = self.head_commit()?;
        Some(position.tip(*commit, self.hot().graph_head.version))
    }

    /// What the head descends from, itself included; nothing before the first graph commit.
    ///
    /// # Errors
    /// The storage failed, or a row that must be there is not.
    pub async fn head_reach(&self) -> Result<Reach, ManifestError> {
        match (self.head_commit(), self.head_tip()) {
            (Some(head), Some(tip)) => self.reach(&head.position, tip).await,
            _ => Ok(Reach::default()),
        }
    }

    /// What a commit of this state's history descends from, itself included.
    ///
    /// # Errors
    /// As for [`ManifestState::head_reach`].
    pub async fn reach_of(&self, commit: &CommitRow) -> Result<Reach, ManifestError> {
        self.reach(&commit.position, commit.tip()).await
    }

    /// The parents of a commit that merges `merged`, which reaches `theirs`, into the head of this state.
    ///
    /// # Errors
    /// As for [`ManifestState::head_reach`].
    pub async fn merge_parents(
        &self,
        merged: Tip,
        theirs: &Reach,
    ) -> Result<MergeParents, ManifestError> {
        let (mut ours, mut rows, mut merges) = (Reach::default(), Rows::new(), 0);
        if let (Some(head), Some(tip)) = (self.head_commit(), self.head_tip()) {
            rows = self.reach_rows(&head.position).await?;
            ours = reach_from(&rows, tip);
            merges = head.position.merges;
        }
        let of_head = rows.iter().map(|(key, tips)| (*key, tips.as_slice()));
        let head = self.base().graph_head.0;
        Ok(MergeParents::new(head, (merges, &ours), (merged, theirs), of_head))
    }

    async fn reach(&self, position: &Position, tip: Tip) -> Result<Reach, ManifestError> {
        Ok(reach_from(&self.reach_rows(position).await?, tip))
    }

    async fn reach_rows(&self, position: &Position) -> Result<Rows, ManifestError> {
        let keys = position.reach_keys();
        let hot = self.hot().reaches.iter().filter(|row| keys.contains(&row.key));
        let mut found: Rows = hot.map(|row| (row.key, row.tips.clone())).collect();
        let missing: Vec<ReachKey> =
            keys.into_iter().filter(|key| !found.contains_key(key)).collect();
        if missing.is_empty() {
            return Ok(found);
        }
        found.extend(self.cold_reaches(&missing).await?.into_iter().map(|row| (row.key, row.tips)));
        match missing.iter().find(|key| !found.contains_key(key)) {
            Some(key) => Err(Damage::MissingRow { kind: REACH, key: key.to_string() }.into()),
            None => Ok(found),
        }
    }

    async fn cold_reaches(&self, keys: &[ReachKey]) -> Result<Vec<ReachRow>, ManifestError> {
        let keys = keys.iter().map(ToString::to_string);
        let by_key = one_of(KEY, Arc::new(StringArray::from_iter_values(keys)));
        let filter = RowFilter::All(vec![of_kind(REACH), by_key]);
        let rows = self.cold_rows(self.cold_ids(), filter).await?;
        let reach = rows.into_iter().filter_map(|row| match row.body {
            RowBody::Reach(row) => Some(row),
            _ => None,
        });
        Ok(reach.collect())
    }

    fn head_commit(&self) -> Option<&HeadCommit> {
        self.hot().graph_head.value.head.as_ref()
    }
}

fn reach_from(rows: &Rows, tip: Tip) -> Reach {
    Reach::of(rows.values().flatten().cloned().chain([tip]))
}
