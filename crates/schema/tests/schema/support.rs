//! Environments, fixed identities and a schema that uses everything.

use std::sync::atomic::{AtomicU64, Ordering};

use graphwrite_protocol_types::{Env, IncarnationId, StableTableId, TableIdentity};
use graphwrite_schema::{GraphSchema, SchemaDocument, SchemaError, TypeDef, TypeKind, declare};

/// Uses every attribute and every property type.
pub(crate) const FULL: &str = r#"
[node.Person]
key = "slug"
unique = [["city", "name"]]
index = true
[node.Person.properties]
slug = { type = "string" }
name = { type = "string", index = true }
city = { type = "string", nullable = true }
email = { type = "string", nullable = true, unique = true }
kind = { type = "enum", values = ["writer", "reader"] }
adult = { type = "bool", nullable = true }
age = { type = "i32", nullable = true }
steps = { type = "i64", nullable = true }
rank = { type = "u32", nullable = true }
views = { type = "u64", nullable = true }
score = { type = "f32", nullable = true }
weight = { type = "f64", nullable = true }
born = { type = "date", nullable = true }
seen = { type = "datetime", nullable = true }
photo = { type = "binary", nullable = true }
tags = { type = "list<string>", nullable = true }
days = { type = "list<date>", nullable = true }
vec = { type = "vector<4>", nullable = true, index = true }

[node.Place]
key = "id"
[node.Place.properties]
id = { type = "u32" }

[edge.Knows]
from = "Person"
to = "Person"
index = true
[edge.Knows.properties]
since = { type = "date", nullable = true }

[edge.Visits]
from = "Person"
to = "Place"
cardinality = "1..3"
multi = true
[edge.Visits.properties]
at = { type = "datetime", index = true }
"#;

/// Replayable randomness.
#[derive(Debug)]
pub(crate) struct SeededEnv(AtomicU64);

impl SeededEnv {
    pub(crate) fn new(seed: u64) -> Self {
        Self(AtomicU64::new(seed))
    }

    fn next(&self) -> u64 {
        let state = self.0.fetch_add(0x9E37_79B9_7F4A_7C15, Ordering::Relaxed);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }
}

impl Env for SeededEnv {
    fn unix_micros(&self) -> u64 {
        0
    }

    fn monotonic_micros(&self) -> u64 {
        0
    }

    fn random_u128(&self) -> u128 {
        (u128::from(self.next()) << 64) | u128::from(self.next())
    }
}

/// Randomness that runs through a fixed list and then repeats the last number.
#[derive(Debug)]
pub(crate) struct ScriptedEnv {
    pub(crate) numbers: Vec<u64>,
    pub(crate) used: AtomicU64,
}

impl ScriptedEnv {
    pub(crate) fn new(numbers: &[u64]) -> Self {
        Self { numbers: numbers.to_vec(), used: AtomicU64::new(0) }
    }
}

impl Env for ScriptedEnv {
    fn unix_micros(&self) -> u64 {
        0
    }

    fn monotonic_micros(&self) -> u64 {
        0
    }

    fn random_u128(&self) -> u128 {
        let index = self.used.fetch_add(1, Ordering::Relaxed) as usize;
        u128::from(self.numbers[index.min(self.numbers.len() - 1)])
    }
}

pub(crate) fn accept(text: &str) -> GraphSchema {
    let document = SchemaDocument::parse(text).unwrap();
    declare(&document, &SeededEnv::new(7)).unwrap()
}

pub(crate) fn refuse(text: &str) -> SchemaError {
    let declared =
        SchemaDocument::parse(text).and_then(|document| declare(&document, &SeededEnv::new(7)));
    match declared {
        Err(error) => error,
        Ok(_) => panic!("this schema must be refused:\n{text}"),
    }
}

pub(crate) fn identity(number: u64) -> TableIdentity {
    TableIdentity {
        table: StableTableId::new(number).unwrap(),
        incarnation: IncarnationId::new(number + 0x1000).unwrap(),
    }
}

/// The same types with other identities, chosen by name.
pub(crate) fn with_identities(
    schema: &GraphSchema,
    identity_of: impl Fn(&str) -> TableIdentity,
) -> GraphSchema {
    let renumber = |table| identity_of(&schema.by_table(table).unwrap().name).table;
    let moved = schema.types().iter().cloned().map(|mut def: TypeDef| {
        def.identity = identity_of(&def.name);
        if let TypeKind::Edge(edge) = &mut def.kind {
            edge.from = renumber(edge.from);
            edge.to = renumber(edge.to);
        }
        def
    });
    GraphSchema::new(moved.collect()).unwrap()
}

/// The full schema under fixed identities: `Person` 1, `Place` 2, `Knows` 3, `Visits` 4.
pub(crate) fn full_schema() -> GraphSchema {
    with_identities(&accept(FULL), |name| {
        let names = ["Person", "Place", "Knows", "Visits"];
        identity(1 + names.iter().position(|known| *known == name).unwrap() as u64)
    })
}
