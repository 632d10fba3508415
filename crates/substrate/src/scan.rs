//! Reading rows of a table: projection, key filters, chosen fragments. It owns the translation of
//! our small filter language into the engine's; it must not know what a key means.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::SchemaRef;
use futures::stream::BoxStream;
use futures::{Stream, StreamExt, TryStreamExt};
use lance::dataset::scanner::Scanner;
use lance::deps::datafusion::common::{Column, ScalarValue};
use lance::deps::datafusion::logical_expr::{Expr, lit};
use lance::io::RecordBatchStream;

use crate::error::is_of_storage;
use crate::unwinding::{whole, whole_stream};
use crate::{Cause, Predicate, PredicateError, SubstrateError, TableHandle};

/// A condition on rows.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum RowFilter {
    /// The column's value is one of `values`. Nulls match nothing, on either side.
    In {
        /// A top-level column.
        column: String,
        /// Values of the column's type, or of one that casts to it without loss.
        values: ArrayRef,
    },
    /// All conditions hold; true of every row when there is none.
    All(Vec<RowFilter>),
    /// At least one condition holds; true of no row when there is none.
    Any(Vec<RowFilter>),
    /// The predicate, parsed for the columns of this table, matches.
    Holds(Predicate),
}

impl RowFilter {
    fn predicates(&self) -> Vec<Predicate> {
        match self {
            Self::In { .. } => Vec::new(),
            Self::All(parts) | Self::Any(parts) => {
                parts.iter().flat_map(Self::predicates).collect()
            }
            Self::Holds(predicate) => vec![predicate.clone()],
        }
    }
}

/// What to read.
#[derive(Debug, Clone, Default)]
pub struct ScanRequest {
    /// The columns, in this order; all when none are named.
    pub columns: Option<Vec<String>>,
    /// The rows; all when there is no filter.
    pub filter: Option<RowFilter>,
    /// Only these fragments, in this order.
    pub fragments: Option<Vec<u64>>,
    /// Adds the column [`ROW_ADDRESS`](crate::ROW_ADDRESS): fragment id and offset, true of this version only.
    pub with_row_address: bool,
    /// Rows per batch at most; the engine's choice when not given.
    pub batch_rows: Option<usize>,
}

/// Record batches of one schema, as they come.
pub struct BatchStream {
    schema: SchemaRef,
    batches: BoxStream<'static, Result<RecordBatch, SubstrateError>>,
}

impl BatchStream {
    /// The stream of `batches`, which all have `schema`.
    pub fn new(
        schema: SchemaRef,
        batches: impl Stream<Item = Result<RecordBatch, SubstrateError>> + Send + 'static,
    ) -> Self {
        Self { schema, batches: batches.boxed() }
    }

    /// The stream of batches that are there already.
    pub fn of(schema: SchemaRef, batches: Vec<RecordBatch>) -> Self {
        Self::new(schema, futures::stream::iter(batches.into_iter().map(Ok)))
    }

    /// The schema of the batches.
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// All batches.
    pub async fn collect_all(self) -> Result<Vec<RecordBatch>, SubstrateError> {
        self.batches.try_collect().await
    }
}

impl Stream for BatchStream {
    type Item = Result<RecordBatch, SubstrateError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.batches.poll_next_unpin(cx)
    }
}

impl std::fmt::Debug for BatchStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BatchStream").field("schema", &self.schema).finish()
    }
}

impl TableHandle {
    /// Reads rows in the order of their fragments.
    ///
    /// # Errors
    ///
    /// [`SubstrateError::InvalidRequest`] for a column, a type or a fragment that the table does
    /// not have; the stream itself may fail later, with [`SubstrateError::Predicate`] if a
    /// predicate has no answer for a row.
    pub async fn scan(&self, request: ScanRequest) -> Result<BatchStream, SubstrateError> {
        let predicates = request.filter.as_ref().map(RowFilter::predicates).unwrap_or_default();
        let scanner = self.scanner(request)?;
        let stream = match whole(Box::pin(scanner.try_into_stream())).await {
            Ok(stream) => stream,
            Err(error) => return Err(self.scan_error("planning a scan", error, &predicates).await),
        };
        let (schema, table) = (stream.schema(), self.clone());
        let scanned = Arc::new((table, predicates));
        let batches = whole_stream(stream).then(move |batch| {
            let scanned = Arc::clone(&scanned);
            async move {
                let (table, predicates) = scanned.as_ref();
                match batch.and_then(valid) {
                    Ok(batch) => Ok(batch),
                    Err(error) => Err(table.scan_error("a scan", error, predicates).await),
                }
            }
        });
        Ok(BatchStream::new(schema, batches))
    }

    /// The engine does not say in a type that a file is gone, or that a predicate has no answer
    /// for a row; the storage and the predicate do.
    async fn scan_error(
        &self,
        operation: &'static str,
        error: lance::Error,
        predicates: &[Predicate],
    ) -> SubstrateError {
        let of_storage = is_of_storage(&error);
        let error = match (self.engine(operation, error), self.missing_files().await) {
            (SubstrateError::Engine { operation, path, cause }, Ok(missing))
                if !missing.is_empty() =>
            {
                return SubstrateError::Damaged { operation, path, cause };
            }
            (error, _) => error,
        };
        for predicate in predicates {
            if let (false, Err(failed)) = (of_storage, Box::pin(self.answers(predicate)).await) {
                return failed.into();
            }
        }
        error
    }

