//! What names mean in a file: its imports, and what its crate calls by another name.

use std::collections::{BTreeMap, BTreeSet};

use syn::visit::Visit;

use crate::audit::names::use_leaves;
use crate::tree::Source;

/// The imports of one file, test imports apart.
#[derive(Debug, Default)]
pub(crate) struct Scope {
    /// The paths that a name may stand for.
    pub(crate) imports: BTreeMap<String, Vec<Vec<String>>>,
    pub(crate) has_glob: bool,
    /// Types, traits and modules that the file declares.
    pub(crate) declared: BTreeSet<String>,
    /// The names that other modules can use, with what they stand for.
    pub(crate) handed_on: Vec<(String, Vec<String>)>,
}

impl Scope {
    pub(crate) fn read(source: &Source) -> Self {
        let mut reader = Reader { source, scope: Self::default() };
        reader.visit_file(&source.syntax);
        reader.scope
    }
}

struct Reader<'a> {
    source: &'a Source,
    scope: Scope,
}

impl Reader<'_> {
    fn declare(&mut self, name: &syn::Ident) {
        if !self.source.tests_line(name.span().start().line) {
            self.scope.declared.insert(name.to_string());
        }
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if self.source.tests_line(item.use_token.span.start().line) {
            return;
        }
        for (name, path) in use_leaves(&item.tree) {
            if name == "*" {
                self.scope.has_glob = true;
                continue;
            }
            // A private import too: the modules below can name it.
            self.scope.handed_on.push((name.clone(), path.clone()));
            self.scope.imports.entry(name).or_default().push(path);
        }
    }

    fn visit_item_type(&mut self, item: &'ast syn::ItemType) {
        self.declare(&item.ident);
        let path = crate::audit::names::type_path(&item.ty);
        if let Some(path) = path {
            let path = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
            self.scope.handed_on.push((item.ident.to_string(), path));
        }
    }

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        self.declare(&item.ident);
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        self.declare(&item.ident);
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        self.declare(&item.ident);
        syn::visit::visit_item_trait(self, item);
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        self.declare(&item.ident);
        syn::visit::visit_item_mod(self, item);
    }
}
