//! The types of properties: their text, their limits and their Arrow types.

use std::fmt;
use std::sync::Arc;

use arrow_schema::{DataType, Field, TimeUnit};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::error::BrokenRule;

/// The largest vector, in elements.
pub const VECTOR_SIZE_MAX: u32 = 65_536;

/// A type whose values are single. The order is part of the persisted form.
// Exhaustive by intent: a new type must be decided upon wherever types are matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ScalarType {
    /// UTF-8 text.
    String,
    /// True or false.
    Bool,
    /// Signed, 32 bits.
    I32,
    /// Signed, 64 bits.
    I64,
    /// Unsigned, 32 bits.
    U32,
    /// Unsigned, 64 bits.
    U64,
    /// IEEE 754, 32 bits.
    F32,
    /// IEEE 754, 64 bits.
    F64,
    /// Days since the Unix epoch.
    Date,
    /// Microseconds since the Unix epoch, UTC.
    Datetime,
    /// Bytes.
    Binary,
}

impl ScalarType {
    const ALL: [Self; 11] = [
        Self::String,
        Self::Bool,
        Self::I32,
        Self::I64,
        Self::U32,
        Self::U64,
        Self::F32,
        Self::F64,
        Self::Date,
        Self::Datetime,
        Self::Binary,
    ];

    /// The type's name in a schema text.
    pub fn name(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Bool => "bool",
            Self::I32 => "i32",
            Self::I64 => "i64",
            Self::U32 => "u32",
            Self::U64 => "u64",
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::Date => "date",
            Self::Datetime => "datetime",
            Self::Binary => "binary",
        }
    }

    /// The Arrow type of a column of such values.
    pub fn arrow(self) -> DataType {
        match self {
            Self::String => DataType::Utf8,
            Self::Bool => DataType::Boolean,
            Self::I32 => DataType::Int32,
            Self::I64 => DataType::Int64,
            Self::U32 => DataType::UInt32,
            Self::U64 => DataType::UInt64,
            Self::F32 => DataType::Float32,
            Self::F64 => DataType::Float64,
            Self::Date => DataType::Date32,
            Self::Datetime => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
            Self::Binary => DataType::Binary,
        }
    }

    /// Whether a node's key may have this type: values that have one spelling and an exact order.
    pub fn is_key(self) -> bool {
        matches!(self, Self::String | Self::I32 | Self::I64 | Self::U32 | Self::U64)
    }

    /// Whether equality is exact, so that uniqueness has a meaning.
    pub fn is_exact(self) -> bool {
        !matches!(self, Self::F32 | Self::F64)
    }

    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scalar| scalar.name() == name)
    }
}

/// The type of a property. The order is part of the persisted form.
// Exhaustive by intent: a new type must be decided upon wherever types are matched.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum PropertyType {
    /// One value.
    Scalar(ScalarType),
    /// One of these texts; sorted, distinct, not empty.
    Enum(Vec<String>),
    /// Any number of values.
    List(ScalarType),
    /// So many `f32` values.
    Vector(u32),
}

impl PropertyType {
    /// Reads the text of a type; an enum takes its values from beside it.
    pub(crate) fn from_text(text: &str, values: Option<Vec<String>>) -> Result<Self, TypeError> {
        match (text, values) {
            ("enum", Some(values)) => Ok(Self::Enum(values)),
            ("enum", None) => Err(TypeError::EnumWithoutValues),
            (_, Some(_)) => Err(TypeError::ValuesWithoutEnum { found: text.to_owned() }),
            (_, None) => Self::plain(text),
        }
    }

    fn plain(text: &str) -> Result<Self, TypeError> {
        let unknown = || TypeError::Unknown { found: text.to_owned() };
        if let Some(element) = argument(text, "list") {
            return ScalarType::named(element).map(Self::List).ok_or_else(unknown);
        }
        if let Some(size) = argument(text, "vector") {
            return vector_size(size).map(Self::Vector);
        }
        ScalarType::named(text).map(Self::Scalar).ok_or_else(unknown)
    }

    /// The Arrow type of a column. Elements of lists and vectors are nullable in the Arrow type,
    /// because that is the only form in which a stored vector is read back.
    pub fn arrow(&self) -> DataType {
        match self {
            Self::Scalar(scalar) => scalar.arrow(),
            Self::Enum(_) => DataType::Utf8,
            Self::List(element) => DataType::List(item(element.arrow())),
            // The size is checked to be at most `VECTOR_SIZE_MAX`; a size beyond i32 saturates.
            Self::Vector(size) => DataType::FixedSizeList(
                item(DataType::Float32),
                i32::try_from(*size).unwrap_or(i32::MAX),
            ),
        }
    }

    /// The scalar type of a single value; none for the other types.
    pub fn scalar(&self) -> Option<ScalarType> {
        match self {
            Self::Scalar(scalar) => Some(*scalar),
            _ => None,
        }
    }

