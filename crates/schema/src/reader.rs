//! Reads the TOML form into a document. It judges the form only: which attributes there are and
//! what kind of value each has. Rules between declarations are judged elsewhere.

use std::collections::BTreeMap;

use thiserror::Error;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::cardinality::Cardinality;
use crate::document::{DeclKind, PropertyDecl, SchemaDocument, TypeDecl};
use crate::error::{BrokenRule, Place, SchemaError, SchemaErrorKind};
use crate::property_type::PropertyType;

const SECTIONS: &[&str] = &["node", "edge"];
const NODE_ATTRIBUTES: &[&str] = &["key", "properties", "unique", "index", "renamed_from"];
const EDGE_ATTRIBUTES: &[&str] =
    &["from", "to", "cardinality", "multi", "properties", "unique", "index", "renamed_from"];
const PROPERTY_ATTRIBUTES: &[&str] =
    &["type", "nullable", "unique", "index", "values", "renamed_from"];

/// A text does not have the form of a schema.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DocumentError {
    /// The text is not TOML.
    #[error("the text is not TOML: {message}")]
    Syntax {
        /// What the TOML parser says.
        message: String,
    },
    /// An attribute or section that the form does not have.
    #[error("`{}` is not known here; known are {known}", found.escape_debug())]
    UnknownAttribute {
        /// The refused attribute.
        found: String,
        /// The attributes that may stand here.
        known: String,
    },
    /// An attribute that must be there is not.
    #[error("`{attribute}` is missing")]
    MissingAttribute {
        /// The missing attribute.
        attribute: &'static str,
    },
    /// A value of the wrong kind.
    #[error("expected {expected}, found {found}")]
    WrongValue {
        /// The kind of value that belongs here.
        expected: &'static str,
        /// The value that was found.
        found: String,
    },
    /// The document declares no type at all.
    #[error("no type is declared")]
    NoTypes,
    /// A first schema has no past to rename from.
    #[error("`renamed_from = \"{found}\"` in a first schema: there is nothing to rename yet")]
    RenameWithoutPast {
        /// The former name.
        found: String,
    },
}

impl BrokenRule for DocumentError {
    fn code(&self) -> &'static str {
        match self {
            Self::Syntax { .. } => "schema.syntax",
            Self::UnknownAttribute { .. } => "schema.unknown_attribute",
            Self::MissingAttribute { .. } => "schema.missing_attribute",
            Self::WrongValue { .. } => "schema.wrong_value",
            Self::NoTypes => "schema.no_types",
            Self::RenameWithoutPast { .. } => "schema.rename_without_past",
        }
    }

    fn remedy(&self) -> &'static str {
        match self {
            Self::Syntax { .. } => "correct the text",
            Self::UnknownAttribute { .. } => "correct its spelling or remove it",
            Self::MissingAttribute { .. } => "add it",
            Self::WrongValue { .. } => "write a value of that kind",
            Self::NoTypes => "declare at least one [node.Name] with a key",
            Self::RenameWithoutPast { .. } => "remove it; it belongs to a later schema change",
        }
    }
}

/// Reads a schema text.
pub(crate) fn read(text: &str) -> Result<SchemaDocument, SchemaError> {
    let mut lines = Lines::of(text);
    let root = DeTable::parse(text).map_err(|error| syntax(&lines, &error))?;
    let types = read_root(&mut lines, root.get_ref()).map_err(|error| {
        // Every place that can be at fault was noted before it was judged.
        SchemaDocument::with_lines(Vec::new(), lines.known.clone()).locate(error)
    })?;
    Ok(SchemaDocument::with_lines(types, lines.known))
}

fn syntax(lines: &Lines, error: &toml::de::Error) -> SchemaError {
    let kind = DocumentError::Syntax { message: error.message().to_owned() };
    let line = error.span().map(|span| lines.at(span.start));
    SchemaError { line, ..SchemaError::new(Place::root(), kind) }
}

