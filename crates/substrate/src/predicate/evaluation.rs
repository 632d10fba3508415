//! The compiled form of a predicate, over the columns that it names and no others.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;
use lance::deps::datafusion::logical_expr::Expr;
use lance::deps::datafusion::physical_plan::PhysicalExpr;
use lance_datafusion::planner::Planner;

use super::PredicateError;
use crate::Cause;

pub(super) struct Evaluation {
    schema: SchemaRef,
    compiled: Arc<dyn PhysicalExpr>,
    text: String,
}

impl Evaluation {
    pub(super) fn over(
        schema: SchemaRef,
        expression: &Expr,
        text: &str,
    ) -> Result<Self, PredicateError> {
        let planner = Planner::new(Arc::clone(&schema));
        let compiled = planner.create_physical_expr(expression).map_err(PredicateError::engine)?;
        Ok(Self { schema, compiled, text: text.to_owned() })
    }

    pub(super) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    pub(super) fn matches(&self, rows: &RecordBatch) -> Result<BooleanArray, PredicateError> {
        let named = self.named(rows)?;
        let value = caught(|| {
            let value = self.compiled.evaluate(&named)?;
            value.into_array(rows.num_rows())
        });
        let value = value.map_err(|cause| self.failed(cause))?;
        let truths = value.as_boolean_opt().ok_or_else(|| self.failed("not a condition"))?;
        Ok(match truths.nulls() {
            Some(present) => BooleanArray::new(truths.values() & present.inner(), None),
            None => truths.clone(),
        })
    }

    fn failed(&self, cause: impl Into<Cause>) -> PredicateError {
        PredicateError::Evaluation { text: self.text.clone(), cause: cause.into() }
    }

    /// The rows with the named columns alone, in the order for which the expression was compiled.
    fn named(&self, rows: &RecordBatch) -> Result<RecordBatch, PredicateError> {
        let other = |reason: String| PredicateError::OtherRows { reason };
        let column = |name: &String| {
            let found = rows.column_by_name(name).map(Arc::clone);
            found.ok_or_else(|| other(format!("there is no column `{name}`")))
        };
        let columns = self.schema.fields().iter().map(|field| column(field.name()));
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
        let named = RecordBatch::try_new_with_options(self.schema.clone(), columns, &options);
        named.map_err(|error| other(error.to_string()))
    }
}

/// A panic over what the engine did not expect is an answer too; nothing that it has touched is
/// used again.
fn caught<T, E: Into<Cause>>(engine: impl FnOnce() -> Result<T, E>) -> Result<T, Cause> {
    match catch_unwind(AssertUnwindSafe(engine)) {
        Ok(result) => result.map_err(Into::into),
        Err(panic) => Err(words(panic.as_ref()).into()),
    }
}

pub(super) fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "the engine stopped".to_owned())
}
