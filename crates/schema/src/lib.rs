//! The graph schema: what types a graph has, how an operator writes them down, which identity they
//! keep, what their tables look like and which constraints hold on them. It evaluates nothing on
//! rows and knows no Lance, no storage and no async runtime.

mod arrow;
mod cardinality;
mod codec;
mod constraint;
mod declare;
mod document;
mod edge_id;
mod error;
mod ir;
mod name;
mod property_type;
mod reader;
mod render;
mod validate;

pub use arrow::PROPERTY_ID_METADATA;
pub use cardinality::{Cardinality, CardinalityError};
pub use codec::{IR_VERSION, SchemaDecodeError};
pub use constraint::{Constraint, ConstraintRule, End};
pub use declare::declare;
pub use document::{DeclKind, PropertyDecl, SchemaDocument, TypeDecl};
pub use edge_id::{KeyValue, derived_edge_id};
pub use error::{Place, SchemaError, SchemaErrorKind};
pub use ir::{
    EDGE_DST, EDGE_ID, EDGE_SRC, EdgeDef, GraphSchema, PropertyDef, PropertyId, TypeDef, TypeKind,
};
pub use name::{NAME_BYTES_MAX, NameError};
pub use property_type::{PropertyType, ScalarType, TypeError, VECTOR_SIZE_MAX};
pub use reader::DocumentError;
pub use validate::{KeyError, PROPERTIES_MAX, ReferenceError, UniqueError};
