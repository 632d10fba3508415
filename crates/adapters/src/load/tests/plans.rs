//! What a plan says, and what it makes true.

use graphwrite_protocol_types::*;
use graphwrite_substrate::head;

use crate::load::LoadMode::{Append, Upsert};
use crate::world::{Came, World, committed};
use crate::*;

const PEOPLE: &[&str] = &[
    r#"{"type":"Person","data":{"slug":"a","email":"a@x","tags":["t"]}}"#,
    r#"{"type":"Person","data":{"slug":"b"}}"#,
    r#"{"edge":"Knows","from":"a","to":"b","data":{"since":"2026-01-31"}}"#,
];

#[tokio::test]
async fn a_first_load_creates_every_table_in_one_commit() {
    let world = World::new().await;
    let came = world.load(Append, PEOPLE).await;
    assert_eq!(came, committed(&[("Knows", 1, 0, 0), ("Person", 2, 0, 0)]));
    assert_eq!(world.rows("Person").await, PEOPLE[..2]);
    assert_eq!(world.rows("Knows").await, PEOPLE[2..]);
}

#[tokio::test]
async fn a_first_load_plans_the_creation_of_a_dataset_of_its_own() {
    let world = World::new().await;
    let write = world.planned(Append, PEOPLE).await;
    let plan = write.write();
    let identities: Vec<_> = plan.effects.iter().map(|effect| effect.target.identity).collect();
    assert!(identities.is_sorted() && identities.len() == 2);
    for (index, effect) in (0..).zip(&plan.effects) {
        let pin = Pin { version: 1, tx_uuid: TxUuid::effect(plan.attempt, index, 0) };
        let path = DatasetPath::of_first_load(effect.target.identity, plan.attempt);
        assert_eq!(effect.target.path, path);
        assert_eq!((&effect.pre, effect.kind), (&PreState::Absent, EffectKind::CreateDataset));
        assert_eq!(effect.exact_post(), Some(&pin));
        assert_eq!(effect.compensation, Compensation::DeleteDataset);
        let NextHead::Live { pin: next, content, physical_ref, .. } =
            &plan.delta.heads[index as usize].next
        else {
            panic!("a live head")
        };
        assert_eq!((next, content), (&PinSlot::Exact(pin), &effect.content));
        assert_eq!(*physical_ref, PhysicalRef::Main);
    }
    assert_eq!(plan.recovery.confirmation, Confirmation::NotNeeded);
    assert_eq!(plan.lineage.parents, Parents::HeadAtPublish);
    assert_eq!(plan.lineage.message.as_deref(), Some("a test"));
}

