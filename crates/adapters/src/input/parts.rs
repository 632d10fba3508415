//! The rows of one table in the order in which they came: in memory, or on the temporary file of the
//! request, and in both cases read batch by batch. It judges no row.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{Array, ArrayRef, RecordBatch, UInt64Array};
use arrow_schema::{ArrowError, SchemaRef};

use super::spill::{Chunk, RowsError, Spill};
use super::spot::Spot;
use super::violation::{Place, SourceName};

/// Some rows of a table, and where they came from.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    pub(crate) batch: RecordBatch,
    pub(crate) origin: Origin,
}

/// Where the rows of a part came from.
#[derive(Debug, Clone)]
pub(crate) enum Origin {
    /// The line of each row.
    Lines { source: Option<SourceName>, lines: Vec<u64> },
    /// The number of the first row among all that were given for the table, or that the source has.
    Rows { source: Option<SourceName>, first: u64 },
    /// The place of each row within a mutation.
    Spots(Vec<Spot>),
}

/// All rows of a table.
#[derive(Debug, Clone)]
pub(crate) struct Parts {
    schema: SchemaRef,
    parts: Vec<Stored>,
    /// Number of the first row of each part.
    starts: Vec<usize>,
    rows: usize,
    /// For each column, the bytes of its values, and whether there is a value at all.
    widths: Vec<u64>,
    filled: Vec<bool>,
    spill: Option<Arc<Spill>>,
}

#[derive(Debug, Clone)]
struct Stored {
    rows: usize,
    columns: Columns,
    source: Option<SourceName>,
    numbers: Numbers,
}

#[derive(Debug, Clone)]
enum Columns {
    Memory(RecordBatch),
    Spilled(Vec<Chunk>),
}

/// The numbers of rows: their lines, or what they are counted from.
#[derive(Debug, Clone)]
enum Numbers {
    Lines(Vec<u64>),
    SpilledLines(Chunk),
    From(u64),
    Spots(Vec<Spot>),
}

impl Parts {
    pub(crate) fn new(schema: SchemaRef) -> Self {
        let columns = schema.fields().len();
        Self {
            schema,
            parts: Vec::new(),
            starts: Vec::new(),
            rows: 0,
            widths: vec![0; columns],
            filled: vec![false; columns],
            spill: None,
        }
    }

    pub(crate) fn push(&mut self, Part { batch, origin }: Part) -> Result<(), ArrowError> {
        for (at, column) in batch.columns().iter().enumerate() {
            self.widths[at] += column.to_data().get_slice_memory_size()? as u64;
            self.filled[at] |= column.null_count() < column.len();
        }
        let rows = batch.num_rows();
        self.starts.push(self.rows);
        self.rows += rows;
        let (source, numbers) = match origin {
            Origin::Lines { source, lines } => (source, Numbers::Lines(lines)),
            Origin::Rows { source, first } => (source, Numbers::From(first)),
            Origin::Spots(spots) => (None, Numbers::Spots(spots)),
        };
        self.parts.push(Stored { rows, columns: Columns::Memory(batch), source, numbers });
        Ok(())
    }

    /// Adds rows that need no places.
    pub(crate) fn push_batch(&mut self, batch: RecordBatch) -> Result<(), ArrowError> {
        let first = self.rows as u64;
        self.push(Part { batch, origin: Origin::Rows { source: None, first } })
    }

    /// Moves what is in memory to the file.
    pub(crate) fn move_to(&mut self, spill: &Arc<Spill>) -> Result<(), RowsError> {
        self.spill = Some(Arc::clone(spill));
        // Earlier parts are there already.
        for part in self.parts.iter_mut().rev() {
            let Columns::Memory(batch) = &part.columns else { break };
            let chunks = batch.columns().iter().map(|column| spill.write(column));
            part.columns = Columns::Spilled(chunks.collect::<Result<_, _>>()?);
            if let Numbers::Lines(lines) = &mut part.numbers {
                let lines: ArrayRef = Arc::new(UInt64Array::from(std::mem::take(lines)));
                part.numbers = Numbers::SpilledLines(spill.write(&lines)?);
            }
        }
        Ok(())
    }

