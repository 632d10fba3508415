//! Deletion of a branch: one create-only record, whatever state the branch's data is in. What is left of
//! it is reclaimed later; children that were forked from it go on.

use std::sync::Arc;

use graphwrite_gates::{GateMode, GateSet};
use graphwrite_manifest::Manifest;
use graphwrite_protocol_types::{
    BranchName, BranchSelector, GraphHeadToken, NameDeleted, NativeBranch, Purpose,
};
use graphwrite_substrate::{NameLook, RecordPut};

use super::resend::put_record;
use super::settle::settled;
use super::source::meant_by;
use crate::BranchError;
use crate::core::Core;
use crate::orphans::discard_behind;

/// A branch to be deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeleteBranch {
    /// Its name.
    pub name: BranchName,
    /// Who asks.
    pub actor: String,
    /// The head that the branch must have; one with any other is not deleted. It is looked at directly
    /// before the record, and held by nothing: what another process publishes in between is lost with
    /// the branch, as by every deletion.
    pub expect_head: Option<GraphHeadToken>,
}

/// Deletes the incarnation that the name means now. Returns its native branch, where its record can be
/// understood.
pub(crate) async fn delete(
    core: &Arc<Core>,
    request: &DeleteBranch,
) -> Result<Option<NativeBranch>, BranchError> {
    if core.purpose == Purpose::Read {
        return Err(BranchError::ReadOnly);
    }
    let name = &request.name;
    let look = settled(core, name).await?;
    let Some(number) = look.listing.highest().map(|(number, _)| number) else {
        return Err(absent(name));
    };
    if !look.state().rights().delete {
        return Err(absent(name));
    }
    let native = look.live().map(|live| live.token.native);
    // Writers of this process end first, or are told at once; those of others find the record when
    // they have published.
    let _held = match &native {
        Some(native) => {
            let gates = GateSet::new()
                .with_schema(GateMode::Shared)
                .with_branch(native.as_str(), GateMode::Exclusive);
            let reason = format!("deletion of branch {name}");
            Some(core.gates.acquire(gates, &reason, core.options.gate_wait_max).await?)
        }
        None => None,
    };
    if let Some(expected) = request.expect_head {
        expect(core, &look, expected).await?;
    }
    let deleted = NameDeleted {
        name: name.clone(),
        number,
        by: core.options.process.instance(),
        actor: request.actor.clone(),
        deleted_at_unix_us: core.options.env.unix_micros(),
    };
    put(core, &deleted, &look).await?;
    if let Some(native) = &native {
        discard_behind(core, native.clone());
    }
    Ok(native)
}

/// Fails unless the head of the branch is the expected one now. What cannot be read has no head.
async fn expect(core: &Core, look: &NameLook, expected: GraphHeadToken) -> Result<(), BranchError> {
    let (live, env) = (meant_by(look)?, Arc::clone(&core.options.env));
    let fresh = Box::pin(Manifest::open_branch(&core.store, env, &live, Purpose::Read)).await?;
    let found = fresh.known_state().base().graph_head;
    if found == expected {
        return Ok(());
    }
    Err(BranchError::Moved { name: look.name.clone(), expected: expected.0, found: found.0 })
}

async fn put(core: &Core, deleted: &NameDeleted, look: &NameLook) -> Result<(), BranchError> {
    match put_record(&look.name, || core.names.put_deleted(deleted)).await? {
        RecordPut::Written => Ok(()),
        RecordPut::Taken(stands) if *stands == *deleted => Ok(()),
        // Another has deleted the same incarnation.
        RecordPut::Taken(_) => Err(absent(&look.name)),
        RecordPut::Unknown(cause) => Err(BranchError::OutcomeUnknown {
            name: look.name.clone(),
            doing: "deleted",
            cause: cause.to_string(),
        }),
    }
}

fn absent(name: &BranchName) -> BranchError {
    BranchError::NoSuchBranch { name: BranchSelector::Named(name.clone()) }
}
