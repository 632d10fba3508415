//! The truth table: every state of a key in one or two bases, in the source and in the target, for nodes
//! and edges and every strategy, against a reference in plain Rust.

use std::collections::{BTreeMap, BTreeSet};

use super::rows::{Table, with};
use crate::merge::*;

/// A row of a key: the value that it was made with, and those that the sides have changed it to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Value {
    Original,
    A,
    B,
}

use Value::{A, B, Original};

/// What a key is on a side: with a base that has it, none means deleted, without one absent.
type State = Option<Value>;

const BASES: [State; 2] = [None, Some(Original)];
const SIDES: [State; 4] = [None, Some(Original), Some(A), Some(B)];

/// One cell.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Cell {
    bases: Vec<State>,
    /// In what two bases are merged with each other by, where it is known.
    older: Option<State>,
    source: State,
    target: State,
}

/// What must come of it: the row that the target has afterwards, or how the sides contradict each other.
/// Written from the meaning of a change, not from the rule.
fn expected(cell: &Cell) -> Result<State, ConflictKind> {
    let bases = bases(cell);
    let results: BTreeSet<Result<State, ()>> =
        bases.iter().map(|base| of_one_base(*base, cell.source, cell.target)).collect();
    match results.into_iter().collect::<Vec<_>>().as_slice() {
        [Ok(result)] => Ok(*result),
        _ => Err(match (cell.source, cell.target) {
            (None, Some(_)) => ConflictKind::DeletedBySource,
            (Some(_), None) => ConflictKind::DeletedByTarget,
            _ if bases.iter().any(Option::is_some) => ConflictKind::DivergentUpdate,
            _ => ConflictKind::DivergentInsert,
        }),
    }
}

/// What two bases come to when they are merged stands for both, unless they contradict each other.
fn bases(cell: &Cell) -> Vec<State> {
    match (cell.bases.as_slice(), cell.older) {
        ([one, other], Some(older)) => match of_one_base(older, *one, *other) {
            Ok(both) => vec![both],
            Err(()) => cell.bases.clone(),
        },
        _ => cell.bases.clone(),
    }
}

fn of_one_base(base: State, source: State, target: State) -> Result<State, ()> {
    match (source != base, target != base) {
        (false, false) => Ok(base),
        (true, false) => Ok(source),
        (false, true) => Ok(target),
        (true, true) if source == target => Ok(target),
        (true, true) => Err(()),
    }
}

fn after(cell: &Cell, strategy: MergeStrategy) -> State {
    match (expected(cell), strategy) {
        (Ok(state), _) => state,
        // Nothing may be written of a merge that fails; what is gathered leaves the key alone.
        (Err(_), MergeStrategy::Fail | MergeStrategy::Ours) => cell.target,
        (Err(_), MergeStrategy::Theirs) => cell.source,
    }
}

fn cells(bases: &[Vec<State>], older: Option<State>) -> Vec<Cell> {
    let mut cells = Vec::new();
    for bases in bases {
        for source in SIDES {
            for target in SIDES {
                cells.push(Cell { bases: bases.clone(), older, source, target });
            }
        }
    }
    cells
}

/// The line of a key in a state.
type Line = fn(usize, Value) -> String;

