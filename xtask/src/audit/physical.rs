//! Inside the substrate: the functions of Lance and `object_store` that commit, move a ref or delete
//! may be named in a closed list of functions, each with the permit that it asks for or the reason
//! why it needs none.

use syn::spanned::Spanned;
use syn::visit::Visit;

use super::acting::{ACTING, Exempt, MAY_ACT};
use crate::finding::Finding;
use crate::tree::{Source, Tree};
use crate::words::Word;

const ROOM: &str = "substrate";

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings: Vec<Finding> = tree.production(ROOM).flat_map(judge).collect();
    findings.extend(MAY_ACT.iter().filter(|exempt| !is_used(exempt, tree)).map(|exempt| {
        let text = format!("`{}` does not name `{}` any more", exempt.function, exempt.name);
        Finding::warning(exempt.file, "exemption", text)
    }));
    findings
}

fn judge(source: &Source) -> Vec<Finding> {
    let functions = functions(source);
    let named = named(source).map(|word| (word, innermost(&functions, word.line)));
    let refused = named.filter_map(|(word, function)| {
        let why = refusal(source, &word.text, function)?;
        let shown = function.map_or("an item", |function| function.name.as_str());
        let text = format!("{shown} names `{}`, {why}", word.text);
        Some(Finding::fault(source.place(word.line), "acts", text))
    });
    refused.collect()
}

fn refusal(source: &Source, name: &str, function: Option<&Function<'_>>) -> Option<String> {
    let within = function.map_or("", |function| &function.name);
    let exempt = MAY_ACT.iter().find(|exempt| {
        exempt.file == source.path && exempt.function == within && exempt.name == name
    });
    let Some(exempt) = exempt else {
        return Some(
            "which may commit, move a ref or delete; the strict path alone may".to_owned(),
        );
    };
    let permit = exempt.permit?;
    let shows = function.is_some_and(|function| mentions(function.signature, permit));
    (!shows).then(|| format!("and its signature must ask for a `{permit}`"))
}

/// The words of a source that may be one of the functions: called, or named by a path. A bare call of
/// a function of the same file is not.
fn named(source: &Source) -> impl Iterator<Item = &Word> {
    let words = &source.words;
    let own: Vec<String> = functions(source).into_iter().map(|function| function.name).collect();
    let at = |index: usize, offset: isize| {
        index.checked_add_signed(offset).and_then(|at| words.get(at)).map_or("", |word| &word.text)
    };
    (0..words.len()).filter_map(move |index| {
        let word = &words[index];
        let path_goes_on = at(index, 1) == ":" && at(index, 2) == ":";
        let turbofish = path_goes_on && at(index, 3) == "<";
        let is_called = at(index, 1) == "(" || turbofish;
        let is_qualifier = path_goes_on && !turbofish;
        let is_type = word.text.starts_with(char::is_uppercase);
        let is_named = match at(index, -1) {
            "fn" => false,
            _ if is_type => true,
            "." => is_called,
            ":" => !is_qualifier && at(index, -2) == ":",
            _ => is_called && !own.contains(&word.text),
        };
        let counts = ACTING.contains(&word.text.as_str()) && is_named;
        (counts && !source.tests_line(word.line)).then_some(word)
    })
}

fn is_used(exempt: &Exempt, tree: &Tree) -> bool {
    let source = tree.sources.iter().find(|source| source.path == exempt.file);
    source.is_none_or(|source| {
        let functions = functions(source);
        let within = |word: &Word| innermost(&functions, word.line).map_or("", |it| &it.name);
        named(source).any(|word| word.text == exempt.name && within(word) == exempt.function)
    })
}

struct Function<'a> {
    name: String,
    signature: &'a syn::Signature,
    lines: std::ops::RangeInclusive<usize>,
}

fn functions(source: &Source) -> Vec<Function<'_>> {
    let mut found = Functions(Vec::new());
    found.visit_file(&source.syntax);
    found.0
}

fn innermost<'a>(functions: &'a [Function<'a>], line: usize) -> Option<&'a Function<'a>> {
    let around = functions.iter().filter(|function| function.lines.contains(&line));
    around.min_by_key(|function| function.lines.end() - function.lines.start())
}

struct Functions<'a>(Vec<Function<'a>>);

impl<'a> Functions<'a> {
    fn add(&mut self, signature: &'a syn::Signature, block: &'a syn::Block) {
        let lines = signature.span().start().line..=block.span().end().line;
        self.0.push(Function { name: signature.ident.to_string(), signature, lines });
    }
}

impl<'a> Visit<'a> for Functions<'a> {
    fn visit_item_fn(&mut self, item: &'a syn::ItemFn) {
        self.add(&item.sig, &item.block);
        syn::visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'a syn::ImplItemFn) {
        self.add(&item.sig, &item.block);
        syn::visit::visit_impl_item_fn(self, item);
    }
}

fn mentions(signature: &syn::Signature, ty: &str) -> bool {
    struct Mentions<'a>(&'a str, bool);
    impl<'ast> Visit<'ast> for Mentions<'_> {
        fn visit_path_segment(&mut self, segment: &'ast syn::PathSegment) {
            self.1 |= segment.ident == self.0;
            syn::visit::visit_path_segment(self, segment);
        }
    }
    let mut mentions = Mentions(ty, false);
    mentions.visit_signature(signature);
    mentions.1
}
