//! The one error of the schema operations: where it is, what is wrong there and what to do about
//! it. Each rule's own conditions live beside the rule.

use std::fmt;

use thiserror::Error;

use crate::cardinality::CardinalityError;
use crate::name::NameError;
use crate::property_type::TypeError;
use crate::reader::DocumentError;
use crate::validate::{KeyError, ReferenceError, UniqueError};

/// A place in a schema, written as the TOML path of what stands there, for example
/// `node.Person.properties.age.type`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place(String);

impl Place {
    pub(crate) fn root() -> Self {
        Self(String::new())
    }

    pub(crate) fn child(&self, segment: &str) -> Self {
        let segment = segment.escape_debug();
        if self.0.is_empty() {
            Self(segment.to_string())
        } else {
            Self(format!("{self}.{segment}"))
        }
    }

    /// The path; `schema` for the schema as a whole.
    pub fn as_str(&self) -> &str {
        if self.0.is_empty() { "schema" } else { &self.0 }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A schema was refused. Nothing was accepted, minted or written.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub struct SchemaError {
    /// Where in the schema.
    pub place: Place,
    /// The line of the TOML text, counted from 1, where the schema came from a text.
    pub line: Option<u32>,
    /// Which rule was broken, with the offending text.
    pub kind: SchemaErrorKind,
}

impl SchemaError {
    pub(crate) fn new(place: Place, kind: impl Into<SchemaErrorKind>) -> Self {
        Self { place, line: None, kind: kind.into() }
    }

    /// A stable code of the broken rule, for programs.
    pub fn code(&self) -> &'static str {
        self.kind.rule().code()
    }

    /// What the author of the schema can do.
    pub fn remedy(&self) -> &'static str {
        self.kind.rule().remedy()
    }
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.place)?;
        if let Some(line) = self.line {
            write!(f, " (line {line})")?;
        }
        write!(f, ": {}; {}", self.kind, self.remedy())
    }
}

/// A rule's condition: its stable code and its remedy.
pub(crate) trait BrokenRule {
    fn code(&self) -> &'static str;
    fn remedy(&self) -> &'static str;
}

/// Which rule a refused schema breaks.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SchemaErrorKind {
    /// The TOML text does not have the form of a schema.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// A name is not allowed or not distinct.
    #[error(transparent)]
    Name(#[from] NameError),
    /// A property's type is not one of the known types.
    #[error(transparent)]
    Type(#[from] TypeError),
    /// A node's key cannot serve as one.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// A cardinality is not a range.
    #[error(transparent)]
    Cardinality(#[from] CardinalityError),
    /// A uniqueness rule cannot be kept.
    #[error(transparent)]
    Unique(#[from] UniqueError),
    /// An identity is missing, repeated or names nothing.
    #[error(transparent)]
    Reference(#[from] ReferenceError),
}

impl SchemaErrorKind {
    fn rule(&self) -> &dyn BrokenRule {
        match self {
            Self::Document(rule) => rule,
            Self::Name(rule) => rule,
            Self::Type(rule) => rule,
            Self::Key(rule) => rule,
            Self::Cardinality(rule) => rule,
            Self::Unique(rule) => rule,
            Self::Reference(rule) => rule,
        }
    }
}
