//! Batched reads of the base: each question is one scan of one table, however many rows ask it. It
//! opens the exact pinned versions of the base and nothing else; it judges nothing.

use std::collections::BTreeMap;

use arrow_array::{Array, ArrayRef};
use arrow_schema::ArrowError;
use futures::future::try_join_all;
use graphwrite_protocol_types::{BaseView, LiveHead, TableIdentity};
use graphwrite_substrate::{
    BatchStream, RowFilter, ScanRequest, Store, SubstrateError, TableHandle,
};

use crate::keys::RowIndex;

/// Up to so many values a scan is narrowed by naming them; beyond, reading the columns of the whole
/// table once costs less than planning so long a list.
pub(crate) const NAMED_VALUES_MAX: usize = 8_192;

/// The results of all futures: of all at once, or one after another where each needs much memory.
pub(crate) async fn all<F: Future<Output = Result<T, E>>, T, E>(
    futures: Vec<F>,
    at_once: bool,
) -> Result<Vec<T>, E> {
    if at_once {
        return try_join_all(futures).await;
    }
    let mut results = Vec::new();
    for future in futures {
        results.push(future.await?);
    }
    Ok(results)
}

/// The tables of one base, opened when they are first needed.
pub(crate) struct BaseTables<'a> {
    store: &'a Store,
    base: &'a BaseView,
    open: BTreeMap<TableIdentity, TableHandle>,
}

impl<'a> BaseTables<'a> {
    pub(crate) fn new(store: &'a Store, base: &'a BaseView) -> Self {
        Self { store, base, open: BTreeMap::new() }
    }

    /// Opens the live ones of `wanted`, all at once; a table without a live head has no rows.
    pub(crate) async fn open(
        &mut self,
        wanted: impl IntoIterator<Item = TableIdentity>,
    ) -> Result<(), SubstrateError> {
        let (store, base) = (self.store, self.base);
        let missing = wanted.into_iter().filter(|identity| !self.open.contains_key(identity));
        let heads = missing.filter_map(|identity| base.head(identity).live());
        let opened = heads.map(|head| async move {
            let path = head.path.as_str();
            let table = TableHandle::open_pin(store, path, &head.physical_ref, &head.pin).await?;
            Ok::<_, SubstrateError>((head.identity, table))
        });
        self.open.extend(Box::pin(try_join_all(opened)).await?);
        Ok(())
    }

    /// Takes a table that is open already, at its version of the base.
    pub(crate) fn hold(&mut self, identity: TableIdentity, table: Option<&TableHandle>) {
        self.open.extend(table.map(|table| (identity, table.clone())));
    }

    /// Where a table is; none without a live head.
    pub(crate) fn head(&self, identity: TableIdentity) -> Option<&LiveHead> {
        self.base.head(identity).live()
    }

    /// Whether the other base was judged by the same schema.
    pub(crate) fn has_schema_of(&self, other: &BaseTables<'_>) -> bool {
        self.base.schema == other.base.schema
    }

    /// An open table; none without a live head.
    pub(crate) fn get(&self, identity: TableIdentity) -> Option<&TableHandle> {
        self.open.get(&identity)
    }
}

/// Scans `columns` of `table`, and the address of each row, for at least the rows in which every
/// column of `values` has one of the values beside it. The caller compares again: a long list narrows
/// nothing.
pub(crate) async fn scan_matching(
    table: &TableHandle,
    columns: Vec<String>,
    values: Vec<(String, ArrayRef)>,
) -> Result<BatchStream, SubstrateError> {
    let conditions: Vec<_> =
        values.into_iter().filter_map(|(column, values)| one_of(column, values)).collect();
    let filter = (!conditions.is_empty()).then_some(RowFilter::All(conditions));
    scan(table, columns, filter).await
}

/// The condition that a column has one of these values; none for a list that narrows nothing.
pub(crate) fn one_of(column: String, values: ArrayRef) -> Option<RowFilter> {
    (values.len() <= NAMED_VALUES_MAX).then_some(RowFilter::In { column, values })
}

/// The values of an index over one column, for [`scan_matching`], where they are few enough to be
/// named.
pub(crate) fn named_values(
    column: &str,
    index: &RowIndex,
) -> Result<Vec<(String, ArrayRef)>, ArrowError> {
    if index.groups().take(NAMED_VALUES_MAX + 1).count() > NAMED_VALUES_MAX {
        return Ok(Vec::new());
    }
    Ok(index.distinct()?.into_iter().map(|values| (column.to_owned(), values)).collect())
}

/// Scans `columns` of all rows of `table`, and the address of each.
pub(crate) async fn scan_all(
    table: &TableHandle,
    columns: Vec<String>,
) -> Result<BatchStream, SubstrateError> {
    scan(table, columns, None).await
}

/// Scans `columns` of the rows of `table` that a filter holds for, and the address of each.
pub(crate) async fn scan(
    table: &TableHandle,
    columns: Vec<String>,
    filter: Option<RowFilter>,
) -> Result<BatchStream, SubstrateError> {
    let request = ScanRequest {
        columns: Some(columns),
        filter,
        with_row_address: true,
        ..ScanRequest::default()
    };
    Box::pin(table.scan(request)).await
}
