//! The types of receivers, where the source says them: `self`, parameters, and fields of structs.
//! What is not certain has no type here, and then every method of the name counts.

use std::collections::{BTreeMap, BTreeSet};

use syn::visit::Visit;

use super::functions::{Body, Function};
use super::resolve::Names;
use crate::audit::names::last;

/// What is known of a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Hint {
    /// A type of the workspace.
    Ours(String),
    /// A type of somebody else.
    Foreign(String),
    /// Any type with one of these traits.
    Traits(Vec<String>),
}

/// The variables of a function whose types are certain.
#[derive(Debug, Default)]
pub(crate) struct Locals(BTreeMap<String, Hint>);

impl Locals {
    pub(super) fn of(function: &Function<'_>, names: &Names<'_>) -> Self {
        let Some(signature) = function.signature else { return Self::default() };
        let rebound = Rebound::in_body(function.body);
        let mut locals = BTreeMap::new();
        for input in &signature.inputs {
            let syn::FnArg::Typed(input) = input else { continue };
            let syn::Pat::Ident(name) = &*input.pat else { continue };
            let name = name.ident.to_string();
            if let Some(hint) =
                hint(&input.ty, function, names).filter(|_| !rebound.0.contains(&name))
            {
                locals.insert(name, hint);
            }
        }
        Self(locals)
    }

    /// The type of an expression, if it is certain.
    pub(super) fn type_of(
        &self,
        expression: &syn::Expr,
        function: &Function<'_>,
        names: &Names<'_>,
    ) -> Option<Hint> {
        match expression {
            syn::Expr::Path(path) => {
                let name = path.path.get_ident()?.to_string();
                if name == "self" { own_type(function, names) } else { self.0.get(&name).cloned() }
            }
            syn::Expr::Field(field) => {
                let Hint::Ours(owner) = self.type_of(&field.base, function, names)? else {
                    return None;
                };
                names.field(&owner, &member(&field.member), function.room())
            }
            syn::Expr::Reference(inner) => self.type_of(&inner.expr, function, names),
            syn::Expr::Paren(inner) => self.type_of(&inner.expr, function, names),
            _ => None,
        }
    }
}

fn own_type(function: &Function<'_>, names: &Names<'_>) -> Option<Hint> {
    let owner = function.owner.clone()?;
    if function.of_trait.as_ref() == Some(&owner) {
        return Some(Hint::Traits(vec![owner]));
    }
    names.hint_of_name(&owner, function.source)
}

fn member(member: &syn::Member) -> String {
    match member {
        syn::Member::Named(name) => name.to_string(),
        syn::Member::Unnamed(index) => index.index.to_string(),
    }
}

fn hint(ty: &syn::Type, function: &Function<'_>, names: &Names<'_>) -> Option<Hint> {
    let generics = [function.signature.map(|it| &it.generics), function.generics];
    for generics in generics.into_iter().flatten() {
        if let Some(traits) = bounds_of(ty, generics) {
            return (!traits.is_empty()).then_some(Hint::Traits(traits));
        }
    }
    if let (Some("Self"), Some(_)) = (single(ty).as_deref(), &function.owner) {
        return own_type(function, names);
    }
    names.hint_of_type(ty, function.source)
}

/// The bounds of a generic parameter; none if `ty` is none.
fn bounds_of(ty: &syn::Type, generics: &syn::Generics) -> Option<Vec<String>> {
    let name = single(ty)?;
    let parameter = generics.type_params().find(|parameter| parameter.ident == name)?;
    let mut traits: Vec<String> = traits_of(&parameter.bounds);
    for predicate in generics.where_clause.iter().flat_map(|clause| &clause.predicates) {
        if let syn::WherePredicate::Type(predicate) = predicate
            && single(&predicate.bounded_ty).as_deref() == Some(&name)
        {
            traits.extend(traits_of(&predicate.bounds));
        }
    }
    Some(traits)
}

pub(super) fn traits_of<'a>(
    bounds: impl IntoIterator<Item = &'a syn::TypeParamBound>,
) -> Vec<String> {
    let traits = bounds.into_iter().filter_map(|bound| match bound {
        syn::TypeParamBound::Trait(bound) => Some(last(&bound.path)),
        _ => None,
    });
    traits.collect()
}

fn single(ty: &syn::Type) -> Option<String> {
    match ty {
        syn::Type::Reference(reference) => single(&reference.elem),
        syn::Type::Path(path) => path.path.get_ident().map(ToString::to_string),
        _ => None,
    }
}

/// Every name that a body binds again, whatever for.
#[derive(Default)]
struct Rebound(BTreeSet<String>);

impl Rebound {
    fn in_body(body: Body<'_>) -> Self {
        let mut rebound = Self::default();
        if let Body::Block(block) = body {
            rebound.visit_block(block);
        }
        rebound
    }
}

impl<'ast> Visit<'ast> for Rebound {
    fn visit_pat_ident(&mut self, pattern: &'ast syn::PatIdent) {
        self.0.insert(pattern.ident.to_string());
        syn::visit::visit_pat_ident(self, pattern);
    }
}
