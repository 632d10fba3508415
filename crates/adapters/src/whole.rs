//! All rows of a graph judged together, as `verify` does: the same constraints as for a load, over a
//! base that has nothing else. It reads no table.

use graphwrite_protocol_types::{BaseView, TableHeadToken};
use graphwrite_schema::GraphSchema;
use graphwrite_substrate::Store;

use crate::input::LoadInput;
use crate::load::{Changes, LoadError};
use crate::probe::BaseTables;
use crate::validate::{PostImage, Review};

/// Judges the constraints between rows and between tables, when `rows` are all rows of the graph.
///
/// # Errors
/// [`LoadError::Invalid`] lists what is violated.
pub async fn check_graph(
    store: &Store,
    base: &BaseView,
    schema: &GraphSchema,
    rows: &LoadInput,
) -> Result<(), LoadError> {
    let mut nothing = base.clone();
    nothing.heads.values_mut().for_each(|head| *head = TableHeadToken::Absent);
    let changes: Vec<_> = rows.tables.iter().map(Changes::all_inserts).collect();
    let review = Review::of(PostImage { schema, input: rows, changes: &changes })?;
    let faults = Box::pin(review.faults(&BaseTables::new(store, &nothing))).await?;
    Ok(faults.into_result()?)
}
