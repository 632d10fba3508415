//! What became of the rows of one type between two states: by key, by typed equality, one share of
//! the keys at a time, so that memory is bounded. It must not know where rows come from.

use std::collections::{BTreeSet, HashMap};

use arrow_array::{ArrayRef, RecordBatch, new_null_array};
use arrow_row::{RowConverter, SortField};
use arrow_schema::{ArrowError, DataType, FieldRef, Schema};
use graphwrite_schema::PROPERTY_ID_METADATA;

use crate::keys::{Encoder, KeyColumn, key_text};

/// Rows of one type that came, went, or stayed with other values.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RowChanges {
    /// Keys that only the newer state has.
    pub added: KeysOf,
    /// Keys that only the older state has.
    pub removed: KeysOf,
    /// Keys that both have, with values that differ.
    pub changed: KeysOf,
}

/// Rows of one kind of change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeysOf {
    /// How many there are.
    pub count: u64,
    /// The first of them in the order of their keys, as text; the ends of an edge are joined by
    /// ` -> `.
    pub first: Vec<String>,
}

impl RowChanges {
    /// Whether nothing differs.
    pub fn is_empty(&self) -> bool {
        self.added.count + self.removed.count + self.changed.count == 0
    }
}

/// One kind of change while rows are still coming.
#[derive(Debug, Default)]
struct Kind {
    count: u64,
    /// The smallest keys so far, as comparable bytes.
    first: BTreeSet<Vec<u8>>,
}

impl Kind {
    fn note(&mut self, key: &[u8], keys_max: usize) {
        self.count += 1;
        if self.first.len() < keys_max {
            self.first.insert(key.to_vec());
        } else if self.first.last().is_some_and(|last| key < last.as_slice()) {
            self.first.pop_last();
            self.first.insert(key.to_vec());
        }
    }
}

/// Compares rows of one type. Every share is one pass: all old rows, then all new ones, then
/// [`RowDiff::end_share`]. It holds the key and a digest of each old row of the share, and nothing
/// else of any row.
#[derive(Debug)]
pub struct RowDiff {
    old_key: Vec<String>,
    new_key: Vec<String>,
    key_rows: RowConverter,
    columns: Columns,
    shares: u64,
    share: u64,
    keys_max: usize,
    /// Old rows of this share that no new row has met yet.
    held: HashMap<Box<[u8]>, [u8; 32]>,
    added: Kind,
    removed: Kind,
    changed: Kind,
}

impl RowDiff {
    /// A comparison of the rows of a type, whose tables have the columns `old` and `new`, in
    /// `shares` passes, that lists `keys_max` keys of each kind. `key` names the columns of the key in
    /// `new`.
    ///
    /// # Errors
    /// A key or a column is of a type that has no comparable form.
    pub fn new(
        key: &[&str],
        old: &Schema,
        new: &Schema,
        shares: u64,
        keys_max: usize,
    ) -> Result<Self, ArrowError> {
        let keys = key.iter().map(|name| {
            let (at, field) = new.fields().find(name).ok_or_else(|| no_column(name))?;
            let same = old.fields().iter().find(|other| identity(other) == identity(field));
            let same = same.ok_or_else(|| no_column(name))?;
            let sort = SortField::new(new.field(at).data_type().clone());
            Ok((same.name().clone(), (*name).to_owned(), sort))
        });
        let keys = keys.collect::<Result<Vec<_>, ArrowError>>()?;
        Ok(Self {
            old_key: keys.iter().map(|(old, _, _)| old.clone()).collect(),
            new_key: keys.iter().map(|(_, new, _)| new.clone()).collect(),
            key_rows: RowConverter::new(keys.into_iter().map(|(_, _, sort)| sort).collect())?,
            columns: Columns::of(old, new)?,
            shares: shares.max(1),
            share: 0,
            keys_max,
            held: HashMap::new(),
            added: Kind::default(),
            removed: Kind::default(),
            changed: Kind::default(),
        })
    }