    /// Whether a property of this type may be unique.
    pub fn can_be_unique(&self) -> bool {
        match self {
            Self::Scalar(scalar) => scalar.is_exact(),
            Self::Enum(_) => true,
            Self::List(_) | Self::Vector(_) => false,
        }
    }

    /// Whether a text is one of an enum's values; false for the other types.
    pub fn is_enum_value(&self, text: &str) -> bool {
        match self {
            Self::Enum(values) => values.iter().any(|value| value == text),
            _ => false,
        }
    }

    /// Brings the type to its canonical form.
    pub(crate) fn normalize(&mut self) {
        if let Self::Enum(values) = self {
            values.sort();
        }
    }

    /// Refuses sizes and values outside the rules; expects the canonical form.
    pub(crate) fn check(&self) -> Result<(), TypeError> {
        match self {
            Self::Vector(size) if !(1..=VECTOR_SIZE_MAX).contains(size) => {
                Err(TypeError::VectorSize { found: size.to_string() })
            }
            Self::Enum(values) => check_values(values),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for PropertyType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scalar(scalar) => f.write_str(scalar.name()),
            Self::Enum(_) => f.write_str("enum"),
            Self::List(element) => write!(f, "list<{}>", element.name()),
            Self::Vector(size) => write!(f, "vector<{size}>"),
        }
    }
}

fn item(element: DataType) -> Arc<Field> {
    Arc::new(Field::new("item", element, true))
}

/// The text between `<` and `>` of a type with this name.
fn argument<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    text.strip_prefix(name)?.strip_prefix('<')?.strip_suffix('>')
}

fn vector_size(text: &str) -> Result<u32, TypeError> {
    let size = text.parse().ok().filter(|size: &u32| size.to_string() == text);
    size.ok_or_else(|| TypeError::VectorSize { found: text.to_owned() })
}

fn check_values(values: &[String]) -> Result<(), TypeError> {
    if values.is_empty() {
        return Err(TypeError::NoEnumValues);
    }
    if values.iter().any(String::is_empty) {
        return Err(TypeError::EmptyEnumValue);
    }
    match values.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(TypeError::DuplicateEnumValue { found: pair[0].clone() }),
        None => Ok(()),
    }
}

/// A property's type was refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TypeError {
    /// No type has this text.
    #[error("`{}` is not a property type", found.escape_debug())]
    Unknown {
        /// The refused text.
        found: String,
    },
    /// A vector's size is not a number in range.
    #[error("`{found}` is not a vector size: it must be a number from 1 to 65536")]
    VectorSize {
        /// The refused size.
        found: String,
    },
    /// An enum does not say its values.
    #[error("`enum` has no values")]
    EnumWithoutValues,
    /// Values stand beside a type that is no enum.
    #[error("`values` does not belong to type `{found}`, only to `enum`")]
    ValuesWithoutEnum {
        /// The type that was found.
        found: String,
    },
    /// The list of an enum's values is empty.
    #[error("an enum needs at least one value")]
    NoEnumValues,
    /// An enum value is the empty text.
    #[error("an enum value must not be empty")]
    EmptyEnumValue,
    /// An enum value stands twice.
    #[error("the enum value `{}` is listed twice", found.escape_debug())]
    DuplicateEnumValue {
        /// The repeated value.
        found: String,
    },
}

impl TypeError {
    /// The attribute of the property at which the error is.
    pub(crate) fn attribute(&self) -> &'static str {
        match self {
            Self::Unknown { .. } | Self::VectorSize { .. } | Self::EnumWithoutValues => "type",
            _ => "values",
        }
    }
}

impl BrokenRule for TypeError {
    fn code(&self) -> &'static str {
        match self {
            Self::Unknown { .. } => "schema.unknown_property_type",
            Self::VectorSize { .. } => "schema.vector_size",
            Self::EnumWithoutValues => "schema.enum_without_values",
            Self::ValuesWithoutEnum { .. } => "schema.values_without_enum",
            Self::NoEnumValues => "schema.enum_empty",
            Self::EmptyEnumValue => "schema.enum_empty_value",
            Self::DuplicateEnumValue { .. } => "schema.enum_duplicate_value",
        }
    }

    fn remedy(&self) -> &'static str {
        match self {
            Self::Unknown { .. } => {
                "write string, bool, i32, i64, u32, u64, f32, f64, date, datetime, binary, enum, \
                 list<one of these except enum> or vector<size>"
            }
            Self::VectorSize { .. } => "write the number of elements, such as vector<384>",
            Self::EnumWithoutValues | Self::NoEnumValues => {
                "list the allowed texts, such as values = [\"a\", \"b\"]"
            }
            Self::ValuesWithoutEnum { .. } => "remove `values` or write type = \"enum\"",
            Self::EmptyEnumValue => "remove it; use nullable = true for `no value`",
            Self::DuplicateEnumValue { .. } => "list each value once",
        }
    }
}
