//! Reads the statements of one mutation, as JSON or as record batches, and closes it: everything
//! that the statements alone can show to be wrong is found here. It reads no storage.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use arrow_array::RecordBatch;
use graphwrite_protocol_types::{SchemaHash, TableIdentity};
use graphwrite_schema::{EDGE_ID, GraphSchema, PropertyDef, TypeDef};
use graphwrite_substrate::Predicate;

use super::draft::{Draft, Form};
use super::json::{Misshapen, Request, locate, read};
use super::partial::{NameText, properties_set};
use super::statement::{Action, MutationInput, Naming, OnReferenced, Selection, Step};
use crate::input::assembly::{FieldFault, RowText};
use crate::input::json::{Elements, Json, JsonError, Members, parse};
use crate::input::limits::Usage;
use crate::input::spot::Spot;
use crate::input::{Faults, InputError, LimitExceeded, LoadLimits, Place, Rule, Violation, quoted};

/// Collects the statements of one mutation. They are counted from 1, over everything that is
/// pushed.
pub struct MutationBuilder {
    pub(super) schema: Arc<GraphSchema>,
    hash: SchemaHash,
    pub(super) limits: LoadLimits,
    errors_max: usize,
    forms: BTreeMap<Form, usize>,
    pub(super) drafts: Vec<Draft>,
    steps: Vec<Step>,
    tables: BTreeSet<TableIdentity>,
    statements: u32,
    pub(super) usage: Usage,
    pub(super) faults: Faults,
}

impl MutationBuilder {
    /// Statements on the types of `schema`, within the default limits; one fault is listed, others
    /// are counted.
    pub fn new(schema: &GraphSchema) -> Self {
        Self {
            hash: schema.hash(),
            schema: Arc::new(schema.clone()),
            limits: LoadLimits::default(),
            errors_max: 1,
            forms: BTreeMap::new(),
            drafts: Vec::new(),
            steps: Vec::new(),
            tables: BTreeSet::new(),
            statements: 0,
            usage: Usage::default(),
            faults: Faults::new(1),
        }
    }

    /// Sets how much the mutation may hold. A condition counts as one row.
    #[must_use]
    pub fn with_limits(mut self, limits: LoadLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets how many faults are listed, at least one. Set it before the first statement.
    #[must_use]
    pub fn with_errors_max(mut self, errors_max: usize) -> Self {
        self.errors_max = errors_max;
        self.faults = Faults::new(errors_max);
        self
    }

    /// Faults so far.
    pub fn faults(&self) -> u64 {
        self.faults.total()
    }

    /// Statements so far.
    pub fn statements(&self) -> u64 {
        self.statements.into()
    }

    /// Adds the statements of a JSON array. A bad one is remembered and reported by
    /// [`MutationBuilder::finish`].
    ///
    /// # Errors
    /// [`InputError::Limit`]; the mutation is to be given up.
    pub fn push_json(&mut self, text: &str) -> Result<(), InputError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let Some(mut statements) = Elements::of(text) else {
            self.refuse_text(text);
            return Ok(());
        };
        statements.try_for_each(|read| match read {
            Ok((statement, bytes)) => self.push_statement(bytes as u64, &statement),
            Err(error) => {
                self.refuse_json(text, &error);
                Ok(())
            }
        })
    }

    fn refuse_text(&mut self, text: &str) {
        match parse(text) {
            Ok(other) => {
                let message = format!("a mutation is an array of statements, not {}", other.kind());
                self.refuse(Place::Line(1), None, (None, Rule::Shape, message));
            }
            Err(error) => self.refuse_json(text, &error),
        }
    }

    fn refuse_json(&mut self, text: &str, error: &JsonError) {
        let (line, message) = locate(text, error);
        self.refuse(Place::Line(line), None, (None, Rule::Json, message));
    }

    /// Adds the rows of a batch, whose keys must not be there when they are inserted. Columns go by
    /// name; a nullable one may be missing, and so may the id of an edge that has none of its own.
    ///
    /// # Errors
    /// [`InputError::Limit`], or columns that cannot be built; the mutation is to be given up.
    pub fn insert(&mut self, table: &str, rows: &RecordBatch) -> Result<(), InputError> {
        self.put(table, Action::Insert, rows)
    }

    /// Adds the rows of a batch, each in place of the row with its key, if there is one. A nullable
    /// property whose column is missing becomes null.
    ///
    /// # Errors
    /// As for [`MutationBuilder::insert`].
    pub fn upsert(&mut self, table: &str, rows: &RecordBatch) -> Result<(), InputError> {
        self.put(table, Action::Upsert, rows)
    }

