//! An undecided name is decided by whoever must know what it means (design 01 section 8): live when its
//! native branch is complete, void when its owner is dead or its time is over. Both are safe beside a
//! living owner, since the first decision stands.

use graphwrite_manifest::NativeFork;
use graphwrite_protocol_types::{BranchName, NameBegun, NameFacts, OthersMay};
use graphwrite_recovery::{Owner, owner_of};
use graphwrite_substrate::{NameLook, RecordPut, StoreError};

use crate::BranchError;
use crate::core::Core;

/// How often a decision whose fate is not known is looked for and sent again.
const DOUBTS_MAX: u32 = 2;

/// What a name means, once it is decided.
pub(crate) async fn settled(core: &Core, name: &BranchName) -> Result<NameLook, BranchError> {
    let (waits, env) = (&core.options.waits, &core.options.env);
    let (started, mut looks, mut doubts) = (env.monotonic_micros(), 0, 0);
    loop {
        let look =
            core.names.look(name).await.map_err(|error| BranchError::of_names(error, name))?;
        let Some(begun) = look.begun() else { return Ok(look) };
        let age_ms = age_ms(core, &look);
        match decide(core, begun, &look.facts, age_ms).await? {
            Decided::Stands => continue,
            // The next look may find it; a storage that writes nothing is not asked for ever.
            Decided::Unknown(cause) if doubts >= DOUBTS_MAX => return Err(cause.into()),
            Decided::Unknown(_) => {
                doubts += 1;
                continue;
            }
            Decided::NotNow => {}
        }
        let waited_ms = env.monotonic_micros().saturating_sub(started) / 1_000;
        if waited_ms >= waits.contention_wait_ms {
            return Err(BranchError::Creating {
                name: name.clone(),
                attempt: begun.attempt,
                owner: Box::new(begun.owner.clone()),
                age_ms,
                retry_after_ms: waits.retry_after_ms(age_ms),
            });
        }
        let pause_ms = waits.backoff_ms(looks);
        tokio::time::sleep(std::time::Duration::from_millis(pause_ms)).await;
        looks += 1;
    }
}

/// What came of deciding a name that another has begun.
enum Decided {
    /// A decision stands, of whomever.
    Stands,
    /// It is not allowed now.
    NotNow,
    /// The storage does not say whether it stands.
    Unknown(StoreError),
}

/// Decides, if that is allowed now; whose decision stands, the next look says.
async fn decide(
    core: &Core,
    begun: &NameBegun,
    facts: &NameFacts,
    age_ms: u64,
) -> Result<Decided, BranchError> {
    let probe = NativeFork::of_begun(begun).probe(&core.store).await?;
    let facts = NameFacts { clone: probe.clone, contents: probe.contents, ..*facts };
    let by = core.options.process.instance();
    let now_us = core.options.env.unix_micros();
    let decided = match facts.state().rights().others {
        OthersMay::DecideLive => begun.decided_live(by, now_us),
        OthersMay::DecideVoidAfterWaiting => match given_up(core, begun, age_ms) {
            Some(reason) => begun.decided_void(reason, by, now_us),
            None => return Ok(Decided::NotNow),
        },
        OthersMay::Nothing | OthersMay::Look => return Ok(Decided::NotNow),
    };
    let put = core.names.put_decided(&decided).await;
    Ok(match put.map_err(|error| BranchError::of_names(error, &begun.name))? {
        RecordPut::Written | RecordPut::Taken(_) => Decided::Stands,
        RecordPut::Unknown(cause) => Decided::Unknown(cause),
    })
}

/// Why the owner of a beginning is not waited for any more.
fn given_up(core: &Core, begun: &NameBegun, age_ms: u64) -> Option<String> {
    let process = core.options.process.as_ref();
    match owner_of(&begun.owner, begun.attempt, age_ms, process, false) {
        Owner::Dead { proof } => Some(format!("its owner is dead: {proof:?}")),
        Owner::MaybeAlive { age_ms } if age_ms >= core.options.waits.fence_after_ms => {
            Some(format!("it was not complete after {age_ms} ms"))
        }
        Owner::MaybeAlive { .. } | Owner::OwnLive | Owner::OwnStopped { .. } => None,
    }
}

/// Age of the beginning, in milliseconds.
fn age_ms(core: &Core, look: &NameLook) -> u64 {
    let begun = look.listing.highest().and_then(|(_, records)| records.begun.as_ref());
    begun.map_or(0, |entry| entry.age_ms(core.options.env.unix_micros()))
}
