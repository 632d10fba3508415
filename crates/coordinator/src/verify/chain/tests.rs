//! Chains of versions by hand: which rows of the manifest explain them, and which they lack.

use graphwrite_manifest::{CommitRow, History, OutcomeKind, OutcomeRow};
use graphwrite_protocol_types::{
    IncarnationId, NativeBranch, Position, ProcessInstanceId, RequestDigest, StableTableId,
    TableSummary, WriterKind,
};
use graphwrite_substrate::TableVersion;

use super::*;

fn attempt(n: u128) -> AttemptId {
    AttemptId::from_u128(n)
}

fn identity() -> TableIdentity {
    let (table, incarnation) = (StableTableId::new(1), IncarnationId::new(2));
    TableIdentity { table: table.unwrap(), incarnation: incarnation.unwrap() }
}

fn step(n: u128) -> TxUuid {
    TxUuid::effect(attempt(n), 0, 0)
}

fn other() -> SlotAction {
    SlotAction::Other("Append".to_owned())
}

/// A table whose first version attempt 1 made.
#[derive(Default)]
struct World {
    history: History,
    slots: BTreeMap<u64, SlotRecord>,
    pins: BTreeMap<(u64, TxUuid), Option<CommitId>>,
    pending: BTreeSet<AttemptId>,
}

impl World {
    fn new() -> Self {
        Self::default().committed(1).version(1, step(1), other()).pinned(1)
    }

    fn outcome(mut self, n: u128, kind: OutcomeKind) -> Self {
        self.history.outcomes.push(OutcomeRow {
            attempt: attempt(n),
            operation: format!("o{n}").parse().unwrap(),
            request: Some(RequestDigest([0; 32])),
            branch_record: 0,
            manifest_version: n as u64,
            kind,
            recorded_at_unix_us: 0,
        });
        self
    }

    fn committed(mut self, n: u128) -> Self {
        let commit = CommitId::from_u128(n);
        self.history.commits.push(CommitRow {
            commit,
            manifest_version: n as u64,
            parents: vec![],
            attempt: attempt(n),
            operation: format!("o{n}").parse().unwrap(),
            writer: WriterKind::Load,
            actor: "ada".into(),
            message: None,
            tables: vec![TableSummary {
                identity: identity(),
                name: "Person".into(),
                inserted: 1,
                updated: 0,
                deleted: 0,
                unchanged: 0,
            }],
            recorded_at_unix_us: 0,
            position: Position { line: NativeBranch::main(), generation: 1, forks: 0, merges: 0 },
        });
        self.outcome(n, OutcomeKind::Committed { commit })
    }

    fn aborted(self, n: u128) -> Self {
        let by = ProcessInstanceId::from_u128(1);
        self.outcome(n, OutcomeKind::Aborted { by, reason: "it died".into() })
    }

    fn version(self, version: u64, tx_uuid: TxUuid, action: SlotAction) -> Self {
        self.version_over(version - 1, version, tx_uuid, action)
    }

    fn version_over(
        mut self,
        read_version: u64,
        version: u64,
        tx_uuid: TxUuid,
        action: SlotAction,
    ) -> Self {
        let version = TableVersion { version, tx_uuid, e_tag: None };
        self.slots.insert(
            version.version,
            SlotRecord { version, read_version, action, manifest_bytes: 1 },
        );
        self
    }

    fn pinned(mut self, version: u64) -> Self {
        self.pins.insert((version, self.slots[&version].version.tx_uuid.clone()), None);
        self
    }

    fn codes(self) -> Vec<&'static str> {
        self.codes_in(&DatasetPath::of_first_load(identity(), attempt(1)))
    }

    fn codes_in(self, path: &DatasetPath) -> Vec<&'static str> {
        let head = self.pins.keys().next_back().cloned();
        let facts = RefFacts {
            identity: identity(),
            name: "Person".into(),
            path: path.clone(),
            physical_ref: PhysicalRef::Main,
            first: 1,
            pins: self.pins,
            head: head.map(|(version, tx_uuid)| Pin { version, tx_uuid }),
        };
        let mut decisions = Decisions::default();
        decisions.add(&self.history, |_| NativeBranch::main());
        let (slots, pending) = (&self.slots, &self.pending);
        let chain = Chain { facts: &facts, slots, decisions: &decisions, pending };
        chain.findings().into_iter().map(|finding| finding.code).collect()
    }
}

#[test]
fn versions_of_committed_attempts_are_explained() {
    let world = World::new().committed(2).version(2, step(2), other()).pinned(2);
    assert_eq!(world.codes(), [""; 0]);
}

