//! Rows of one type as CSV: the header names the columns, and each record is judged as the same row
//! in JSON would be. Fields are told apart by the `csv` crate; it must not know files.

use std::borrow::Cow;

use csv::StringRecord;
use graphwrite_protocol_types::TableIdentity;
use graphwrite_schema::{EDGE_ID, End, GraphSchema, PropertyType, ScalarType, TypeDef};

use super::assembly::{FieldFault, RowText, missing_column, unknown_property};
use super::builder::InputBuilder;
use super::cells::Misfit;
use super::csv_records::Records;
use super::error::InputError;
use super::json::{Json, Members, parse};
use super::lines::Lines;
use super::source::SourceErrorKind;
use super::table::end_of_column;
use super::violation::{Rule, quoted};

/// Reads all records of a type.
pub(crate) fn read(
    builder: &mut InputBuilder,
    identity: TableIdentity,
    lines: Lines<'_>,
    progress: &mut dyn FnMut(u64),
) -> Result<(), InputError> {
    let mut records = Records::new(lines);
    let Some((line, header)) = records.next()? else {
        return Err(records.refused(SourceErrorKind::NoHeader).into());
    };
    let schema = builder.schema();
    let Some(def) = schema.by_identity(identity).cloned() else { return Ok(()) };
    let columns: Vec<_> = header.iter().map(|name| Column::new(schema, &def, name)).collect();
    let faults = header_faults(&def, &columns);
    if !faults.is_empty() {
        // What the columns mean is open, so no record can be judged.
        builder.refuse_fields(line, &def.name, faults);
        return Ok(());
    }
    while let Some((line, record)) = records.next()? {
        if record.len() == columns.len() {
            push(builder, identity, line, &columns, record)?;
        } else {
            let misfit = wrong_length(record.len(), columns.len());
            builder.refuse_fields(line, &def.name, vec![(None, misfit)]);
        }
        progress(records.bytes());
    }
    Ok(())
}

fn push(
    builder: &mut InputBuilder,
    identity: TableIdentity,
    line: u64,
    columns: &[Column],
    record: &StringRecord,
) -> Result<(), InputError> {
    let (mut from, mut to) = (None, None);
    let mut data = Members::with_capacity(columns.len());
    for (column, field) in columns.iter().zip(record) {
        let json = column.read(field);
        match column.end {
            Some(End::Src) => from = Some(json),
            Some(End::Dst) => to = Some(json),
            None => data.push((Cow::Borrowed(column.name.as_str()), json)),
        }
    }
    let row = RowText { from: from.as_ref(), to: to.as_ref(), data: &data };
    builder.push_typed(line, record.as_slice().len() as u64, identity, &row)
}

fn wrong_length(found: usize, expected: usize) -> Misfit {
    let message = format!("the record has {found} fields, and the header has {expected}");
    Misfit { rule: Rule::Shape, found: found.to_string(), message }
}

/// What a field of one column becomes.
struct Column {
    name: String,
    /// The end of an edge that it is.
    end: Option<End>,
    /// None when the type has no such column.
    form: Option<Form>,
    is_nullable: bool,
}

/// How the text of a field is understood.
#[derive(Clone, Copy)]
enum Form {
    /// As it is; an empty one is a value, too.
    Text,
    /// As it is; an empty one is no value.
    Word,
    /// As in JSON: a number or a boolean.
    Plain,
    /// As in JSON: a list.
    List,
}

impl Form {
    fn of(property_type: &PropertyType) -> Self {
        match property_type {
            PropertyType::Scalar(scalar) => Self::of_scalar(*scalar),
            PropertyType::Enum(_) => Self::Word,
            PropertyType::List(_) | PropertyType::Vector(_) => Self::List,
        }
    }

    fn of_scalar(scalar: ScalarType) -> Self {
        use ScalarType as S;
        match scalar {
            S::String | S::Binary => Self::Text,
            S::Date | S::Datetime => Self::Word,
            S::Bool | S::I32 | S::I64 | S::U32 | S::U64 | S::F32 | S::F64 => Self::Plain,
        }
    }
}

