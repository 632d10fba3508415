//! Reaches and merge bases of random histories, against the graph of the commits and nothing else.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use crate::*;

/// A commit with what its manifest version recorded.
#[derive(Debug)]
struct Node {
    tip: Tip,
    position: Position,
    parents: Vec<usize>,
    recorded: Vec<(ReachKey, Vec<Tip>)>,
}

#[derive(Debug)]
struct Line {
    native: NativeBranch,
    head: Option<usize>,
    version: u64,
}

#[derive(Debug)]
struct History {
    nodes: Vec<Node>,
    lines: Vec<Line>,
}

/// Which commit of the history: counted back from the newest, over all lines.
type Back = prop::sample::Index;

#[derive(Debug, Clone)]
enum Step {
    Commit {
        on: Back,
    },
    /// A manifest version without a commit, as recovery makes them.
    Other {
        on: Back,
    },
    /// A branch of any commit, young or old.
    Fork {
        of: Back,
    },
    Merge {
        into: Back,
        of: Back,
    },
    MergeHead {
        into: Back,
        of: Back,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let at = any::<Back>;
    prop_oneof![
        4 => at().prop_map(|on| Step::Commit { on }),
        1 => at().prop_map(|on| Step::Other { on }),
        2 => at().prop_map(|of| Step::Fork { of }),
        1 => (at(), at()).prop_map(|(into, of)| Step::Merge { into, of }),
        4 => (at(), at()).prop_map(|(into, of)| Step::MergeHead { into, of }),
    ]
}

impl History {
    fn new() -> Self {
        let main = Line { native: NativeBranch::main(), head: None, version: 1 };
        Self { nodes: Vec::new(), lines: vec![main] }
    }

    fn of(steps: &[Step]) -> Self {
        let mut history = Self::new();
        history.commit(0, None);
        steps.iter().for_each(|step| history.take(step));
        history
    }

    fn take(&mut self, step: &Step) {
        let (nodes, lines) = (self.nodes.len(), self.lines.len());
        match step {
            Step::Commit { on } => drop(self.commit(on.index(lines), None)),
            Step::Other { on } => self.lines[on.index(lines)].version += 1,
            Step::Fork { of } => drop(self.fork(of.index(nodes))),
            Step::Merge { into, of } => drop(self.merge(into.index(lines), of.index(nodes))),
            Step::MergeHead { into, of } => {
                if let Some(head) = self.lines[of.index(lines)].head {
                    self.merge(into.index(lines), head);
                }
            }
        }
    }

    fn fork(&mut self, of: usize) -> usize {
        let native =
            NativeBranch::of_incarnation("b", AttemptId::from_u128(self.lines.len() as u128));
        let version = self.nodes[of].tip.version;
        self.lines.push(Line { native, head: Some(of), version });
        self.lines.len() - 1
    }

    /// Nothing when the target has the commit already.
    fn merge(&mut self, into: usize, of: usize) -> Option<usize> {
        let head = self.lines[into].head?;
        if self.ancestors(head).contains(&of) {
            return None;
        }
        Some(self.commit(into, Some(of)))
    }

    /// As the manifest records a commit.
    fn commit(&mut self, on: usize, merged: Option<usize>) -> usize {
        let line = &self.lines[on];
        let (native, version, head) = (line.native.clone(), line.version + 1, line.head);
        let mut position = Position { line: native.clone(), generation: 1, forks: 0, merges: 0 };
        let mut recorded = Vec::new();
        if let Some(head) = head.map(|head| &self.nodes[head]) {
            position = Position {
                line: native,
                generation: head.tip.generation + 1,
                ..head.position.clone()
            };
            if head.tip.line != position.line {
                position.forks += 1;
                recorded.push((ReachKey::Fork(position.forks), vec![head.tip.clone()]));
            }
        }
        if let Some(merged) = merged {
            let parents = self.merge_parents(head.unwrap(), merged);
            position.merges = parents.number;
            position.generation = position.generation.max(parents.merged.generation + 1);
            recorded.push((ReachKey::Merge(parents.number), parents.gained));
        }
        let commit = CommitId::from_u128(self.nodes.len() as u128);
        let node = Node {
            tip: position.tip(commit, version),
            position,
            parents: head.into_iter().chain(merged).collect(),
            recorded,
        };
        self.nodes.push(node);
        let made = self.nodes.len() - 1;
        (self.lines[on].head, self.lines[on].version) = (Some(made), version);
        made
    }

