//! Every rule has an input that breaks it, and an error that names place, text, rule and remedy.

use std::collections::BTreeSet;
use std::fmt::Write;

use graphwrite_schema::{
    GraphSchema, PROPERTIES_MAX, PropertyDecl, PropertyId, PropertyType, ScalarType,
    SchemaDocument, SchemaError, TypeDef, declare,
};

use crate::support::{ScriptedEnv, SeededEnv, accept, full_schema, refuse};

/// A node that stands in front of what is judged.
const NODE: &str = "[node.A]\nkey = \"k\"\n[node.A.properties]\nk = { type = \"string\" }\n";

/// Texts that follow `NODE`: continued properties of `A`, or further types.
const REFUSED: &[(&str, &str)] = &[
    ("text that is not TOML", "x = {"),
    ("a key that stands twice", "k = { type = \"string\" }"),
    ("an unknown section", "[nodes.B]\nkey = \"k\""),
    ("a section that is no table", "[[edge]]\nfrom = \"A\""),
    ("a type that is no table", "[edge]\nE = 3"),
    ("an unknown attribute of a node", "[node.B]\nkey = \"k\"\nkeys = 1"),
    ("an edge's attribute on a node", "[node.B]\nkey = \"k\"\nmulti = true"),
    ("a node's attribute on an edge", "[edge.E]\nfrom = \"A\"\nto = \"A\"\nkey = \"k\""),
    ("an unknown attribute of a property", "p = { type = \"string\", default = 1 }"),
    ("a node without a key", "[node.B]\nindex = true"),
    ("an edge without from", "[edge.E]\nto = \"A\""),
    ("an edge without to", "[edge.E]\nfrom = \"A\""),
    ("a property without a type", "p = { nullable = true }"),
    ("a property that is no table", "p = \"string\""),
    ("a type that is no text", "p = { type = 32 }"),
    ("a flag that is no boolean", "p = { type = \"string\", nullable = \"yes\" }"),
    ("properties that are no table", "[edge.E]\nfrom = \"A\"\nto = \"A\"\nproperties = 1.5"),
    ("values that are no list", "p = { type = \"enum\", values = \"a\" }"),
    ("a value that is no text", "p = { type = \"enum\", values = [true] }"),
    ("unique sets that are no list", "[node.B]\nkey = \"k\"\nunique = true"),
    ("a unique set that is no list", "[node.B]\nkey = \"k\"\nunique = [\"a\"]"),
    ("a date where a text belongs", "[node.B]\nkey = 2020-01-01"),
    ("an unknown property type", "p = { type = \"i33\" }"),
    ("a type in the wrong case", "p = { type = \"String\" }"),
    ("a list of no scalar", "p = { type = \"list<enum>\" }"),
    ("a list of lists", "p = { type = \"list<list<i32>>\" }"),
    ("a vector without a size", "p = { type = \"vector<>\" }"),
    ("a vector of size zero", "p = { type = \"vector<0>\" }"),
    ("a vector that is too large", "p = { type = \"vector<65537>\" }"),
    ("a vector size beyond numbers", "p = { type = \"vector<99999999999>\" }"),
    ("a vector size with a sign", "p = { type = \"vector<+4>\" }"),
    ("an enum without values", "p = { type = \"enum\" }"),
    ("an enum with no value", "p = { type = \"enum\", values = [] }"),
    ("an enum with an empty value", "p = { type = \"enum\", values = [\"a\", \"\"] }"),
    ("an enum with a value twice", "p = { type = \"enum\", values = [\"b\", \"a\", \"b\"] }"),
    ("values beside another type", "p = { type = \"string\", values = [\"a\"] }"),
    ("a type name with a digit first", "[node.1B]\nkey = \"k\"\nproperties.k = { type = \"i32\" }"),
    ("a property name with a hyphen", "first-name = { type = \"string\" }"),
    ("a property name outside ASCII", "\"größe\" = { type = \"string\" }"),
    ("an empty property name", "\"\" = { type = \"string\" }"),
    ("a name with a dot", "\"a.b\" = { type = \"string\" }"),
    ("a name with a line break", "\"a\\nb\" = { type = \"string\" }"),
    ("a type name of the system", "[edge._E]\nfrom = \"A\"\nto = \"A\""),
    ("a property name of the system", "_rowid = { type = \"u64\" }"),
    ("a property id that is not the key", "id = { type = \"string\" }"),
    ("a key called Id", "[node.B]\nkey = \"Id\"\n[node.B.properties]\nId = { type = \"string\" }"),
    ("properties that differ by case", "Name = { type = \"i32\" }\nname = { type = \"i32\" }"),
    ("nodes that differ by case", "[node.a]\nkey = \"k\"\nproperties.k = { type = \"i32\" }"),
    ("a node and an edge of one name", "[edge.A]\nfrom = \"A\"\nto = \"A\""),
    ("a key that is not declared", "[node.B]\nkey = \"slug\""),
    (
        "a key that is nullable",
        "[node.B]\nkey = \"k\"\nproperties.k = { type = \"i32\", nullable = true }",
    ),
    ("a key of floats", "[node.B]\nkey = \"k\"\nproperties.k = { type = \"f64\" }"),
    (
        "a key of an enum",
        "[node.B]\nkey = \"k\"\nproperties.k = { type = \"enum\", values = [\"a\"] }",
    ),
    ("an edge from nowhere", "[edge.E]\nfrom = \"B\"\nto = \"A\""),
    ("an edge to an edge", "[edge.E]\nfrom = \"A\"\nto = \"E\""),
    ("a cardinality without dots", "[edge.E]\nfrom = \"A\"\nto = \"A\"\ncardinality = \"1\""),
    ("a cardinality without minimum", "[edge.E]\nfrom = \"A\"\nto = \"A\"\ncardinality = \"..1\""),
    ("a cardinality without maximum", "[edge.E]\nfrom = \"A\"\nto = \"A\"\ncardinality = \"0..\""),
    ("a negative cardinality", "[edge.E]\nfrom = \"A\"\nto = \"A\"\ncardinality = \"-1..2\""),
    ("a minimum above the maximum", "[edge.E]\nfrom = \"A\"\nto = \"A\"\ncardinality = \"3..2\""),
    ("a maximum of zero", "[edge.E]\nfrom = \"A\"\nto = \"A\"\ncardinality = \"0..0\""),
    ("a unique vector", "p = { type = \"vector<2>\", unique = true }"),
    ("a unique list", "p = { type = \"list<i32>\", unique = true }"),
    ("a unique float", "p = { type = \"f32\", unique = true }"),
    (
        "a unique set of one",
        "[edge.E]\nfrom = \"A\"\nto = \"A\"\nunique = [[\"b\"]]\nproperties.b = { type = \"i32\" }",
    ),
    ("an empty unique set", "[edge.E]\nfrom = \"A\"\nto = \"A\"\nunique = [[]]"),
    (
        "a unique set with a stranger",
        "[edge.E]\nfrom = \"A\"\nto = \"A\"\nunique = [[\"src\", \"b\"]]\nproperties.b = { type = \"i32\" }",
    ),
    (
        "a unique set that repeats",
        "[edge.E]\nfrom = \"A\"\nto = \"A\"\nunique = [[\"b\", \"b\"]]\nproperties.b = { type = \"i32\" }",
    ),
    (
        "two equal unique sets",
        "[edge.E]\nfrom = \"A\"\nto = \"A\"\nunique = [[\"b\", \"c\"], [\"c\", \"b\"]]\nproperties.b = { type = \"i32\" }\nproperties.c = { type = \"i32\" }",
    ),
    (
        "a unique set with a float",
        "[edge.E]\nfrom = \"A\"\nto = \"A\"\nunique = [[\"b\", \"c\"]]\nproperties.b = { type = \"i32\" }\nproperties.c = { type = \"f64\" }",
    ),
    ("a renamed type", "[edge.E]\nfrom = \"A\"\nto = \"A\"\nrenamed_from = \"F\""),
    ("a renamed property", "p = { type = \"i32\", renamed_from = \"q\" }"),
    (
        "a reserved edge property id",
        "[edge.E]\nfrom = \"A\"\nto = \"A\"\nproperties.id = { type = \"i32\" }",
    ),
    (
        "a reserved edge property src",
        "[edge.E]\nfrom = \"A\"\nto = \"A\"\nproperties.SRC = { type = \"i32\" }",
    ),
    (
        "a reserved edge property dst",
        "[edge.E]\nfrom = \"A\"\nto = \"A\"\nproperties.dst = { type = \"i32\" }",
    ),
];

