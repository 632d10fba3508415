//! One table under construction: rows are added whole or not at all, and become a typed batch every
//! 8,192 rows. It judges single rows; what rows say together is judged later.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, SchemaRef};
use graphwrite_schema::{
    EDGE_DST, EDGE_ID, EDGE_SRC, GraphSchema, PropertyDef, ScalarType, TypeDef, derived_edge_id,
};

use super::cells::{Cells, Column, Misfit, shown};
use super::json::{Json, Members};
use super::parts::{Origin, Part};
use super::suggest::nearest;
use super::table::identity_column;
use super::violation::{Rule, SourceName, quoted};
use crate::keys::derived_ids;

/// Rows per batch.
pub(crate) const BATCH_ROWS: usize = 8_192;

/// Bytes of lines per batch, so that no column outgrows Arrow's 32-bit offsets.
pub(crate) const BATCH_BYTES: u64 = 64 << 20;

/// One row of a file: what is outside `data`, and `data`.
pub(crate) struct RowText<'j, 'a> {
    pub(crate) from: Option<&'j Json<'a>>,
    pub(crate) to: Option<&'j Json<'a>>,
    pub(crate) data: &'j Members<'a>,
}

/// A fault of one row, and the field at which it is.
pub(crate) type FieldFault = (Option<String>, Misfit);

/// The rows of one table that are not built into a batch yet, and those that are.
pub(crate) struct Assembly {
    pub(crate) def: TypeDef,
    pub(crate) schema: SchemaRef,
    edge: Option<EdgeCells>,
    properties: Vec<(PropertyDef, Column)>,
    lines: Vec<u64>,
    /// The source of the open rows, where places name one.
    source: Option<SourceName>,
    open_bytes: u64,
    /// Bytes of open rows at which they become a batch.
    batch_bytes: u64,
    pub(crate) parts: Vec<Part>,
    pub(crate) batch_rows: u64,
}

/// The columns that an edge has beside its properties.
struct EdgeCells {
    /// Only for edges that carry their own id.
    id: Option<Cells>,
    src: Cells,
    dst: Cells,
}

impl Assembly {
    /// None when the type is not in the schema.
    pub(crate) fn new(schema: &GraphSchema, def: &TypeDef) -> Option<Self> {
        let edge = match def.edge() {
            None => None,
            Some(edge) => Some(EdgeCells {
                id: edge.multi.then(|| Cells::new(ScalarType::String)),
                src: Cells::new(schema.node_key_type(edge.from)?),
                dst: Cells::new(schema.node_key_type(edge.to)?),
            }),
        };
        let properties = def.properties.iter();
        let properties =
            properties.map(|property| (property.clone(), Column::new(&property.property_type)));
        Some(Self {
            def: def.clone(),
            schema: schema.arrow_schema(def.identity)?,
            edge,
            properties: properties.collect(),
            lines: Vec::new(),
            source: None,
            open_bytes: 0,
            batch_bytes: BATCH_BYTES,
            parts: Vec::new(),
            batch_rows: 0,
        })
    }

    /// Lets rows become a batch at so many bytes, if that is less than usual.
    pub(crate) fn with_batch_bytes(mut self, bytes: u64) -> Self {
        self.batch_bytes = self.batch_bytes.min(bytes);
        self
    }

    /// Builds what is open; the rows that follow are those of another source.
    pub(crate) fn begin_source(&mut self, source: Option<SourceName>) -> Result<u64, ArrowError> {
        let built = self.build()?;
        self.source = source;
        Ok(built)
    }

    /// Bytes of lines that are not built into a batch yet.
    pub(crate) fn open_bytes(&self) -> u64 {
        self.open_bytes
    }

    /// Whether the open rows should become a batch.
    pub(crate) fn is_full(&self) -> bool {
        self.lines.len() >= BATCH_ROWS || self.open_bytes >= self.batch_bytes
    }

