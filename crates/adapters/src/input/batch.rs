//! Record batches given by a program, brought to the columns of a table. Encodings of the same
//! values are accepted; a value that another type cannot hold is refused, never changed.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, StringArray, new_null_array};
use arrow_cast::display::array_value_to_string;
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Schema, SchemaRef};
use graphwrite_schema::{EDGE_DST, EDGE_ID, EDGE_SRC, PropertyType, TypeDef};

use super::assembly::{missing_column, no_key_type, unknown_property};
use super::cells::Misfit;
use super::lossless::{Converted, convert};
use super::parts::place_of_row;
use super::table::{end_of_column, is_keyed_by_ends};
use super::violation::{Place, Rule, SourceName, Violation, quoted};
use crate::keys::derived_ids;

/// A fault of a batch: of a row, or of a column as a whole.
#[derive(Debug)]
pub(crate) struct BatchFault {
    row: Option<usize>,
    field: String,
    misfit: Misfit,
}

impl BatchFault {
    /// The fault with its place; `first` rows of the source, or without one of the table, came
    /// before the batch.
    pub(crate) fn at(self, table: &str, source: Option<&SourceName>, first: u64) -> Violation {
        let place = match (self.row, source) {
            (Some(row), source) => place_of_row(source, table, first + row as u64),
            (None, Some(source)) => Place::Source(source.clone()),
            (None, None) => Place::Table(table.to_owned()),
        };
        self.placed(table, place)
    }

    /// The row at fault; none when the column is, as a whole.
    pub(crate) fn fault_row(&self) -> Option<usize> {
        self.row
    }

    /// The fault with a place that the caller knows.
    pub(crate) fn placed(self, table: &str, place: Place) -> Violation {
        Violation {
            place,
            table: Some(table.to_owned()),
            field: Some(self.field),
            rule: self.misfit.rule,
            found: Some(self.misfit.found),
            message: self.misfit.message,
        }
    }

    pub(crate) fn column(field: &str, misfit: Misfit) -> Self {
        Self { row: None, field: field.to_owned(), misfit }
    }

    fn row(row: usize, field: &str, misfit: Misfit) -> Self {
        Self { row: Some(row), field: field.to_owned(), misfit }
    }
}

/// The rows as a batch of the table's schema, or everything that is wrong with them.
pub(crate) fn conform(
    def: &TypeDef,
    schema: &SchemaRef,
    rows: &RecordBatch,
) -> Result<Result<RecordBatch, Vec<BatchFault>>, ArrowError> {
    let rows = &with_own_ends(def, schema, rows)?;
    let mut faults = strangers(def, schema, rows);
    let mut columns = Vec::with_capacity(schema.fields().len());
    for field in schema.fields() {
        match column_for(def, field, rows)? {
            Ok(column) => columns.push(column),
            Err(found) => faults.extend(found),
        }
    }
    if !faults.is_empty() {
        return Ok(Err(faults));
    }
    for (field, column) in schema.fields().iter().zip(&columns) {
        check_cells(def, field, column, &mut faults)?;
    }
    if faults.is_empty() {
        check_ids(def, &columns, &mut faults)?;
    }
    if !faults.is_empty() {
        return Ok(Err(faults));
    }
    RecordBatch::try_new(Arc::clone(schema), columns).map(Ok)
}

fn own_name<'n>(def: &TypeDef, name: &'n str) -> &'n str {
    end_of_column(def, name).map_or(name, |end| end.column())
}