fn read_root(lines: &mut Lines, root: &DeTable<'_>) -> Result<Vec<TypeDecl>, SchemaError> {
    let root = Table::note(lines, Place::root(), root);
    root.allow(SECTIONS)?;
    let mut types = Vec::new();
    for (section, value) in root.entries {
        let place = root.place.child(section);
        let table = table_at(lines, place, value, "a table of types, such as [node.Person]")?;
        for (name, value) in &table.entries {
            let read = if section == "node" { read_node } else { read_edge };
            let place = table.place.child(name);
            let body = table_at(lines, place, value, "a table that describes the type")?;
            types.push(read(lines, name, &body)?);
        }
    }
    Ok(types)
}

fn read_node(lines: &mut Lines, name: &str, table: &Table<'_>) -> Result<TypeDecl, SchemaError> {
    table.allow(NODE_ATTRIBUTES)?;
    let kind = DeclKind::Node { key: table.required_text("key")? };
    read_type(lines, name, kind, table)
}

fn read_edge(lines: &mut Lines, name: &str, table: &Table<'_>) -> Result<TypeDecl, SchemaError> {
    table.allow(EDGE_ATTRIBUTES)?;
    let cardinality = match table.text("cardinality")? {
        None => Cardinality::ANY,
        Some(text) => text.parse().map_err(|error| table.error_at("cardinality", error))?,
    };
    let kind = DeclKind::Edge {
        from: table.required_text("from")?,
        to: table.required_text("to")?,
        cardinality,
        multi: table.flag("multi")?,
    };
    read_type(lines, name, kind, table)
}

fn read_type(
    lines: &mut Lines,
    name: &str,
    kind: DeclKind,
    table: &Table<'_>,
) -> Result<TypeDecl, SchemaError> {
    Ok(TypeDecl {
        name: name.to_owned(),
        kind,
        properties: read_properties(lines, table)?,
        unique: table.text_lists("unique")?,
        index: table.flag("index")?,
        renamed_from: table.text("renamed_from")?,
    })
}

fn read_properties(lines: &mut Lines, table: &Table<'_>) -> Result<Vec<PropertyDecl>, SchemaError> {
    let Some(value) = table.get("properties") else { return Ok(Vec::new()) };
    let place = table.place.child("properties");
    let properties = table_at(lines, place, value, "a table of properties")?;
    let mut declared = Vec::with_capacity(properties.entries.len());
    for (name, value) in &properties.entries {
        let place = properties.place.child(name);
        let body = table_at(lines, place, value, "a table such as { type = \"string\" }")?;
        declared.push(read_property(name, &body)?);
    }
    Ok(declared)
}

fn read_property(name: &str, table: &Table<'_>) -> Result<PropertyDecl, SchemaError> {
    table.allow(PROPERTY_ATTRIBUTES)?;
    let property_type =
        PropertyType::from_text(&table.required_text("type")?, table.texts("values")?)
            .map_err(|error| table.error_at(error.attribute(), error))?;
    Ok(PropertyDecl {
        name: name.to_owned(),
        property_type,
        nullable: table.flag("nullable")?,
        unique: table.flag("unique")?,
        index: table.flag("index")?,
        renamed_from: table.text("renamed_from")?,
    })
}

/// Finds the line of a place.
struct Lines {
    /// Where the text breaks, ascending: every attribute of every type asks for its line.
    breaks: Vec<usize>,
    known: BTreeMap<Place, u32>,
}

impl Lines {
    fn of(text: &str) -> Self {
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        Self { breaks: breaks.map(|(at, _)| at).collect(), known: BTreeMap::new() }
    }

    fn at(&self, offset: usize) -> u32 {
        let before = self.breaks.partition_point(|at| *at < offset);
        u32::try_from(before).unwrap_or(u32::MAX).saturating_add(1)
    }
}

/// A TOML table at a place, its entries in the order of the text.
struct Table<'d> {
    place: Place,
    entries: Vec<(&'d str, &'d DeValue<'d>)>,
}

fn table_at<'d>(
    lines: &mut Lines,
    place: Place,
    value: &'d DeValue<'d>,
    expected: &'static str,
) -> Result<Table<'d>, SchemaError> {
    match value {
        DeValue::Table(table) => Ok(Table::note(lines, place, table)),
        other => Err(wrong_value(place, expected, other)),
    }
}

