//! Answers. An outcome is data, an error is a fault; both say apart whether the request may be
//! sent again and whether it had no effect (design 01 section 10).

use serde::{Deserialize, Serialize};

use crate::{AttemptId, BranchToken, CommitId, OperationId, OwnerRecord, TableSummary, WriterKind};

/// The two questions that a caller asks of everything that is not a success.
pub trait Answer {
    /// Stable code, for scripts.
    fn code(&self) -> &'static str;

    /// Whether sending the same request again, unchanged, is safe and may succeed.
    fn may_retry(&self) -> bool;

    /// Whether the graph is proven to be as it was. `false` means "not proven".
    fn had_no_effect(&self) -> bool;

    /// What to do next.
    fn help(&self) -> String;
}

/// What a write did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// The caller's request.
    pub operation: OperationId,
    /// The attempt that committed; the first attempt for a request that changed nothing.
    pub attempt: AttemptId,
    /// The branch's incarnation, the scope of `operation`.
    pub branch: BranchToken,
    /// The commit; for a request that changed nothing, the head it was checked against.
    pub commit: Option<CommitId>,
    /// The manifest version that made it visible, or that was read.
    pub manifest_version: u64,
    /// The adapter.
    pub writer: WriterKind,
    /// Row counts.
    pub tables: Vec<TableSummary>,
    /// How often the request was prepared again after a conflict before effects.
    pub restarts: u32,
    /// Earlier attempts that the request found unfinished and ended, in attempt order.
    pub recovered: Vec<Recovered>,
}

/// An earlier attempt that a request ended before it could go on (RFC 4.1).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recovered {
    /// The attempt.
    pub attempt: AttemptId,
    /// Its request; none where the attempt left no row that names it.
    pub operation: Option<OperationId>,
    /// How it ended.
    pub how: RecoveredHow,
}

/// How an earlier attempt was ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RecoveredHow {
    /// All of it was there: its commit was made visible.
    RolledForward,
    /// It was closed for ever and taken back.
    RolledBack,
    /// Its commit was visible already; only its records were left.
    Finalized,
    /// It had changed nothing that anybody sees and can change nothing; its records are deleted.
    Retired,
}

impl RecoveredHow {
    /// Stable name, for scripts.
    pub fn name(self) -> &'static str {
        match self {
            Self::RolledForward => "rolled_forward",
            Self::RolledBack => "rolled_back",
            Self::Finalized => "finalized",
            Self::Retired => "retired",
        }
    }
}

/// Why a request was refused although it is well formed: something else came first.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Conflict {
    /// A strict insert met a key that is there.
    KeyExists {
        /// The type's name.
        table: String,
        /// The key, as text.
        key: String,
        /// Where in the input, e.g. `line 12`.
        place: Option<String>,
        /// How many keys of the request are there already.
        total: u64,
    },
    /// An update named a key that is not there.
    KeyMissing {
        /// The type's name.
        table: String,
        /// The key, as text.
        key: String,
        /// Where in the input, e.g. `statement 3`.
        place: Option<String>,
        /// How many keys of the request are not there.
        total: u64,
    },
    /// The caller's expected head is not the head.
    ExpectedHead {
        /// What the caller expected.
        expected: Option<CommitId>,
        /// The branch's head.
        actual: Option<CommitId>,
    },
    /// The operation id was used for another request.
    OperationReused {
        /// The commit that carries the id.
        commit: CommitId,
    },
    /// The operation was sealed: no attempt of it will ever commit (design 01 section 5).
    OperationSealed {
        /// Why, in the words of whoever sealed it.
        reason: String,
    },
    /// Two branches contradict each other. The report of the merge has every conflict.
    Merge {
        /// Keys whose rows both have changed differently, where no strategy decides about them.
        rows: u64,
        /// Constraints that both together break.
        constraints: u64,
        /// Whether they have different schemas; then no row was compared.
        schema: bool,
        /// The first one that is listed.
        first: Option<String>,
    },
    /// Others kept changing what the request depends on.
    RetriesExhausted {
        /// How many attempts were made.
        attempts: u32,
        /// What stood in the way last.
        last: String,
    },
}

/// An intent that could not be resolved in place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unresolved {
    /// The attempt that left it.
    pub attempt: AttemptId,
    /// Its request, where the record can be read.
    pub operation: Option<OperationId>,
    /// The table at fault, where one is.
    pub table: Option<String>,
    /// Why it cannot be resolved.
    pub reason: String,
}

