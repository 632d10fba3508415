//! Rows that are not whole: the columns that name a row, and for an update those that it sets. A
//! column that is not set is absent, which is not null.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, Schema, SchemaRef};
use graphwrite_schema::{EDGE_DST, EDGE_ID, EDGE_SRC, GraphSchema, PropertyDef, TypeDef};

use super::statement::{Action, Naming};
use crate::input::assembly::{
    BATCH_BYTES, BATCH_ROWS, FieldFault, member, missing, no_key_type, unknown_property,
};
use crate::input::batch::{BatchFault, check_cells, column_for};
use crate::input::cells::{Cells, Column, Misfit};
use crate::input::json::{Json, Members};
use crate::input::{Rule, quoted};
use crate::keys::derived_ids;

/// The row that a JSON statement means.
#[derive(Debug, Clone, Copy)]
pub(super) enum NameText<'j, 'a> {
    Key(Option<&'j Json<'a>>),
    Ends(Option<&'j Json<'a>>, Option<&'j Json<'a>>),
    Id(Option<&'j Json<'a>>),
}

/// Partial rows of one form that are not built into a batch yet.
pub(super) struct Partial {
    def: TypeDef,
    by: Naming,
    schema: SchemaRef,
    name: NameCells,
    set: Vec<(PropertyDef, Column)>,
    rows: usize,
    open_bytes: u64,
}

enum NameCells {
    One(Cells),
    Ends { src: Cells, dst: Cells },
}

/// The schema of partial rows: the columns that name them, then those that are set.
pub(super) fn partial_schema(
    whole: &SchemaRef,
    def: &TypeDef,
    by: Naming,
    set: &[&PropertyDef],
) -> Result<SchemaRef, ArrowError> {
    let names =
        by.columns(def).into_iter().chain(set.iter().map(|property| property.name.as_str()));
    let fields = names.map(|name| whole.field_with_name(name).cloned());
    Ok(Arc::new(Schema::new(fields.collect::<Result<Vec<_>, _>>()?)))
}

impl Partial {
    /// None when the schema does not have what the type refers to.
    pub(super) fn new(
        schema: &GraphSchema,
        def: &TypeDef,
        by: Naming,
        set: &[&PropertyDef],
    ) -> Result<Option<Self>, ArrowError> {
        let (Some(whole), Some(name)) = (schema.arrow_schema(def.identity), names(schema, def, by))
        else {
            return Ok(None);
        };
        let partial = partial_schema(&whole, def, by, set)?;
        let columns = set.iter().map(|property| {
            let column = Column::new(&property.property_type);
            ((*property).clone(), column)
        });
        let set = columns.collect();
        Ok(Some(Self { def: def.clone(), by, schema: partial, name, set, rows: 0, open_bytes: 0 }))
    }

    pub(super) fn open_bytes(&self) -> u64 {
        self.open_bytes
    }

    pub(super) fn is_full(&self) -> bool {
        self.rows >= BATCH_ROWS || self.open_bytes >= BATCH_BYTES
    }

    /// Adds a row, or says everything that is wrong with it and adds nothing.
    pub(super) fn push(
        &mut self,
        bytes: u64,
        name: NameText<'_, '_>,
        set: &Members<'_>,
    ) -> Vec<FieldFault> {
        let mut faults = Vec::new();
        self.name.push(name, &mut faults);
        for (property, column) in &mut self.set {
            let json = member(set, &property.name).unwrap_or(&Json::Null);
            if let Err(misfit) = push_cell(property, column, json) {
                faults.push((Some(property.name.clone()), misfit));
            }
        }
        if faults.is_empty() {
            self.rows += 1;
            self.open_bytes += bytes;
        } else {
            self.name.truncate(self.rows);
            self.set.iter_mut().for_each(|(_, column)| column.truncate(self.rows));
        }
        faults
    }

    /// Builds the open rows into a batch, if there are any.
    pub(super) fn build(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        if self.rows == 0 {
            return Ok(None);
        }
        (self.rows, self.open_bytes) = (0, 0);
        let mut columns = self.name.finish(&self.def, self.by)?;
        for (_, column) in &mut self.set {
            columns.push(column.finish()?);
        }
        RecordBatch::try_new(Arc::clone(&self.schema), columns).map(Some)
    }
}

fn names(schema: &GraphSchema, def: &TypeDef, by: Naming) -> Option<NameCells> {
    let id = || Cells::new(graphwrite_schema::ScalarType::String);
    Some(match (by, def.edge()) {
        (Naming::Key, _) => NameCells::One(Cells::new(def.key_property()?.property_type.scalar()?)),
        (Naming::Id, _) => NameCells::One(id()),
        (Naming::Ends | Naming::Parallels, edge) => NameCells::Ends {
            src: Cells::new(schema.node_key_type(edge?.from)?),
            dst: Cells::new(schema.node_key_type(edge?.to)?),
        },
    })
}