/// The rows with the ends of an edge as the table has them: they may be called `from` and `to`, as
/// in JSON. Their ids are derived from keys of the right type, where they are keys at all.
pub(crate) fn with_own_ends(
    def: &TypeDef,
    schema: &SchemaRef,
    rows: &RecordBatch,
) -> Result<RecordBatch, ArrowError> {
    let given = rows.schema();
    let is_end = |field: &FieldRef| end_of_column(def, field.name()).is_some();
    if !given.fields().iter().any(is_end) {
        return Ok(rows.clone());
    }
    let ends = given.fields().iter().zip(rows.columns()).map(|(field, column)| {
        let name = own_name(def, field.name());
        let column = own_end(schema, name, column).unwrap_or_else(|| Arc::clone(column));
        let field = Field::new(name, column.data_type().clone(), field.is_nullable());
        (field, column)
    });
    let (fields, columns): (Vec<_>, Vec<_>) = ends.unzip();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)
}

/// A column in the type that the table gives it, if it is an end and fits whole.
fn own_end(schema: &SchemaRef, name: &str, column: &ArrayRef) -> Option<ArrayRef> {
    let is_end = [EDGE_SRC, EDGE_DST].contains(&name);
    let field = schema.field_with_name(name).ok().filter(|_| is_end)?;
    let converted = convert(column, field.data_type()).ok().flatten()?;
    converted.lost.is_empty().then_some(converted.column)
}

fn strangers(def: &TypeDef, schema: &SchemaRef, rows: &RecordBatch) -> Vec<BatchFault> {
    let given = rows.schema();
    let names = given.fields().iter().map(|field| field.name());
    let fault = |(at, name): (usize, &String)| {
        let is_known = schema.field_with_name(name).is_ok();
        let is_again = given.fields()[..at].iter().any(|before| before.name() == name);
        let misfit = match (is_known, is_again) {
            (false, _) => unknown_property(def, name),
            (true, true) => repeated_column(name),
            (true, false) => return None,
        };
        Some(BatchFault::column(&quoted(name), misfit))
    };
    names.enumerate().filter_map(fault).collect()
}

fn repeated_column(name: &str) -> Misfit {
    let message = "there are two columns for it".to_owned();
    Misfit { rule: Rule::Shape, found: quoted(name), message }
}

pub(crate) fn column_for(
    def: &TypeDef,
    field: &Field,
    rows: &RecordBatch,
) -> Result<Result<ArrayRef, Vec<BatchFault>>, ArrowError> {
    let Some(column) = rows.column_by_name(field.name()) else {
        return absent(def, field, rows).map(|found| found.map_err(|fault| vec![fault]));
    };
    let Some(Converted { column: converted, lost }) = convert(column, field.data_type())? else {
        let (found, expected) = (column.data_type().to_string(), field.data_type().to_string());
        let misfit = Misfit::new(Rule::Type, found, &expected);
        return Ok(Err(vec![BatchFault::column(field.name(), misfit)]));
    };
    if lost.is_empty() {
        return Ok(Ok(converted));
    }
    let fault = |row| Ok(BatchFault::row(row, field.name(), not_exact(field, column, row)?));
    lost.into_iter().map(fault).collect::<Result<Vec<_>, ArrowError>>().map(Err)
}

/// A value that the type of its column does not have.
fn not_exact(field: &Field, column: &ArrayRef, row: usize) -> Result<Misfit, ArrowError> {
    let rule = match field.data_type() {
        DataType::FixedSizeList(..) => Rule::VectorLength,
        DataType::List(_) => Rule::ListItem,
        _ => Rule::Range,
    };
    let found = quoted(&array_value_to_string(column, row)?);
    let message = format!(
        "{found} of type {} has no exact form as {}",
        column.data_type(),
        field.data_type()
    );
    Ok(Misfit { rule, found, message })
}

fn absent(
    def: &TypeDef,
    field: &Field,
    rows: &RecordBatch,
) -> Result<Result<ArrayRef, BatchFault>, ArrowError> {
    if field.name() == EDGE_ID && is_keyed_by_ends(def) {
        return Ok(Ok(derive(def, rows)));
    }
    if field.is_nullable() {
        return Ok(Ok(new_null_array(field.data_type(), rows.num_rows())));
    }
    Ok(Err(BatchFault::column(field.name(), missing_column())))
}