    /// Whether a predicate has an answer for every row, as far as the rows can be read.
    async fn answers(&self, predicate: &Predicate) -> Result<(), PredicateError> {
        let columns: Vec<&str> = predicate.columns().iter().map(String::as_str).collect();
        let mut scanner = self.dataset().scan();
        let stream = match scanner.project(&columns) {
            Ok(scanner) => whole(Box::pin(scanner.try_into_stream())).await,
            Err(error) => Err(error),
        };
        let Ok(stream) = stream else { return Ok(()) };
        let mut stream = std::pin::pin!(whole_stream(stream));
        while let Some(Ok(batch)) = stream.next().await {
            predicate.matches(&batch)?;
        }
        Ok(())
    }

    fn scanner(&self, request: ScanRequest) -> Result<Scanner, SubstrateError> {
        let mut scanner = self.dataset().scan();
        scanner.scan_in_order(true);
        if let Some(columns) = &request.columns {
            columns.iter().try_for_each(|column| self.require_column(column))?;
            let projected = scanner.project(columns);
            projected.map_err(|error| self.engine("projecting", error))?;
        }
        if let Some(filter) = request.filter {
            scanner.filter_expr(self.expression(filter)?);
        }
        if let Some(fragments) = request.fragments {
            scanner.with_fragments(self.chosen_fragments(&fragments)?);
        }
        if request.with_row_address {
            scanner.with_row_address();
        }
        if let Some(rows) = request.batch_rows {
            scanner.batch_size(rows);
        }
        Ok(scanner)
    }

    pub(crate) fn require_column(&self, column: &str) -> Result<(), SubstrateError> {
        let found = self.dataset().schema().fields.iter().any(|field| field.name == column);
        let missing = || SubstrateError::invalid(self.path(), format!("no column `{column}`"));
        found.then_some(()).ok_or_else(missing)
    }

    fn chosen_fragments(
        &self,
        ids: &[u64],
    ) -> Result<Vec<lance_table::format::Fragment>, SubstrateError> {
        let find = |id: &u64| {
            let found = self.dataset().fragments().iter().find(|fragment| fragment.id == *id);
            found.cloned().ok_or_else(|| {
                SubstrateError::invalid(self.path(), format!("no fragment {id} in this version"))
            })
        };
        ids.iter().map(find).collect()
    }

    /// The engine's expression of a filter. Values travel as typed literals, never as text, so
    /// that no value can be anything but a value.
    pub(crate) fn expression(&self, filter: RowFilter) -> Result<Expr, SubstrateError> {
        let each = |parts: Vec<RowFilter>| {
            parts.into_iter().map(|part| self.expression(part)).collect::<Result<Vec<_>, _>>()
        };
        match filter {
            RowFilter::In { column, values } => self.membership(&column, &values),
            RowFilter::All(parts) => Ok(balanced(each(parts)?, Expr::and, lit(true))),
            RowFilter::Any(parts) => Ok(balanced(each(parts)?, Expr::or, lit(false))),
            RowFilter::Holds(predicate) => self.condition(&predicate),
        }
    }

    fn condition(&self, predicate: &Predicate) -> Result<Expr, SubstrateError> {
        let schema = self.schema();
        for named in predicate.schema().fields() {
            let found = schema.field_with_name(named.name());
            if !found.is_ok_and(|field| field.data_type() == named.data_type()) {
                let reason = format!("no column `{}` of the predicate's type", named.name());
                return Err(SubstrateError::invalid(self.path(), reason));
            }
        }
        Ok(predicate.expression().clone())
    }

    fn membership(&self, column: &str, values: &ArrayRef) -> Result<Expr, SubstrateError> {
        self.require_column(column)?;
        let invalid = |cause: Cause| {
            SubstrateError::invalid(self.path(), format!("values for column `{column}`: {cause}"))
        };
        let schema = self.schema();
        let field = schema.field_with_name(column).map_err(|error| invalid(error.into()))?;
        let values = cast_exactly(values, field.data_type()).map_err(invalid)?;
        let literal = |index| {
            let value = ScalarValue::try_from_array(&values, index);
            value.map(|value| Expr::Literal(value, None)).map_err(|error| invalid(error.into()))
        };
        let present = (0..values.len()).filter(|index| values.is_valid(*index));
        let literals: Vec<Expr> = present.map(literal).collect::<Result<_, _>>()?;
        if literals.is_empty() {
            return Ok(lit(false));
        }
        Ok(Expr::Column(Column::new_unqualified(column)).in_list(literals, false))
    }
}

/// The engine builds arrays out of what a file says without a look at it: offsets that lead out of
/// their buffer and text that is none would be met by whoever uses them.
fn valid(batch: RecordBatch) -> lance::Result<RecordBatch> {
    let validated = batch.columns().iter().try_for_each(|column| column.to_data().validate_full());
    validated.map_err(|error| lance::Error::corrupt_file_named("file", error.to_string()))?;
    Ok(batch)
}

/// Joins expressions as a balanced tree: thousands of composite keys would overflow the stack of
/// the planner if they were a list.
fn balanced(mut parts: Vec<Expr>, join: fn(Expr, Expr) -> Expr, empty: Expr) -> Expr {
    while parts.len() > 1 {
        let mut pairs = parts.into_iter();
        parts = std::iter::from_fn(|| pairs.next().map(|left| (left, pairs.next())))
            .map(|(left, right)| match right {
                Some(right) => join(left, right),
                None => left,
            })
            .collect();
    }
    parts.pop().unwrap_or(empty)
}

/// A cast that would change or drop a value is an error, not a null.
fn cast_exactly(values: &ArrayRef, to: &arrow_schema::DataType) -> Result<ArrayRef, Cause> {
    if values.data_type() == to {
        return Ok(Arc::clone(values));
    }
    let options = arrow_cast::CastOptions { safe: false, ..Default::default() };
    Ok(arrow_cast::cast_with_options(values, to, &options)?)
}
