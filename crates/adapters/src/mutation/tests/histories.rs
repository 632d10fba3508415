//! Random requests, one after the other on one graph, against a naive interpreter: the same answer to
//! each, and the same rows after each.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::naive::{Acting, Key, Outcome, Row, Rows, SCHEMA, Statement, TABLES, lines};
use super::writer::{Did, mutate};
use crate::testing::TestSchema;
use crate::world::World;

fn node() -> impl Strategy<Value = char> {
    prop::sample::select(vec!['a', 'b', 'c', 'd'])
}

fn key() -> impl Strategy<Value = Key> {
    prop_oneof![
        5 => node().prop_map(Key::N),
        2 => (1..3i64).prop_map(Key::M),
        3 => (node(), node()).prop_map(|(src, dst)| Key::E(src, dst)),
        3 => (1..5u8).prop_map(Key::V),
    ]
}

fn age() -> impl Strategy<Value = Option<i32>> {
    prop::option::weighted(0.7, 0..4)
}

fn mood() -> impl Strategy<Value = Option<char>> {
    prop::option::of(prop::sample::select(vec!['x', 'y']))
}

fn row() -> impl Strategy<Value = (Key, Row)> {
    (key(), age(), mood(), node(), 1..3i64).prop_map(|(key, age, mood, src, dst)| {
        let mood = mood.filter(|_| matches!(key, Key::N(_)));
        let ends = matches!(key, Key::V(_)).then_some((src, dst));
        (key, Row { age, mood, ends })
    })
}

fn statement() -> impl Strategy<Value = Statement> {
    let table = || prop::sample::select(TABLES.to_vec());
    prop_oneof![
        1 => row().prop_map(|(key, row)| Statement::Insert(key, row)),
        9 => row().prop_map(|(key, row)| Statement::Upsert(key, row)),
        3 => (key(), age(), prop::option::of(mood())).prop_map(|(key, age, mood)| {
            let mood = mood.filter(|_| matches!(key, Key::N(_)));
            Statement::Update(key, age, mood)
        }),
        5 => (key(), prop::bool::weighted(0.8)).prop_map(|(key, cascade)| {
            let cascade = cascade && matches!(key, Key::N(_) | Key::M(_));
            Statement::Delete(key, cascade)
        }),
        1 => (node(), 1..3i64).prop_map(|(src, dst)| Statement::DeleteParallels(src, dst)),
        5 => (table(), age(), prop::bool::weighted(0.9)).prop_map(|(table, below, cascade)| {
            Statement::DeleteWhere(table, below, cascade && matches!(table, "N" | "M"))
        }),
        2 => (prop::sample::select(vec!["E", "V"]), node())
            .prop_map(|(table, src)| Statement::DeleteFrom(table, src)),
    ]
}

/// Every node, so that most requests are about something.
fn first_rows() -> Rows {
    let nodes = ['a', 'b', 'c', 'd'].map(Key::N).into_iter().chain([1, 2].map(Key::M));
    let edges = [Key::E('a', 'b'), Key::E('b', 'b'), Key::E('c', 'a')];
    let row = |ends| Row { age: Some(1), mood: None, ends };
    let visits = [(1, ('a', 1)), (2, ('a', 1)), (3, ('b', 2))];
    let visits = visits.map(|(id, ends)| (Key::V(id), row(Some(ends))));
    nodes.chain(edges).map(|key| (key, row(None))).chain(visits).collect()
}

async fn check(
    world: &World,
    rows: &mut Rows,
    request: &[Statement],
) -> Result<bool, TestCaseError> {
    let mut acting = Acting::on(rows);
    for (number, statement) in (1..).zip(request) {
        acting.act(number, statement);
    }
    let text: Vec<_> = request.iter().map(Statement::to_json).collect();
    let came = mutate(world, &text.iter().map(String::as_str).collect::<Vec<_>>()).await;
    match acting.outcome() {
        Outcome::Is(expected) => prop_assert_eq!(&came, &expected, "{:#?}", &text),
        Outcome::Faults(expected) => {
            prop_assert_eq!(&came, &Did::Invalid(expected), "{:#?}", &text);
        }
        Outcome::Invalid => {
            let Did::Invalid(faults) = &came else {
                return Err(TestCaseError::fail(format!("{came:?} of {text:#?}")));
            };
            let torn =
                |fault: &String| fault.ends_with("endpoint") || fault.ends_with("referenced");
            prop_assert!(faults.iter().all(torn), "{:?} of {:#?}", faults, &text);
        }
    }
    let committed = matches!(came, Did::Committed(_));
    if committed {
        *rows = acting.rows;
    }
    for table in TABLES {
        prop_assert_eq!(world.rows(table).await, lines(rows, table), "after {:#?}", &text);
    }
    Ok(committed)
}

async fn run(requests: &[Vec<Statement>]) -> Result<usize, TestCaseError> {
    let world = World::of(TestSchema::of(SCHEMA)).await;
    let mut rows = Rows::new();
    let first: Vec<_> =
        first_rows().into_iter().map(|(key, row)| Statement::Insert(key, row)).collect();
    let mut committed = 0;
    for request in std::iter::once(&first).chain(requests) {
        committed += usize::from(check(&world, &mut rows, request).await?);
    }
    Ok(committed)
}

#[test]
fn random_requests_have_the_outcome_of_acting_one_by_one() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let committed = std::cell::Cell::new(0);
    let config = Config { cases: 16, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(
        config,
        proptest::test_runner::TestRng::deterministic_rng(Default::default()),
    );
    let requests = vec(vec(statement(), 1..9), 1..8);
    let checked = runner.run(&requests, |requests| {
        committed.set(committed.get() + runtime.block_on(run(&requests))?);
        Ok(())
    });
    checked.unwrap();
    assert!(committed.get() > 40, "only {} requests committed", committed.get());
}