/// The codes of errors that no text gives rise to, or that need more than a line.
const CODES_BESIDE_TEXTS: &[&str] = &[
    "schema.identity_repeated",
    "schema.no_fresh_identity",
    "schema.no_types",
    "schema.property_id",
    "schema.too_many_properties",
];

const CODES: &[&str] = &[
    "schema.cardinality",
    "schema.enum_duplicate_value",
    "schema.enum_empty",
    "schema.enum_empty_value",
    "schema.enum_without_values",
    "schema.key_nullable",
    "schema.key_type",
    "schema.key_unknown",
    "schema.missing_attribute",
    "schema.name_collision",
    "schema.name_grammar",
    "schema.name_reserved",
    "schema.rename_without_past",
    "schema.syntax",
    "schema.unique_repeated_property",
    "schema.unique_repeated_set",
    "schema.unique_too_short",
    "schema.unique_type",
    "schema.unique_unknown_property",
    "schema.unknown_attribute",
    "schema.unknown_node",
    "schema.unknown_property_type",
    "schema.values_without_enum",
    "schema.vector_size",
    "schema.wrong_value",
];

fn refused(case: &str) -> SchemaError {
    refuse(&format!("{NODE}{case}\n"))
}

fn refuse_types(types: Vec<TypeDef>) -> SchemaError {
    GraphSchema::new(types).unwrap_err()
}