impl<'d> Table<'d> {
    /// Takes a table in, noting the line of each of its entries.
    fn note(lines: &mut Lines, place: Place, table: &'d DeTable<'d>) -> Self {
        let mut entries: Vec<_> = table.iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        for (key, _) in &entries {
            let line = lines.at(key.span().start);
            lines.known.insert(place.child(key.get_ref()), line);
        }
        let plain =
            |(key, value): (&'d Spanned<_>, &'d Spanned<_>)| (key_text(key), value.get_ref());
        Self { place, entries: entries.into_iter().map(plain).collect() }
    }

    fn get(&self, attribute: &str) -> Option<&'d DeValue<'d>> {
        self.entries.iter().find(|(name, _)| *name == attribute).map(|(_, value)| *value)
    }

    fn allow(&self, known: &[&str]) -> Result<(), SchemaError> {
        match self.entries.iter().find(|(name, _)| !known.contains(name)) {
            None => Ok(()),
            Some((found, _)) => {
                let known = known.join(", ");
                let kind = DocumentError::UnknownAttribute { found: (*found).to_owned(), known };
                Err(self.error_at(found, kind))
            }
        }
    }

    fn error_at(&self, attribute: &str, kind: impl Into<SchemaErrorKind>) -> SchemaError {
        SchemaError::new(self.place.child(attribute), kind)
    }

    fn required_text(&self, attribute: &'static str) -> Result<String, SchemaError> {
        self.text(attribute)?.ok_or_else(|| {
            SchemaError::new(self.place.clone(), DocumentError::MissingAttribute { attribute })
        })
    }

    fn text(&self, attribute: &str) -> Result<Option<String>, SchemaError> {
        let read = |value| text_of(self.place.child(attribute), "a string", value);
        self.get(attribute).map(read).transpose()
    }

    fn flag(&self, attribute: &str) -> Result<bool, SchemaError> {
        match self.get(attribute) {
            None => Ok(false),
            Some(DeValue::Boolean(flag)) => Ok(*flag),
            Some(other) => Err(wrong_value(self.place.child(attribute), "true or false", other)),
        }
    }

    fn texts(&self, attribute: &str) -> Result<Option<Vec<String>>, SchemaError> {
        let read = |value| texts_of(&self.place.child(attribute), "a list of strings", value);
        self.get(attribute).map(read).transpose()
    }

    fn text_lists(&self, attribute: &str) -> Result<Vec<Vec<String>>, SchemaError> {
        let expected = "a list of lists of property names, such as [[\"a\", \"b\"]]";
        let place = self.place.child(attribute);
        match self.get(attribute) {
            None => Ok(Vec::new()),
            Some(DeValue::Array(lists)) => {
                lists.iter().map(|list| texts_of(&place, expected, list.get_ref())).collect()
            }
            Some(other) => Err(wrong_value(place, expected, other)),
        }
    }
}

fn key_text<'d>(key: &'d Spanned<std::borrow::Cow<'d, str>>) -> &'d str {
    key.get_ref()
}

fn texts_of(
    place: &Place,
    expected: &'static str,
    value: &DeValue<'_>,
) -> Result<Vec<String>, SchemaError> {
    match value {
        DeValue::Array(texts) => {
            texts.iter().map(|text| text_of(place.clone(), expected, text.get_ref())).collect()
        }
        other => Err(wrong_value(place.clone(), expected, other)),
    }
}

fn text_of(
    place: Place,
    expected: &'static str,
    value: &DeValue<'_>,
) -> Result<String, SchemaError> {
    match value {
        DeValue::String(text) => Ok(text.to_string()),
        other => Err(wrong_value(place, expected, other)),
    }
}

fn wrong_value(place: Place, expected: &'static str, value: &DeValue<'_>) -> SchemaError {
    let found = match value {
        DeValue::String(text) => format!("the string `{}`", text.escape_debug()),
        DeValue::Integer(number) => format!("the integer {number}"),
        DeValue::Float(number) => format!("the float {number}"),
        DeValue::Boolean(flag) => format!("`{flag}`"),
        DeValue::Datetime(time) => format!("the time {time}"),
        DeValue::Array(_) => "a list".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
    };
    SchemaError::new(place, DocumentError::WrongValue { expected, found })
}
