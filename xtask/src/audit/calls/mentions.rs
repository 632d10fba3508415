//! What a body mentions that may be a function: calls, methods, and paths used as values, the
//! insides of macro calls included.

use std::collections::BTreeSet;

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::visit::Visit;

use super::Variant;
use super::functions::{Body, Function, TOOL};
use super::hints::{Hint, Locals};
use super::resolve::Names;
use crate::audit::names::type_path;

/// Stands for all types of `std::sync::atomic`.
pub(super) const ATOMIC: &str = "Atomic";

/// Stands for a type without a name: a slice, a tuple.
pub(super) const ANY: &str = "<>";

/// Something that may be a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Mention {
    /// `a::b`, with the number of its arguments where that is known.
    Path { segments: Vec<String>, arity: Option<usize>, is_called: bool },
    /// `.b(..)`, with its receiver's type where that is certain.
    Method { name: String, arity: Option<usize>, on: Option<Hint> },
}

pub(super) fn of(
    function: &Function<'_>,
    names: &Names<'_>,
    apart: &BTreeSet<Variant>,
) -> Vec<Mention> {
    let (locals, none) = (Locals::of(function, names), BTreeSet::new());
    let apart = if function.room() == TOOL { apart } else { &none };
    let mut scan =
        Scan { locals: &locals, names, function: Some(function), apart, found: Vec::new() };
    match function.body {
        Body::None => {}
        Body::Block(block) => scan.visit_block(block),
        Body::Value(value) | Body::Arm(value) => scan.visit_expr(value),
    }
    scan.found
}

struct Scan<'a> {
    locals: &'a Locals,
    names: &'a Names<'a>,
    function: Option<&'a Function<'a>>,
    apart: &'a BTreeSet<Variant>,
    found: Vec<Mention>,
}

impl Scan<'_> {
    fn path(&mut self, path: &syn::ExprPath, arity: Option<usize>) {
        let mut segments: Vec<String> =
            path.path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        // `<T>::f` and `<T as Trait>::f`
        if let Some(qself) = path.qself.as_ref().filter(|qself| qself.position == 0) {
            let names = type_path(&qself.ty).into_iter().flat_map(|path| &path.segments);
            let owner: Vec<String> = names.map(|segment| segment.ident.to_string()).collect();
            let owner = if owner.is_empty() { vec![ANY.to_owned()] } else { owner };
            segments.splice(0..0, owner);
        }
        self.found.push(Mention::Path { segments, arity, is_called: arity.is_some() });
    }
}

