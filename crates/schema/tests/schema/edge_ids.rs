//! Derived edge ids are stable and tell all edges apart.

use graphwrite_schema::{KeyValue, derived_edge_id};
use proptest::prelude::*;

use crate::support::identity;

#[test]
fn the_ids_are_those_of_format_version_1() {
    let edge = identity(3);
    let ids = [
        derived_edge_id(edge, KeyValue::Text("a"), KeyValue::Text("b")),
        derived_edge_id(edge, KeyValue::Signed(-1), KeyValue::Unsigned(1)),
    ];
    assert_eq!(ids, ["79207083c29e522d9d0a04cf7fff5dc1", "a07d785e0ddfe6603168965ee7e694f1"]);
}

#[test]
fn the_direction_counts() {
    let (a, b) = (KeyValue::Text("a"), KeyValue::Text("b"));
    assert_ne!(derived_edge_id(identity(3), a, b), derived_edge_id(identity(3), b, a));
}

#[test]
fn the_incarnation_counts() {
    let mut reborn = identity(3);
    reborn.incarnation = identity(9).incarnation;
    let (a, b) = (KeyValue::Text("a"), KeyValue::Text("b"));
    assert_ne!(derived_edge_id(identity(3), a, b), derived_edge_id(reborn, a, b));
}

#[test]
fn a_text_moved_from_one_end_to_the_other_counts() {
    let id = |src, dst| derived_edge_id(identity(3), KeyValue::Text(src), KeyValue::Text(dst));
    assert_ne!(id("ab", "c"), id("a", "bc"));
    assert_ne!(id("abc", ""), id("", "abc"));
}

#[test]
fn a_number_is_not_its_text_nor_its_unsigned_twin() {
    let id = |src| derived_edge_id(identity(3), src, KeyValue::Text("x"));
    let eight = "\u{1}\0\0\0\0\0\0\0";
    assert_ne!(id(KeyValue::Signed(1)), id(KeyValue::Unsigned(1)));
    assert_ne!(id(KeyValue::Signed(1)), id(KeyValue::Text(eight)));
}

#[derive(Debug, Clone, PartialEq)]
enum Key {
    Text(String),
    Signed(i64),
    Unsigned(u64),
}

impl Key {
    fn value(&self) -> KeyValue<'_> {
        match self {
            Self::Text(text) => KeyValue::Text(text),
            Self::Signed(number) => KeyValue::Signed(*number),
            Self::Unsigned(number) => KeyValue::Unsigned(*number),
        }
    }
}

fn key() -> impl Strategy<Value = Key> {
    prop_oneof![
        "[ab]{0,3}".prop_map(Key::Text),
        (-2_i64..2).prop_map(Key::Signed),
        (0_u64..2).prop_map(Key::Unsigned),
    ]
}

proptest! {
    #[test]
    fn ids_are_equal_exactly_when_their_inputs_are(
        left in (1_u64..3, key(), key()),
        right in (1_u64..3, key(), key()),
    ) {
        let id = |(edge, src, dst): &(u64, Key, Key)| {
            derived_edge_id(identity(*edge), src.value(), dst.value())
        };
        prop_assert_eq!(id(&left) == id(&right), left == right);
    }
}
