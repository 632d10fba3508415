//! Reads the input of a load, line by line or batch by batch, and closes it: everything that the
//! rows alone can show to be wrong is found here. It reads no storage.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;
use graphwrite_protocol_types::{SchemaHash, TableIdentity};
use graphwrite_schema::GraphSchema;

use super::assembly::{Assembly, FieldFault, RowText, member};
use super::error::InputError;
use super::json::{Json, Members, parse};
use super::limits::{LoadLimits, Usage};
use super::naming::{ShapeFault, named, type_name, unknown_type};
use super::parts::{Origin, Part, Parts, place_of_line};
use super::source::Source;
use super::spill::{RowsError, Spill};
use super::table::{LoadInput, TableInput};
use super::violation::{Faults, Place, Rule, SourceName, Violation, quoted};
use super::{batch, within};
use crate::digest::content_digest;

/// The longest line, so that a single value fits Arrow's 32-bit offsets.
const LINE_BYTES_MAX: usize = 1 << 30;

/// The rows of one table: those that are open, and those that are built.
struct Table {
    open: Assembly,
    held: Parts,
}

impl Table {
    /// Takes over what was built.
    fn hold(&mut self) -> Result<(), ArrowError> {
        self.open.parts.drain(..).try_for_each(|part| self.held.push(part))
    }

    /// Moves everything to the temporary file.
    fn spill(&mut self, spill: &Arc<Spill>) -> Result<(), RowsError> {
        self.open.build()?;
        self.hold()?;
        self.held.move_to(spill)
    }
}

/// Collects the rows of one load.
pub struct InputBuilder {
    schema: GraphSchema,
    hash: SchemaHash,
    limits: LoadLimits,
    errors_max: usize,
    tables: BTreeMap<TableIdentity, Table>,
    /// Where the temporary file goes, and the file once there is one.
    temp_dir: PathBuf,
    spill: Option<Arc<Spill>>,
    /// Sources read so far, and the one being read, where places name it.
    sources: usize,
    source: Option<SourceName>,
    usage: Usage,
    faults: Faults,
}

impl InputBuilder {
    /// Rows of the types of `schema`, within the default limits; one fault is listed, others are
    /// counted.
    pub fn new(schema: &GraphSchema) -> Self {
        Self {
            hash: schema.hash(),
            schema: schema.clone(),
            limits: LoadLimits::default(),
            errors_max: 1,
            tables: BTreeMap::new(),
            temp_dir: std::env::temp_dir(),
            spill: None,
            sources: 0,
            source: None,
            usage: Usage::default(),
            faults: Faults::new(1),
        }
    }

