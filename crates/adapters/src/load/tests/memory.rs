//! Loads that do not fit into their memory: they come to the same as those that do.

use proptest::prelude::*;

use crate::world::World;
use crate::*;

/// What a load came to, as completely as it can be compared.
#[derive(Debug, PartialEq)]
enum Whole {
    Refused(Violations),
    Conflict(String),
    /// What was committed, and the rows of every table.
    Rows(Vec<(String, u64, u64, u64)>, Vec<Vec<String>>),
}

fn input(
    world: &World,
    lines: &[String],
    bytes_max: u64,
    errors_max: usize,
) -> Result<LoadInput, Violations> {
    let limits = LoadLimits { bytes_max, ..LoadLimits::default() };
    let builder = InputBuilder::new(&world.schema.schema).with_limits(limits);
    let mut builder = builder.with_errors_max(errors_max);
    for (line, text) in (1..).zip(lines) {
        builder.push_json_line(line, text).unwrap();
    }
    match builder.finish() {
        Ok(input) => Ok(input),
        Err(InputError::Invalid(found)) => Err(found),
        Err(other) => panic!("{other}"),
    }
}

async fn load(base: &[String], lines: &[String], mode: LoadMode, case: (u64, usize)) -> Whole {
    let (bytes_max, errors_max) = case;
    let base: Vec<_> = base.iter().map(String::as_str).collect();
    let world = World::with(&base).await;
    let input = match input(&world, lines, bytes_max, errors_max) {
        Ok(input) => input,
        Err(found) => return Whole::Refused(found),
    };
    let is_small = bytes_max < 1 << 20;
    let spilled = input.tables().iter().filter(|table| table.parts().is_spilled()).count();
    assert_eq!(spilled > 0, is_small, "the budget decides");
    let passes = input.tables().iter().map(|table| table.key_passes().unwrap()).max();
    assert_eq!(passes > Some(1), is_small, "the budget decides");
    match world.prepare_input(mode, &input, &world.store, None).await {
        Ok(WritePlan::Write(write)) => {
            let tables = world.commit(*write).await.unwrap();
            let mut rows = Vec::new();
            for def in world.schema.schema.types() {
                rows.push(world.rows(&def.name).await);
            }
            Whole::Rows(tables, rows)
        }
        Ok(other) => Whole::Conflict(format!("{other:?}")),
        Err(PrepareError::Invalid(found)) => Whole::Refused(found),
        Err(other) => panic!("{other}"),
    }
}

const PEOPLE: usize = 700;

fn person(at: usize, email: usize) -> String {
    format!(r#"{{"type":"Person","data":{{"slug":"person-{at}","email":"{email}@example.org"}}}}"#)
}

fn place(at: usize) -> String {
    format!(r#"{{"type":"Place","data":{{"slug":"place-{at}","city":"city {at}"}}}}"#)
}

fn knows(from: usize, to: usize) -> String {
    format!(r#"{{"edge":"Knows","from":"person-{from}","to":"person-{to}"}}"#)
}

fn visits(id: usize, from: usize, to: usize) -> String {
    format!(
        r#"{{"edge":"Visits","from":"person-{from}","to":"place-{to}","data":{{"id":"visit-{id}"}}}}"#
    )
}

fn firm(at: usize) -> String {
    format!(r#"{{"type":"Firm","data":{{"slug":"firm-{at}"}}}}"#)
}

fn seat(id: usize, from: usize) -> String {
    format!(r#"{{"edge":"Seat","from":"firm-{from}","to":"place-0","data":{{"id":"seat-{id}"}}}}"#)
}

/// The graph before: the even people, some firms with a seat each.
fn base() -> Vec<String> {
    let people = (0..PEOPLE).step_by(2).map(|at| person(at, at));
    let edges =
        (0..40).map(|at| knows(at * 2, at * 2 + 2)).chain((0..40).map(|at| visits(at, at * 2, 0)));
    let firms = (0..20).flat_map(|at| [firm(at), seat(at, at)]);
    people.chain([place(0)]).chain(edges).chain(firms).collect()
}

/// The rows of a load: the odd people and everything that goes with them, then what is odd itself.
fn rows(mode: LoadMode, odd: &[(u8, usize, usize)]) -> Vec<String> {
    let first = if mode == LoadMode::Overwrite { 0 } else { 1 };
    let step = if mode == LoadMode::Overwrite { 1 } else { 2 };
    let mut rows: Vec<_> = (first..PEOPLE).step_by(step).map(|at| person(at, at)).collect();
    if mode == LoadMode::Overwrite {
        rows.push(place(0));
        rows.extend((0..20).flat_map(|at| [firm(at), seat(at, at)]));
    }
    rows.extend(
        (0..PEOPLE - 2)
            .map(|at| knows(at, (at * 7) % PEOPLE))
            .filter(|row| !row.is_empty())
            .skip(100),
    );
    rows.extend((100..500).map(|at| visits(at, at, 0)));
    rows.extend((100..130).flat_map(|at| [firm(at), seat(at, at)]));
    for (kind, a, b) in odd {
        let (a, b) = (*a, *b);
        rows.push(match kind % 10 {
            0 => person(a, a),
            1 => person(PEOPLE + a, b),
            2 => knows(a, PEOPLE * 3 + b),
            3 => knows(PEOPLE * 3 + a, b),
            4 => visits(1_000 + a * PEOPLE + b, a, 0),
            5 => visits(b, a, 1),
            6 => firm(200 + a),
            7 => seat(1_000 + a * PEOPLE + b, a % 140),
            8 => visits(a % 40, b, 0),
            _ => place(1),
        });
    }
    rows
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10, failure_persistence: None, ..Default::default() })]

    #[test]
    fn a_small_memory_comes_to_the_same_as_a_large_one(
        odd in prop::collection::vec((any::<u8>(), 0..PEOPLE, 0..PEOPLE), 0..12),
        mode in prop::sample::select(LoadMode::ALL.to_vec()),
        errors_max in 1usize..30,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (base, rows) = (base(), rows(mode, &odd));
        let small = runtime.block_on(load(&base, &rows, mode, (64 << 10, errors_max)));
        let large = runtime.block_on(load(&base, &rows, mode, (1 << 30, errors_max)));
        prop_assert_eq!(small, large);
    }
}

/// Each of the faults is found in its pass, and all are listed as if there were one pass.
#[test]
fn faults_of_all_kinds_are_listed_in_the_order_of_one_pass() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let found = |odd: &[(u8, usize, usize)], bytes_max| {
        let rows = rows(LoadMode::Upsert, odd);
        match runtime.block_on(load(&base(), &rows, LoadMode::Upsert, (bytes_max, 1_000))) {
            Whole::Refused(found) => found,
            other => panic!("{other:?}"),
        }
    };
    let many = |kind: u8| (0..40).map(|at| (kind, at * 3, at)).collect::<Vec<_>>();
    for kinds in [&[0u8][..], &[1], &[2, 3], &[4, 6, 7, 2]] {
        let odd: Vec<_> = kinds.iter().flat_map(|kind| many(*kind)).collect();
        let small = found(&odd, 64 << 10);
        assert!(small.total() >= 15, "{kinds:?}: {}", small.total());
        assert_eq!(small, found(&odd, 1 << 30), "{kinds:?}");
    }
}
