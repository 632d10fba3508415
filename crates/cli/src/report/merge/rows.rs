//! The rows of both sides of a conflict: whole for programs, in the form in which they are exported, and for
//! people by the properties that differ. It must not know what a conflict is.

use arrow_array::RecordBatch;
use graphwrite_coordinator::{RowRenderer, RowValue, RowValues};
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};

/// A row as `export` writes it. Absent values are left out; a value that JSON has no form for is its name.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ShownRow(RowValues);

impl ShownRow {
    /// The only row of `batch`; none when it does not have the columns of its type.
    pub(super) fn of(renderer: Option<&RowRenderer>, batch: &RecordBatch) -> Option<Self> {
        renderer?.values(batch, 0).ok().map(Self)
    }

    /// The properties that differ from those of `other`, and the ends of an edge, with the values of both.
    pub(super) fn differing(&self, other: &Self) -> Vec<(String, String, String)> {
        let pairs = self.0.data.iter().zip(&other.0.data);
        let data = pairs
            .map(|((name, one), (_, other))| (name.clone(), one.to_string(), other.to_string()));
        let ends = self.0.ends.iter().zip(&other.0.ends).flat_map(|(one, other)| {
            let ends = ["from", "to"].into_iter().zip(one.iter().zip(other));
            ends.map(|(name, (one, other))| (name.to_owned(), one.to_string(), other.to_string()))
        });
        let shown = ends.chain(data);
        // Texts and not values: a float differs from another by its bits.
        shown.filter(|(_, one, other)| one != other).collect()
    }
}

impl Serialize for ShownRow {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let RowValues { table, ends, data } = &self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry(if ends.is_some() { "edge" } else { "type" }, table)?;
        if let Some([from, to]) = ends {
            map.serialize_entry("from", &Shown(from))?;
            map.serialize_entry("to", &Shown(to))?;
        }
        map.serialize_entry("data", &Data(data))?;
        map.end()
    }
}

struct Data<'a>(&'a [(String, RowValue)]);

impl Serialize for Data<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (name, value) in self.0.iter().filter(|(_, value)| *value != RowValue::Null) {
            map.serialize_entry(name, &Shown(value))?;
        }
        map.end()
    }
}

struct Shown<'a>(&'a RowValue);

impl Serialize for Shown<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            RowValue::Flag(value) => serializer.serialize_bool(*value),
            RowValue::Signed(value) => serializer.serialize_i64(*value),
            RowValue::Unsigned(value) => serializer.serialize_u64(*value),
            RowValue::Single(value) => serializer.serialize_f32(*value),
            RowValue::Double(value) => serializer.serialize_f64(*value),
            RowValue::Text(text) | RowValue::NoForm(text) => serializer.serialize_str(text),
            RowValue::Items(items) => {
                let mut list = serializer.serialize_seq(Some(items.len()))?;
                items.iter().try_for_each(|item| list.serialize_element(&Shown(item)))?;
                list.end()
            }
            _ => serializer.serialize_unit(),
        }
    }
}