    pub(crate) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Bytes of the values of a column.
    pub(crate) fn width(&self, column: usize) -> u64 {
        self.widths.get(column).copied().unwrap_or_default()
    }

    /// Whether a column has a value.
    pub(crate) fn is_filled(&self, column: usize) -> bool {
        self.filled.get(column).copied().unwrap_or_default()
    }

    /// How many batches there are.
    pub(crate) fn len(&self) -> usize {
        self.parts.len()
    }

    /// Number of the first row of a part.
    pub(crate) fn first_row(&self, part: usize) -> usize {
        self.starts.get(part).copied().unwrap_or(self.rows)
    }

    pub(crate) fn rows_of(&self, part: usize) -> usize {
        self.parts.get(part).map_or(0, |part| part.rows)
    }

    /// Whether rows are on the temporary file.
    pub(crate) fn is_spilled(&self) -> bool {
        self.spill.is_some()
    }

    pub(crate) fn batch(&self, part: usize) -> Result<RecordBatch, RowsError> {
        match self.parts.get(part).map(|part| &part.columns) {
            Some(Columns::Memory(batch)) => Ok(batch.clone()),
            Some(Columns::Spilled(chunks)) => {
                let columns = chunks.iter().map(|chunk| self.read(*chunk));
                let columns = columns.collect::<Result<_, _>>()?;
                Ok(RecordBatch::try_new(Arc::clone(&self.schema), columns)?)
            }
            None => Ok(RecordBatch::new_empty(Arc::clone(&self.schema))),
        }
    }

    /// Some columns of a part, and nothing of the others.
    pub(crate) fn columns(&self, part: usize, at: &[usize]) -> Result<Vec<ArrayRef>, RowsError> {
        at.iter().map(|at| self.column(part, *at)).collect()
    }

    fn column(&self, part: usize, at: usize) -> Result<ArrayRef, RowsError> {
        let missing = || ArrowError::SchemaError(format!("part {part} has no column {at}"));
        let part = self.parts.get(part).ok_or_else(missing)?;
        match &part.columns {
            Columns::Memory(batch) => {
                Ok(ArrayRef::clone(batch.columns().get(at).ok_or_else(missing)?))
            }
            Columns::Spilled(chunks) => self.read(*chunks.get(at).ok_or_else(missing)?),
        }
    }

    /// Number of the part of a row, and the row within it.
    pub(crate) fn locate(&self, row: usize) -> Option<(usize, usize)> {
        let part = self.starts.partition_point(|start| *start <= row).checked_sub(1)?;
        let at = row - self.starts[part];
        (at < self.parts[part].rows).then_some((part, at))
    }

    /// Where a row came from; `table` names what its batches were given for.
    pub(crate) fn place(&self, table: &str, row: usize) -> Option<Place> {
        let (at, row) = self.locate(row)?;
        let part = &self.parts[at];
        let source = part.source.as_ref();
        match &part.numbers {
            Numbers::Lines(lines) => Some(place_of_line(source, *lines.get(row)?)),
            Numbers::SpilledLines(chunk) => {
                let lines = self.read(*chunk).ok()?;
                let lines = lines.as_primitive_opt::<UInt64Type>()?;
                Some(place_of_line(source, lines.value(row)))
            }
            Numbers::From(first) => Some(place_of_row(source, table, first + row as u64)),
            Numbers::Spots(spots) => spots.get(row).map(|spot| spot.place()),
        }
    }

    fn read(&self, chunk: Chunk) -> Result<ArrayRef, RowsError> {
        let missing = || ArrowError::IpcError("the temporary file is gone".into());
        self.spill.as_ref().ok_or_else(missing)?.read(chunk)
    }
}

pub(crate) fn place_of_line(source: Option<&SourceName>, line: u64) -> Place {
    match source {
        Some(source) => Place::SourceLine { source: source.clone(), line },
        None => Place::Line(line),
    }
}

pub(crate) fn place_of_row(source: Option<&SourceName>, table: &str, row: u64) -> Place {
    match source {
        Some(source) => Place::SourceRow { source: source.clone(), row },
        None => Place::Row { table: table.to_owned(), row },
    }
}