impl NameCells {
    fn push(&mut self, name: NameText<'_, '_>, faults: &mut Vec<FieldFault>) {
        let mut each = |field: &str, cells: &mut Cells, json: Option<&Json<'_>>| {
            let pushed = match json {
                None | Some(Json::Null) => Err(missing()),
                Some(json) => cells.push(json),
            };
            if let Err(misfit) = pushed {
                faults.push((Some(field.to_owned()), misfit));
            }
        };
        match (self, name) {
            (Self::One(cells), NameText::Key(json)) => each("key", cells, json),
            (Self::One(cells), NameText::Id(json)) => each(EDGE_ID, cells, json),
            (Self::Ends { src, dst }, NameText::Ends(from, to)) => {
                each("from", src, from);
                each("to", dst, to);
            }
            // The reader of statements gives a type the names that it has.
            (_, NameText::Key(_) | NameText::Id(_) | NameText::Ends(..)) => {
                faults.push((None, missing()));
            }
        }
    }

    fn truncate(&mut self, len: usize) {
        match self {
            Self::One(cells) => cells.truncate(len),
            Self::Ends { src, dst } => {
                src.truncate(len);
                dst.truncate(len);
            }
        }
    }

    fn finish(&mut self, def: &TypeDef, by: Naming) -> Result<Vec<ArrayRef>, ArrowError> {
        match self {
            Self::One(cells) => Ok(vec![cells.finish()]),
            Self::Ends { src, dst } => {
                let (src, dst) = (src.finish(), dst.finish());
                if by == Naming::Parallels {
                    return Ok(vec![src, dst]);
                }
                let ids = derived_ids(def.identity, &src, &dst).ok_or_else(no_key_type)?;
                Ok(vec![Arc::new(ids), src, dst])
            }
        }
    }
}

fn push_cell(property: &PropertyDef, column: &mut Column, json: &Json<'_>) -> Result<(), Misfit> {
    match json {
        Json::Null if property.nullable => {
            column.push_null();
            Ok(())
        }
        Json::Null => Err(required(property)),
        json => column.push(json),
    }
}

fn required(property: &PropertyDef) -> Misfit {
    let message = format!("`{}` is required and cannot be set to null", property.name);
    Misfit { rule: Rule::Required, found: "null".into(), message }
}

/// The properties that an update sets, in the order of the table, or what is wrong with them.
pub(super) fn properties_set<'d, 'n>(
    def: &'d TypeDef,
    names: impl IntoIterator<Item = &'n str>,
) -> Result<Vec<&'d PropertyDef>, Vec<FieldFault>> {
    let key = def.key_property().map(|key| key.id);
    let (mut set, mut faults) = (Vec::new(), Vec::new());
    for name in names {
        match def.property_by_name(name) {
            Some(property) if Some(property.id) != key => set.push(property),
            Some(_) => faults.push((Some(name.to_owned()), fixed_key(def, name))),
            None => faults.push((Some(quoted(name)), not_settable(def, name))),
        }
    }
    if set.is_empty() && faults.is_empty() {
        faults.push((Some("set".to_owned()), nothing_set()));
    }
    set.sort_by_key(|property| property.id);
    if faults.is_empty() { Ok(set) } else { Err(faults) }
}

fn fixed_key(def: &TypeDef, name: &str) -> Misfit {
    let message = format!(
        "`{name}` is the key of {}, which an update cannot set; delete the row and insert another",
        def.name
    );
    Misfit { rule: Rule::Key, found: name.to_owned(), message }
}

fn not_settable(def: &TypeDef, name: &str) -> Misfit {
    let fixed = if def.is_node() {
        name == EDGE_ID
    } else {
        [EDGE_ID, EDGE_SRC, EDGE_DST, "from", "to"].contains(&name)
    };
    if !fixed {
        return unknown_property(def, name);
    }
    let what = if name == EDGE_ID { "the id" } else { "the ends" };
    let of = if def.is_node() { "a node" } else { "an edge" };
    let message =
        format!("{what} of {of} cannot be set by an update; delete it and insert another");
    Misfit { rule: Rule::Key, found: name.to_owned(), message }
}

fn nothing_set() -> Misfit {
    let message = "an update sets at least one property".to_owned();
    Misfit { rule: Rule::Shape, found: "nothing".into(), message }
}

/// What an update sets, in the order of the table, and the rows.
pub(super) type PartialRows<'d> = (Vec<&'d PropertyDef>, RecordBatch);

/// Partial rows of a record batch, conformed, or everything that is wrong with them.
pub(super) fn conform_partial<'d>(
    def: &'d TypeDef,
    whole: &SchemaRef,
    (action, by): (Action, Naming),
    rows: &RecordBatch,
) -> Result<Result<PartialRows<'d>, Vec<BatchFault>>, ArrowError> {
    let given = rows.schema();
    let naming: Vec<&str> =
        by.columns(def).into_iter().filter(|name| by != Naming::Ends || *name != EDGE_ID).collect();
    let names = given.fields().iter().map(|field| field.name().as_str());
    let others: Vec<&str> = names.filter(|name| !naming.contains(name)).collect();
    let mut faults = Vec::new();
    let set = if action == Action::Update {
        properties_set(def, others).unwrap_or_else(|found| {
            let columns = found.into_iter().map(|(field, misfit)| {
                BatchFault::column(field.as_deref().unwrap_or_default(), misfit)
            });
            faults.extend(columns);
            Vec::new()
        })
    } else {
        faults.extend(others.into_iter().map(|name| stranger(&naming, name)));
        Vec::new()
    };
    let schema = partial_schema(whole, def, by, &set)?;
    let mut columns = Vec::with_capacity(schema.fields().len());
    for field in schema.fields() {
        match column_for(def, field, rows)? {
            Ok(column) => columns.push(column),
            Err(found) => faults.extend(found),
        }
    }
    if faults.is_empty() {
        for (field, column) in schema.fields().iter().zip(&columns) {
            check_cells(def, field, column, &mut faults)?;
        }
    }
    if !faults.is_empty() {
        return Ok(Err(faults));
    }
    Ok(Ok((set, RecordBatch::try_new(schema, columns)?)))
}

fn stranger(naming: &[&str], name: &str) -> BatchFault {
    let found = quoted(name);
    let message = format!("a delete takes the columns {} and no other", naming.join(", "));
    BatchFault::column(&found.clone(), Misfit { rule: Rule::Shape, found, message })
}
