//! The constraints that a schema puts on rows.

use graphwrite_schema::{Cardinality, ConstraintRule, End};

use crate::support::{full_schema, identity};

fn listed(number: u64) -> String {
    let constraints = full_schema().constraints_of(identity(number));
    constraints.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_node_is_bound_by_key_required_enum_and_unique() {
    insta::assert_snapshot!(listed(1));
}

#[test]
fn an_edge_is_bound_by_its_pair_and_its_ends() {
    insta::assert_snapshot!(listed(3));
}

#[test]
fn a_multi_edge_is_bound_by_its_id_and_its_cardinality() {
    insta::assert_snapshot!(listed(4));
}

#[test]
fn an_end_names_its_column_and_its_node_type() {
    let constraints = full_schema().constraints_of(identity(4));
    let expected = ConstraintRule::Endpoint {
        end: End::Dst,
        node: identity(2).table,
        node_name: "Place".to_owned(),
    };
    let found = constraints.iter().find(|found| found.rule == expected).unwrap();
    assert_eq!((found.code(), found.columns()), ("endpoint", vec!["dst"]));
}

#[test]
fn a_cardinality_counts_for_the_node_type_at_the_start() {
    let constraints = full_schema().constraints_of(identity(4));
    let cardinality = Cardinality { min: 1, max: Some(3) };
    let expected = ConstraintRule::Cardinality { from: identity(1).table, cardinality };
    assert!(constraints.iter().any(|found| found.rule == expected));
}

#[test]
fn a_type_of_another_schema_has_no_constraints() {
    assert!(full_schema().constraints_of(identity(77)).is_empty());
}
