//! The types that a user of a crate can come by: those that it hands on by name, and those that
//! their public functions and fields show, whether or not anybody can name them.

use std::collections::BTreeSet;

use syn::visit::Visit;

use super::names::{is_public, last, public_uses, type_path};
use crate::tree::Tree;

/// The names of the types of `inner` that users of `library` can come by.
pub(crate) fn of(tree: &Tree, library: &str, inner: &[&str]) -> BTreeSet<String> {
    let mut names = handed_on(tree, library);
    let rooms: Vec<&str> = [&[library], inner].concat();
    loop {
        let mut shown = Shown { names: &names, all: false, seen: BTreeSet::new() };
        for source in rooms.iter().flat_map(|room| tree.production(room)) {
            shown.all = source.room() == library;
            shown.visit_file(&source.syntax);
        }
        let seen: BTreeSet<String> = shown.seen.union(&names).cloned().collect();
        if seen == names {
            return names;
        }
        names = seen;
    }
}

fn handed_on(tree: &Tree, library: &str) -> BTreeSet<String> {
    let uses = tree.production(library).flat_map(|source| public_uses(&source.syntax));
    uses.filter_map(|(_, path)| path.rsplit("::").next().map(str::to_owned)).collect()
}

/// Collects what the public parts of known types mention.
struct Shown<'a> {
    names: &'a BTreeSet<String>,
    /// Whether every type of the file counts as known.
    all: bool,
    seen: BTreeSet<String>,
}

impl Shown<'_> {
    fn knows(&self, name: &str) -> bool {
        self.all || self.names.contains(name)
    }

    fn signature(&mut self, visibility: &syn::Visibility, signature: &syn::Signature) {
        if is_public(visibility) {
            Mentions(&mut self.seen).visit_signature(signature);
        }
    }

    fn fields<'f>(&mut self, fields: impl IntoIterator<Item = &'f syn::Field>) {
        fields.into_iter().for_each(|field| Mentions(&mut self.seen).visit_type(&field.ty));
    }
}

impl<'ast> Visit<'ast> for Shown<'_> {
    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        let owner = type_path(&item.self_ty).map(last).unwrap_or_default();
        if self.knows(&owner) && item.trait_.is_none() {
            syn::visit::visit_item_impl(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.signature(&item.vis, &item.sig);
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if self.knows(&item.sig.ident.to_string()) {
            self.signature(&item.vis, &item.sig);
        }
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        if self.knows(&item.ident.to_string()) && is_public(&item.vis) {
            Mentions(&mut self.seen).visit_item_trait(item);
        }
    }

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        if self.knows(&item.ident.to_string()) && is_public(&item.vis) {
            self.fields(item.fields.iter().filter(|field| is_public(&field.vis)));
        }
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        if self.knows(&item.ident.to_string()) && is_public(&item.vis) {
            self.fields(item.variants.iter().flat_map(|variant| &variant.fields));
        }
    }

    fn visit_item_type(&mut self, item: &'ast syn::ItemType) {
        if self.knows(&item.ident.to_string()) && is_public(&item.vis) {
            Mentions(&mut self.seen).visit_type(&item.ty);
        }
    }
}

/// The last names of all paths.
struct Mentions<'a>(&'a mut BTreeSet<String>);

impl<'ast> Visit<'ast> for Mentions<'_> {
    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.0.insert(last(path));
        syn::visit::visit_path(self, path);
    }

    fn visit_block(&mut self, _: &'ast syn::Block) {}

    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {}
}
