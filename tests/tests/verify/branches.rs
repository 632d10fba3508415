//! The whole graph: every live branch is checked, what is shared is checked once, and what dead branches
//! leave is explained.

use futures::StreamExt;
use graphwrite_coordinator::{
    BranchFrom, DeleteBranch, Graph, LoadLimits, LoadMode, LoadRequest, MemoryStorage, Store,
    VerifyReport,
};
use graphwrite_substrate::{Fault, Operation, RawObjects};

use super::planting::{faults, notes, verified, without_rows};
use crate::branches::scene::{delete, fork, fork_at, graph, name, request, try_fork};
use crate::crash::at_nth;
use crate::judge::{impatient, tell};
use crate::world::append;

const NEW: &[&str] = &[r#"{"type":"Person","data":{"slug":"b1","age":7}}"#];
const MORE: &[&str] = &[r#"{"type":"Person","data":{"slug":"b2","age":8}}"#];

async fn verify(graph: &Graph) -> VerifyReport {
    graph.settled().await;
    graph.verify().await.unwrap()
}

fn count(report: &VerifyReport, kind: &str) -> u64 {
    report.objects.iter().find(|it| it.kind == kind).map_or(0, |it| it.count)
}

#[tokio::test]
async fn branches_that_were_written_are_checked_and_nothing_is_to_be_said() {
    let (_, main) = graph().await;
    let branch = fork(&main, "agent/1", "main").await;
    append(&branch, NEW).await;
    append(&main, MORE).await;
    let child = fork(&branch, "agent/1/child", "agent/1").await;
    append(&child, MORE).await;
    fork(&main, "empty", "main").await;
    let report = verify(&main).await;
    assert!(report.findings.is_empty(), "{report:#?}");
    assert_eq!((report.branches, report.commits), (4, 4));
    // Main, and the two that own tables: their people, and what edges connect with them.
    assert_eq!((report.tables, report.rows), (9, 5 + 5 + 6));
    // Lance's records of three native branches, and of a ref that each of the two has made.
    assert_eq!((count(&report, "ref_contents"), count(&report, "name_record")), (5, 6));
}

#[tokio::test]
async fn what_is_shared_is_checked_once_however_many_branches_share_it() {
    let (_, main) = graph().await;
    for n in 0..5 {
        fork(&main, &format!("b{n}"), "main").await;
    }
    let report = verify(&main).await;
    assert_eq!((report.branches, report.commits, report.tables), (6, 1, 3));
    // Two of main's manifest, one of each table, and the clone of each branch.
    assert_eq!(report.versions, 2 + 3 + 5);
}

#[tokio::test]
async fn a_branch_of_a_deleted_branch_stays_whole_and_the_rest_waits_for_reclaim() {
    let (_, main) = graph().await;
    let parent = fork(&main, "parent", "main").await;
    append(&parent, NEW).await;
    let child = fork(&main, "child", "parent").await;
    append(&child, MORE).await;
    let gone = fork(&main, "gone", "main").await;
    append(&gone, NEW).await;
    delete(&main, "parent").await.unwrap();
    delete(&main, "gone").await.unwrap();
    let report = verify(&main).await;
    assert_eq!((faults(&report), notes(&report)), (vec![], vec!["reclaim_pending"]), "{report:#?}");
    assert_eq!((report.branches, report.commits), (2, 3), "the parent's commit is the child's");
    let waiting: Vec<_> = report.findings.iter().map(|it| it.message.as_str()).collect();
    assert!(waiting.iter().any(|it| it.starts_with("1 native branches, ")), "{waiting:?}");
    assert!(waiting.iter().any(|it| it.starts_with("1 refs of tables, ")), "{waiting:?}");
    let status = main.status().await.unwrap();
    assert_eq!((status.branches.live, status.branches.creating), (2, 0));
    let counts: Vec<_> = status.waiting.iter().map(|it| (it.what, it.count)).collect();
    assert_eq!(counts, [("native branches", 1), ("refs of tables", 1)]);
    assert_eq!(status.garbage, [], "{status:#?}");
}

#[tokio::test]
async fn a_branch_of_an_older_commit_and_a_name_used_again_are_explained() {
    let (_, main) = graph().await;
    let first = main.log(1).await.unwrap()[0].commit;
    append(&main, NEW).await;
    let old = fork_at(&main, "old", first).await;
    append(&old, MORE).await;
    delete(&main, "old").await.unwrap();
    let again = fork(&main, "old", "main").await;
    append(&again, MORE).await;
    let report = verify(&main).await;
    assert_eq!((faults(&report), notes(&report)), (vec![], vec!["reclaim_pending"]), "{report:#?}");
    assert_eq!((report.branches, report.commits), (2, 3));
    let waiting = main.status().await.unwrap().waiting;
    let records = waiting.iter().find(|it| it.what == "name records").unwrap();
    assert_eq!(records.count, 3, "those of number 1");
}

#[tokio::test]
async fn a_dataset_that_a_deleted_branch_loaded_first_waits_for_reclaim() {
    let (_, main) = without_rows().await;
    let branch = fork(&main, "a", "main").await;
    append(&branch, NEW).await;
    assert_eq!(verify(&main).await.findings, []);
    delete(&main, "a").await.unwrap();
    let report = verify(&main).await;
    assert_eq!((faults(&report), notes(&report)), (vec![], vec!["reclaim_pending"]), "{report:#?}");
    assert!(count(&report, "reclaim_dataset") > 0, "{report:#?}");
}

/// A durable operation of a request, chosen by its number.
fn any(_: &Operation) -> bool {
    true
}

/// The states after each durable operation of a request, until one in which it does not die.
async fn states_of(
    base: &MemoryStorage,
    what: &str,
    run: impl AsyncFn(Store),
) -> Vec<(VerifyReport, Vec<&'static str>)> {
    let mut states = Vec::new();
    for k in 1.. {
        let storage = base.fork();
        let (client, dying) = Store::memory(&storage).faulty(at_nth(k, any, Fault::DieAfter));
        run(client).await;
        let report = verified(&storage).await;
        assert_eq!(faults(&report), [""; 0], "{what} at {k}: {report:#?}");
        let noted = notes(&report);
        states.push((report, noted));
        if !dying.is_dead() {
            break;
        }
    }
    let seen: std::collections::BTreeSet<_> =
        states.iter().flat_map(|(_, noted)| noted.clone()).collect();
    tell(&format!("verify, {what}: {} states, {seen:?}", states.len()));
    states
}

async fn storage_with_branch() -> MemoryStorage {
    let storage = MemoryStorage::new();
    let store = Store::memory(&storage);
    let main = crate::world::create(&store).await;
    append(&main, crate::world::BASE).await;
    let branch = fork(&main, "a", "main").await;
    append(&branch, NEW).await;
    main.settled().await;
    branch.settled().await;
    storage
}

/// A write of a process that may die at any of its steps.
async fn write(graph: &Graph) {
    let Ok(mut rows) = graph.input(LoadLimits::default()).await else { return };
    rows.push_json_line(1, MORE[0]).unwrap();
    let _ = graph.load(LoadRequest::new(rows.finish().unwrap(), LoadMode::Append)).await;
    graph.settled().await;
}

fn has(states: &[(VerifyReport, Vec<&'static str>)], code: &str) -> bool {
    states.iter().any(|(_, noted)| noted.contains(&code))
}

#[tokio::test]
async fn every_state_of_a_creation_is_explained() {
    let base = storage_with_branch().await;
    let states = states_of(&base, "creation of a branch", async |client| {
        let Ok(graph) = Graph::open(client, impatient()).await else { return };
        let _ = graph.create_branch(request("b", BranchFrom::Head("a".parse().unwrap()))).await;
    })
    .await;
    assert!(states.len() > 4 && has(&states, "creating_branch"));
    let last = &states.last().unwrap().0;
    assert_eq!((last.branches, last.findings.len()), (3, 0));
}

#[tokio::test]
async fn every_state_of_a_deletion_is_explained() {
    let base = storage_with_branch().await;
    let states = states_of(&base, "deletion of a branch", async |client| {
        let Ok(graph) = Graph::open(client, impatient()).await else { return };
        let request = DeleteBranch { name: name("a"), actor: "ada".to_owned(), expect_head: None };
        let _ = graph.delete_branch(request).await;
        graph.settled().await;
    })
    .await;
    assert!(has(&states, "reclaim_pending"));
}

#[tokio::test]
async fn every_state_of_a_first_write_of_a_branch_is_explained() {
    let base = storage_with_branch().await;
    try_fork(&Graph::open(Store::memory(&base), impatient()).await.unwrap(), "b", "a")
        .await
        .unwrap();
    let states = states_of(&base, "first write of a branch", async |client| {
        let Ok(graph) = Graph::open(client, impatient()).await else { return };
        let Ok(branch) = graph.branch(&"b".parse().unwrap()).await else { return };
        write(&branch).await;
    })
    .await;
    assert!(has(&states, "pending_ref") && has(&states, "pending_intent"));
}

#[tokio::test]
async fn what_a_deleted_branch_had_in_flight_is_explained() {
    let base = storage_with_branch().await;
    try_fork(&Graph::open(Store::memory(&base), impatient()).await.unwrap(), "b", "a")
        .await
        .unwrap();
    for k in 1.. {
        let storage = base.fork();
        let (client, dying) = Store::memory(&storage).faulty(at_nth(k, any, Fault::DieAfter));
        if let Ok(graph) = Graph::open(client, impatient()).await
            && let Ok(branch) = graph.branch(&"b".parse().unwrap()).await
        {
            write(&branch).await;
        }
        // Only the record: whoever discards the orphan comes later.
        let (client, once) = Store::memory(&storage).faulty(at_nth(1, any, Fault::DieAfter));
        let other = Graph::open(client, impatient()).await.unwrap();
        let _ = delete(&other, "b").await;
        assert!(once.is_dead());
        let report = verified(&storage).await;
        assert_eq!(faults(&report), [""; 0], "at {k}: {report:#?}");
        assert!(notes(&report).contains(&"reclaim_pending"), "at {k}: {report:#?}");
        let has_records = !Store::memory(&storage).list("_recovery").await.unwrap().is_empty();
        assert_eq!(notes(&report).contains(&"orphan_records"), has_records, "{report:#?}");
        if !dying.is_dead() {
            break;
        }
    }
}

#[tokio::test]
async fn a_branch_that_is_deleted_and_removed_while_it_is_checked_is_no_fault() {
    let base = storage_with_branch().await;
    let reader = Graph::open_read_only(Store::memory(&base), impatient()).await.unwrap();
    let other = Graph::open(Store::memory(&base), impatient()).await.unwrap();
    let whole = reader.verify().await.unwrap();
    assert_eq!((whole.branches, whole.findings.len()), (2, 0));
    // Everything of the branch goes, piece by piece, while it is looked at again and again.
    let removing = async {
        delete(&other, "a").await.unwrap();
        other.settled().await;
        let store = Store::memory(&base);
        let mut objects = store.list("__manifest/tree").await.unwrap();
        objects.extend(store.list("__manifest/_refs").await.unwrap());
        for table in store.list("tables").await.unwrap() {
            if table.path.contains("/tree/") || table.path.contains("/_refs/") {
                objects.push(table);
            }
        }
        assert!(objects.len() > 4);
        for object in objects {
            store.delete(&object.path).await.unwrap();
            tokio::task::yield_now().await;
        }
    };
    let looking = async {
        let looks = futures::stream::iter(0..6).then(|_| reader.verify());
        looks.collect::<Vec<_>>().await
    };
    let ((), looks) = tokio::join!(removing, looking);
    for look in looks {
        let report = look.unwrap();
        assert_eq!(faults(&report), [""; 0], "{report:#?}");
    }
    assert_eq!(reader.verify().await.unwrap().branches, 1);
}