/// An intent of an owner that may be alive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contention {
    /// The attempt that is in the way.
    pub attempt: AttemptId,
    /// Its request.
    pub operation: OperationId,
    /// Who armed it.
    pub owner: OwnerRecord,
    /// Age of the last sign of progress, in milliseconds.
    pub age_ms: u64,
    /// When to try again, in milliseconds from now.
    pub retry_after_ms: u64,
}

/// The outcome of a write request.
#[must_use = "the outcome says whether the write happened"]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WriteOutcome {
    /// The commit is visible.
    Committed(Receipt),
    /// The graph already said what the request says; nothing was published.
    NoChange(Receipt),
    /// Something else came first; the graph is as it was for this request.
    Conflict(Conflict),
    /// An earlier write must be resolved first and cannot be, here and now.
    RecoveryRequired(Unresolved),
    /// An earlier write may still be running.
    Contended(Contention),
    /// Whether the commit happened could not be established.
    OutcomeUnknown(Unknown),
    /// The branch was deleted; nothing is acknowledged on it.
    BranchDeleted(BranchDeleted),
}

/// A request to an incarnation of a branch that is deleted (design 01 section 5, G).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BranchDeleted {
    /// The caller's request.
    pub operation: OperationId,
    /// The incarnation.
    pub branch: BranchToken,
    /// The commit that landed on it before the deletion was seen. Nobody can reach it by the branch's
    /// name, but a branch that was forked meanwhile may hold it.
    pub landed: Option<CommitId>,
}

/// A request whose fate could not be established; the next barrier settles it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unknown {
    /// The caller's request.
    pub operation: OperationId,
    /// The attempt whose fate is open.
    pub attempt: AttemptId,
    /// The branch's incarnation, the scope of `operation`.
    pub branch: BranchToken,
    /// Whether the caller chose `operation`. Then the same request carries the same id, and sending
    /// it again cannot apply it twice; an id that was minted for the call is another one next time.
    pub is_callers_id: bool,
    /// What stood in the way.
    pub cause: String,
}

impl Answer for WriteOutcome {
    fn code(&self) -> &'static str {
        match self {
            Self::Committed(_) => "committed",
            Self::NoChange(_) => "no_change",
            Self::Conflict(conflict) => conflict.code(),
            Self::RecoveryRequired(_) => "recovery_required",
            Self::Contended(_) => "contended",
            Self::OutcomeUnknown(_) => "outcome_unknown",
            Self::BranchDeleted(_) => "branch_deleted",
        }
    }

    fn may_retry(&self) -> bool {
        match self {
            Self::Conflict(conflict) => conflict.may_retry(),
            Self::Contended(_) => true,
            Self::OutcomeUnknown(unknown) => unknown.is_callers_id,
            Self::Committed(_)
            | Self::NoChange(_)
            | Self::RecoveryRequired(_)
            | Self::BranchDeleted(_) => false,
        }
    }

    fn had_no_effect(&self) -> bool {
        match self {
            Self::Committed(_) | Self::OutcomeUnknown(_) => false,
            Self::BranchDeleted(deleted) => deleted.landed.is_none(),
            _ => true,
        }
    }

    fn help(&self) -> String {
        match self {
            Self::Committed(_) | Self::NoChange(_) => "nothing is left to do".into(),
            Self::Conflict(conflict) => conflict.help(),
            Self::RecoveryRequired(unresolved) => {
                format!("see `graphwrite intent explain <graph> {}`", unresolved.attempt)
            }
            Self::Contended(contention) => format!(
                "try again in {} ms, or, if its owner is dead, run `graphwrite intent resolve \
                 <graph> {} --full --owner-is-dead`",
                contention.retry_after_ms, contention.attempt
            ),
            Self::OutcomeUnknown(Unknown { operation, is_callers_id: true, .. }) => format!(
                "send the request again under the same operation id, which cannot apply it twice, or \
                 ask `graphwrite outcome <graph> {operation}`"
            ),
            Self::BranchDeleted(_) => {
                "nothing of it can be read by the branch's name; `graphwrite branch list <graph>` lists \
                 the branches"
                    .into()
            }
            Self::OutcomeUnknown(Unknown { operation, .. }) => format!(
                "ask `graphwrite outcome <graph> {operation}`; to send the request again, send it \
                 with `--operation-id {operation}`, or it may be applied twice"
            ),
        }
    }
}

