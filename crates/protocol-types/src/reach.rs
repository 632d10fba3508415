//! Which commits a commit descends from, without walking the history: for each line the youngest commit
//! that it reaches (RFC 6.2). Pure; it must not know where the rows of the lineage are stored.
//!
//! A *line* is a native branch of the manifest. It is never reused (K4), and each commit on it has the one
//! before as its first parent. So whoever reaches a commit of a line reaches all older ones of that line,
//! and everything that a commit reaches is said by one [`Tip`] per line. Two commits have in common what
//! both tips of each line have in common: the older one.
//!
//! Lines are left in two ways only, by a fork and by a merge. Both are numbered along the first parents of
//! a commit, and recorded in `reach` rows: that of a fork has the tip that was forked, that of merge `n`
//! what the merges after [`span_start`]`(n)` up to `n` have gained. A commit's [`Position`] has the two
//! counts, and with them the keys of all the rows that make its reach are known at once.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{CommitId, InvalidId, NativeBranch};

/// A commit by its place.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Tip {
    /// The line on which it was published.
    pub line: NativeBranch,
    /// The manifest version that made it visible there.
    pub version: u64,
    /// The commit.
    pub commit: CommitId,
    /// One more than the highest of its parents; 1 for a commit without any.
    pub generation: u64,
}

/// Where a commit stands in the lineage.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Position {
    /// The line on which it was published.
    pub line: NativeBranch,
    /// One more than the highest of its parents; 1 for a commit without any.
    pub generation: u64,
    /// Forks on the way of its first parents.
    pub forks: u64,
    /// Merges on the way of its first parents, itself included.
    pub merges: u64,
}

impl Position {
    /// The commit at this position.
    pub fn tip(&self, commit: CommitId, version: u64) -> Tip {
        let (line, generation) = (self.line.clone(), self.generation);
        Tip { line, version, commit, generation }
    }

    /// The `reach` rows that, with the commit itself, are its reach: as many as it has forks, and of
    /// `n` merges about `n / 256 + 8`.
    pub fn reach_keys(&self) -> Vec<ReachKey> {
        let forks = (1..=self.forks).map(ReachKey::Fork);
        let next = |number: &u64| Some(span_start(*number)).filter(|start| *start > 0);
        let newest = (self.merges > 0).then_some(self.merges);
        forks.chain(std::iter::successors(newest, next).map(ReachKey::Merge)).collect()
    }
}

/// Merges that one row sums up at most, so that no row grows with the history.
const SPAN_MAX: u64 = 256;

/// The last merge that the row of merge `number` does not sum up: the highest power of two that divides
/// the number says how many it does. So a count is the sum of few spans, as in a Fenwick tree, and a gain
/// is written again a logarithmic number of times.
pub fn span_start(number: u64) -> u64 {
    let lowest_bit = number & number.wrapping_neg();
    number - lowest_bit.min(SPAN_MAX)
}

/// What a `reach` row is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ReachKey {
    /// The fork of this number, from 1.
    Fork(u64),
    /// The merge of this number, from 1.
    Merge(u64),
}

impl fmt::Display for ReachKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fork(number) => write!(f, "fork-{number}"),
            Self::Merge(number) => write!(f, "merge-{number}"),
        }
    }
}

impl FromStr for ReachKey {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        let parsed = text.split_once('-').and_then(|(kind, number)| {
            let number = number.parse().ok().filter(|number| *number > 0)?;
            match kind {
                "fork" => Some(Self::Fork(number)),
                "merge" => Some(Self::Merge(number)),
                _ => None,
            }
        });
        let spelled = parsed.filter(|key| key.to_string() == text);
        let rule = "`fork-` or `merge-` and a number from 1";
        spelled.ok_or_else(|| InvalidId { what: "reach key", text: text.to_owned(), rule })
    }
}

/// Everything that a commit descends from, itself included: the youngest commit of each line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reach(BTreeMap<NativeBranch, Tip>);

impl Reach {
    /// Of each line the youngest of `tips`.
    pub fn of(tips: impl IntoIterator<Item = Tip>) -> Self {
        let mut reach = Self::default();
        tips.into_iter().for_each(|tip| reach.add(tip));
        reach
    }

