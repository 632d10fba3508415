//! The Rust sources of the workspace as the checks see them: parsed, with their tests marked. It
//! judges nothing.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use proc_macro2::TokenStream;
use syn::spanned::Spanned;
use syn::visit::Visit;

use crate::failure::Failure;
use crate::finding::Finding;
use crate::words::{self, Word};

/// One Rust file.
pub(crate) struct Source {
    /// From the workspace root, with `/`.
    pub(crate) path: String,
    pub(crate) text: String,
    pub(crate) syntax: syn::File,
    pub(crate) words: Vec<Word>,
    /// The whole file is compiled for tests only.
    pub(crate) is_test: bool,
    test_lines: Vec<RangeInclusive<usize>>,
    test_modules: Vec<String>,
}

impl Source {
    fn parse(path: String, text: String) -> Result<Self, Finding> {
        let tokens = TokenStream::from_str(&text);
        let tokens = tokens.map_err(|why| unreadable(&path, &why.to_string()))?;
        let words = words::of_tokens(tokens.clone());
        let syntax = syn::parse2(tokens).map_err(|why| unreadable(&path, &why.to_string()))?;
        let mut marks = TestMarks::default();
        marks.visit_file(&syntax);
        let is_test = path.starts_with("tests/") || path.split('/').nth(2) == Some("tests");
        let TestMarks { lines, modules } = marks;
        Ok(Self { path, text, syntax, words, is_test, test_lines: lines, test_modules: modules })
    }

    /// The directory name of the crate: `gates` for `crates/gates/src/lib.rs`, `xtask`, `tests`.
    pub(crate) fn room(&self) -> &str {
        let mut parts = self.path.split('/');
        match (parts.next(), parts.next()) {
            (Some("crates"), Some(name)) => name,
            (Some(name), _) => name,
            (None, _) => "",
        }
    }

    /// Whether a line is compiled for tests only.
    pub(crate) fn tests_line(&self, line: usize) -> bool {
        self.is_test || self.test_lines.iter().any(|range| range.contains(&line))
    }

    /// Lines that are not compiled for tests only, blank lines and comments included.
    pub(crate) fn production_lines(&self) -> usize {
        let count = self.text.lines().count();
        (1..=count).filter(|line| !self.tests_line(*line)).count()
    }

    /// `path:line`.
    pub(crate) fn place(&self, line: usize) -> String {
        format!("{}:{line}", self.path)
    }

    /// The directory in which the file's modules live.
    fn module_directory(&self) -> String {
        let path = self.path.strip_suffix(".rs").unwrap_or(&self.path);
        let (parent, stem) = path.rsplit_once('/').unwrap_or(("", path));
        if ["lib", "main", "mod"].contains(&stem) { parent.to_owned() } else { path.to_owned() }
    }
}

fn unreadable(path: &str, why: &str) -> Finding {
    Finding::fault(path, "parses", format!("not a Rust source: {why}"))
}

/// All Rust files under `crates`, `tests` and `xtask`.
pub(crate) struct Tree {
    pub(crate) root: PathBuf,
    pub(crate) sources: Vec<Source>,
    /// Files that could not be parsed.
    pub(crate) broken: Vec<Finding>,
}

impl Tree {
    /// The tree apart from the files below `directory`.
    pub(crate) fn without(mut self, directory: &str) -> Self {
        self.sources.retain(|source| !source.path.starts_with(directory));
        self
    }

    /// Reads and parses the tree.
    ///
    /// # Errors
    /// When a file or directory cannot be read.
    pub(crate) fn read(root: &Path) -> Result<Self, Failure> {
        let mut paths = Vec::new();
        for directory in ["crates", "tests", "xtask"] {
            collect(&root.join(directory), &mut paths)?;
        }
        paths.sort();
        let mut tree = Self { root: root.to_owned(), sources: Vec::new(), broken: Vec::new() };
        for path in paths {
            let text = std::fs::read_to_string(&path).map_err(Failure::file(&path))?;
            match Source::parse(relative(root, &path), text) {
                Ok(source) => tree.sources.push(source),
                Err(finding) => tree.broken.push(finding),
            }
        }
        tree.mark_test_files();
        Ok(tree)
    }

    /// The files of one crate that are not tests.
    pub(crate) fn production<'a>(&'a self, room: &'a str) -> impl Iterator<Item = &'a Source> {
        self.sources.iter().filter(move |source| source.room() == room && !source.is_test)
    }

    /// Puts a file in the place of the one at `path`, which it gives back.
    #[cfg(test)]
    pub(crate) fn put(&mut self, path: &str, text: String) -> Option<Source> {
        let source = Source::parse(path.to_owned(), text).expect("a Rust source");
        let replaced = self.put_back(path, Some(source));
        self.mark_test_files();
        replaced
    }

