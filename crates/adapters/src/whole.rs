//! All rows of a graph judged together, as `verify` does: the same constraints as for a load, over a
//! base that has nothing else. It reads no table.

use graphwrite_protocol_types::{BaseView, TableHeadToken};
use graphwrite_schema::GraphSchema;
use graphwrite_substrate::Store;

use crate::change::{Changes, TableChange};
use crate::error::PrepareError;
use crate::input::LoadInput;
use crate::probe::BaseTables;
use crate::validate::{PostImage, Review};

/// Judges the constraints between rows and between tables, when `rows` are all rows of the graph.
///
/// # Errors
/// [`PrepareError::Invalid`] lists what is violated.
pub async fn check_graph(
    store: &Store,
    base: &BaseView,
    schema: &GraphSchema,
    rows: &LoadInput,
) -> Result<(), PrepareError> {
    let mut nothing = base.clone();
    nothing.heads.values_mut().for_each(|head| *head = TableHeadToken::Absent);
    let all = |rows| TableChange { rows, changes: Changes::all_inserts(rows) };
    let tables: Vec<_> = rows.tables.iter().map(all).collect();
    let review = Review::of(PostImage { schema, tables: &tables, errors_max: rows.errors_max })?;
    let faults = Box::pin(review.faults(&BaseTables::new(store, &nothing))).await?;
    Ok(faults.into_result()?)
}
