//! `status` and `verify`: the state of the graph, and whether it is as it should be.

use graphwrite_coordinator::{
    BranchCounts, Finding, ObjectGroup, PendingAge, Sample, Severity, StatusReport, VerifyReport,
};

use crate::classes::failed;
use crate::command::GraphPlace;
use crate::commands::{answer, open};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::io::Io;
use crate::progress::Progress;
use crate::remedy::on_branch;
use crate::render::write_report;
use crate::report::{
    self, Branches, FindingEntry, NewestBranch, PendingEntry, Status, TableState, Verification,
    WaitingEntry,
};
use crate::style::Style;

pub(super) async fn status(
    location: &GraphPlace,
    style: Style,
    io: &mut Io<'_>,
) -> Result<Exit, Failure> {
    let graph = open::for_reading(location).await?;
    let status = graph.status().await.map_err(|error| failed(&error, location))?;
    let mut report = status_report(&status, location);
    report.next = report.next.map(|next| on_branch(&next, location));
    answer(&report, style, io)
}

pub(super) async fn verify(location: &str, style: Style, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let graph = open::whole_for_reading(location).await?;
    let progress = Progress::count("verifying", &io.surroundings);
    progress.goes_on("verifying");
    let verified = graph.verify().await;
    drop(progress);
    let verified = verified.map_err(|error| failed(&error, location))?;
    write_report(&verification(&verified, location), style, io.output)?;
    Ok(if verified.is_clean() { Exit::Done } else { Exit::Negative })
}

pub(crate) fn status_report(status: &StatusReport, location: &str) -> Status {
    let tables = status.tables.iter().map(|table| TableState {
        name: table.name.clone(),
        kind: table.kind,
        rows: table.rows,
        version: table.version,
        drift: !table.head_is_pinned,
        unreadable: table.unreadable.clone(),
    });
    let tables: Vec<TableState> = tables.collect();
    let trouble = tables.iter().any(|table| table.drift || table.unreadable.is_some());
    Status {
        root: status.root.clone(),
        domain: status.domain.to_string(),
        format: status.stamp.format,
        features: status.stamp.features.clone(),
        schema: status.schema.to_string(),
        branch: status.branch.clone(),
        head: status.head.map(|head| head.to_string()),
        manifest_version: status.manifest_version,
        pending_intents: status.pending.len(),
        rows: tables.iter().filter_map(|table| table.rows).sum(),
        garbage: status.garbage.iter().map(finding).collect(),
        next: next(status.pending.len() + status.blocking.len(), trouble, location),
        pending_age_ms_max: status.pending_age_ms_max(),
        pending: status.pending.iter().map(pending_entry).collect(),
        blocking: status.blocking.iter().map(report::BlockingEntry::of).collect(),
        activity: status.activity.samples().iter().map(sample).collect(),
        branches: branches(&status.branches),
        waiting: status.waiting.iter().map(WaitingEntry::of).collect(),
        orphan_records: status.orphans,
        tables,
    }
}

fn branches(counts: &BranchCounts) -> Branches {
    let newest = counts.newest.iter().map(|branch| NewestBranch {
        branch: branch.name.clone(),
        incarnation: branch.incarnation,
        source: branch.source.clone(),
        head: branch.head.map(|head| head.to_string()),
        age_ms: branch.age_ms,
    });
    let BranchCounts { live, creating, unusable, .. } = *counts;
    Branches { live, creating, unusable, newest: newest.collect() }
}

fn pending_entry(pending: &PendingAge) -> PendingEntry {
    PendingEntry { attempt: pending.attempt.to_string(), age_ms: pending.age_ms }
}

fn sample(sample: &Sample) -> report::Sample {
    let labels = sample.labels.into_iter().filter(|label| !label.is_empty()).collect();
    report::Sample { name: sample.name, labels, value: sample.value }
}

/// Trouble without an intent that explains it is for `verify` to judge.
fn next(pending: usize, trouble: bool, location: &str) -> Option<String> {
    match (pending, trouble) {
        (0, false) => None,
        (0, true) => Some(format!("graphwrite verify {location}")),
        (_, _) => Some(format!("graphwrite intent list {location}")),
    }
}

pub(crate) fn verification(verified: &VerifyReport, location: &str) -> Verification {
    let clean = verified.is_clean();
    let next = match verified.pending {
        _ if clean => None,
        0 => Some(format!("graphwrite status {location}")),
        _ => Some(format!("graphwrite intent list {location}")),
    };
    Verification {
        clean,
        branches: verified.branches,
        tables: verified.tables,
        rows: verified.rows,
        commits: verified.commits,
        versions: verified.versions,
        objects: verified.objects.iter().map(group).collect(),
        pending_intents: verified.pending,
        findings: verified.findings.iter().map(finding).collect(),
        next,
    }
}

fn finding(finding: &Finding) -> FindingEntry {
    FindingEntry {
        severity: match finding.severity {
            Severity::Note => "note",
            Severity::Fault => "fault",
        },
        code: finding.code,
        place: finding.place.clone(),
        message: finding.message.clone(),
        help: finding.remedy,
    }
}

fn group(group: &ObjectGroup) -> report::ObjectGroup {
    report::ObjectGroup { kind: group.kind, count: group.count, bytes: group.bytes }
}
