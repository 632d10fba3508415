//! What is asked of the matrix by its environment, what is told of a scenario, and the page that holds
//! the stable part of it. It must not know how a cell is run.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};

use super::cells::Fate;
use super::memo::Judged;
use super::registry;
use crate::judge::tell;

/// Where the rows of this run go, as one document each; without it they are compared with the page.
const TO: &str = "GRAPHWRITE_CRASH_TO";
/// The one entry point, by its name in docs/entrypoints.md.
const ENTRY: &str = "GRAPHWRITE_CRASH_ENTRY";
/// The one cell.
const CELL: &str = "GRAPHWRITE_CRASH_CELL";
/// Whether every recovery is crashed, and not only those of the scenarios that always have it.
const FULL: &str = "GRAPHWRITE_CRASH_FULL";

/// Whether the cells are only counted, from one undisturbed run of each scenario.
const PLAN: &str = "GRAPHWRITE_CRASH_PLAN";

/// What is to be run.
#[derive(Debug, Clone, Default)]
pub(super) struct Wanted {
    pub(super) entry: Option<String>,
    pub(super) cell: Option<String>,
    pub(super) full: bool,
    pub(super) plan: bool,
}

impl Wanted {
    fn of_environment() -> Self {
        let text = |name| std::env::var(name).ok();
        Self {
            entry: text(ENTRY),
            cell: text(CELL),
            full: text(FULL).is_some(),
            plan: text(PLAN).is_some(),
        }
    }

    /// Whether anything of the scenario is.
    pub(super) fn has(&self, scenario: &str) -> bool {
        let is_entry = |entry: &String| registry::entries(scenario).contains(&entry.as_str());
        let is_cell = |cell: &String| is_below(cell, scenario);
        self.entry.as_ref().is_none_or(is_entry) && self.cell.as_ref().is_none_or(is_cell)
    }

    /// Whether the cell is, or one that begins with it.
    pub(super) fn concerns(&self, id: &str) -> bool {
        self.cell.as_ref().is_none_or(|cell| cell == id || is_below(cell, id))
    }

    /// Whether recoveries of the scenario are crashed too.
    pub(super) fn is_deep(&self, scenario: &str) -> bool {
        match &self.cell {
            Some(cell) => cell.contains("/recovery/"),
            None => self.full || registry::DEEP.contains(&scenario),
        }
    }
}

fn is_below(id: &str, above: &str) -> bool {
    id.strip_prefix(above).is_some_and(|rest| rest.starts_with('/'))
}

/// What became of a scenario.
#[derive(Debug, Clone, Default)]
pub(super) struct Row {
    pub(super) scenario: String,
    /// Durable operations of the undisturbed run.
    pub(super) operations: usize,
    /// Undisturbed runs, or calls that have no durable operation.
    pub(super) calm: usize,
    pub(super) dead: usize,
    pub(super) lost: usize,
    pub(super) late: usize,
    pub(super) paused: usize,
    /// Cells of crashed recoveries.
    pub(super) deep: usize,
    pub(super) aftermaths: BTreeSet<String>,
    /// Cells whose storage was judged already.
    pub(super) memoised: usize,
    /// Cells after which the write is visible.
    pub(super) after: usize,
    pub(super) failures: Vec<(String, String)>,
    pub(super) seconds: f64,
    /// The cells that were run, beside the calm one.
    ran: Vec<String>,
}

impl Row {
    pub(super) fn new(scenario: &str) -> Self {
        Self { scenario: scenario.to_owned(), ..Self::default() }
    }

    pub(super) fn cells(&self) -> usize {
        self.calm + self.dead + self.lost + self.late + self.paused + self.deep
    }

    pub(super) fn cell(&mut self, fate: Fate, id: &str, judged: &Judged) {
        *self.count(fate) += 1;
        self.judged(id, judged, fate != Fate::Paused);
    }

    /// Counts the cells of a fate without running them.
    pub(super) fn planned(&mut self, fate: Fate, cells: usize) {
        *self.count(fate) = cells;
    }

