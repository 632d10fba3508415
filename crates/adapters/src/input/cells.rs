//! Columns under construction: JSON values decoded straight into typed cells, one row at a time,
//! so that a bad row can be taken back whole. It knows property types, not rows or files.

use std::sync::Arc;

use arrow_array::types::Float32Type;
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, FixedSizeListArray, Float32Array,
    Float64Array, Int32Array, Int64Array, ListArray, PrimitiveArray, StringArray,
    TimestampMicrosecondArray, UInt32Array, UInt64Array,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_cast::base64::{BASE64_STANDARD, Engine};
use arrow_schema::{ArrowError, DataType, Field, FieldRef};
use graphwrite_schema::{KeyValue, PropertyType, ScalarType};

use super::calendar::{parse_date, parse_datetime};
use super::json::Json;
use super::violation::{Rule, quoted};

/// A value does not fit into its column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Misfit {
    pub(crate) rule: Rule,
    pub(crate) found: String,
    pub(crate) message: String,
}

impl Misfit {
    pub(crate) fn new(rule: Rule, found: impl Into<String>, expected: &str) -> Self {
        let found = found.into();
        let message = format!("{found} is not {expected}");
        Self { rule, found, message }
    }

    fn of_type(json: &Json<'_>, expected: &str) -> Self {
        Self::new(Rule::Type, shown(json), expected)
    }
}

/// A value as a message quotes it.
pub(crate) fn shown(json: &Json<'_>) -> String {
    match json {
        Json::Null => "null".into(),
        Json::Bool(value) => value.to_string(),
        Json::Number(text) => quoted(text),
        Json::Text(text) => format!("{:?}", quoted(text)),
        Json::List(_) | Json::Object(_) => json.kind().into(),
    }
}

/// Single values of one scalar type.
#[derive(Debug, Clone)]
pub(crate) enum Cells {
    Text(Vec<Option<String>>),
    Bool(Vec<Option<bool>>),
    I32(Vec<Option<i32>>),
    I64(Vec<Option<i64>>),
    U32(Vec<Option<u32>>),
    U64(Vec<Option<u64>>),
    F32(Vec<Option<f32>>),
    F64(Vec<Option<f64>>),
    Date(Vec<Option<i32>>),
    Datetime(Vec<Option<i64>>),
    Binary(Vec<Option<Vec<u8>>>),
}

macro_rules! each {
    ($cells:expr, $values:ident => $body:expr) => {
        match $cells {
            Cells::Text($values) => $body,
            Cells::Bool($values) => $body,
            Cells::I32($values) => $body,
            Cells::I64($values) => $body,
            Cells::U32($values) => $body,
            Cells::U64($values) => $body,
            Cells::F32($values) => $body,
            Cells::F64($values) => $body,
            Cells::Date($values) => $body,
            Cells::Datetime($values) => $body,
            Cells::Binary($values) => $body,
        }
    };
}

impl Cells {
    pub(crate) fn new(scalar: ScalarType) -> Self {
        match scalar {
            ScalarType::String => Self::Text(Vec::new()),
            ScalarType::Bool => Self::Bool(Vec::new()),
            ScalarType::I32 => Self::I32(Vec::new()),
            ScalarType::I64 => Self::I64(Vec::new()),
            ScalarType::U32 => Self::U32(Vec::new()),
            ScalarType::U64 => Self::U64(Vec::new()),
            ScalarType::F32 => Self::F32(Vec::new()),
            ScalarType::F64 => Self::F64(Vec::new()),
            ScalarType::Date => Self::Date(Vec::new()),
            ScalarType::Datetime => Self::Datetime(Vec::new()),
            ScalarType::Binary => Self::Binary(Vec::new()),
        }
    }

    pub(crate) fn len(&self) -> usize {
        each!(self, values => values.len())
    }

    pub(crate) fn truncate(&mut self, len: usize) {
        each!(self, values => values.truncate(len));
    }

    pub(crate) fn push_null(&mut self) {
        each!(self, values => values.push(None));
    }

    /// Adds a value that is not null.
    pub(crate) fn push(&mut self, json: &Json<'_>) -> Result<(), Misfit> {
        match self {
            Self::Text(values) => values.push(Some(text(json, "a string")?.to_owned())),
            Self::Bool(values) => values.push(Some(boolean(json)?)),
            Self::I32(values) => values.push(Some(integer(json, "an i32")?)),
            Self::I64(values) => values.push(Some(integer(json, "an i64")?)),
            Self::U32(values) => values.push(Some(integer(json, "a u32")?)),
            Self::U64(values) => values.push(Some(integer(json, "a u64")?)),
            Self::F32(values) => values.push(Some(float(json, "an f32", f32::is_finite)?)),
            Self::F64(values) => values.push(Some(float(json, "an f64", f64::is_finite)?)),
            Self::Date(values) => {
                values.push(Some(parsed(json, "a date, YYYY-MM-DD", parse_date)?));
            }
            Self::Datetime(values) => values.push(Some(parsed(json, INSTANT, parse_datetime)?)),
            Self::Binary(values) => {
                let decode = |text: &str| BASE64_STANDARD.decode(text).ok();
                values.push(Some(parsed(json, "bytes in base64", decode)?));
            }
        }
        Ok(())
    }

