//! One step of a random history of branches.

use graphwrite_coordinator::{CommitBounds, MergeStrategy};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::model::seeds::{RequestSeed, request};
use crate::model::steps::{Fate, fate};

/// The branches that there may be, beside main.
pub(super) const NAMES: [&str; 3] = ["b", "c", "d"];

/// What is written to a branch.
#[derive(Debug, Clone)]
pub(super) enum What {
    /// The first of these that is allowed and changes something.
    Grown(Vec<RequestSeed>),
    /// What was written last, on whatever branch: so that branches come to the same rows.
    AsBefore,
}

/// What a branch is made of, or what is merged.
#[derive(Debug, Clone)]
pub(super) enum From {
    Head(Index),
    /// Any commit that there is, in the line of a branch or not.
    Commit(Index),
}

/// A merge.
#[derive(Debug, Clone)]
pub(super) struct Merging {
    pub(super) target: Index,
    pub(super) source: From,
    pub(super) strategy: MergeStrategy,
    pub(super) bounds: CommitBounds,
    /// Whether all rows are compared in their order.
    pub(super) ordered: bool,
    pub(super) previews: bool,
    pub(super) fate: Fate,
}

/// One step.
#[derive(Debug, Clone)]
pub(super) enum Step {
    Write(Index, What, Fate),
    /// A branch is made; one of that name is deleted first.
    Fork(usize, From),
    Delete(usize),
    Merge(Merging),
    /// Another process takes over.
    Reopen,
}

/// Seldom anything: a disturbed step costs as much as several others.
fn seldom() -> impl Strategy<Value = Fate> {
    prop_oneof![1 => Just(Fate::None), 1 => fate()]
}

fn what() -> impl Strategy<Value = What> {
    prop_oneof![4 => vec(request(), 4).prop_map(What::Grown), 1 => Just(What::AsBefore)]
}

fn from() -> impl Strategy<Value = From> {
    let index = any::<Index>;
    prop_oneof![4 => index().prop_map(From::Head), 1 => index().prop_map(From::Commit)]
}

fn bounds() -> impl Strategy<Value = CommitBounds> {
    let rows = |rows| CommitBounds { rows, ..CommitBounds::default() };
    prop_oneof![
        1 => Just(CommitBounds::default()),
        2 => (1..3_u64).prop_map(rows),
        1 => Just(CommitBounds { bytes: 1, ..CommitBounds::default() }),
    ]
}

fn merging() -> impl Strategy<Value = Merging> {
    let strategy = prop_oneof![
        2 => Just(MergeStrategy::Fail),
        2 => select(&MergeStrategy::ALL[..]),
    ];
    let parts = (any::<Index>(), from(), strategy, bounds(), any::<[bool; 2]>(), seldom());
    parts.prop_map(|(target, source, strategy, bounds, [ordered, previews], fate)| Merging {
        target,
        source,
        strategy,
        bounds,
        ordered,
        previews,
        fate,
    })
}

fn written() -> impl Strategy<Value = Step> {
    let parts = (any::<Index>(), what(), seldom());
    parts.prop_map(|(at, what, fate)| Step::Write(at, what, fate))
}

fn forked(name: usize) -> impl Strategy<Value = Step> {
    from().prop_map(move |from| Step::Fork(name, from))
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        28 => written(),
        20 => merging().prop_map(Step::Merge),
        3 => (0..NAMES.len()).prop_flat_map(forked),
        1 => (0..NAMES.len()).prop_map(Step::Delete),
        2 => Just(Step::Reopen),
    ]
}

/// So many steps. Most histories begin with rows, and with all branches.
pub(super) fn steps(count: usize) -> impl Strategy<Value = Vec<Step>> {
    let begins = (written(), written(), forked(0), forked(1), forked(2));
    let begins = begins.prop_map(|(one, other, b, c, d)| vec![one, other, b, c, d]);
    let begins = prop_oneof![1 => Just(Vec::new()), 7 => begins];
    (begins, vec(step(), count)).prop_map(|(begins, steps)| [begins, steps].concat())
}
