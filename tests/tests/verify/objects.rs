//! Objects below the root: those that a version needs, those that are residue, and those that are
//! nobody's.

use graphwrite_coordinator::{Durability, Graph, MemoryStorage, Severity, Store};
use graphwrite_protocol_types::AttemptId;
use graphwrite_substrate::{Fault, Operation};

use super::planting::{ADA, Ground, faults, notes, of, verified};
use crate::crash::at_nth;
use crate::crash::scenario::{Stage, TWO_EXISTING_UPSERT};
use crate::judge::{impatient, open_impatient};
use crate::world::{BASE, append, create, rows};

#[tokio::test]
async fn a_data_file_that_readers_need_is_missed() {
    let ground = Ground::new().await;
    let data = ground.data_of(1).await;
    ground.delete(&data[0]).await;
    let report = ground.verified().await;
    assert_eq!(faults(&report), ["missing_file", "unreadable_table"]);
    let missing = of(&report, "missing_file")[0];
    assert_eq!(missing.place, "Person version 1");
    assert!(missing.message.contains(&data[0]), "{missing:#?}");
}

#[tokio::test]
async fn an_object_inside_the_graph_that_is_no_part_of_it_is_a_fault() {
    let ground = Ground::new().await;
    let inside = format!("{}/notes.txt", ground.persons);
    let paths =
        ["tables/notes.txt", "_control/notes.txt", "_recovery/notes.txt", "_recovery/b/x", &inside];
    for path in paths {
        let planted = ground.fork();
        planted.put(path, b"notes").await;
        let report = planted.verified().await;
        assert_eq!(faults(&report), ["unexplained_object"], "{path}");
        assert_eq!(of(&report, "unexplained_object")[0].place, path);
    }
}

#[tokio::test]
async fn residue_is_noted_with_its_place_its_count_and_its_size() {
    let ground = Ground::new().await;
    let persons = &ground.persons;
    let other = persons.rsplit_once('-').unwrap().0;
    let given_up = format!("{other}-{}", AttemptId::from_u128(7));
    for (path, code, place) in [
        ("notes.txt".to_owned(), "foreign_object", "notes.txt"),
        (format!("{persons}/data/x.lance"), "unnamed_files", persons),
        (format!("{persons}/_deletions/x.arrow"), "unnamed_files", persons),
        (format!("{persons}/_transactions/x.txn"), "unnamed_files", persons),
        ("__manifest/data/x.lance".to_owned(), "unnamed_files", "__manifest"),
        (format!("{given_up}/data/x.lance"), "abandoned_dataset", &given_up),
        (
            format!("{persons}/_versions/latest_version_hint.json"),
            "version_hint",
            &format!("{persons}/_versions/latest_version_hint.json"),
        ),
    ] {
        let planted = ground.fork();
        planted.put(&path, b"12345").await;
        let report = planted.verified().await;
        assert_eq!((faults(&report), notes(&report)), (vec![], vec![code]), "{path}");
        let found = of(&report, code)[0];
        assert_eq!(found.place, place);
        assert!(found.message.starts_with("1 objects, 5 bytes"), "{found:#?}");
    }
}

/// A storage whose writer died when one of its two effects had landed.
async fn half_done() -> Ground {
    let stage = Stage::of(TWO_EXISTING_UPSERT).await;
    let storage = stage.base.fork();
    let is_effect =
        |it: &Operation| it.path.starts_with("tables/") && it.path.ends_with(".manifest");
    let (client, faults) = Store::memory(&storage).faulty(at_nth(1, is_effect, Fault::DieAfter));
    stage.scenario.write(&client).await;
    assert!(faults.is_dead());
    Ground { storage, persons: String::new() }
}

async fn record_of(ground: &Ground) -> String {
    let records = ground.store().list("_recovery").await.unwrap();
    let [record] = &records[..] else { panic!("{records:?}") };
    record.path.clone()
}