impl Answer for Conflict {
    fn code(&self) -> &'static str {
        match self {
            Self::KeyExists { .. } => "key_conflict",
            Self::KeyMissing { .. } => "key_missing",
            Self::ExpectedHead { .. } => "expected_head",
            Self::OperationReused { .. } => "operation_reused",
            Self::OperationSealed { .. } => "operation_sealed",
            Self::Merge { .. } => "merge_conflict",
            Self::RetriesExhausted { .. } => "retries_exhausted",
        }
    }

    fn may_retry(&self) -> bool {
        matches!(self, Self::RetriesExhausted { .. })
    }

    fn had_no_effect(&self) -> bool {
        true
    }

    fn help(&self) -> String {
        match self {
            Self::KeyExists { .. } => {
                "the graph is unchanged; use an upsert to replace rows that exist".into()
            }
            Self::KeyMissing { .. } => {
                "the graph is unchanged; use an upsert to add rows that do not exist".into()
            }
            Self::ExpectedHead { .. } => {
                "the graph is unchanged; read the new head, decide again, and send the request with it"
                    .into()
            }
            Self::OperationReused { .. } => {
                "the graph is unchanged; choose another operation id for another request".into()
            }
            Self::OperationSealed { .. } => {
                "the graph is unchanged by this request; if it is to be carried out after all, send it \
                 under another operation id"
                    .into()
            }
            Self::Merge { schema: true, .. } => {
                "the graph is unchanged; give both branches the same schema, then merge again".into()
            }
            Self::Merge { constraints: 1.., .. } => {
                "the graph is unchanged; no strategy decides about constraints: change one of the branches, \
                 then merge again"
                    .into()
            }
            Self::Merge { .. } => {
                "the graph is unchanged; decide about the rows with `--strategy ours` or `--strategy \
                 theirs`, or change one of the branches, then merge again"
                    .into()
            }
            Self::RetriesExhausted { .. } => {
                "the graph is unchanged by this request; send it again".into()
            }
        }
    }
}

impl std::fmt::Display for Conflict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::KeyExists { table, key, place, total } => {
                write!(f, "key `{key}` is already in {table}")?;
                at_place(f, place)?;
                if *total > 1 { write!(f, "; {total} keys of the request are") } else { Ok(()) }
            }
            Self::KeyMissing { table, key, place, total } => {
                write!(f, "key `{key}` is not in {table}")?;
                at_place(f, place)?;
                if *total > 1 { write!(f, "; {total} keys of the request are not") } else { Ok(()) }
            }
            Self::ExpectedHead { expected, actual } => write!(
                f,
                "the branch head is {}, not {} as expected",
                head_name(*actual),
                head_name(*expected)
            ),
            Self::OperationReused { commit } => {
                write!(f, "the operation id was used for another request, commit {commit}")
            }
            Self::OperationSealed { reason } => {
                write!(f, "the operation was sealed and will never commit: {reason}")
            }
            Self::Merge { schema: true, .. } => f.write_str("the branches have different schemas"),
            Self::Merge { rows, constraints, first, .. } => {
                f.write_str("the branches contradict each other: ")?;
                let rows =
                    counted(*rows, "row that both have changed", "rows that both have changed");
                let broken = counted(*constraints, "broken constraint", "broken constraints");
                let parts: Vec<_> = [rows, broken].into_iter().flatten().collect();
                f.write_str(&parts.join(", "))?;
                first.as_ref().map_or(Ok(()), |first| write!(f, "; first: {first}"))
            }
            Self::RetriesExhausted { attempts, last } => {
                write!(f, "gave up after {attempts} attempts: {last}")
            }
        }
    }
}

fn counted(count: u64, one: &str, many: &str) -> Option<String> {
    (count > 0).then(|| format!("{count} {}", if count == 1 { one } else { many }))
}

fn at_place(f: &mut std::fmt::Formatter<'_>, place: &Option<String>) -> std::fmt::Result {
    place.as_ref().map_or(Ok(()), |place| write!(f, " ({place})"))
}

fn head_name(head: Option<CommitId>) -> String {
    head.map_or_else(|| "empty".to_owned(), |commit| commit.to_string())
}
