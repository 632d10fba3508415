//! Schedulers with one defect each, and the checks that the explorer finds it.

use std::collections::BTreeMap;

use super::{Gates, Phase, Present, Violation, World, conflict, explore};
use crate::queue::Ticket;
use crate::table::GateTable;
use crate::{GateKey, GateMode, GateSet};

/// Takes gates one by one and keeps them while it waits for the next: in the order of the keys, or,
/// which is the defect, with every second attempt in the opposite order.
#[derive(Clone, Default)]
struct OneByOne<const SORTED: bool> {
    queues: BTreeMap<GateKey, Vec<(Ticket, GateMode)>>,
    present: BTreeMap<Ticket, (Vec<(GateKey, GateMode)>, usize)>,
    issued: u64,
}

impl<const SORTED: bool> OneByOne<SORTED> {
    fn holds(&self, key: &GateKey, ticket: Ticket) -> bool {
        let Some(queue) = self.queues.get(key) else { return false };
        let Some(index) = queue.iter().position(|(other, _)| *other == ticket) else {
            return false;
        };
        let before = &queue[..index];
        before.iter().all(|(_, mode)| mode.is_compatible_with(queue[index].1))
    }

    /// Lets everybody take what can be taken, until nothing changes.
    fn advance(&mut self) {
        let tickets: Vec<Ticket> = self.present.keys().copied().collect();
        let mut moved = true;
        while moved {
            moved = tickets.iter().any(|ticket| self.advance_one(*ticket));
        }
    }

    fn advance_one(&mut self, ticket: Ticket) -> bool {
        let (wanted, taken) = &self.present[&ticket];
        if *taken > 0 && !self.holds(&wanted[*taken - 1].0, ticket) {
            return false;
        }
        let Some((key, mode)) = wanted.get(*taken).cloned() else { return false };
        self.queues.entry(key).or_default().push((ticket, mode));
        self.present.entry(ticket).and_modify(|(_, taken)| *taken += 1);
        true
    }
}

impl<const SORTED: bool> Gates for OneByOne<SORTED> {
    fn request(&mut self, set: &GateSet, attempt: usize) -> Ticket {
        self.issued += 1;
        let ticket = Ticket(self.issued);
        let mut wanted: Vec<_> = set.iter().map(|(key, mode)| (key.clone(), mode)).collect();
        if !SORTED && attempt % 2 == 1 {
            wanted.reverse();
        }
        self.present.insert(ticket, (wanted, 0));
        self.advance();
        ticket
    }

    fn leave(&mut self, ticket: Ticket) {
        self.present.remove(&ticket);
        for queue in self.queues.values_mut() {
            queue.retain(|(other, _)| *other != ticket);
        }
        self.queues.retain(|_, queue| !queue.is_empty());
        self.advance();
    }

    fn is_granted(&self, ticket: Ticket) -> bool {
        let (wanted, _) = &self.present[&ticket];
        wanted.iter().all(|(key, _)| self.holds(key, ticket))
    }

    fn is_empty(&self) -> bool {
        self.queues.is_empty() && self.present.is_empty()
    }
}

/// Grants whatever goes with the *holders*, past everybody who waits.
#[derive(Clone, Default)]
struct Overtaking {
    present: Vec<(Ticket, GateSet, bool)>,
    issued: u64,
}

impl Overtaking {
    fn grant(&mut self) {
        for index in 0..self.present.len() {
            let (_, set, granted) = &self.present[index];
            let mut held = self.present.iter().filter(|(_, _, granted)| *granted);
            let free = *granted || !held.any(|(_, other, _)| conflict(other, set));
            self.present[index].2 = free;
        }
    }
}

impl Gates for Overtaking {
    fn request(&mut self, set: &GateSet, _attempt: usize) -> Ticket {
        self.issued += 1;
        self.present.push((Ticket(self.issued), set.clone(), false));
        self.grant();
        Ticket(self.issued)
    }

    fn leave(&mut self, ticket: Ticket) {
        self.present.retain(|(other, _, _)| *other != ticket);
        self.grant();
    }

    fn is_granted(&self, ticket: Ticket) -> bool {
        self.present.iter().any(|(other, _, granted)| *other == ticket && *granted)
    }

    fn is_empty(&self) -> bool {
        self.present.is_empty()
    }
}

/// Grants whatever comes, and takes it back from everybody whom it conflicts with.
#[derive(Clone, Default)]
struct Preempting(Overtaking);

impl Gates for Preempting {
    fn request(&mut self, set: &GateSet, _attempt: usize) -> Ticket {
        let Overtaking { present, issued } = &mut self.0;
        for (_, other, granted) in present.iter_mut() {
            *granted &= !conflict(other, set);
        }
        *issued += 1;
        present.push((Ticket(*issued), set.clone(), true));
        Ticket(*issued)
    }

    fn leave(&mut self, ticket: Ticket) {
        self.0.leave(ticket);
    }

