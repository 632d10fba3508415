//! Hand-made reports with every kind of value, hostile text included.

use graphwrite_coordinator::{
    AuditEntry, AuditedDecision, BlockingObject, CommitDiff, ExplainedEffect, KeysOf,
    OperationOutcome, PendingIntents, RowChanges, TableDiff,
};
use graphwrite_protocol_types::{
    AttemptId, BranchToken, CommitId, IdentityDomain, IncarnationId, NativeBranch, OwnerRecord,
    ProcessInstanceId, Receipt, Recovered, RecoveredHow, RefIdentifier, StableTableId,
    TableIdentity, TableSummary, WriterKind,
};

use crate::report::{
    Branches, CommitEntry, CommitLog, Created, FindingEntry, NewestBranch, ObjectGroup,
    PendingEntry, Resolution, ResolutionEntry, Sample, Status, TableChange, TableState,
    Verification, WaitingEntry,
};

pub(super) fn attempt(n: u128) -> AttemptId {
    AttemptId::from_u128(0x0193_7a1b_5c00_0000_0000_0000_0000_0000 + n)
}

pub(super) fn commit(n: u128) -> CommitId {
    CommitId::from_u128(0x0193_7a1b_5c00_0000_0000_0000_0000_1000 + n)
}

pub(super) fn domain() -> IdentityDomain {
    IdentityDomain::from_u128(0x0193_7a1b_5c00_0000_0000_0000_0000_2000)
}

pub(super) fn identity(n: u64) -> TableIdentity {
    TableIdentity {
        table: StableTableId::new(n).unwrap(),
        incarnation: IncarnationId::new(n + 100).unwrap(),
    }
}

pub(super) fn owner() -> OwnerRecord {
    OwnerRecord {
        instance: ProcessInstanceId::from_u128(0x0193_7a1b_5c00_0000_0000_0000_0000_3000),
        pid: 4711,
        pid_namespace: Some("pid:[1]".into()),
        boot_id: Some("boot".into()),
        process_start_ticks: Some(1),
        host: "alpha".into(),
    }
}

pub(super) fn branch() -> BranchToken {
    BranchToken::main(domain())
}

pub(super) fn receipt() -> Receipt {
    Receipt {
        operation: "nightly-2026-11-30".parse().unwrap(),
        attempt: attempt(1),
        branch: branch(),
        commit: Some(commit(1)),
        manifest_version: 2,
        writer: WriterKind::Load,
        tables: vec![summary("Person", 1, 3), summary("Knows", 2, 12)],
        restarts: 1,
        recovered: vec![],
    }
}

/// A receipt of a write that ended two earlier ones.
pub(super) fn healing_receipt() -> Receipt {
    let ended = |n, operation, how| Recovered { attempt: attempt(n), operation, how };
    let operation = Some("hourly".parse().unwrap());
    Receipt {
        recovered: vec![
            ended(2, operation, RecoveredHow::RolledBack),
            ended(3, None, RecoveredHow::Retired),
        ],
        ..receipt()
    }
}

fn decision(n: u128, decision: AuditedDecision) -> AuditEntry {
    let is_known = !matches!(decision, AuditedDecision::RolledBack);
    AuditEntry {
        writer: decision.commit().map(|_| WriterKind::Merge),
        decision,
        attempt: attempt(n),
        operation: "nightly".parse().unwrap(),
        by: is_known.then(|| owner().instance),
        at_unix_us: 1_795_000_000_123_000 + n as u64,
        manifest_version: 9 - n as u64,
    }
}

fn deleted_branch() -> BranchToken {
    let native = NativeBranch::of_incarnation("agent-1", attempt(7));
    let identifier = RefIdentifier::Native(vec![(3, "7".to_owned())]);
    BranchToken { name: "agent/1".to_owned(), record: 2, native, identifier }
}

/// Every kind of decision, with hostile words.
pub(super) fn audit() -> Vec<AuditEntry> {
    let reason = "asked\u{1b}[31m to\nsecond line".to_owned();
    let missing = "not all that it planned has landed".to_owned();
    vec![
        decision(1, AuditedDecision::Sealed { reason }),
        decision(2, AuditedDecision::RolledBack),
        decision(2, AuditedDecision::Aborted { reason: missing }),
        decision(3, AuditedDecision::RolledForward { commit: commit(1) }),
        decision(4, AuditedDecision::Discarded { branch: Box::new(deleted_branch()) }),
    ]
}

pub(super) fn difference() -> CommitDiff {
    let keys = |count, first: &[&str]| KeysOf {
        count,
        first: first.iter().map(|key| (*key).to_owned()).collect(),
    };
    let table = |name: &str, kind, rows| TableDiff { name: name.into(), kind, rows };
    let persons = RowChanges {
        added: keys(12, &["ada", "b\u{1b}[31mob"]),
        removed: keys(0, &[]),
        changed: keys(1, &["cyd"]),
    };
    let knows = RowChanges { removed: keys(2, &["ada -> bob"]), ..RowChanges::default() };
    CommitDiff {
        from: Some(commit(0)),
        to: Some(commit(1)),
        schema_changed: false,
        tables: vec![table("Person", "node", persons), table("Knows", "edge", knows)],
    }
}

