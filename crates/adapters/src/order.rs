//! Rows in the order of some of their columns, whatever there are of them: sorted in memory up to a
//! budget, beyond that in runs on a temporary file that are merged. It must not know what the rows
//! mean.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_row::Rows;
use arrow_schema::{ArrowError, SchemaRef};
use arrow_select::interleave::interleave_record_batch;

use crate::input::{Held, Parts, RowsError, Spill};
use crate::keys::Encoder;

/// Rows that are put together at a time.
const CHUNK_ROWS: usize = 4_096;

/// Takes rows in any order and gives them back by their key.
#[derive(Debug)]
pub struct RowSorter {
    order: Order,
    bytes_max: u64,
    temp_dir: PathBuf,
    spill: Option<Arc<Spill>>,
    /// The rows of the run that is open.
    open: Vec<RecordBatch>,
    held: Held,
    /// Bytes that their order takes while it is made.
    order_bytes: u64,
    runs: Vec<Parts>,
}

/// What rows are ordered by.
#[derive(Debug)]
struct Order {
    schema: SchemaRef,
    key: Vec<usize>,
    encoder: Encoder,
}

impl RowSorter {
    /// Rows with the columns of `schema`, ordered by the columns `key` from left to right, in about
    /// `bytes_max` bytes of memory.
    ///
    /// # Errors
    /// When a column of the key is not in the schema, or cannot be compared.
    pub fn new(schema: SchemaRef, key: &[&str], bytes_max: u64) -> Result<Self, RowsError> {
        let at = key.iter().map(|name| schema.index_of(name)).collect::<Result<Vec<_>, _>>()?;
        let encoder = Encoder::new(at.iter().map(|at| schema.field(*at).data_type().clone()))?;
        Ok(Self {
            order: Order { schema, key: at, encoder },
            bytes_max: bytes_max.max(64 << 10),
            temp_dir: std::env::temp_dir(),
            spill: None,
            open: Vec::new(),
            held: Held::default(),
            order_bytes: 0,
            runs: Vec::new(),
        })
    }

    /// Sets the directory of the temporary file.
    #[must_use]
    pub fn with_temp_dir(mut self, directory: impl AsRef<Path>) -> Self {
        self.temp_dir = directory.as_ref().to_owned();
        self
    }

    /// Adds rows.
    ///
    /// # Errors
    /// When the temporary file cannot be written.
    pub fn push(&mut self, batch: RecordBatch) -> Result<(), RowsError> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        self.held.add(&batch);
        self.order_bytes += self.order.bytes(&batch)?;
        self.open.push(batch);
        // The rest is for what is put together and written.
        if self.open_bytes() > self.bytes_max / 2 { self.close_run() } else { Ok(()) }
    }

    fn open_bytes(&self) -> u64 {
        self.held.bytes() + self.order_bytes
    }

    fn close_run(&mut self) -> Result<(), RowsError> {
        let spill = match &self.spill {
            Some(spill) => Arc::clone(spill),
            None => Arc::new(Spill::create(&self.temp_dir)?),
        };
        self.spill = Some(Arc::clone(&spill));
        let mut run = Parts::new(Arc::clone(&self.order.schema));
        let rows = self.chunk_rows();
        for batch in self.order.sorted(&std::mem::take(&mut self.open), rows)? {
            run.push_batch(batch?)?;
            run.move_to(&spill)?;
        }
        (self.held, self.order_bytes) = (Held::default(), 0);
        self.runs.push(run);
        Ok(())
    }

    /// Rows of a chunk, so that the chunks of many runs fit into the memory.
    fn chunk_rows(&self) -> usize {
        let rows: usize = self.open.iter().map(RecordBatch::num_rows).sum();
        let row_bytes = (self.held.bytes() / (rows as u64).max(1)).max(1);
        let chunk = self.bytes_max / 256 / row_bytes;
        usize::try_from(chunk).unwrap_or(CHUNK_ROWS).clamp(1, CHUNK_ROWS)
    }

    /// All rows in order, batch by batch.
    ///
    /// # Errors
    /// When the temporary file cannot be written or read.
    pub fn finish(
        mut self,
    ) -> Result<Box<dyn Iterator<Item = Result<RecordBatch, RowsError>> + Send>, RowsError> {
        if self.runs.is_empty() {
            return self.order.sorted(&self.open, usize::MAX);
        }
        if !self.open.is_empty() {
            self.close_run()?;
        }
        let Self { order, runs, .. } = self;
        Ok(Box::new(Merge::new(order, runs)?))
    }
}

/// Bytes that the order takes for each row beside its key: where it is, and where its key begins and ends.
const ORDER_ROW_BYTES: u64 = 40;

