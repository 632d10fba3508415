//! Prints the audited table: as the page that is checked in, and for a program.

use std::fmt::Write;

use serde_json::json;

use super::Found;
use super::adapters::Adapter;
use super::flows::Act;
use super::table::{COMES_TO, ENTRY_POINTS, EntryPoint, GUARDED, Protocol};
use crate::finding::{Finding, Weight};

/// The version of the document that [`json()`] makes; it changes when a field changes its meaning or
/// goes away, not when one is added.
const SCHEMA_VERSION: u32 = 1;

const OPENING: &str = include_str!("opening.md");

/// The page.
pub(crate) fn markdown(adapters: &[Adapter]) -> String {
    let (commands, library): (Vec<_>, Vec<_>) =
        ENTRY_POINTS.iter().partition(|row| row.is_command());
    let mut page = OPENING.to_owned();
    section(&mut page, "Library", &library, adapters);
    section(&mut page, "Operator tool", &commands, adapters);
    guarded(&mut page);
    page
}

fn section(page: &mut String, title: &str, rows: &[&EntryPoint], adapters: &[Adapter]) {
    let columns = "| Entry point | Protocol | Adapter | Effects | Gates | What it does |";
    line(page, &format!("\n## {title}\n\n{columns}\n|---|---|---|---|---|---|"));
    for row in rows {
        let adapter = adapter_of(row, adapters);
        let name = adapter.map_or_else(nothing, |adapter| format!("`{}`", adapter.name));
        let gates = adapter.map_or_else(nothing, gates);
        let effects = or_nothing(&effects(row, adapter).join(", "));
        let protocol = row.protocol.name();
        let EntryPoint { name: entry, says, .. } = row;
        line(page, &format!("| `{entry}` | {protocol} | {name} | {effects} | {gates} | {says} |"));
    }
}

fn adapter_of<'a>(row: &EntryPoint, adapters: &'a [Adapter]) -> Option<&'a Adapter> {
    let Protocol::GraphWrite(name) = row.protocol else { return None };
    adapters.iter().find(|adapter| adapter.name == name)
}

/// The kinds of a graph write's effects; for the others, the acts that they come to.
fn effects(row: &EntryPoint, adapter: Option<&Adapter>) -> Vec<String> {
    match adapter {
        Some(adapter) => adapter.effects.clone(),
        None => acts(row).iter().map(ToString::to_string).collect(),
    }
}

fn acts(row: &EntryPoint) -> &'static [Act] {
    COMES_TO.iter().find(|(name, _)| *name == row.name).map_or(&[], |(_, acts)| acts)
}

fn gates(adapter: &Adapter) -> String {
    let Adapter { schema_gate, branch_gate, table_gates, .. } = adapter;
    format!("schema {schema_gate}, branch {branch_gate}, tables {table_gates}")
}

fn nothing() -> String {
    or_nothing("")
}

fn or_nothing(text: &str) -> String {
    if text.is_empty() { "-".to_owned() } else { text.to_owned() }
}

fn guarded(page: &mut String) {
    let opening = "\n## Functions that grant a right\n\nOnly the named crates, and tests, may name \
                   them.\n\n| Function | Crates | What it grants |\n|---|---|---|";
    line(page, opening);
    for row in &GUARDED {
        let rooms = row.rooms.join(", ");
        line(page, &format!("| `{}::{}` | {rooms} | {} |", row.owner, row.function, row.grants));
    }
}

fn line(page: &mut String, text: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(page, "{text}");
}

/// The document that docs/entrypoints.md describes.
pub(crate) fn json(found: &[Found], adapters: &[Adapter], findings: &[Finding]) -> String {
    let rows = ENTRY_POINTS.iter().map(|row| object(row, found, adapter_of(row, adapters)));
    let findings = findings.iter().map(|finding| {
        json!({
            "code": finding.rule,
            "fails": finding.weight == Weight::Fault,
            "place": finding.place,
            "text": finding.text,
        })
    });
    let document = json!({
        "schema_version": SCHEMA_VERSION,
        "entry_points": rows.collect::<Vec<_>>(),
        "findings": findings.collect::<Vec<_>>(),
    });
    format!("{document:#}")
}