pub(super) fn no_difference() -> CommitDiff {
    CommitDiff { from: None, to: None, schema_changed: false, tables: vec![] }
}

pub(super) fn committed() -> OperationOutcome {
    OperationOutcome::Committed(Box::new(receipt()))
}

pub(super) fn aborted(is_final: bool) -> OperationOutcome {
    OperationOutcome::Aborted { attempt: attempt(1), is_final }
}

pub(super) fn of_deleted_branch() -> OperationOutcome {
    OperationOutcome::BranchDeleted { branch: "agent/1".to_owned(), incarnation: 2 }
}

pub(super) fn in_flight() -> OperationOutcome {
    OperationOutcome::Pending { attempt: attempt(1), owner: owner(), age_ms: 61_500 }
}

fn summary(name: &str, id: u64, inserted: u64) -> TableSummary {
    TableSummary {
        identity: identity(id),
        name: name.into(),
        inserted,
        updated: 1,
        deleted: 0,
        unchanged: 0,
    }
}

fn change(name: &str, inserted: u64) -> TableChange {
    TableChange { name: name.into(), inserted, updated: 0, deleted: 0, unchanged: 2 }
}

pub(super) fn created() -> Created {
    Created {
        outcome: "created",
        root: "/data/people".into(),
        domain: domain().to_string(),
        format: 1,
        schema: "ab".repeat(32),
        branch: "main".into(),
        manifest_version: 1,
        node_types: vec!["Person".into(), "City".into()],
        edge_types: vec!["Knows".into()],
    }
}

pub(super) fn commit_entry() -> CommitEntry {
    CommitEntry {
        commit_id: commit(1).to_string(),
        operation_id: "nightly-2026-11-30".into(),
        attempt_id: attempt(1).to_string(),
        parents: vec![commit(0).to_string()],
        at: "2026-11-30T06:00:00.123Z".into(),
        at_unix_us: 1_796_018_400_123_456,
        actor: "ada".into(),
        writer: "load",
        message: Some("first\tload\u{1b}[31m\nsecond line".into()),
        manifest_version: 2,
        rows: 18,
        tables: vec![change("Person", 3), change("Knows", 11)],
    }
}

pub(super) fn commit_log() -> CommitLog {
    let init = CommitEntry {
        commit_id: commit(0).to_string(),
        operation_id: "01JDX1PQ0000000000000000AA".into(),
        parents: vec![],
        writer: "init",
        message: None,
        manifest_version: 1,
        rows: 0,
        tables: vec![],
        ..commit_entry()
    };
    CommitLog { commits: vec![commit_entry(), init] }
}

pub(super) fn status() -> Status {
    let table = |name: &str, kind, rows: Option<u64>, drift| TableState {
        name: name.into(),
        kind,
        rows,
        version: rows.map(|rows| rows / 2),
        drift,
        unreadable: None,
    };
    Status {
        root: "/data/people".into(),
        domain: domain().to_string(),
        format: 1,
        features: vec![],
        schema: "ab".repeat(32),
        branch: "main".into(),
        head: Some(commit(1).to_string()),
        manifest_version: 2,
        pending_intents: 1,
        rows: 14,
        tables: vec![
            table("City", "node", None, false),
            table("Knows", "edge", Some(10), true),
            table("Person", "node", Some(4), false),
        ],
        garbage: vec![finding("note", "orphan_dataset")],
        next: Some("graphwrite intent list /data/people".into()),
        pending_age_ms_max: Some(90_000),
        pending: vec![PendingEntry { attempt: attempt(1).to_string(), age_ms: Some(90_000) }],
        blocking: vec![],
        activity: vec![sample("attempts", &[], 0)],
        branches: Branches {
            live: 3,
            creating: 1,
            unusable: 0,
            newest: vec![newest("agent/2", 60_000), newest("agent/1", 7_200_000)],
        },
        waiting: vec![
            WaitingEntry { what: "native branches", count: 100, objects: 700, bytes: 1_400_000 },
            WaitingEntry { what: "refs of tables", count: 97, objects: 388, bytes: 90_000 },
        ],
        orphan_records: 0,
    }
}

fn newest(branch: &str, age_ms: u64) -> NewestBranch {
    NewestBranch {
        branch: branch.into(),
        incarnation: 1,
        source: "main".into(),
        head: Some(commit(2).to_string()),
        age_ms,
    }
}

/// The status as a process sees it that has written itself.
pub(super) fn busy_status() -> Status {
    let activity = vec![
        sample("requests", &["load", "committed"], 3),
        sample("attempts", &[], 4),
        sample("restarts", &["stale_table"], 1),
        sample("progress_signs", &[], 0),
    ];
    let (pending, pending_age_ms_max) = (vec![], None);
    Status { pending_intents: 0, pending, pending_age_ms_max, activity, ..status() }
}