impl Order {
    /// What the order of these rows takes.
    fn bytes(&self, batch: &RecordBatch) -> Result<u64, ArrowError> {
        let mut bytes = batch.num_rows() as u64 * ORDER_ROW_BYTES;
        for at in &self.key {
            // Comparable texts are padded.
            bytes += batch.column(*at).to_data().get_slice_memory_size()? as u64 * 2;
        }
        Ok(bytes)
    }

    fn rows(&self, batch: &RecordBatch) -> Result<Rows, ArrowError> {
        let columns: Vec<ArrayRef> =
            self.key.iter().map(|at| ArrayRef::clone(batch.column(*at))).collect();
        self.encoder.rows(&columns)
    }

    /// The rows of `batches` in order, at most `chunk_rows` at a time. Equal keys stay as they came, and so
    /// do batches that are in order.
    fn sorted(
        &self,
        batches: &[RecordBatch],
        chunk_rows: usize,
    ) -> Result<Box<dyn Iterator<Item = Result<RecordBatch, RowsError>> + Send>, RowsError> {
        let rows = batches.iter().map(|batch| self.rows(batch)).collect::<Result<Vec<_>, _>>()?;
        let mut places: Vec<(usize, usize)> = (0..batches.len())
            .flat_map(|batch| (0..batches[batch].num_rows()).map(move |row| (batch, row)))
            .collect();
        let order =
            |a: &(usize, usize), b: &(usize, usize)| rows[a.0].row(a.1).cmp(&rows[b.0].row(b.1));
        let batches = batches.to_vec();
        if places.is_sorted_by(|a, b| order(a, b).is_le()) {
            let most = chunk_rows;
            let chunks = batches.into_iter().flat_map(move |batch| {
                let starts = (0..batch.num_rows()).step_by(most);
                starts.map(move |from| batch.slice(from, most.min(batch.num_rows() - from)))
            });
            return Ok(Box::new(chunks.map(Ok)));
        }
        places.sort_by(order);
        let chunk_rows = chunk_rows.min(CHUNK_ROWS);
        let chunks = places.len().div_ceil(chunk_rows);
        Ok(Box::new((0..chunks).map(move |chunk| {
            let from = chunk * chunk_rows;
            let to = places.len().min(from + chunk_rows);
            let references: Vec<&RecordBatch> = batches.iter().collect();
            Ok(interleave_record_batch(&references, &places[from..to])?)
        })))
    }
}

/// The next row of a run: its key, and the number of the run, so that equal keys stay as they came.
type Next = Reverse<(Vec<u8>, usize)>;

/// Runs on their way into one order.
struct Merge {
    order: Order,
    runs: Vec<Run>,
    next: BinaryHeap<Next>,
}

/// A sorted run, read chunk by chunk.
struct Run {
    parts: Parts,
    part: usize,
    row: usize,
    /// The chunk at hand and its keys.
    chunk: RecordBatch,
    keys: Rows,
}

impl Merge {
    fn new(order: Order, runs: Vec<Parts>) -> Result<Self, RowsError> {
        let mut merge = Self { order, runs: Vec::new(), next: BinaryHeap::new() };
        for (at, parts) in runs.into_iter().enumerate() {
            let chunk = parts.batch(0)?;
            let keys = merge.order.rows(&chunk)?;
            merge.runs.push(Run { parts, part: 0, row: 0, chunk, keys });
            merge.offer(at);
        }
        Ok(merge)
    }

    /// Lets a run offer the row at which it stands.
    fn offer(&mut self, at: usize) {
        let run = &self.runs[at];
        if run.row < run.chunk.num_rows() {
            self.next.push(Reverse((run.keys.row(run.row).data().to_vec(), at)));
        }
    }

    /// The next rows, as many as there are chunks at hand for.
    fn chunk(&mut self) -> Result<Option<RecordBatch>, RowsError> {
        let chunks: Vec<RecordBatch> = self.runs.iter().map(|run| run.chunk.clone()).collect();
        let mut places = Vec::with_capacity(CHUNK_ROWS);
        let mut ended = None;
        while places.len() < CHUNK_ROWS && ended.is_none() {
            let Some(Reverse((_, at))) = self.next.pop() else { break };
            let run = &mut self.runs[at];
            places.push((at, run.row));
            run.row += 1;
            if run.row == run.chunk.num_rows() {
                ended = Some(at);
            } else {
                self.offer(at);
            }
        }
        if places.is_empty() {
            return Ok(None);
        }
        let references: Vec<&RecordBatch> = chunks.iter().collect();
        let merged = interleave_record_batch(&references, &places)?;
        if let Some(at) = ended {
            self.read_on(at)?;
        }
        Ok(Some(merged))
    }

    /// Takes the next chunk of a run to hand.
    fn read_on(&mut self, at: usize) -> Result<(), RowsError> {
        let run = &mut self.runs[at];
        run.part += 1;
        run.row = 0;
        run.chunk = run.parts.batch(run.part)?;
        run.keys = self.order.rows(&run.chunk)?;
        self.offer(at);
        Ok(())
    }
}

