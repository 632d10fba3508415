//! Typed equality over columns, in bulk: rows as comparable bytes, indexed by sorting. Null differs
//! from every value, floats compare by their bits, lists and vectors by their items. Where an index of
//! all rows would outgrow the memory, it is built pass by pass. It knows no table and no constraint.

use std::hash::{DefaultHasher, Hasher};

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, Int32Array, Int64Array, StringArray, UInt32Array, UInt64Array};
use arrow_row::{Row, RowConverter, Rows, SortField};
use arrow_schema::{ArrowError, DataType};
use arrow_select::take::take;
use graphwrite_protocol_types::TableIdentity;
use graphwrite_schema::{KeyValue, derived_edge_id};

/// Turns rows of some columns into comparable bytes.
#[derive(Debug)]
pub(crate) struct Encoder(RowConverter);

impl Encoder {
    pub(crate) fn new(types: impl IntoIterator<Item = DataType>) -> Result<Self, ArrowError> {
        RowConverter::new(types.into_iter().map(SortField::new).collect()).map(Self)
    }

    pub(crate) fn rows(&self, columns: &[ArrayRef]) -> Result<Rows, ArrowError> {
        self.0.convert_columns(columns)
    }
}

/// Some of all values, told by a hash: several passes ask the same question about all values, and
/// each holds only its own in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pass {
    number: u32,
    of: u32,
}

/// Bytes that an index takes for each row beside the value: numbers, offsets, and room to grow.
const ROW_BYTES: u64 = 48;

impl Pass {
    /// The one pass over everything.
    pub(crate) const ALL: Self = Self { number: 0, of: 1 };

    /// How many passes keep an index of `rows` rows, whose values have `bytes` bytes, below `share`.
    pub(crate) fn needed(rows: u64, bytes: u64, share: u64) -> u32 {
        let passes = index_bytes(rows, bytes).div_ceil(share.max(1));
        u32::try_from(passes).unwrap_or(u32::MAX).clamp(1, PASSES_MAX)
    }

    /// All passes of a question that needs so many.
    pub(crate) fn each(of: u32) -> impl Iterator<Item = Self> {
        (0..of.max(1)).map(move |number| Self { number, of: of.max(1) })
    }

    /// Whether a value belongs to the pass.
    pub(crate) fn has(self, value: Row<'_>) -> bool {
        self.of == 1 || hash(value.data()) % u64::from(self.of) == u64::from(self.number)
    }
}

/// More would read the input more often than any memory is worth.
const PASSES_MAX: u32 = 4_096;

/// Bytes that an index of so many rows and bytes of values takes at most.
pub(crate) fn index_bytes(rows: u64, bytes: u64) -> u64 {
    // Encoded values are padded, and what holds them grows by doubling.
    rows.saturating_mul(ROW_BYTES).saturating_add(bytes.saturating_mul(5) / 2)
}

/// The same in every process, so that passes over the same rows are the same.
fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish()
}

/// Tells hashes that were not added from those that may have been.
#[derive(Debug)]
pub(crate) struct Sieve {
    bits: Vec<u64>,
    /// Of a hash: the number of its bit.
    mask: u64,
}

/// Bits for each hash, so that few of those that were not added look as if they were.
const SIEVE_BITS: u64 = 32;

impl Sieve {
    /// For about so many hashes.
    pub(crate) fn of(hashes: u64) -> Self {
        let bits = hashes.saturating_mul(SIEVE_BITS).clamp(64, 1 << 40).next_power_of_two();
        Self { bits: vec![0; (bits / 64) as usize], mask: bits - 1 }
    }

    fn place(&self, hash: u64) -> (usize, u64) {
        let bit = hash & self.mask;
        ((bit / 64) as usize, 1 << (bit % 64))
    }

    pub(crate) fn add(&mut self, hash: u64) {
        let (word, bit) = self.place(hash);
        self.bits[word] |= bit;
    }

    pub(crate) fn has(&self, hash: u64) -> bool {
        let (word, bit) = self.place(hash);
        self.bits[word] & bit != 0
    }
}

