//! One schema has one byte string and one hash, for good.

use std::fmt::Write;

use graphwrite_schema::{GraphSchema, IR_VERSION, PropertyType, SchemaDecodeError};

use crate::support::full_schema;

fn hex(bytes: &[u8]) -> String {
    bytes.chunks(32).fold(String::new(), |mut text, line| {
        line.iter().for_each(|byte| write!(text, "{byte:02x}").unwrap());
        text + "\n"
    })
}

#[test]
fn the_bytes_are_those_of_the_golden_file() {
    assert_eq!(hex(&full_schema().to_bytes()), include_str!("../golden/schema-v1.hex"));
}

#[test]
fn the_golden_file_is_read_as_the_schema() {
    let digits: String = include_str!("../golden/schema-v1.hex").split_whitespace().collect();
    let byte = |at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
    let bytes: Vec<u8> = (0..digits.len()).step_by(2).map(byte).collect();
    assert_eq!(GraphSchema::from_bytes(&bytes).unwrap(), full_schema());
}

#[test]
fn the_hash_is_that_of_format_version_1() {
    let hash = "6d9f62c094725456cd8c16125e33b7454a7cd815c6038ded1140a980fc29bf37";
    assert_eq!(full_schema().hash().to_string(), hash);
}

#[test]
fn the_hash_is_not_the_plain_hash_of_the_bytes() {
    let schema = full_schema();
    assert_ne!(schema.hash().0, *blake3::hash(&schema.to_bytes()).as_bytes());
}

#[test]
fn the_order_in_which_types_are_given_does_not_count() {
    let mut types = full_schema().types().to_vec();
    types.reverse();
    types.iter_mut().for_each(|def| def.properties.reverse());
    types.iter_mut().flat_map(|def| &mut def.unique).for_each(|set| set.reverse());
    assert_eq!(GraphSchema::new(types).unwrap().to_bytes(), full_schema().to_bytes());
}

#[test]
fn the_order_of_enum_values_does_not_count() {
    let mut types = full_schema().types().to_vec();
    for property in types.iter_mut().flat_map(|def| &mut def.properties) {
        if let PropertyType::Enum(values) = &mut property.property_type {
            values.reverse();
        }
    }
    assert_eq!(GraphSchema::new(types).unwrap().hash(), full_schema().hash());
}

#[test]
fn a_key_that_is_called_unique_is_the_same_key() {
    let mut types = full_schema().types().to_vec();
    types[0].properties[0].unique = true;
    assert_eq!(GraphSchema::new(types).unwrap().hash(), full_schema().hash());
}

#[test]
fn a_changed_label_changes_the_hash() {
    let mut types = full_schema().types().to_vec();
    types[0].name = "Human".to_owned();
    assert_ne!(GraphSchema::new(types).unwrap().hash(), full_schema().hash());
}

#[test]
fn another_version_is_refused_by_its_number() {
    let mut bytes = full_schema().to_bytes();
    bytes[0] = 2;
    let refused = GraphSchema::from_bytes(&bytes).unwrap_err();
    assert_eq!(refused, SchemaDecodeError::Version { found: IR_VERSION + 1 });
}

#[test]
fn bytes_that_end_early_are_refused() {
    let bytes = full_schema().to_bytes();
    for end in 0..bytes.len() {
        let refused = GraphSchema::from_bytes(&bytes[..end]).unwrap_err();
        assert!(matches!(refused, SchemaDecodeError::Malformed(_)), "{end}: {refused}");
    }
}

#[test]
fn bytes_that_go_on_are_refused() {
    let mut bytes = full_schema().to_bytes();
    bytes.extend([0, 0]);
    let refused = GraphSchema::from_bytes(&bytes).unwrap_err();
    assert_eq!(refused, SchemaDecodeError::TrailingBytes { count: 2 });
}

#[test]
fn another_spelling_of_the_same_schema_is_refused() {
    let mut bytes = full_schema().to_bytes();
    // The version 1 as a number of two bytes.
    bytes.splice(0..1, [0x81, 0x00]);
    assert_eq!(GraphSchema::from_bytes(&bytes).unwrap_err(), SchemaDecodeError::NotCanonical);
}

#[test]
fn types_out_of_order_are_refused() {
    let mut types = full_schema().types().to_vec();
    types.swap(0, 1);
    let bytes = postcard::to_stdvec(&(IR_VERSION, types)).unwrap();
    assert_eq!(GraphSchema::from_bytes(&bytes).unwrap_err(), SchemaDecodeError::NotCanonical);
}

#[test]
fn rules_are_checked_again_on_stored_bytes() {
    let mut types = full_schema().types().to_vec();
    types[0].properties[0].nullable = true;
    let bytes = postcard::to_stdvec(&(IR_VERSION, types)).unwrap();
    let refused = GraphSchema::from_bytes(&bytes).unwrap_err();
    let SchemaDecodeError::Invalid(error) = refused else { panic!("{refused}") };
    assert_eq!(error.code(), "schema.key_nullable");
}
