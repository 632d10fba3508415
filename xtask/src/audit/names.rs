//! Reads names out of syntax: types without their wrappers, derives, markers. It knows no rule.

/// The last segment of a type's path, through references, `Box`, `Option` and `Arc`.
pub(crate) fn type_path(ty: &syn::Type) -> Option<&syn::Path> {
    match ty {
        syn::Type::Reference(reference) => type_path(&reference.elem),
        syn::Type::Paren(paren) => type_path(&paren.elem),
        syn::Type::Path(path) => Some(wrapped(&path.path).unwrap_or(&path.path)),
        _ => None,
    }
}

fn wrapped(path: &syn::Path) -> Option<&syn::Path> {
    let last = path.segments.last()?;
    if !["Box", "Option", "Arc"].iter().any(|wrapper| last.ident == wrapper) {
        return None;
    }
    let syn::PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    arguments.args.iter().find_map(|argument| match argument {
        syn::GenericArgument::Type(ty) => type_path(ty),
        _ => None,
    })
}

/// The name of a path without its qualifiers and arguments.
pub(crate) fn last(path: &syn::Path) -> String {
    path.segments.last().map(|segment| segment.ident.to_string()).unwrap_or_default()
}

/// Whether one of the `#[derive(..)]` lists names `what`.
pub(crate) fn derives(attributes: &[syn::Attribute], what: &str) -> bool {
    attributes.iter().filter(|attribute| attribute.path().is_ident("derive")).any(|attribute| {
        let mut found = false;
        // A derive list that does not parse is rustc's to report.
        let _ = attribute.parse_nested_meta(|meta| {
            found |= last(&meta.path) == what;
            Ok(())
        });
        found
    })
}

/// The value of `word` in `#[command(word)]` or `#[command(word = "value")]`: `None` when absent.
pub(crate) fn command_word(attributes: &[syn::Attribute], word: &str) -> Option<String> {
    let commands = attributes
        .iter()
        .filter(|attribute| ["command", "clap"].iter().any(|name| attribute.path().is_ident(name)));
    let mut found = None;
    for attribute in commands {
        let _ = attribute.parse_nested_meta(|meta| {
            let value = value_of(&meta)?;
            if meta.path.is_ident(word) {
                found = Some(value);
            }
            Ok(())
        });
    }
    found
}

/// Consumes `= expression` or `(..)` and gives a string literal's text, else nothing.
fn value_of(meta: &syn::meta::ParseNestedMeta<'_>) -> syn::Result<String> {
    if meta.input.peek(syn::token::Paren) {
        let inside;
        syn::parenthesized!(inside in meta.input);
        inside.parse::<proc_macro2::TokenStream>()?;
        return Ok(String::new());
    }
    if !meta.input.peek(syn::Token![=]) {
        return Ok(String::new());
    }
    match meta.value()?.parse()? {
        syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) => Ok(text.value()),
        _ => Ok(String::new()),
    }
}

/// `ResolveAll` as the command line writes it.
pub(crate) fn kebab(name: &str) -> String {
    let mut out = String::new();
    for character in name.chars() {
        if character.is_uppercase() && !out.is_empty() {
            out.push('-');
        }
        out.extend(character.to_lowercase());
    }
    out
}

/// Whether an item can be named from outside its crate as far as its own visibility goes.
pub(crate) fn is_public(visibility: &syn::Visibility) -> bool {
    matches!(visibility, syn::Visibility::Public(_))
}

/// The paths that a file re-exports, inner modules included, each with its line.
pub(crate) fn public_uses(file: &syn::File) -> Vec<(usize, String)> {
    let mut public = PublicUses(Vec::new());
    syn::visit::Visit::visit_file(&mut public, file);
    public.0
}

struct PublicUses(Vec<(usize, String)>);

impl<'ast> syn::visit::Visit<'ast> for PublicUses {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if is_public(&item.vis) {
            let line = item.use_token.span.start().line;
            let paths = use_leaves(&item.tree).into_iter().map(|(_, path)| (line, path.join("::")));
            self.0.extend(paths);
        }
    }
}

/// What a use tree brings in: a name, and the path that it stands for. The name is `*` for all of a
/// module.
pub(crate) fn use_leaves(tree: &syn::UseTree) -> Vec<(String, Vec<String>)> {
    use syn::UseTree;
    match tree {
        UseTree::Path(path) => {
            let below = use_leaves(&path.tree).into_iter();
            below.map(|(name, leaf)| under(&path.ident.to_string(), name, leaf)).collect()
        }
        UseTree::Name(name) => vec![(name.ident.to_string(), vec![name.ident.to_string()])],
        UseTree::Rename(rename) => {
            vec![(rename.rename.to_string(), vec![rename.ident.to_string()])]
        }
        UseTree::Glob(_) => vec![("*".to_owned(), vec!["*".to_owned()])],
        UseTree::Group(group) => group.items.iter().flat_map(use_leaves).collect(),
    }
}

/// `{self}` is the module itself.
fn under(module: &str, name: String, leaf: Vec<String>) -> (String, Vec<String>) {
    let module = module.to_owned();
    if leaf == ["self"] {
        let name = if name == "self" { module.clone() } else { name };
        return (name, vec![module]);
    }
    (name, [vec![module], leaf].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_is_seen_through_its_wrappers() {
        let ty: syn::Type = syn::parse_str("Option<Box<intent::Command>>").unwrap();
        assert_eq!(last(type_path(&ty).unwrap()), "Command");
    }

    #[test]
    fn derives_are_found_by_their_last_name() {
        let item: syn::ItemStruct =
            syn::parse_str("#[derive(Debug, clap::Parser)] struct A;").unwrap();
        assert!(derives(&item.attrs, "Parser"));
        assert!(!derives(&item.attrs, "Subcommand"));
    }

    #[test]
    fn a_word_is_found_behind_other_words() {
        let text = "#[command(version, about = concat!(\"a\"), name = \"go\")] struct A;";
        let item: syn::ItemStruct = syn::parse_str(text).unwrap();
        assert_eq!(command_word(&item.attrs, "name").as_deref(), Some("go"));
        assert_eq!(command_word(&item.attrs, "version").as_deref(), Some(""));
        assert_eq!(command_word(&item.attrs, "subcommand"), None);
    }

    #[test]
    fn command_names_are_kebab_case() {
        assert_eq!(kebab("OwnerIsDead"), "owner-is-dead");
    }
}