    /// Whether another pass over all rows is needed.
    pub fn is_open(&self) -> bool {
        self.share < self.shares
    }

    /// Rows of the older state.
    ///
    /// # Errors
    /// The rows do not have the columns of their state.
    pub fn old_rows(&mut self, rows: &RecordBatch) -> Result<(), ArrowError> {
        let keys = self.key_rows.convert_columns(&columns(rows, &self.old_key)?)?;
        let digests = self.columns.digests(rows, Columns::in_old)?;
        for (row, digest) in digests.into_iter().enumerate() {
            let key = keys.row(row).data();
            if is_in_share(key, self.share, self.shares) {
                self.held.insert(key.into(), digest);
            }
        }
        Ok(())
    }

    /// Rows of the newer state.
    ///
    /// # Errors
    /// The rows do not have the columns of their state.
    pub fn new_rows(&mut self, rows: &RecordBatch) -> Result<(), ArrowError> {
        let keys = self.key_rows.convert_columns(&columns(rows, &self.new_key)?)?;
        let digests = self.columns.digests(rows, Columns::in_new)?;
        for (row, digest) in digests.into_iter().enumerate() {
            let key = keys.row(row).data();
            if !is_in_share(key, self.share, self.shares) {
                continue;
            }
            match self.held.remove(key) {
                None => self.added.note(key, self.keys_max),
                Some(old) if old == digest && self.columns.comparable => {}
                Some(_) => self.changed.note(key, self.keys_max),
            }
        }
        Ok(())
    }

    /// All rows of this pass have come.
    pub fn end_share(&mut self) {
        for (key, _) in self.held.drain() {
            self.removed.note(&key, self.keys_max);
        }
        self.share += 1;
    }

    /// What differs, after the last share.
    ///
    /// # Errors
    /// A key is of a type that has no text.
    pub fn finish(self) -> Result<RowChanges, ArrowError> {
        Ok(RowChanges {
            added: keys_of(&self.key_rows, self.added)?,
            removed: keys_of(&self.key_rows, self.removed)?,
            changed: keys_of(&self.key_rows, self.changed)?,
        })
    }
}

fn is_in_share(key: &[u8], share: u64, shares: u64) -> bool {
    let [a, b, c, d, e, f, g, h, ..] = *blake3::hash(key).as_bytes();
    shares == 1 || u64::from_le_bytes([a, b, c, d, e, f, g, h]) % shares == share
}

fn keys_of(key_rows: &RowConverter, kind: Kind) -> Result<KeysOf, ArrowError> {
    let parser = key_rows.parser();
    let rows = kind.first.iter().map(|key| parser.parse(key));
    let columns = key_rows.convert_rows(rows)?;
    let first = (0..kind.first.len()).map(|row| text_of(&columns, row)).collect();
    Ok(KeysOf { count: kind.count, first })
}

fn text_of(columns: &[ArrayRef], row: usize) -> String {
    let text = |column| Some(key_text(KeyColumn::of(column)?.value(row)));
    columns.iter().filter_map(text).collect::<Vec<_>>().join(" -> ")
}

fn columns(rows: &RecordBatch, names: &[String]) -> Result<Vec<ArrayRef>, ArrowError> {
    let column = |name: &String| rows.column_by_name(name).cloned().ok_or_else(|| no_column(name));
    names.iter().map(column).collect()
}

fn no_column(name: &str) -> ArrowError {
    ArrowError::SchemaError(format!("the rows have no column `{name}`"))
}

/// The columns of both states, side by side: a property by its id, whatever it is called, `id`,
/// `src` and `dst` by their names. A column that a state does not have is null in all its rows.
#[derive(Debug)]
struct Columns {
    pairs: Vec<Pair>,
    values: Encoder,
    /// Whether each column has one type in both states.
    comparable: bool,
}

#[derive(Debug)]
struct Pair {
    old: Option<String>,
    new: Option<String>,
    data_type: DataType,
}

