//! Finds ways around the protocol that can be named: Lance outside the substrate, re-exports that
//! hand it on, and functions that grant a right outside the crates that may use them.

use super::allowed::WRITES_FILES;
use super::names::public_uses;
use super::table::{GUARDED, Guarded, RE_EXPORTED};
use crate::finding::Finding;
use crate::tree::{Source, Tree};
use crate::words::Word;

/// The crates whose functions can commit, move a ref or delete, as code names them: each name stands
/// for its family (`lance_table`).
const PHYSICAL: [&str; 3] = ["lance", "object_store", "datafusion"];

/// Functions of the file system that write or delete, by module or type; an import counts too.
const FILE_WRITES: [(&str, &[&str]); 3] = [
    (
        "fs",
        &[
            "write",
            "copy",
            "create_dir",
            "create_dir_all",
            "hard_link",
            "remove_dir",
            "remove_dir_all",
            "remove_file",
            "rename",
            "OpenOptions",
        ],
    ),
    ("File", &["create", "create_new", "options"]),
    ("OpenOptions", &["new"]),
];

/// The crates of the workspace that users of the library must not reach through it.
const INNER: [&str; 3] = ["graphwrite_substrate", "graphwrite_manifest", "graphwrite_adapters"];

/// Tests count as well: a test that names Lance goes around the seam that it tests.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let in_crates = |source: &&Source| source.path.starts_with("crates/");
    let ways = tree.sources.iter().filter(in_crates).flat_map(|source| {
        let mut findings = grants(source, tree);
        findings.extend(file_writes(source));
        findings.extend(re_exports(source));
        findings
    });
    tree.sources.iter().flat_map(physical_paths).chain(ways).collect()
}

fn is_physical(name: &str) -> bool {
    PHYSICAL.iter().any(|family| {
        name.strip_prefix(family).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
    })
}

fn physical_paths(source: &Source) -> Vec<Finding> {
    if source.room() == "substrate" {
        return Vec::new();
    }
    let words = &source.words;
    let named = (0..words.len()).filter(|index| names_physical(words, *index));
    named
        .map(|index| {
            let Word { text, line } = &words[index];
            let text = format!("names `{text}`; only the substrate may");
            Finding::fault(source.place(*line), "physical-path", text)
        })
        .collect()
}

/// A name counts where it starts a path or an import, not as a variable, field or inner module.
fn names_physical(words: &[Word], index: usize) -> bool {
    let at = |offset: isize| {
        index.checked_add_signed(offset).and_then(|at| words.get(at)).map_or("", |word| &word.text)
    };
    let inner =
        at(-1) == ":" && at(-2) == ":" && !["", "use", "{", ",", "(", "<", "="].contains(&at(-3));
    let starts_path = at(1) == ":" && at(2) == ":" && !inner;
    let before = if at(-1) == ":" && !inner { at(-3) } else { at(-1) };
    let imported =
        ["use", "crate"].contains(&before) || at(1) == "as" && ["{", ","].contains(&before);
    is_physical(at(0)) && (starts_path || imported)
}

/// A graph may be on this file system: what is written there goes through the substrate.
fn file_writes(source: &Source) -> Vec<Finding> {
    let words = &source.words;
    let paths = words.windows(4).filter(|four| four[1].text == ":" && four[2].text == ":");
    let writes = paths.filter(|four| {
        let (owner, name) = (four[0].text.as_str(), four[3].text.as_str());
        let known = FILE_WRITES.iter().any(|(of, names)| *of == owner && names.contains(&name));
        known && !source.tests_line(four[3].line)
    });
    let may = source.room() == "substrate" || WRITES_FILES.contains(&source.path.as_str());
    let refused = writes.filter(|_| !may).map(|four| {
        let text = format!("`{}::{}` goes around the store", four[0].text, four[3].text);
        Finding::fault(source.place(four[3].line), "file-write", text)
    });
    refused.collect()
}

/// Any path that ends in the name of a guarded function counts when its crate ever names the owner,
/// so that an alias of the type, here or in another file, hides nothing.
fn grants(source: &Source, tree: &Tree) -> Vec<Finding> {
    let words = &source.words;
    let paths = words.windows(4).filter(|four| four[1].text == ":" && four[2].text == ":");
    paths
        .filter_map(|four| {
            Some((four[3].line, guarded(&four[0].text, &four[3].text, source, tree)?))
        })
        .filter(|(line, guarded)| {
            !guarded.rooms.contains(&source.room()) && !source.tests_line(*line)
        })
        .map(|(line, guarded)| {
            let Guarded { owner, function, grants, rooms } = guarded;
            let rooms = rooms.join(", ");
            let text =
                format!("names `{owner}::{function}`, which grants {grants}; only {rooms} may");
            Finding::fault(source.place(line), "guarded", text)
        })
        .collect()
}

fn guarded(owner: &str, function: &str, source: &Source, tree: &Tree) -> Option<&'static Guarded> {
    let mut candidates = GUARDED.iter().filter(|guarded| guarded.function == function);
    let exact = candidates.clone().find(|guarded| guarded.owner == owner);
    exact.or_else(|| candidates.find(|guarded| mentions(tree, source.room(), guarded.owner)))
}

fn mentions(tree: &Tree, room: &str, owner: &str) -> bool {
    let mut sources = tree.sources.iter().filter(|source| source.room() == room);
    sources.any(|source| source.words.iter().any(|word| word.text == owner))
}

