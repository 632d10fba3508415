//! From a mention to the functions that it may mean. Paths are followed through imports, renames
//! and re-exports; a method whose receiver is not certain means every method of its name that the
//! crate can see. In doubt there is an edge.

use std::collections::{BTreeMap, BTreeSet};

use syn::visit::Visit;

use super::functions::Function;
use super::hints::{Hint, traits_of};
use super::mentions::Mention;
use super::scope::Scope;
use crate::audit::names::{last, type_path};
use crate::layers;
use crate::tree::{Source, Tree};

const PREFIX: &str = "graphwrite_";
/// Renames behind renames that are followed; a longer chain would be a cycle.
const DEPTH_MAX: usize = 16;

/// What the names of the workspace mean.
pub(crate) struct Names<'a> {
    scopes: BTreeMap<&'a str, Scope>,
    by_name: BTreeMap<String, Vec<usize>>,
    fields: BTreeMap<String, Vec<(&'a Source, Fields<'a>)>>,
    /// Types whose receivers may stand for another type.
    derefs: BTreeSet<String>,
}

type Fields<'a> = BTreeMap<String, &'a syn::Type>;

impl<'a> Names<'a> {
    pub(super) fn read(tree: &'a Tree, functions: &[Function<'a>]) -> Self {
        let sources =
            || tree.sources.iter().filter(|it| it.path.starts_with("crates/") && !it.is_test);
        let scopes = sources().map(|source| (source.path.as_str(), Scope::read(source))).collect();
        let mut by_name: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        let mut derefs = BTreeSet::new();
        for (index, function) in functions.iter().enumerate() {
            by_name.entry(function.name.clone()).or_default().push(index);
            if function.of_trait.as_deref().is_some_and(|it| ["Deref", "DerefMut"].contains(&it)) {
                derefs.extend(function.owner.clone());
            }
        }
        let mut fields = BTreeMap::new();
        for source in sources() {
            Structs { source, fields: &mut fields }.visit_file(&source.syntax);
        }
        Self { scopes, by_name, fields, derefs }
    }

    /// The functions that `mention` may mean where `user` says it.
    pub(crate) fn resolve(
        &self,
        mention: &Mention,
        user: &Function<'_>,
        functions: &[Function<'a>],
    ) -> Vec<usize> {
        match mention {
            Mention::Path { segments, arity, .. } => {
                let found = self.path(segments, user, functions);
                let fits = |index: &usize| fits_call(&functions[*index], *arity);
                found.into_iter().filter(fits).collect()
            }
            Mention::Method { name, arity, on } => {
                let named = self.by_name.get(name).into_iter().flatten().copied();
                let meant = named.filter(|index| {
                    let function = &functions[*index];
                    function.has_self()
                        && (arity.is_none() || function.arity() == *arity)
                        && can_see(user.room(), function)
                        && self.receives(function, on.as_ref())
                });
                meant.collect()
            }
        }
    }

    /// Whether a value of the type `on` may be the receiver of `function`.
    fn receives(&self, function: &Function<'_>, on: Option<&Hint>) -> bool {
        let (owner, of_trait) = (function.owner.as_deref(), function.of_trait.as_deref());
        // A default, or an impl for every type with some trait.
        let is_generic =
            of_trait.is_some() && (owner == of_trait || owner.is_none_or(is_parameter));
        match on {
            Some(Hint::Ours(name)) if !self.derefs.contains(name) => {
                owner == Some(name) || is_generic
            }
            Some(Hint::Foreign(name)) => (of_trait.is_some() && owner == Some(name)) || is_generic,
            Some(Hint::Traits(traits)) => {
                of_trait.is_some_and(|of| traits.iter().any(|it| it == of)) || is_generic
            }
            _ => true,
        }
    }

    fn path(
        &self,
        segments: &[String],
        user: &Function<'_>,
        functions: &[Function<'a>],
    ) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        let [head, rest @ ..] = segments else { return found };
        if head == "Self" {
            let owner = user.owner.clone().unwrap_or_default();
            let path = [&[owner], rest].concat();
            self.look_up(user.room(), &path, functions, &mut found, 0);
            return found;
        }
        self.follow(segments, user.source, functions, &mut found, 0);
        let is_parameter = user
            .signature
            .map(|it| &it.generics)
            .into_iter()
            .chain(user.generics)
            .flat_map(syn::Generics::type_params)
            .any(|parameter| parameter.ident == head);
        if is_parameter && let Some(name) = rest.last() {
            let named = self.by_name.get(name).into_iter().flatten().copied();
            found.extend(named.filter(|index| functions[*index].of_trait.is_some()));
        }
        found
    }

    /// Adds what a path means in a file.
    fn follow(
        &self,
        segments: &[String],
        source: &Source,
        functions: &[Function<'a>],
        found: &mut BTreeSet<usize>,
        depth: usize,
    ) {
        let (Some((head, rest)), Some(scope)) =
            (segments.split_first(), self.scopes.get(source.path.as_str()))
        else {
            return;
        };
        if depth > DEPTH_MAX {
            return;
        }
        for path in scope.imports.get(head).into_iter().flatten() {
            let path: Vec<String> = path.iter().chain(rest).cloned().collect();
            self.absolute(&path, source.room(), functions, found, depth + 1);
        }
        let is_plain = segments.len() > 1 || !scope.imports.contains_key(head);
        if ["crate", "self", "super"].contains(&head.as_str()) || is_ours(head) {
            self.absolute(segments, source.room(), functions, found, depth + 1);
        } else if is_plain && !scope.imports.contains_key(head) {
            self.unimported(segments, source, scope, functions, found, depth + 1);
        }
    }

    /// A name that no import binds: of this module, of a glob, a local one, or somebody else's.
    fn unimported(
        &self,
        segments: &[String],
        source: &Source,
        scope: &Scope,
        functions: &[Function<'a>],
        found: &mut BTreeSet<usize>,
        depth: usize,
    ) {
        if scope.has_glob {
            let name = segments.last().cloned().unwrap_or_default();
            found.extend(self.by_name.get(&name).into_iter().flatten());
            return;
        }
        if segments.len() == 1 {
            let named = self.by_name.get(&segments[0]).into_iter().flatten().copied();
            found.extend(named.filter(|index| {
                functions[*index].source.path == source.path && functions[*index].owner.is_none()
            }));
        } else if self.is_of_room(&segments[0], source) {
            self.look_up(source.room(), segments, functions, found, depth);
        }
    }

    /// Whether a name is a type or module that the crate of `source` declares.
    fn is_of_room(&self, name: &str, source: &Source) -> bool {
        let declares = |scope: &Scope| scope.declared.contains(name);
        let mut of_room = self.scopes.iter().filter(|(path, _)| room_of(path) == source.room());
        of_room.any(|(_, scope)| declares(scope))
    }

    fn absolute(
        &self,
        path: &[String],
        room: &str,
        functions: &[Function<'a>],
        found: &mut BTreeSet<usize>,
        depth: usize,
    ) {
        let Some((head, rest)) = path.split_first() else { return };
        match head.as_str() {
            "crate" | "self" | "super" => self.absolute_in(room, rest, functions, found, depth),
            name if is_ours(name) => {
                let room = name.trim_start_matches(PREFIX).replace('_', "-");
                self.look_up(&room, rest, functions, found, depth);
            }
            // A module of the same crate, relative to the importing one.
            _ => self.look_up(room, path, functions, found, depth),
        }
    }

    fn absolute_in(
        &self,
        room: &str,
        rest: &[String],
        functions: &[Function<'a>],
        found: &mut BTreeSet<usize>,
        depth: usize,
    ) {
        match rest.first().map(String::as_str) {
            Some("super" | "self") => self.absolute_in(room, &rest[1..], functions, found, depth),
            _ => self.look_up(room, rest, functions, found, depth),
        }
    }

    /// What a crate means by a path: its own items, or what it hands on under that name.
    fn look_up(
        &self,
        room: &str,
        path: &[String],
        functions: &[Function<'a>],
        found: &mut BTreeSet<usize>,
        depth: usize,
    ) {
        let Some((name, qualifiers)) = path.split_last() else { return };
        if depth > DEPTH_MAX {
            return;
        }
        let owner = qualifiers.last();
        for index in self.by_name.get(name).into_iter().flatten() {
            let function = &functions[*index];
            let is_in = function.room() == room || layers::sees(function.room(), room);
            if is_in && is_called(function, owner.map(String::as_str), room) {
                found.insert(*index);
            }
        }
        for (path_of, scope) in self.scopes.iter().filter(|(path, _)| room_of(path) == room) {
            for (alias, target) in &scope.handed_on {
                let renamed: Vec<String> = if Some(alias) == owner {
                    target.iter().chain([name]).cloned().collect()
                } else if alias == name && owner.is_none_or(|it| !is_type_name(it)) {
                    target.clone()
                } else {
                    continue;
                };
                if renamed != path && !path_of.is_empty() {
                    self.absolute(&renamed, room, functions, found, depth + 1);
                }
            }
        }
    }

    pub(super) fn hint_of_type(&self, ty: &syn::Type, source: &Source) -> Option<Hint> {
        match ty {
            syn::Type::Reference(reference) => self.hint_of_type(&reference.elem, source),
            syn::Type::Paren(paren) => self.hint_of_type(&paren.elem, source),
            syn::Type::TraitObject(object) => Some(Hint::Traits(traits_of(&object.bounds))),
            syn::Type::ImplTrait(object) => Some(Hint::Traits(traits_of(&object.bounds))),
            syn::Type::Path(path) => {
                let last = path.path.segments.last()?;
                if ["Box", "Arc", "Rc"].iter().any(|wrapper| last.ident == wrapper) {
                    let syn::PathArguments::AngleBracketed(arguments) = &last.arguments else {
                        return None;
                    };
                    let inner = arguments.args.iter().find_map(|argument| match argument {
                        syn::GenericArgument::Type(ty) => Some(ty),
                        _ => None,
                    })?;
                    return self.hint_of_type(inner, source);
                }
                self.hint_of_path(&path.path, source)
            }
            _ => None,
        }
    }

    fn hint_of_path(&self, path: &syn::Path, source: &Source) -> Option<Hint> {
        match path.get_ident() {
            Some(name) => self.hint_of_name(&name.to_string(), source),
            None if path.segments.len() == 1 => self.hint_of_name(&last(path), source),
            None => {
                let head = path.segments[0].ident.to_string();
                let ours = ["crate", "self", "super"].contains(&head.as_str()) || is_ours(&head);
                ours.then(|| Hint::Ours(last(path)))
            }
        }
    }

    /// The type that a bare name means in a file. A renamed type is not certain.
    pub(super) fn hint_of_name(&self, name: &str, source: &Source) -> Option<Hint> {
        let scope = self.scopes.get(source.path.as_str())?;
        if scope.has_glob {
            return None;
        }
        if scope
            .handed_on
            .iter()
            .any(|(alias, target)| alias == name && target.last() != Some(&alias.clone()))
        {
            return None;
        }
        let Some(paths) = scope.imports.get(name) else {
            let ours = scope.declared.contains(name);
            return Some(if ours {
                Hint::Ours(name.to_owned())
            } else {
                Hint::Foreign(name.to_owned())
            });
        };
        let [path] = paths.as_slice() else { return None };
        if path.last().map(String::as_str) != Some(name) {
            return None;
        }
        let head = path.first()?;
        let ours = ["crate", "self", "super"].contains(&head.as_str())
            || is_ours(head)
            || self.is_of_room(head, source);
        if ours && !self.fields.contains_key(name) && !self.is_type_of_ours(name) {
            return None;
        }
        Some(if ours { Hint::Ours(name.to_owned()) } else { Hint::Foreign(name.to_owned()) })
    }

    fn is_type_of_ours(&self, name: &str) -> bool {
        self.scopes.values().any(|scope| scope.declared.contains(name))
    }

    /// The type of a field, if one struct of that name is seen from `room` and no other.
    pub(super) fn field(&self, owner: &str, field: &str, room: &str) -> Option<Hint> {
        let structs = self.fields.get(owner)?;
        let own = structs.iter().filter(|(source, _)| source.room() == room);
        let mut candidates: Vec<_> = own.collect();
        if candidates.is_empty() {
            let seen = |source: &Source| layers::sees(room, source.room());
            candidates = structs.iter().filter(|(source, _)| seen(source)).collect();
        }
        let [(source, fields)] = candidates.as_slice() else { return None };
        self.hint_of_type(fields.get(field)?, source)
    }
}

/// A constant is never called; a function that is named may be called later.
fn fits_call(function: &Function<'_>, arity: Option<usize>) -> bool {
    match (arity, function.arity()) {
        (Some(given), Some(taken)) => given == taken + usize::from(function.has_self()),
        _ => true,
    }
}

/// Whether `owner::function` in `room` may be this function.
fn is_called(function: &Function<'_>, owner: Option<&str>, room: &str) -> bool {
    match owner {
        None => function.room() == room && function.owner.is_none(),
        Some(owner) => {
            let of_module =
                function.owner.is_none() && function.room() == room && !is_type_name(owner);
            let of_type = function.owner.as_deref() == Some(owner)
                || function.of_trait.as_deref() == Some(owner);
            let default = function.owner.is_some()
                && function.owner == function.of_trait
                && is_type_name(owner);
            of_module || of_type || default
        }
    }
}

/// A method can be called on what the crate sees, or through a trait that it sees.
fn can_see(room: &str, function: &Function<'_>) -> bool {
    room == function.room() || layers::sees(room, function.room()) || function.of_trait.is_some()
}

fn is_type_name(name: &str) -> bool {
    name.starts_with(char::is_uppercase)
}

/// `T`, `T1`: not the name of a type of ours.
fn is_parameter(name: &str) -> bool {
    name.len() <= 2 && is_type_name(name)
}

fn is_ours(name: &str) -> bool {
    name.starts_with(PREFIX)
}

fn room_of(path: &str) -> &str {
    path.split('/').nth(1).unwrap_or_default()
}

struct Structs<'a, 'b> {
    source: &'a Source,
    fields: &'b mut BTreeMap<String, Vec<(&'a Source, Fields<'a>)>>,
}

impl<'a> Visit<'a> for Structs<'a, '_> {
    fn visit_item_struct(&mut self, item: &'a syn::ItemStruct) {
        let generic: BTreeSet<String> =
            item.generics.type_params().map(|parameter| parameter.ident.to_string()).collect();
        let certain = |field: &&syn::Field| {
            type_path(&field.ty).is_none_or(|path| !generic.contains(&last(path)))
        };
        let fields = item.fields.iter().enumerate().filter(|(_, field)| certain(field));
        let fields = fields.map(|(index, field)| {
            let name = field.ident.as_ref().map_or_else(|| index.to_string(), ToString::to_string);
            (name, &field.ty)
        });
        let entry = (self.source, fields.collect());
        self.fields.entry(item.ident.to_string()).or_default().push(entry);
    }
}