    /// Adds a row, or says everything that is wrong with it and adds nothing.
    pub(crate) fn push(&mut self, line: u64, bytes: u64, row: &RowText<'_, '_>) -> Vec<FieldFault> {
        let mut faults = Vec::new();
        self.push_ends(row, &mut faults);
        self.push_id(row, &mut faults);
        self.push_properties(row, &mut faults);
        self.refuse_unknown(row.data, &mut faults);
        if faults.is_empty() {
            self.lines.push(line);
            self.open_bytes += bytes + self.cell_bytes();
        } else {
            self.truncate(self.lines.len());
        }
        faults
    }

    /// What the cells of a row take beside the text of their values.
    fn cell_bytes(&self) -> u64 {
        const CELL_BYTES: usize = size_of::<Option<String>>();
        ((self.schema.fields().len() + 1) * CELL_BYTES) as u64
    }

    fn truncate(&mut self, len: usize) {
        for (_, column) in &mut self.properties {
            column.truncate(len);
        }
        if let Some(edge) = &mut self.edge {
            edge.src.truncate(len);
            edge.dst.truncate(len);
            if let Some(id) = &mut edge.id {
                id.truncate(len);
            }
        }
    }

    fn push_ends(&mut self, row: &RowText<'_, '_>, faults: &mut Vec<FieldFault>) {
        let Some(edge) = &mut self.edge else { return };
        for (name, cells, json) in
            [("from", &mut edge.src, row.from), ("to", &mut edge.dst, row.to)]
        {
            let pushed = match json {
                None | Some(Json::Null) => Err(missing()),
                Some(json) => cells.push(json),
            };
            if let Err(misfit) = pushed {
                faults.push((Some(name.to_owned()), misfit));
            }
        }
    }

    /// The `id` of an edge: its own where it has one, else at most a repetition of what is derived.
    fn push_id(&mut self, row: &RowText<'_, '_>, faults: &mut Vec<FieldFault>) {
        let Some(edge) = &mut self.edge else { return };
        let given = member(row.data, EDGE_ID).filter(|json| **json != Json::Null);
        let checked = match (&mut edge.id, given) {
            (Some(id), Some(json)) => id.push(json),
            (Some(_), None) => Err(own_id_missing()),
            (None, None) => Ok(()),
            // Without both ends there is nothing to compare with, and that is a fault already.
            (None, Some(_)) if !faults.is_empty() => Ok(()),
            (None, Some(json)) => {
                let ends = edge.src.last_key().zip(edge.dst.last_key());
                let id = ends.map(|(src, dst)| derived_edge_id(self.def.identity, src, dst));
                let same = matches!((json, &id), (Json::Text(a), Some(b)) if a.as_ref() == b);
                if same { Ok(()) } else { Err(derived_id_differs(json)) }
            }
        };
        if let Err(misfit) = checked {
            faults.push((Some(EDGE_ID.to_owned()), misfit));
        }
    }

    fn push_properties(&mut self, row: &RowText<'_, '_>, faults: &mut Vec<FieldFault>) {
        let alias = node_alias(&self.def, row.data);
        let key = self.def.key_property().map(|key| key.id);
        for (property, column) in &mut self.properties {
            let given = member(row.data, &property.name).filter(|json| **json != Json::Null);
            let is_key = Some(property.id) == key;
            let value = given.or_else(|| alias.filter(|_| is_key));
            if let Err(misfit) = push_property(property, column, value) {
                faults.push((Some(property.name.clone()), misfit));
            }
            if let (true, Some(given), Some(alias)) = (is_key, given, alias)
                && given != alias
            {
                faults.push((Some("id".to_owned()), id_differs(alias, property, given)));
            }
        }
    }

    fn refuse_unknown(&self, data: &Members<'_>, faults: &mut Vec<FieldFault>) {
        let unknown = data.iter().filter(|(name, _)| {
            name.as_ref() != EDGE_ID && self.def.property_by_name(name).is_none()
        });
        faults.extend(
            unknown.map(|(name, _)| (Some(quoted(name)), unknown_property(&self.def, name))),
        );
    }