#[tokio::test]
async fn a_later_load_plans_one_exact_commit_above_the_pin() {
    let world = World::with(PEOPLE).await;
    let write = world.planned(Append, &[r#"{"type":"Person","data":{"slug":"c"}}"#]).await;
    let plan = write.write();
    let base = world.base().await;
    let live = base.head(world.identity("Person")).live().unwrap();
    let [effect] = plan.effects.as_slice() else { panic!("one effect") };
    assert_eq!(effect.pre, PreState::At(live.pin.clone()));
    assert_eq!((effect.kind, &effect.target.path), (EffectKind::Staged, &live.path));
    let post = Pin { version: 2, tx_uuid: TxUuid::effect(plan.attempt, 0, 0) };
    assert_eq!(effect.exact_post(), Some(&post));
    assert_eq!(effect.compensation, Compensation::Restore);
    assert_ne!(effect.content, live.content);
}

#[tokio::test]
async fn every_planned_effect_is_of_a_kind_that_the_registry_lists() {
    let mut world = World::with(PEOPLE).await;
    world.inherited.insert(world.identity("Knows"));
    world.load(Append, &[r#"{"type":"Types","data":{"key":1}}"#]).await;
    world.bounds = CommitBounds { rows: 1, bytes: u64::MAX };
    let lines = [
        r#"{"type":"Person","data":{"slug":"c"}}"#,
        r#"{"edge":"Knows","from":"b","to":"c","data":{}}"#,
        r#"{"type":"Types","data":{"key":2}}"#,
        r#"{"type":"Types","data":{"key":3}}"#,
        r#"{"type":"Firm","data":{"slug":"f"}}"#,
        r#"{"edge":"Seat","from":"f","to":"p","data":{"id":"s"}}"#,
        r#"{"type":"Place","data":{"slug":"p","city":"A"}}"#,
    ];
    let write = world.planned(Upsert, &lines).await;
    let listed = LoadAdapter::new(Upsert).entry().effects;
    let mut planned: Vec<_> = write.write().effects.iter().map(|effect| effect.kind).collect();
    assert!(planned.iter().all(|kind| listed.contains(kind)));
    planned.sort();
    planned.dedup();
    assert_eq!(planned.len(), listed.len());
}

#[tokio::test]
async fn preparing_moves_no_head() {
    let world = World::with(PEOPLE).await;
    let before = world.base().await;
    let lines = [
        r#"{"type":"Person","data":{"slug":"c"}}"#,
        r#"{"type":"Place","data":{"slug":"p","city":"A"}}"#,
    ];
    let write = world.planned(Upsert, &lines).await;
    assert_eq!(write.write().effects.len(), 2);
    for effect in &write.write().effects {
        let target = &effect.target;
        let found = head(&world.store, target.path.as_str(), &target.physical_ref).await.unwrap();
        let pinned = before.head(target.identity).live().map(|live| live.pin.clone());
        assert_eq!(found.map(|version| version.pin()), pinned);
    }
    assert_eq!(world.base().await, before);
}

#[tokio::test]
async fn performing_twice_lands_once() {
    let world = World::with(PEOPLE).await;
    let lines = [
        r#"{"type":"Person","data":{"slug":"c"}}"#,
        r#"{"type":"Place","data":{"slug":"p","city":"A"}}"#,
    ];
    let armed = world.arm(world.planned(Append, &lines).await).await.unwrap();
    for effect in 0..2 {
        let mut pins = Vec::new();
        for _ in 0..2 {
            let landing =
                perform(effect, armed.payload(), armed.intent(), &armed.permit(), &world.store)
                    .await;
            pins.push(landing.unwrap().landed().unwrap().0.pin());
        }
        assert_eq!(pins[0], pins[1]);
        let target = &armed.write().effects[effect as usize].target;
        let newest = head(&world.store, target.path.as_str(), &target.physical_ref).await.unwrap();
        assert_eq!(newest.unwrap().pin(), pins[0]);
    }
}

#[tokio::test]
async fn the_permit_of_another_attempt_performs_nothing() {
    let world = World::new().await;
    let line = [r#"{"type":"Person","data":{"slug":"c"}}"#];
    let mine = world.arm(world.planned(Append, &line).await).await.unwrap();
    let other = world.planned(Append, &line).await;
    let other = world.arm(other).await.unwrap();
    let refused = perform(0, mine.payload(), mine.intent(), &other.permit(), &world.store).await;
    assert!(matches!(refused, Err(PerformError::OtherAttempt { .. })), "{refused:?}");
    let refused = perform(1, mine.payload(), mine.intent(), &mine.permit(), &world.store).await;
    assert!(matches!(refused, Err(PerformError::NoSuchEffect { effect: 1, .. })), "{refused:?}");
    let path = mine.write().effects[0].target.path.clone();
    assert_eq!(head(&world.store, path.as_str(), &PhysicalRef::Main).await.unwrap(), None);
}

#[tokio::test]
async fn a_strict_insert_of_known_keys_names_the_first_and_counts_all() {
    let world = World::with(PEOPLE).await;
    let lines = [
        r#"{"type":"Person","data":{"slug":"c"}}"#,
        "",
        r#"{"edge":"Knows","from":"a","to":"b"}"#,
        r#"{"type":"Person","data":{"slug":"b"}}"#,
    ];
    let conflict = Conflict::KeyExists {
        table: "Knows".into(),
        key: "a -> b".into(),
        place: Some("line 3".into()),
        total: 2,
    };
    let before = world.base().await;
    assert_eq!(world.load(Append, &lines).await, Came::Conflict(conflict));
    assert_eq!(world.base().await, before);
}

#[tokio::test]
async fn the_same_rows_again_change_nothing_and_say_what_that_depends_on() {
    let world = World::with(PEOPLE).await;
    let plan = world.prepare(Upsert, PEOPLE).await.unwrap();
    let WritePlan::NoChange { summaries, read_set } = plan else { panic!("{plan:?}") };
    let unchanged: u64 = summaries.iter().map(|table| table.unchanged).sum();
    assert_eq!(unchanged, 3);
    let mut members: Vec<_> =
        read_set.tables().map(|(identity, member)| (world.name(identity), member.access)).collect();
    members.sort();
    let probed = |name: &str| (name.to_owned(), Access::Probed);
    assert_eq!(members, [probed("Knows"), probed("Person")]);
}

#[tokio::test]
async fn an_upsert_touches_only_tables_with_changed_rows() {
    let world = World::with(PEOPLE).await;
    let before = world.base().await;
    let lines = [
        r#"{"type":"Person","data":{"slug":"a","email":"a@x","tags":["t"]}}"#,
        r#"{"type":"Person","data":{"slug":"b","age":3}}"#,
        r#"{"type":"Person","data":{"slug":"c"}}"#,
        PEOPLE[2],
    ];
    let came = world.load(Upsert, &lines).await;
    assert_eq!(came, committed(&[("Knows", 0, 0, 1), ("Person", 1, 1, 1)]));
    assert_eq!(world.rows("Person").await, lines[..3]);
    let (knows, person) = (world.identity("Knows"), world.identity("Person"));
    let after = world.base().await;
    assert_eq!(after.head(knows), before.head(knows));
    assert_eq!(after.head(person).live().unwrap().pin.version, 2);
}

#[tokio::test]
async fn an_upsert_replaces_a_row_whole() {
    let world = World::with(PEOPLE).await;
    let line = r#"{"type":"Person","data":{"slug":"a","age":7}}"#;
    assert_eq!(world.load(Upsert, &[line]).await, committed(&[("Person", 0, 1, 0)]));
    assert_eq!(world.rows("Person").await, [line, PEOPLE[1]]);
}

#[tokio::test]
async fn an_upsert_replaces_edges_by_their_ends_or_by_their_own_id() {
    let world = World::with(&[
        PEOPLE[0],
        PEOPLE[1],
        PEOPLE[2],
        r#"{"type":"Place","data":{"slug":"p","city":"A"}}"#,
        r#"{"edge":"Visits","from":"a","to":"p","data":{"id":"v","note":"x"}}"#,
    ])
    .await;
    let lines = [
        r#"{"edge":"Knows","from":"a","to":"b","data":{}}"#,
        r#"{"edge":"Visits","from":"b","to":"p","data":{"id":"v","note":"y"}}"#,
    ];
    let came = world.load(Upsert, &lines).await;
    assert_eq!(came, committed(&[("Knows", 0, 1, 0), ("Visits", 0, 1, 0)]));
    assert_eq!(world.rows("Knows").await, lines[..1]);
    assert_eq!(world.rows("Visits").await, lines[1..]);
}

#[tokio::test]
async fn an_expected_head_makes_the_grain_coarse_and_is_honoured_before_anything_is_read() {
    let world = World::with(PEOPLE).await;
    let input = world.schema.input(&[r#"{"type":"Person","data":{"slug":"c"}}"#]);
    let actual = world.base().await.graph_head;
    let plan = world.prepare_input(Append, &input, &world.store, Some(actual)).await.unwrap();
    let WritePlan::Write(write) = plan else { panic!("{plan:?}") };
    assert_eq!(write.write().read_set.graph_head(), Some(actual));
    assert_eq!(write.write().lineage.parents, Parents::Exact(vec![actual.0.unwrap()]));
    // A request that changes nothing still honours it.
    let same = world.schema.input(PEOPLE);
    let wrong = Some(GraphHeadToken(None));
    let plan = world.prepare_input(Upsert, &same, &world.store, wrong).await.unwrap();
    let WritePlan::Conflict(conflict) = plan else { panic!("{plan:?}") };
    assert_eq!(conflict, Conflict::ExpectedHead { expected: None, actual: actual.0 });
}

#[tokio::test]
async fn rows_of_another_schema_are_refused() {
    let world = World::new().await;
    let other = graphwrite_schema::SchemaDocument::parse(
        "[node.Person]\nkey = \"slug\"\n[node.Person.properties]\nslug = { type = \"string\" }\n",
    );
    let env = crate::testing::CountingEnv::default();
    let other = graphwrite_schema::declare(&other.unwrap(), &env).unwrap();
    let mut builder = InputBuilder::new(&other);
    builder.push_json_line(1, r#"{"type":"Person","data":{"slug":"a"}}"#).unwrap();
    let input = builder.finish().unwrap();
    let refused = world.prepare_input(Append, &input, &world.store, None).await;
    assert!(matches!(refused, Err(PrepareError::SchemaMoved { .. })), "{refused:?}");
}

#[tokio::test]
async fn an_empty_input_changes_nothing() {
    let world = World::new().await;
    assert_eq!(world.load(Append, &[]).await, Came::NoChange);
    assert_eq!(world.load(Upsert, &["", " "]).await, Came::NoChange);
}

#[tokio::test]
async fn a_digest_says_which_rows_and_how_and_nothing_of_places_or_batches() {
    let schema = crate::testing::TestSchema::new();
    let digest = |mode, lines: &[&str]| request_digest(mode, &schema.input(lines));
    let base = digest(Append, PEOPLE);
    assert_eq!(base, digest(Append, &[PEOPLE[0], "", PEOPLE[1], PEOPLE[2]]));
    assert_eq!(base, digest(Append, &[PEOPLE[2], PEOPLE[0], PEOPLE[1]]));
    assert_ne!(base, digest(Upsert, PEOPLE));
    assert_ne!(base, digest(Append, &PEOPLE[..2]));
    let other = r#"{"type":"Person","data":{"slug":"b","email":""}}"#;
    assert_ne!(base, digest(Append, &[PEOPLE[0], other, PEOPLE[2]]));
    let mut cut = schema.builder();
    for batch in schema.input(PEOPLE).tables().iter().flat_map(|table| {
        let rows = table.batches().next().unwrap().unwrap();
        (0..rows.num_rows()).map(move |row| (table.name().to_owned(), rows.slice(row, 1)))
    }) {
        cut.push_batch(&batch.0, &batch.1).unwrap();
    }
    assert_eq!(base, request_digest(Append, &cut.finish().unwrap()));
}

#[tokio::test]
async fn plans_can_be_made_and_performed_on_another_thread() {
    fn is_sent<T: Send>(value: T) -> T {
        value
    }
    fn is_shared<T: Send + Sync + 'static>(value: &T) -> &T {
        value
    }
    let world = World::new().await;
    let input = world.schema.input(PEOPLE);
    let plan = is_sent(world.prepare_input(Append, is_shared(&input), &world.store, None)).await;
    let WritePlan::Write(write) = plan.unwrap() else { panic!("something to write") };
    let armed = world.arm(*write).await.unwrap();
    let permit = armed.permit();
    let performed =
        is_sent(perform(0, is_shared(armed.payload()), armed.intent(), &permit, &world.store))
            .await;
    assert!(performed.unwrap().landed().is_some());
}

#[tokio::test]
async fn unchanged_rows_are_not_written_again() {
    let world = World::with(PEOPLE).await;
    let new = r#"{"type":"Person","data":{"slug":"c"}}"#;
    let lines = [PEOPLE[0], PEOPLE[1], new];
    assert_eq!(world.staged_rows(&lines).await, 1);
    assert_eq!(world.load(Upsert, &lines).await, committed(&[("Person", 1, 0, 2)]));
    assert_eq!(world.rows("Person").await, lines);
    let updated = [PEOPLE[0], r#"{"type":"Person","data":{"slug":"b","age":3}}"#, new];
    assert_eq!(world.staged_rows(&updated).await, 1);
}
