//! The rows of `__manifest`: what each kind says and its bytes (docs/format.md). Decoding is total.
//! It must not know how rows are stored or which of them are current.

use graphwrite_protocol_types::{
    AttemptId, CommitId, OperationId, Position, SchemaHash, TableHeadToken, TableIdentity,
    TableSummary, Tip, WriterKind,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::outcome_row::OutcomeRow;
use crate::reach_row::ReachRow;

/// The row version of every kind. An `outcome` row that it cannot express has the next one.
pub const ROW_VERSION: u16 = 1;

pub(crate) const SCHEMA: &str = "schema";
pub(crate) const GRAPH_HEAD: &str = "graph_head";
pub(crate) const TABLE_HEAD: &str = "table_head";
pub(crate) const COMMIT: &str = "commit";
pub(crate) const OUTCOME: &str = "outcome";
pub(crate) const REACH: &str = "reach";

/// The key of the rows of which there is one.
const ONLY: &str = "";

/// The accepted schema.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SchemaRow {
    pub(crate) hash: SchemaHash,
    pub(crate) canonical: Vec<u8>,
}

/// The head commit of the branch; none before the first graph commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct GraphHeadRow {
    pub(crate) head: Option<HeadCommit>,
}

/// The head with its position, so that the next commit's follows without a look at older rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct HeadCommit {
    pub(crate) commit: CommitId,
    pub(crate) position: Position,
}

impl GraphHeadRow {
    pub(crate) fn commit(&self) -> Option<CommitId> {
        self.head.as_ref().map(|head| head.commit)
    }
}

/// The head of one declared table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TableHeadRow {
    pub(crate) identity: TableIdentity,
    pub(crate) head: TableHeadToken,
}

/// One commit of the graph, as its lineage records it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitRow {
    /// The commit.
    pub commit: CommitId,
    /// The manifest version that made it visible.
    pub manifest_version: u64,
    /// The commits that it was made of: the head before it, then, for a merge, what was merged. None for
    /// the first one.
    pub parents: Vec<CommitId>,
    /// The attempt that made it.
    pub attempt: AttemptId,
    /// The caller's request.
    pub operation: OperationId,
    /// Which adapter wrote.
    pub writer: WriterKind,
    /// Who asked.
    pub actor: String,
    /// The caller's message.
    pub message: Option<String>,
    /// What changed, per table.
    pub tables: Vec<TableSummary>,
    /// When it was published, in microseconds since the Unix epoch on the publisher's clock. For
    /// display only; a parent may be younger than its child.
    pub recorded_at_unix_us: u64,
    /// Where it stands among the commits.
    pub position: Position,
}

impl CommitRow {
    /// The commit by its place.
    pub fn tip(&self) -> Tip {
        self.position.tip(self.commit, self.manifest_version)
    }
}

/// A row with the version that first wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) version: u64,
    pub(crate) body: RowBody,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RowBody {
    Schema(SchemaRow),
    GraphHead(GraphHeadRow),
    TableHead(TableHeadRow),
    Commit(CommitRow),
    Outcome(OutcomeRow),
    Reach(ReachRow),
}

/// A row as the columns have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RawRow {
    pub(crate) kind: String,
    pub(crate) key: String,
    pub(crate) operation: Option<String>,
    pub(crate) version: u64,
    pub(crate) body: Vec<u8>,
}

/// A row does not say what a row of its kind says.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RowError {
    /// No kind of row that this build knows.
    #[error("there is a row of unknown kind `{kind}`")]
    Kind {
        /// The kind found.
        kind: String,
    },
    /// A form that this build does not read.
    #[error("row `{kind}` `{key}` has version {found}, which this build does not read")]
    Version {
        /// The row's kind.
        kind: String,
        /// The row's key.
        key: String,
        /// The version found.
        found: u16,
    },
    /// The body does not decode.
    #[error("the body of row `{kind}` `{key}` does not decode")]
    Body {
        /// The row's kind.
        kind: String,
        /// The row's key.
        key: String,
    },
    /// The columns, by which rows are found, disagree with the body.
    #[error("the columns of row `{kind}` `{key}` disagree with its body")]
    Columns {
        /// The row's kind.
        kind: String,
        /// The row's key.
        key: String,
    },
}

