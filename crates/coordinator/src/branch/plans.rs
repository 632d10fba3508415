//! The plan check of design 01 section 9: whoever makes anything but a current head reachable writes
//! its record first and then lists the plans of maintenance that are not carried out.

use std::collections::BTreeSet;

use graphwrite_substrate::StoreError;

use crate::core::Core;

const DIRECTORY: &str = "_control/cleanup";

/// The first plan without a `done`; none when nothing is planned. One LIST. What a plan names is not
/// asked: any open one may name what is to be made reachable.
pub(crate) async fn open_plan(core: &Core) -> Result<Option<String>, StoreError> {
    let objects = core.store.list(DIRECTORY).await?;
    let done: BTreeSet<&str> =
        objects.iter().filter_map(|object| object.path.strip_suffix(".done")).collect();
    let mut plans = objects.iter().filter_map(|object| object.path.strip_suffix(".plan"));
    Ok(plans.find(|plan| !done.contains(plan)).map(|plan| format!("{plan}.plan")))
}
