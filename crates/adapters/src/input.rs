//! The input of a load: JSON lines or record batches, decoded into typed columns with the place of
//! every row. It must not know what the graph holds.

pub(crate) mod assembly;
pub(crate) mod batch;
mod builder;
mod calendar;
pub(crate) mod cells;
pub(crate) mod json;
pub(crate) mod limits;
pub(crate) mod naming;
pub(crate) mod suggest;
pub(crate) mod table;
pub(crate) mod violation;
pub(crate) mod within;

#[cfg(test)]
mod tests;

pub use builder::{InputBuilder, InputError};
pub use limits::{LimitExceeded, LoadLimits};
pub use table::{LoadInput, TableInput};
pub use violation::{Place, Rule, Violation, Violations};

pub(crate) use calendar::{format_date, format_datetime};
pub(crate) use json::write_string;
pub(crate) use table::{identity_column, row_key_text};
pub(crate) use violation::{Faults, quoted};
