//! What is refused before a row is read, and what is damage.

use std::collections::HashMap;
use std::sync::Arc;

use graphwrite_protocol_types::*;
use graphwrite_substrate::*;

use super::world::*;
use crate::batch::{batch_of, columns};
use crate::facts::GraphFacts;
use crate::rows::{GraphHeadRow, Row, RowBody};
use crate::*;

fn facts() -> GraphFacts {
    GraphFacts {
        stamp: FormatStamp::current(),
        domain: IdentityDomain::from_u128(7),
        age_floor_s: AGE_FLOOR_S_DEFAULT,
        created_by: "tester".to_owned(),
        created_at_unix_us: 1,
    }
}

/// A manifest whose rows are not those of a graph: whoever reads them calls it damaged.
async fn manifest_with(metadata: HashMap<String, String>) -> Store {
    let store = Store::memory(&MemoryStorage::new());
    let head = Row { version: 1, body: RowBody::GraphHead(GraphHeadRow { head: None }) };
    let schema = Arc::new(columns().as_ref().clone().with_metadata(metadata));
    let batch = batch_of(&[head]).unwrap().with_schema(Arc::clone(&schema)).unwrap();
    let batches = BatchStream::of(schema, vec![batch]);
    let uuid = TxUuid::observed("foreign");
    let staged = stage_create(&store, MANIFEST_PATH, batches, uuid).await.unwrap();
    let permit = CommitPermit::authority(attempt(1));
    let landing = create_dataset(&permit, &store, MANIFEST_PATH, staged).await.unwrap();
    assert!(landing.landed().is_some());
    store
}

async fn open_error(store: &Store, purpose: Purpose) -> OpenError {
    let env = CountingEnv::seeded(1);
    Manifest::open(store, env, &NativeBranch::main(), purpose).await.unwrap_err()
}

#[test]
fn the_facts_of_the_creating_commit_are_the_documented_ones() {
    let mut facts = facts();
    facts.stamp.features = vec!["first".to_owned(), "second".to_owned()];
    let metadata = facts.to_metadata();
    let sorted: std::collections::BTreeMap<_, _> = metadata.iter().collect();
    let lines: Vec<String> = sorted.iter().map(|(key, value)| format!("{key} = {value}")).collect();
    insta::assert_snapshot!("facts", lines.join("\n"));
    let stamp = crate::facts::stamp_of(&metadata).unwrap().unwrap();
    assert_eq!(GraphFacts::from_metadata(stamp, &metadata).unwrap(), facts);
}

#[tokio::test]
async fn a_stamp_that_needs_a_newer_build_is_refused_before_any_row_is_read() {
    let mut facts = facts();
    facts.stamp.min_reader = FORMAT + 1;
    let store = manifest_with(facts.to_metadata()).await;
    let (held, mut handle) = store.holding(|operation| operation.path.contains("/data/"));
    let error = tokio::select! {
        error = open_error(&held, Purpose::Read) => error,
        row = handle.next() => panic!("a row was asked for: {row:?}"),
    };
    assert!(matches!(error, OpenError::FormatRefused(FormatRefused::TooNew { .. })), "{error}");
}

#[tokio::test]
async fn an_unknown_feature_is_refused_before_any_row_is_read() {
    let mut facts = facts();
    facts.stamp.features = vec!["time_travel".to_owned()];
    let store = manifest_with(facts.to_metadata()).await;
    let error = open_error(&store, Purpose::Read).await;
    let refused = FormatRefused::UnknownFeature { feature: "time_travel".to_owned() };
    assert!(matches!(&error, OpenError::FormatRefused(found) if *found == refused), "{error}");
}

#[tokio::test]
async fn a_stamp_that_needs_a_newer_writer_refuses_writers_only() {
    let mut facts = facts();
    facts.stamp.min_writer = FORMAT + 1;
    let store = manifest_with(facts.to_metadata()).await;
    let write = open_error(&store, Purpose::Write).await;
    assert!(matches!(write, OpenError::FormatRefused(_)), "{write}");
    let read = open_error(&store, Purpose::Read).await;
    assert!(matches!(read, OpenError::Damaged { .. }), "the stamp is admitted: {read}");
}

#[tokio::test]
async fn a_newer_format_may_say_the_other_facts_in_another_way() {
    let mut facts = facts();
    facts.stamp.min_reader = FORMAT + 1;
    let mut metadata = facts.to_metadata();
    metadata.remove("graphwrite.age_floor_s");
    let error = open_error(&manifest_with(metadata).await, Purpose::Read).await;
    assert!(matches!(error, OpenError::FormatRefused(_)), "{error}");
}

