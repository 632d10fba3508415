//! A schema as its author wrote it: names, not identities. What the names resolve to is decided
//! when the document is declared.

use std::collections::BTreeMap;
use std::str::FromStr;

use crate::cardinality::Cardinality;
use crate::error::{Place, SchemaError};
use crate::property_type::PropertyType;
use crate::reader;

/// The declared types of a schema text, in the order of the text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SchemaDocument {
    types: Vec<TypeDecl>,
    lines: BTreeMap<Place, u32>,
}

impl SchemaDocument {
    /// Reads the TOML form.
    ///
    /// # Errors
    /// The text is not TOML, or not the form of a schema: unknown, missing or mistyped attributes,
    /// unknown property types, a cardinality that is not a range. Rules that need the whole schema
    /// are checked by [`declare`](crate::declare).
    pub fn parse(text: &str) -> Result<Self, SchemaError> {
        reader::read(text)
    }

    /// A document made by a program; its errors name places, but no lines.
    pub fn from_types(types: Vec<TypeDecl>) -> Self {
        Self { types, lines: BTreeMap::new() }
    }

    pub(crate) fn with_lines(types: Vec<TypeDecl>, lines: BTreeMap<Place, u32>) -> Self {
        Self { types, lines }
    }

    /// The declared types, in the order of the text.
    pub fn types(&self) -> &[TypeDecl] {
        &self.types
    }

    /// Adds the line of the text at which an error's place begins.
    pub(crate) fn locate(&self, error: SchemaError) -> SchemaError {
        SchemaError { line: self.lines.get(&error.place).copied(), ..error }
    }
}

impl FromStr for SchemaDocument {
    type Err = SchemaError;

    fn from_str(text: &str) -> Result<Self, SchemaError> {
        Self::parse(text)
    }
}

/// One `[node.X]` or `[edge.X]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeDecl {
    /// The type's name.
    pub name: String,
    /// What only nodes or only edges say.
    pub kind: DeclKind,
    /// The properties, in the order of the text.
    pub properties: Vec<PropertyDecl>,
    /// Lists of properties that are unique together.
    pub unique: Vec<Vec<String>>,
    /// Whether the key column of a node, or `src` and `dst` of an edge, get an index.
    pub index: bool,
    /// The name that the type had in the accepted schema.
    pub renamed_from: Option<String>,
}

impl TypeDecl {
    /// The type's place in the document.
    pub fn place(&self) -> Place {
        Place::root().child(self.kind.section()).child(&self.name)
    }
}

/// What a declaration says only of nodes or only of edges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeclKind {
    /// A node type.
    Node {
        /// The name of the key property.
        key: String,
    },
    /// An edge type.
    Edge {
        /// The name of the node type that edges start from.
        from: String,
        /// The name of the node type that edges lead to.
        to: String,
        /// How many edges each source has.
        cardinality: Cardinality,
        /// Whether parallel edges may exist.
        multi: bool,
    },
}

impl DeclKind {
    pub(crate) fn section(&self) -> &'static str {
        match self {
            Self::Node { .. } => "node",
            Self::Edge { .. } => "edge",
        }
    }
}

/// One declared property.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PropertyDecl {
    /// The property's name.
    pub name: String,
    /// Its type.
    pub property_type: PropertyType,
    /// Whether a row may have no value.
    pub nullable: bool,
    /// Whether no two rows may have the same value.
    pub unique: bool,
    /// Whether the column gets an index.
    pub index: bool,
    /// The name that the property had in the accepted schema.
    pub renamed_from: Option<String>,
}
