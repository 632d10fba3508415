//! The rows of one group while a mutation is read: JSON statements are added row by row, record
//! batches whole, and both become batches of one schema in the order in which they came.

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;
use graphwrite_protocol_types::TableIdentity;
use graphwrite_schema::{GraphSchema, PropertyDef, PropertyId, TypeDef};

use super::partial::{NameText, Partial};
use super::statement::{Action, Group, Naming};
use crate::input::assembly::{Assembly, FieldFault, RowText};
use crate::input::json::Members;
use crate::input::spot::Spot;

/// What rows must share to be kept together.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Form {
    pub(super) table: TableIdentity,
    pub(super) action: Action,
    pub(super) by: Naming,
    /// What an update sets, in the order of the table.
    pub(super) set: Vec<PropertyId>,
}

impl Form {
    pub(super) fn new(def: &TypeDef, action: Action, by: Naming, set: &[&PropertyDef]) -> Self {
        let set = set.iter().map(|property| property.id).collect();
        Self { table: def.identity, action, by, set }
    }
}

pub(super) struct Draft {
    form: Form,
    rows: Rows,
    batches: Vec<RecordBatch>,
    spots: Vec<Spot>,
}

enum Rows {
    Whole(Box<Assembly>),
    Partial(Box<Partial>),
}

impl Draft {
    /// None when the type is not in the schema.
    pub(super) fn new(
        schema: &GraphSchema,
        def: &TypeDef,
        form: Form,
        set: &[&PropertyDef],
    ) -> Result<Option<Self>, ArrowError> {
        let rows = match form.action {
            Action::Insert | Action::Upsert => {
                Assembly::new(schema, def).map(|rows| Rows::Whole(Box::new(rows)))
            }
            Action::Update | Action::Delete(_) => {
                Partial::new(schema, def, form.by, set)?.map(|rows| Rows::Partial(Box::new(rows)))
            }
        };
        Ok(rows.map(|rows| Self { form, rows, batches: Vec::new(), spots: Vec::new() }))
    }

    /// Rows so far.
    pub(super) fn len(&self) -> usize {
        self.spots.len()
    }

    /// Bytes of JSON that are not built into a batch yet.
    pub(super) fn open_bytes(&self) -> u64 {
        match &self.rows {
            Rows::Whole(rows) => rows.open_bytes(),
            Rows::Partial(rows) => rows.open_bytes(),
        }
    }

    pub(super) fn is_full(&self) -> bool {
        match &self.rows {
            Rows::Whole(rows) => rows.is_full(),
            Rows::Partial(rows) => rows.is_full(),
        }
    }

    /// Adds a whole row, or says what is wrong with it.
    pub(super) fn push_whole(
        &mut self,
        spot: Spot,
        bytes: u64,
        row: &RowText<'_, '_>,
    ) -> Vec<FieldFault> {
        let Rows::Whole(rows) = &mut self.rows else { return Vec::new() };
        let faults = rows.push(spot.statement.into(), bytes, row);
        if faults.is_empty() {
            self.spots.push(spot);
        }
        faults
    }

    /// Adds a partial row, or says what is wrong with it.
    pub(super) fn push_partial(
        &mut self,
        spot: Spot,
        bytes: u64,
        name: NameText<'_, '_>,
        set: &Members<'_>,
    ) -> Vec<FieldFault> {
        let Rows::Partial(rows) = &mut self.rows else { return Vec::new() };
        let faults = rows.push(bytes, name, set);
        if faults.is_empty() {
            self.spots.push(spot);
        }
        faults
    }

    /// Adds the rows of a statement that are conformed already.
    pub(super) fn push_batch(
        &mut self,
        statement: u32,
        batch: RecordBatch,
    ) -> Result<u64, ArrowError> {
        let built = self.build()?;
        let rows = 0..batch.num_rows() as u32;
        self.spots.extend(rows.map(|row| Spot { statement, row: Some(row) }));
        self.batches.push(batch);
        Ok(built)
    }

    /// Builds the open rows into a batch and gives back how many bytes it takes.
    pub(super) fn build(&mut self) -> Result<u64, ArrowError> {
        match &mut self.rows {
            Rows::Whole(rows) => {
                let bytes = rows.build()?;
                self.batches.extend(rows.parts.drain(..).map(|part| part.batch));
                Ok(bytes)
            }
            Rows::Partial(rows) => {
                let batch = rows.build()?;
                let bytes = batch.as_ref().map(|batch| batch.get_array_memory_size() as u64);
                self.batches.extend(batch);
                Ok(bytes.unwrap_or_default())
            }
        }
    }

    pub(super) fn finish(mut self) -> Result<Group, ArrowError> {
        self.build()?;
        let Form { table, action, by, .. } = self.form;
        Ok(Group::new((table, action, by), self.batches, self.spots))
    }
}