    /// Reaches `tip` as well.
    pub fn add(&mut self, tip: Tip) {
        if !self.covers(&tip) {
            self.0.insert(tip.line.clone(), tip);
        }
    }

    /// Whether the commit is an ancestor, or the commit itself.
    pub fn covers(&self, tip: &Tip) -> bool {
        self.0.get(&tip.line).is_some_and(|reached| reached.version >= tip.version)
    }

    /// The youngest commit of each line, in the order of the lines.
    pub fn tips(&self) -> impl Iterator<Item = &Tip> {
        self.0.values()
    }

    /// What both reach.
    #[must_use]
    pub fn common(&self, other: &Self) -> Self {
        let older = |tip: &Tip| {
            let others = other.0.get(&tip.line)?;
            Some(if others.version < tip.version { others.clone() } else { tip.clone() })
        };
        Self::of(self.tips().filter_map(older))
    }

    /// What this one reaches and `other` does not.
    pub fn beyond(&self, other: &Self) -> Vec<Tip> {
        self.tips().filter(|tip| !other.covers(tip)).cloned().collect()
    }
}

/// The parents of a merge, with what its `reach` row will say. Made against one head, which is a member
/// of the read set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MergeParents {
    /// The target's head; none for a target without commits.
    pub head: Option<CommitId>,
    /// The commit that was captured of the source.
    pub merged: Tip,
    /// The number of this merge on the target's way.
    pub number: u64,
    /// What the merges of the row's span have gained, this one included, in the order of the lines.
    pub gained: Vec<Tip>,
}

impl MergeParents {
    /// The parents of a merge of `merged`, which reaches `theirs`, into a head that reaches `ours` after
    /// `merges` merges. `rows` has the reach rows of the head.
    pub fn new<'r>(
        head: Option<CommitId>,
        (merges, ours): (u64, &Reach),
        (merged, theirs): (Tip, &Reach),
        rows: impl IntoIterator<Item = (ReachKey, &'r [Tip])>,
    ) -> Self {
        let number = merges + 1;
        let start = span_start(number);
        let in_span = |key: ReachKey| matches!(key, ReachKey::Merge(of) if of > start);
        let spanned = rows.into_iter().filter(|(key, _)| in_span(*key));
        let gained = Reach::of(spanned.flat_map(|(_, tips)| tips.iter().cloned()));
        let gained = Reach::of(gained.tips().cloned().chain(theirs.beyond(ours)));
        Self { head, merged, number, gained: gained.tips().cloned().collect() }
    }
}

/// The search for the best common ancestors of two commits: those that no other common ancestor
/// descends from. A merge may not use any other: what came in between would be taken for a change of
/// one side. There can be several, when two branches have merged each other crosswise.
///
/// Candidates are the tips that both reach. The one of the highest generation is a best one, since a
/// descendant has a higher one; what *it* reaches is not. So only the reach of best ones is asked for.
#[derive(Debug, Clone)]
pub struct BaseSearch {
    /// In ascending order of generation, then of commit.
    open: Vec<Tip>,
    found: Vec<Tip>,
}

impl BaseSearch {
    /// The search between two commits.
    pub fn between(one: &Reach, other: &Reach) -> Self {
        let mut open: Vec<Tip> = one.common(other).0.into_values().collect();
        open.sort_by_key(|tip| (tip.generation, Reverse(tip.commit)));
        Self { open, found: Vec::new() }
    }

    /// The next best common ancestor, whose reach [`BaseSearch::exclude`] must be given unless none
    /// is left to be excluded; none when all are found.
    pub fn next_found(&mut self) -> Option<Tip> {
        let tip = self.open.pop()?;
        self.found.push(tip.clone());
        Some(tip)
    }

    /// Whether the reach of what was found is needed to go on.
    pub fn is_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Takes out what a best one reaches.
    pub fn exclude(&mut self, reached: &Reach) {
        self.open.retain(|tip| !reached.covers(tip));
    }

    /// All best common ancestors, in descending order of generation, then in that of their ids; none
    /// when the two have no commit in common.
    pub fn found(self) -> Vec<Tip> {
        self.found
    }
}
