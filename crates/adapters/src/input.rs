//! The input of a load: JSON lines, CSV, Parquet or record batches, decoded into typed columns with
//! the place of every row. It must not know what the graph holds.

pub(crate) mod assembly;
pub(crate) mod batch;
mod builder;
mod calendar;
pub(crate) mod cells;
mod csv_records;
mod csv_rows;
mod error;
pub(crate) mod held;
pub(crate) mod json;
pub(crate) mod limits;
mod lines;
mod lossless;
pub(crate) mod naming;
mod parquet_rows;
pub(crate) mod parts;
mod source;
mod spill;
pub(crate) mod spot;
pub(crate) mod suggest;
pub(crate) mod table;
pub(crate) mod violation;
pub(crate) mod within;

#[cfg(test)]
mod source_tests;
#[cfg(test)]
mod tests;

pub use builder::InputBuilder;
pub use error::InputError;
pub use limits::{LimitExceeded, LoadLimits};
pub use source::{DataForm, Source, SourceData, SourceError, SourceErrorKind, UnknownForm};
pub use spill::{RowsError, TempError};
pub use table::{LoadInput, TableInput};
pub use violation::{Place, Rule, SourceName, Violation, Violations};

pub(crate) use calendar::{format_date, format_datetime};
pub(crate) use held::Held;
pub(crate) use json::write_string;
pub(crate) use parts::Parts;
pub(crate) use spill::Spill;
pub(crate) use table::{end_of_column, identity_column, row_key_text};
pub(crate) use violation::{Earliest, Faults, quoted};
