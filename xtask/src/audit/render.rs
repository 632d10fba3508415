//! Prints the audited table: as the page that is checked in, and for a program.

use std::fmt::Write;

use serde_json::json;

use super::Found;
use super::table::{ENTRY_POINTS, EntryPoint, GUARDED, Protocol};

const OPENING: &str = "\
# Entry points

Every way into the library and the operator tool, and the protocol that it follows. The table is
closed: `cargo xtask audit-entrypoints` compares it with the sources and fails on an entry point that
is missing here, on one that no longer exists, and on ways around the protocol. This page is generated
(`cargo xtask audit-entrypoints --format md > docs/entrypoints.md`); edit `xtask/src/audit/table.rs`.

* **graph write**: stages A to H, with the effects of the named adapter and one graph commit.
* **control**: changes control state or resolves attempts, and makes no lineage.
* **authority-first**: its compare-and-set on the manifest comes first, with no effect before it.
* **read-only**: writes nothing.
* **port**: no way in; the library calls it.
";

/// The page.
pub(crate) fn markdown() -> String {
    let (commands, library): (Vec<_>, Vec<_>) =
        ENTRY_POINTS.iter().partition(|row| row.is_command());
    let mut page = OPENING.to_owned();
    section(&mut page, "Library", &library);
    section(&mut page, "Operator tool", &commands);
    guarded(&mut page);
    page
}

fn section(page: &mut String, title: &str, rows: &[&EntryPoint]) {
    line(
        page,
        &format!("\n## {title}\n\n| Entry point | Protocol | What it does |\n|---|---|---|"),
    );
    for row in rows {
        line(page, &format!("| `{}` | {} | {} |", row.name, row.protocol, row.says));
    }
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

/// One object per entry point, with the place where the sources have it.
pub(crate) fn json(found: &[Found]) -> String {
    let rows: Vec<serde_json::Value> = ENTRY_POINTS.iter().map(|row| object(row, found)).collect();
    format!("{:#}", serde_json::Value::from(rows))
}

fn object(row: &EntryPoint, found: &[Found]) -> serde_json::Value {
    let (protocol, adapter) = match row.protocol {
        Protocol::GraphWrite(adapter) => ("graph-write", Some(adapter)),
        Protocol::Control => ("control", None),
        Protocol::AuthorityFirst => ("authority-first", None),
        Protocol::ReadOnly => ("read-only", None),
        Protocol::Port => ("port", None),
    };
    let place = found.iter().find(|found| found.name == row.name).map(|found| &found.place);
    json!({
        "name": row.name,
        "surface": if row.is_command() { "command" } else { "library" },
        "protocol": protocol,
        "adapter": adapter,
        "says": row.says,
        "source": place,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_every_entry_point_once() {
        let page = markdown();
        for row in ENTRY_POINTS {
            assert_eq!(page.matches(&format!("| `{}` |", row.name)).count(), 1, "{}", row.name);
        }
    }

    #[test]
    fn json_names_the_place_in_the_sources() {
        let name = ENTRY_POINTS[0].name.to_owned();
        let place = "crates/coordinator/src/graph.rs:7".to_owned();
        let text = json(&[Found::of_library(name, place.clone())]);
        let rows: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(rows[0]["source"], serde_json::Value::from(place));
        assert_eq!(rows[1]["source"], serde_json::Value::Null);
    }
}