#[test]
fn every_bad_text_has_its_message() {
    let mut messages = String::new();
    for (what, case) in REFUSED {
        let error = refused(case);
        writeln!(messages, "{what}\n  [{}] {error}", error.code()).unwrap();
    }
    insta::assert_snapshot!(messages);
}

#[test]
fn every_code_of_a_text_is_produced_by_a_bad_text() {
    let produced: BTreeSet<_> = REFUSED.iter().map(|(_, case)| refused(case).code()).collect();
    assert_eq!(produced, CODES.iter().copied().collect());
    assert!(CODES_BESIDE_TEXTS.iter().all(|code| !produced.contains(code)));
}

#[test]
fn every_bad_text_is_located_by_line() {
    for (what, case) in REFUSED {
        let error = refused(case);
        assert!(error.line.is_some_and(|line| line > 4 || line == 1), "{what}: {error}");
    }
}

#[test]
fn a_line_is_that_of_the_attribute_at_fault() {
    let error = refuse("\n[node.A]\nkey = \"k\"\n\n[node.A.properties]\nk = { type = \"i9\" }\n");
    assert_eq!(error.line, Some(6));
    assert_eq!(error.place.as_str(), "node.A.properties.k.type");
}

#[test]
fn a_text_without_types_is_refused() {
    let error = refuse("# nothing here\n");
    assert_eq!(error.code(), "schema.no_types");
    insta::assert_snapshot!(error, @"schema: no type is declared; declare at least one [node.Name] with a key");
}

