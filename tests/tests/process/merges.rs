//! Merges by the program: what a script is told of each ending, what a preview leaves, what a merge that dies
//! comes to, and when its source is deleted behind it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::program::{Paused, Run, after, command, run};
use super::site::{Site, addition, all, base, other_addition, person, text};

impl Site {
    /// A branch with the rows of [`addition`], and main with those of [`other_addition`] beside it.
    fn parted() -> Self {
        let site = Self::with_base();
        site.branch("create", "b", &[]).exits(0);
        site.load_with(&addition(), &["--branch", "b"]).exits(0);
        site.load(&other_addition()).exits(0);
        site
    }

    fn merge_args<'a>(&'a self, source: &'a str, more: &[&'a str]) -> Vec<&'a str> {
        [&["merge", self.graph(), source, "--into", "main", "--json"], more].concat()
    }

    fn merge(&self, source: &str, more: &[&str]) -> Run {
        run(&mut command(&self.merge_args(source, more)))
    }

    /// Every file of the graph with what is in it.
    fn contents(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let read = |path: PathBuf| {
            let bytes = std::fs::read(Path::new(self.graph()).join(&path)).unwrap();
            (path, bytes)
        };
        self.files().into_iter().map(read).collect()
    }

    /// The commits of main, newest first.
    fn commits(&self) -> Vec<Value> {
        let log = self.ask(&["commit", "log"], &["--json"]).exits(0).json();
        log["commits"].as_array().unwrap().clone()
    }

    /// Main has merged `merged` in exactly one commit, with the rows of both sides, and nothing is pending.
    #[track_caller]
    fn has_merged(&self, merged: &str) -> Value {
        self.settled_with(&all(&[base(), addition(), other_addition()]));
        let commits = self.commits();
        let merges: Vec<_> = commits.iter().filter(|it| it["writer"] == "merge").collect();
        assert_eq!(merges.len(), 1, "{commits:#?}");
        assert_eq!(merges[0]["parents"][1], merged, "{commits:#?}");
        merges[0].clone()
    }

    fn head_of(&self, branch: &str) -> String {
        text(&self.ask(&["status"], &["--branch", branch, "--json"]).exits(0).json(), "head")
    }
}

#[test]
fn each_ending_has_its_number_and_one_document() {
    let site = Site::parted();
    let before = site.contents();
    let previewed = site.merge("b", &["--preview"]).exits(0).json();
    assert_eq!(previewed["outcome"], "would_commit");
    assert_eq!(site.contents(), before, "a preview writes nothing");
    let merged = site.merge("b", &[]).exits(0).json();
    assert_eq!((&merged["outcome"], &merged["writer"]), (&"committed".into(), &"merge".into()));
    assert_eq!(previewed["merge"], merged["merge"], "it did what the preview said");
    site.has_merged(&site.head_of("b"));
    let before = site.contents();
    let again = site.merge("b", &[]).exits(0).json();
    assert_eq!(
        (&again["outcome"], &again["commit_id"]),
        (&"no_change".into(), &merged["commit_id"])
    );
    assert_eq!(site.contents(), before, "a merge that was done writes nothing");
}

#[test]
fn a_contradiction_is_a_report_and_an_error_and_changes_nothing() {
    let site = Site::with_base();
    site.branch("create", "b", &[]).exits(0);
    let upsert = ["--mode", "upsert"];
    site.load_with(&[person("p1", 50)], &[&upsert[..], &["--branch", "b"]].concat()).exits(0);
    site.load_with(&[person("p1", 60)], &upsert).exits(0);
    let before = site.contents();

    let refused = site.merge("b", &[]).exits(4);
    assert_eq!(
        (&*refused.error_code(), &refused.error()["effect"]),
        ("merge_conflict", &"none".into())
    );
    let conflicts = &refused.json()["merge"]["conflicts"];
    assert_eq!(
        (&conflicts["total"], &conflicts["kinds"]["divergent_update"]),
        (&1.into(), &1.into())
    );
    let listed = &conflicts["listed"][0];
    assert_eq!((&listed["key"], &listed["differs"]), (&"p1".into(), &serde_json::json!(["age"])));
    let ages = ["source", "target"].map(|side| listed[side]["data"]["age"].as_u64());
    assert_eq!(ages, [Some(50), Some(60)]);
    let previewed = site.merge("b", &["--preview"]).exits(1);
    assert!(previewed.stderr.is_empty(), "{previewed:#?}");
    assert_eq!(previewed.json()["merge"], refused.json()["merge"]);
    assert_eq!(site.contents(), before);

    // What is proposed can be run.
    let report = refused.json();
    let next = report["next"][1].as_str().unwrap();
    let words: Vec<&str> = next.split(' ').skip(1).chain(["--json"]).collect();
    assert!(next.ends_with("--strategy theirs"), "{next}");
    let taken = run(&mut command(&words)).exits(0).json();
    assert_eq!((&taken["outcome"], &taken["rows"]), (&"committed".into(), &1.into()));
    assert!(site.rows().contains(&person("p1", 50)));
}

#[test]
fn what_names_no_branch_is_refused_and_changes_nothing() {
    let site = Site::parted();
    let before = site.contents();
    let into =
        |target: &str| run(&mut command(&["merge", site.graph(), "b", "--into", target, "--json"]));
    assert_eq!(site.merge("never", &[]).exits(5).error_code(), "no_such_branch");
    assert_eq!(into("never").exits(5).error_code(), "no_such_branch");
    assert_eq!(into("b").exits(2).error_code(), "usage");
    let nobody = "01JDX1PQ000000000000000401";
    assert_eq!(site.merge(nobody, &[]).exits(1).error_code(), "no_such_commit");
    let head = ["--expect-head", nobody];
    assert_eq!(site.merge("b", &head).exits(4).error_code(), "expected_head");
    assert_eq!(site.contents(), before);
}

