//! One screen about a graph, gathered from the newest state: the branch of the handle closely, all others
//! in a few numbers. Reads only.

use std::sync::Arc;

use futures::future::{join_all, try_join_all};
use graphwrite_protocol_types::{AttemptId, LiveHead, NativeBranch, Pin};
use graphwrite_recovery::BlockingObject;
use graphwrite_schema::TypeDef;
use graphwrite_substrate::{IntentError, head};

use crate::core::Core;
use crate::report::{PendingAge, StatusReport, TableStatus};
use crate::whole::Whole;
use crate::{ReadError, Snapshot};

pub(crate) async fn status(core: &Arc<Core>) -> Result<StatusReport, ReadError> {
    let state = core.manifest.state().await?;
    let snapshot = Snapshot::new(core.store.clone(), state.clone())?;
    let schema = Arc::clone(snapshot.schema());
    let tables = schema.types().iter().map(|declared| table_status(core, &snapshot, declared));
    let mut tables = join_all(tables).await;
    tables.sort_by(|a, b| a.name.cmp(&b.name));
    let base = state.base();
    let left = left(core, &base.branch.native).await?;
    let whole = Whole::of(core).await?;
    Ok(StatusReport {
        root: core.store.canonical_root().to_owned(),
        domain: state.domain(),
        stamp: state.stamp().clone(),
        schema: base.schema.0,
        branch: base.branch.name.clone(),
        head: base.graph_head.0,
        manifest_version: state.version(),
        tables,
        pending: left.pending,
        blocking: left.blocking,
        garbage: whole.garbage,
        branches: whole.branches,
        waiting: whole.waiting,
        orphans: whole.orphans,
        activity: core.counters.read(),
    })
}

/// What is left of earlier writes.
#[derive(Default)]
struct Left {
    pending: Vec<PendingAge>,
    blocking: Vec<BlockingObject>,
}

/// The armed intents, with the age that each has by its own record. One that cannot be read is
/// pending too, and stops the writes of others.
async fn left(core: &Core, branch: &NativeBranch) -> Result<Left, ReadError> {
    let listing = core.intents.list(branch).await?;
    let foreign = listing.foreign.into_iter().map(|foreign| foreign.entry.path);
    let mut left =
        Left { blocking: foreign.map(BlockingObject::foreign).collect(), ..Left::default() };
    let armed = listing.attempts.iter().filter(|(_, records)| records.intent.is_some());
    let reads = armed.map(|(attempt, _)| read_age(core, branch, *attempt));
    for (pending, blocking) in try_join_all(reads).await? {
        left.pending.extend(pending);
        left.blocking.extend(blocking);
    }
    Ok(left)
}

type Age = (Option<PendingAge>, Option<BlockingObject>);

async fn read_age(
    core: &Core,
    branch: &NativeBranch,
    attempt: AttemptId,
) -> Result<Age, ReadError> {
    let pending = |age_ms| Some(PendingAge { attempt, age_ms });
    match core.intents.intent(branch, attempt).await {
        Ok(Some(intent)) => {
            let now_unix_us = core.options.env.unix_micros();
            let age_us = now_unix_us.saturating_sub(intent.armed_at_unix_us);
            Ok((pending(Some(age_us / 1_000)), None))
        }
        // It was ended since it was listed.
        Ok(None) => Ok((None, None)),
        Err(IntentError::Unusable { path, cause }) => {
            Ok((pending(None), Some(BlockingObject::unreadable(path, attempt, &cause))))
        }
        Err(error) => Err(error.into()),
    }
}

/// One table's trouble is told beside it and hides no other table.
async fn table_status(core: &Core, snapshot: &Snapshot, declared: &TypeDef) -> TableStatus {
    let live = snapshot.head(declared);
    let status = TableStatus {
        name: declared.name.clone(),
        kind: if declared.is_node() { "node" } else { "edge" },
        rows: None,
        version: live.map(|live| live.pin.version),
        head_is_pinned: true,
        unreadable: None,
    };
    let Some(live) = live else { return status };
    match read_table(core, snapshot, live, &declared.name).await {
        Ok((rows, head_is_pinned)) => TableStatus { rows: Some(rows), head_is_pinned, ..status },
        Err(error) => TableStatus { unreadable: Some(error.to_string()), ..status },
    }
}

async fn read_table(
    core: &Core,
    snapshot: &Snapshot,
    live: &LiveHead,
    name: &str,
) -> Result<(u64, bool), ReadError> {
    let rows = snapshot.table(name).await?.count_rows().await?;
    Ok((rows, newest(core, live).await?.as_ref() == Some(&live.pin)))
}

/// HEAD of the ref of a live head.
pub(crate) async fn newest(core: &Core, live: &LiveHead) -> Result<Option<Pin>, ReadError> {
    let found = head(&core.store, live.path.as_str(), &live.physical_ref).await?;
    Ok(found.map(|found| found.pin()))
}
