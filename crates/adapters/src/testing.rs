//! A small graph for the tests of this crate: every property type, every constraint.

use std::sync::atomic::{AtomicU64, Ordering};

use graphwrite_protocol_types::Env;
use graphwrite_schema::{GraphSchema, SchemaDocument, declare};

use crate::{InputBuilder, InputError, LoadInput};

const TOML: &str = r#"
[node.Person]
key = "slug"
[node.Person.properties]
slug  = { type = "string" }
email = { type = "string", nullable = true, unique = true }
age   = { type = "i32", nullable = true }
tags  = { type = "list<string>", nullable = true }

[node.Place]
key = "slug"
unique = [["city", "country"]]
[node.Place.properties]
slug    = { type = "string" }
city    = { type = "string" }
country = { type = "string", nullable = true }

[node.Types]
key = "key"
[node.Types.properties]
key   = { type = "i64" }
text  = { type = "string", nullable = true }
flag  = { type = "bool", nullable = true }
i32   = { type = "i32", nullable = true }
i64   = { type = "i64", nullable = true }
u32   = { type = "u32", nullable = true }
u64   = { type = "u64", nullable = true }
f32   = { type = "f32", nullable = true }
f64   = { type = "f64", nullable = true }
day   = { type = "date", nullable = true }
at    = { type = "datetime", nullable = true }
bytes = { type = "binary", nullable = true }
kind  = { type = "enum", values = ["b", "a"], nullable = true }
tags  = { type = "list<string>", nullable = true }
nums  = { type = "list<i32>", nullable = true }
times = { type = "list<datetime>", nullable = true }
vec   = { type = "vector<2>", nullable = true }

[edge.Knows]
from = "Person"
to = "Person"
[edge.Knows.properties]
since = { type = "date", nullable = true }

[edge.Uses]
from = "Person"
to = "Types"

[edge.Visits]
from = "Person"
to = "Place"
multi = true
cardinality = "0..2"
[edge.Visits.properties]
note = { type = "string", nullable = true }

[edge.LiesIn]
from = "Types"
to = "Place"
cardinality = "0..1"

[node.Firm]
key = "slug"
[node.Firm.properties]
slug = { type = "string" }
name = { type = "string", nullable = true }

[edge.Seat]
from = "Firm"
to = "Place"
multi = true
cardinality = "1..2"
"#;

/// For every property of `Types` a value, and another one.
pub(crate) const TYPES: &[(&str, &str)] = &[
    (r#""text":"é\n""#, r#""text":"""#),
    (r#""flag":true"#, r#""flag":false"#),
    (r#""i32":-2147483648"#, r#""i32":0"#),
    (r#""i64":-9223372036854775808"#, r#""i64":0"#),
    (r#""u32":4294967295"#, r#""u32":0"#),
    (r#""u64":18446744073709551615"#, r#""u64":0"#),
    (r#""f32":0.1"#, r#""f32":0.10000001"#),
    (r#""f64":-0.0"#, r#""f64":0.0"#),
    (r#""day":"2000-02-29""#, r#""day":"2000-03-01""#),
    (r#""at":"1970-01-01T01:00:01.5+01:00""#, r#""at":"1970-01-01T00:00:01.500001Z""#),
    (r#""bytes":"AP8=""#, r#""bytes":"""#),
    (r#""kind":"b""#, r#""kind":"a""#),
    (r#""tags":["x",""]"#, r#""tags":["x"]"#),
    (r#""nums":[]"#, r#""nums":[0]"#),
    (r#""times":["1970-01-01T00:00:00Z"]"#, r#""times":["1970-01-01T00:00:00.000001Z"]"#),
    (r#""vec":[1,-2.5]"#, r#""vec":[1,-2.4]"#),
];

/// Time and randomness that only count.
#[derive(Debug, Default)]
pub(crate) struct CountingEnv(AtomicU64);

impl Env for CountingEnv {
    fn unix_micros(&self) -> u64 {
        1_796_000_000_000_000 + self.0.fetch_add(1, Ordering::Relaxed)
    }

    fn monotonic_micros(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }

    fn random_u128(&self) -> u128 {
        let next = u128::from(self.0.fetch_add(1, Ordering::Relaxed)) + 1;
        // Spread over both halves, so that identities made of either half differ.
        next << 64 | next.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}

pub(crate) struct TestSchema {
    pub(crate) schema: GraphSchema,
}

impl TestSchema {
    pub(crate) fn new() -> Self {
        Self::of(TOML)
    }

    pub(crate) fn of(toml: &str) -> Self {
        let document = SchemaDocument::parse(toml).unwrap();
        Self { schema: declare(&document, &CountingEnv::default()).unwrap() }
    }

    pub(crate) fn builder(&self) -> InputBuilder {
        InputBuilder::new(&self.schema).with_errors_max(100)
    }

    pub(crate) fn try_input(&self, lines: &[&str]) -> Result<LoadInput, InputError> {
        let mut builder = self.builder();
        for (line, text) in (1..).zip(lines) {
            builder.push_json_line(line, text)?;
        }
        builder.finish()
    }

    pub(crate) fn input(&self, lines: &[&str]) -> LoadInput {
        self.try_input(lines).unwrap()
    }
}
