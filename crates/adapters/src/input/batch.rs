//! Record batches given by a program, brought to the columns of a table. Encodings of the same
//! values are accepted; a type that could lose a value is refused, never cast.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, StringArray, new_null_array};
use arrow_cast::cast;
use arrow_cast::display::array_value_to_string;
use arrow_schema::{ArrowError, DataType, Field, SchemaRef, TimeUnit};
use graphwrite_schema::{EDGE_DST, EDGE_ID, EDGE_SRC, PropertyType, TypeDef};

use super::assembly::{no_key_type, unknown_property};
use super::cells::Misfit;
use super::table::is_keyed_by_ends;
use super::violation::{Place, Rule, Violation, quoted};
use crate::keys::derived_ids;

/// A fault of a batch: of a row, or of a column as a whole.
#[derive(Debug)]
pub(crate) struct BatchFault {
    row: Option<usize>,
    field: String,
    misfit: Misfit,
}

impl BatchFault {
    /// The fault with its place; `first` rows of the table came before the batch.
    pub(crate) fn at(self, table: &str, first: u64) -> Violation {
        let place = match self.row {
            Some(row) => Place::Row { table: table.to_owned(), row: first + row as u64 },
            None => Place::Table(table.to_owned()),
        };
        self.placed(table, place)
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
    let mut faults = strangers(def, schema, rows);
    let mut columns = Vec::with_capacity(schema.fields().len());
    for field in schema.fields() {
        match column_for(def, field, rows)? {
            Ok(column) => columns.push(column),
            Err(fault) => faults.push(fault),
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

fn strangers(def: &TypeDef, schema: &SchemaRef, rows: &RecordBatch) -> Vec<BatchFault> {
    let given = rows.schema();
    let names = given.fields().iter().map(|field| field.name());
    let unknown = names.filter(|name| schema.field_with_name(name).is_err());
    unknown.map(|name| BatchFault::column(&quoted(name), unknown_property(def, name))).collect()
}

pub(crate) fn column_for(
    def: &TypeDef,
    field: &Field,
    rows: &RecordBatch,
) -> Result<Result<ArrayRef, BatchFault>, ArrowError> {
    let Some(column) = rows.column_by_name(field.name()) else {
        return missing_column(def, field, rows);
    };
    if column.data_type() == field.data_type() {
        return Ok(Ok(Arc::clone(column)));
    }
    if same_values(column.data_type(), field.data_type()) {
        return cast(column, field.data_type()).map(Ok);
    }
    let (found, expected) = (column.data_type().to_string(), field.data_type().to_string());
    Ok(Err(BatchFault::column(field.name(), Misfit::new(Rule::Type, found, &expected))))
}

fn missing_column(
    def: &TypeDef,
    field: &Field,
    rows: &RecordBatch,
) -> Result<Result<ArrayRef, BatchFault>, ArrowError> {
    if field.name() == EDGE_ID && is_keyed_by_ends(def) {
        return Ok(derive(def, rows));
    }
    if field.is_nullable() {
        return Ok(Ok(new_null_array(field.data_type(), rows.num_rows())));
    }
    let message = "a column is required and there is none".to_owned();
    let misfit = Misfit { rule: Rule::Required, found: "no column".into(), message };
    Ok(Err(BatchFault::column(field.name(), misfit)))
}

/// The ids of edges that are told apart by their ends. Ends that are missing, null or of a wrong
/// type are reported as such elsewhere; until then any ids will do.
fn derive(def: &TypeDef, rows: &RecordBatch) -> Result<ArrayRef, BatchFault> {
    let ends = rows.column_by_name(EDGE_SRC).zip(rows.column_by_name(EDGE_DST));
    let ids = ends.and_then(|(src, dst)| derived_ids(def.identity, src, dst));
    let none = || StringArray::from_iter_values((0..rows.num_rows()).map(|_| ""));
    Ok(Arc::new(ids.unwrap_or_else(none)))
}

/// Whether two types hold the same values in different encodings.
fn same_values(found: &DataType, expected: &DataType) -> bool {
    use DataType as T;
    match (found, expected) {
        (T::Dictionary(_, values), expected) => same_values(values, expected),
        (T::Utf8 | T::LargeUtf8 | T::Utf8View, T::Utf8) => true,
        (T::Binary | T::LargeBinary | T::BinaryView, T::Binary) => true,
        (T::List(found) | T::LargeList(found), T::List(expected)) => {
            same_values(found.data_type(), expected.data_type())
        }
        (T::FixedSizeList(found, a), T::FixedSizeList(expected, b)) => {
            a == b && same_values(found.data_type(), expected.data_type())
        }
        (T::Timestamp(TimeUnit::Microsecond, Some(zone)), T::Timestamp(_, Some(_))) => {
            matches!(zone.as_ref(), "UTC" | "utc" | "Z" | "+00:00" | "+0000" | "Etc/UTC")
        }
        (found, expected) => found == expected,
    }
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