impl Columns {
    fn of(old: &Schema, new: &Schema) -> Result<Self, ArrowError> {
        let mut pairs: Vec<Pair> = Vec::new();
        let mut comparable = true;
        for field in new.fields() {
            let same = old.fields().iter().find(|other| identity(other) == identity(field));
            comparable &= same.is_none_or(|same| same.data_type() == field.data_type());
            pairs.push(Pair {
                old: same.map(|same| same.name().clone()),
                new: Some(field.name().clone()),
                data_type: field.data_type().clone(),
            });
        }
        let gone = |field: &&FieldRef| {
            !new.fields().iter().any(|other| identity(other) == identity(field))
        };
        pairs.extend(old.fields().iter().filter(gone).map(|field| Pair {
            old: Some(field.name().clone()),
            new: None,
            data_type: field.data_type().clone(),
        }));
        let values = Encoder::new(pairs.iter().map(|pair| pair.data_type.clone()))?;
        Ok(Self { pairs, values, comparable })
    }

    fn in_old(pair: &Pair) -> Option<&String> {
        pair.old.as_ref()
    }

    fn in_new(pair: &Pair) -> Option<&String> {
        pair.new.as_ref()
    }

    /// A digest of each row's values, equal exactly when the values are.
    fn digests(
        &self,
        rows: &RecordBatch,
        side: fn(&Pair) -> Option<&String>,
    ) -> Result<Vec<[u8; 32]>, ArrowError> {
        // Values of two types have no common form; that they differ is known without it.
        if !self.comparable {
            return Ok(vec![[0; 32]; rows.num_rows()]);
        }
        let column = |pair: &Pair| match side(pair) {
            Some(name) => {
                columns(rows, std::slice::from_ref(name)).map(|mut found| found.remove(0))
            }
            None => Ok(new_null_array(&pair.data_type, rows.num_rows())),
        };
        let columns = self.pairs.iter().map(column).collect::<Result<Vec<_>, _>>()?;
        let encoded = self.values.rows(&columns)?;
        Ok(encoded.iter().map(|row| *blake3::hash(row.data()).as_bytes()).collect())
    }
}

