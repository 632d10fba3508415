//! Any schema survives its bytes and its text; any bytes give a schema or a typed error.

use std::collections::BTreeSet;

use graphwrite_schema::{
    Cardinality, DeclKind, GraphSchema, PropertyDecl, PropertyType, ScalarType, SchemaDocument,
    TypeDecl, declare,
};
use proptest::collection::{btree_set, vec};
use proptest::prelude::*;
use proptest::sample::select;

use crate::support::{FULL, SeededEnv, accept, full_schema, with_identities};

const SCALARS: [ScalarType; 11] = [
    ScalarType::String,
    ScalarType::Bool,
    ScalarType::I32,
    ScalarType::I64,
    ScalarType::U32,
    ScalarType::U64,
    ScalarType::F32,
    ScalarType::F64,
    ScalarType::Date,
    ScalarType::Datetime,
    ScalarType::Binary,
];

fn property_type() -> impl Strategy<Value = PropertyType> {
    prop_oneof![
        select(&SCALARS[..]).prop_map(PropertyType::Scalar),
        btree_set("\\PC{1,6}|[\"'\\\\\n\t#=]{1,4}", 1..4)
            .prop_map(|values| PropertyType::Enum(values.into_iter().rev().collect())),
        select(&SCALARS[..]).prop_map(PropertyType::List),
        (1_u32..=65_536).prop_map(PropertyType::Vector),
    ]
}

fn property() -> impl Strategy<Value = PropertyDecl> {
    let flags = (any::<bool>(), any::<bool>(), any::<bool>());
    ("[A-Za-z][A-Za-z0-9_]{0,8}", property_type(), flags).prop_map(
        |(name, property_type, (nullable, unique, index))| PropertyDecl {
            unique: unique && property_type.can_be_unique(),
            name,
            property_type,
            nullable,
            index,
            renamed_from: None,
        },
    )
}

/// Properties with distinct names that no type reserves.
fn properties() -> impl Strategy<Value = Vec<PropertyDecl>> {
    vec(property(), 0..6).prop_map(|mut properties| {
        let mut taken: BTreeSet<_> = ["id", "src", "dst"].map(str::to_owned).into();
        properties.retain(|property| taken.insert(property.name.to_ascii_lowercase()));
        properties
    })
}

fn unique_sets(properties: &[PropertyDecl], wanted: bool) -> Vec<Vec<String>> {
    let able = properties.iter().filter(|property| property.property_type.can_be_unique());
    let set: Vec<_> = able.map(|property| property.name.clone()).collect();
    if wanted && set.len() > 1 { vec![set] } else { Vec::new() }
}

fn node() -> impl Strategy<Value = TypeDecl> {
    let key = select(vec!["string", "i32", "i64", "u32", "u64"]);
    (properties(), key, any::<bool>(), any::<bool>()).prop_map(
        |(mut properties, key, set, index)| {
            let unique = unique_sets(&properties, set);
            let scalar = SCALARS.into_iter().find(|scalar| scalar.name() == key).unwrap();
            properties.push(PropertyDecl {
                name: "id".to_owned(),
                property_type: PropertyType::Scalar(scalar),
                nullable: false,
                unique: false,
                index: false,
                renamed_from: None,
            });
            let kind = DeclKind::Node { key: "id".to_owned() };
            TypeDecl { name: String::new(), kind, properties, unique, index, renamed_from: None }
        },
    )
}

fn edge() -> impl Strategy<Value = TypeDecl> {
    let cardinality = (0_u32..4, proptest::option::of(4_u32..9));
    (properties(), cardinality, any::<bool>(), any::<(bool, bool)>()).prop_map(
        |(properties, (min, max), multi, (set, index))| TypeDecl {
            name: String::new(),
            kind: DeclKind::Edge {
                from: String::new(),
                to: String::new(),
                cardinality: Cardinality { min, max },
                multi,
            },
            unique: unique_sets(&properties, set),
            properties,
            index,
            renamed_from: None,
        },
    )
}