fn re_exports(source: &Source) -> Vec<Finding> {
    let is_hidden = |head: &str| match source.room() {
        "substrate" => is_physical(head),
        "coordinator" | "cli" => INNER.contains(&head),
        _ => false,
    };
    let paths = public_uses(&source.syntax).into_iter();
    paths
        .filter(|(_, path)| is_hidden(path.split("::").next().unwrap_or_default()))
        .filter(|(_, path)| !RE_EXPORTED.contains(&(source.room(), path)))
        .map(|(line, path)| {
            let text = format!("re-exports `{path}`, which its users must not reach");
            Finding::fault(source.place(line), "re-export", text)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::rules;
    use crate::scratch::Scratch;

    fn found(room: &str, text: &str) -> Vec<&'static str> {
        let scratch = Scratch::new("bypass");
        scratch.write(&format!("crates/{room}/src/lib.rs"), text);
        rules(&check(&Tree::read(scratch.path()).unwrap()))
    }

    #[test]
    fn the_substrate_may_name_lance() {
        assert_eq!(found("substrate", "use lance::Dataset; fn f() { lance_io::x(); }"), [""; 0]);
    }

    #[test]
    fn lance_is_found_elsewhere_in_every_form() {
        for text in [
            "use lance::Dataset;",
            "use ::lance::Dataset;",
            "use {lance as l};",
            "use lance as l;",
            "extern crate lance;",
            "fn f() { lance_table::io::commit(); }",
            "fn f(d: &lance::Dataset) {}",
            "fn f() -> Result<::object_store::path::Path, ()> {}",
            "fn f() { vec![lance::x()]; }",
            "#[cfg(test)] mod tests { use lance::Dataset; }",
            "fn f() { datafusion::prelude::x(); }",
        ] {
            assert_eq!(found("manifest", text), ["physical-path"], "{text}");
        }
    }

    #[test]
    fn lance_is_found_in_every_kind_of_test() {
        for path in ["tests/tests/races.rs", "crates/cli/tests/a.rs", "crates/gates/src/tests/b.rs"]
        {
            let scratch = Scratch::new("bypass");
            scratch.write(path, "use lance::Dataset;");
            let found = check(&Tree::read(scratch.path()).unwrap());
            assert_eq!(rules(&found), ["physical-path"], "{path}");
        }
    }

    #[test]
    fn names_that_only_look_like_lance_are_not_paths() {
        for text in [
            "fn f(lance: u32) { let _ = lance as u64; }",
            "struct A { object_store: u32 }",
            "use crate::object_store::Inner;",
            "// lance::Dataset\nfn f() { \"lance::Dataset\"; }",
        ] {
            assert_eq!(found("manifest", text), [""; 0], "{text}");
        }
    }

    #[test]
    fn a_guarded_function_is_found_outside_its_crate() {
        let text = "fn f() { CommitPermit::authority(a); }";
        assert_eq!(found("manifest", text), [""; 0]);
        assert_eq!(found("coordinator", text), ["guarded"]);
    }

    #[test]
    fn every_guarded_function_is_guarded() {
        for guarded in &GUARDED {
            let text = format!("fn f() {{ types::{}::{}(); }}", guarded.owner, guarded.function);
            assert_eq!(found("adapters", &text), ["guarded"], "{text}");
        }
    }

    #[test]
    fn an_alias_does_not_hide_a_guarded_function() {
        for text in [
            "use types::IntentDurable as Proof; fn f() { Proof::witness(i); }",
            "type Proof = IntentDurable; fn f() { Proof::witness(i); }",
            "fn f() { <IntentDurable>::witness(i); }",
            "fn f() { let make = IntentDurable::witness; }",
        ] {
            assert_eq!(found("coordinator", text), ["guarded"], "{text}");
        }
    }

    #[test]
    fn an_alias_from_another_file_does_not_hide_a_guarded_function() {
        let scratch = Scratch::new("bypass");
        scratch.write("crates/adapters/src/lib.rs", "pub(crate) use types::Full as Mode;");
        scratch.write("crates/adapters/src/load.rs", "fn f() { crate::Mode::granted(); }");
        assert_eq!(rules(&check(&Tree::read(scratch.path()).unwrap())), ["guarded"]);
    }

    #[test]
    fn a_function_of_the_same_name_elsewhere_is_not_guarded() {
        assert_eq!(found("cli", "fn f() { Url::authority(); }"), [""; 0]);
    }

    #[test]
    fn tests_may_grant_what_they_need() {
        let text = "#[cfg(test)] mod tests { fn f() { Full::granted(); } }";
        assert_eq!(found("recovery", text), [""; 0]);
    }

    #[test]
    fn a_re_export_of_lance_by_the_substrate_is_found() {
        for text in [
            "pub use lance::Dataset;",
            "pub use lance::{dataset::*};",
            "pub use lance;",
            "pub mod inner { pub use lance::Dataset as Table; }",
        ] {
            assert_eq!(found("substrate", text), ["re-export"], "{text}");
        }
        assert_eq!(found("substrate", "pub(crate) use lance::Dataset;"), [""; 0]);
    }

    #[test]
    fn a_re_export_of_an_inner_crate_by_the_coordinator_is_found() {
        assert_eq!(
            found("coordinator", "pub use graphwrite_substrate::strict_commit;"),
            ["re-export"]
        );
        assert_eq!(found("coordinator", "pub use graphwrite_protocol_types::CommitId;"), [""; 0]);
    }
}
