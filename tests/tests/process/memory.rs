//! A load of more rows than its memory holds, measured from outside: the peak of the process stays below
//! the budget and what the program and Lance need for themselves.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::Duration;

use super::program::{Paused, command, run};

const SCHEMA: &str = r#"
[node.Person]
key = "slug"
[node.Person.properties]
slug = { type = "string" }
email = { type = "string", nullable = true, unique = true }
note = { type = "string" }
[edge.Knows]
from = "Person"
to = "Person"
[edge.Knows.properties]
since = { type = "date", nullable = true }
"#;

/// What a debug build of the program holds beside its budget: its code, its threads, and the writers
/// of Lance with their pages and parts of files.
const BESIDE: u64 = 176 << 20;

/// Rows when nothing else is said. `cargo xtask bench --memory` says a million.
const ROWS: u64 = 100_000;

/// Bytes of text that each person carries, so that all rows together are far more than the budget.
const NOTE_BYTES: usize = 1_500;

/// The budget for so many rows; more rows have the budget that is said with them.
const MEMORY: &str = "16MiB";

fn said(variable: &str) -> Option<String> {
    std::env::var(variable).ok()
}

/// Half of the rows are people, half are edges between them: each end is a question about a key.
fn write_rows(path: &Path, rows: u64) {
    let mut file = BufWriter::new(File::create(path).unwrap());
    let (people, note) = (rows / 2, "x".repeat(NOTE_BYTES));
    for n in 0..people {
        let data = format!(r#""slug":"person-{n}","email":"{n}@example.org","note":"{note}""#);
        writeln!(file, r#"{{"type":"Person","data":{{{data}}}}}"#).unwrap();
    }
    for n in 0..rows - people {
        let to = (n * 7 + 1) % people;
        let ends = format!(r#""from":"person-{n}","to":"person-{to}""#);
        writeln!(file, r#"{{"edge":"Knows",{ends},"data":{{"since":"2026-01-01"}}}}"#).unwrap();
    }
    file.flush().unwrap();
}

fn bytes_of(memory: &str) -> u64 {
    memory.trim_end_matches("MiB").parse::<u64>().unwrap() << 20
}

#[test]
fn a_load_stays_within_its_memory_whatever_the_number_of_its_rows() {
    let rows = said("GRAPHWRITE_MEMORY_ROWS").map_or(ROWS, |rows| rows.parse().unwrap());
    let memory = said("GRAPHWRITE_MEMORY").unwrap_or_else(|| MEMORY.to_owned());
    let scratch = tempfile::tempdir().unwrap();
    let path = |name: &str| scratch.path().join(name).to_str().unwrap().to_owned();
    let (graph, schema, data) = (path("graph"), path("schema.toml"), path("rows.jsonl"));
    std::fs::write(&schema, SCHEMA).unwrap();
    write_rows(data.as_ref(), rows);
    run(&mut command(&["init", &graph, "--schema", &schema])).exits(0);
    let load = ["load", &graph, "--data", &data, "--memory", &memory, "--json"];
    let patience = Duration::from_secs(1_200);
    let release = scratch.path().join("release");
    // Everything that takes memory is over when the commit is visible.
    let mut paused = Paused::start_for(&load, "post_publish", release, patience);
    let (peak, seconds) = (paused.peak_bytes(), paused.since_start().as_secs_f32());
    let receipt = paused.release().exits(0).json();
    let measured = format!("peak {} MiB, {seconds:.1} s to the commit", peak >> 20);
    writeln!(std::io::stdout(), "{rows} rows under {memory}: {measured}").unwrap();
    let inserted = |table: usize| receipt["tables"][table]["inserted"].as_u64().unwrap();
    assert_eq!(inserted(0) + inserted(1), rows);
    let allowed = bytes_of(&memory) + BESIDE;
    assert!(peak < allowed, "a peak of {} MiB, and {} MiB are allowed", peak >> 20, allowed >> 20);
}