fn identity(field: &FieldRef) -> (Option<&String>, &str) {
    match field.metadata().get(PROPERTY_ID_METADATA) {
        Some(id) => (Some(id), ""),
        None => (None, field.name()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{Float64Array, Int32Array, Int64Array, StringArray};
    use arrow_schema::Field;

    use super::*;

    fn property(id: u32, name: &str, data_type: DataType) -> Field {
        let metadata = [(PROPERTY_ID_METADATA.to_owned(), id.to_string())].into();
        Field::new(name, data_type, true).with_metadata(metadata)
    }

    fn rows(fields: Vec<Field>, columns: Vec<ArrayRef>) -> RecordBatch {
        RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap()
    }

    fn texts(values: &[&str]) -> ArrayRef {
        Arc::new(StringArray::from(values.to_vec()))
    }

    fn floats(values: &[Option<f64>]) -> ArrayRef {
        Arc::new(Float64Array::from(values.to_vec()))
    }

    /// Keys and one number, under these names.
    fn numbers(key: &str, number: &str, of: &[(&str, Option<f64>)]) -> RecordBatch {
        let fields = vec![property(1, key, DataType::Utf8), property(2, number, DataType::Float64)];
        let (keys, values): (Vec<_>, Vec<_>) = of.iter().copied().unzip();
        rows(fields, vec![texts(&keys), floats(&values)])
    }

    fn compared(key: &str, old: &RecordBatch, new: &RecordBatch, shares: u64) -> RowChanges {
        let mut diff = RowDiff::new(&[key], &old.schema(), &new.schema(), shares, 9).unwrap();
        let mut passes = 0;
        while diff.is_open() {
            diff.old_rows(old).unwrap();
            diff.new_rows(new).unwrap();
            diff.end_share();
            passes += 1;
        }
        assert_eq!(passes, shares);
        diff.finish().unwrap()
    }

    fn named(changes: &RowChanges) -> [Vec<&str>; 3] {
        [&changes.added, &changes.removed, &changes.changed].map(|keys| {
            assert_eq!(keys.count, keys.first.len() as u64);
            keys.first.iter().map(String::as_str).collect()
        })
    }

    #[test]
    fn rows_are_told_apart_by_key_and_values_by_their_bits_in_any_number_of_shares() {
        let old = [
            ("gone", Some(1.0)),
            ("same", Some(f64::NAN)),
            ("null", None),
            ("sign", Some(0.0)),
            ("other", Some(1.0)),
        ];
        let new = [
            ("other", Some(2.0)),
            ("sign", Some(-0.0)),
            ("null", Some(0.0)),
            ("same", Some(f64::NAN)),
            ("late", None),
        ];
        let (old, new) = (numbers("k", "n", &old), numbers("k", "n", &new));
        for shares in [1, 2, 7] {
            let changes = compared("k", &old, &new, shares);
            assert_eq!(
                named(&changes),
                [vec!["late"], vec!["gone"], vec!["null", "other", "sign"]]
            );
        }
        assert!(compared("k", &old, &old, 3).is_empty());
    }

    #[test]
    fn a_property_is_the_same_under_another_name_and_a_key_too() {
        let old = numbers("k", "n", &[("a", Some(1.0)), ("b", Some(2.0))]);
        let new = numbers("name", "weight", &[("b", Some(2.5)), ("a", Some(1.0))]);
        assert_eq!(named(&compared("name", &old, &new, 1)), [vec![], vec![], vec!["b"]]);
    }

    #[test]
    fn a_property_that_one_side_does_not_have_is_null_there() {
        let one = rows(vec![property(1, "k", DataType::Utf8)], vec![texts(&["a", "b"])]);
        let two = numbers("k", "n", &[("a", None), ("b", Some(1.0))]);
        assert_eq!(named(&compared("k", &one, &two, 1)), [vec![], vec![], vec!["b"]]);
        assert_eq!(named(&compared("k", &two, &one, 1)), [vec![], vec![], vec!["b"]]);
    }

    #[test]
    fn a_property_of_another_type_makes_every_row_another() {
        let fields = |of| vec![property(1, "k", DataType::Utf8), property(2, "n", of)];
        let small =
            rows(fields(DataType::Int32), vec![texts(&["a"]), Arc::new(Int32Array::from(vec![1]))]);
        let large =
            rows(fields(DataType::Int64), vec![texts(&["a"]), Arc::new(Int64Array::from(vec![1]))]);
        assert_eq!(named(&compared("k", &small, &large, 1)), [vec![], vec![], vec!["a"]]);
    }

    #[test]
    fn keys_are_counted_all_and_listed_in_their_own_order() {
        let keys = |of: std::ops::Range<i32>| {
            let column: ArrayRef = Arc::new(Int32Array::from_iter_values(of.rev()));
            rows(vec![property(1, "k", DataType::Int32)], vec![column])
        };
        let (old, new) = (keys(0..1), keys(-50..50));
        let mut diff = RowDiff::new(&["k"], &old.schema(), &new.schema(), 1, 3).unwrap();
        diff.old_rows(&old).unwrap();
        diff.new_rows(&new).unwrap();
        diff.end_share();
        let added = diff.finish().unwrap().added;
        assert_eq!(
            (added.count, added.first),
            (99, ["-50", "-49", "-48"].map(str::to_owned).into())
        );
    }

    #[test]
    fn rows_without_their_columns_are_an_error() {
        let whole = numbers("k", "n", &[("a", None)]);
        let less = whole.project(&[0]).unwrap();
        let mut diff = RowDiff::new(&["k"], &whole.schema(), &whole.schema(), 1, 0).unwrap();
        assert!(diff.old_rows(&less).is_err() && diff.new_rows(&less).is_err());
        assert!(RowDiff::new(&["gone"], &whole.schema(), &whole.schema(), 1, 0).is_err());
    }
}
