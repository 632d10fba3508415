//! The meaning of one path: through imports, renames and re-exports to the functions of its name.

use std::collections::{BTreeMap, BTreeSet};

use super::functions::Function;
use super::resolve::Names;
use super::scope::Scope;
use crate::layers;

const PREFIX: &str = "graphwrite_";
/// Renames that go on growing are circles.
const LENGTH_MAX: usize = 8;

/// What a crate declares and hands on, over all of its files.
#[derive(Default)]
pub(super) struct Room {
    pub(super) declared: BTreeSet<String>,
    /// Names and aliases, each with the file that has it and the path that it stands for there.
    handed_on: BTreeMap<String, Vec<(String, Vec<String>)>>,
}

pub(super) fn rooms(scopes: &BTreeMap<&str, Scope>) -> BTreeMap<String, Room> {
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
pub(super) struct Search<'s, 'a> {
    names: &'s Names<'a>,
    functions: &'s [Function<'a>],
    pub(super) found: BTreeSet<usize>,
    /// What was looked up, by crate: renames may lead in circles.
    seen: BTreeSet<(String, Vec<String>)>,
}

impl<'s, 'a> Search<'s, 'a> {
    pub(super) fn new(names: &'s Names<'a>, functions: &'s [Function<'a>]) -> Self {
        Self { names, functions, found: BTreeSet::new(), seen: BTreeSet::new() }
    }

    /// Adds what a path means in a file.
    pub(super) fn follow(&mut self, segments: &[String], file: &str, room: &str) {
        let Some((head, rest)) = segments.split_first() else { return };
        let Some(scope) = self.names.scopes.get(file) else { return };
        if is_rooted(head) {
            return self.absolute(segments, room);
        }
        for path in scope.imports.get(head).into_iter().flatten() {
            self.absolute(&[path, rest].concat(), room);
        }
        // An inner module may mean its own by a name that the file imports.
        self.unimported(segments, file, room, scope);
    }

    /// A name without its imports: of this file, of a glob, a local one, or somebody else's.
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

    /// What a crate means by a path: its own items, by the last two names, or what it hands on under
    /// one of the names.
    pub(super) fn look_up(&mut self, room: &str, path: &[String]) {
        let Some((name, qualifiers)) = path.split_last() else { return };
        if path.len() > LENGTH_MAX || !self.seen.insert((room.to_owned(), path.to_vec())) {
            return;
        }
        let owner = qualifiers.last().map(String::as_str);
        for index in self.names.by_name.get(name).into_iter().flatten() {
            let function = &self.functions[*index];
            let is_in = function.room() == room || layers::sees(function.room(), room);
            if is_in && is_called(function, owner, room) {
                self.found.insert(*index);
            }
        }
        let Some(handed_on) = self.names.rooms.get(room).map(|room| &room.handed_on) else {
            return;
        };
        for (at, alias) in path.iter().enumerate() {
            let is_method = at > 0 && at + 1 == path.len() && is_type_name(&path[at - 1]);
            for (file, target) in handed_on.get(alias).into_iter().flatten().filter(|_| !is_method)
            {
                self.follow(&[target, &path[at + 1..]].concat(), file, room);
            }
        }
    }
}

/// A path that starts like this says itself where it leads.
pub(super) fn is_rooted(head: &str) -> bool {
    ["crate", "self", "super"].contains(&head) || is_ours(head)
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

fn is_ours(name: &str) -> bool {
    name.starts_with(PREFIX)
}

fn is_type_name(name: &str) -> bool {
    name.starts_with(char::is_uppercase)
}