/// Documents that keep every rule; edges are given ends among the nodes.
fn document() -> impl Strategy<Value = SchemaDocument> {
    (vec(node(), 1..4), vec((edge(), 0_usize..9, 0_usize..9), 0..4)).prop_map(|(nodes, edges)| {
        let count = nodes.len();
        let named =
            |(number, decl): (usize, TypeDecl)| TypeDecl { name: format!("N{number}"), ..decl };
        let mut types: Vec<_> = nodes.into_iter().enumerate().map(named).collect();
        for (number, (mut decl, source, target)) in edges.into_iter().enumerate() {
            decl.name = format!("E{number}");
            if let DeclKind::Edge { from, to, .. } = &mut decl.kind {
                *from = format!("N{}", source % count);
                *to = format!("N{}", target % count);
            }
            types.push(decl);
        }
        SchemaDocument::from_types(types)
    })
}

fn schema() -> impl Strategy<Value = GraphSchema> {
    (document(), any::<u64>())
        .prop_map(|(document, seed)| declare(&document, &SeededEnv::new(seed)).unwrap())
}

/// Whatever was accepted has exactly the bytes that it was read from.
fn decode_is_exact(bytes: &[u8]) -> bool {
    GraphSchema::from_bytes(bytes).is_ok_and(|schema| schema.to_bytes() == bytes)
}

#[test]
fn the_full_schema_is_written_as_text() {
    insta::assert_snapshot!(full_schema().to_toml());
}

#[test]
fn the_full_text_survives_being_written_again() {
    let first = accept(FULL);
    let again = accept(&first.to_toml());
    let moved = with_identities(&again, |name| first.by_name(name).unwrap().identity);
    assert_eq!(moved, first);
}

proptest! {
    #[test]
    fn a_schema_survives_its_bytes(schema in schema()) {
        prop_assert_eq!(GraphSchema::from_bytes(&schema.to_bytes()).unwrap(), schema);
    }

    #[test]
    fn a_schema_survives_its_text_up_to_identities(schema in schema(), seed: u64) {
        let text = schema.to_toml();
        let document = SchemaDocument::parse(&text).unwrap();
        let again = declare(&document, &SeededEnv::new(seed)).unwrap();
        let moved = with_identities(&again, |name| schema.by_name(name).unwrap().identity);
        prop_assert_eq!(moved, schema);
    }

    #[test]
    fn the_hash_is_equal_exactly_when_the_schema_is(left in schema(), right in schema()) {
        prop_assert_eq!(left.hash() == right.hash(), left == right);
    }

    #[test]
    fn every_schema_has_shapes_that_hold_its_keys_and_constraints(schema in schema()) {
        for def in schema.types() {
            let shape = schema.arrow_schema(def.identity).unwrap();
            for column in def.key_columns() {
                prop_assert!(!shape.field_with_name(column).unwrap().is_nullable());
            }
            for constraint in schema.constraints_of(def.identity) {
                let known = constraint.columns().iter().all(|name| shape.index_of(name).is_ok());
                prop_assert!(known, "{}", constraint);
            }
        }
    }

    #[test]
    fn any_bytes_give_a_schema_or_a_typed_error(bytes in vec(any::<u8>(), 0..200)) {
        let refused = GraphSchema::from_bytes(&bytes).is_err();
        prop_assert!(refused || decode_is_exact(&bytes));
    }

    #[test]
    fn any_bytes_after_the_version_give_a_schema_or_a_typed_error(
        body in vec(any::<u8>(), 0..200),
    ) {
        let bytes = [vec![1], body].concat();
        let refused = GraphSchema::from_bytes(&bytes).is_err();
        prop_assert!(refused || decode_is_exact(&bytes));
    }

    #[test]
    fn a_damaged_schema_is_another_schema_or_a_typed_error(at: prop::sample::Index, to: u8) {
        let original = full_schema().to_bytes();
        let mut bytes = original.clone();
        let at = at.index(bytes.len());
        bytes[at] = to;
        let decoded = GraphSchema::from_bytes(&bytes);
        prop_assert!(decoded.is_err() || decode_is_exact(&bytes));
        prop_assert_eq!(decoded == Ok(full_schema()), bytes == original);
    }

    #[test]
    fn any_text_gives_a_document_or_a_typed_error(text in "\\PC{0,80}") {
        let _ = SchemaDocument::parse(&text);
    }
}
