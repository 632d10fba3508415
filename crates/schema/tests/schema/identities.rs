//! Names are labels; identities are what is compared.

use graphwrite_schema::{GraphSchema, SchemaDocument, declare};

use crate::support::{FULL, ScriptedEnv, SeededEnv, full_schema, identity};

#[test]
fn declared_identities_are_distinct() {
    let schema = declare(&SchemaDocument::parse(FULL).unwrap(), &SeededEnv::new(1)).unwrap();
    let mut tables: Vec<_> = schema.types().iter().map(|def| def.identity.table).collect();
    tables.dedup();
    assert_eq!(tables.len(), 4);
}

#[test]
fn an_identity_that_is_taken_is_minted_again() {
    let text = "[node.A]\nkey = \"k\"\nproperties.k = { type = \"i32\" }\n\
                [node.B]\nkey = \"k\"\nproperties.k = { type = \"i32\" }\n";
    let env = ScriptedEnv::new(&[1, 2, 1, 9, 8, 2, 8, 9]);
    let schema = declare(&SchemaDocument::parse(text).unwrap(), &env).unwrap();
    let second = schema.by_name("B").unwrap().identity;
    assert_eq!((second.table.get(), second.incarnation.get()), (8, 9));
}

#[test]
fn two_declarations_of_one_text_have_other_identities() {
    let document = SchemaDocument::parse(FULL).unwrap();
    let first = declare(&document, &SeededEnv::new(1)).unwrap();
    let second = declare(&document, &SeededEnv::new(2)).unwrap();
    assert!(first.types().iter().all(|def| second.by_identity(def.identity).is_none()));
    assert_ne!(first.hash(), second.hash());
}

#[test]
fn a_renamed_type_keeps_its_identity_and_its_edges() {
    let mut types = full_schema().types().to_vec();
    types[0].name = "Human".to_owned();
    let schema = GraphSchema::new(types).unwrap();
    let human = schema.by_identity(identity(1)).unwrap();
    assert_eq!(human.name, "Human");
    let edges: Vec<_> = schema.edges_touching(human.identity.table).map(|def| &def.name).collect();
    assert_eq!(edges, ["Knows", "Visits"]);
}

#[test]
fn a_renamed_property_keeps_its_place_in_every_rule() {
    let mut types = full_schema().types().to_vec();
    types[0].properties[0].name = "handle".to_owned();
    types[0].properties[2].name = "town".to_owned();
    let schema = GraphSchema::new(types).unwrap();
    let person = schema.by_name("Person").unwrap();
    assert_eq!(person.key_columns(), ["handle"]);
    let rules: Vec<_> =
        schema.constraints_of(person.identity).iter().map(ToString::to_string).collect();
    assert!(rules.contains(&"Person.(name, town) unique".to_owned()), "{rules:?}");
}

#[test]
fn a_dropped_property_leaves_its_id_unused() {
    let mut types = full_schema().types().to_vec();
    types[0].properties.remove(5);
    let schema = GraphSchema::new(types).unwrap();
    let person = schema.by_name("Person").unwrap();
    assert_eq!(person.next_property_id, 19);
    assert!(person.properties.iter().all(|property| property.id.0 != 6));
}

#[test]
fn lookups_tell_nodes_edges_and_strangers_apart() {
    let schema = full_schema();
    assert!(schema.node_by_name("Person").is_some());
    assert!(schema.node_by_name("Knows").is_none());
    assert!(schema.edge_by_name("Knows").is_some());
    assert!(schema.edge_by_name("Person").is_none());
    assert!(schema.by_name("person").is_none());
    assert!(schema.by_table(identity(4).table).is_some());
    let mut other = identity(4);
    other.incarnation = identity(5).incarnation;
    assert!(schema.by_identity(other).is_none());
}

#[test]
fn edges_that_touch_a_node_are_found_from_both_ends() {
    let schema = full_schema();
    let touching = |node| -> Vec<_> {
        schema.edges_touching(identity(node).table).map(|def| def.name.as_str()).collect()
    };
    assert_eq!(touching(1), ["Knows", "Visits"]);
    assert_eq!(touching(2), ["Visits"]);
    assert!(touching(3).is_empty());
}
