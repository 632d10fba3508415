//! One screen about a graph, gathered from the newest state. Reads only.

use std::sync::Arc;

use futures::future::try_join_all;
use graphwrite_protocol_types::{LiveHead, Pin};
use graphwrite_schema::TypeDef;
use graphwrite_substrate::head;

use crate::core::Core;
use crate::report::{StatusReport, TableStatus};
use crate::tree::unnamed_objects;
use crate::{ReadError, Snapshot};

pub(crate) async fn status(core: &Arc<Core>) -> Result<StatusReport, ReadError> {
    let state = core.manifest.state().await?;
    let snapshot = Snapshot::new(core.store.clone(), state.clone())?;
    let schema = Arc::clone(snapshot.schema());
    let tables = schema.types().iter().map(|declared| table_status(core, &snapshot, declared));
    let mut tables = try_join_all(tables).await?;
    tables.sort_by(|a, b| a.name.cmp(&b.name));
    let base = state.base();
    let pending = core.intents.list(&base.branch.native).await?;
    Ok(StatusReport {
        root: core.store.canonical_root().to_owned(),
        domain: state.domain(),
        stamp: state.stamp().clone(),
        schema: base.schema.0,
        branch: base.branch.name.clone(),
        head: base.graph_head.0,
        manifest_version: state.version(),
        tables,
        pending: pending.attempts.values().filter(|records| records.intent.is_some()).count(),
        garbage: unnamed_objects(core, &state).await?,
    })
}

async fn table_status(
    core: &Core,
    snapshot: &Snapshot,
    declared: &TypeDef,
) -> Result<TableStatus, ReadError> {
    let kind = if declared.is_node() { "node" } else { "edge" };
    let name = declared.name.clone();
    let Some(live) = snapshot.head(declared) else {
        return Ok(TableStatus { name, kind, rows: None, version: None, head_is_pinned: true });
    };
    let rows = snapshot.table(&declared.name).await?.count_rows().await?;
    Ok(TableStatus {
        name,
        kind,
        rows: Some(rows),
        version: Some(live.pin.version),
        head_is_pinned: newest(core, live).await?.as_ref() == Some(&live.pin),
    })
}

/// HEAD of the ref of a live head.
pub(crate) async fn newest(core: &Core, live: &LiveHead) -> Result<Option<Pin>, ReadError> {
    let found = head(&core.store, live.path.as_str(), &live.physical_ref).await?;
    Ok(found.map(|found| Pin { version: found.version, tx_uuid: found.tx_uuid }))
}