/// The ids of edges that are told apart by their ends. Ends that are missing, null or of a wrong
/// type are reported as such elsewhere; until then any ids will do.
fn derive(def: &TypeDef, rows: &RecordBatch) -> ArrayRef {
    let ends = rows.column_by_name(EDGE_SRC).zip(rows.column_by_name(EDGE_DST));
    let ids = ends.and_then(|(src, dst)| derived_ids(def.identity, src, dst));
    let none = || StringArray::from_iter_values((0..rows.num_rows()).map(|_| ""));
    Arc::new(ids.unwrap_or_else(none))
}

pub(crate) fn check_cells(
    def: &TypeDef,
    field: &Field,
    column: &ArrayRef,
    faults: &mut Vec<BatchFault>,
) -> Result<(), ArrowError> {
    if !field.is_nullable() && column.null_count() > 0 {
        let nulls = (0..column.len()).filter(|row| column.is_null(*row));
        faults.extend(nulls.map(|row| BatchFault::row(row, field.name(), null_cell())));
    }
    match def.property_by_name(field.name()).map(|property| &property.property_type) {
        Some(PropertyType::Enum(allowed)) => check_enum(allowed, field, column, faults),
        Some(PropertyType::List(_) | PropertyType::Vector(_)) => check_items(field, column, faults),
        Some(PropertyType::Scalar(_)) | None => Ok(()),
    }
}

fn null_cell() -> Misfit {
    let message = "a value is required and there is none".to_owned();
    Misfit { rule: Rule::Required, found: "null".into(), message }
}

fn check_enum(
    allowed: &[String],
    field: &Field,
    column: &ArrayRef,
    faults: &mut Vec<BatchFault>,
) -> Result<(), ArrowError> {
    let Some(texts) = column.as_string_opt::<i32>() else { return Ok(()) };
    let expected = format!("one of {}", allowed.join(", "));
    for (row, text) in texts.iter().enumerate() {
        let Some(text) = text else { continue };
        if allowed.binary_search_by(|value| value.as_str().cmp(text)).is_err() {
            let misfit = Misfit::new(Rule::Enum, format!("{:?}", quoted(text)), &expected);
            faults.push(BatchFault::row(row, field.name(), misfit));
        }
    }
    Ok(())
}

/// Lists and vectors hold no nulls; what lies under a null list does not count.
fn check_items(
    field: &Field,
    column: &ArrayRef,
    faults: &mut Vec<BatchFault>,
) -> Result<(), ArrowError> {
    for row in (0..column.len()).filter(|row| column.is_valid(*row)) {
        let items = match column.data_type() {
            DataType::List(_) => column.as_list::<i32>().value(row),
            _ => column.as_fixed_size_list().value(row),
        };
        if items.null_count() > 0 {
            let found = quoted(&array_value_to_string(column, row)?);
            let message = "an item of the list is null".to_owned();
            let misfit = Misfit { rule: Rule::ListItem, found, message };
            faults.push(BatchFault::row(row, field.name(), misfit));
        }
    }
    Ok(())
}

/// Ids that follow from the ends of an edge may be given, but only as what they are.
fn check_ids(
    def: &TypeDef,
    columns: &[ArrayRef],
    faults: &mut Vec<BatchFault>,
) -> Result<(), ArrowError> {
    let ([id, src, dst, ..], true) = (columns, is_keyed_by_ends(def)) else { return Ok(()) };
    let derived = derived_ids(def.identity, src, dst).ok_or_else(no_key_type)?;
    let Some(given) = id.as_string_opt::<i32>() else { return Ok(()) };
    for (row, (given, derived)) in given.iter().zip(&derived).enumerate() {
        if given != derived {
            let found = format!("{:?}", quoted(given.unwrap_or_default()));
            let expected = "the id that follows from the ends of the edge; leave the column out";
            faults.push(BatchFault::row(row, EDGE_ID, Misfit::new(Rule::Id, found, expected)));
        }
    }
    Ok(())
}
