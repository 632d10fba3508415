//! Versions that another writer made, above and below what readers see.

use graphwrite_protocol_types::{AttemptId, TxUuid};
use graphwrite_substrate::{Version, stage_fence};

use super::planting::{ADA, BOB, Ground, faults, foreign, land, notes, of};
use crate::world::rows;

#[tokio::test]
async fn a_graph_that_nobody_else_wrote_to_has_nothing_to_note() {
    let report = Ground::with_history().await.verified().await;
    assert!(report.findings.is_empty(), "{report:#?}");
    assert_eq!((report.tables, report.rows, report.commits, report.pending), (3, 6, 3, 0));
    // The manifest has one version a commit and its first; the tables have 3, 1 and 1.
    assert_eq!(report.versions, 4 + 5);
    let count = |kind: &str| report.objects.iter().find(|it| it.kind == kind).map(|it| it.count);
    assert_eq!((count("manifest_version"), count("table_version")), (Some(4), Some(5)));
    assert_eq!((count("unnamed_file"), count("unexplained")), (None, None));
}

#[tokio::test]
async fn a_version_above_the_published_one_that_nobody_armed_is_drift() {
    let ground = Ground::with_history().await;
    let before = rows(&ground.open().await).await;
    ground.foreign_append(foreign()).await;
    ground.foreign_append(TxUuid::observed("second")).await;
    let report = ground.verified().await;
    assert_eq!(faults(&report), ["drift"]);
    let drift = of(&report, "drift")[0];
    assert_eq!(drift.place, "Person");
    assert!(drift.message.contains(foreign().as_str()) && drift.message.contains("second"));
    assert_eq!(rows(&ground.open().await).await, before, "readers do not see it");
}

#[tokio::test]
async fn a_foreign_version_below_the_published_one_brings_rows_without_a_commit() {
    let ground = Ground::new().await;
    let other = ground.fork();
    ground.append(ADA).await;
    ground.append(BOB).await;
    other.foreign_append(foreign()).await;
    ground.take(&ground.version(2), &other).await;
    let report = ground.verified().await;
    assert_eq!(faults(&report), ["lost_version", "pin_lost", "uncommitted_rows"]);
    let lost = of(&report, "pin_lost")[0];
    assert!(lost.message.contains("version 2") && lost.message.contains(foreign().as_str()));
    let rows = of(&report, "uncommitted_rows")[0];
    assert_eq!(rows.place, "Person");
    assert!(rows.message.contains(foreign().as_str()), "{rows:#?}");
}

#[tokio::test]
async fn rows_that_break_a_rule_are_named_although_the_version_carries_its_transaction() {
    let ground = Ground::new().await;
    let other = ground.fork();
    ground.append(ADA).await;
    other.foreign_append(ground.uuid_of(2).await).await;
    ground.take(&ground.version(2), &other).await;
    let report = ground.verified().await;
    assert_eq!(faults(&report), ["constraint"]);
    assert_eq!(of(&report, "constraint")[0].place, "Person");
}

#[tokio::test]
async fn an_empty_version_that_no_attempt_made_and_a_write_took_over_is_noted() {
    let ground = Ground::new().await;
    let table = ground.person_table(Version::Latest).await;
    let fence = TxUuid::fence(AttemptId::from_u128(7), 0);
    land(&table, stage_fence(table.version(), fence.clone())).await;
    let above = ground.verified().await;
    assert_eq!((faults(&above), notes(&above)), (vec![], vec!["fence"]));
    ground.append(ADA).await;
    let report = ground.verified().await;
    assert_eq!(faults(&report), [""; 0]);
    assert!(of(&report, "foreign_version")[0].message.contains(fence.as_str()));
}

#[tokio::test]
async fn a_version_that_is_cut_off_cannot_be_decoded() {
    let ground = Ground::with_history().await;
    ground.change(&ground.version(2), |bytes| bytes.truncate(bytes.len() / 2)).await;
    let report = ground.verified().await;
    assert_eq!(of(&report, "unreadable_version")[0].place, "Person version 2");
}

#[tokio::test]
async fn a_published_version_that_is_gone_is_lost() {
    let ground = Ground::with_history().await;
    ground.delete(&ground.version(2)).await;
    let report = ground.verified().await;
    assert_eq!(faults(&report), ["pin_lost"]);
    assert!(of(&report, "pin_lost")[0].message.contains("it is not there"));
    ground.delete(&ground.version(3)).await;
    let report = ground.verified().await;
    assert_eq!(faults(&report), ["pin_lost", "unreadable_table"]);
}