#[test]
fn a_storage_that_takes_no_file_fails_a_merge_and_no_preview() {
    let site = Site::parted();
    let no_file = "ulimit -f 0";
    let previewed = run(&mut after(no_file, &site.merge_args("b", &["--preview"]))).exits(0);
    assert_eq!(previewed.json()["outcome"], "would_commit");
    let failed = run(&mut after(no_file, &site.merge_args("b", &[]))).exits(7);
    assert_eq!(
        (&*failed.error_code(), &failed.error()["effect"]),
        ("file_too_large", &"none".into())
    );
    site.shows(&all(&[base(), other_addition()]));
    site.merge("b", &[]).exits(0);
    site.has_merged(&site.head_of("b"));
}

/// A merge that dies at a point, and what another process is answered that sends it again.
fn dies_and_is_merged_once(point: &str, is_recovered: bool) {
    let site = Site::parted();
    let merged = site.head_of("b");
    let fault = format!("{point}:abort");
    let request = ["--operation-id", "once", "--delete-source"];
    site.merge("b", &[&request[..], &["--fault", &fault]].concat()).dies_by(6);

    let again = site.merge("b", &request).exits(0).json();

    assert_eq!((&again["outcome"], &again["operation_id"]), (&"committed".into(), &"once".into()));
    let commit = site.has_merged(&merged);
    assert_eq!(commit["commit_id"], again["commit_id"]);
    assert_eq!(again["merge"].is_null(), is_recovered, "{again:#}");
    assert_eq!(again["source_branch"]["state"], "deleted", "{again:#}");
    assert_eq!(site.standing("b").unwrap().0, "gone");
    let third = site.merge("b", &request).exits(0).json();
    assert_eq!(
        (&third["commit_id"], &third["source_branch"]["state"]),
        (&commit["commit_id"], &"gone".into())
    );
}

#[test]
fn a_merge_that_dies_before_its_effects_is_done_again_by_the_next() {
    dies_and_is_merged_once("post_arm", false);
}

#[test]
fn a_merge_that_dies_with_all_of_it_there_is_finished_by_the_next_which_deletes_its_source() {
    dies_and_is_merged_once("pre_publish", true);
}

#[test]
fn a_merge_that_dies_behind_its_commit_is_completed_by_the_same_command() {
    dies_and_is_merged_once("post_publish", true);
}

#[test]
fn a_merge_that_another_command_finishes_is_called_one_and_has_both_parents() {
    let site = Site::parted();
    let merged = site.head_of("b");
    site.merge("b", &["--fault", "pre_publish:abort"]).dies_by(6);
    let intent = site.intents().remove(0);
    assert_eq!((&intent["writer"], &intent["decision"]), (&"merge".into(), &"roll forward".into()));
    site.ask(&["intent", "resolve"], &["--roll-forward"]).exits(0);
    let commit = site.has_merged(&merged);
    let audit = site.ask(&["audit"], &["--json"]).exits(0).json();
    let decision = &audit["decisions"][0];
    assert_eq!(
        (&decision["commit_id"], &decision["decision"]),
        (&commit["commit_id"], &"rolled_forward".into())
    );
    assert_eq!(decision["writer"], "merge", "{decision:#}");
    let again = site.merge("b", &[]).exits(0).json();
    assert_eq!(again["merge"]["relation"], "contained");
}

#[test]
fn a_source_that_has_moved_on_is_kept_and_the_merge_stands() {
    let site = Site::parted();
    let merged = site.head_of("b");
    let merging = Paused::start(
        &site.merge_args("b", &["--delete-source"]),
        "post_arm",
        site.fresh("release"),
    );
    let later = [person("later", 9)];
    site.load_with(&later, &["--branch", "b"]).exits(0);
    let moved = site.head_of("b");

    let kept = merging.release().exits(4);

    let (error, report) = (kept.error(), kept.json());
    assert_eq!((&error["code"], &error["effect"]), (&"branch_moved".into(), &"committed".into()));
    for words in [&merged, &moved, &text(&report, "commit_id"), &"is kept".to_owned()] {
        assert!(text(&error, "message").contains(words), "{words}: {error:#}");
    }
    assert_eq!(report["outcome"], "committed");
    let source = &report["source_branch"];
    assert_eq!((&source["state"], &source["code"]), (&"kept".into(), &"branch_moved".into()));
    site.has_merged(&merged);
    assert_eq!(site.head_of("b"), moved);

    let done = site.merge("b", &["--delete-source"]).exits(0).json();
    assert_eq!(
        (&done["merge"]["relation"], &done["source_branch"]["state"]),
        (&"diverged".into(), &"deleted".into())
    );
    site.settled_with(&all(&[base(), addition(), other_addition(), later.to_vec()]));
}

#[test]
fn a_source_without_a_commit_of_its_own_is_deleted_as_merged() {
    let site = Site::with_base();
    site.branch("create", "idle", &[]).exits(0);
    let report = site.merge("idle", &["--delete-source"]).exits(0).json();
    assert_eq!(
        (&report["outcome"], &report["source_branch"]["state"]),
        (&"no_change".into(), &"deleted".into())
    );
    assert_eq!(site.standing("idle").unwrap().0, "gone");
    site.settled_with(&base());
}