impl RowBody {
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Schema(_) => SCHEMA,
            Self::GraphHead(_) => GRAPH_HEAD,
            Self::TableHead(_) => TABLE_HEAD,
            Self::Commit(_) => COMMIT,
            Self::Outcome(_) => OUTCOME,
            Self::Reach(_) => REACH,
        }
    }

    pub(crate) fn key(&self) -> String {
        match self {
            Self::Schema(_) | Self::GraphHead(_) => ONLY.to_owned(),
            Self::TableHead(row) => row.identity.to_string(),
            Self::Commit(row) => row.commit.to_string(),
            Self::Outcome(row) => row.attempt.to_string(),
            Self::Reach(row) => row.key.to_string(),
        }
    }

    pub(crate) fn operation(&self) -> Option<&str> {
        match self {
            Self::Outcome(row) => Some(row.operation.as_str()),
            _ => None,
        }
    }

    /// The version inside the body, for the kinds that carry one.
    fn manifest_version(&self) -> Option<u64> {
        match self {
            Self::Commit(row) => Some(row.manifest_version),
            Self::Outcome(row) => Some(row.manifest_version),
            Self::Reach(row) => Some(row.manifest_version),
            _ => None,
        }
    }

    fn encode(&self) -> Result<Vec<u8>, postcard::Error> {
        match self {
            Self::Schema(row) => encode_body(row),
            Self::GraphHead(row) => encode_body(row),
            Self::TableHead(row) => encode_body(row),
            Self::Commit(row) => encode_body(row),
            Self::Outcome(row) => row.encode(),
            Self::Reach(row) => encode_body(row),
        }
    }

    fn decode(kind: &str, body: &[u8]) -> Result<Self, BodyFault> {
        match kind {
            SCHEMA => decode_body(body).map(Self::Schema),
            GRAPH_HEAD => decode_body(body).map(Self::GraphHead),
            TABLE_HEAD => decode_body(body).map(Self::TableHead),
            COMMIT => decode_body(body).map(Self::Commit),
            OUTCOME => decode_outcome(body).map(Self::Outcome),
            REACH => decode_body(body).map(Self::Reach),
            _ => Err(BodyFault::Kind),
        }
    }
}

enum BodyFault {
    Kind,
    Version(u16),
    Malformed,
}

fn encode_body<T: Serialize>(row: &T) -> Result<Vec<u8>, postcard::Error> {
    postcard::to_stdvec(&(ROW_VERSION, row))
}

fn version_of(bytes: &[u8]) -> Result<(u16, &[u8]), BodyFault> {
    postcard::take_from_bytes(bytes).map_err(|_| BodyFault::Malformed)
}

fn decode_outcome(bytes: &[u8]) -> Result<OutcomeRow, BodyFault> {
    let (version, rest) = version_of(bytes)?;
    let decoded = OutcomeRow::decode(version, rest).ok_or(BodyFault::Version(version))?;
    decoded.map_err(|_| BodyFault::Malformed)
}

fn decode_body<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, BodyFault> {
    let (version, rest) = version_of(bytes)?;
    if version != ROW_VERSION {
        return Err(BodyFault::Version(version));
    }
    match postcard::take_from_bytes::<T>(rest) {
        Ok((row, [])) => Ok(row),
        _ => Err(BodyFault::Malformed),
    }
}

impl Row {
    pub(crate) fn encode(&self) -> Result<RawRow, postcard::Error> {
        Ok(RawRow {
            kind: self.body.kind().to_owned(),
            key: self.body.key(),
            operation: self.body.operation().map(str::to_owned),
            version: self.version,
            body: self.body.encode()?,
        })
    }

    pub(crate) fn decode(raw: &RawRow) -> Result<Self, RowError> {
        let named = || (raw.kind.clone(), raw.key.clone());
        let body = RowBody::decode(&raw.kind, &raw.body).map_err(|fault| {
            let (kind, key) = named();
            match fault {
                BodyFault::Kind => RowError::Kind { kind },
                BodyFault::Version(found) => RowError::Version { kind, key, found },
                BodyFault::Malformed => RowError::Body { kind, key },
            }
        })?;
        let found_by = body.key() == raw.key
            && body.operation() == raw.operation.as_deref()
            && body.manifest_version().is_none_or(|version| version == raw.version);
        if found_by {
            return Ok(Self { version: raw.version, body });
        }
        let (kind, key) = named();
        Err(RowError::Columns { kind, key })
    }
}
