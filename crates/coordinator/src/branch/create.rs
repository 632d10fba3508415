//! Creation of a branch, top to bottom (design 01 section 8): barrier, gates, beginning, revalidated
//! source, the two phases of the native branch, decision, and one more look before the answer. The
//! decision is the visibility point; before it nothing can be named, after it nothing is missing.

use std::sync::Arc;

use graphwrite_gates::{GateMode, GateSet};
use graphwrite_manifest::NativeFork;
use graphwrite_protocol_types::{
    AttemptId, BranchName, BranchSelector, BranchToken, CommitId, Defect, Failpoint, Footprint,
    ForkPoint, Full, NameBegun, NameDecided, NameVerdict, Purpose, RecoveryMode,
};
use graphwrite_recovery::BarrierOutcome;
use graphwrite_substrate::{Cloning, ForkCheck, PutOutcome, ReadyFork, RecordPut};

use super::clear::next_number;
use super::describe::BranchInfo;
use super::plans::open_plan;
use super::resend::{RESENDS_MAX, put_record};
use super::settle::settled;
use super::source::ForkSource;
use crate::BranchError;
use crate::core::Core;
use crate::port::Port;

/// What a branch starts with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BranchFrom {
    /// The newest state of a branch.
    Head(BranchSelector),
    /// A commit in the line of any branch.
    Commit(CommitId),
}

/// A branch to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateBranch {
    /// Its name.
    pub name: BranchName,
    /// What it starts with.
    pub from: BranchFrom,
    /// Who asks.
    pub actor: String,
}

/// Makes a branch, in a task of its own: a caller that goes away leaves no undecided name.
pub(crate) async fn create(
    core: &Arc<Core>,
    request: CreateBranch,
) -> Result<BranchInfo, BranchError> {
    if core.purpose == Purpose::Read {
        return Err(BranchError::ReadOnly);
    }
    let (own, name, at_work) = (Arc::clone(core), request.name.clone(), core.background.enter());
    let task = tokio::spawn(async move {
        let made = Box::pin(creations(&own, &request)).await;
        drop(at_work);
        made
    });
    task.await.unwrap_or_else(|gone| {
        Err(BranchError::OutcomeUnknown { name, doing: "created", cause: gone.to_string() })
    })
}

async fn creations(core: &Arc<Core>, request: &CreateBranch) -> Result<BranchInfo, BranchError> {
    let name = &request.name;
    let gates = GateSet::new()
        .with_schema(GateMode::Shared)
        .with_branch(&gate_of(name), GateMode::Exclusive);
    let _held = core.gates.acquire(
        gates,
        &format!("creation of branch {name}"),
        core.options.gate_wait_max,
    );
    let _held = _held.await?;
    for _ in 0..=core.options.restarts_max {
        if let Some(made) = creation(core, request).await? {
            return Ok(made);
        }
    }
    let attempts = core.options.restarts_max + 1;
    Err(BranchError::RetriesExhausted { name: name.clone(), attempts })
}

/// The gate that creations of one name queue at; no native branch has such a name.
fn gate_of(name: &BranchName) -> String {
    format!("name/{name}")
}

/// None when another has begun the same number.
async fn creation(
    core: &Arc<Core>,
    request: &CreateBranch,
) -> Result<Option<BranchInfo>, BranchError> {
    let id = match core.store.has(Defect::NativeNameReused) {
        true => AttemptId::from_u128(1),
        false => AttemptId::mint(core.options.env.as_ref()),
    };
    let _live = core.options.process.enter(id);
    let (is_there, cleared, source, look) = tokio::join!(
        refuse_deleted(core, &request.from),
        clear_the_way(core),
        ForkSource::capture(core, &request.from),
        settled(core, &request.name),
    );
    is_there?;
    cleared?;
    let (number, source) = (next_number(&look?)?, source?);
    let begun = NameBegun {
        name: request.name.clone(),
        number,
        attempt: id,
        fork: source.fork.clone(),
        owner: core.options.process.owner(),
        actor: request.actor.clone(),
        begun_at_unix_us: core.options.env.unix_micros(),
    };
    match begin(core, &begun).await? {
        Begun::Ours => {}
        Begun::Others => return Ok(None),
    }
    let made = Box::pin(make(core, &begun, &source)).await;
    match made {
        Ok(()) => Box::pin(decide(core, &begun)).await.map(Some),
        Err(BranchError::Injected(injected)) => Err(injected.into()),
        Err(error) => {
            give_up(core, &begun, &error).await;
            Err(error)
        }
    }
}

/// Nothing is made by a handle whose branch is deleted. Of the head of its own branch it is asked when
/// that is captured.
async fn refuse_deleted(core: &Core, from: &BranchFrom) -> Result<(), BranchError> {
    match from {
        BranchFrom::Head(source) if source.to_string() == core.branch().name => Ok(()),
        _ => Ok(core.refuse_deleted().await?),
    }
}

/// The recovery barrier of the branch that is open. A creation touches no table, so that it waits for
/// nobody; a record that cannot be understood stops it like every other change.
async fn clear_the_way(core: &Arc<Core>) -> Result<(), BranchError> {
    let (port, mode) = (Port::new(core), RecoveryMode::Full(Full::granted()));
    let footprint = Footprint::default();
    let (process, waits) = (core.options.process.as_ref(), &core.options.waits);
    let run = graphwrite_recovery::run(&port, &mode, Some(&footprint), process, waits);
    match Box::pin(run).await?.outcome {
        BarrierOutcome::Blocked(object) => Err(BranchError::Blocked(object)),
        _ => Ok(()),
    }
}