/// The hash of each key of a column; none when it is not of a key type.
pub(crate) fn key_hashes(column: &ArrayRef) -> Option<Vec<u64>> {
    let keys = KeyColumn::of(column)?;
    let of = |row| match keys.value(row) {
        KeyValue::Text(text) => hash(text.as_bytes()),
        KeyValue::Signed(number) => hash(&number.to_le_bytes()),
        KeyValue::Unsigned(number) => hash(&number.to_le_bytes()),
    };
    Some((0..column.len()).map(of).collect())
}

/// Rows under some of their columns, found by value.
#[derive(Debug)]
pub(crate) struct RowIndex {
    encoder: Encoder,
    pass: Pass,
    rows: Rows,
    /// The number of each indexed row; none where they are counted from 0.
    numbers: Option<Vec<u32>>,
    /// Indexed rows, sorted by value, then as they came.
    order: Vec<u32>,
}

impl RowIndex {
    /// Indexes the concatenation of `parts`, numbered from 0. Rows with a null in one of the columns
    /// are left out.
    pub(crate) fn new(
        types: impl IntoIterator<Item = DataType>,
        parts: impl IntoIterator<Item = Vec<ArrayRef>>,
    ) -> Result<Self, ArrowError> {
        let mut builder = IndexBuilder::new(types, Pass::ALL)?;
        parts.into_iter().try_for_each(|columns| builder.add_all(&columns))?;
        Ok(builder.finish())
    }

    /// The pass whose values it has.
    pub(crate) fn pass(&self) -> Pass {
        self.pass
    }

    /// Indexed rows.
    pub(crate) fn len(&self) -> usize {
        self.order.len()
    }

    /// The bytes of other rows of the same columns, for [`RowIndex::find`].
    pub(crate) fn encode(&self, columns: &[ArrayRef]) -> Result<Rows, ArrowError> {
        self.encoder.rows(columns)
    }

    /// The number of the first indexed row with this value.
    pub(crate) fn find(&self, value: Row<'_>) -> Option<u32> {
        self.position(value).map(|at| self.number(at))
    }

    /// The first indexed row with this value, as the index counts them.
    pub(crate) fn position(&self, value: Row<'_>) -> Option<u32> {
        let at = self.order.partition_point(|row| self.rows.row(*row as usize) < value);
        let found = *self.order.get(at)?;
        (self.rows.row(found as usize) == value).then_some(found)
    }

    /// The number of a row that the index counts as `at`.
    pub(crate) fn number(&self, at: u32) -> u32 {
        match &self.numbers {
            Some(numbers) => numbers[at as usize],
            None => at,
        }
    }

    /// One more than the highest position: what has one entry for each must be so long.
    pub(crate) fn positions(&self) -> usize {
        self.rows.num_rows()
    }

    /// Rows whose value an earlier row has, each with the earliest, by their numbers.
    pub(crate) fn repetitions(&self) -> impl Iterator<Item = (u32, u32)> {
        self.groups().filter(|group| group.len() > 1).flat_map(move |group| {
            let (first, again) = (group[0], &group[1..]);
            again.iter().map(move |row| (self.number(*row), self.number(first)))
        })
    }

    /// The positions of each distinct value.
    pub(crate) fn groups(&self) -> impl Iterator<Item = &[u32]> {
        let same = |a: &u32, b: &u32| self.rows.row(*a as usize) == self.rows.row(*b as usize);
        self.order.chunk_by(same)
    }

    /// The distinct values, as columns.
    pub(crate) fn distinct(&self) -> Result<Vec<ArrayRef>, ArrowError> {
        let firsts = self.groups().map(|group| self.rows.row(group[0] as usize));
        self.encoder.0.convert_rows(firsts)
    }

    /// Whether another index over such columns has one of the values.
    pub(crate) fn shares_a_value_with(&self, other: &Self) -> bool {
        let (few, many) = if self.len() < other.len() { (self, other) } else { (other, self) };
        few.groups().any(|group| many.position(few.row(group[0])).is_some())
    }

