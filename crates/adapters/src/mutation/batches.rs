//! Statements that are given as record batches: conformed to the columns that they need, and added to
//! the group of their form. It reads no storage.

use arrow_array::RecordBatch;
use graphwrite_schema::{PropertyDef, TypeDef};

use super::builder::MutationBuilder;
use super::draft::Form;
use super::partial::conform_partial;
use super::statement::{Action, Naming};
use crate::input::batch::{BatchFault, conform};
use crate::input::naming::unknown_type;
use crate::input::spot::Spot;
use crate::input::{InputError, Place, Rule};

impl MutationBuilder {
    pub(super) fn put(
        &mut self,
        table: &str,
        action: Action,
        rows: &RecordBatch,
    ) -> Result<(), InputError> {
        let statement = self.next_statement()?;
        let Some(def) = self.def_of(statement, table) else { return Ok(()) };
        let Some(whole) = self.schema.arrow_schema(def.identity) else { return Ok(()) };
        match conform(&def, &whole, rows)? {
            Ok(batch) => {
                let form = Form::new(&def, action, Naming::of(&def), &[]);
                self.push_batch(statement, &def, (form, &[]), batch)
            }
            Err(faults) => {
                self.refuse_cells(statement, &def.name, faults);
                Ok(())
            }
        }
    }

    pub(super) fn push_partial_batch(
        &mut self,
        statement: u32,
        def: &TypeDef,
        (action, by): (Action, Naming),
        rows: &RecordBatch,
    ) -> Result<(), InputError> {
        let Some(whole) = self.schema.arrow_schema(def.identity) else { return Ok(()) };
        match conform_partial(def, &whole, (action, by), rows)? {
            Ok((set, batch)) => {
                let form = Form::new(def, action, by, &set);
                self.push_batch(statement, def, (form, &set), batch)
            }
            Err(faults) => {
                self.refuse_cells(statement, &def.name, faults);
                Ok(())
            }
        }
    }

    fn push_batch(
        &mut self,
        statement: u32,
        def: &TypeDef,
        form: (Form, &[&PropertyDef]),
        batch: RecordBatch,
    ) -> Result<(), InputError> {
        let added = batch.num_rows();
        self.usage.rows += added as u64;
        self.usage.bytes += batch.get_array_memory_size() as u64;
        self.usage.check(&self.limits)?;
        if added == 0 {
            return Ok(());
        }
        let Some(group) = self.group(def, form)? else { return Ok(()) };
        let draft = &mut self.drafts[group];
        let (first, before) = (draft.len(), draft.open_bytes());
        let built = draft.push_batch(statement, batch)?;
        self.usage.bytes = (self.usage.bytes + built).saturating_sub(before);
        self.add_step(group, first, added);
        Ok(self.usage.check(&self.limits)?)
    }

    /// The type of a statement that is given as a record batch.
    pub(super) fn def_of(&mut self, statement: u32, table: &str) -> Option<TypeDef> {
        let found = self.schema.by_name(table).cloned();
        if found.is_none() {
            let names = self.schema.types().iter().map(|def| def.name.as_str());
            let message = unknown_type("type", table, names);
            self.refuse(
                Place::Statement(statement.into()),
                None,
                (None, Rule::UnknownType, message),
            );
        }
        found
    }

    fn refuse_cells(&mut self, statement: u32, table: &str, faults: Vec<BatchFault>) {
        for fault in faults {
            let row = fault.fault_row().map(|row| row as u32);
            let place = Spot { statement, row }.place();
            self.faults.push(fault.placed(table, place));
        }
    }
}
