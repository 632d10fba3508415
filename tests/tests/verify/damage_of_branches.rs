//! Damage of branches, planted: each is named with its place and a remedy, and nothing else is said.

use graphwrite_coordinator::{Graph, MemoryStorage, Store};
use graphwrite_protocol_types::{AttemptId, NativeBranch};

use super::planting::{Ground, faults, of, version_of};
use crate::branches::scene::{delete, fork};
use crate::world::{BASE, append, create};

const NEW: &str = r#"{"type":"Person","data":{"slug":"b1","age":7}}"#;

/// A graph with a branch `a` that owns its people, and a branch `b` of that.
async fn ground() -> (Ground, NativeBranch, NativeBranch) {
    let storage = MemoryStorage::new();
    let main = create(&Store::memory(&storage)).await;
    append(&main, BASE).await;
    let a = fork(&main, "a", "main").await;
    append(&a, &[NEW]).await;
    let b = fork(&main, "b", "a").await;
    for graph in [&main, &a, &b] {
        graph.settled().await;
    }
    let native = |graph: &Graph| graph.on_branch().native;
    (Ground { storage, persons: String::new() }, native(&a), native(&b))
}

fn version(native: &NativeBranch, number: u64) -> String {
    version_of(&format!("__manifest/tree/{native}"), number)
}

fn contents(native: &NativeBranch) -> String {
    format!("__manifest/_refs/branches/{native}.json")
}

async fn kill(ground: &Ground, branch: &str) {
    let graph = ground.open().await;
    delete(&graph, branch).await.unwrap();
    graph.settled().await;
}

fn dataset(path: &str) -> &str {
    path.split_once("/_versions/").map_or("", |(dataset, _)| dataset)
}

fn flip(bytes: &mut [u8]) {
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
}

#[tokio::test]
async fn the_record_that_decides_a_name_is_missed_when_it_is_flipped() {
    let (ground, _, _) = ground().await;
    let record = "_control/branch/b/1.decided";
    ground.change(record, |bytes| flip(bytes)).await;
    let report = ground.verified().await;
    assert_eq!(faults(&report), ["unusable_name"]);
    assert_eq!(of(&report, "unusable_name")[0].place, record);
}

#[tokio::test]
async fn a_record_under_the_name_of_another_branch_is_named() {
    let (ground, _, _) = ground().await;
    let store = ground.store();
    let bytes = store.get("_control/branch/a/1.decided").await.unwrap().unwrap();
    ground.put("_control/branch/c/1.decided", &bytes).await;
    let report = ground.verified().await;
    assert_eq!(faults(&report), ["unusable_name"]);
    assert_eq!(of(&report, "unusable_name")[0].place, "_control/branch/c/1.decided");
}

#[tokio::test]
async fn a_decision_whose_beginning_is_gone_is_named_and_one_that_is_flipped_is_noted() {
    let (ground, _, _) = ground().await;
    let begin = "_control/branch/b/1.begin";
    let flipped = ground.fork();
    flipped.change(begin, |bytes| flip(bytes)).await;
    let report = flipped.verified().await;
    assert_eq!(faults(&report), [""; 0]);
    assert_eq!(of(&report, "unreadable_name_record")[0].place, begin);
    ground.delete(begin).await;
    let report = ground.verified().await;
    assert_eq!(faults(&report), ["unusable_name"]);
    assert!(of(&report, "unusable_name")[0].message.contains("its beginning is not there"));
}

#[tokio::test]
async fn a_deletion_that_nobody_can_have_written_is_missed_since_it_takes_a_branch_away() {
    let (ground, _, _) = ground().await;
    for path in ["_control/branch/b/1.deleted", "_control/branch/b/2.deleted"] {
        let planted = ground.fork();
        planted.put(path, b"").await;
        let report = planted.verified().await;
        assert!(faults(&report).iter().all(|kind| *kind == "unusable_name"), "{report:?}");
        assert!(of(&report, "unusable_name").iter().all(|finding| finding.place == path), "{path}");
        assert!(!of(&report, "unusable_name").is_empty(), "{path}");
    }
}

#[tokio::test]
async fn what_is_no_record_among_the_records_of_names_is_unexplained() {
    let (ground, _, _) = ground().await;
    for path in ["_control/branch/notes", "_control/branch/a/1.notes", "_control/branch/A/1.begin"]
    {
        let planted = ground.fork();
        planted.put(path, b"notes").await;
        let report = planted.verified().await;
        assert_eq!(faults(&report), ["unexplained_object"], "{path}");
        assert_eq!(of(&report, "unexplained_object")[0].place, path);
    }
}

