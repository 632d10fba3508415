//! Refuses what the call graph cannot see through, in the places where a way to an act could hide
//! behind it. What it can see through (macro arguments, trait objects of our traits, functions
//! passed as values) is followed instead.

use std::collections::BTreeSet;

use proc_macro2::{TokenStream, TokenTree};
use syn::spanned::Spanned;
use syn::visit::Visit;

use super::allowed::{IMPLICIT, MACROS, STORED, TASKS};
use super::calls::{Calls, Mention, in_tokens};
use super::flows::act_of;
use super::names::last;
use crate::finding::Finding;
use crate::tree::{Source, Tree};

/// Names whose holders can act: who keeps one for later hides when it is used.
const RIGHTS: [&str; 7] =
    ["Full", "RollForward", "Publishing", "RecoveryMode", "CommitPermit", "IntentDurable", "Armed"];
/// Types that may hold any code.
const CALLABLE: [&str; 8] =
    ["Fn", "FnMut", "FnOnce", "Future", "BoxFuture", "LocalBoxFuture", "Stream", "BoxStream"];
/// Functions that start work of its own.
const SPAWN: [&str; 5] = ["spawn", "spawn_blocking", "spawn_local", "spawn_on", "JoinSet"];

pub(crate) fn check(tree: &Tree, calls: &Calls<'_>) -> Vec<Finding> {
    let acts = calls.select(|function| act_of(function).is_some());
    let leading = calls.leading_to(&acts);
    let names: BTreeSet<&str> =
        leading.iter().map(|index| calls.functions[*index].name.as_str()).collect();
    let mut findings = Vec::new();
    let sources = tree.sources.iter().filter(|it| it.path.starts_with("crates/") && !it.is_test);
    for source in sources {
        let mut scan =
            Scan { source, calls, leading: &leading, names: &names, findings: &mut findings };
        scan.visit_file(&source.syntax);
        scan.tasks();
    }
    findings.extend(implicit_calls(tree, calls, &leading));
    findings
}

/// A function of somebody else's trait is called where nobody writes its name: `drop`, `?`, `format!`.
fn implicit_calls(tree: &Tree, calls: &Calls<'_>, leading: &BTreeSet<usize>) -> Vec<Finding> {
    let ours = traits(tree);
    let foreign = leading
        .iter()
        .map(|index| &calls.functions[*index])
        .filter(|function| function.of_trait.as_ref().is_some_and(|it| !ours.contains(it)));
    let refused = foreign.filter(|function| {
        !IMPLICIT.contains(&(function.source.path.as_str(), function.name.as_str()))
    });
    let found = refused.map(|function| {
        let of = function.of_trait.clone().unwrap_or_default();
        let text =
            format!("`{of}` of `{}` acts, and is called without being named", function.shown());
        Finding::fault(function.place(), "implicit-call", text)
    });
    found.collect()
}

fn traits(tree: &Tree) -> BTreeSet<String> {
    struct Traits(BTreeSet<String>);
    impl<'ast> Visit<'ast> for Traits {
        fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
            self.0.insert(item.ident.to_string());
        }
    }
    let mut traits = Traits(BTreeSet::new());
    tree.sources
        .iter()
        .filter(|it| it.path.starts_with("crates/"))
        .for_each(|source| traits.visit_file(&source.syntax));
    traits.0
}

struct Scan<'a, 'b> {
    source: &'a Source,
    calls: &'b Calls<'a>,
    leading: &'b BTreeSet<usize>,
    names: &'b BTreeSet<&'b str>,
    findings: &'b mut Vec<Finding>,
}

impl Scan<'_, '_> {
    fn fault(&mut self, line: usize, rule: &'static str, text: String) {
        if !self.source.tests_line(line) {
            self.findings.push(Finding::fault(self.source.place(line), rule, text));
        }
    }

