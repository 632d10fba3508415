//! The last part of the demo: a branch, a change on both sides, and the merge of both in one commit.

use serde_json::Value;

use crate::failure::Failure;

use super::TABLE;
use super::narrator::{End, Narrator};
use super::rows::Rows;

const REFIT: &str = "xtask/demo/refit.jsonl";
const SURVEY: &str = "xtask/demo/survey.jsonl";
const BRANCH: &str = "yard";

/// Of the six rows of both sides two replace one that was there before.
const NEW_ROWS: usize = 4;

pub(super) fn run(narrator: &Narrator<'_>) -> Result<(), Failure> {
    let before = exported(narrator)?.len();
    part(narrator)?;
    merge(narrator)?;
    let merged = exported(narrator)?;
    let claim = "every row of both sides is there, and no other one has come or gone";
    let both = [REFIT, SURVEY].map(|file| merged.contains_file(narrator, file));
    let [refit, survey] = both;
    narrator.claim(refit? && survey? && merged.len() == before + NEW_ROWS, claim)?;
    history(narrator)
}

fn part(narrator: &Narrator<'_>) -> Result<(), Failure> {
    let graph = narrator.graph();
    narrator.step("Make a branch. It copies no rows, whatever the graph holds.");
    narrator.run(&["branch", "create", graph, BRANCH, TABLE], End::Done)?;
    narrator.step("Change a ship, add one and give it a captain, on the branch alone.");
    let load = ["load", graph, "--mode", "upsert", TABLE, "--data"];
    narrator.run(&[&load[..], &[REFIT, "--branch", BRANCH]].concat(), End::Done)?;
    narrator.step("Meanwhile somebody surveys the berths, on main.");
    narrator.run(&[&load[..], &[SURVEY]].concat(), End::Done)
}

fn merge(narrator: &Narrator<'_>) -> Result<(), Failure> {
    let merge = ["merge", narrator.graph(), BRANCH, "--into", "main", TABLE];
    narrator.step("See what a merge would do. It compares both with what they have in common.");
    narrator.run(&[&merge[..], &["--preview"]].concat(), End::Done)?;
    narrator.step("Merge: one commit that descends from both. Then the branch can go.");
    narrator.run(&[&merge[..], &["--delete-source"]].concat(), End::Done)?;
    let names = narrator.ask(&["branch", "list", narrator.graph(), "--format", "plain"])?;
    narrator.claim(names == "main\n", "main is the only branch")
}

fn history(narrator: &Narrator<'_>) -> Result<(), Failure> {
    let log = ["commit", "log", narrator.graph(), "--limit", "1", "--format", "jsonl"];
    let newest: Value = serde_json::from_str(narrator.ask(&log)?.trim())
        .map_err(|why| Failure::Claim(format!("the history is not JSON: {why}")))?;
    let parents = newest["parents"].as_array().map_or(0, Vec::len);
    narrator.claim(newest["writer"] == "merge" && parents == 2, "the merge has two parents")
}

fn exported(narrator: &Narrator<'_>) -> Result<Rows, Failure> {
    let rows = narrator.ask(&["export", narrator.graph(), "--format", "jsonl"])?;
    Rows::parse(&rows).map_err(Failure::Claim)
}

impl Rows {
    fn contains_file(&self, narrator: &Narrator<'_>, file: &str) -> Result<bool, Failure> {
        let path = narrator.root().join(file);
        let text = std::fs::read_to_string(&path).map_err(Failure::file(path))?;
        Ok(self.contains(&Self::parse(&text).map_err(Failure::Claim)?))
    }
}
