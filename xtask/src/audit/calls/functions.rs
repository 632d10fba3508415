//! Collects every function, constant and static of the workspace with what its name can be found by.
//! Nested items count like any other.

use std::collections::BTreeSet;

use syn::visit::Visit;

use super::Variant;
use super::mentions::variants_of;
use crate::audit::names::{last, type_path};
use crate::tree::{Source, Tree};

/// The crate whose match arms may be followed apart.
pub(super) const TOOL: &str = "cli";

/// What a function does, as syntax.
#[derive(Clone, Copy)]
pub(crate) enum Body<'a> {
    /// Declared by a trait, without a default.
    None,
    Block(&'a syn::Block),
    /// The value of a constant or a static.
    Value(&'a syn::Expr),
    /// An arm of a match that is followed apart.
    Arm(&'a syn::Expr),
}

/// A node of the graph.
pub(crate) struct Function<'a> {
    pub(crate) source: &'a Source,
    /// The type of the impl block, or the trait that declares the function.
    pub(crate) owner: Option<String>,
    /// The trait that is implemented or declared.
    pub(crate) of_trait: Option<String>,
    pub(crate) name: String,
    pub(crate) line: usize,
    pub(crate) signature: Option<&'a syn::Signature>,
    pub(crate) generics: Option<&'a syn::Generics>,
    pub(crate) body: Body<'a>,
    /// For an arm: the variants that lead to it.
    pub(crate) variants: Vec<Variant>,
}

impl Function<'_> {
    pub(crate) fn room(&self) -> &str {
        self.source.room()
    }

    pub(crate) fn place(&self) -> String {
        self.source.place(self.line)
    }

    /// `Manifest::publish`, or `attempt`.
    pub(crate) fn shown(&self) -> String {
        match &self.owner {
            Some(owner) => format!("{owner}::{}", self.name),
            None => self.name.clone(),
        }
    }

    pub(crate) fn is(&self, room: &str, owner: Option<&str>, name: &str) -> bool {
        self.room() == room && self.owner.as_deref() == owner && self.name == name
    }

    pub(crate) fn block(&self) -> Option<&syn::Block> {
        match self.body {
            Body::Block(block) => Some(block),
            Body::None | Body::Value(_) | Body::Arm(_) => None,
        }
    }

    /// Whether a parameter is of the type `name`.
    pub(crate) fn takes(&self, name: &str) -> bool {
        let inputs = self.signature.into_iter().flat_map(|signature| &signature.inputs);
        let mut types = inputs.filter_map(|input| match input {
            syn::FnArg::Typed(input) => type_path(&input.ty),
            syn::FnArg::Receiver(_) => None,
        });
        types.any(|path| last(path) == name)
    }

    /// Whether `name` is a type parameter of it or of its impl block.
    pub(crate) fn has_parameter(&self, name: &str) -> bool {
        let generics = self.signature.map(|it| &it.generics).into_iter().chain(self.generics);
        generics.flat_map(syn::Generics::type_params).any(|parameter| parameter.ident == name)
    }

    pub(crate) fn has_self(&self) -> bool {
        self.signature.is_some_and(|signature| signature.receiver().is_some())
    }

    /// Parameters without `self`; none for what is not called.
    pub(crate) fn arity(&self) -> Option<usize> {
        self.signature.map(|signature| signature.inputs.len() - usize::from(self.has_self()))
    }
}

pub(super) fn collect<'a>(tree: &'a Tree, apart: &BTreeSet<Variant>) -> Vec<Function<'a>> {
    let mut found = Vec::new();
    let none = BTreeSet::new();
    for source in tree.sources.iter().filter(|it| it.path.starts_with("crates/") && !it.is_test) {
        let apart = if source.room() == TOOL { apart } else { &none };
        Collector { source, context: Context::default(), apart, found: &mut found }
            .visit_file(&source.syntax);
    }
    found
}

#[derive(Clone, Default)]
struct Context<'a> {
    owner: Option<String>,
    of_trait: Option<String>,
    generics: Option<&'a syn::Generics>,
}