    fn merge_parents(&self, head: usize, merged: usize) -> MergeParents {
        let rows = self.rows(head);
        let rows = rows.iter().map(|(key, tips)| (*key, tips.as_slice()));
        let (ours, theirs) = (self.reach(head), self.reach(merged));
        let node = &self.nodes[head];
        MergeParents::new(
            Some(node.tip.commit),
            (node.position.merges, &ours),
            (self.nodes[merged].tip.clone(), &theirs),
            rows,
        )
    }

    /// The rows of a commit's manifest version that its position names. They are those that it and its
    /// first parents have recorded.
    fn rows(&self, of: usize) -> BTreeMap<ReachKey, Vec<Tip>> {
        let first_parents =
            std::iter::successors(Some(of), |at| self.nodes[*at].parents.first().copied());
        let recorded = first_parents.flat_map(|at| self.nodes[at].recorded.iter().cloned());
        let mut rows = BTreeMap::new();
        for (key, tips) in recorded {
            assert!(rows.insert(key, tips).is_none(), "{key} is recorded once");
        }
        let keys = self.nodes[of].position.reach_keys();
        keys.into_iter().map(|key| (key, rows.remove(&key).expect("the row is there"))).collect()
    }

    fn reach(&self, of: usize) -> Reach {
        let rows = self.rows(of).into_values().flatten();
        Reach::of(rows.chain([self.nodes[of].tip.clone()]))
    }

    fn ancestors(&self, of: usize) -> BTreeSet<usize> {
        let (mut found, mut open) = (BTreeSet::new(), vec![of]);
        while let Some(at) = open.pop() {
            if found.insert(at) {
                open.extend(&self.nodes[at].parents);
            }
        }
        found
    }

    fn best_by_the_graph(&self, one: usize, other: usize) -> BTreeSet<CommitId> {
        let common = &self.ancestors(one) & &self.ancestors(other);
        let is_best = |at: &&usize| {
            !common.iter().any(|other| other != *at && self.ancestors(*other).contains(at))
        };
        common.iter().filter(is_best).map(|at| self.nodes[*at].tip.commit).collect()
    }

    /// The best ones, in their order, and how many reaches were asked for.
    fn best(&self, one: usize, other: usize) -> (Vec<CommitId>, usize) {
        let mut search = BaseSearch::between(&self.reach(one), &self.reach(other));
        let mut asked = 0;
        while let Some(tip) = search.next_found() {
            if search.is_open() {
                let at = self.nodes.iter().position(|node| node.tip == tip).expect("a commit");
                search.exclude(&self.reach(at));
                asked += 1;
            }
        }
        (search.found().into_iter().map(|tip| tip.commit).collect(), asked)
    }

    fn bases(&self, one: usize, other: usize) -> Vec<usize> {
        let number = |commit: CommitId| commit.as_u128() as usize;
        self.best(one, other).0.into_iter().map(number).collect()
    }