#[test]
fn a_name_of_64_bytes_is_accepted_and_one_more_is_refused() {
    let text = |length| NODE.replace("node.A", &format!("node.{}", "A".repeat(length)));
    assert_eq!(accept(&text(64)).types()[0].name.len(), 64);
    assert_eq!(refuse(&text(65)).code(), "schema.name_grammar");
}

#[test]
fn identities_that_run_out_are_refused() {
    let document = SchemaDocument::parse(&format!("{NODE}{}", NODE.replace('A', "B"))).unwrap();
    let error = declare(&document, &ScriptedEnv::new(&[5])).unwrap_err();
    assert_eq!(error.code(), "schema.no_fresh_identity");
    assert_eq!(error.place.as_str(), "node.B");
}

#[test]
fn a_repeated_stable_id_is_refused() {
    let mut types = full_schema().types().to_vec();
    types[1].identity.table = types[0].identity.table;
    assert_eq!(refuse_types(types).code(), "schema.identity_repeated");
}

#[test]
fn a_repeated_incarnation_is_refused() {
    let mut types = full_schema().types().to_vec();
    types[1].identity.incarnation = types[0].identity.incarnation;
    assert_eq!(refuse_types(types).code(), "schema.identity_repeated");
}

#[test]
fn property_ids_outside_their_range_are_refused() {
    for id in [0, 1, 19, u32::MAX] {
        let mut types = full_schema().types().to_vec();
        types[0].properties[1].id = PropertyId(id);
        assert_eq!(refuse_types(types).code(), "schema.property_id", "{id}");
    }
}

#[test]
fn a_next_property_id_of_zero_is_refused() {
    let mut types = full_schema().types().to_vec();
    let knows = types.iter_mut().find(|def| def.name == "Knows").unwrap();
    knows.properties.clear();
    knows.next_property_id = 0;
    assert_eq!(refuse_types(types).code(), "schema.property_id");
}

#[test]
fn a_reference_to_a_property_that_is_gone_is_refused() {
    let mut types = full_schema().types().to_vec();
    types[0].unique = vec![vec![PropertyId(2), PropertyId(99)]];
    assert_eq!(refuse_types(types.clone()).code(), "schema.unique_unknown_property");
    types[0].unique.clear();
    types[0].properties.remove(0);
    assert_eq!(refuse_types(types).code(), "schema.key_unknown");
}

#[test]
fn a_reference_to_a_node_type_that_is_gone_is_refused() {
    let types = full_schema().types().iter().filter(|def| def.name != "Place").cloned().collect();
    let error = refuse_types(types);
    assert_eq!((error.code(), error.place.as_str()), ("schema.unknown_node", "edge.Visits.to"));
}

#[test]
fn a_type_with_too_many_properties_is_refused() {
    let mut decl = SchemaDocument::parse(NODE).unwrap().types()[0].clone();
    let filler = |number| PropertyDecl {
        name: format!("p{number}"),
        property_type: PropertyType::Scalar(ScalarType::I32),
        nullable: true,
        unique: false,
        index: false,
        renamed_from: None,
    };
    decl.properties.extend((1..PROPERTIES_MAX).map(filler));
    let attempt = |decl| declare(&SchemaDocument::from_types(vec![decl]), &SeededEnv::new(1));
    assert!(attempt(decl.clone()).is_ok());
    decl.properties.push(filler(PROPERTIES_MAX));
    assert_eq!(attempt(decl).unwrap_err().code(), "schema.too_many_properties");
}

/// Looking for each line from the top of the text would take a minute here.
#[test]
fn lines_of_a_very_long_text_are_found_at_once() {
    let types: u32 = 4_000;
    let one = |n: u32| {
        format!("[node.T{n}]\nkey = \"k\"\n[node.T{n}.properties]\nk = {{ type = \"string\" }}\n")
    };
    let text: String = (0..types).map(one).collect();
    let error = SchemaDocument::parse(&format!("{text}[node.Last]\n")).unwrap_err();
    assert_eq!(error.line, Some(4 * types + 1), "{error}");
}
