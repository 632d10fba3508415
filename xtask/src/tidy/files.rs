//! Rules about a file as a whole: its length and its opening sentence.

use crate::finding::Finding;
use crate::tree::{Source, Tree};

/// From here on a file probably holds two ideas.
const LINES_WARN: usize = 400;
/// Above this it certainly does.
const LINES_MAX: usize = 800;

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    tree.sources.iter().flat_map(|source| [length(source), opening(source)]).flatten().collect()
}

fn length(source: &Source) -> Option<Finding> {
    let lines = source.production_lines();
    let text = format!("{lines} lines outside tests; one idea per file (at most {LINES_MAX})");
    match lines {
        _ if lines > LINES_MAX => Some(Finding::fault(&*source.path, "file-length", text)),
        _ if lines > LINES_WARN => Some(Finding::warning(&*source.path, "file-length", text)),
        _ => None,
    }
}

/// Files outside `src` (integration tests) open as they like.
fn opening(source: &Source) -> Option<Finding> {
    let first = source.text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let opens = first.strip_prefix("//!").is_some_and(|text| !text.trim().is_empty());
    if opens || !source.path.contains("/src/") {
        return None;
    }
    let text = "must open with `//!`: what it owns and what it must not know".to_owned();
    Some(Finding::fault(source.place(1), "opening", text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::{Weight, rules};
    use crate::scratch::Scratch;

    fn findings(path: &str, text: &str) -> Vec<Finding> {
        let scratch = Scratch::new("files");
        scratch.write(path, text);
        check(&Tree::read(scratch.path()).unwrap())
    }

    fn long(lines: usize) -> String {
        format!("//! Doc.\n{}", "fn f() {}\n".repeat(lines - 1))
    }

    #[test]
    fn a_file_of_reasonable_length_is_fine() {
        assert_eq!(findings("crates/gates/src/lib.rs", &long(LINES_WARN)), []);
    }

    #[test]
    fn a_long_file_is_a_warning() {
        let found = findings("crates/gates/src/lib.rs", &long(LINES_WARN + 1));
        assert_eq!((found[0].rule, found[0].weight), ("file-length", Weight::Warning));
    }

    #[test]
    fn a_very_long_file_is_a_fault() {
        let found = findings("crates/gates/src/lib.rs", &long(LINES_MAX + 1));
        assert_eq!((found[0].rule, found[0].weight), ("file-length", Weight::Fault));
    }

    #[test]
    fn tests_do_not_count_towards_the_length() {
        let tests = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", "fn f() {}\n".repeat(LINES_MAX));
        assert_eq!(findings("crates/gates/src/lib.rs", &format!("//! Doc.\n{tests}")), []);
    }

    #[test]
    fn a_file_without_an_opening_sentence_is_a_fault() {
        assert_eq!(rules(&findings("crates/gates/src/order.rs", "fn f() {}\n")), ["opening"]);
        assert_eq!(rules(&findings("crates/gates/src/lib.rs", "//!\nfn f() {}\n")), ["opening"]);
        assert_eq!(rules(&findings("crates/gates/src/lib.rs", "")), ["opening"]);
    }
}