    /// The key that was added last, if the cells are of a key type.
    pub(crate) fn last_key(&self) -> Option<KeyValue<'_>> {
        match self {
            Self::Text(values) => values.last()?.as_deref().map(KeyValue::Text),
            Self::I32(values) => values.last()?.map(|key| KeyValue::Signed(key.into())),
            Self::I64(values) => values.last()?.map(KeyValue::Signed),
            Self::U32(values) => values.last()?.map(|key| KeyValue::Unsigned(key.into())),
            Self::U64(values) => values.last()?.map(KeyValue::Unsigned),
            _ => None,
        }
    }

    /// The cells as an array; the column is empty afterwards.
    pub(crate) fn finish(&mut self) -> ArrayRef {
        match self {
            Self::Text(values) => Arc::new(StringArray::from(std::mem::take(values))),
            Self::Bool(values) => Arc::new(BooleanArray::from(std::mem::take(values))),
            Self::I32(values) => Arc::new(Int32Array::from(std::mem::take(values))),
            Self::I64(values) => Arc::new(Int64Array::from(std::mem::take(values))),
            Self::U32(values) => Arc::new(UInt32Array::from(std::mem::take(values))),
            Self::U64(values) => Arc::new(UInt64Array::from(std::mem::take(values))),
            Self::F32(values) => Arc::new(Float32Array::from(std::mem::take(values))),
            Self::F64(values) => Arc::new(Float64Array::from(std::mem::take(values))),
            Self::Date(values) => Arc::new(Date32Array::from(std::mem::take(values))),
            Self::Datetime(values) => {
                let instants = TimestampMicrosecondArray::from(std::mem::take(values));
                Arc::new(instants.with_timezone("UTC"))
            }
            Self::Binary(values) => {
                let bytes: BinaryArray = values.iter().map(Option::as_deref).collect();
                values.clear();
                Arc::new(bytes)
            }
        }
    }
}

const INSTANT: &str = "a datetime as in RFC 3339 such as 2026-01-31T08:00:00Z, exact to the \
                       microsecond, in the years 0000 to 9999";

fn text<'j>(json: &'j Json<'_>, expected: &str) -> Result<&'j str, Misfit> {
    match json {
        Json::Text(text) => Ok(text),
        other => Err(Misfit::of_type(other, expected)),
    }
}

fn boolean(json: &Json<'_>) -> Result<bool, Misfit> {
    match json {
        Json::Bool(value) => Ok(*value),
        other => Err(Misfit::of_type(other, "true or false")),
    }
}

fn integer<T: std::str::FromStr>(json: &Json<'_>, expected: &str) -> Result<T, Misfit> {
    let Json::Number(text) = json else { return Err(Misfit::of_type(json, expected)) };
    if text.contains(['.', 'e', 'E']) {
        return Err(Misfit::of_type(json, expected));
    }
    // What the grammar calls an integer and the type cannot read is out of its range; `-0` is 0.
    let text = if *text == "-0" { "0" } else { text };
    text.parse().map_err(|_| Misfit::new(Rule::Range, quoted(text), expected))
}

fn float<T: std::str::FromStr + Copy>(
    json: &Json<'_>,
    expected: &str,
    is_finite: fn(T) -> bool,
) -> Result<T, Misfit> {
    let Json::Number(text) = json else { return Err(Misfit::of_type(json, expected)) };
    let value = text.parse().ok().filter(|value| is_finite(*value));
    value.ok_or_else(|| Misfit::new(Rule::Range, quoted(text), expected))
}

fn parsed<T>(
    json: &Json<'_>,
    expected: &str,
    parse: impl FnOnce(&str) -> Option<T>,
) -> Result<T, Misfit> {
    let value = parse(text(json, expected)?);
    value.ok_or_else(|| Misfit::new(Rule::Type, shown(json), expected))
}

/// One column of a property's type.
#[derive(Debug, Clone)]
pub(crate) enum Column {
    Scalar(Cells),
    Enum { cells: Vec<Option<String>>, allowed: Vec<String> },
    List { items: Cells, item: FieldRef, ends: Vec<usize>, valid: Vec<bool> },
    Vector { size: usize, values: Vec<f32>, item: FieldRef, valid: Vec<bool> },
}

impl Column {
    pub(crate) fn new(property_type: &PropertyType) -> Self {
        match property_type {
            PropertyType::Scalar(scalar) => Self::Scalar(Cells::new(*scalar)),
            PropertyType::Enum(allowed) => {
                Self::Enum { cells: Vec::new(), allowed: allowed.clone() }
            }
            PropertyType::List(scalar) => Self::List {
                items: Cells::new(*scalar),
                item: item_of(property_type),
                ends: Vec::new(),
                valid: Vec::new(),
            },
            PropertyType::Vector(size) => Self::Vector {
                size: *size as usize,
                values: Vec::new(),
                item: item_of(property_type),
                valid: Vec::new(),
            },
        }
    }

