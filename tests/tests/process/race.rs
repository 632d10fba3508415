//! Two processes that write at once, again and again: nothing acknowledged is lost, nothing is there
//! twice, and who does not get through is told so by a code.

use std::sync::Barrier;
use std::thread;

use super::program::Run;
use super::site::{Site, all, base, company, person, text};

const LOADS: u32 = 15;

/// Two writers start together; each sends its loads one after the other.
fn race<T: Send>(writer: impl Fn(u32) -> T + Sync) -> [T; 2] {
    let start = Barrier::new(2);
    let run = |n| {
        start.wait();
        writer(n)
    };
    let run = &run;
    thread::scope(|scope| {
        let writers = [0, 1].map(|n| scope.spawn(move || run(n)));
        writers.map(|writer| writer.join().unwrap())
    })
}

fn persons(writer: u32) -> Vec<String> {
    (0..LOADS).map(|n| person(&format!("w{writer}n{n}"), n)).collect()
}

#[test]
fn loads_into_different_tables_are_all_acknowledged_and_all_there() {
    let site = Site::new();
    let companies: Vec<String> = (0..LOADS).map(|n| company(&format!("n{n}"))).collect();
    let rows = [persons(0), companies];
    race(|writer| {
        for row in &rows[writer as usize] {
            site.load(std::slice::from_ref(row)).exits(0);
        }
    });
    site.at_rest_with(&all(&rows));
    assert_eq!(site.operations().len(), 2 * LOADS as usize);
}

/// Sends a load until it gets through. Whatever it is told in between is a code for "again".
fn persevere(site: &Site, row: &str, operation: &str) -> Run {
    for _ in 0..50 {
        let end = site.load_with(&[row.to_owned()], &["--operation-id", operation]);
        if end.code() == Some(0) {
            return end;
        }
        assert!(matches!(end.code(), Some(3 | 4)), "{end:#?}");
        let again = ["contended", "retries_exhausted", "manifest_contended"];
        assert!(again.contains(&&*end.error_code()), "{end:#?}");
        assert_eq!(end.error()["may_retry"], true, "{end:#?}");
    }
    panic!("{row} never gets through");
}

#[test]
fn loads_into_one_table_all_get_through_and_none_is_there_twice() {
    let site = Site::new();
    race(|writer| {
        for (n, row) in persons(writer).iter().enumerate() {
            persevere(&site, row, &format!("w{writer}n{n}"));
        }
    });
    site.at_rest_with(&all(&[persons(0), persons(1)]));
    assert_eq!(site.operations().len(), 2 * LOADS as usize);
}

#[test]
fn of_two_loads_of_one_new_key_one_wins_and_the_other_is_a_key_conflict() {
    let site = Site::with_base();
    let mut won = Vec::new();
    for pair in 0..8 {
        // The ages differ, so that the row says who has won.
        let row = |writer| person(&format!("k{pair}"), writer);
        let ends = race(|writer| site.load(&[row(writer)]));
        let winners: Vec<u32> =
            (0..).zip(&ends).filter(|e| e.1.code() == Some(0)).map(|e| e.0).collect();
        assert_eq!(winners.len(), 1, "{ends:#?}");
        let loser = &ends[1 - winners[0] as usize];
        assert_eq!((loser.code(), &*loser.error_code()), (Some(4), "key_conflict"), "{loser:#?}");
        won.push(row(winners[0]));
    }
    site.settled_with(&all(&[base(), won]));
}

#[test]
fn of_two_upserts_of_one_new_key_both_succeed_and_there_is_one_row() {
    let site = Site::with_base();
    for pair in 0..6 {
        let row = |writer| person(&format!("k{pair}"), writer);
        let ends = race(|writer| site.load_with(&[row(writer)], &["--mode", "upsert"]).exits(0));
        let key = format!(r#""k{pair}""#);
        let rows: Vec<String> = site.rows().into_iter().filter(|row| row.contains(&key)).collect();
        assert!(rows == [row(0)] || rows == [row(1)], "{rows:#?} {ends:#?}");
    }
    site.verified();
}

#[test]
fn a_request_that_is_sent_twice_at_once_is_applied_once() {
    let site = Site::with_base();
    for pair in 0..6 {
        let rows = [person(&format!("k{pair}"), pair)];
        let operation = format!("o{pair}");
        let ends = race(|_| site.load_with(&rows, &["--operation-id", &operation]).exits(0).json());
        assert_eq!(text(&ends[0], "commit_id"), text(&ends[1], "commit_id"), "{ends:#?}");
    }
    let rows: Vec<String> = (0..6).map(|pair| person(&format!("k{pair}"), pair)).collect();
    site.settled_with(&all(&[base(), rows]));
}

#[test]
fn a_reader_beside_a_writer_sees_whole_commits() {
    let site = Site::with_base();
    let rows = |n: u32| {
        let (a, b) = (format!("a{n}"), format!("b{n}"));
        vec![person(&a, n), person(&b, n), super::site::knows(&a, &b)]
    };
    let seen = race(|who| match who {
        0 => (0..10).map(|n| site.load(&rows(n)).exits(0)).map(|_| 0).collect(),
        _ => (0..20).map(|_| site.rows().len()).collect::<Vec<_>>(),
    });
    assert!(seen[1].is_sorted(), "{seen:?}");
    assert!(seen[1].iter().all(|count| count % 3 == base().len() % 3), "{seen:?}");
    site.settled_with(&all(&[base(), (0..10).flat_map(rows).collect()]));
}
