//! The registry of adapters as the sources have it, held against the table of entry points and
//! against the effects that each adapter's code constructs.

use std::collections::BTreeSet;

use syn::visit::Visit;

use super::calls::{Calls, Function};
use super::names::{kebab, last};
use super::table::{self, EntryPoint, Protocol};
use crate::finding::Finding;
use crate::tree::{Source, Tree};

const REGISTRY: &str = "crates/adapters/src/registry.rs";
const ROOM: &str = "adapters";
const RULE: &str = "registry";

/// What the registry says of one adapter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Adapter {
    /// `load` for `Writer::Load`.
    pub(crate) name: String,
    pub(crate) effects: Vec<String>,
    pub(crate) schema_gate: String,
    pub(crate) branch_gate: String,
    pub(crate) table_gates: String,
    pub(crate) entry_points: Vec<String>,
    /// The types that implement it.
    pub(crate) types: Vec<String>,
    pub(crate) place: String,
}

/// The adapters, in the order of the registry; an adapter without an entry has no effects.
pub(crate) fn read(tree: &Tree) -> Vec<Adapter> {
    let Some(source) = tree.sources.iter().find(|source| source.path == REGISTRY) else {
        return Vec::new();
    };
    let mut registry = Registry::new(source);
    registry.visit_file(&source.syntax);
    registry.adapters()
}

/// Both directions between registry and table, and between registry and plans.
pub(crate) fn check(
    adapters: &[Adapter],
    calls: &Calls<'_>,
    listed: &[EntryPoint],
) -> Vec<Finding> {
    let mut findings = incomplete(adapters);
    for row in listed {
        if let Protocol::GraphWrite(name) = row.protocol
            && !adapters.iter().any(|adapter| adapter.name == name)
        {
            let text = format!("`{}` names adapter `{name}`, which is not registered", row.name);
            findings.push(Finding::fault(table::PLACE, "adapter", text));
        }
    }
    for adapter in adapters {
        findings.extend(entries(adapter, listed));
        findings.extend(effects(adapter, calls));
    }
    findings
}

/// A registry that says nothing of an adapter is a fault of its own.
fn incomplete(adapters: &[Adapter]) -> Vec<Finding> {
    let lacks = adapters.iter().filter_map(|adapter| {
        let gates = [&adapter.schema_gate, &adapter.branch_gate, &adapter.table_gates];
        let what = if adapter.types.is_empty() {
            "no type implements it"
        } else if gates.iter().any(|gate| !["shared", "exclusive"].contains(&gate.as_str())) {
            "its gates are not said"
        } else if adapter.effects.is_empty() {
            "its effects are not said"
        } else {
            return None;
        };
        let text = format!("adapter `{}` cannot be read: {what}", adapter.name);
        Some(Finding::fault(&*adapter.place, RULE, text))
    });
    lacks.collect()
}

fn entries(adapter: &Adapter, listed: &[EntryPoint]) -> Vec<Finding> {
    let name = &adapter.name;
    let rows = listed.iter().filter(
        |row| matches!(row.protocol, Protocol::GraphWrite(adapter) if adapter == name.as_str()),
    );
    let rows: BTreeSet<&str> = rows.filter(|row| !row.is_command()).map(|row| row.name).collect();
    let named: BTreeSet<&str> = adapter.entry_points.iter().map(String::as_str).collect();
    if rows.is_empty() {
        let text = format!("adapter `{name}` has no entry point");
        return vec![Finding::fault(&*adapter.place, "adapter", text)];
    }
    let differ = rows.symmetric_difference(&named).map(|entry| {
        let (has, lacks) =
            if rows.contains(entry) { ("table", "registry") } else { ("registry", "table") };
        let text = format!("the {has} has `{entry}` for adapter `{name}`, the {lacks} has not");
        Finding::fault(&*adapter.place, "adapter", text)
    });
    differ.collect()
}

/// The effect kinds that the code of the adapter constructs are those that it registers.
fn effects(adapter: &Adapter, calls: &Calls<'_>) -> Vec<Finding> {
    let is_own = |function: &Function<'_>| {
        function.room() == ROOM
            && function.owner.as_ref().is_some_and(|it| adapter.types.contains(it))
    };
    let reached = calls.reach(&calls.select(is_own), &BTreeSet::new());
    let functions = reached.iter().map(|index| &calls.functions[index]);
    let planned: BTreeSet<String> = functions
        .filter(|function| function.room() == ROOM && function.source.path != REGISTRY)
        .flat_map(constructed)
        .collect();
    let registered: BTreeSet<String> = adapter.effects.iter().cloned().collect();
    let differ = planned.symmetric_difference(&registered).map(|kind| {
        let text = if planned.contains(kind) {
            format!("adapter `{}` plans `{kind}` and does not register it", adapter.name)
        } else {
            format!("adapter `{}` registers `{kind}`, which its code never plans", adapter.name)
        };
        Finding::fault(&*adapter.place, "effects", text)
    });
    differ.collect()
}