    /// Builds the open rows into a batch and gives back how many bytes it takes.
    pub(crate) fn build(&mut self) -> Result<u64, ArrowError> {
        if self.lines.is_empty() {
            return Ok(0);
        }
        let mut columns = self.edge_columns()?;
        for (_, column) in &mut self.properties {
            columns.push(column.finish()?);
        }
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns)?;
        let bytes = batch.get_array_memory_size() as u64;
        self.open_bytes = 0;
        let (source, lines) = (self.source.clone(), std::mem::take(&mut self.lines));
        let origin = Origin::Lines { source, lines };
        self.parts.push(Part { batch, origin });
        Ok(bytes)
    }

    fn edge_columns(&mut self) -> Result<Vec<ArrayRef>, ArrowError> {
        let Some(edge) = &mut self.edge else { return Ok(Vec::new()) };
        let (src, dst) = (edge.src.finish(), edge.dst.finish());
        let id: ArrayRef = match &mut edge.id {
            Some(id) => id.finish(),
            None => Arc::new(derived_ids(self.def.identity, &src, &dst).ok_or_else(no_key_type)?),
        };
        Ok(vec![id, src, dst])
    }
}

pub(crate) fn no_key_type() -> ArrowError {
    ArrowError::SchemaError(format!("`{EDGE_SRC}` and `{EDGE_DST}` must be of a key type"))
}

pub(crate) fn member<'j, 'a>(data: &'j Members<'a>, name: &str) -> Option<&'j Json<'a>> {
    data.iter().find(|(found, _)| found == name).map(|(_, json)| json)
}

/// `data.id` of a node whose key property has another name.
fn node_alias<'j, 'a>(def: &TypeDef, data: &'j Members<'a>) -> Option<&'j Json<'a>> {
    let aliased = def.is_node() && identity_column(def) != EDGE_ID;
    member(data, EDGE_ID).filter(|json| aliased && **json != Json::Null)
}

fn push_property(
    property: &PropertyDef,
    column: &mut Column,
    value: Option<&Json<'_>>,
) -> Result<(), Misfit> {
    match value {
        Some(json) => column.push(json),
        None if property.nullable => {
            column.push_null();
            Ok(())
        }
        None => Err(missing()),
    }
}

pub(crate) fn missing() -> Misfit {
    Misfit {
        rule: Rule::Required,
        found: "null".into(),
        message: "a value is required and there is none".into(),
    }
}

pub(crate) fn missing_column() -> Misfit {
    let message = "a column is required and there is none".to_owned();
    Misfit { rule: Rule::Required, found: "no column".into(), message }
}

fn own_id_missing() -> Misfit {
    Misfit {
        rule: Rule::Id,
        found: "null".into(),
        message: "edges of this type carry their own id; write it as `data.id`".into(),
    }
}

fn derived_id_differs(json: &Json<'_>) -> Misfit {
    let found = shown(json);
    let message = format!(
        "{found} is not the id that follows from the ends of the edge; leave `data.id` out"
    );
    Misfit { rule: Rule::Id, found, message }
}

fn id_differs(alias: &Json<'_>, property: &PropertyDef, key: &Json<'_>) -> Misfit {
    let found = shown(alias);
    let message =
        format!("`data.id` is {found}, but the key `{}` is {}", property.name, shown(key));
    Misfit { rule: Rule::Id, found, message }
}

pub(crate) fn unknown_property(def: &TypeDef, name: &str) -> Misfit {
    let found = quoted(name);
    let declared = def.properties.iter().map(|property| property.name.as_str());
    let hint = match nearest(name, declared) {
        Some(near) => format!("; did you mean `{near}`?"),
        None => String::new(),
    };
    let message = format!("{} has no property `{found}`{hint}", def.name);
    Misfit { rule: Rule::UnknownProperty, found, message }
}