    /// Sets some columns of rows that must be there: the batch has the columns of the key and those
    /// that are set. A row is named by its key; an edge by `src` and `dst`, or by `id` where edges
    /// may be parallel.
    ///
    /// # Errors
    /// As for [`MutationBuilder::insert`].
    pub fn update(&mut self, table: &str, rows: &RecordBatch) -> Result<(), InputError> {
        let statement = self.next_statement()?;
        let Some(def) = self.def_of(statement, table) else { return Ok(()) };
        self.push_partial_batch(statement, &def, (Action::Update, Naming::of(&def)), rows)
    }

    /// Deletes the rows with these keys; a key that is not there does nothing. Edges that may be
    /// parallel are named by `id`, or by `src` and `dst`, which means all of them. Nothing refers to
    /// an edge, so `on` says nothing of edges.
    ///
    /// # Errors
    /// As for [`MutationBuilder::insert`].
    pub fn delete(
        &mut self,
        table: &str,
        keys: &RecordBatch,
        on: OnReferenced,
    ) -> Result<(), InputError> {
        let statement = self.next_statement()?;
        let Some(def) = self.def_of(statement, table) else { return Ok(()) };
        let between = keys.column_by_name(EDGE_ID).is_none();
        let by = match Naming::of(&def) {
            Naming::Id if between => Naming::Parallels,
            by => by,
        };
        self.push_partial_batch(statement, &def, (Action::Delete(relevant(&def, on)), by), keys)
    }

    /// Deletes the rows for which an SQL condition over the columns of the table is true when the
    /// statement acts.
    ///
    /// # Errors
    /// As for [`MutationBuilder::insert`].
    pub fn delete_where(
        &mut self,
        table: &str,
        predicate: &str,
        on: OnReferenced,
    ) -> Result<(), InputError> {
        let statement = self.next_statement()?;
        let Some(def) = self.def_of(statement, table) else { return Ok(()) };
        self.push_where(statement, &def, predicate, on)
    }

    /// Closes the mutation.
    ///
    /// # Errors
    /// The faults of the statements.
    pub fn finish(self) -> Result<MutationInput, InputError> {
        let groups = self.drafts.into_iter().map(Draft::finish).collect::<Result<Vec<_>, _>>()?;
        self.faults.into_result()?;
        Ok(MutationInput {
            schema: self.hash,
            groups,
            steps: self.steps,
            statements: self.statements,
            errors_max: self.errors_max,
            limits: self.limits,
            content: OnceLock::new(),
        })
    }

    pub(super) fn next_statement(&mut self) -> Result<u32, InputError> {
        let next = self.statements.checked_add(1);
        self.statements = next.ok_or(LimitExceeded::Rows { max: u32::MAX.into() })?;
        Ok(self.statements)
    }

    fn push_statement(&mut self, bytes: u64, statement: &Json<'_>) -> Result<(), InputError> {
        let number = self.next_statement()?;
        let schema = Arc::clone(&self.schema);
        match read(&schema, statement) {
            Ok(Request::Put { def, strict, row }) => {
                let action = if strict { Action::Insert } else { Action::Upsert };
                self.push_whole(number, bytes, (def, action), &row)
            }
            Ok(Request::Update { def, name, set }) => {
                self.push_update(number, bytes, def, name, set)
            }
            Ok(Request::Delete { def, by, name, on }) => {
                let form = Form::new(def, Action::Delete(on), by, &[]);
                self.push_partial(number, bytes, def, (form, &[]), (name, &Members::new()))
            }
            Ok(Request::DeleteWhere { def, text, on }) => self.push_where(number, def, text, on),
            Err(fault) => {
                self.refuse(Place::Statement(number.into()), None, fault);
                Ok(())
            }
        }
    }

    fn push_whole(
        &mut self,
        statement: u32,
        bytes: u64,
        (def, action): (&TypeDef, Action),
        row: &RowText<'_, '_>,
    ) -> Result<(), InputError> {
        let form = Form::new(def, action, Naming::of(def), &[]);
        let spot = Spot { statement, row: None };
        let push = |draft: &mut Draft| draft.push_whole(spot, bytes, row);
        self.push_row(statement, def, (form, &[]), push)
    }

    fn push_update(
        &mut self,
        statement: u32,
        bytes: u64,
        def: &TypeDef,
        name: NameText<'_, '_>,
        set: &Members<'_>,
    ) -> Result<(), InputError> {
        match properties_set(def, set.iter().map(|(name, _)| name.as_ref())) {
            Ok(properties) => {
                let form = Form::new(def, Action::Update, Naming::of(def), &properties);
                self.push_partial(statement, bytes, def, (form, &properties), (name, set))
            }
            Err(faults) => {
                self.refuse_fields(statement, &def.name, faults);
                Ok(())
            }
        }
    }

