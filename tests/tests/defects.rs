//! The harness can fail: each rule of the protocol is taken out of the real code, and a layer of the
//! harness complains, while the very same run of the code as it is gives no cause (docs/defects.md).

mod branches;
mod catalogue;
mod commits;
mod histories;
mod merges;
mod read_sets;
mod recovery;
mod writers;

use graphwrite_protocol_types::Defect;

use crate::crash::scenario::{Scenario, Stage};
use crate::judge::{Complaint, Promise, tell};

/// Runs a cell of the code as it is, which keeps every promise, and of a build with `defect`, which
/// must break this one.
async fn found_out(
    scenario: Scenario,
    defect: Defect,
    promise: Promise,
    cell: impl AsyncFn(&Stage) -> Result<(), Complaint>,
) {
    let stage = Stage::of(scenario).await;
    cell(&stage).await.expect("the code as it is keeps every promise");
    let broken = cell(&planted(stage, defect)).await.expect_err("a complaint");
    tell(&format!("{}, found out: {:?}", defect.name(), broken.promise));
    assert_eq!(broken.promise, promise, "{broken:?}");
}

/// The same stage, on which every process is of a build with `defect`.
fn planted(stage: Stage, defect: Defect) -> Stage {
    Stage { base: stage.base.with_defect(defect), ..stage }
}