#[tokio::test]
async fn a_dataset_without_a_stamp_and_an_empty_root_are_no_graphs() {
    let unstamped = manifest_with(HashMap::new()).await;
    let empty = Store::memory(&MemoryStorage::new());
    for store in [unstamped, empty] {
        let error = open_error(&store, Purpose::Read).await;
        assert!(matches!(error, OpenError::NotAGraph { .. }), "{error}");
    }
}

#[tokio::test]
async fn a_missing_row_is_damage_with_its_name() {
    let store = manifest_with(facts().to_metadata()).await;
    match open_error(&store, Purpose::Read).await {
        OpenError::Damaged { damage: Damage::MissingRow { kind, .. }, .. } => {
            assert_eq!(kind, "schema");
        }
        other => panic!("not damage: {other}"),
    }
}

#[tokio::test]
async fn a_malformed_fact_is_damage_with_its_name() {
    for (key, text) in [("graphwrite.identity_domain", "x"), ("graphwrite.min_writer", "-1")] {
        let mut metadata = facts().to_metadata();
        metadata.insert(key.to_owned(), text.to_owned());
        let error = open_error(&manifest_with(metadata).await, Purpose::Read).await;
        assert!(error.to_string().contains(key), "{error}");
        assert!(matches!(error, OpenError::Damaged { .. }));
    }
}

#[tokio::test]
async fn facts_read_back_as_written_and_survive_every_publish() {
    let world = World::in_memory().await;
    let manifest = world.open().await;
    let before = manifest.known_state();
    commit_many(&world, &manifest, 70).await;
    let after = world.open().await.known_state();
    assert_eq!(after.facts(), before.facts());
    assert_eq!(after.facts().age_floor_s, AGE_FLOOR_S_DEFAULT);
    assert_eq!(after.domain(), IdentityDomain::from_u128(7));
    assert_eq!(after.facts().created_by, "tester");
    assert_eq!(*after.stamp(), FormatStamp::current());
}

#[tokio::test]
async fn a_branch_that_does_not_exist_is_not_opened() {
    let world = World::in_memory().await;
    let branch = NativeBranch::of_incarnation("feature", attempt(1));
    let env = CountingEnv::seeded(1);
    let error = Manifest::open(&world.store, env, &branch, Purpose::Read).await.unwrap_err();
    assert!(matches!(error, OpenError::NoSuchBranch { .. }), "{error}");
}

/// The manifest versions in storage, with their objects.
async fn versions(store: &Store) -> Vec<(u64, String)> {
    let objects = store.list("__manifest/_versions").await.unwrap();
    let number = |path: &str| {
        let name = path.rsplit('/').next()?.strip_suffix(".manifest")?;
        name.parse::<u64>().ok().map(|name| u64::MAX - name)
    };
    objects.into_iter().filter_map(|o| number(&o.path).map(|v| (v, o.path))).collect()
}

async fn check_sparse(store: Store) {
    let world = World::on(store).await;
    let manifest = world.open().await;
    commit_many(&world, &manifest, 9).await;
    for (version, path) in versions(&world.store).await {
        if ![7, 10].contains(&version) {
            world.store.delete(&path).await.unwrap();
        }
    }
    let fresh = world.open().await;
    assert_eq!(fresh.known_state().version(), 10);
    assert_eq!(manifest.state().await.unwrap().version(), 10);
    commit_many(&world, &fresh, 1).await;
    assert_eq!(manifest.state().await.unwrap().version(), 11);
    let mut left: Vec<u64> = versions(&world.store).await.into_iter().map(|(v, _)| v).collect();
    left.sort_unstable();
    assert_eq!(left, [7, 10, 11], "nothing landed in a hole");
    assert_eq!(check_history(&world).await.len(), 10);
}

#[tokio::test]
async fn sparse_versions_are_read_right_in_memory() {
    check_sparse(Store::memory(&MemoryStorage::new())).await;
}

#[tokio::test]
async fn sparse_versions_are_read_right_in_a_directory() {
    let directory = tempfile::tempdir().unwrap();
    check_sparse(Store::local(directory.path(), Durability::Relaxed).unwrap()).await;
}

#[tokio::test]
async fn a_graph_that_was_removed_under_a_handle_is_gone() {
    let world = World::in_memory().await;
    let manifest = world.open().await;
    for (_, path) in versions(&world.store).await {
        world.store.delete(&path).await.unwrap();
    }
    let error = manifest.state().await.unwrap_err();
    assert!(matches!(error, ManifestError::Gone), "{error}");
}
