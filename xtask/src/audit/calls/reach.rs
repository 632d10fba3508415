//! What can be reached from a set of functions. A function that takes a right is entered only once
//! something that grants the right was reached: rights cannot be made in another way.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::{Calls, Function};
use crate::audit::names::{last, type_path};

/// The types that carry a right, with the functions that make a value of them.
const RIGHTS: [(&str, &[&str]); 3] = [
    ("Full", &["Full"]),
    ("RollForward", &["RollForward"]),
    ("Publishing", &["Full", "RollForward"]),
];
/// The function of a right's type that grants it.
const GRANT: &str = "granted";

/// What was reached, and from where.
#[derive(Debug, Default)]
pub(crate) struct Reached {
    from: BTreeMap<usize, Option<usize>>,
}

impl Reached {
    pub(crate) fn contains(&self, function: usize) -> bool {
        self.from.contains_key(&function)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = usize> {
        self.from.keys().copied()
    }

    /// The functions on the way to `function`, first to last.
    pub(crate) fn way(&self, function: usize) -> Vec<usize> {
        let mut way = vec![function];
        while let Some(Some(before)) = way.last().and_then(|last| self.from.get(last)) {
            way.push(*before);
        }
        way.reverse();
        way
    }
}

impl Calls<'_> {
    /// Everything that `roots` reach without going through `cut`.
    pub(crate) fn reach(&self, roots: &BTreeSet<usize>, cut: &BTreeSet<usize>) -> Reached {
        let mut granted = BTreeSet::new();
        loop {
            let reached = self.reach_with(roots, cut, &granted);
            let grants = reached.iter().filter_map(|index| self.rights[index].granted);
            let now: BTreeSet<&str> = grants.collect();
            if now == granted {
                return reached;
            }
            granted = now;
        }
    }

    fn reach_with(
        &self,
        roots: &BTreeSet<usize>,
        cut: &BTreeSet<usize>,
        granted: &BTreeSet<&str>,
    ) -> Reached {
        let mut reached = Reached::default();
        let mut open: VecDeque<usize> = roots.iter().copied().collect();
        reached.from.extend(roots.iter().map(|root| (*root, None)));
        while let Some(function) = open.pop_front() {
            if cut.contains(&function) {
                continue;
            }
            for next in self.callees(function) {
                if reached.contains(*next) || !self.rights[*next].are_among(granted) {
                    continue;
                }
                reached.from.insert(*next, Some(function));
                open.push_back(*next);
            }
        }
        reached
    }
}

/// What a function has to do with rights.
pub(super) struct Rights {
    /// For each that a caller must show, the ones that bring it along.
    shown: Vec<&'static [&'static str]>,
    /// The right that a call makes.
    granted: Option<&'static str>,
}

impl Rights {
    pub(super) fn of(function: &Function<'_>) -> Self {
        let known = |name: &str| RIGHTS.iter().find(|(right, _)| *right == name);
        let inputs = function.signature.iter().flat_map(|signature| &signature.inputs);
        let types = inputs.filter_map(|input| match input {
            syn::FnArg::Receiver(_) => function.owner.clone(),
            syn::FnArg::Typed(input) => always(&input.ty),
        });
        let shown = types.filter_map(|name| known(&name)).map(|(_, makers)| *makers).collect();
        let owner = function.owner.as_deref().filter(|_| function.name == GRANT);
        Self { shown, granted: owner.and_then(known).map(|(right, _)| *right) }
    }

    fn are_among(&self, granted: &BTreeSet<&str>) -> bool {
        self.shown.iter().all(|makers| makers.iter().any(|maker| granted.contains(maker)))
    }
}

/// The type of a parameter that cannot be left out: no `Option`.
fn always(ty: &syn::Type) -> Option<String> {
    match ty {
        syn::Type::Reference(reference) => always(&reference.elem),
        syn::Type::Path(path) if last(&path.path) != "Option" => type_path(ty).map(last),
        _ => None,
    }
}