struct Collector<'a, 'b> {
    source: &'a Source,
    context: Context<'a>,
    apart: &'b BTreeSet<Variant>,
    found: &'b mut Vec<Function<'a>>,
}

impl<'a> Collector<'a, '_> {
    fn add(&mut self, name: &syn::Ident, signature: Option<&'a syn::Signature>, body: Body<'a>) {
        let line = name.span().start().line;
        self.push(name.to_string(), line, signature, body, Vec::new());
    }

    fn push(
        &mut self,
        name: String,
        line: usize,
        signature: Option<&'a syn::Signature>,
        body: Body<'a>,
        variants: Vec<Variant>,
    ) {
        if self.source.tests_line(line) {
            return;
        }
        let Context { owner, of_trait, generics } = self.context.clone();
        let source = self.source;
        let function =
            Function { source, owner, of_trait, name, line, signature, generics, body, variants };
        self.found.push(function);
    }

    fn within(&mut self, context: Context<'a>, visit: impl FnOnce(&mut Self)) {
        let outer = std::mem::replace(&mut self.context, context);
        visit(self);
        self.context = outer;
    }
}

impl<'a> Visit<'a> for Collector<'a, '_> {
    fn visit_item_impl(&mut self, item: &'a syn::ItemImpl) {
        let context = Context {
            owner: Some(type_path(&item.self_ty).map(last).unwrap_or_default()),
            of_trait: item.trait_.as_ref().map(|(_, path, _)| last(path)),
            generics: Some(&item.generics),
        };
        self.within(context, |it| syn::visit::visit_item_impl(it, item));
    }

    fn visit_item_trait(&mut self, item: &'a syn::ItemTrait) {
        let name = Some(item.ident.to_string());
        let context =
            Context { owner: name.clone(), of_trait: name, generics: Some(&item.generics) };
        self.within(context, |it| syn::visit::visit_item_trait(it, item));
    }

    fn visit_item_fn(&mut self, item: &'a syn::ItemFn) {
        self.within(Context::default(), |it| {
            it.add(&item.sig.ident, Some(&item.sig), Body::Block(&item.block));
            syn::visit::visit_item_fn(it, item);
        });
    }

    fn visit_impl_item_fn(&mut self, item: &'a syn::ImplItemFn) {
        self.add(&item.sig.ident, Some(&item.sig), Body::Block(&item.block));
        syn::visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'a syn::TraitItemFn) {
        let body = item.default.as_ref().map_or(Body::None, Body::Block);
        self.add(&item.sig.ident, Some(&item.sig), body);
        syn::visit::visit_trait_item_fn(self, item);
    }

    fn visit_item_const(&mut self, item: &'a syn::ItemConst) {
        self.add(&item.ident, None, Body::Value(&item.expr));
        syn::visit::visit_item_const(self, item);
    }

    fn visit_item_static(&mut self, item: &'a syn::ItemStatic) {
        self.add(&item.ident, None, Body::Value(&item.expr));
        syn::visit::visit_item_static(self, item);
    }

    fn visit_impl_item_const(&mut self, item: &'a syn::ImplItemConst) {
        self.add(&item.ident, None, Body::Value(&item.expr));
        syn::visit::visit_impl_item_const(self, item);
    }

    fn visit_trait_item_const(&mut self, item: &'a syn::TraitItemConst) {
        if let Some((_, value)) = &item.default {
            self.add(&item.ident, None, Body::Value(value));
        }
        syn::visit::visit_trait_item_const(self, item);
    }

    fn visit_arm(&mut self, arm: &'a syn::Arm) {
        let variants = variants_of(&arm.pat, self.apart);
        if !variants.is_empty() {
            let line = arm.fat_arrow_token.spans[0].start().line;
            self.push("match arm".to_owned(), line, None, Body::Arm(&arm.body), variants);
        }
        syn::visit::visit_arm(self, arm);
    }
}