/// The status of a graph that nobody can write.
pub(super) fn blocked_status() -> Status {
    let blocking = pending().blocking.iter().map(crate::report::BlockingEntry::of).collect();
    Status { blocking, ..status() }
}

fn sample(name: &'static str, labels: &[&'static str], value: u64) -> Sample {
    Sample { name, labels: labels.to_vec(), value }
}

fn finding(severity: &'static str, code: &'static str) -> FindingEntry {
    FindingEntry {
        severity,
        code,
        place: "tables/0000000000000001-0000000000000065".into(),
        message: "nothing names it".into(),
        help: "nothing; it does no harm",
    }
}

pub(super) fn verification(clean: bool) -> Verification {
    let severity = if clean { "note" } else { "fault" };
    Verification {
        clean,
        branches: 3,
        tables: 3,
        rows: 14,
        commits: 2,
        versions: 9,
        pending_intents: 0,
        objects: vec![
            ObjectGroup { kind: "manifest_version", count: 3, bytes: 4_200 },
            ObjectGroup { kind: "data_file", count: 6, bytes: 9_100 },
        ],
        findings: vec![finding(severity, "orphan_dataset")],
        next: (!clean).then(|| "graphwrite status /data/people".into()),
    }
}

/// What the library says of an intent that a load left between two tables.
pub(super) fn explained() -> graphwrite_coordinator::Explanation {
    let effect = |index: u32, table: &str, evidence: &str, standing: &str| ExplainedEffect {
        index,
        table: table.into(),
        path: format!("tables/{}", identity(u64::from(index) + 1)),
        physical_ref: "main".into(),
        kind: "Staged".into(),
        planned: vec![format!("2 {}-e{index}-s0", attempt(1))],
        found: vec!["1 observed".into(), "HEAD is 1".into()],
        evidence: evidence.into(),
        standing: standing.into(),
        settled: false,
    };
    graphwrite_coordinator::Explanation {
        attempt: attempt(1).to_string(),
        operation: "nightly-2026-11-30".into(),
        writer: "load".into(),
        branch: "main".into(),
        actor: "ada".into(),
        owner: owner(),
        owner_state: "dead: its process does not exist".into(),
        armed_at_unix_us: 1_796_018_400_123_456,
        age_ms: 7_200_000,
        outcome: "none".into(),
        effects: vec![
            effect(0, "Person", "complete", "landed, not published"),
            effect(1, "Knows", "nothing landed, the slot is open", "needs a fence"),
        ],
        rule: 8,
        rule_text: "the attempt can neither be finished nor forgotten".into(),
        decision: "abort".into(),
        next: vec!["record `aborted`".into(), "take back what landed".into()],
    }
}

/// What the library says of a graph with that intent and a damaged record.
pub(super) fn pending() -> PendingIntents {
    let blocking = |object: &str, attempt, reason: &str| BlockingObject {
        object: object.into(),
        attempt,
        reason: reason.into(),
        remedy: "Restore it from a backup",
        is_orphan: false,
    };
    PendingIntents {
        intents: vec![explained()],
        blocking: vec![
            blocking("_recovery/main/junk", None, "its name is not that of a recovery record"),
            blocking("_recovery/main/x.intent", Some(attempt(2)), "it ends\n too\u{1b} early"),
        ],
    }
}

/// The same, with a damaged record of a deleted branch.
pub(super) fn orphaned() -> PendingIntents {
    let mut pending = pending();
    pending.blocking.truncate(1);
    pending.blocking.push(BlockingObject {
        object: "_recovery/a.x/y.intent".into(),
        is_orphan: true,
        ..pending.blocking[0].clone()
    });
    pending
}

/// The same, with another decision.
pub(super) fn decided(decision: &str) -> graphwrite_coordinator::Explanation {
    graphwrite_coordinator::Explanation { decision: decision.into(), ..explained() }
}

pub(super) fn resolution() -> Resolution {
    Resolution {
        resolved: 1,
        pending: 1,
        intents: vec![
            ResolutionEntry {
                attempt_id: attempt(1).to_string(),
                action: "rolled_back",
                message: "everything was taken back".into(),
                resolved: true,
            },
            ResolutionEntry {
                attempt_id: attempt(2).to_string(),
                action: "stopped",
                message: "the record is damaged".into(),
                resolved: false,
            },
        ],
        contention: None,
        next: Some("graphwrite intent list /data/people".into()),
    }
}

/// A recovery that waits in vain.
pub(super) fn waiting_resolution() -> Resolution {
    let contention = graphwrite_protocol_types::Contention {
        attempt: attempt(2),
        operation: "nightly".parse().expect("an id"),
        owner: owner(),
        age_ms: 12_000,
        retry_after_ms: 10_000,
    };
    Resolution { contention: Some((&contention).into()), ..resolution() }
}
