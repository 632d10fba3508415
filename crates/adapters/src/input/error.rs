//! Why an input cannot be used. It decides nothing.

use arrow_schema::ArrowError;
use thiserror::Error;

use super::limits::LimitExceeded;
use super::source::SourceError;
use super::spill::{RowsError, TempError};
use super::violation::Violations;

/// The input of a load cannot be used; nothing was written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum InputError {
    /// Rows break rules.
    #[error(transparent)]
    Invalid(#[from] Violations),
    /// There is more than the limits allow.
    #[error(transparent)]
    Limit(#[from] LimitExceeded),
    /// A file or stream cannot be read as what it is said to be.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The temporary file cannot be used.
    #[error(transparent)]
    Temp(#[from] TempError),
    /// The columns could not be built; a fault of ours.
    #[error("the rows could not be built into columns: {0}")]
    Columns(#[from] ArrowError),
}

impl From<RowsError> for InputError {
    fn from(error: RowsError) -> Self {
        match error {
            RowsError::Temp(error) => Self::Temp(error),
            RowsError::Columns(error) => Self::Columns(error),
        }
    }
}