    /// Takes back rows, the parts of an unfinished one included.
    pub(crate) fn truncate(&mut self, len: usize) {
        match self {
            Self::Scalar(cells) => cells.truncate(len),
            Self::Enum { cells, .. } => cells.truncate(len),
            Self::List { items, ends, valid, .. } => {
                ends.truncate(len);
                valid.truncate(len);
                items.truncate(ends.last().copied().unwrap_or_default());
            }
            Self::Vector { size, values, valid, .. } => {
                valid.truncate(len);
                values.truncate(valid.len() * *size);
            }
        }
    }

    pub(crate) fn push_null(&mut self) {
        match self {
            Self::Scalar(cells) => cells.push_null(),
            Self::Enum { cells, .. } => cells.push(None),
            Self::List { items, ends, valid, .. } => {
                ends.push(items.len());
                valid.push(false);
            }
            Self::Vector { size, values, valid, .. } => {
                values.resize(values.len() + *size, 0.0);
                valid.push(false);
            }
        }
    }

    /// Adds a value that is not null. After a refusal the row must be taken back.
    pub(crate) fn push(&mut self, json: &Json<'_>) -> Result<(), Misfit> {
        match self {
            Self::Scalar(cells) => cells.push(json),
            Self::Enum { cells, allowed } => {
                cells.push(Some(listed(json, allowed)?.to_owned()));
                Ok(())
            }
            Self::List { items, ends, valid, .. } => {
                push_items(items, json)?;
                ends.push(items.len());
                valid.push(true);
                Ok(())
            }
            Self::Vector { size, values, valid, .. } => {
                push_vector(*size, values, json)?;
                valid.push(true);
                Ok(())
            }
        }
    }

    /// The column as an array; it is empty afterwards.
    pub(crate) fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        match self {
            Self::Scalar(cells) => Ok(cells.finish()),
            Self::Enum { cells, .. } => Ok(Arc::new(StringArray::from(std::mem::take(cells)))),
            Self::List { items, item, ends, valid } => {
                let starts = std::iter::once(0).chain(ends.iter().copied());
                let lengths = ends.iter().zip(starts).map(|(end, start)| end - start);
                let offsets = OffsetBuffer::from_lengths(lengths);
                let nulls = NullBuffer::from(std::mem::take(valid));
                ends.clear();
                let list =
                    ListArray::try_new(Arc::clone(item), offsets, items.finish(), Some(nulls))?;
                Ok(Arc::new(list))
            }
            Self::Vector { size, values, item, valid } => {
                let values: PrimitiveArray<Float32Type> = std::mem::take(values).into();
                let nulls = NullBuffer::from(std::mem::take(valid));
                let size = i32::try_from(*size).unwrap_or(i32::MAX);
                let (item, values) = (Arc::clone(item), Arc::new(values));
                Ok(Arc::new(FixedSizeListArray::try_new(item, size, values, Some(nulls))?))
            }
        }
    }
}

fn item_of(property_type: &PropertyType) -> FieldRef {
    match property_type.arrow() {
        DataType::List(item) | DataType::FixedSizeList(item, _) => item,
        other => Arc::new(Field::new_list_field(other, true)),
    }
}

fn listed<'j>(json: &'j Json<'_>, allowed: &[String]) -> Result<&'j str, Misfit> {
    let expected = format!("one of {}", allowed.join(", "));
    let text = text(json, &expected)?;
    if allowed.binary_search_by(|value| value.as_str().cmp(text)).is_ok() {
        return Ok(text);
    }
    Err(Misfit::new(Rule::Enum, shown(json), &expected))
}

fn push_items(items: &mut Cells, json: &Json<'_>) -> Result<(), Misfit> {
    let Json::List(found) = json else { return Err(Misfit::of_type(json, "a list")) };
    for (at, item) in found.iter().enumerate() {
        items.push(item).map_err(|misfit| in_item(at, misfit))?;
    }
    Ok(())
}

fn push_vector(size: usize, values: &mut Vec<f32>, json: &Json<'_>) -> Result<(), Misfit> {
    let expected = format!("a vector of {size} numbers");
    let Json::List(found) = json else { return Err(Misfit::of_type(json, &expected)) };
    if found.len() != size {
        let found = format!("a list of {}", found.len());
        return Err(Misfit::new(Rule::VectorLength, found, &expected));
    }
    for (at, item) in found.iter().enumerate() {
        let value = float(item, "an f32", f32::is_finite).map_err(|misfit| in_item(at, misfit))?;
        values.push(value);
    }
    Ok(())
}

fn in_item(at: usize, misfit: Misfit) -> Misfit {
    let message = format!("item {at}: {}", misfit.message);
    Misfit { rule: Rule::ListItem, found: misfit.found, message }
}