fn node(key: usize, value: Value) -> String {
    let age = value as i32;
    format!(r#"{{"type":"Person","data":{{"slug":"p{key:03}","age":{age}}}}}"#)
}

/// Told apart by its ends.
fn edge(key: usize, value: Value) -> String {
    let day = 1 + value as u32;
    format!(r#"{{"edge":"Knows","from":"p{key:03}","to":"q","data":{{"since":"2000-01-0{day}"}}}}"#)
}

/// Told apart by an id of its own, so that an update may move it.
fn parallel(key: usize, value: Value) -> String {
    let source = ["x", "y", "z"][value as usize];
    format!(r#"{{"edge":"Visits","from":"{source}","to":"q","data":{{"id":"e{key:03}"}}}}"#)
}

fn side(line: Line, states: impl Iterator<Item = State>) -> Vec<String> {
    let present = states.enumerate().filter_map(|(key, state)| Some((key, state?)));
    present.map(|(key, value)| line(key, value)).collect()
}

fn check(name: &'static str, line: Line, bases: &[Vec<State>], older: Option<State>) {
    let table = Table::new(name);
    let cells = cells(bases, older);
    let of = |state: fn(&Cell) -> State| table.rows(&side(line, cells.iter().map(state)));
    let (source, target) = (of(|cell| cell.source), of(|cell| cell.target));
    let count = bases[0].len();
    let bases: Vec<_> = (0..count)
        .map(|at| table.rows(&side(line, cells.iter().map(|cell| cell.bases[at]))))
        .collect();
    let states = cells.iter().map(|cell| cell.older.flatten());
    let older = older.map(|_| table.rows(&side(line, states)));
    for strategy in [MergeStrategy::Fail, MergeStrategy::Ours, MergeStrategy::Theirs] {
        let options = MergeOptions { conflicts_listed_max: 1_000, ..with(strategy) };
        let merged = table.merge_by((&bases, older.as_ref()), &source, &target, &options).unwrap();
        let wanted = side(line, cells.iter().map(|cell| after(cell, strategy)));
        let wanted = table.lines(&table.rows(&wanted));
        assert_eq!(table.after(&target, &merged), wanted, "{name} {strategy:?}");
        check_conflicts(&table, line, &cells, &merged);
        check_counts(&cells, strategy, &merged);
    }
}

/// All of them, once each, with both sides' rows.
fn check_conflicts(table: &Table, line: Line, cells: &[Cell], merged: &MergedTable) {
    let listed = merged.conflicts().listed();
    let (mut counts, mut met) = (BTreeMap::new(), 0);
    for (key, cell) in cells.iter().enumerate() {
        let Err(kind) = expected(cell) else { continue };
        let is_of = |found: &&RowConflict| found.key.contains(&format!("{key:03}"));
        let found = listed.iter().find(is_of).unwrap_or_else(|| panic!("{cell:?}"));
        assert_eq!(found.kind, kind, "{cell:?}");
        for (state, row) in [(cell.source, &found.source), (cell.target, &found.target)] {
            let expected = state.map(|value| table.lines(&table.rows(&[line(key, value)])));
            assert_eq!(row.as_ref().map(|row| table.lines(row)), expected, "{cell:?}");
        }
        *counts.entry(kind).or_insert(0) += 1;
        met += 1;
    }
    assert_eq!(listed.len(), met, "and no other");
    for kind in ConflictKind::ALL {
        let counted = counts.get(&kind).copied().unwrap_or(0);
        assert_eq!(merged.conflicts().counts().of(kind), counted, "{kind:?}");
    }
}

fn check_counts(cells: &[Cell], strategy: MergeStrategy, merged: &MergedTable) {
    let mut counts = MergeCounts::default();
    for cell in cells {
        let result = after(cell, strategy);
        let is_undecided = expected(cell).is_err() && strategy == MergeStrategy::Fail;
        match (cell.target, result) {
            _ if is_undecided => {}
            (None, Some(_)) => counts.adopted += 1,
            (Some(_), None) => counts.removed += 1,
            (before, after) if before != after => counts.rewritten += 1,
            _ if cell.source == cell.target => {
                counts.converged += u64::from(cell.bases.iter().any(|base| *base != cell.target));
            }
            _ => {}
        }
    }
    assert_eq!(merged.counts(), counts, "{strategy:?}");
}

fn check_all(name: &'static str, line: Line) {
    let one: Vec<_> = BASES.iter().map(|base| vec![*base]).collect();
    check(name, line, &one, None);
    let states = [None, Some(Original), Some(A), Some(B)];
    let two = states.iter().flat_map(|one| states.iter().map(move |other| vec![*one, *other]));
    let two: Vec<_> = two.collect();
    for older in [None, Some(None), Some(Some(Original))] {
        check(name, line, &two, older);
    }
}

#[test]
fn nodes_are_merged_as_the_reference_says_in_every_cell() {
    check_all("Person", node);
}

#[test]
fn edges_are_merged_as_the_reference_says_in_every_cell() {
    check_all("Knows", edge);
}

#[test]
fn parallel_edges_are_merged_as_the_reference_says_in_every_cell() {
    check_all("Visits", parallel);
}

#[test]
fn without_a_base_all_rows_are_added() {
    let table = Table::new("Person");
    let (source, target) =
        (table.rows(&[node(1, A), node(2, A)]), table.rows(&[node(2, A), node(3, B)]));
    let merged = table.merge(&[], &source, &target, &MergeOptions::default()).unwrap();
    let counts = merged.counts();
    assert_eq!((counts.adopted, counts.rewritten, counts.converged), (1, 0, 1));
    let target = table.rows(&[node(2, B)]);
    let merged = table.merge(&[], &source, &target, &MergeOptions::default()).unwrap();
    assert_eq!(merged.conflicts().counts().of(ConflictKind::DivergentInsert), 1);
}

#[test]
fn what_a_second_base_has_brought_in_is_not_undone() {
    // Both sides have A from one base; the target has gone back to what the other base has.
    let (source, target) = (Some(&'a'), Some(&'o'));
    assert_eq!(judge(&[Some('o')], source, target), RowFate::Take, "one base alone undoes it");
    let conflict = RowFate::Conflict(ConflictKind::DivergentUpdate);
    assert_eq!(judge(&[Some('o'), Some('a')], source, target), conflict);
}

#[test]
fn conflicts_are_counted_all_and_listed_as_many_as_were_asked_for() {
    let table = Table::new("Person");
    let of = |value| table.rows(&(0..50).map(|key| node(key, value)).collect::<Vec<_>>());
    let options = MergeOptions { conflicts_listed_max: 3, ..MergeOptions::default() };
    let merged = table.merge(&[of(Original)], &of(A), &of(B), &options).unwrap();
    assert_eq!(merged.conflicts().counts().total(), 50);
    let keys: Vec<_> = merged.conflicts().listed().iter().map(|found| found.key.as_str()).collect();
    assert_eq!(keys, ["p000", "p001", "p002"]);
}