/// The effect kinds that a function makes; one that it only compares with does not count.
fn constructed(function: &Function<'_>) -> BTreeSet<String> {
    struct Kinds(BTreeSet<String>);
    impl<'ast> Visit<'ast> for Kinds {
        fn visit_expr_path(&mut self, path: &'ast syn::ExprPath) {
            self.0.extend(kind_of(path, "EffectKind"));
        }

        fn visit_expr_binary(&mut self, binary: &'ast syn::ExprBinary) {
            if !matches!(binary.op, syn::BinOp::Eq(_) | syn::BinOp::Ne(_)) {
                syn::visit::visit_expr_binary(self, binary);
            }
        }

        fn visit_pat(&mut self, _: &'ast syn::Pat) {}
    }
    let mut kinds = Kinds(BTreeSet::new());
    if let Some(block) = function.block() {
        kinds.visit_block(block);
    }
    kinds.0
}

/// `Staged` for `EffectKind::Staged`.
fn kind_of(path: &syn::ExprPath, owner: &str) -> Option<String> {
    let mut names = path.path.segments.iter().rev().map(|segment| segment.ident.to_string());
    let (name, of) = (names.next()?, names.next()?);
    (of == owner).then_some(name)
}

/// What a registry's syntax holds.
struct Registry<'a> {
    source: &'a Source,
    /// The variants of `Writer`, each with its place.
    writers: Vec<(String, String)>,
    /// The constants that are an entry.
    entries: Vec<(String, &'a syn::ExprStruct)>,
    /// Which constant describes which variant.
    described: Vec<(String, String)>,
    implemented: Vec<(String, String)>,
    of: Option<String>,
}

impl<'a> Registry<'a> {
    fn new(source: &'a Source) -> Self {
        Self {
            source,
            writers: Vec::new(),
            entries: Vec::new(),
            described: Vec::new(),
            implemented: Vec::new(),
            of: None,
        }
    }

    fn adapters(&self) -> Vec<Adapter> {
        self.writers.iter().map(|(writer, place)| self.adapter(writer, place)).collect()
    }

    fn adapter(&self, writer: &str, place: &str) -> Adapter {
        let constant = self.described.iter().find(|(of, _)| of == writer).map(|(_, name)| name);
        let entry = self.entries.iter().find(|(name, _)| Some(name) == constant);
        let types = self.implemented.iter().filter(|(of, _)| of == writer);
        let mut adapter = Adapter {
            name: kebab(writer),
            types: types.map(|(_, ty)| ty.clone()).collect(),
            place: place.to_owned(),
            ..Adapter::default()
        };
        for field in entry.iter().flat_map(|(_, entry)| &entry.fields) {
            let syn::Member::Named(name) = &field.member else { continue };
            let gate = || word_of(&field.expr).to_lowercase();
            match name.to_string().as_str() {
                "effects" => adapter.effects = words_of(&field.expr),
                "entry_points" => adapter.entry_points = words_of(&field.expr),
                "schema_gate" => adapter.schema_gate = gate(),
                "branch_gate" => adapter.branch_gate = gate(),
                "table_gates" => adapter.table_gates = gate(),
                _ => {}
            }
        }
        adapter
    }
}

impl<'a> Visit<'a> for Registry<'a> {
    fn visit_item_enum(&mut self, item: &'a syn::ItemEnum) {
        if item.ident == "Writer" {
            self.writers.extend(item.variants.iter().map(|variant| {
                let line = variant.ident.span().start().line;
                (variant.ident.to_string(), self.source.place(line))
            }));
        }
    }

    fn visit_item_const(&mut self, item: &'a syn::ItemConst) {
        if let syn::Expr::Struct(entry) = &*item.expr {
            self.entries.push((item.ident.to_string(), entry));
        }
    }

    fn visit_arm(&mut self, arm: &'a syn::Arm) {
        if let syn::Pat::Path(pattern) = &arm.pat {
            self.described.push((last(&pattern.path), word_of(&arm.body)));
        }
    }

    fn visit_item_impl(&mut self, item: &'a syn::ItemImpl) {
        let is_adapter = item.trait_.as_ref().is_some_and(|(_, path, _)| last(path) == "Adapter");
        self.of = super::names::type_path(&item.self_ty).map(last).filter(|_| is_adapter);
        syn::visit::visit_item_impl(self, item);
        self.of = None;
    }

    fn visit_impl_item_const(&mut self, item: &'a syn::ImplItemConst) {
        if let Some(of) = &self.of {
            self.implemented.push((word_of(&item.expr), of.clone()));
        }
    }
}

/// The last name of a path, or the text of a literal, behind a reference or not.
fn word_of(expression: &syn::Expr) -> String {
    match expression {
        syn::Expr::Reference(reference) => word_of(&reference.expr),
        syn::Expr::Path(path) => last(&path.path),
        syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) => text.value(),
        _ => String::new(),
    }
}

fn words_of(expression: &syn::Expr) -> Vec<String> {
    match expression {
        syn::Expr::Reference(reference) => words_of(&reference.expr),
        syn::Expr::Array(array) => array.elems.iter().map(word_of).collect(),
        _ => Vec::new(),
    }
}
