//! What the TOML form means.

use graphwrite_schema::{Cardinality, PropertyType, ScalarType, SchemaDocument};

use crate::support::{FULL, accept};

fn page_examples() -> Vec<&'static str> {
    let page = include_str!("../../../../docs/schema.md");
    let blocks = page.split("```toml\n").skip(1);
    blocks.map(|block| block.split("```").next().unwrap()).collect()
}

#[test]
fn the_examples_of_the_schema_page_are_schemas() {
    let examples = page_examples();
    assert!(!examples.is_empty());
    examples.into_iter().for_each(|example| drop(accept(example)));
}

#[test]
fn attributes_default_to_the_plain_choice() {
    let schema = accept(
        "[node.A]\nkey = \"k\"\nproperties.k = { type = \"string\" }\n\
         [edge.E]\nfrom = \"A\"\nto = \"A\"\n",
    );
    let key = schema.by_name("A").unwrap().key_property().unwrap();
    assert_eq!((key.nullable, key.unique, key.index), (false, false, false));
    let edge = schema.by_name("E").unwrap().edge().unwrap();
    assert_eq!((edge.cardinality, edge.multi), (Cardinality::ANY, false));
}

#[test]
fn every_property_type_is_read() {
    let schema = accept(FULL);
    let person = schema.by_name("Person").unwrap();
    let types: Vec<_> = person
        .properties
        .iter()
        .map(|property| format!("{} {}", property.name, property.property_type))
        .collect();
    insta::assert_snapshot!(types.join(", "), @"slug string, name string, city string, email string, kind enum, adult bool, age i32, steps i64, rank u32, views u64, score f32, weight f64, born date, seen datetime, photo binary, tags list<string>, days list<date>, vec vector<4>");
}

#[test]
fn properties_keep_the_order_of_the_text() {
    let schema = accept(
        "[node.A]\nkey = \"z\"\n[node.A.properties]\nz = { type = \"i32\" }\n\
         m = { type = \"i32\" }\na = { type = \"i32\" }\n",
    );
    let names: Vec<_> = schema.types()[0].properties.iter().map(|p| p.name.as_str()).collect();
    assert_eq!(names, ["z", "m", "a"]);
}

#[test]
fn types_keep_the_order_of_the_text() {
    let document = SchemaDocument::parse(FULL).unwrap();
    let names: Vec<_> = document.types().iter().map(|decl| decl.name.as_str()).collect();
    assert_eq!(names, ["Person", "Place", "Knows", "Visits"]);
}

#[test]
fn an_edge_may_stand_before_its_nodes() {
    let schema = accept(
        "[edge.E]\nfrom = \"A\"\nto = \"A\"\n\
         [node.A]\nkey = \"k\"\nproperties.k = { type = \"string\" }\n",
    );
    assert_eq!(schema.edges().count(), 1);
}

#[test]
fn a_cardinality_is_read_and_written_alike() {
    for text in ["0..*", "0..1", "1..1", "2..5", "7..*"] {
        assert_eq!(text.parse::<Cardinality>().unwrap().to_string(), text);
    }
}

#[test]
fn a_cardinality_has_one_spelling() {
    for text in ["00..1", "+1..2", "0 ..1", "0..01", "*..1", "0...1"] {
        assert!(text.parse::<Cardinality>().is_err(), "{text}");
    }
}

#[test]
fn a_cardinality_allows_both_its_ends() {
    let range = Cardinality { min: 1, max: Some(3) };
    let allowed: Vec<_> = (0..6).filter(|count| range.allows(*count)).collect();
    assert_eq!(allowed, [1, 2, 3]);
    assert!(Cardinality::ANY.allows(u64::MAX));
}

#[test]
fn only_listed_texts_are_enum_values() {
    let kind = PropertyType::Enum(vec!["a".into(), "b".into()]);
    assert!(kind.is_enum_value("b"));
    assert!(!kind.is_enum_value("B"));
    assert!(!PropertyType::Scalar(ScalarType::String).is_enum_value("a"));
}

#[test]
fn every_integer_and_text_type_can_be_a_key() {
    for key in ["string", "i32", "i64", "u32", "u64"] {
        let text = format!("[node.A]\nkey = \"k\"\nproperties.k = {{ type = \"{key}\" }}\n");
        assert_eq!(accept(&text).types()[0].key_columns(), ["k"]);
    }
}
