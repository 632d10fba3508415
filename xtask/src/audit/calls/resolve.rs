//! From a mention to the functions that it may mean. Paths are followed through imports, renames
//! and re-exports; a method whose receiver is not certain means every method of its name that the
//! crate can see. In doubt there is an edge.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use super::functions::Function;
use super::hints::Hint;
use super::mentions::{ANY, ATOMIC, Mention};
use super::scope::Scope;
use super::search::{Room, Search, rooms};
use super::types::Structs;
use crate::layers;
use crate::tree::Tree;

/// A path, and the file that has it.
type PathIn = (String, Vec<String>);

/// What the names of the workspace mean.
pub(crate) struct Names<'a> {
    pub(super) scopes: BTreeMap<&'a str, Scope>,
    pub(super) by_name: BTreeMap<String, Vec<usize>>,
    pub(super) structs: Structs<'a>,
    /// Types whose receivers may stand for another type.
    derefs: BTreeSet<String>,
    pub(super) rooms: BTreeMap<String, Room>,
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
        let is_any = |owner: &str| owner.is_empty() || function.has_parameter(owner);
        let is_generic = of_trait.is_some() && (owner == of_trait || owner.is_none_or(is_any));
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
        if head == "Self" && rest.len() < 2 {
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
        // A type that the path does not name: a parameter, or an associated type.
        let is_open = head == ANY || rest.len() > 1 && (head == "Self" || user.has_parameter(head));
        if let (Some(name), true) = (rest.last(), is_open || user.has_parameter(head)) {
            let named = self.by_name.get(name).into_iter().flatten().copied();
            found.extend(named.filter(|it| is_open || functions[*it].of_trait.is_some()));
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

/// A constant is never called; a function that is named may be called later.
fn fits_call(function: &Function<'_>, arity: Option<usize>) -> bool {
    match (arity, function.arity()) {
        (Some(given), Some(taken)) => given == taken + usize::from(function.has_self()),
        _ => true,
    }
}

/// A method can be called on what the crate sees, or through a trait that it sees.
fn can_see(room: &str, function: &Function<'_>) -> bool {
    room == function.room() || layers::sees(room, function.room()) || function.of_trait.is_some()
}
