//! `cargo xtask audit-entrypoints`: every way into the library and the tool, with the protocol that
//! it follows, and every way around it. It reads sources; what it expects is in `table`.

mod acting;
mod adapters;
mod allowed;
mod bypass;
mod calls;
mod commands;
mod flows;
mod handles;
mod hidden;
mod library;
mod names;
mod physical;
#[cfg(test)]
mod planted;
mod render;
mod surface;
mod table;

use std::path::Path;

use crate::failure::Failure;
use crate::finding::{self, Finding};
use crate::layers;
use crate::tree::Tree;

use adapters::Adapter;
use calls::{Calls, Variant};
use table::EntryPoint;

pub(crate) use table::ENTRY_POINTS;

const CHECK: &str = "audit-entrypoints";
const GOLDEN: &str = "docs/entrypoints.md";
/// No graph is behind the models of the protocol: they see nothing that acts, and nobody sees them
/// (`layers`). How they call each other is nobody's way in; what they may not name holds for them too.
pub(crate) const MODEL: &str = "crates/model/";

/// What to print of the audited table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// The page that is checked in.
    Markdown,
    /// One document for a program.
    Json,
}

/// One way in, as the sources have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// `Graph::load`, or `graphwrite load`.
    name: String,
    place: String,
    /// For a command: the variants that lead to it.
    variants: Vec<Variant>,
}

impl Found {
    fn of_library(name: String, place: String) -> Self {
        Self { name, place, variants: Vec::new() }
    }
}

/// Audits the sources below `root`; prints the table where a format is given, and compares the page
/// that is checked in where `check` is.
///
/// # Errors
/// When the audit finds a fault, or the page differs.
pub(crate) fn run(root: &Path, format: Option<Format>, check: bool) -> Result<(), Failure> {
    let tree = Tree::read(root)?;
    let mut findings = audit(&tree, ENTRY_POINTS, &[Part::Names]);
    let tree = tree.without(MODEL);
    let adapters = adapters::read(&tree);
    findings.extend(audit(&tree, ENTRY_POINTS, &[Part::Flows, Part::Adapters, Part::Hidden]));
    findings.extend(layers::check(&layers::packages(root)?));
    if check {
        findings.extend(compare(&tree, &adapters));
    }
    match format {
        Some(Format::Json) => {
            println!("{}", render::json(&entry_points(&tree), &adapters, &findings));
        }
        Some(Format::Markdown) => print!("{}", render::markdown(&adapters)),
        None => return finding::report(CHECK, &findings),
    }
    finding::judge(CHECK, &findings)
}

/// A part of the audit that can be run alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// The table and the call graph.
    Flows,
    Adapters,
    Hidden,
    /// Names of Lance and of functions that act or grant, wherever they stand.
    Names,
}

#[cfg(test)]
const ALL: [Part; 4] = [Part::Flows, Part::Adapters, Part::Hidden, Part::Names];

fn audit(tree: &Tree, listed: &[EntryPoint], parts: &[Part]) -> Vec<Finding> {
    let mut findings = tree.broken.clone();
    if parts.contains(&Part::Names) {
        findings.extend(physical::check(tree));
        findings.extend(bypass::check(tree));
        findings.extend(handles::check(tree));
    }
    if parts == [Part::Names] {
        return findings;
    }
    let library = library::read(tree);
    let found = [library.awaited, commands::entry_points(tree)].concat();
    let apart = found.iter().flat_map(|found| found.variants.iter().cloned()).collect();
    let calls = Calls::read(tree, &apart);
    if parts.contains(&Part::Flows) {
        findings.extend(match_table(&found, listed));
        findings.extend(flows::check(&calls, &found, listed));
        findings.extend(flows::unexpected(&calls, &library.others));
    }
    if parts.contains(&Part::Adapters) {
        findings.extend(adapters::check(&adapters::read(tree), &calls, listed));
    }
    if parts.contains(&Part::Hidden) {
        findings.extend(hidden::check(tree, &calls));
    }
    findings
}

fn entry_points(tree: &Tree) -> Vec<Found> {
    let mut found = library::read(tree).awaited;
    found.extend(commands::entry_points(tree));
    found
}

/// Both directions: an unlisted way in is a hole, a listed one that is gone is a false promise.
fn match_table(found: &[Found], listed: &[EntryPoint]) -> Vec<Finding> {
    let unlisted = found.iter().filter(|found| !listed.iter().any(|row| row.name == found.name));
    let gone = listed.iter().filter(|row| !found.iter().any(|found| row.name == found.name));
    let unlisted = unlisted.map(|found| {
        let text = format!(
            "`{}` is an entry point without a protocol; list it in {}",
            found.name,
            table::PLACE
        );
        Finding::fault(&*found.place, "entry-point", text)
    });
    let gone = gone.map(|row| {
        let text = format!("`{}` is listed but does not exist", row.name);
        Finding::fault(table::PLACE, "entry-point", text)
    });
    unlisted.chain(gone).collect()
}

fn compare(tree: &Tree, adapters: &[Adapter]) -> Vec<Finding> {
    let golden = std::fs::read_to_string(tree.root.join(GOLDEN)).unwrap_or_default();
    if golden == render::markdown(adapters) {
        return Vec::new();
    }
    let text =
        format!("differs; `cargo xtask {CHECK} --format md > {GOLDEN}` and review the change");
    vec![Finding::fault(GOLDEN, "golden", text)]
}

#[cfg(test)]
mod tests {
    use super::table::Protocol;
    use super::*;
    use crate::finding::rules;
    use crate::scratch::Scratch;

    fn row(name: &'static str) -> EntryPoint {
        EntryPoint { name, protocol: Protocol::ReadOnly, says: "Reads." }
    }

    fn tree(scratch: &Scratch) -> Tree {
        let graph = "impl Graph { pub async fn open() {} }";
        scratch.write("crates/coordinator/src/graph.rs", graph);
        Tree::read(scratch.path()).unwrap()
    }

    fn matched(scratch: &Scratch, listed: &[EntryPoint]) -> Vec<Finding> {
        match_table(&entry_points(&tree(scratch)), listed)
    }

    #[test]
    fn a_listed_entry_point_that_exists_is_fine() {
        let scratch = Scratch::new("audit");
        assert_eq!(matched(&scratch, &[row("Graph::open")]), []);
    }

    #[test]
    fn an_entry_point_that_is_not_listed_is_a_fault() {
        let scratch = Scratch::new("audit");
        let found = matched(&scratch, &[]);
        assert_eq!(rules(&found), ["entry-point"]);
        assert_eq!(found[0].place, "crates/coordinator/src/graph.rs:1");
    }

    #[test]
    fn a_listed_entry_point_that_is_gone_is_a_fault() {
        let scratch = Scratch::new("audit");
        let found = matched(&scratch, &[row("Graph::open"), row("Graph::load")]);
        assert_eq!(rules(&found), ["entry-point"]);
        assert!(found[0].text.contains("`Graph::load` is listed but does not exist"));
    }

    #[test]
    fn a_page_that_differs_is_a_fault() {
        let scratch = Scratch::new("audit");
        scratch.write(GOLDEN, "old");
        assert_eq!(rules(&compare(&tree(&scratch), &[])), ["golden"]);
        scratch.write(GOLDEN, &render::markdown(&[]));
        assert_eq!(compare(&tree(&scratch), &[]), []);
    }
}