impl Column {
    fn new(schema: &GraphSchema, def: &TypeDef, name: &str) -> Self {
        let end = end_of_column(def, name);
        let (form, is_nullable) = match (end, def.edge(), def.property_by_name(name)) {
            (Some(End::Src), Some(edge), _) => (key_form(schema.node_key_type(edge.from)), false),
            (Some(End::Dst), Some(edge), _) => (key_form(schema.node_key_type(edge.to)), false),
            (_, _, Some(property)) => (Some(Form::of(&property.property_type)), property.nullable),
            // The key of a node under its other name; an edge's id, which may follow from its ends.
            (_, edge, None) if name == EDGE_ID => match def.key_property() {
                Some(key) => (Some(Form::of(&key.property_type)), false),
                None => (Some(Form::Text), edge.is_some_and(|edge| !edge.multi)),
            },
            (_, _, None) => (None, true),
        };
        Self { name: name.to_owned(), end, form, is_nullable }
    }

    /// The value that a field means. What does not have the form is passed on as the text that it
    /// is, for the column to refuse.
    fn read<'f>(&self, field: &'f str) -> Json<'f> {
        match self.form {
            Some(Form::Text) if !self.is_nullable => text(field),
            _ if field.is_empty() => Json::Null,
            Some(Form::Plain) => {
                json(field, |json| matches!(json, Json::Number(_) | Json::Bool(_)))
            }
            Some(Form::List) => json(field, |json| matches!(json, Json::List(_))),
            Some(Form::Text | Form::Word) | None => text(field),
        }
    }

    /// Whether it is the same column of the type as another.
    fn is(&self, other: &Self) -> bool {
        self.end == other.end && (self.end.is_some() || self.name == other.name)
    }
}

fn text(field: &str) -> Json<'_> {
    Json::Text(Cow::Borrowed(field))
}

fn json(field: &str, is_wanted: fn(&Json<'_>) -> bool) -> Json<'_> {
    let is_trimmed = field.trim_ascii().len() == field.len();
    parse(field).ok().filter(|json| is_trimmed && is_wanted(json)).unwrap_or_else(|| text(field))
}

fn key_form(key: Option<ScalarType>) -> Option<Form> {
    key.map(Form::of_scalar)
}

fn header_faults(def: &TypeDef, columns: &[Column]) -> Vec<FieldFault> {
    let mut faults = Vec::new();
    for (at, column) in columns.iter().enumerate() {
        let found = quoted(&column.name);
        if column.form.is_none() {
            faults.push((Some(found), unknown_property(def, &column.name)));
        } else if columns[..at].iter().any(|before| before.is(column)) {
            let message = "the header names the column twice".to_owned();
            faults.push((Some(found.clone()), Misfit { rule: Rule::Shape, found, message }));
        }
    }
    let missing = missing_columns(def, columns).into_iter();
    faults.extend(missing.map(|name| (Some(name.to_owned()), missing_column())));
    faults
}

fn missing_columns<'d>(def: &'d TypeDef, columns: &[Column]) -> Vec<&'d str> {
    let has = |name: &str| columns.iter().any(|column| column.end.is_none() && column.name == name);
    let has_end = |end| columns.iter().any(|column| column.end == Some(end));
    let mut missing = Vec::new();
    if let Some(edge) = def.edge() {
        missing.extend((edge.multi && !has(EDGE_ID)).then_some(EDGE_ID));
        missing.extend((!has_end(End::Src)).then_some("from"));
        missing.extend((!has_end(End::Dst)).then_some("to"));
    }
    let key = def.key_property().map(|key| key.id);
    let required = def.properties.iter().filter(|property| {
        let is_named = has(&property.name) || (Some(property.id) == key && has(EDGE_ID));
        !property.nullable && !is_named
    });
    missing.extend(required.map(|property| property.name.as_str()));
    missing
}
