//! From a mention to the functions that it may mean. Paths are followed through imports, renames
//! and re-exports; a method whose receiver is not certain means every method of its name that the
//! crate can see. In doubt there is an edge.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use super::functions::Function;
use super::hints::Hint;
use super::mentions::{ATOMIC, Mention};
use super::scope::Scope;
use super::types::Structs;
use crate::layers;
use crate::tree::Tree;

const PREFIX: &str = "graphwrite_";

/// A path, and the file that has it.
type PathIn = (String, Vec<String>);

/// What the names of the workspace mean.
pub(crate) struct Names<'a> {
    pub(super) scopes: BTreeMap<&'a str, Scope>,
    by_name: BTreeMap<String, Vec<usize>>,
    pub(super) structs: Structs<'a>,
    /// Types whose receivers may stand for another type.
    derefs: BTreeSet<String>,
    rooms: BTreeMap<String, Room>,
    /// What paths mean, by file.
    known: RefCell<BTreeMap<PathIn, BTreeSet<usize>>>,
}

impl<'a> Names<'a> {
    pub(super) fn read(tree: &'a Tree, functions: &[Function<'a>]) -> Self {
        let sources =
            || tree.sources.iter().filter(|it| it.path.starts_with("crates/") && !it.is_test);
        let scopes: BTreeMap<&str, Scope> =
            sources().map(|source| (source.path.as_str(), Scope::read(source))).collect();
        let mut by_name: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        let mut derefs = BTreeSet::new();
        for (index, function) in functions.iter().enumerate() {
            by_name.entry(function.name.clone()).or_default().push(index);
            if function.of_trait.as_deref().is_some_and(|it| ["Deref", "DerefMut"].contains(&it)) {
                derefs.extend(function.owner.clone());
            }
        }
        let structs = Structs::read(sources());
        let (rooms, known) = (rooms(&scopes), RefCell::default());
        Self { scopes, by_name, structs, derefs, rooms, known }
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
                let fitting = named.filter(|index| {
                    let function = &functions[*index];
                    let fits = arity.is_none() || function.arity() == *arity;
                    function.has_self() && fits && can_see(user.room(), function)
                });
                let fitting: Vec<usize> = fitting.collect();
                let on = on.as_ref().filter(|on| is_known_to(on, &fitting, functions));
                fitting.into_iter().filter(|it| self.receives(&functions[*it], on)).collect()
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
            // Unless one of ours takes an order of memory, too.
            Some(Hint::Foreign(name)) if name == ATOMIC => is_generic || function.takes("Ordering"),
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
        let [head, rest @ ..] = segments else { return BTreeSet::new() };
        if head == "Self" {
            let owner = user.owner.clone().unwrap_or_default();
            let mut search = Search::new(self, functions);
            search.look_up(user.room(), &[&[owner], rest].concat());
            return search.found;
        }
        let key = (user.source.path.clone(), segments.to_vec());
        let known = self.known.borrow().get(&key).cloned();
        let mut found = known.unwrap_or_else(|| {
            let mut search = Search::new(self, functions);
            search.follow(segments, &user.source.path, user.room());
            self.known.borrow_mut().insert(key, search.found.clone());
            search.found
        });
        if let (Some(name), true) = (rest.last(), user.has_parameter(head)) {
            let named = self.by_name.get(name).into_iter().flatten().copied();
            found.extend(named.filter(|index| functions[*index].of_trait.is_some()));
        }
        found
    }

    /// Whether a name is a type or module that a crate declares.
    pub(super) fn is_of_room(&self, name: &str, room: &str) -> bool {
        self.rooms.get(room).is_some_and(|room| room.declared.contains(name))
    }
}

