//! Start states of an attempt, and the judge over what became of it.

use graphwrite_protocol_types::*;

use super::actors::{Prefix, Said, barrier, changes_of, confirm_of};
use super::fixture::{attempt, base_of, intent, intent_of, table};
use super::model_port::Shared;
use super::world::{Change, World, key, old_content};
use crate::*;

/// A crash state: what of an attempt is durable when nobody is at work.
#[derive(Debug, Clone)]
pub(crate) struct Start {
    pub(crate) name: String,
    pub(crate) intent: Intent,
    pub(crate) world: World,
    pub(crate) prefix: Prefix,
}

/// The plans that the tests over the simulated store run.
pub(crate) fn plans() -> Vec<Vec<EffectKind>> {
    use EffectKind::{Chain, CreateDataset, CreateRef, Inline, Pointer, Staged};
    vec![
        vec![Staged],
        vec![Chain],
        vec![CreateDataset],
        vec![CreateRef],
        vec![Pointer],
        vec![Inline],
        vec![Staged, Staged],
        vec![Staged, Chain],
        vec![Staged, CreateDataset],
        vec![CreateRef, Staged],
        vec![Chain, Pointer],
        vec![Inline, Staged],
        vec![Staged, Staged, Staged],
        vec![Chain, CreateDataset, Staged],
    ]
}

/// Every crash state of a plan before anybody recovers: each effect landed up to each of its steps
/// or lost its slot to another; with and without its confirm object; published or not.
pub(crate) fn starts(kinds: &[EffectKind]) -> Vec<Start> {
    let base = base_of(kinds);
    let intent = intent_of(attempt(), kinds, &base);
    let mut found = Vec::new();
    for progress in progresses(&intent) {
        let mut world = World::armed(&intent, &base);
        for (at, effect) in progress.iter().enumerate() {
            match effect {
                None => world.foreign_write(at as u64 + 1, &format!("other-{at}")),
                Some(landed) => changes_of(&intent, at)[..*landed].iter().for_each(|change| {
                    world.apply(&intent, change).expect("the slot is open");
                }),
            }
        }
        let prefix: Prefix = progress.iter().map(|effect| effect.unwrap_or(0)).collect();
        let name = format!("{kinds:?} {progress:?}");
        let start = Start { name, intent: intent.clone(), world, prefix };
        found.extend(completed(&start, &progress));
        found.push(start);
    }
    found
}

/// What may follow when everything landed: the confirm object, then the manifest commit.
fn completed(start: &Start, progress: &[Option<usize>]) -> Vec<Start> {
    let all = |(at, effect): (usize, &Option<usize>)| {
        *effect == Some(changes_of(&start.intent, at).len())
    };
    if !progress.iter().enumerate().all(all) {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut next = start.clone();
    let mut apply = |next: &mut Start, what: &str, change: Change| {
        next.world.apply(&next.intent, &change).expect("the slot is open");
        next.name = format!("{} {what}", next.name);
        found.push(next.clone());
    };
    if ConfirmFacts::needed_by(&start.intent) {
        apply(&mut next, "confirmed", Change::Confirm(confirm_of(&start.intent)));
    }
    let delta = bind_outputs(&start.intent.delta, &confirm_of(&start.intent).achieved);
    let over = next.world.view.manifest.version;
    let by = TxUuid::observed("publish");
    apply(&mut next, "published", Change::Publish { over, delta, by });
    found
}

/// Per effect: how many of its changes landed, or that another has its slot.
fn progresses(intent: &Intent) -> Vec<Vec<Option<usize>>> {
    let options = |at: usize| {
        let foreign = intent.effects[at].kind.is_slot_bearing().then_some(None);
        (0..=changes_of(intent, at).len()).map(Some).chain(foreign).collect::<Vec<_>>()
    };
    (0..intent.effects.len()).fold(vec![Vec::new()], |found, at| {
        let extend = |start: &Vec<Option<usize>>| {
            let with = |option| start.iter().copied().chain([option]).collect();
            options(at).into_iter().map(with).collect::<Vec<_>>()
        };
        found.iter().flat_map(extend).collect()
    })
}

/// Lets a fresh process run its barrier, then judges: everything is before or after, HEAD is the
/// pin, no record is left, one decision was made, and every table takes the next write.
pub(crate) fn judge(start: &Start, world: &Shared, said: &[Said]) -> Result<(), String> {
    let report = barrier(world)?;
    if report.outcome != BarrierOutcome::Clean {
        return Err(format!("the last barrier is not clean: {:?}", report.outcome));
    }
    let mut world = world.lock().map_err(|_| "poisoned")?.clone();
    if let Some(violation) = world.violations.first() {
        return Err(violation.clone());
    }
    if !world.records.is_empty() {
        return Err("records are left".into());
    }
    if !world.heads_are_pins() {
        return Err("HEAD of a published ref is not its pin".into());
    }
    let terminal = world.history.iter().filter(|row| **row != "rolled_back").count();
    if terminal > 1 {
        return Err(format!("two decisions: {:?}", world.history));
    }
    let committed = world.history.contains(&"committed");
    if committed && world.operation == OperationOutcome::Sealed {
        return Err("a sealed operation committed".into());
    }
    let acknowledged = said.contains(&Said::Committed);
    if acknowledged && !committed {
        return Err("an acknowledged commit is lost".into());
    }
    check_contents(start, &world, committed)?;
    next_writes(start, &mut world)
}

fn check_contents(start: &Start, world: &World, committed: bool) -> Result<(), String> {
    for (at, effect) in start.intent.effects.iter().enumerate() {
        let seen = world.visible(at as u64 + 1)?;
        let is_right = match (&seen, effect.kind, committed) {
            (None, EffectKind::Pointer, true) => true,
            (None, EffectKind::CreateDataset, false) => true,
            (None, _, _) => false,
            (Some(_), EffectKind::Pointer, true) => false,
            (Some(seen), kind, committed) => {
                let own = |step: &PlannedStep| seen.contains(&step.tx_uuid.to_string());
                let steps = if committed {
                    effect.steps.iter().all(own)
                } else {
                    !effect.steps.iter().any(own)
                };
                let old =
                    kind == EffectKind::CreateDataset || old_content(at as u64 + 1).is_subset(seen);
                steps && old
            }
        };
        if !is_right {
            return Err(format!("committed: {committed}, table {} shows {seen:?}", at + 1));
        }
    }
    Ok(())
}

fn next_writes(start: &Start, world: &mut World) -> Result<(), String> {
    for number in 1..=start.intent.effects.len() as u64 {
        if world.view.head(table(number)).live().is_some() {
            world.foreign_write(number, "next");
        }
    }
    world.violations.first().cloned().map_or(Ok(()), Err)
}

/// Nothing that the attempt made under a name of its own is left behind, unless it is published.
pub(crate) fn leaves_no_garbage(start: &Start, world: &World) -> Result<(), String> {
    let committed = world.history.contains(&"committed");
    let made = |effect: &&Effect| effect.kind.has_unique_name();
    let left = |effect: &Effect| world.lines.contains_key(&key(effect)) && !committed;
    let garbage = start.intent.effects.iter().filter(made).any(left);
    if garbage { Err("an unpublished dataset or ref is left".into()) } else { Ok(()) }
}

pub(crate) fn start_named(kinds: &[EffectKind], progress: &[Option<usize>]) -> Start {
    let name = format!("{kinds:?} {progress:?}");
    let found = starts(kinds).into_iter().find(|start| start.name == name);
    found.unwrap_or_else(|| panic!("no crash state {name} of {:?}", intent(kinds).attempt))
}