    /// Whether tokens, wherever they are expanded, may name something that leads to an act.
    fn dangerous(&self, tokens: TokenStream) -> Option<String> {
        in_tokens(tokens).into_iter().find_map(|mention| {
            let (name, arity) = match mention {
                // A bare name in a format string or an attribute is a variable.
                Mention::Path { segments, is_called, .. } if segments.len() > 1 || is_called => {
                    (segments.last()?.clone(), None)
                }
                Mention::Path { .. } => return None,
                Mention::Method { name, arity, .. } => (name, arity),
            };
            let fits = |index: &&usize| {
                let function = &self.calls.functions[**index];
                function.name == name && (arity.is_none() || function.arity() == arity)
            };
            (self.names.contains(name.as_str()) && self.leading.iter().any(|it| fits(&it)))
                .then_some(name)
        })
    }

    fn macro_tokens(&mut self, name: &str, tokens: TokenStream, line: usize) {
        if MACROS.contains(&(self.source.path.as_str(), name)) {
            return;
        }
        if let Some(named) = self.dangerous(tokens) {
            let text = format!("the macro `{name}` makes code that names `{named}`, which may act");
            self.fault(line, "macro", text);
        }
    }

    fn item_macro(&mut self, call: &syn::Macro, defined: Option<&syn::Ident>) {
        let name = defined.map_or_else(|| last(&call.path), ToString::to_string);
        let line = call.path.span().start().line;
        if last(&call.path) == "include" {
            self.fault(
                line,
                "hidden-source",
                "`include!` brings in code that is not read".to_owned(),
            );
        }
        self.macro_tokens(&name, call.tokens.clone(), line);
    }

    /// A type that is kept: in a field, a static or an alias.
    fn kept(&mut self, owner: &syn::Ident, ty: &syn::Type, bounds: &BTreeSet<String>) {
        let mut kept = Kept { bounds, found: None };
        kept.visit_type(ty);
        let line = ty.span().start().line;
        let shown = owner.to_string();
        if let Some(what) = kept.found
            && !STORED.contains(&(self.source.path.as_str(), shown.as_str()))
        {
            self.fault(
                line,
                "stored",
                format!("`{shown}` keeps `{what}`, and nobody sees who uses it"),
            );
        }
    }

    fn tasks(&mut self) {
        let words = &self.source.words;
        let spawns = words
            .windows(2)
            .filter(|two| SPAWN.contains(&two[1].text.as_str()) && two[0].text != "fn");
        let lines: Vec<usize> = spawns.map(|two| two[1].line).collect();
        for line in lines.into_iter().filter(|_| !TASKS.contains(&self.source.path.as_str())) {
            self.fault(line, "task", "starts work whose orders the audit cannot follow".to_owned());
        }
    }
}

impl<'ast> Visit<'ast> for Scan<'_, '_> {
    fn visit_attribute(&mut self, attribute: &'ast syn::Attribute) {
        let line = attribute.span().start().line;
        let name = last(attribute.path());
        match name.as_str() {
            "path" | "macro_use" | "macro_export" => {
                self.fault(
                    line,
                    "hidden-source",
                    format!("`#[{name}]` hides where code comes from"),
                );
            }
            "doc" => {}
            _ => {
                let syn::Meta::List(list) = &attribute.meta else { return };
                let named = self.dangerous(list.tokens.clone());
                let named = named.or_else(|| {
                    literal_path(&name, &list.tokens).filter(|it| self.names.contains(it.as_str()))
                });
                if let Some(named) = named {
                    let text = format!("the attribute `{name}` names `{named}`, which may act");
                    self.fault(line, "macro", text);
                }
            }
        }
    }

    fn visit_item_extern_crate(&mut self, item: &'ast syn::ItemExternCrate) {
        let text = format!("`extern crate {}` gives a crate a second name", item.ident);
        self.fault(item.ident.span().start().line, "hidden-source", text);
    }

