//! The call graph of the workspace, computed from the sources: who mentions whom, by name and path,
//! rather one edge too many than one too few. It knows no protocol.

mod functions;
mod hints;
mod mentions;
mod reach;
mod resolve;
mod scope;
mod search;
mod types;

use std::collections::{BTreeMap, BTreeSet};

use crate::tree::Tree;

pub(crate) use functions::Function;
pub(crate) use mentions::{Mention, in_tokens};
pub(crate) use reach::Reached;
use reach::Rights;
use resolve::Names;

/// A variant of an enum whose match arm is followed apart from the function that it is in.
pub(crate) type Variant = (String, String);

/// Every function, constant and separated match arm, and the edges between them.
pub(crate) struct Calls<'a> {
    pub(crate) functions: Vec<Function<'a>>,
    edges: Vec<BTreeSet<usize>>,
    rights: Vec<Rights>,
    places: BTreeMap<String, Vec<usize>>,
}

impl<'a> Calls<'a> {
    /// Reads the graph of all that is not a test. Arms of `apart` are nodes of their own.
    pub(crate) fn read(tree: &'a Tree, apart: &BTreeSet<Variant>) -> Self {
        let functions = functions::collect(tree, apart);
        let names = Names::read(tree, &functions);
        let edges = functions.iter().map(|function| {
            let mentions = mentions::of(function, &names, apart);
            mentions.iter().flat_map(|it| names.resolve(it, function, &functions)).collect()
        });
        let edges = edges.collect();
        let rights = functions.iter().map(Rights::of).collect();
        let mut places: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (index, function) in functions.iter().enumerate() {
            places.entry(function.place()).or_default().push(index);
        }
        Self { functions, edges, rights, places }
    }

    /// The functions that a test of their description selects.
    pub(crate) fn select(&self, is_meant: impl Fn(&Function<'a>) -> bool) -> BTreeSet<usize> {
        (0..self.functions.len()).filter(|index| is_meant(&self.functions[*index])).collect()
    }

    /// The functions that are declared at a place.
    pub(crate) fn at(&self, place: &str) -> BTreeSet<usize> {
        self.places.get(place).into_iter().flatten().copied().collect()
    }

    /// The functions from which one of `targets` can be reached, whatever right that takes.
    pub(crate) fn leading_to(&self, targets: &BTreeSet<usize>) -> BTreeSet<usize> {
        let mut leading = targets.clone();
        loop {
            let leads = |edges: &BTreeSet<usize>| edges.iter().any(|it| leading.contains(it));
            let indices = self.edges.iter().enumerate();
            let found: BTreeSet<usize> =
                indices.filter(|(_, edges)| leads(edges)).map(|(index, _)| index).collect();
            if found.is_subset(&leading) {
                return leading;
            }
            leading.extend(found);
        }
    }

    /// What `function` mentions.
    pub(crate) fn callees(&self, function: usize) -> &BTreeSet<usize> {
        &self.edges[function]
    }
}