impl<'ast> Visit<'ast> for Scan<'_> {
    fn visit_expr_call(&mut self, call: &'ast syn::ExprCall) {
        match &*call.func {
            syn::Expr::Path(path) => self.path(path, Some(call.args.len())),
            other => self.visit_expr(other),
        }
        call.args.iter().for_each(|argument| self.visit_expr(argument));
    }

    fn visit_expr_path(&mut self, path: &'ast syn::ExprPath) {
        self.path(path, None);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        let on = self.function.and_then(|it| self.locals.type_of(&call.receiver, it, self.names));
        let is_atomic = || call.args.iter().any(is_memory_order);
        let on = on.or_else(|| is_atomic().then(|| Hint::Foreign(ATOMIC.to_owned())));
        let (name, arity) = (call.method.to_string(), Some(call.args.len()));
        self.found.push(Mention::Method { name, arity, on });
        self.visit_expr(&call.receiver);
        call.args.iter().for_each(|argument| self.visit_expr(argument));
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        let arguments = Punctuated::<syn::Expr, syn::Token![,]>::parse_terminated;
        match arguments.parse2(call.tokens.clone()) {
            Ok(arguments) => arguments.iter().for_each(|argument| self.visit_expr(argument)),
            Err(_) => self.found.extend(in_tokens(call.tokens.clone())),
        }
    }

    fn visit_arm(&mut self, arm: &'ast syn::Arm) {
        if variants_of(&arm.pat, self.apart).is_empty() {
            syn::visit::visit_arm(self, arm);
        }
    }

    fn visit_pat(&mut self, _: &'ast syn::Pat) {}

    fn visit_type(&mut self, _: &'ast syn::Type) {}

    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {}

    fn visit_item_use(&mut self, _: &'ast syn::ItemUse) {}
}

/// `Ordering::Relaxed` and its kind, which only the methods of atomics take.
fn is_memory_order(argument: &syn::Expr) -> bool {
    let syn::Expr::Path(path) = argument else { return false };
    let mut names = path.path.segments.iter().rev().map(|segment| segment.ident.to_string());
    let orders = ["Relaxed", "Acquire", "Release", "AcqRel", "SeqCst"];
    names.next().is_some_and(|name| orders.contains(&name.as_str()))
        && names.next().is_some_and(|name| name == "Ordering")
}

/// The mentions in tokens whose grammar is the macro's own. Every path counts, called or not.
pub(crate) fn in_tokens(tokens: TokenStream) -> Vec<Mention> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        match &tokens[at] {
            TokenTree::Group(group) => found.extend(in_tokens(group.stream())),
            TokenTree::Ident(_) => {
                let is_method = at > 0 && is_dot(&tokens, at - 1);
                let (segments, end) = path_at(&tokens, at);
                if is_punct(&tokens, end, '!') {
                    at = end + 1;
                    continue;
                }
                found.push(mention(segments, arity_at(&tokens, end), is_method));
                at = end;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    found
}

fn mention(mut segments: Vec<String>, arity: Option<Option<usize>>, is_method: bool) -> Mention {
    match (is_method, arity) {
        (true, Some(arity)) => {
            Mention::Method { name: segments.pop().unwrap_or_default(), arity, on: None }
        }
        (_, arity) => {
            Mention::Path { segments, arity: arity.flatten(), is_called: arity.is_some() }
        }
    }
}

fn is_punct(tokens: &[TokenTree], at: usize, character: char) -> bool {
    matches!(tokens.get(at), Some(TokenTree::Punct(it)) if it.as_char() == character)
}

/// A single dot: `a..b` is a range.
fn is_dot(tokens: &[TokenTree], at: usize) -> bool {
    is_punct(tokens, at, '.') && !(at > 0 && is_punct(tokens, at - 1, '.'))
}

fn path_at(tokens: &[TokenTree], mut at: usize) -> (Vec<String>, usize) {
    let colon = |at: usize| is_punct(tokens, at, ':');
    let mut segments = Vec::new();
    while let Some(TokenTree::Ident(name)) = tokens.get(at) {
        segments.push(name.to_string());
        at += 1;
        if !(colon(at) && colon(at + 1)) {
            break;
        }
        at += 2;
    }
    (segments, at)
}

/// Outer `None`: not a call. Inner `None`: nobody can count its arguments.
fn arity_at(tokens: &[TokenTree], at: usize) -> Option<Option<usize>> {
    let Some(TokenTree::Group(group)) = tokens.get(at) else { return None };
    if group.delimiter() != Delimiter::Parenthesis {
        return None;
    }
    let arguments = Punctuated::<syn::Expr, syn::Token![,]>::parse_terminated;
    Some(arguments.parse2(group.stream()).ok().map(|arguments| arguments.len()))
}

/// The variants of `apart` that a pattern names.
pub(crate) fn variants_of(pattern: &syn::Pat, apart: &BTreeSet<Variant>) -> Vec<Variant> {
    struct Named<'a>(&'a BTreeSet<Variant>, Vec<Variant>);
    impl<'ast> Visit<'ast> for Named<'_> {
        fn visit_path(&mut self, path: &'ast syn::Path) {
            let mut names = path.segments.iter().rev().map(|segment| segment.ident.to_string());
            if let (Some(variant), Some(owner)) = (names.next(), names.next()) {
                let variant = (owner, variant);
                if self.0.contains(&variant) {
                    self.1.push(variant);
                }
            }
        }
    }
    let mut named = Named(apart, Vec::new());
    if !apart.is_empty() {
        named.visit_pat(pattern);
    }
    named.1
}