    /// How many rows have this value.
    pub(crate) fn count(&self, value: Row<'_>) -> usize {
        let below = |upto: fn(&Row<'_>, &Row<'_>) -> bool| {
            self.order.partition_point(|row| upto(&self.rows.row(*row as usize), &value))
        };
        below(|row, value| row <= value) - below(|row, value| row < value)
    }

    /// The bytes of the row at a position.
    pub(crate) fn row(&self, at: u32) -> Row<'_> {
        self.rows.row(at as usize)
    }

    /// The columns of rows at some positions.
    pub(crate) fn values(&self, at: &[u32]) -> Result<Vec<ArrayRef>, ArrowError> {
        self.encoder.0.convert_rows(at.iter().map(|at| self.rows.row(*at as usize)))
    }
}

/// Puts an index together, part by part.
#[derive(Debug)]
pub(crate) struct IndexBuilder {
    encoder: Encoder,
    pass: Pass,
    rows: Rows,
    numbers: Vec<u32>,
    is_numbered: bool,
    order: Vec<u32>,
}

impl IndexBuilder {
    pub(crate) fn new(
        types: impl IntoIterator<Item = DataType>,
        pass: Pass,
    ) -> Result<Self, ArrowError> {
        let encoder = Encoder::new(types)?;
        let rows = encoder.0.empty_rows(0, 0);
        let (numbers, order) = (Vec::new(), Vec::new());
        Ok(Self { encoder, pass, rows, numbers, is_numbered: false, order })
    }

    /// Adds the rows of a part whose first row has the number `first`; gives back how many it has.
    pub(crate) fn add_rows(
        &mut self,
        columns: &[ArrayRef],
        first: usize,
    ) -> Result<usize, ArrowError> {
        if self.pass == Pass::ALL {
            self.add_all(columns)?;
        } else {
            self.add(columns, |row| Some((first + row) as u32))?;
        }
        Ok(columns.first().map_or(0, |column| column.len()))
    }

    /// Adds all rows of a part, numbered on from those before; only in the one pass over everything.
    fn add_all(&mut self, columns: &[ArrayRef]) -> Result<(), ArrowError> {
        let first = self.rows.num_rows();
        self.encoder.0.append(&mut self.rows, columns)?;
        let present = (first..self.rows.num_rows()).filter(|row| is_present(columns, row - first));
        self.order.extend(present.map(|row| row as u32));
        Ok(())
    }

    /// Adds the rows of the pass that have a value in every column and are given a number.
    pub(crate) fn add(
        &mut self,
        columns: &[ArrayRef],
        number: impl FnMut(usize) -> Option<u32>,
    ) -> Result<(), ArrowError> {
        self.add_among(columns, None, number)
    }

    /// Of these rows adds those whose value another index over the same columns has, if there is one.
    pub(crate) fn add_among(
        &mut self,
        columns: &[ArrayRef],
        among: Option<&RowIndex>,
        mut number: impl FnMut(usize) -> Option<u32>,
    ) -> Result<(), ArrowError> {
        self.is_numbered = true;
        if among.is_some_and(|among| among.len() == 0) {
            return Ok(());
        }
        // A hash costs less than bytes that can be compared, and a search among them.
        if let Some(rows) = may_be_among(columns, among)? {
            let at = UInt32Array::from(rows);
            let columns = columns.iter().map(|column| take(column, &at, None));
            let columns = columns.collect::<Result<Vec<_>, _>>()?;
            return self.add_all_among(&columns, among, |row| number(at.value(row) as usize));
        }
        self.add_all_among(columns, among, number)
    }

    fn add_all_among(
        &mut self,
        columns: &[ArrayRef],
        among: Option<&RowIndex>,
        mut number: impl FnMut(usize) -> Option<u32>,
    ) -> Result<(), ArrowError> {
        let rows = self.encoder.rows(columns)?;
        for (row, value) in rows.iter().enumerate() {
            let is_meant = among.is_none_or(|among| among.position(value).is_some());
            if !is_meant || !self.pass.has(value) || !is_present(columns, row) {
                continue;
            }
            if let Some(number) = number(row) {
                self.order.push(self.numbers.len() as u32);
                self.numbers.push(number);
                self.rows.push(value);
            }
        }
        Ok(())
    }

