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
            let grants = reached.iter().filter_map(|index| self.functions[index].grants());
            let now: BTreeSet<String> = grants.collect();
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
        granted: &BTreeSet<String>,
    ) -> Reached {
        let mut reached = Reached::default();
        let mut open: VecDeque<usize> = roots.iter().copied().collect();
        reached.from.extend(roots.iter().map(|root| (*root, None)));
        while let Some(function) = open.pop_front() {
            if cut.contains(&function) {
                continue;
            }
            for next in self.callees(function) {
                if reached.contains(*next) || !self.functions[*next].is_open_to(granted) {
                    continue;
                }
                reached.from.insert(*next, Some(function));
                open.push_back(*next);
            }
        }
        reached
    }
}

impl Function<'_> {
    /// The right that a call of this function makes.
    fn grants(&self) -> Option<String> {
        let owner = self.owner.clone()?;
        (self.name == GRANT && RIGHTS.iter().any(|(right, _)| *right == owner)).then_some(owner)
    }

    fn is_open_to(&self, granted: &BTreeSet<String>) -> bool {
        let opened = |right: &str| {
            let makers = RIGHTS.iter().find(|(name, _)| *name == right).map(|(_, makers)| *makers);
            makers.is_none_or(|makers| makers.iter().any(|maker| granted.contains(*maker)))
        };
        self.rights().iter().all(|right| opened(right))
    }

    /// The rights that a caller must show.
    fn rights(&self) -> Vec<String> {
        let Some(signature) = self.signature else { return Vec::new() };
        let inputs = signature.inputs.iter().filter_map(|input| match input {
            syn::FnArg::Receiver(_) => self.owner.clone(),
            syn::FnArg::Typed(input) => by_value(&input.ty),
        });
        inputs.filter(|name| RIGHTS.iter().any(|(right, _)| right == name)).collect()
    }
}

/// The type of a parameter that cannot be left out: no `Option`.
fn by_value(ty: &syn::Type) -> Option<String> {
    match ty {
        syn::Type::Reference(reference) => by_value(&reference.elem),
        syn::Type::Path(path) if last(&path.path) != "Option" => type_path(ty).map(last),
        _ => None,
    }
}
