//! The tables that a schema asks for.

use arrow_schema::{DataType, TimeUnit};
use graphwrite_schema::PROPERTY_ID_METADATA;

use crate::support::{accept, full_schema, identity};

/// The columns of a table, one a line: name, type, `?` when nullable.
fn columns(number: u64) -> String {
    let shape = full_schema().arrow_schema(identity(number)).unwrap();
    let line = |field: &std::sync::Arc<arrow_schema::Field>| {
        let optional = if field.is_nullable() { "?" } else { "" };
        format!("{}: {}{optional}", field.name(), field.data_type())
    };
    shape.fields().iter().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_node_table_has_exactly_the_declared_properties() {
    insta::assert_snapshot!(columns(1));
}

#[test]
fn an_edge_table_begins_with_its_id_and_ends() {
    insta::assert_snapshot!(columns(3));
}

#[test]
fn the_ends_of_an_edge_have_the_key_types_of_their_nodes() {
    insta::assert_snapshot!(columns(4));
}

#[test]
fn a_datetime_is_in_microseconds_and_utc() {
    let shape = full_schema().arrow_schema(identity(1)).unwrap();
    let expected = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
    assert_eq!(shape.field_with_name("seen").unwrap().data_type(), &expected);
}

#[test]
fn a_column_names_its_property_id() {
    let shape = full_schema().arrow_schema(identity(4)).unwrap();
    let ids: Vec<_> =
        shape.fields().iter().map(|field| field.metadata().get(PROPERTY_ID_METADATA)).collect();
    assert_eq!(ids, [None, None, None, Some(&"1".to_owned())]);
}

#[test]
fn a_type_of_another_schema_has_no_shape() {
    assert!(full_schema().arrow_schema(identity(77)).is_none());
}

#[test]
fn key_columns_tell_rows_apart() {
    let schema = full_schema();
    let key = |number| schema.by_identity(identity(number)).unwrap().key_columns();
    assert_eq!(key(1), ["slug"]);
    assert_eq!(key(2), ["id"]);
    assert_eq!(key(3), ["src", "dst"]);
    assert_eq!(key(4), ["id"]);
}

#[test]
fn an_index_on_a_type_is_one_on_its_key_or_ends() {
    let schema = full_schema();
    let indexed = |number| schema.by_identity(identity(number)).unwrap().indexed_columns();
    assert_eq!(indexed(1), ["slug", "name", "vec"]);
    assert!(indexed(2).is_empty());
    assert_eq!(indexed(3), ["src", "dst"]);
    assert_eq!(indexed(4), ["at"]);
}

#[test]
fn a_key_that_is_indexed_twice_is_listed_once() {
    let schema = accept(
        "[node.A]\nkey = \"k\"\nindex = true\nproperties.k = { type = \"i32\", index = true }\n",
    );
    assert_eq!(schema.types()[0].indexed_columns(), ["k"]);
}
