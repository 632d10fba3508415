//! The Arrow shape of each type's table. It knows columns, not rows.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef};
use graphwrite_protocol_types::TableIdentity;

use crate::ir::{EDGE_DST, EDGE_ID, EDGE_SRC, EdgeDef, GraphSchema, PropertyDef, TypeKind};

/// The field metadata key under which a property's column names its property id.
pub const PROPERTY_ID_METADATA: &str = "graphwrite.property_id";

impl GraphSchema {
    /// The columns of a type's table; none when the schema has no such type.
    ///
    /// A node table has exactly the declared properties: the key property is the row's id. An edge
    /// table has `id` (text), `src` and `dst` (each of the key type of its node type), then the
    /// properties. The properties are in the order of their ids.
    pub fn arrow_schema(&self, identity: TableIdentity) -> Option<SchemaRef> {
        let def = self.by_identity(identity)?;
        let mut fields = match &def.kind {
            TypeKind::Node { .. } => Vec::new(),
            TypeKind::Edge(edge) => self.edge_columns(edge)?,
        };
        fields.extend(def.properties.iter().map(PropertyDef::arrow_field));
        Some(Arc::new(Schema::new(fields)))
    }

    fn edge_columns(&self, edge: &EdgeDef) -> Option<Vec<Field>> {
        let src = self.node_key_type(edge.from)?.arrow();
        let dst = self.node_key_type(edge.to)?.arrow();
        let columns = [(EDGE_ID, DataType::Utf8), (EDGE_SRC, src), (EDGE_DST, dst)];
        Some(columns.map(|(name, column)| Field::new(name, column, false)).into())
    }
}

impl PropertyDef {
    /// The column of the property, which carries the property's id as metadata.
    pub fn arrow_field(&self) -> Field {
        let metadata = HashMap::from([(PROPERTY_ID_METADATA.to_owned(), self.id.to_string())]);
        Field::new(&self.name, self.property_type.arrow(), self.nullable).with_metadata(metadata)
    }
}