impl Iterator for Merge {
    type Item = Result<RecordBatch, RowsError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.chunk().transpose()
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;
    use arrow_array::types::Int64Type;
    use arrow_array::{Int64Array, StringArray};

    use super::*;

    fn batch(rows: &[(&str, i64)]) -> RecordBatch {
        let names = StringArray::from_iter_values(rows.iter().map(|row| row.0));
        let numbers = Int64Array::from_iter_values(rows.iter().map(|row| row.1));
        let columns: [(&str, ArrayRef); 2] =
            [("name", Arc::new(names)), ("number", Arc::new(numbers))];
        RecordBatch::try_from_iter(columns).unwrap()
    }

    fn numbers(batches: &[RecordBatch], key: &[&str], bytes_max: u64) -> (Vec<i64>, usize) {
        let schema = batch(&[]).schema();
        let mut sorter = RowSorter::new(schema, key, bytes_max).unwrap();
        batches.iter().for_each(|batch| sorter.push(batch.clone()).unwrap());
        let runs = sorter.runs.len();
        let sorted = sorter.finish().unwrap().map(Result::unwrap);
        let numbers =
            sorted.flat_map(|b| b.column(1).as_primitive::<Int64Type>().values().to_vec());
        (numbers.collect(), runs)
    }

    fn in_memory(batches: &[RecordBatch], key: &[&str]) -> Vec<i64> {
        let (numbers, runs) = numbers(batches, key, 1 << 30);
        assert_eq!(runs, 0);
        numbers
    }

    #[test]
    fn rows_of_several_batches_come_in_the_order_of_their_keys() {
        let batches = [batch(&[("c", 3), ("a", 1)]), batch(&[]), batch(&[("b", 2)])];
        assert_eq!(in_memory(&batches, &["name"]), [1, 2, 3]);
    }

    #[test]
    fn a_key_of_several_columns_is_compared_from_left_to_right() {
        let batches = [batch(&[("a", 10), ("b", 1)]), batch(&[("a", 9)])];
        assert_eq!(in_memory(&batches, &["name", "number"]), [9, 10, 1]);
    }

    #[test]
    fn numbers_are_ordered_as_numbers() {
        let rows = [batch(&[("x", 10), ("x", -1), ("x", 9)])];
        assert_eq!(in_memory(&rows, &["number"]), [-1, 9, 10]);
    }

    #[test]
    fn no_rows_are_no_rows_and_a_missing_column_is_an_error() {
        assert_eq!(in_memory(&[], &["number"]), Vec::<i64>::new());
        assert!(RowSorter::new(batch(&[]).schema(), &["gone"], 0).is_err());
    }

    #[test]
    fn slices_of_a_batch_are_not_more_rows_than_the_batch() {
        let rows: Vec<_> = (0..20_000).rev().map(|n| (format!("{n:05}"), n)).collect();
        let rows: Vec<_> = rows.iter().map(|(name, n)| (name.as_str(), *n)).collect();
        let whole = batch(&rows);
        let slices: Vec<_> = (0..200).map(|part| whole.slice(part * 100, 100)).collect();
        let (sorted, runs) = numbers(&slices, &["name"], 4 << 20);
        assert_eq!(runs, 0);
        assert_eq!(sorted, (0..20_000).collect::<Vec<_>>());
    }

    #[test]
    fn what_is_in_order_already_is_given_back_as_it_came() {
        let batches = [batch(&[("a", 2), ("b", 1)]), batch(&[("b", 0)]), batch(&[("c", 9)])];
        let mut sorter = RowSorter::new(batches[0].schema(), &["name"], 1 << 20).unwrap();
        batches.iter().for_each(|batch| sorter.push(batch.clone()).unwrap());
        let sorted: Vec<_> = sorter.finish().unwrap().map(Result::unwrap).collect();
        assert_eq!(sorted, batches);
    }

    #[test]
    fn rows_beyond_the_memory_are_merged_from_runs_and_none_is_lost() {
        let name = |n: i64| format!("{:05}", n * 7_919 % 20_000 / 3);
        let rows: Vec<_> = (0..20_000).map(|n| (name(n), n)).collect();
        let batches: Vec<_> = rows
            .chunks(1_000)
            .map(|rows| {
                let rows: Vec<_> = rows.iter().map(|(name, n)| (name.as_str(), *n)).collect();
                batch(&rows)
            })
            .collect();
        let (merged, runs) = numbers(&batches, &["name"], 64 << 10);
        assert!(runs > 3, "{runs} runs");
        let mut expected = rows.clone();
        expected.sort();
        let expected: Vec<_> = expected.into_iter().map(|(_, n)| n).collect();
        assert_eq!(merged, expected, "equal keys stay as they came");
        assert_eq!(in_memory(&batches, &["name"]), expected);
    }
}
