//! The real core under every schedule of every small combination of attempts.

use graphwrite_protocol_types::{IncarnationId, StableTableId, TableIdentity};

use super::{Tally, explore};
use crate::table::GateTable;
use crate::{GateMode, GateSet};

fn table(number: u64) -> TableIdentity {
    TableIdentity {
        table: StableTableId::new(number).unwrap(),
        incarnation: IncarnationId::new(number).unwrap(),
    }
}

const MODES: [Option<GateMode>; 3] = [None, Some(GateMode::Shared), Some(GateMode::Exclusive)];

fn set(schema: Option<GateMode>, branch: Option<GateMode>, tables: &[u64]) -> GateSet {
    let set = schema.into_iter().fold(GateSet::new(), GateSet::with_schema);
    let set = branch.into_iter().fold(set, |set, mode| set.with_branch("main", mode));
    tables.iter().fold(set, |set, number| set.with_table("main", table(*number)))
}

/// Every set over schema control, one branch and two tables.
fn every_set() -> Vec<GateSet> {
    let tables: [&[u64]; 4] = [&[], &[1], &[2], &[1, 2]];
    let with_branch = |schema, branch| tables.map(|tables| set(schema, branch, tables));
    let with_schema =
        |schema| MODES.into_iter().flat_map(move |branch| with_branch(schema, branch));
    MODES.into_iter().flat_map(with_schema).collect()
}

/// Every choice of `size` among `count` sets, by index and sorted. Order does not matter, since
/// every order of arrival is run.
fn choices(count: usize, size: usize) -> Vec<Vec<usize>> {
    if size == 0 {
        return vec![Vec::new()];
    }
    let tails = choices(count, size - 1);
    let grown_from = |tail: &Vec<usize>| {
        let largest = tail.last().copied().unwrap_or(0);
        let grow = |index| tail.iter().copied().chain([index]).collect();
        (largest..count).map(grow).collect::<Vec<Vec<usize>>>()
    };
    tails.iter().flat_map(grown_from).collect()
}

/// The same choice with the two tables of [`every_set`] renamed to each other: sets come in fours,
/// of which the middle two are each other's image.
fn mirrored(choice: &[usize]) -> Vec<usize> {
    let mirror = |index: &usize| match index % 4 {
        1 => index + 1,
        2 => index - 1,
        _ => *index,
    };
    let mut image: Vec<usize> = choice.iter().map(mirror).collect();
    image.sort_unstable();
    image
}

fn explore_all(menu: &[GateSet], choices: &[Vec<usize>]) -> Tally {
    let mut tally = Tally::default();
    for choice in choices {
        let sets: Vec<GateSet> = choice.iter().map(|index| menu[*index].clone()).collect();
        match explore::<GateTable>(&sets, 0) {
            Ok(seen) => tally.add(seen),
            Err(violation) => panic!("{violation:?} with {sets:#?}"),
        }
    }
    tally
}

#[test]
fn three_attempts_with_any_sets_over_four_gates_keep_every_promise_in_every_schedule() {
    let mut trios = choices(36, 3);
    trios.retain(|trio| *trio <= mirrored(trio));
    let tally = explore_all(&every_set(), &trios);
    // 36 sets, 3 of them with repetition: 8436 choices, 1302 of them their own mirror image, so
    // 4869 up to renaming; 6! / 2!^3 = 90 schedules of each, which pass through 271 prefixes.
    assert_eq!(tally.schedules, 4_869 * 90);
    assert_eq!(tally.states, 4_869 * 271);
    assert!(tally.waits > 0);
}

#[test]
fn four_attempts_of_the_kinds_that_meet_keep_every_promise_in_every_schedule() {
    use GateMode::{Exclusive, Shared};
    let menu = [
        set(Some(Shared), Some(Shared), &[1]),
        set(Some(Shared), Some(Shared), &[1, 2]),
        set(Some(Exclusive), None, &[2]),
        set(Some(Shared), Some(Exclusive), &[]),
    ];
    let tally = explore_all(&menu, &choices(menu.len(), 4));
    // 4 sets, 4 of them with repetition: 35 choices; 8! / 2!^4 = 2520 schedules of each.
    assert_eq!(tally.schedules, 35 * 2_520);
    assert!(tally.waits > 0);
}