/// Whether the traits of a receiver have such a method themselves; else it is of a trait behind them,
/// or of one that has another name here.
fn is_known_to(on: &Hint, fitting: &[usize], functions: &[Function<'_>]) -> bool {
    let Hint::Traits(traits) = on else { return true };
    let mut of = fitting.iter().filter_map(|index| functions[*index].of_trait.as_ref());
    of.any(|of| traits.contains(of))
}

/// What a crate declares and hands on, over all of its files.
#[derive(Default)]
struct Room {
    declared: BTreeSet<String>,
    /// Names and aliases, each with the file that has it and the path that it stands for there.
    handed_on: BTreeMap<String, Vec<(String, Vec<String>)>>,
}

fn rooms(scopes: &BTreeMap<&str, Scope>) -> BTreeMap<String, Room> {
    let mut rooms: BTreeMap<String, Room> = BTreeMap::new();
    for (path, scope) in scopes {
        let room = rooms.entry(path.split('/').nth(1).unwrap_or_default().to_owned()).or_default();
        room.declared.extend(scope.declared.iter().cloned());
        for (alias, target) in &scope.handed_on {
            let target = ((*path).to_owned(), target.clone());
            room.handed_on.entry(alias.clone()).or_default().push(target);
        }
    }
    rooms
}

/// The meaning of one path.
struct Search<'s, 'a> {
    names: &'s Names<'a>,
    functions: &'s [Function<'a>],
    found: BTreeSet<usize>,
    /// Crate, owner and name of what was looked up: renames may lead in circles.
    seen: BTreeSet<(String, Option<String>, String)>,
}

impl<'s, 'a> Search<'s, 'a> {
    fn new(names: &'s Names<'a>, functions: &'s [Function<'a>]) -> Self {
        Self { names, functions, found: BTreeSet::new(), seen: BTreeSet::new() }
    }

    /// Adds what a path means in a file.
    fn follow(&mut self, segments: &[String], file: &str, room: &str) {
        let Some((head, rest)) = segments.split_first() else { return };
        let Some(scope) = self.names.scopes.get(file) else { return };
        if let Some(paths) = scope.imports.get(head) {
            for path in paths {
                self.absolute(&[path, rest].concat(), room);
            }
        } else if is_rooted(head) {
            self.absolute(segments, room);
        } else {
            self.unimported(segments, file, room, scope);
        }
    }

    /// A name that no import binds: of this module, of a glob, a local one, or somebody else's.
    fn unimported(&mut self, segments: &[String], file: &str, room: &str, scope: &Scope) {
        let name = segments.last().cloned().unwrap_or_default();
        let named = self.names.by_name.get(&name).into_iter().flatten().copied();
        if scope.has_glob {
            self.found.extend(named);
        } else if segments.len() == 1 {
            let functions = self.functions;
            self.found.extend(named.filter(|index| {
                functions[*index].source.path == file && functions[*index].owner.is_none()
            }));
        } else if self.names.is_of_room(&segments[0], room) {
            self.look_up(room, segments);
        }
    }

    fn absolute(&mut self, path: &[String], room: &str) {
        let Some((head, rest)) = path.split_first() else { return };
        match head.as_str() {
            "crate" | "self" | "super" => self.absolute(rest, room),
            name if is_ours(name) => {
                let room = name.trim_start_matches(PREFIX).replace('_', "-");
                self.look_up(&room, rest);
            }
            // A module of the same crate, relative to the importing one.
            _ => self.look_up(room, path),
        }
    }

    /// What a crate means by a path: its own items, or what it hands on under that name. Of the path
    /// the last two names count.
    fn look_up(&mut self, room: &str, path: &[String]) {
        let Some((name, qualifiers)) = path.split_last() else { return };
        let owner = qualifiers.last();
        if !self.seen.insert((room.to_owned(), owner.cloned(), name.clone())) {
            return;
        }
        for index in self.names.by_name.get(name).into_iter().flatten() {
            let function = &self.functions[*index];
            let is_in = function.room() == room || layers::sees(function.room(), room);
            if is_in && is_called(function, owner.map(String::as_str), room) {
                self.found.insert(*index);
            }
        }
        let Some(handed_on) = self.names.rooms.get(room).map(|room| &room.handed_on) else {
            return;
        };
        for (file, target) in owner.and_then(|owner| handed_on.get(owner)).into_iter().flatten() {
            self.follow(&[target.as_slice(), std::slice::from_ref(name)].concat(), file, room);
        }
        if owner.is_none_or(|owner| !is_type_name(owner)) {
            for (file, target) in handed_on.get(name).into_iter().flatten() {
                self.follow(target, file, room);
            }
        }
    }
}

/// A path that starts like this says itself where it leads.
pub(super) fn is_rooted(head: &str) -> bool {
    ["crate", "self", "super"].contains(&head) || is_ours(head)
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