    fn push_partial(
        &mut self,
        statement: u32,
        bytes: u64,
        def: &TypeDef,
        form: (Form, &[&PropertyDef]),
        (name, set): (NameText<'_, '_>, &Members<'_>),
    ) -> Result<(), InputError> {
        let spot = Spot { statement, row: None };
        let push = |draft: &mut Draft| draft.push_partial(spot, bytes, name, set);
        self.push_row(statement, def, form, push)
    }

    /// Adds one row to the group of its form, and to the step before it if that does the same.
    fn push_row(
        &mut self,
        statement: u32,
        def: &TypeDef,
        form: (Form, &[&PropertyDef]),
        push: impl FnOnce(&mut Draft) -> Vec<FieldFault>,
    ) -> Result<(), InputError> {
        let Some(group) = self.group(def, form)? else { return Ok(()) };
        let draft = &mut self.drafts[group];
        let (first, before) = (draft.len(), draft.open_bytes());
        let faults = push(draft);
        let built = if draft.is_full() { draft.build()? } else { 0 };
        let after = draft.open_bytes();
        self.usage.bytes = (self.usage.bytes + after + built).saturating_sub(before);
        self.usage.rows += u64::from(faults.is_empty());
        if faults.is_empty() {
            self.add_step(group, first, 1);
        }
        self.refuse_fields(statement, &def.name, faults);
        Ok(self.usage.check(&self.limits)?)
    }

    pub(super) fn add_step(&mut self, group: usize, first: usize, added: usize) {
        match self.steps.last_mut() {
            Some(Step::Rows { group: last, rows }) if *last == group && rows.end == first => {
                rows.end += added;
            }
            _ => self.steps.push(Step::Rows { group, rows: first..first + added }),
        }
    }

    fn push_where(
        &mut self,
        statement: u32,
        def: &TypeDef,
        text: &str,
        on: OnReferenced,
    ) -> Result<(), InputError> {
        let Some(columns) = self.schema.arrow_schema(def.identity) else { return Ok(()) };
        match Predicate::parse(&columns, text) {
            Ok(predicate) => {
                let (table, on) = (def.identity, relevant(def, on));
                let spot = Spot { statement, row: None };
                self.steps.push(Step::Where(Selection { table, predicate, on, spot }));
                self.usage.bytes += text.len() as u64;
                self.usage.rows += 1;
                self.note_table(table)
            }
            Err(error) => {
                let place = Place::Statement(statement.into());
                let fault = (Some("where".to_owned()), Rule::Predicate, error.to_string());
                self.refuse(place, Some(&def.name), fault);
                Ok(())
            }
        }
    }

    /// The group of a form; none when the type is not in the schema.
    pub(super) fn group(
        &mut self,
        def: &TypeDef,
        (form, set): (Form, &[&PropertyDef]),
    ) -> Result<Option<usize>, InputError> {
        if let Some(group) = self.forms.get(&form) {
            return Ok(Some(*group));
        }
        self.note_table(def.identity)?;
        let Some(draft) = Draft::new(&self.schema, def, form.clone(), set)? else {
            return Ok(None);
        };
        self.drafts.push(draft);
        let group = self.drafts.len() - 1;
        self.forms.insert(form, group);
        Ok(Some(group))
    }

    fn note_table(&mut self, table: TableIdentity) -> Result<(), InputError> {
        self.tables.insert(table);
        self.usage.tables = self.tables.len();
        Ok(self.usage.check(&self.limits)?)
    }

    fn refuse_fields(&mut self, statement: u32, table: &str, faults: Vec<FieldFault>) {
        for (field, misfit) in faults {
            self.faults.push(Violation {
                place: Place::Statement(statement.into()),
                table: Some(table.to_owned()),
                field,
                rule: misfit.rule,
                found: Some(misfit.found),
                message: misfit.message,
            });
        }
    }

    pub(super) fn refuse(
        &mut self,
        place: Place,
        table: Option<&str>,
        (field, rule, message): Misshapen,
    ) {
        let (table, field) = (table.map(str::to_owned), field.as_deref().map(quoted));
        self.faults.push(Violation { place, table, field, rule, found: None, message });
    }
}

/// Nothing refers to an edge: whatever a caller says of it, the request is the same.
fn relevant(def: &TypeDef, on: OnReferenced) -> OnReferenced {
    if def.is_node() { on } else { OnReferenced::Restrict }
}
