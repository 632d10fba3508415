//! What a graph commit descends from: its parents, its position, and the `reach` rows that say what it
//! reaches beyond its first parent's line. Pure; a plan that contradicts the head is refused.

use graphwrite_protocol_types::{CommitId, Intent, MergeParents, Parents, Position, ReachKey, Tip};

use crate::change::Stamp;
use crate::hot::Written;
use crate::reach_row::ReachRow;
use crate::rows::{GraphHeadRow, HeadCommit};
use crate::transition::InvalidTransition;

/// The descent of one commit.
#[derive(Debug)]
pub(crate) struct Descent {
    pub(crate) parents: Vec<CommitId>,
    pub(crate) position: Position,
    pub(crate) reaches: Vec<ReachRow>,
}

impl Descent {
    /// That of the commit of `intent` over the head.
    pub(crate) fn of(
        intent: &Intent,
        head: &Written<GraphHeadRow>,
        stamp: Stamp<'_>,
    ) -> Result<Self, InvalidTransition> {
        let parents = &intent.lineage.parents;
        let above = head.value.commit();
        if *parents != Parents::HeadAtPublish && intent.read_set.graph_head().is_none() {
            return Err(InvalidTransition::ParentsNotRead);
        }
        let mut descent = Self::first(head, stamp, intent.lineage.commit);
        match parents {
            Parents::HeadAtPublish => {}
            Parents::Exact(exact) if exact.iter().copied().eq(above) => {}
            Parents::Merge(merge) if merge.head == above => descent.merges(merge, intent, stamp)?,
            Parents::Exact(_) | Parents::Merge(_) => return Err(InvalidTransition::ForeignParents),
        }
        Ok(descent)
    }

    /// That of a commit whose only parent is the head. The first one on a line names what was forked.
    fn first(head: &Written<GraphHeadRow>, stamp: Stamp<'_>, commit: CommitId) -> Self {
        let line = stamp.line.clone();
        let Some(HeadCommit { commit: above, position }) = &head.value.head else {
            let position = Position { line, generation: 1, forks: 0, merges: 0 };
            return Self { parents: Vec::new(), position, reaches: Vec::new() };
        };
        let generation = position.generation + 1;
        let mut next = Position { line, generation, ..position.clone() };
        let mut reaches = Vec::new();
        if next.line != position.line {
            next.forks += 1;
            let forked = vec![position.tip(*above, head.version)];
            reaches.push(row(ReachKey::Fork(next.forks), commit, stamp, forked));
        }
        Self { parents: vec![*above], position: next, reaches }
    }

    /// Adds the merged commit.
    fn merges(
        &mut self,
        merge: &MergeParents,
        intent: &Intent,
        stamp: Stamp<'_>,
    ) -> Result<(), InvalidTransition> {
        let position = &mut self.position;
        let is_next = merge.number == position.merges + 1;
        let gains = merge.gained.contains(&merge.merged);
        if !is_next || !gains || self.parents.contains(&merge.merged.commit) {
            return Err(InvalidTransition::ForeignParents);
        }
        position.merges = merge.number;
        position.generation = position.generation.max(merge.merged.generation + 1);
        self.parents.push(merge.merged.commit);
        let (key, commit) = (ReachKey::Merge(merge.number), intent.lineage.commit);
        self.reaches.push(row(key, commit, stamp, merge.gained.clone()));
        Ok(())
    }
}

fn row(key: ReachKey, commit: CommitId, stamp: Stamp<'_>, tips: Vec<Tip>) -> ReachRow {
    ReachRow { key, commit, manifest_version: stamp.version, tips }
}
