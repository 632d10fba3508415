//! Conditions on rows as text: parsed, typed and judged once, then evaluated on batches or pushed
//! into a scan, with one meaning. It must not know what becomes of the rows that match.

mod error;
mod evaluation;
mod grammar;
mod judge;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::thread;

use arrow_array::{BooleanArray, RecordBatch};
use arrow_schema::{Schema, SchemaRef};
use lance::deps::datafusion::logical_expr::Expr;
use lance_datafusion::planner::Planner;

pub use error::{PredicateError, TextPosition};

use evaluation::{Evaluation, words};

/// A condition on the rows of one table, written in SQL: one expression that is true, false or
/// null of each row, made of nothing but the row's own values. Clones share it.
///
/// * Names of columns are exact, case included. A name that is not a plain word stands in
///   backticks or double quotes: `` `Größe` > 3 ``. Text stands in single quotes: `name = 'Ada'`.
/// * Literals: numbers, `'text'`, `X'c0ffee'`, `true`, `false`, `null`, `[1, 2]`,
///   `date '2026-11-30'`, `timestamp '2026-11-30T12:00:00+01:00'` (in UTC without an offset). A
///   literal beside a column takes the column's type, and is refused if it does not fit; text never
///   becomes a date.
/// * Operators: `= <> < <= > >=`, `+ - * / %`, `||`, `<< >>`, `and or not`,
///   `is [not] null | true | false`, `is [not] distinct from`, `[not] in (..)`,
///   `[not] between .. and ..`, `[not] like` and `ilike`, `cast(.. as type)`, `try_cast`, and
///   `list[1]`, which counts from one.
/// * Functions that depend on their arguments alone, by their names in lower case: `lower`, `btrim`,
///   `starts_with`, `length`, `abs`, `date_part`, `array_has`, `regexp_like`, ..
///
/// Null is no match. Integers wrap around where they overflow, and NaN is greater than every other
/// number and equal to itself, as in the table engine. Both sides of `and` and `or` may be evaluated for every row, so that
/// `x <> 0 and 10 / x > 1` may fail over a row whose `x` is 0.
#[derive(Clone)]
pub struct Predicate(Arc<Parsed>);

/// A level of nesting costs the parser up to 70 KB of stack in a build that is not optimised, and
/// a caller may have 2 MB in all.
const PARSING_STACK: usize = 32 << 20;

struct Parsed {
    text: String,
    columns: BTreeSet<String>,
    expression: Expr,
    evaluation: Evaluation,
}

impl Predicate {
    /// Parses `text` as a condition on rows with these columns.
    ///
    /// # Errors
    ///
    /// Every [`PredicateError`] but those of evaluation.
    pub fn parse(columns: &SchemaRef, text: &str) -> Result<Self, PredicateError> {
        let builder = thread::Builder::new().name("predicate".to_owned()).stack_size(PARSING_STACK);
        let parsed = thread::scope(|scope| {
            let parsing = builder.spawn_scoped(scope, || Parsed::of(columns, text));
            let parsing =
                parsing.map_err(|cause| PredicateError::Unread { cause: cause.into() })?;
            // The engine panics over some of what it does not expect.
            parsing.join().map_err(|panic| PredicateError::mistyped(words(panic.as_ref())))?
        })?;
        Ok(Self(Arc::new(parsed)))
    }

    /// The text as it was given.
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// The columns that it names.
    pub fn columns(&self) -> &BTreeSet<String> {
        &self.0.columns
    }

    /// Which of these rows match: true or false of each, never null. The batch has at least the
    /// named columns, with the types for which the predicate was parsed, in any order.
    ///
    /// # Errors
    ///
    /// [`PredicateError::Evaluation`] when the expression has no value for one of the rows, as for a
    /// division by zero; [`PredicateError::OtherRows`] when the batch does not have the columns.
    pub fn matches(&self, rows: &RecordBatch) -> Result<BooleanArray, PredicateError> {
        self.0.evaluation.matches(rows)
    }

    /// The schema of the columns that it names.
    pub(crate) fn schema(&self) -> &SchemaRef {
        self.0.evaluation.schema()
    }

    pub(crate) fn expression(&self) -> &Expr {
        &self.0.expression
    }
}

impl Parsed {
    fn of(columns: &SchemaRef, text: &str) -> Result<Self, PredicateError> {
        let checked = grammar::checked(columns, text)?;
        let planner = Planner::new(Arc::clone(columns));
        // In parentheses nothing can be taken for a part of the query around it.
        let planned =
            planner.parse_expr(&format!("({checked})")).map_err(PredicateError::engine)?;
        judge::deterministic(&planned)?;
        let names: BTreeSet<String> = Planner::column_names_in_expr(&planned).into_iter().collect();
        let expression = planner.optimize_expr(planned).map_err(PredicateError::engine)?;
        judge::boolean(columns, &expression)?;
        let used = columns.fields().iter().filter(|field| names.contains(field.name()));
        let used = Arc::new(Schema::new(used.cloned().collect::<Vec<_>>()));
        let evaluation = Evaluation::over(used, &expression, text)?;
        Ok(Self { text: text.to_owned(), columns: names, expression, evaluation })
    }
}

impl fmt::Debug for Predicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Predicate").field(&self.0.text).finish()
    }
}