fn object(row: &EntryPoint, found: &[Found], adapter: Option<&Adapter>) -> serde_json::Value {
    let place = found.iter().find(|found| found.name == row.name).map(|found| &found.place);
    let gates = adapter.map(|adapter| {
        json!({
            "schema": adapter.schema_gate,
            "branch": adapter.branch_gate,
            "tables": adapter.table_gates,
        })
    });
    let acts: Vec<String> = acts(row).iter().map(ToString::to_string).collect();
    json!({
        "name": row.name,
        "surface": if row.is_command() { "command" } else { "library" },
        "protocol": row.protocol.name().replace(' ', "-"),
        "adapter": adapter.map(|adapter| &adapter.name),
        "effects": adapter.map_or(&[][..], |adapter| &adapter.effects),
        "acts": acts,
        "gates": gates,
        "says": row.says,
        "source": place,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load() -> Adapter {
        Adapter {
            name: "load".to_owned(),
            effects: vec!["Staged".to_owned()],
            schema_gate: "shared".to_owned(),
            branch_gate: "shared".to_owned(),
            table_gates: "exclusive".to_owned(),
            ..Adapter::default()
        }
    }

    fn document(found: &[Found], findings: &[Finding]) -> serde_json::Value {
        serde_json::from_str(&json(found, &[load()], findings)).unwrap()
    }

    fn entry<'a>(document: &'a serde_json::Value, name: &str) -> &'a serde_json::Value {
        let mut rows = document["entry_points"].as_array().unwrap().iter();
        rows.find(|row| row["name"] == name).unwrap()
    }

    #[test]
    fn the_page_has_every_entry_point_once() {
        let page = markdown(&[]);
        for row in ENTRY_POINTS {
            assert_eq!(page.matches(&format!("| `{}` |", row.name)).count(), 1, "{}", row.name);
        }
    }

    #[test]
    fn the_page_says_effects_and_gates_of_a_graph_write() {
        let page = markdown(&[load()]);
        let row = "| `Graph::load` | graph write | `load` | Staged | schema shared, branch shared, \
                   tables exclusive | Loads";
        assert!(page.contains(row), "{page}");
    }

    #[test]
    fn json_names_the_place_in_the_sources() {
        let place = "crates/coordinator/src/graph.rs:7".to_owned();
        let found = Found::of_library("Graph::load".to_owned(), place.clone());
        let document = document(&[found], &[]);
        assert_eq!(entry(&document, "Graph::load")["source"], serde_json::Value::from(place));
        assert_eq!(entry(&document, "Graph::open")["source"], serde_json::Value::Null);
    }

    #[test]
    fn json_has_the_same_fields_for_every_entry_point() {
        let document = document(&[], &[]);
        assert_eq!(document["schema_version"], 1);
        for row in document["entry_points"].as_array().unwrap() {
            let fields: Vec<&str> = row.as_object().unwrap().keys().map(String::as_str).collect();
            let expected = [
                "acts", "adapter", "effects", "gates", "name", "protocol", "says", "source",
                "surface",
            ];
            assert_eq!(fields, expected);
        }
        let load = entry(&document, "graphwrite load");
        assert_eq!(
            (&load["protocol"], &load["gates"]["tables"]),
            (&"graph-write".into(), &"exclusive".into())
        );
        assert_eq!(entry(&document, "Graph::recover")["acts"][0], "stage");
    }

    #[test]
    fn json_has_what_was_found() {
        let finding = Finding::fault("a.rs:1", "glob", "a glob".to_owned());
        let document = document(&[], &[finding]);
        let expected =
            json!([{"code": "glob", "fails": true, "place": "a.rs:1", "text": "a glob"}]);
        assert_eq!(document["findings"], expected);
    }
}