    /// Sets how much the load may hold.
    #[must_use]
    pub fn with_limits(mut self, limits: LoadLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets where rows go that do not fit into the memory of the load: to an unnamed file, in the
    /// system's directory for temporary files if nothing is set.
    #[must_use]
    pub fn with_temp_dir(mut self, directory: impl Into<PathBuf>) -> Self {
        self.temp_dir = directory.into();
        self
    }

    /// Sets how many faults are listed, at least one. Set it before the first row.
    #[must_use]
    pub fn with_errors_max(mut self, errors_max: usize) -> Self {
        self.errors_max = errors_max;
        self.faults = Faults::new(errors_max);
        self
    }

    /// Faults so far. A caller that wants the first only may stop reading when this is not 0.
    pub fn faults(&self) -> u64 {
        self.faults.total()
    }

    /// Rows so far.
    pub fn rows(&self) -> u64 {
        self.usage.rows
    }

    /// Adds one line of a JSONL file. Blank lines are skipped, and a byte order mark before the
    /// first. A bad row is remembered and reported by [`InputBuilder::finish`].
    ///
    /// # Errors
    /// [`InputError::Limit`]; the load is to be given up.
    pub fn push_json_line(&mut self, line: u64, text: &str) -> Result<(), InputError> {
        let text = if line == 1 { text.strip_prefix('\u{feff}').unwrap_or(text) } else { text };
        if text.trim_matches([' ', '\t', '\r', '\n']).is_empty() {
            return Ok(());
        }
        if text.len() > LINE_BYTES_MAX {
            self.refuse_line(line, Rule::Json, None, "the line is longer than 1 GiB".into());
            return Ok(());
        }
        match parse(text) {
            Ok(Json::Object(members)) => self.push_row(line, text.len() as u64, &members),
            Ok(other) => {
                let message = format!("a row is an object, not {}", other.kind());
                self.refuse_line(line, Rule::Shape, None, message);
                Ok(())
            }
            Err(error) => {
                self.refuse_line(line, Rule::Json, None, error.to_string());
                Ok(())
            }
        }
    }

    /// Adds record batches' rows to the table of a type. Columns go by name; a nullable one may be
    /// missing, and so may the id of an edge that has none of its own. NaN and infinities, for
    /// which JSON has no form, are values here.
    ///
    /// # Errors
    /// [`InputError::Limit`], or columns that cannot be built; the load is to be given up.
    pub fn push_batch(&mut self, table: &str, rows: &RecordBatch) -> Result<(), InputError> {
        let Some(def) = self.schema.by_name(table) else {
            let names = self.schema.types().iter().map(|def| def.name.as_str());
            let message = unknown_type("type", table, names);
            self.refuse(Place::Table(table.to_owned()), Rule::UnknownType, None, message);
            return Ok(());
        };
        self.push_rows(def.identity, rows, None)
    }

    /// Adds rows of a batch; `at` is the number of the first one in its source, where it has one.
    pub(crate) fn push_rows(
        &mut self,
        identity: TableIdentity,
        rows: &RecordBatch,
        at: Option<u64>,
    ) -> Result<(), InputError> {
        let source = self.source.clone();
        let Some(table) = self.table(identity)? else { return Ok(()) };
        let first = at.unwrap_or(table.open.batch_rows);
        table.open.batch_rows += rows.num_rows() as u64;
        let batch = match batch::conform(&table.open.def, &table.open.schema, rows)? {
            Ok(batch) => batch,
            Err(faults) => {
                let name = table.open.def.name.clone();
                for fault in faults {
                    self.faults.push(fault.at(&name, source.as_ref(), first));
                }
                return Ok(());
            }
        };
        let (rows, bytes) = (batch.num_rows() as u64, batch.get_array_memory_size() as u64);
        if rows > 0 {
            table.open.build()?;
            table.hold()?;
            table.held.push(Part { batch, origin: Origin::Rows { source, first } })?;
        }
        self.usage.rows += rows;
        self.usage.bytes += bytes;
        self.keep_within()
    }

    /// What does not fit into the memory for rows goes to the temporary file.
    fn keep_within(&mut self) -> Result<(), InputError> {
        if self.usage.bytes > self.limits.rows_share() {
            let spill = match &self.spill {
                Some(spill) => Arc::clone(spill),
                None => Arc::new(Spill::create(&self.temp_dir)?),
            };
            self.spill = Some(Arc::clone(&spill));
            self.tables.values_mut().try_for_each(|table| table.spill(&spill))?;
            self.usage.bytes = 0;
        }
        Ok(self.usage.check(&self.limits)?)
    }

    /// Bytes of rows that make one batch.
    pub(crate) fn batch_bytes(&self) -> u64 {
        self.limits.batch_share()
    }

    pub(crate) fn temp_dir(&self) -> &Path {
        &self.temp_dir
    }

    /// Begins a source: rows of lines name it in their places, if it is to be named.
    pub(crate) fn begin_source(&mut self, source: &Source<'_>) -> Result<(), InputError> {
        let name = SourceName::new(self.sources, &source.name);
        self.sources += 1;
        let is_named = source.is_named_in_places || !source.form.has_lines();
        self.change_source(is_named.then_some(name))
    }

    pub(crate) fn end_source(&mut self) -> Result<(), InputError> {
        self.change_source(None)
    }

    fn change_source(&mut self, source: Option<SourceName>) -> Result<(), InputError> {
        for table in self.tables.values_mut() {
            let open = table.open.open_bytes();
            let built = table.open.begin_source(source.clone())?;
            table.hold()?;
            self.usage.bytes = (self.usage.bytes + built).saturating_sub(open);
        }
        self.source = source;
        Ok(())
    }

    pub(crate) fn schema(&self) -> &GraphSchema {
        &self.schema
    }

    /// Closes the input.
    ///
    /// # Errors
    /// The faults of the rows, those between them included: a key or a unique value that occurs
    /// twice.
    pub fn finish(mut self) -> Result<LoadInput, InputError> {
        let mut tables = Vec::with_capacity(self.tables.len());
        for (_, mut table) in std::mem::take(&mut self.tables) {
            table.open.build()?;
            table.hold()?;
            if !table.held.is_empty() {
                let share = self.limits.index_share();
                tables.push(TableInput::of(&table.open.def, table.held, share));
            }
        }
        self.keep_keys(&mut tables)?;
        for table in &tables {
            within::check(&self.schema, table, &mut self.faults)?;
        }
        self.faults.into_result()?;
        let content = content_digest(&tables)?;
        let (schema, errors_max) = (self.hash, self.errors_max);
        Ok(LoadInput { schema, tables, errors_max, content })
    }

    /// Lets the indexes over keys stay in memory if there is room for those of all tables.
    fn keep_keys(&self, tables: &mut [TableInput]) -> Result<(), ArrowError> {
        let bytes = tables.iter().map(TableInput::key_index_bytes);
        if bytes.sum::<Result<u64, _>>()? <= self.limits.keys_share() {
            tables.iter_mut().for_each(TableInput::keep_keys);
        }
        Ok(())
    }

    fn push_row(&mut self, line: u64, bytes: u64, members: &Members<'_>) -> Result<(), InputError> {
        let found = match self.type_of(members) {
            Ok(found) => found,
            Err((field, rule, message)) => {
                self.refuse_line(line, rule, field, message);
                return Ok(());
            }
        };
        let empty = Members::new();
        let data = match member(members, "data") {
            None => &empty,
            Some(Json::Object(data)) => data,
            Some(other) => {
                let message = format!("`data` is an object, not {}", other.kind());
                self.refuse_line(line, Rule::Shape, Some("data"), message);
                return Ok(());
            }
        };
        let row = RowText { from: member(members, "from"), to: member(members, "to"), data };
        self.push_typed(line, bytes, found, &row)
    }

    pub(crate) fn push_typed(
        &mut self,
        line: u64,
        bytes: u64,
        identity: TableIdentity,
        row: &RowText<'_, '_>,
    ) -> Result<(), InputError> {
        let Some(table) = self.table(identity)? else { return Ok(()) };
        let before = table.open.open_bytes();
        let faults = table.open.push(line, bytes, row);
        let mut built = 0;
        if table.open.is_full() {
            built = table.open.build()?;
            table.hold()?;
        }
        let (after, is_good) = (table.open.open_bytes(), faults.is_empty());
        let name = if is_good { String::new() } else { table.open.def.name.clone() };
        self.usage.bytes = (self.usage.bytes + after + built).saturating_sub(before);
        self.usage.rows += u64::from(is_good);
        self.refuse_fields(line, &name, faults);
        self.keep_within()
    }

    pub(crate) fn refuse_fields(&mut self, line: u64, table: &str, faults: Vec<FieldFault>) {
        for (field, misfit) in faults {
            self.faults.push(Violation {
                place: place_of_line(self.source.as_ref(), line),
                table: Some(table.to_owned()),
                field,
                rule: misfit.rule,
                found: Some(misfit.found),
                message: misfit.message,
            });
        }
    }

    fn refuse_line(&mut self, line: u64, rule: Rule, field: Option<&str>, message: String) {
        self.refuse(place_of_line(self.source.as_ref(), line), rule, field, message);
    }

    fn refuse(&mut self, place: Place, rule: Rule, field: Option<&str>, message: String) {
        let field = field.map(quoted);
        self.faults.push(Violation { place, table: None, field, rule, found: None, message });
    }

    fn table(&mut self, identity: TableIdentity) -> Result<Option<&mut Table>, InputError> {
        if !self.tables.contains_key(&identity) {
            let def = self.schema.by_identity(identity);
            let Some(open) = def.and_then(|def| Assembly::new(&self.schema, def)) else {
                return Ok(None);
            };
            let mut open = open.with_batch_bytes(self.limits.batch_share());
            open.begin_source(self.source.clone())?;
            let held = Parts::new(Arc::clone(&open.schema));
            self.tables.insert(identity, Table { open, held });
            self.usage.tables = self.tables.len();
            self.usage.check(&self.limits)?;
        }
        Ok(self.tables.get_mut(&identity))
    }

    /// The type that a line names, if it has the form of a row.
    fn type_of(&self, members: &Members<'_>) -> Result<TableIdentity, ShapeFault> {
        let (field, name) = type_name(members)?;
        refuse_strangers(members, field)?;
        named(&self.schema, field, name).map(|def| def.identity)
    }
}

fn refuse_strangers(members: &Members<'_>, field: &'static str) -> Result<(), ShapeFault> {
    let allowed: &[&str] =
        if field == "type" { &["type", "data"] } else { &["edge", "from", "to", "data"] };
    match members.iter().find(|(name, _)| !allowed.contains(&name.as_ref())) {
        None => Ok(()),
        Some((name, _)) => {
            let name = quoted(name);
            let message = format!("a row has no `{name}`; properties belong into `data`");
            Err((None, Rule::Shape, message))
        }
    }
}