enum Begun {
    Ours,
    Others,
}

async fn begin(core: &Core, begun: &NameBegun) -> Result<Begun, BranchError> {
    match put_record(&begun.name, || core.names.put_begun(begun)).await? {
        RecordPut::Written => {}
        RecordPut::Taken(stands) if *stands == *begun => {}
        RecordPut::Taken(_) => return Ok(Begun::Others),
        // If it stands, its owner is not at work on it, and the next who needs the name decides.
        RecordPut::Unknown(cause) => return Err(cause.into()),
    }
    core.options.hooks.reach(Failpoint::BranchPostBegin).await?;
    Ok(Begun::Ours)
}

/// The source as it is now that the beginning is durable. The version of a head may be opened at once:
/// maintenance leaves heads alone. Any other is opened only after the plans are listed: one that is
/// not among them has either deleted what it names already, or sees the beginning when it looks for
/// what must stay (design 01 section 9).
async fn revalidated(
    core: &Core,
    begun: &NameBegun,
    source: &ForkSource,
    native: &NativeFork,
) -> Result<Box<ReadyFork>, BranchError> {
    if core.store.has(Defect::SourceNotRevalidated) {
        return ready(begun, native.check(&core.store).await?);
    }
    if source.was_head() {
        let (is_head, check) = tokio::join!(source.is_still_head(core), native.check(&core.store));
        if is_head? {
            return ready(begun, check?);
        }
    }
    if let Some(plan) = open_plan(core).await? {
        return Err(BranchError::CleanupPending { plan });
    }
    ready(begun, native.check(&core.store).await?)
}

fn ready(begun: &NameBegun, check: ForkCheck) -> Result<Box<ReadyFork>, BranchError> {
    match check {
        ForkCheck::Ready(ready) => Ok(ready),
        ForkCheck::SourceGone { .. } => Err(BranchError::SourceGone { name: begun.name.clone() }),
    }
}

/// Both phases of the native branch, over a source that still is what it was.
async fn make(core: &Core, begun: &NameBegun, source: &ForkSource) -> Result<(), BranchError> {
    let native = NativeFork::of_begun(begun);
    let ready = revalidated(core, begun, source, &native).await?;
    let mut resends = 0;
    let cloned = loop {
        match Box::pin(native.clone_source(&core.store, &ready)).await? {
            Cloning::Cloned(cloned) => break cloned,
            Cloning::Unknown(_) if resends < RESENDS_MAX => resends += 1,
            Cloning::Unknown(cause) => return Err(unsent(core, cause)),
        }
    };
    core.options.hooks.reach(Failpoint::BranchPostClone).await?;
    if core.store.has(Defect::BranchDecidedEarly) {
        Box::pin(decide(core, begun)).await?;
    }
    loop {
        match native.write_contents(&core.store, &cloned).await? {
            PutOutcome::Created | PutOutcome::AlreadyExists => break,
            PutOutcome::Unknown(_) if resends < RESENDS_MAX => resends += 1,
            PutOutcome::Unknown(cause) => return Err(cause.into()),
        }
    }
    core.options.hooks.reach(Failpoint::BranchPostContents).await?;
    Ok(())
}

/// A phase whose fate is open means nothing: the name is decided void, and what lands late is garbage
/// that nobody can name (K4).
fn unsent(core: &Core, cause: graphwrite_substrate::Cause) -> BranchError {
    let path = core.store.canonical_root().to_owned();
    graphwrite_substrate::SubstrateError::Engine {
        operation: "making a native branch",
        path,
        cause,
    }
    .into()
}

/// The first decision stands, whoever made it.
async fn decide(core: &Core, begun: &NameBegun) -> Result<BranchInfo, BranchError> {
    let (name, by) = (&begun.name, core.options.process.instance());
    let decided = begun.decided_live(by, core.options.env.unix_micros());
    let stands = put_decision(core, &decided).await?;
    core.options.hooks.reach(Failpoint::BranchPostDecide).await?;
    let NameVerdict::Live { .. } = stands.verdict else {
        return Err(BranchError::GivenUp { name: name.clone() });
    };
    if !core.names.still_means(name, begun.number).await? {
        return Err(BranchError::DeletedMeanwhile { name: name.clone() });
    }
    Ok(BranchInfo::of_live(begun.token(), &begun.fork))
}

async fn put_decision(core: &Core, decided: &NameDecided) -> Result<NameDecided, BranchError> {
    match put_record(&decided.name, || core.names.put_decided(decided)).await? {
        RecordPut::Written => Ok(decided.clone()),
        RecordPut::Taken(stands) => Ok(*stands),
        RecordPut::Unknown(cause) => Err(BranchError::OutcomeUnknown {
            name: decided.name.clone(),
            doing: "created",
            cause: cause.to_string(),
        }),
    }
}

/// Best effort: a name that stays undecided is decided by the next who needs it.
async fn give_up(core: &Core, begun: &NameBegun, why: &BranchError) {
    let (by, now_us) = (core.options.process.instance(), core.options.env.unix_micros());
    let void = begun.decided_void(why.to_string(), by, now_us);
    if let Err(error) = core.names.put_decided(&void).await {
        tracing::warn!(branch = %begun.name, %error, "a creation that failed stays undecided");
    }
}

impl BranchInfo {
    fn of_live(token: BranchToken, fork: &ForkPoint) -> Self {
        Self::new(token, Some(fork))
    }
}
