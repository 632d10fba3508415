//! Tests that the papers name as the holders of a promise: `path/of/file.rs::function` must be there.

use std::path::Path;

use crate::finding::Finding;
use crate::tree::{Source, Tree};
use crate::words::occurrences;

/// What stands between the file and the function.
const BETWEEN: &str = ".rs::";

/// Looks up every mention in the pages under `docs` and in those beside it.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut pages: Vec<String> = ["docs", ""].iter().flat_map(|at| pages(&tree.root, at)).collect();
    pages.sort();
    pages.iter().flat_map(|page| missing(tree, page)).collect()
}

/// The Markdown pages in one directory, from the root.
fn pages(root: &Path, directory: &str) -> Vec<String> {
    let entries = std::fs::read_dir(root.join(directory)).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let pages = names.filter(|name| name.ends_with(".md"));
    pages.map(|name| Path::new(directory).join(name).to_string_lossy().into_owned()).collect()
}

fn missing(tree: &Tree, page: &str) -> Vec<Finding> {
    let text = std::fs::read_to_string(tree.root.join(page)).unwrap_or_default();
    let lines = (1..).zip(text.lines());
    lines
        .flat_map(|(number, line)| mentions(line).map(move |mention| (number, mention)))
        .filter_map(|(number, mention)| Some((number, mention, fault(tree, mention)?)))
        .map(|(number, (file, function), why)| {
            let text = format!("`{file}::{function}` holds nothing: {why}");
            Finding::fault(format!("{page}:{number}"), "named-test", text)
        })
        .collect()
}

/// The file and the function of each mention in a line.
fn mentions(line: &str) -> impl Iterator<Item = (&str, &str)> {
    line.match_indices(BETWEEN).map(move |(at, _)| {
        let (before, after) = (&line[..at + ".rs".len()], &line[at + BETWEEN.len()..]);
        let begin = before.rfind(|c: char| !is_of_path(c)).map_or(0, |last| last + 1);
        let end = after.find(|c: char| !is_of_name(c)).unwrap_or(after.len());
        (&before[begin..], &after[..end])
    })
}

fn is_of_path(c: char) -> bool {
    is_of_name(c) || matches!(c, '/' | '.' | '-')
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn fault(tree: &Tree, (file, function): (&str, &str)) -> Option<&'static str> {
    let source = tree.sources.iter().find(|source| source.path == file);
    match source.map(|source| stands_in(source, function)) {
        None => Some("there is no such file"),
        Some(false) => Some("the file has no such function"),
        Some(true) => None,
    }
}

/// Words of code only: a comment about a function is none.
fn stands_in(source: &Source, function: &str) -> bool {
    !occurrences(&source.words, &format!("fn {function} (")).is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::rules;
    use crate::scratch::Scratch;

    fn found(page: &str, text: &str) -> Vec<Finding> {
        let scratch = Scratch::new("mentions");
        let file = "mod a { #[test] fn one() {} }\n// fn two() {}\nfn three_more() {}";
        scratch.write("tests/tests/races/keys.rs", file);
        scratch.write(page, text);
        check(&Tree::read(scratch.path()).unwrap())
    }

    fn found_in(text: &str) -> Vec<&'static str> {
        rules(&found("docs/races.md", text))
    }

    #[test]
    fn a_test_that_is_there_is_fine_also_twice_in_a_line_and_at_its_ends() {
        let twice = "tests/tests/races/keys.rs::one, `tests/tests/races/keys.rs::one`.\n\
                     (tests/tests/races/keys.rs::three_more)";
        assert!(found_in(twice).is_empty());
    }

    #[test]
    fn a_file_that_is_not_there_is_a_fault_with_its_place() {
        let found = found("docs/races.md", "first\n| x | `tests/tests/races/locks.rs::one` |");
        assert_eq!((rules(&found), &*found[0].place), (vec!["named-test"], "docs/races.md:2"));
        assert!(found[0].text.contains("`tests/tests/races/locks.rs::one`"), "{}", found[0].text);
    }

    #[test]
    fn a_function_that_is_not_there_is_a_fault() {
        for name in ["none", "three", "one_more", ""] {
            let text = format!("`tests/tests/races/keys.rs::{name}`");
            assert_eq!(found_in(&text), ["named-test"], "{name}");
        }
    }

    #[test]
    fn a_comment_about_a_function_is_no_function() {
        assert_eq!(found_in("tests/tests/races/keys.rs::two"), ["named-test"]);
    }

    #[test]
    fn pages_beside_the_directory_are_read_too() {
        let found = found("ARCHITECTURE.md", "see `crates/gates/src/set.rs::holds`");
        assert_eq!((rules(&found), &*found[0].place), (vec!["named-test"], "ARCHITECTURE.md:1"));
    }
}