    fn count(&mut self, fate: Fate) -> &mut usize {
        match fate {
            Fate::Dead => &mut self.dead,
            Fate::Lost => &mut self.lost,
            Fate::Late => &mut self.late,
            Fate::Paused => &mut self.paused,
        }
    }

    pub(super) fn deep_cell(&mut self, id: &str, judged: &Judged) {
        self.deep += 1;
        self.judged(id, judged, true);
    }

    fn judged(&mut self, id: &str, judged: &Judged, has_aftermath: bool) {
        self.ran.push(id.to_owned());
        match judged {
            Ok(verdict) => {
                self.after += usize::from(verdict.is_after);
                if has_aftermath {
                    self.aftermaths.insert(Arc::clone(verdict).aftermath.clone());
                }
            }
            Err(why) => self.fail(id.to_owned(), why.clone()),
        }
    }

    pub(super) fn fail(&mut self, id: String, why: String) {
        self.failures.push((id, why));
    }

    /// The one cell that was wanted was run.
    pub(super) fn demand(&mut self, wanted: &Wanted) {
        let Some(cell) = &wanted.cell else { return };
        if !self.ran.contains(cell) && *cell != format!("{}/calm", self.scenario) {
            self.fail(cell.clone(), "there is no such cell".to_owned());
        }
    }

    pub(super) fn document(&self) -> Value {
        let failures = self.failures.iter().map(|(cell, why)| json!({ "cell": cell, "why": why }));
        json!({
            "scenario": self.scenario,
            "entries": registry::entries(&self.scenario),
            "operations": self.operations,
            "cells": {
                "calm": self.calm,
                "dead": self.dead,
                "lost": self.lost,
                "late": self.late,
                "paused": self.paused,
                "recovery": self.deep,
            },
            "aftermaths": self.aftermaths.len(),
            "memoised": self.memoised,
            "failures": failures.collect::<Vec<_>>(),
            "seconds": self.seconds,
        })
    }

    /// How the page begins the line of the scenario: what does not differ from run to run.
    fn line(&self) -> String {
        let Self { scenario, operations, calm, dead, lost, late, paused, .. } = self;
        format!("| `{scenario}` | {operations} | {calm} | {dead} | {lost} | {late} | {paused} |")
    }
}

/// Runs a scenario as far as it is wanted, and tells of it.
pub(super) async fn told(scenario: &str, run: impl AsyncFnOnce(&Wanted) -> Row) {
    let wanted = Wanted::of_environment();
    if !wanted.has(scenario) {
        return;
    }
    let mut row = run(&wanted).await;
    row.demand(&wanted);
    match std::env::var_os(TO) {
        Some(to) => keep(Path::new(&to), &row),
        None => assert_sound(&row, &page()),
    }
}

fn keep(to: &Path, row: &Row) {
    let file = to.join(format!("{}.json", row.scenario.replace([' ', '/', ':'], "-")));
    std::fs::write(file, row.document().to_string()).expect("a place for the report");
}

fn page() -> String {
    let page: PathBuf =
        [env!("CARGO_MANIFEST_DIR"), "..", "docs", "crash-matrix.md"].iter().collect();
    std::fs::read_to_string(page).unwrap_or_default()
}

/// No cell has failed, and the page says what there is.
pub(super) fn assert_sound(row: &Row, page: &str) {
    let Row { scenario, operations, .. } = row;
    let (cells, aftermaths) = (row.cells(), row.aftermaths.len());
    tell(&format!("{scenario}: {operations} operations, {cells} cells, {aftermaths} aftermaths"));
    for (cell, why) in &row.failures {
        tell(&format!("{why}\nagain: cargo xtask crash-matrix --cell '{cell}'"));
    }
    assert!(row.failures.is_empty(), "{} cells of {scenario} failed", row.failures.len());
    let line = row.line();
    assert!(
        page.lines().any(|it| it.starts_with(&line)),
        "docs/crash-matrix.md does not say `{line}`: look at what has changed, then \
         `cargo xtask crash-matrix --page`"
    );
}