    fn check(&self, one: usize, other: usize) {
        let (found, asked) = self.best(one, other);
        let by_the_graph = self.best_by_the_graph(one, other);
        assert_eq!(found.iter().copied().collect::<BTreeSet<_>>(), by_the_graph);
        assert_eq!(found.len(), by_the_graph.len(), "none twice");
        assert_eq!(found, self.best(other, one).0, "sides are alike");
        assert!(asked <= found.len());
    }
}

proptest! {
    #[test]
    fn a_reach_covers_the_ancestors_and_nothing_else(
        steps in prop::collection::vec(step(), 0..60), of in any::<Back>(),
    ) {
        let history = History::of(&steps);
        let of = of.index(history.nodes.len());
        let (reach, ancestors) = (history.reach(of), history.ancestors(of));
        for (at, node) in history.nodes.iter().enumerate() {
            prop_assert_eq!(reach.covers(&node.tip), ancestors.contains(&at), "{:?}", node.tip);
        }
        let generation = |at: &usize| history.nodes[*at].tip.generation;
        let parents = &history.nodes[of].parents;
        let above = parents.iter().map(generation).max().unwrap_or(0);
        prop_assert_eq!(generation(&of), above + 1);
    }

    #[test]
    fn the_best_common_ancestors_are_those_of_the_graph(
        steps in prop::collection::vec(step(), 0..60), one in any::<Back>(), other in any::<Back>(),
    ) {
        let history = History::of(&steps);
        history.check(one.index(history.nodes.len()), other.index(history.nodes.len()));
    }

    #[test]
    fn spans_cover_every_merge_once(number in 1..100_000_u64) {
        let merges = number;
        let position = Position { line: NativeBranch::main(), generation: 1, forks: 0, merges };
        let mut covered = number;
        let keys = position.reach_keys();
        for key in &keys {
            prop_assert_eq!(*key, ReachKey::Merge(covered));
            covered = span_start(covered);
        }
        prop_assert_eq!(covered, 0);
        prop_assert!(keys.len() as u64 <= number / 256 + 8, "{} rows", keys.len());
    }
}

#[test]
fn a_criss_cross_has_two_best_common_ancestors() {
    let mut history = History::of(&[]);
    let side = history.fork(0);
    let (a, b) = (history.commit(0, None), history.commit(side, None));
    let (into_main, into_side) = (history.merge(0, b).unwrap(), history.merge(side, a).unwrap());
    history.check(into_main, into_side);
    assert_eq!(BTreeSet::from_iter(history.bases(into_main, into_side)), BTreeSet::from([a, b]));
    // A merge of the merges has everything, and is the only base from then on.
    let whole = history.merge(0, into_side).unwrap();
    assert_eq!(history.bases(whole, into_side), [into_side]);
}

#[test]
fn what_two_branches_have_merged_of_a_third_is_their_base() {
    let mut history = History::of(&[]);
    let [x, s, t] = [0; 3].map(|of| history.fork(of));
    let on_x = history.commit(x, None);
    history.merge(s, on_x);
    history.merge(t, on_x);
    let (s, t) = (history.commit(s, None), history.commit(t, None));
    assert_eq!(history.bases(s, t), [on_x]);
}

#[test]
fn what_was_merged_through_a_fourth_branch_is_a_base_too() {
    let mut history = History::of(&[]);
    let [x, y, s, t] = [0; 4].map(|of| history.fork(of));
    let on_x = history.commit(x, None);
    let on_y = history.merge(y, on_x).unwrap();
    history.merge(s, on_y);
    history.merge(t, on_x);
    let (s, t) = (history.commit(s, None), history.commit(t, None));
    assert_eq!(history.bases(s, t), [on_x]);
}

#[test]
fn a_branch_that_is_merged_again_starts_from_where_it_was_merged() {
    let mut history = History::of(&[]);
    let side = history.fork(0);
    let mut last = 0;
    for _ in 0..600 {
        let head = history.commit(side, None);
        assert_eq!(history.bases(history.lines[0].head.unwrap(), head), [last]);
        let merged = history.merge(0, head).unwrap();
        assert!(history.merge(0, head).is_none(), "it is merged already");
        last = head;
        let gained = &history.nodes[merged].recorded[0].1;
        assert_eq!(gained.len(), 1, "a line that is merged often is one tip");
    }
    let newest = &history.nodes[history.lines[0].head.unwrap()];
    assert!(newest.position.reach_keys().len() <= 10);
}

#[test]
fn a_fork_of_an_older_commit_meets_its_source_there() {
    let mut history = History::of(&[]);
    let older = history.commit(0, None);
    let head = history.commit(0, None);
    let side = history.fork(older);
    let on_side = history.commit(side, None);
    assert_eq!(history.bases(head, on_side), [older]);
    assert_eq!(history.bases(head, older), [older], "an ancestor is its own base");
}

#[test]
fn commits_without_a_common_one_have_no_base() {
    let mut history = History::new();
    history.lines.push(Line {
        native: NativeBranch::of_incarnation("b", AttemptId::from_u128(1)),
        head: None,
        version: 1,
    });
    let (one, other) = (history.commit(0, None), history.commit(1, None));
    assert_eq!(history.bases(one, other), Vec::<usize>::new());
}

#[test]
fn a_key_is_read_as_it_is_spelled_and_in_no_other_way() {
    for key in [ReachKey::Fork(1), ReachKey::Merge(u64::MAX)] {
        assert_eq!(key.to_string().parse(), Ok(key));
    }
    for text in ["", "fork", "fork-", "fork-0", "fork-01", "merge-+1", "other-1", "merge-1 "] {
        assert!(text.parse::<ReachKey>().is_err(), "{text}");
    }
}