    fn visit_use_glob(&mut self, glob: &'ast syn::UseGlob) {
        let text = "a glob brings in names that nobody wrote".to_owned();
        self.fault(glob.span().start().line, "glob", text);
    }

    fn visit_item_macro(&mut self, item: &'ast syn::ItemMacro) {
        self.item_macro(&item.mac, item.ident.as_ref());
        syn::visit::visit_item_macro(self, item);
    }

    fn visit_impl_item_macro(&mut self, item: &'ast syn::ImplItemMacro) {
        self.item_macro(&item.mac, None);
    }

    fn visit_trait_item_macro(&mut self, item: &'ast syn::TraitItemMacro) {
        self.item_macro(&item.mac, None);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        if last(&call.path) == "include" {
            let line = call.path.span().start().line;
            self.fault(
                line,
                "hidden-source",
                "`include!` brings in code that is not read".to_owned(),
            );
        }
    }

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        let bounds = callable_parameters(&item.generics);
        item.fields.iter().for_each(|field| self.kept(&item.ident, &field.ty, &bounds));
        syn::visit::visit_item_struct(self, item);
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        let bounds = callable_parameters(&item.generics);
        let fields = item.variants.iter().flat_map(|variant| &variant.fields);
        fields.for_each(|field| self.kept(&item.ident, &field.ty, &bounds));
        syn::visit::visit_item_enum(self, item);
    }

    fn visit_item_static(&mut self, item: &'ast syn::ItemStatic) {
        self.kept(&item.ident, &item.ty, &BTreeSet::new());
        syn::visit::visit_item_static(self, item);
    }

    fn visit_item_type(&mut self, item: &'ast syn::ItemType) {
        self.kept(&item.ident, &item.ty, &BTreeSet::new());
    }
}

/// The parameters of a struct that stand for code.
fn callable_parameters(generics: &syn::Generics) -> BTreeSet<String> {
    let mut callable = BTreeSet::new();
    let is_callable = |bounds: &syn::punctuated::Punctuated<syn::TypeParamBound, _>| {
        bounds.iter().any(|bound| {
            matches!(bound, syn::TypeParamBound::Trait(it) if CALLABLE.contains(&last(&it.path).as_str()))
        })
    };
    for parameter in generics.type_params().filter(|it| is_callable(&it.bounds)) {
        callable.insert(parameter.ident.to_string());
    }
    for predicate in generics.where_clause.iter().flat_map(|clause| &clause.predicates) {
        if let syn::WherePredicate::Type(it) = predicate
            && is_callable(&it.bounds)
            && let syn::Type::Path(path) = &it.bounded_ty
        {
            callable.insert(last(&path.path));
        }
    }
    callable
}

/// What a kept type may hold that acts later.
struct Kept<'a> {
    bounds: &'a BTreeSet<String>,
    found: Option<String>,
}

impl<'ast> Visit<'ast> for Kept<'_> {
    fn visit_type_bare_fn(&mut self, _: &'ast syn::TypeBareFn) {
        self.found.get_or_insert("fn".to_owned());
    }

    fn visit_path_segment(&mut self, segment: &'ast syn::PathSegment) {
        let name = segment.ident.to_string();
        let counts = CALLABLE.contains(&name.as_str()) || RIGHTS.contains(&name.as_str());
        if counts || self.bounds.contains(&name) {
            self.found.get_or_insert(name);
        }
        syn::visit::visit_path_segment(self, segment);
    }
}

/// The function that a serde attribute names in a string.
fn literal_path(attribute: &str, tokens: &TokenStream) -> Option<String> {
    let literal = |tree: TokenTree| match tree {
        TokenTree::Literal(literal) => syn::parse_str::<syn::LitStr>(&literal.to_string()).ok(),
        _ => None,
    };
    let mut literals = tokens.clone().into_iter().filter_map(literal);
    if attribute != "serde" {
        return None;
    }
    literals.find_map(|text| text.parse::<syn::Path>().ok()).map(|path| last(&path))
}