#[tokio::test]
async fn a_native_branch_that_no_record_speaks_of_is_named() {
    let (ground, _, b) = ground().await;
    let bytes = ground.store().get(&version(&b, 3)).await.unwrap().unwrap();
    let stranger = NativeBranch::of_incarnation("stranger", AttemptId::from_u128(9));
    ground.put(&version(&stranger, 3), &bytes).await;
    let report = ground.verified().await;
    assert_eq!(faults(&report), ["unknown_branch"]);
    assert_eq!(of(&report, "unknown_branch")[0].place, format!("__manifest/tree/{stranger}"));
    let records = ground.fork();
    records.put(&format!("_recovery/{stranger}/x.intent"), b"x").await;
    assert!(faults(&records.verified().await).contains(&"unexplained_object"));
}

#[tokio::test]
async fn a_live_branch_without_the_record_of_lance_is_damaged() {
    let (ground, _, b) = ground().await;
    ground.delete(&contents(&b)).await;
    let report = ground.verified().await;
    assert_eq!(faults(&report), ["damaged_branch"]);
    let damaged = of(&report, "damaged_branch")[0];
    assert_eq!(damaged.place, "b");
    assert!(damaged.message.contains("record of Lance absent"), "{damaged:#?}");
}

#[tokio::test]
async fn a_live_branch_whose_native_branch_is_gone_cannot_be_read_and_its_parent_can() {
    let (ground, _, b) = ground().await;
    ground.delete(&version(&b, 3)).await;
    ground.delete(&contents(&b)).await;
    let report = ground.verified().await;
    assert_eq!(faults(&report), ["damaged_branch", "unreadable_branch"]);
    assert_eq!(of(&report, "unreadable_branch")[0].place, "b");
    assert_eq!(report.branches, 2);
}

#[tokio::test]
async fn the_version_that_a_branch_was_made_of_is_missed_even_when_its_source_is_deleted() {
    let (ground, a, _) = ground().await;
    kill(&ground, "a").await;
    assert_eq!(faults(&ground.verified().await), [""; 0]);
    ground.delete(&version(&a, 3)).await;
    let report = ground.verified().await;
    assert!(faults(&report).contains(&"fork_lost"), "{report:#?}");
    assert_eq!(of(&report, "fork_lost")[0].place, "fork of branch b");
}

#[tokio::test]
async fn an_inherited_version_is_missed_even_when_its_owner_is_deleted() {
    let (ground, _, _) = ground().await;
    kill(&ground, "a").await;
    let store = ground.store();
    let objects = store.list("tables").await.unwrap();
    // The first version of the ref is the clone, the second one what `a` wrote and `b` has inherited.
    let is_newest = |path: &str| path.contains("/tree/t-") && path == version_of(dataset(path), 2);
    let newest = objects.iter().find(|it| is_newest(&it.path));
    ground.delete(&newest.expect("the version that b has inherited").path).await;
    let report = ground.verified().await;
    assert_eq!(faults(&report), ["pin_lost"]);
    assert!(of(&report, "pin_lost")[0].place.ends_with("of branch b"), "{report:#?}");
}

#[tokio::test]
async fn a_file_that_a_branch_inherits_from_main_is_missed() {
    let (ground, _, _) = ground().await;
    let store = ground.store();
    let objects = store.list("tables").await.unwrap();
    let own = objects.iter().find(|it| it.path.contains("/tree/t-") && it.path.contains("/data/"));
    let own = own.expect("rows of the branch").path.clone();
    ground.delete(&own).await;
    let report = ground.verified().await;
    assert!(faults(&report).contains(&"missing_file"), "{report:#?}");
    assert!(of(&report, "missing_file")[0].message.contains(&own));
}

#[tokio::test]
async fn versions_above_the_head_of_a_branch_that_nobody_armed_are_drift() {
    let (ground, _, _) = ground().await;
    let store = ground.store();
    let objects = store.list("tables").await.unwrap();
    let tree = objects.iter().find_map(|it| {
        let (directory, _) = it.path.split_once("/_versions/")?;
        directory.contains("/tree/t-").then(|| directory.to_owned())
    });
    let directory = tree.expect("a ref of the branch");
    let (dataset, name) = directory.split_once("/tree/").unwrap();
    ground.foreign_append_to(dataset, name).await;
    let report = ground.verified().await;
    assert_eq!(faults(&report), ["drift"]);
    assert_eq!(of(&report, "drift")[0].place, "Person of branch a");
}

#[tokio::test]
async fn a_native_branch_of_a_deleted_name_that_holds_something_else_is_named() {
    let (ground, a, b) = ground().await;
    kill(&ground, "b").await;
    let foreign = ground.store().get(&version(&a, 3)).await.unwrap().unwrap();
    ground.delete(&version(&b, 3)).await;
    ground.put(&version(&b, 3), &foreign).await;
    let report = ground.verified().await;
    assert_eq!(faults(&report), ["damaged_branch"]);
    assert!(of(&report, "damaged_branch")[0].message.contains("clone foreign"));
}
