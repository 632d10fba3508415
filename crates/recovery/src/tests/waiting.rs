//! Proof of death, and patience.

use graphwrite_protocol_types::*;

use super::fixture::{attempt, owner_record};
use crate::*;

/// The machine and the process that look.
#[derive(Debug, Clone)]
struct Local {
    instance: u128,
    boot: Option<&'static str>,
    namespace: Option<&'static str>,
    pid: PidState,
    live: bool,
}

/// Another process in the owner's boot and namespace.
const NEIGHBOUR: Local = Local {
    instance: 0x22,
    boot: Some("boot-1"),
    namespace: Some("pid:[1]"),
    pid: PidState::Gone,
    live: false,
};

impl LocalProcess for Local {
    fn instance(&self) -> ProcessInstanceId {
        ProcessInstanceId::from_u128(self.instance)
    }

    fn boot_id(&self) -> Option<&str> {
        self.boot
    }

    fn pid_namespace(&self) -> Option<&str> {
        self.namespace
    }

    fn pid_state(&self, pid: u32) -> PidState {
        assert_eq!(pid, owner_record().pid);
        self.pid
    }

    fn is_live(&self, _: AttemptId) -> bool {
        self.live
    }
}

fn proof(local: &Local) -> Option<DeathProof> {
    proof_of_death(&owner_record(), local)
}

#[test]
fn a_process_that_is_gone_or_was_replaced_is_dead() {
    assert_eq!(proof(&NEIGHBOUR), Some(DeathProof::PidGone));
    let younger = PidState::Running { start_ticks: Some(101) };
    let reused = Local { pid: younger, ..NEIGHBOUR };
    assert_eq!(proof(&reused), Some(DeathProof::PidReused));
}

#[test]
fn a_process_that_runs_is_not_dead() {
    for start_ticks in [Some(100), None] {
        let running = Local { pid: PidState::Running { start_ticks }, ..NEIGHBOUR };
        assert_eq!(proof(&running), None);
    }
    assert_eq!(proof(&Local { pid: PidState::Unknown, ..NEIGHBOUR }), None);
}

#[test]
fn a_pid_proves_nothing_in_another_namespace_or_another_boot() {
    assert_eq!(proof(&Local { namespace: Some("pid:[2]"), ..NEIGHBOUR }), None);
    assert_eq!(proof(&Local { namespace: None, ..NEIGHBOUR }), None);
    assert_eq!(proof(&Local { boot: Some("boot-2"), ..NEIGHBOUR }), None);
    assert_eq!(proof(&Local { boot: None, ..NEIGHBOUR }), None);
}

#[test]
fn a_pid_proves_nothing_where_the_owner_does_not_know_its_boot() {
    let nameless = OwnerRecord { boot_id: None, ..owner_record() };
    assert_eq!(proof_of_death(&nameless, &Local { boot: None, ..NEIGHBOUR }), None);
}

#[test]
fn an_attempt_of_this_process_is_live_or_dead() {
    let same = Local { instance: 0x11, ..NEIGHBOUR };
    let owner = |local: &Local| owner_of(&owner_record(), attempt(), 5, local, false);
    assert_eq!(owner(&Local { live: true, ..same.clone() }), Owner::OwnLive);
    assert_eq!(owner(&same), Owner::Dead { proof: DeathProof::NotLiveHere });
}

#[test]
fn an_operators_word_counts_where_there_is_no_proof() {
    let running = Local { pid: PidState::Unknown, ..NEIGHBOUR };
    let owner = |declared| owner_of(&owner_record(), attempt(), 5, &running, declared);
    assert_eq!(owner(false), Owner::MaybeAlive { age_ms: 5 });
    assert_eq!(owner(true), Owner::Dead { proof: DeathProof::Operator });
}

#[test]
fn pauses_double_up_to_a_limit() {
    let waits = WaitRules::default();
    let pauses: Vec<u64> = [0, 1, 2, 5, 6, 7, 63, u32::MAX].map(|at| waits.backoff_ms(at)).into();
    assert_eq!(pauses, [20, 40, 80, 640, 1_000, 1_000, 1_000, 1_000]);
}

#[test]
fn retry_after_is_when_the_owners_time_is_over_within_reason() {
    let waits = WaitRules::default();
    assert_eq!(waits.retry_after_ms(0), 10_000);
    assert_eq!(waits.retry_after_ms(55_000), 5_000);
    assert_eq!(waits.retry_after_ms(59_999), 1_000);
    assert_eq!(waits.retry_after_ms(u64::MAX), 1_000);
}