    /// The same with a file that was parsed; `None` takes away what is there.
    #[cfg(test)]
    pub(crate) fn put_back(&mut self, path: &str, source: Option<Source>) -> Option<Source> {
        let at = self.sources.iter().position(|source| source.path == path);
        let replaced = at.map(|at| self.sources.remove(at));
        self.sources.extend(source);
        self.sources.sort_by(|a, b| a.path.cmp(&b.path));
        replaced
    }

    /// Marks the files that a `#[cfg(test)] mod name;` brings in, and all below them.
    fn mark_test_files(&mut self) {
        let roots: Vec<String> = self
            .sources
            .iter()
            .flat_map(|source| {
                let directory = source.module_directory();
                source.test_modules.iter().map(move |name| format!("{directory}/{name}"))
            })
            .collect();
        for source in &mut self.sources {
            let below = |root: &String| {
                source.path == format!("{root}.rs") || source.path.starts_with(&format!("{root}/"))
            };
            source.is_test |= roots.iter().any(below);
        }
    }
}

fn relative(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).to_string_lossy().replace('\\', "/")
}

fn collect(directory: &Path, paths: &mut Vec<PathBuf>) -> Result<(), Failure> {
    if !directory.is_dir() {
        return Ok(());
    }
    for entry in std::fs::read_dir(directory).map_err(Failure::file(directory))? {
        let path = entry.map_err(Failure::file(directory))?.path();
        if path.is_dir() && path.file_name().is_some_and(|name| name != "target") {
            collect(&path, paths)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            paths.push(path);
        }
    }
    Ok(())
}

/// Collects what `#[cfg(test)]` and `#[test]` cover.
#[derive(Default)]
struct TestMarks {
    lines: Vec<RangeInclusive<usize>>,
    modules: Vec<String>,
}

impl<'ast> Visit<'ast> for TestMarks {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        if attributes(item).iter().any(is_test_only) {
            let span = item.span();
            self.lines.push(span.start().line..=span.end().line);
            if let syn::Item::Mod(syn::ItemMod { ident, content: None, .. }) = item {
                self.modules.push(ident.to_string());
            }
        }
        syn::visit::visit_item(self, item);
    }
}

fn attributes(item: &syn::Item) -> &[syn::Attribute] {
    use syn::Item;
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// `#[test]`, `#[tokio::test]`, `#[cfg(test)]`, `#[cfg(all(test, ..))]`; not `#[cfg(not(test))]`.
fn is_test_only(attribute: &syn::Attribute) -> bool {
    if attribute.path().is_ident("cfg") {
        let syn::Meta::List(list) = &attribute.meta else { return false };
        let condition = list.tokens.to_string();
        return condition == "test" || condition.starts_with("all (test");
    }
    attribute.path().segments.last().is_some_and(|segment| segment.ident == "test")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn lines_of_tests_are_not_production_lines() {
        let scratch = Scratch::new("tree");
        scratch.write(
            "crates/gates/src/lib.rs",
            "//! Doc.\nfn f() {}\n#[cfg(test)]\nmod tests {\n    fn g() {}\n}\n",
        );
        let tree = Tree::read(scratch.path()).unwrap();
        assert_eq!(tree.sources[0].production_lines(), 2);
        assert!(tree.sources[0].tests_line(5));
        assert!(!tree.sources[0].tests_line(2));
    }

    #[test]
    fn a_file_that_only_tests_bring_in_is_a_test() {
        let scratch = Scratch::new("tree");
        scratch.write("crates/gates/src/order.rs", "//! Doc.\n#[cfg(test)]\nmod cases;\n");
        scratch.write("crates/gates/src/order/cases.rs", "//! Doc.\n");
        scratch.write("crates/gates/src/order/other.rs", "//! Doc.\n");
        let tree = Tree::read(scratch.path()).unwrap();
        let tests: Vec<&str> = tree
            .sources
            .iter()
            .filter(|source| source.is_test)
            .map(|source| source.path.as_str())
            .collect();
        assert_eq!(tests, ["crates/gates/src/order/cases.rs"]);
    }

    #[test]
    fn a_file_that_does_not_parse_is_reported() {
        let scratch = Scratch::new("tree");
        scratch.write("crates/gates/src/lib.rs", "fn f( {");
        assert_eq!(crate::finding::rules(&Tree::read(scratch.path()).unwrap().broken), ["parses"]);
    }

    #[test]
    fn the_room_is_the_directory_of_the_crate() {
        let scratch = Scratch::new("tree");
        scratch.write("crates/gates/src/lib.rs", "");
        scratch.write("xtask/src/main.rs", "");
        let tree = Tree::read(scratch.path()).unwrap();
        let rooms: Vec<&str> = tree.sources.iter().map(Source::room).collect();
        assert_eq!(rooms, ["gates", "xtask"]);
    }
}