#[tokio::test]
async fn a_flipped_bit_in_a_record_is_found_and_what_it_armed_is_still_explained() {
    let ground = half_done().await;
    let record = record_of(&ground).await;
    let seen = rows(&open_impatient(&ground.store()).await).await;
    ground
        .change(&record, |bytes| {
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
        })
        .await;
    let report = ground.verified().await;
    assert_eq!(faults(&report), ["unusable_record"]);
    assert_eq!(of(&report, "unusable_record")[0].place, record);
    of(&report, "unpublished_head");
    assert_eq!(rows(&open_impatient(&ground.store()).await).await, seen, "reads go on");
}

#[tokio::test]
async fn records_beside_an_intent_are_checked_as_well() {
    let ground = half_done().await;
    let record = record_of(&ground).await;
    for suffix in ["alive.1", "confirm"] {
        let planted = ground.fork();
        let path = record.replace("intent", suffix);
        planted.put(&path, b"no record").await;
        let report = planted.verified().await;
        assert!(
            of(&report, "unreadable_progress").iter().any(|it| it.place == path),
            "{report:#?}"
        );
    }
}

#[tokio::test]
async fn an_intent_that_was_deleted_before_its_effects_were_taken_back_leaves_drift() {
    let ground = half_done().await;
    ground.delete(&record_of(&ground).await).await;
    assert_eq!(faults(&ground.verified().await), ["drift"]);
}

#[tokio::test]
async fn versions_that_no_commit_needs_may_be_gone() {
    let ground = half_done().await;
    // What had landed is taken back, and the write that did it goes on top.
    let graph = open_impatient(&ground.store()).await;
    append(&graph, &[ADA, r#"{"type":"Company","data":{"slug":"c9"}}"#]).await;
    graph.settled().await;
    let report = ground.verified().await;
    assert!(report.is_clean(), "{report:#?}");
    let store = ground.store();
    let objects = store.list("tables").await.unwrap();
    let versions = objects.iter().filter(|it| it.path.contains("/_versions/"));
    let unneeded: Vec<_> = versions.filter(|it| it.path.ends_with("13.manifest")).collect();
    for object in &unneeded {
        ground.delete(&object.path).await;
    }
    assert!(!unneeded.is_empty());
    let report = ground.verified().await;
    assert!(report.is_clean() && notes(&report).contains(&"versions_removed"), "{report:#?}");
}

/// Every file below a directory, with its bytes and the time of its last change.
fn files(root: &std::path::Path) -> Vec<(std::path::PathBuf, Vec<u8>, std::time::SystemTime)> {
    let mut found = Vec::new();
    let mut directories = vec![root.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(&directory).unwrap() {
            let (path, metadata) = {
                let entry = entry.unwrap();
                (entry.path(), entry.metadata().unwrap())
            };
            if metadata.is_dir() {
                directories.push(path);
            } else {
                let bytes = std::fs::read(&path).unwrap();
                found.push((path, bytes, metadata.modified().unwrap()));
            }
        }
    }
    found.sort();
    found
}

#[tokio::test]
async fn a_directory_stays_as_it_is_and_nothing_in_it_is_unexplained() {
    let scratch = tempfile::tempdir().unwrap();
    let store = Store::create_local(&scratch.path().join("graph"), Durability::Fsync).unwrap();
    let graph = create(&store).await;
    append(&graph, BASE).await;
    graph.settled().await;
    let before = files(scratch.path());
    let reader = Graph::open_read_only(store.reopened(), impatient()).await.unwrap();
    let report = reader.verify().await.unwrap();
    assert!(report.findings.is_empty(), "{report:#?}");
    assert_eq!(files(scratch.path()), before);
    let listed: u64 = report.objects.iter().map(|group| group.count).sum();
    assert_eq!(listed, before.len() as u64, "every file is one of a kind");
}

#[tokio::test]
async fn an_empty_graph_has_nothing_to_note() {
    let storage = MemoryStorage::new();
    create(&Store::memory(&storage)).await;
    let report = verified(&storage).await;
    assert!(report.findings.iter().all(|it| it.severity != Severity::Fault), "{report:#?}");
    assert_eq!((report.tables, report.commits, report.versions), (0, 0, 1));
}
