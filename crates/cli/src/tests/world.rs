//! A scratch directory with a graph, and runs of the tool on it.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;

use serde_json::Value;

use crate::exit::Exit;
use crate::io::{Io, Surroundings};

const SCHEMA: &str = r#"
[node.Person]
key = "slug"
[node.Person.properties]
slug = { type = "string" }
age = { type = "i32", nullable = true }
[edge.Knows]
from = "Person"
to = "Person"
"#;

const ROWS: &str = r#"{"type":"Person","data":{"slug":"bob"}}
{"type":"Person","data":{"slug":"ada","age":36}}
{"edge":"Knows","from":"ada","to":"bob"}
"#;

/// A scratch directory with a schema, rows and, after `new`, a graph.
pub(super) struct World {
    pub(super) scratch: tempfile::TempDir,
}

/// What one run gave.
pub(super) struct Ran {
    pub(super) exit: Exit,
    pub(super) output: String,
    pub(super) errors: String,
}

impl Ran {
    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.output).unwrap_or_else(|_| panic!("{}", self.errors))
    }

    pub(super) fn error(&self) -> Value {
        serde_json::from_str(self.errors.lines().last().unwrap()).unwrap()
    }

    pub(super) fn done(self) -> Self {
        assert_eq!(self.exit, Exit::Done, "{}", self.errors);
        self
    }
}

impl World {
    pub(super) fn new() -> Self {
        let world = Self { scratch: tempfile::tempdir().unwrap() };
        world.write("schema.toml", SCHEMA);
        world.write("rows.jsonl", ROWS);
        world.run("init {g} --schema {d}/schema.toml").done();
        world
    }

    pub(super) fn loaded() -> Self {
        let world = Self::new();
        world.run("load {g} --data {d}/rows.jsonl").done();
        world
    }

    pub(super) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.scratch.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    /// `{g}` stands for the graph and `{d}` for the directory.
    fn args(&self, line: &str) -> Vec<OsString> {
        let directory = self.scratch.path().display().to_string();
        let line = line.replace("{g}", "{d}/graph").replace("{d}", &directory);
        ["graphwrite"].into_iter().chain(line.split(' ')).map(OsString::from).collect()
    }

    pub(super) fn run(&self, line: &str) -> Ran {
        self.feed(line, "")
    }

    pub(super) fn feed(&self, line: &str, input: &str) -> Ran {
        let mut output = Vec::new();
        let (exit, errors) = self.run_into(line, input, &mut output);
        Ran { exit, output: String::from_utf8(output).unwrap(), errors }
    }

    pub(super) fn run_into(
        &self,
        line: &str,
        input: &str,
        output: &mut (dyn Write + Send),
    ) -> (Exit, String) {
        let (mut errors, mut input) = (Vec::new(), input.as_bytes());
        let surroundings = Surroundings::default();
        let mut io = Io { input: &mut input, output, errors: &mut errors, surroundings };
        let exit = crate::run(self.args(line), &mut io);
        (exit, String::from_utf8(errors).unwrap())
    }
}

/// An output that fails with an error of this kind.
pub(super) struct Fails(pub(super) io::ErrorKind);

impl Write for Fails {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(self.0.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Err(self.0.into())
    }
}