#[test]
fn what_landed_of_an_aborted_attempt_is_explained_where_a_restore_takes_it_back() {
    let landed = World::new().aborted(2).version(2, step(2), other());
    let restore = |to| SlotAction::Restore { to };
    let back = landed.version(3, TxUuid::restore(attempt(2), 0), restore(1)).pinned(3);
    assert_eq!(back.codes(), [""; 0]);
    let landed = World::new().aborted(2).version(2, step(2), other());
    assert_eq!(landed.pinned(2).codes(), ["uncommitted_rows"]);
    let landed = World::new().aborted(2).version(2, step(2), other());
    let not_back = landed.version(3, TxUuid::restore(attempt(2), 0), restore(2)).pinned(3);
    assert_eq!(not_back.codes(), ["uncommitted_rows"]);
}

#[test]
fn a_restore_of_an_attempt_that_was_not_aborted_is_nobodys() {
    let restore = SlotAction::Restore { to: 1 };
    let world = World::new().committed(2).version(2, step(2), other()).pinned(2);
    let world = world.version(3, TxUuid::restore(attempt(2), 0), restore).pinned(3);
    assert_eq!(world.codes(), ["uncommitted_rows"]);
}

#[test]
fn a_fence_keeps_the_rows_of_the_version_below() {
    let fence = |n| TxUuid::fence(attempt(n), 0);
    let world = World::new().aborted(2).version(2, fence(2), SlotAction::EmptyAppend).pinned(2);
    assert_eq!(world.codes(), [""; 0]);
    let world = World::new().aborted(2).version(2, fence(2), other()).pinned(2);
    assert_eq!(world.codes(), ["uncommitted_rows"]);
    let world = World::new().version(2, fence(3), SlotAction::EmptyAppend).pinned(2);
    assert_eq!(world.codes(), ["foreign_version"]);
}

#[test]
fn a_foreign_version_taints_all_that_is_committed_over_it() {
    let world = World::new().version(2, TxUuid::observed("x"), other());
    let world = world.committed(3).version(3, step(3), other()).pinned(3);
    assert_eq!(world.codes(), ["uncommitted_rows"]);
}

#[test]
fn a_commit_that_was_rebased_is_not_strict() {
    let world = World::new().committed(2).committed(3).version(2, step(2), other()).pinned(2);
    let world = world.version_over(1, 3, step(3), other()).pinned(3);
    assert_eq!(world.codes(), ["uncommitted_rows"]);
}

#[test]
fn a_transaction_is_used_once() {
    let world = World::new().committed(2).version(2, step(2), other()).pinned(2);
    assert_eq!(world.version(3, step(2), other()).pinned(3).codes(), ["uncommitted_rows"]);
}

#[test]
fn a_dataset_is_made_by_the_attempt_in_its_name() {
    let elsewhere = DatasetPath::of_first_load(identity(), attempt(9));
    assert_eq!(World::new().codes_in(&elsewhere), ["uncommitted_rows"]);
}

#[test]
fn where_older_versions_are_gone_nothing_is_claimed_of_them() {
    let mut world = World::new().committed(2).version(2, step(2), other());
    world = world.committed(3).version(3, step(3), other()).pinned(3);
    world.slots.remove(&1);
    world.pins.remove(&(1, step(1)));
    assert_eq!(world.codes(), ["versions_removed"]);
}

#[test]
fn versions_above_the_head_are_those_of_pending_attempts_or_drift() {
    let mut world = World::new().version(2, step(2), other());
    world.pending.insert(attempt(2));
    assert_eq!(world.codes(), ["unpublished_head"]);
    assert_eq!(World::new().version(2, step(2), other()).codes(), ["drift"]);
    let mut buried = World::new().version(2, step(2), other());
    buried.pending.insert(attempt(2));
    assert_eq!(buried.version(3, TxUuid::observed("x"), other()).codes(), ["drift"]);
    let fence = TxUuid::fence(attempt(2), 0);
    let fenced = World::new().aborted(2).version(2, fence.clone(), SlotAction::EmptyAppend);
    assert_eq!(fenced.codes(), ["fence"]);
    let far = World::new().version(2, TxUuid::observed("x"), other());
    assert_eq!(far.version(3, fence, SlotAction::EmptyAppend).codes(), ["drift"]);
}

#[test]
fn a_pin_needs_its_version_and_its_transaction() {
    let mut world = World::new();
    world.slots.remove(&1);
    assert_eq!(world.codes(), ["pin_lost"]);
    let world = World::new().version(1, TxUuid::observed("x"), other());
    assert!(world.codes().contains(&"pin_lost"));
}
