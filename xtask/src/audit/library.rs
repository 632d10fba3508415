//! Finds the entry points of the library: whatever its users can await, in the coordinator or in a
//! type that they can get from it.

use std::collections::BTreeSet;

use syn::spanned::Spanned;
use syn::visit::Visit;

use super::Found;
use super::names::{is_public, last, type_path};
use super::surface;
use crate::tree::{Source, Tree};

const LIBRARY: &str = "coordinator";

/// The crates whose types the coordinator may hand on.
const INNER: [&str; 7] =
    ["gates", "recovery", "substrate", "manifest", "adapters", "schema", "protocol-types"];

/// What users of the library can call.
#[derive(Default)]
pub(crate) struct Surface {
    /// Public asynchronous functions, and types that can be awaited.
    pub(crate) awaited: Vec<Found>,
    /// Public functions that return at once.
    pub(crate) others: Vec<Found>,
}

pub(crate) fn read(tree: &Tree) -> Surface {
    let mut found = Surface::default();
    for source in tree.production(LIBRARY) {
        let mut scan = Scan { source, only: None, owner: None, found: &mut found };
        scan.visit_file(&source.syntax);
    }
    let names = surface::of(tree, LIBRARY, &INNER);
    for source in INNER.iter().flat_map(|room| tree.production(room)) {
        let mut scan = Scan { source, only: Some(&names), owner: None, found: &mut found };
        scan.visit_file(&source.syntax);
    }
    found
}

struct Scan<'a> {
    source: &'a Source,
    /// The owners and functions that count; `None` counts all.
    only: Option<&'a BTreeSet<String>>,
    /// The type or trait whose functions are being read.
    owner: Option<String>,
    found: &'a mut Surface,
}

impl Scan<'_> {
    fn function(&mut self, signature: &syn::Signature) {
        let subject = self.owner.clone().unwrap_or_else(|| signature.ident.to_string());
        if self.counts(&subject) {
            let name = match &self.owner {
                Some(owner) => format!("{owner}::{}", signature.ident),
                None => signature.ident.to_string(),
            };
            self.add(name, signature.ident.span().start().line, is_awaited(signature));
        }
    }

    fn counts(&self, subject: &str) -> bool {
        self.only.is_none_or(|names| names.contains(subject))
    }

    fn add(&mut self, name: String, line: usize, is_awaited: bool) {
        if !self.source.tests_line(line) {
            let found = Found::of_library(name, self.source.place(line));
            let list = if is_awaited { &mut self.found.awaited } else { &mut self.found.others };
            list.push(found);
        }
    }
}

impl<'ast> Visit<'ast> for Scan<'_> {
    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        let owner = type_path(&item.self_ty).map(last);
        match &item.trait_ {
            None => {
                self.owner = owner;
                syn::visit::visit_item_impl(self, item);
                self.owner = None;
            }
            Some((_, path, _)) if ["Future", "IntoFuture"].contains(&&*last(path)) => {
                let owner = owner.unwrap_or_default();
                if self.counts(&owner) {
                    self.add(format!("{owner}.await"), item.span().start().line, true);
                }
            }
            Some(_) => {}
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if is_public(&item.vis) {
            self.function(&item.sig);
        }
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        if is_public(&item.vis) {
            self.owner = Some(item.ident.to_string());
            syn::visit::visit_item_trait(self, item);
            self.owner = None;
        }
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        self.function(&item.sig);
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if is_public(&item.vis) {
            self.function(&item.sig);
        }
    }
}

/// `async fn`, or a function whose result is some kind of future.
fn is_awaited(signature: &syn::Signature) -> bool {
    let mut returns = Returns(false);
    returns.visit_return_type(&signature.output);
    signature.asyncness.is_some() || returns.0
}

struct Returns(bool);

impl<'ast> Visit<'ast> for Returns {
    fn visit_path_segment(&mut self, segment: &'ast syn::PathSegment) {
        self.0 |= segment.ident.to_string().ends_with("Future");
        syn::visit::visit_path_segment(self, segment);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    fn names(text: &str) -> Vec<String> {
        let scratch = Scratch::new("library");
        scratch.write("crates/coordinator/src/graph.rs", text);
        let tree = Tree::read(scratch.path()).unwrap();
        read(&tree).awaited.into_iter().map(|found| found.name).collect()
    }

    #[test]
    fn a_public_async_method_is_an_entry_point() {
        assert_eq!(names("impl<'a> Graph<'a> { pub async fn load(&self) {} }"), ["Graph::load"]);
    }

    #[test]
    fn what_users_cannot_reach_or_await_is_none() {
        let text = "impl Graph { async fn a() {} pub(crate) async fn b() {} pub fn c() {} }";
        assert_eq!(names(text), Vec::<String>::new());
    }

    #[test]
    fn a_function_that_returns_a_future_is_an_entry_point() {
        let text = "impl Graph {
            pub fn a() -> impl Future<Output = ()> + Send {}
            pub fn b() -> Pin<Box<dyn Future<Output = ()>>> {}
            pub fn c() -> futures::future::BoxFuture<'static, ()> {}
        }";
        assert_eq!(names(text), ["Graph::a", "Graph::b", "Graph::c"]);
    }

    #[test]
    fn a_free_function_and_a_trait_are_not_overlooked() {
        let text = "pub async fn quick() {} pub trait Loader { async fn go(&self); }";
        assert_eq!(names(text), ["quick", "Loader::go"]);
    }

    #[test]
    fn a_builder_that_is_awaited_is_an_entry_point() {
        assert_eq!(names("impl IntoFuture for LoadRequest {}"), ["LoadRequest.await"]);
    }

    #[test]
    fn a_type_that_is_re_exported_brings_its_entry_points() {
        let scratch = Scratch::new("library");
        scratch.write("crates/coordinator/src/lib.rs", "pub use graphwrite_substrate::{Store};");
        let store = "impl Store { pub async fn wipe(&self) {} } pub async fn other() {}";
        scratch.write("crates/substrate/src/store.rs", store);
        scratch.write("crates/substrate/src/inner.rs", "impl Inner { pub async fn a() {} }");
        let found = read(&Tree::read(scratch.path()).unwrap()).awaited;
        let names: Vec<&str> = found.iter().map(|found| found.name.as_str()).collect();
        assert_eq!(names, ["Store::wipe"]);
    }

    #[test]
    fn tests_are_no_entry_points() {
        let text = "#[cfg(test)] mod tests { impl Graph { pub async fn a() {} } }";
        assert_eq!(names(text), Vec::<String>::new());
    }
}
