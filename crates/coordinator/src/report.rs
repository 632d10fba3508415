//! What the handle tells about a graph, as plain data: lineage, pending intents, status, findings.

use graphwrite_protocol_types::{
    AttemptId, CommitId, FormatStamp, IdentityDomain, OperationId, SchemaHash, TableSummary,
    WriterKind,
};
use graphwrite_recovery::BlockingObject;

use crate::Activity;

/// One graph commit, as lineage records it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitInfo {
    /// The commit.
    pub commit: CommitId,
    /// The attempt that made it.
    pub attempt: AttemptId,
    /// The request that made it.
    pub operation: OperationId,
    /// Its parents.
    pub parents: Vec<CommitId>,
    /// Who asked.
    pub actor: String,
    /// When it became visible, in microseconds since the Unix epoch on the committer's clock.
    pub at_unix_us: u64,
    /// The kind of writer.
    pub writer: WriterKind,
    /// The caller's message.
    pub message: Option<String>,
    /// Row counts per table.
    pub tables: Vec<TableSummary>,
    /// The manifest version that made it visible.
    pub manifest_version: u64,
}

/// State of one table at a branch's head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableStatus {
    /// The type's name.
    pub name: String,
    /// `node` or `edge`.
    pub kind: &'static str,
    /// Rows visible; none where the type was never loaded.
    pub rows: Option<u64>,
    /// The visible version; none where the type was never loaded.
    pub version: Option<u64>,
    /// Whether HEAD of the ref is the visible version. `false` is drift.
    pub head_is_pinned: bool,
    /// Why the table cannot be read; then nothing is known of its rows and its HEAD.
    pub unreadable: Option<String>,
}

/// One screen about a graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusReport {
    /// Where the graph is.
    pub root: String,
    /// The graph's identity.
    pub domain: IdentityDomain,
    /// What a binary must understand.
    pub stamp: FormatStamp,
    /// Hash of the accepted schema.
    pub schema: SchemaHash,
    /// The branch that is reported.
    pub branch: String,
    /// Its head commit.
    pub head: Option<CommitId>,
    /// The newest manifest version.
    pub manifest_version: u64,
    /// Its tables, by name.
    pub tables: Vec<TableStatus>,
    /// Pending intents, in attempt order.
    pub pending: Vec<PendingAge>,
    /// Objects among the records that cannot be understood. Each of them stops every write to the
    /// branch.
    pub blocking: Vec<BlockingObject>,
    /// Objects in the graph's directory that nothing names, with what they are.
    pub garbage: Vec<Finding>,
    /// The branches of the graph.
    pub branches: BranchCounts,
    /// What deleted branches and creations that were given up have left for maintenance.
    pub waiting: Vec<Waiting>,
    /// Records of attempts on branches that are deleted. They stop nobody.
    pub orphans: u64,
    /// What this process has done with the graph.
    pub activity: Activity,
}

impl StatusReport {
    /// Age of the oldest pending intent whose record can be read, in milliseconds.
    pub fn pending_age_ms_max(&self) -> Option<u64> {
        self.pending.iter().filter_map(|pending| pending.age_ms).max()
    }
}

/// The branches of a graph, counted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BranchCounts {
    /// Those that live, main among them.
    pub live: u64,
    /// Names that are being made, or whose maker died.
    pub creating: u64,
    /// Names whose meaning is not known.
    pub unusable: u64,
    /// The newest of those that live, newest first, a few at most; main is not among them.
    pub newest: Vec<NewBranch>,
}

/// A branch, as a list of the newest shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewBranch {
    /// Its name.
    pub name: String,
    /// Number of the record that made it live.
    pub incarnation: u64,
    /// What it was made of.
    pub source: String,
    /// Its head commit; none where it has none, or cannot be read.
    pub head: Option<CommitId>,
    /// How long ago it was decided, in milliseconds, by the clock of whoever decided. For display.
    pub age_ms: u64,
}

/// A pending intent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PendingAge {
    /// Its attempt.
    pub attempt: AttemptId,
    /// How long ago it was armed, in milliseconds; none where its record cannot be read. The arming
    /// process's clock is compared with this one's, so it is as wrong as they differ, and 0 where it
    /// would be negative. Nothing is decided by it: recovery goes by the last sign of progress.
    pub age_ms: Option<u64>,
}

/// Something that `verify` noticed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// Stable code, one of [`FINDINGS`](crate::FINDINGS).
    pub code: &'static str,
    /// The object, table or row.
    pub place: String,
    /// What was found.
    pub message: String,
    /// What to do about it.
    pub remedy: &'static str,
}

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Expected residue: explained, harmless, collected by maintenance.
    Note,
    /// The graph is not as it should be.
    Fault,
}

/// A kind of finding: what each of them says, whatever the place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FindingKind {
    /// How bad it is.
    pub severity: Severity,
    /// Stable code.
    pub code: &'static str,
    /// What it means.
    pub meaning: &'static str,
    /// What to do about it.
    pub remedy: &'static str,
}

impl FindingKind {
    /// A finding of this kind.
    pub(crate) fn at(&self, place: impl Into<String>, message: impl Into<String>) -> Finding {
        let (place, message) = (place.into(), message.into());
        let Self { severity, code, remedy, .. } = *self;
        Finding { severity, code, place, message, remedy }
    }
}

/// What is left of deleted branches and of creations that were given up, of one kind: no live branch
/// needs it, and maintenance will remove it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waiting {
    /// What they are, in words.
    pub what: &'static str,
    /// How many.
    pub count: u64,
    /// The objects that they consist of.
    pub objects: u64,
    /// The bytes of those.
    pub bytes: u64,
}

/// Objects below the graph's root that are the same kind of thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectGroup {
    /// What they are; a stable name.
    pub kind: &'static str,
    /// How many.
    pub count: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// The result of `verify`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct VerifyReport {
    /// Live branches checked, main among them.
    pub branches: u64,
    /// Tables opened and read.
    pub tables: u64,
    /// Rows checked.
    pub rows: u64,
    /// Commits checked.
    pub commits: u64,
    /// Versions of tables and of the manifest whose origin was checked.
    pub versions: u64,
    /// Pending intents met.
    pub pending: u64,
    /// Every object below the root, by what it is.
    pub objects: Vec<ObjectGroup>,
    /// What was noticed: faults first.
    pub findings: Vec<Finding>,
}

impl VerifyReport {
    /// Whether nothing is wrong.
    pub fn is_clean(&self) -> bool {
        self.findings.iter().all(|finding| finding.severity == Severity::Note)
    }
}
