//! What must hold of cleanup in every state.

use stateright::Property;

use super::actors::{Cleaner, Reacher};
use super::{Cleanup, State};

/// Every property.
pub(crate) fn all() -> Vec<Property<Cleanup>> {
    vec![
        Property::always("what is counted on is there", |_: &Cleanup, state: &State| {
            !state.reachers.contains(&Reacher::Counts) || state.store.version_exists
        }),
        Property::always(
            "one process alone completes every plan",
            |model: &Cleanup, state: &State| completes(model, state),
        ),
        Property::sometimes("a version goes", |_: &Cleanup, state: &State| {
            !state.store.version_exists
        }),
        Property::sometimes(
            "a plan keeps a version that is counted on",
            |_: &Cleanup, state: &State| {
                let kept =
                    |plan: &super::records::Plan| plan.is_done && plan.verdict == Some(false);
                state.reachers.contains(&Reacher::Counts) && state.store.plans.iter().any(kept)
            },
        ),
        Property::sometimes("a fork gives way to a plan", |_: &Cleanup, state: &State| {
            state.store.version_exists && state.reachers.contains(&Reacher::Over)
        }),
    ]
}

/// A new process takes up the plan that is open, and after it there is none.
fn completes(model: &Cleanup, state: &State) -> bool {
    let (mut store, mut cleaner) = (state.store.clone(), Cleaner::Lists);
    for _ in 0..16 {
        if store.open_plan().is_none() {
            return true;
        }
        cleaner = cleaner.next(model.defect, &mut store);
    }
    false
}
