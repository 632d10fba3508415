//! Finds the entry points of the library: whatever its users can await in the coordinator.

use syn::spanned::Spanned;
use syn::visit::Visit;

use super::Found;
use super::names::{is_public, last, type_path};
use crate::tree::{Source, Tree};

/// Public asynchronous functions, and types that can be awaited, of the coordinator.
pub(crate) fn entry_points(tree: &Tree) -> Vec<Found> {
    let mut found = Vec::new();
    for source in tree.production("coordinator") {
        let mut scan = Scan { source, owner: None, found: &mut found };
        scan.visit_file(&source.syntax);
    }
    found
}

struct Scan<'a> {
    source: &'a Source,
    /// The type or trait whose functions are being read.
    owner: Option<String>,
    found: &'a mut Vec<Found>,
}

impl Scan<'_> {
    fn function(&mut self, signature: &syn::Signature) {
        if is_awaited(signature) {
            let name = match &self.owner {
                Some(owner) => format!("{owner}::{}", signature.ident),
                None => signature.ident.to_string(),
            };
            self.add(name, signature.ident.span().start().line);
        }
    }

    fn add(&mut self, name: String, line: usize) {
        if !self.source.tests_line(line) {
            self.found.push(Found { name, place: self.source.place(line) });
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
                let name = format!("{}.await", owner.unwrap_or_default());
                self.add(name, item.span().start().line);
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
        entry_points(&tree).into_iter().map(|found| found.name).collect()
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
    fn tests_are_no_entry_points() {
        let text = "#[cfg(test)] mod tests { impl Graph { pub async fn a() {} } }";
        assert_eq!(names(text), Vec::<String>::new());
    }
}
