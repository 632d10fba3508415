//! Finds physical handles in the substrate's public signatures: whoever gets one can commit without
//! naming Lance, so the other crates must only ever see the substrate's own types.

use syn::visit::Visit;

use super::names::is_public;
use super::table::HANDLES_SHOWN;
use crate::finding::Finding;
use crate::tree::{Source, Tree};

/// Types of Lance and `object_store` with functions that commit, move a ref or delete.
const HANDLES: [&str; 8] = [
    "Dataset",
    "DatasetBuilder",
    "CommitBuilder",
    "CommitHandler",
    "InsertBuilder",
    "Branches",
    "Tags",
    "ObjectStoreRegistry",
];

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in tree.production("substrate") {
        Scan { source, findings: &mut findings }.visit_file(&source.syntax);
    }
    findings
}

struct Scan<'a> {
    source: &'a Source,
    findings: &'a mut Vec<Finding>,
}

impl Scan<'_> {
    fn judge(&mut self, name: &syn::Ident, mentioned: Mentioned) {
        let line = name.span().start().line;
        let shown = format!("{}: {name}", self.source.path);
        let (Some(handle), false) = (mentioned.0, self.source.tests_line(line)) else { return };
        if !HANDLES_SHOWN.contains(&shown.as_str()) {
            let text =
                format!("`{name}` shows a `{handle}` to other crates, which could commit with it");
            self.findings.push(Finding::fault(self.source.place(line), "handle", text));
        }
    }
}

impl<'ast> Visit<'ast> for Scan<'_> {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if is_public(&item.vis) {
            self.judge(&item.sig.ident, Mentioned::in_signature(&item.sig));
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if is_public(&item.vis) {
            self.judge(&item.sig.ident, Mentioned::in_signature(&item.sig));
        }
    }

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        let public = item.fields.iter().filter(|field| is_public(&field.vis));
        for field in public {
            let name = field.ident.as_ref().unwrap_or(&item.ident);
            self.judge(name, Mentioned::in_type(&field.ty));
        }
    }

    fn visit_item_type(&mut self, item: &'ast syn::ItemType) {
        if is_public(&item.vis) {
            self.judge(&item.ident, Mentioned::in_type(&item.ty));
        }
    }
}

/// The first handle that a piece of syntax mentions.
#[derive(Default)]
struct Mentioned(Option<String>);

impl Mentioned {
    fn in_signature(signature: &syn::Signature) -> Self {
        let mut mentioned = Self::default();
        mentioned.visit_signature(signature);
        mentioned
    }

    fn in_type(ty: &syn::Type) -> Self {
        let mut mentioned = Self::default();
        mentioned.visit_type(ty);
        mentioned
    }
}

impl<'ast> Visit<'ast> for Mentioned {
    fn visit_path_segment(&mut self, segment: &'ast syn::PathSegment) {
        let name = segment.ident.to_string();
        if self.0.is_none() && HANDLES.contains(&name.as_str()) {
            self.0 = Some(name);
        }
        syn::visit::visit_path_segment(self, segment);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::rules;
    use crate::scratch::Scratch;

    fn found(text: &str) -> Vec<&'static str> {
        let scratch = Scratch::new("handles");
        scratch.write("crates/substrate/src/table.rs", text);
        rules(&check(&Tree::read(scratch.path()).unwrap()))
    }

    #[test]
    fn a_handle_in_a_public_signature_is_found_in_every_form() {
        for text in [
            "pub fn open() -> Dataset {}",
            "pub async fn open() -> Result<Arc<lance::Dataset>, ()> {}",
            "impl Table { pub fn raw(&self) -> &Dataset {} }",
            "pub fn with(f: impl FnOnce(&mut Dataset)) {}",
            "pub struct Table { pub raw: Arc<Dataset> }",
            "pub struct Table(pub Dataset);",
            "pub type Raw = Dataset;",
        ] {
            assert_eq!(found(text), ["handle"], "{text}");
        }
    }

    #[test]
    fn a_handle_inside_is_fine() {
        for text in [
            "pub(crate) fn open() -> Dataset {}",
            "pub struct Table { raw: Dataset }",
            "impl Table { fn raw(&self) -> &Dataset {} }",
            "pub fn open() -> Table { Dataset::open() }",
        ] {
            assert_eq!(found(text), [""; 0], "{text}");
        }
    }
}