    fn is_granted(&self, ticket: Ticket) -> bool {
        self.0.is_granted(ticket)
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The real core, used wrongly: modes are lost, a part of the set is asked for, or the place of a
/// cancelled wait is never given back.
#[derive(Clone, Default)]
struct Misused<const DEFECT: char>(GateTable);

const EVERYTHING_SHARED: char = 's';
const CANCELLED_WAIT_STAYS: char = 'c';
const ONLY_BRANCH_A: char = 'a';

impl<const DEFECT: char> Gates for Misused<DEFECT> {
    fn request(&mut self, set: &GateSet, attempt: usize) -> Ticket {
        let asked = match DEFECT {
            EVERYTHING_SHARED => GateSet::new().with_schema(GateMode::Shared),
            ONLY_BRANCH_A => branches(&["a"]),
            _ => set.clone(),
        };
        Gates::request(&mut self.0, &asked, attempt)
    }

    fn leave(&mut self, ticket: Ticket) {
        if DEFECT != CANCELLED_WAIT_STAYS || self.is_granted(ticket) {
            Gates::leave(&mut self.0, ticket);
        }
    }

    fn is_granted(&self, ticket: Ticket) -> bool {
        Gates::is_granted(&self.0, ticket)
    }

    fn is_empty(&self) -> bool {
        Gates::is_empty(&self.0)
    }

    /// Lost modes are what every scheduler is judged by.
    fn judge(&self, present: &[Present<'_>]) -> Result<(), Violation> {
        if DEFECT == EVERYTHING_SHARED { Ok(()) } else { Gates::judge(&self.0, present) }
    }
}

/// Lets attempts ask and leave in this one order.
fn in_order<G: Gates>(sets: &[GateSet], order: &[usize]) -> Result<(), Violation> {
    let phases = vec![Phase::Idle; sets.len()];
    let mut world =
        World { gates: G::default(), sets, phases, arrivals: Vec::new(), overtaken_max: 0 };
    order.iter().try_for_each(|attempt| world.step(*attempt))
}

fn branches(names: &[&str]) -> GateSet {
    let add = |set: GateSet, name: &&str| set.with_branch(name, GateMode::Exclusive);
    names.iter().fold(GateSet::new(), add)
}

fn two_alone() -> Vec<GateSet> {
    vec![branches(&["a", "b"]), branches(&["a", "b"])]
}

fn writer_apply_writer() -> Vec<GateSet> {
    let shared = GateSet::new().with_schema(GateMode::Shared);
    let exclusive = GateSet::new().with_schema(GateMode::Exclusive);
    vec![shared.clone(), exclusive, shared]
}

/// The second waits for the first before it comes to `b`, which the third wants.
fn three_in_a_chain() -> Vec<GateSet> {
    vec![branches(&["a"]), branches(&["a", "b"]), branches(&["b"])]
}

/// The third keeps the second from `b` until the first has taken `a`; then, if the second goes from
/// `c` down, each of the two holds what the other waits for.
fn three_that_cross() -> Vec<GateSet> {
    vec![branches(&["a", "c"]), branches(&["a", "b", "c"]), branches(&["b"])]
}

#[test]
fn gates_taken_one_by_one_out_of_order_are_found_to_deadlock() {
    let found = explore::<OneByOne<false>>(&three_that_cross(), usize::MAX);
    assert!(matches!(found, Err(Violation::Deadlock { .. })), "{found:?}");
}

#[test]
fn gates_taken_one_by_one_in_order_do_not_deadlock() {
    explore::<OneByOne<true>>(&three_that_cross(), usize::MAX).unwrap();
}

#[test]
fn gates_taken_one_by_one_in_order_are_found_to_let_an_older_attempt_be_overtaken() {
    let found = explore::<OneByOne<true>>(&three_in_a_chain(), 0);
    assert_eq!(found, Err(Violation::Overtaken { attempt: 1, times: 1 }));
}

#[test]
fn a_grant_past_a_waiting_attempt_is_found() {
    let found = explore::<Overtaking>(&writer_apply_writer(), 0);
    assert!(matches!(found, Err(Violation::Overtaken { .. })), "{found:?}");
}

#[test]
fn lost_modes_are_found_to_let_two_in() {
    let found = explore::<Misused<EVERYTHING_SHARED>>(&two_alone(), 0);
    assert_eq!(found, Err(Violation::Incompatible { attempts: (0, 1) }));
}

#[test]
fn a_cancelled_wait_that_stays_is_found() {
    let found = explore::<Misused<CANCELLED_WAIT_STAYS>>(&two_alone(), 0);
    let left_behind = matches!(found, Err(Violation::Residue | Violation::Deadlock { .. }));
    assert!(left_behind, "{found:?}");
}

#[test]
fn a_grant_that_is_taken_back_is_found() {
    let found = explore::<Preempting>(&two_alone(), usize::MAX);
    assert_eq!(found, Err(Violation::Revoked { attempt: 0 }));
}

#[test]
fn a_part_of_a_set_that_is_granted_alone_is_found() {
    let found = explore::<Misused<ONLY_BRANCH_A>>(&two_alone()[..1], 0);
    assert_eq!(found, Err(Violation::NotAllOrNone { attempt: 0 }));
}

/// The second waits for the first and goes; the third has nobody before it then.
#[test]
fn a_wait_for_somebody_who_is_gone_is_found() {
    let order = [0, 1, 1, 2];
    assert_eq!(in_order::<GateTable>(&three_in_a_chain(), &order), Ok(()));
    let found = in_order::<Misused<CANCELLED_WAIT_STAYS>>(&three_in_a_chain(), &order);
    assert_eq!(found, Err(Violation::NotTheRule { attempt: 2 }));
}
