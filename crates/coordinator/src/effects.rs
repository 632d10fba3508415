//! Stage F: the effects of an armed attempt. Every step that was issued is settled before anything
//! is judged: cancelling siblings would leave effects that nobody knows of.

use futures::future::join_all;
use graphwrite_adapters::{StagedPayload, perform as perform_step};
use graphwrite_protocol_types::{Armed, Defect, Failpoint, Pin};
use graphwrite_recovery::OwnSteps;
use graphwrite_substrate::Landing;

use crate::Injected;
use crate::core::Core;
use crate::held::Held;
use crate::progress::Progress;
use crate::restart::{RestartReason, Setback};

/// How often a step whose fate is not known is sent again. A staged commit lands at most once, so
/// sending it again asks the storage once more and can do no harm (K1).
const RESENDS_MAX: u32 = 2;

/// How the effects ended.
#[derive(Debug)]
pub(crate) enum Effects {
    /// All landed; these are their versions.
    Complete(Vec<Option<Pin>>),
    /// At least one did not.
    Lost {
        /// What is known of each.
        steps: Vec<OwnSteps>,
        /// Why.
        setback: Setback,
    },
    /// A failpoint was told to fail.
    Injected(Injected),
}

/// How one effect ended.
#[derive(Debug)]
enum Ended {
    Landed(Pin),
    Refused(Setback),
    /// Some of its commits landed, and the next was refused.
    Part(Setback),
    Unknown(Setback),
    NotIssued,
}

impl Ended {
    fn not_landed(armed: &Armed<StagedPayload, Held>, index: usize, why: Setback) -> Self {
        match armed.payload().landed(index as u32) {
            0 => Self::Refused(why),
            _ => Self::Part(why),
        }
    }
}

/// Applies every effect of `armed`.
///
/// A first attempt lands them all at once. A restarted one has met somebody: it first lands one whose
/// slot others can take, the same one for everybody, so that losing costs no compensation elsewhere.
pub(crate) async fn apply(
    core: &Core,
    armed: &Armed<StagedPayload, Held>,
    restarts: u32,
    progress: &Progress,
) -> Effects {
    if core.options.hooks.wants(Failpoint::PostEffect) {
        return one_by_one(core, armed, progress).await;
    }
    let effects = &armed.write().effects;
    let count = effects.len();
    let contested = || effects.iter().position(|effect| effect.kind.is_slot_bearing());
    let first = if restarts > 0 { contested() } else { None };
    let mut ended: Vec<Ended> = (0..count).map(|_| Ended::NotIssued).collect();
    if let Some(first) = first {
        ended[first] = perform(core, armed, first, progress).await;
        if !matches!(ended[first], Ended::Landed(_)) {
            return judge(ended);
        }
    }
    let rest: Vec<usize> = (0..count).filter(|index| Some(*index) != first).collect();
    let results = join_all(rest.iter().map(|index| perform(core, armed, *index, progress))).await;
    for (index, result) in rest.into_iter().zip(results) {
        ended[index] = result;
    }
    judge(ended)
}

/// With a failpoint between effects, the one that stops is known.
async fn one_by_one(
    core: &Core,
    armed: &Armed<StagedPayload, Held>,
    progress: &Progress,
) -> Effects {
    let count = armed.write().effects.len();
    let mut ended = Vec::with_capacity(count);
    for index in 0..count {
        ended.push(perform(core, armed, index, progress).await);
        if let Err(injected) = core.options.hooks.reach(Failpoint::PostEffect).await {
            return Effects::Injected(injected);
        }
    }
    judge(ended)
}

async fn perform(
    core: &Core,
    armed: &Armed<StagedPayload, Held>,
    index: usize,
    progress: &Progress,
) -> Ended {
    let mut resends = 0;
    loop {
        let permit = armed.permit();
        let (payload, intent) = (armed.payload(), armed.intent());
        let step = perform_step(index as u32, payload, intent, &permit, &core.store);
        match Box::pin(step).await {
            Ok(Landing::Landed { version, .. }) => {
                core.intents.arm_late(armed.intent()).await;
                progress.landed(core).await;
                return Ended::Landed(version.pin());
            }
            Ok(Landing::SlotTaken { winner }) => {
                return Ended::not_landed(armed, index, taken(winner));
            }
            Ok(Landing::Unknown(cause)) if resends < RESENDS_MAX => {
                tracing::warn!(%cause, resends, "sending a step again");
                resends += 1;
            }
            Ok(Landing::Unknown(cause)) if core.store.has(Defect::UnknownTakenForNone) => {
                return Ended::Refused(unknown(&cause));
            }
            Ok(Landing::Unknown(cause)) => return Ended::Unknown(unknown(&cause)),
            // The substrate's word: this call sent nothing. An earlier one may have.
            Err(error) if resends == 0 => {
                let why = Setback::new(RestartReason::StepRefused, error);
                return Ended::not_landed(armed, index, why);
            }
            Err(error) => return Ended::Unknown(unknown(&error)),
        }
    }
}

fn taken(winner: Option<graphwrite_protocol_types::TxUuid>) -> Setback {
    let text = match winner {
        Some(winner) => format!("the version was taken by {winner}"),
        None => "the version was taken".to_owned(),
    };
    Setback::new(RestartReason::SlotTaken, text)
}

fn unknown(cause: &dyn std::fmt::Display) -> Setback {
    Setback::new(RestartReason::StepUnknown, cause)
}

fn judge(ended: Vec<Ended>) -> Effects {
    let mut setback = None;
    let mut achieved = Vec::with_capacity(ended.len());
    let mut steps = Vec::with_capacity(ended.len());
    for one in ended {
        let (pin, step) = match one {
            Ended::Landed(pin) => (Some(pin), OwnSteps::SomeLanded),
            Ended::Refused(why) => {
                setback.get_or_insert(why);
                (None, OwnSteps::NoneLanded)
            }
            Ended::Part(why) => {
                setback.get_or_insert(why);
                (None, OwnSteps::SomeLanded)
            }
            Ended::Unknown(why) => {
                setback.get_or_insert(why);
                (None, OwnSteps::Unknown)
            }
            Ended::NotIssued => (None, OwnSteps::NoneLanded),
        };
        achieved.push(pin);
        steps.push(step);
    }
    match setback {
        None => Effects::Complete(achieved),
        Some(setback) => Effects::Lost { steps, setback },
    }
}