    /// Adds the rows that have a value in every column and whose value counts. They have no numbers.
    pub(crate) fn add_where(
        &mut self,
        columns: &[ArrayRef],
        counts: impl Fn(Row<'_>) -> bool,
    ) -> Result<(), ArrowError> {
        for (row, value) in self.encoder.rows(columns)?.iter().enumerate() {
            if is_present(columns, row) && counts(value) {
                self.order.push(self.rows.num_rows() as u32);
                self.rows.push(value);
            }
        }
        Ok(())
    }

    pub(crate) fn finish(self) -> RowIndex {
        let Self { encoder, pass, rows, numbers, is_numbered, mut order } = self;
        order.sort_unstable_by(|a, b| {
            let values = rows.row(*a as usize).cmp(&rows.row(*b as usize));
            values.then_with(|| a.cmp(b))
        });
        RowIndex { encoder, pass, rows, numbers: is_numbered.then_some(numbers), order }
    }
}

/// The rows whose value may be one of an index, where they are found by their hashes.
fn may_be_among(
    columns: &[ArrayRef],
    among: Option<&RowIndex>,
) -> Result<Option<Vec<u32>>, ArrowError> {
    let ([column], Some(among)) = (columns, among) else { return Ok(None) };
    if among.len() >= column.len() {
        return Ok(None);
    }
    let (distinct, mut sieve) = (among.distinct()?, Sieve::of(among.len() as u64));
    let Some(known) = distinct.first().and_then(key_hashes) else { return Ok(None) };
    known.into_iter().for_each(|hash| sieve.add(hash));
    let rows = key_hashes(column).map(|hashes| {
        let may_be = hashes.iter().zip(0..).filter(|(hash, _)| sieve.has(**hash));
        may_be.map(|(_, row)| row).collect()
    });
    Ok(rows)
}

fn is_present(columns: &[ArrayRef], row: usize) -> bool {
    columns.iter().all(|column| column.is_valid(row))
}

/// A column of one of the key types.
#[derive(Debug, Clone, Copy)]
pub(crate) enum KeyColumn<'a> {
    Text(&'a StringArray),
    I32(&'a Int32Array),
    I64(&'a Int64Array),
    U32(&'a UInt32Array),
    U64(&'a UInt64Array),
}

impl<'a> KeyColumn<'a> {
    /// None when the column is not of a key type.
    pub(crate) fn of(column: &'a ArrayRef) -> Option<Self> {
        match column.data_type() {
            DataType::Utf8 => column.as_string_opt().map(Self::Text),
            DataType::Int32 => column.as_primitive_opt::<Int32Type>().map(Self::I32),
            DataType::Int64 => column.as_primitive_opt::<Int64Type>().map(Self::I64),
            DataType::UInt32 => column.as_primitive_opt::<UInt32Type>().map(Self::U32),
            DataType::UInt64 => column.as_primitive_opt::<UInt64Type>().map(Self::U64),
            _ => None,
        }
    }

    pub(crate) fn value(&self, row: usize) -> KeyValue<'a> {
        match self {
            Self::Text(keys) => KeyValue::Text(keys.value(row)),
            Self::I32(keys) => KeyValue::Signed(keys.value(row).into()),
            Self::I64(keys) => KeyValue::Signed(keys.value(row)),
            Self::U32(keys) => KeyValue::Unsigned(keys.value(row).into()),
            Self::U64(keys) => KeyValue::Unsigned(keys.value(row)),
        }
    }
}

/// A key as people read it.
pub(crate) fn key_text(key: KeyValue<'_>) -> String {
    match key {
        KeyValue::Text(text) => text.to_owned(),
        KeyValue::Signed(number) => number.to_string(),
        KeyValue::Unsigned(number) => number.to_string(),
    }
}

/// The ids of edges whose key is `(src, dst)`; none when an end is not of a key type.
pub(crate) fn derived_ids(
    edge: TableIdentity,
    src: &ArrayRef,
    dst: &ArrayRef,
) -> Option<StringArray> {
    let (src, dst) = (KeyColumn::of(src)?, KeyColumn::of(dst)?);
    let len = match src {
        KeyColumn::Text(keys) => keys.len(),
        KeyColumn::I32(keys) => keys.len(),
        KeyColumn::I64(keys) => keys.len(),
        KeyColumn::U32(keys) => keys.len(),
        KeyColumn::U64(keys) => keys.len(),
    };
    let id = |row| Some(derived_edge_id(edge, src.value(row), dst.value(row)));
    Some((0..len).map(id).collect())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn texts(values: &[Option<&str>]) -> ArrayRef {
        Arc::new(StringArray::from(values.to_vec()))
    }

    fn index(parts: &[ArrayRef]) -> RowIndex {
        let parts = parts.iter().map(|part| vec![Arc::clone(part)]);
        RowIndex::new([DataType::Utf8], parts).unwrap()
    }

    #[test]
    fn finds_values_across_parts() {
        let found = index(&[texts(&[Some("b"), Some("a")]), texts(&[Some("c")])]);
        let asked = found.encode(&[texts(&[Some("c"), Some("b"), Some("x"), None])]).unwrap();
        let rows: Vec<_> = asked.iter().map(|row| found.find(row)).collect();
        assert_eq!(rows, [Some(2), Some(0), None, None]);
    }

    #[test]
    fn an_empty_text_is_not_null_and_nulls_are_left_out() {
        let found = index(&[texts(&[None, Some(""), None])]);
        let asked = found.encode(&[texts(&[None, Some("")])]).unwrap();
        let rows: Vec<_> = asked.iter().map(|row| found.find(row)).collect();
        assert_eq!((found.len(), rows), (1, vec![None, Some(1)]));
    }

    #[test]
    fn repetitions_name_the_earliest_row() {
        let found = index(&[texts(&[Some("a"), Some("b"), Some("a")]), texts(&[Some("a")])]);
        assert_eq!(found.repetitions().collect::<Vec<_>>(), [(2, 0), (3, 0)]);
    }

    #[test]
    fn passes_part_the_rows_and_keep_their_numbers() {
        let values: Vec<String> = (0..1_000).map(|n| (n % 700).to_string()).collect();
        let column: ArrayRef = Arc::new(StringArray::from_iter_values(&values));
        let mut rows = Vec::new();
        let mut repetitions = Vec::new();
        for pass in Pass::each(7) {
            let mut builder = IndexBuilder::new([DataType::Utf8], pass).unwrap();
            builder.add(&[Arc::clone(&column)], |row| Some(row as u32)).unwrap();
            let index = builder.finish();
            assert!((50..300).contains(&index.len()), "{pass:?} has {} rows", index.len());
            let asked = index.encode(&[Arc::clone(&column)]).unwrap();
            for (row, value) in asked.iter().enumerate() {
                let expected = pass.has(value).then_some(row as u32 % 700);
                assert_eq!(index.find(value), expected);
            }
            rows.extend(index.groups().flatten().map(|at| index.number(*at)));
            repetitions.extend(index.repetitions());
        }
        rows.sort_unstable();
        repetitions.sort_unstable();
        assert_eq!(rows, (0..1_000).collect::<Vec<_>>());
        assert_eq!(repetitions, (700..1_000).map(|row| (row, row - 700)).collect::<Vec<_>>());
    }

    #[test]
    fn the_number_of_passes_follows_from_rows_bytes_and_memory() {
        assert_eq!(Pass::needed(0, 0, 0), 1);
        assert_eq!(Pass::needed(1_000, 10_000, 1 << 20), 1);
        assert_eq!(Pass::needed(1_000_000, 10_000_000, 73_000_000), 1);
        assert_eq!(Pass::needed(1_000_000, 10_000_000, 72_999_999), 2);
    }

    #[test]
    fn derived_ids_are_those_of_the_schema() {
        let edge = "0000000000000001-0000000000000002".parse().unwrap();
        let ends: ArrayRef = Arc::new(Int32Array::from(vec![7]));
        let ids = derived_ids(edge, &texts(&[Some("a")]), &ends).unwrap();
        let expected = derived_edge_id(edge, KeyValue::Text("a"), KeyValue::Signed(7));
        assert_eq!(ids.value(0), expected);
    }
}
