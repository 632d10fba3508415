//! Why a write could not be planned or performed. Nothing here is an outcome: conflicts are values.

use arrow_schema::ArrowError;
use graphwrite_protocol_types::{Answer, AttemptId, PlanInvalid, SchemaHash};
use graphwrite_substrate::SubstrateError;
use thiserror::Error;

use crate::MergeError;
use crate::input::{InputError, LimitExceeded, RowsError, SourceError, TempError, Violations};

/// A write could not be planned. No HEAD has moved; staged files that nothing names may be left.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PrepareError {
    /// Rows break rules.
    #[error(transparent)]
    Invalid(#[from] Violations),
    /// There is more than the limits allow.
    #[error(transparent)]
    Limit(#[from] LimitExceeded),
    /// A source of rows cannot be read as what it is said to be.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The temporary file of the request cannot be used.
    #[error(transparent)]
    Temp(#[from] TempError),
    /// The rows were decoded by another schema than the one that is accepted now.
    #[error(
        "the rows were decoded by schema {decoded}, but schema {accepted} is accepted now; read the input again"
    )]
    SchemaMoved {
        /// The schema of the rows.
        decoded: SchemaHash,
        /// The schema of the base.
        accepted: SchemaHash,
    },
    /// The base and the schema contradict each other about a type; a fault of ours.
    #[error("type {table} is in the schema, but the branch has no head for it")]
    Headless {
        /// The type.
        table: String,
    },
    /// The rows of two branches could not be merged.
    #[error(transparent)]
    Merge(#[from] MergeError),
    /// A table could not be read, or rows could not be staged.
    #[error(transparent)]
    Table(#[from] SubstrateError),
    /// Columns could not be compared or selected; a fault of ours.
    #[error("columns could not be compared or selected: {0}")]
    Columns(#[from] ArrowError),
    /// The plan contradicts itself; a fault of ours.
    #[error(transparent)]
    Plan(#[from] PlanInvalid),
}

impl From<InputError> for PrepareError {
    fn from(error: InputError) -> Self {
        match error {
            InputError::Invalid(violations) => Self::Invalid(violations),
            InputError::Limit(limit) => Self::Limit(limit),
            InputError::Source(source) => Self::Source(source),
            InputError::Temp(error) => Self::Temp(error),
            InputError::Columns(error) => Self::Columns(error),
        }
    }
}

impl From<RowsError> for PrepareError {
    fn from(error: RowsError) -> Self {
        match error {
            RowsError::Temp(error) => Self::Temp(error),
            RowsError::Columns(error) => Self::Columns(error),
        }
    }
}

impl Answer for PrepareError {
    fn code(&self) -> &'static str {
        match self {
            Self::Invalid(violations) => violations.code(),
            Self::Limit(limit) => limit.code(),
            Self::Source(source) => source.code(),
            Self::Temp(error) => error.code(),
            Self::SchemaMoved { .. } => "schema_moved",
            Self::Merge(error) => error.code(),
            Self::Table(error) => error.code(),
            Self::Headless { .. } | Self::Columns(_) | Self::Plan(_) => "internal",
        }
    }

    fn may_retry(&self) -> bool {
        match self {
            Self::Table(error) => error.may_retry(),
            Self::Merge(error) => error.may_retry(),
            Self::SchemaMoved { .. } | Self::Temp(_) => true,
            Self::Invalid(_)
            | Self::Limit(_)
            | Self::Source(_)
            | Self::Headless { .. }
            | Self::Columns(_)
            | Self::Plan(_) => false,
        }
    }

    fn had_no_effect(&self) -> bool {
        true
    }

    fn help(&self) -> String {
        match self {
            Self::Invalid(violations) => violations.help(),
            Self::Limit(limit) => limit.help(),
            Self::Source(source) => source.help(),
            Self::Temp(error) => error.help(),
            Self::SchemaMoved { .. } => "the graph is unchanged; send the request again".into(),
            Self::Table(error) => error.help(),
            Self::Merge(error) => error.help(),
            Self::Headless { .. } | Self::Columns(_) | Self::Plan(_) => {
                "the graph is unchanged; this is a defect of graphwrite, please report it".into()
            }
        }
    }
}

/// A step of an effect could not be taken. This call has issued no commit.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PerformError {
    /// The permit belongs to another attempt; a fault of ours.
    #[error("the permit is of attempt {permit}, the effect of attempt {payload}")]
    OtherAttempt {
        /// The attempt that was armed.
        permit: AttemptId,
        /// The attempt that was prepared.
        payload: AttemptId,
    },
    /// The plan has fewer effects; a fault of ours.
    #[error("attempt {attempt} has no effect {effect}")]
    NoSuchEffect {
        /// The attempt.
        attempt: AttemptId,
        /// Index of the effect.
        effect: u32,
    },
    /// The table could not be committed to.
    #[error(transparent)]
    Table(#[from] SubstrateError),
}
