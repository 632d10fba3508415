//! Where one effect stands: its evidence seen together with the current head of its table. This is
//! all that the rules need to know about an effect; it knows no other effect and no outcome row.

use graphwrite_protocol_types::{
    AttemptId, BaseView, Compensation, DatasetPath, Effect, EffectKind, LiveHead, PhysicalRef, Pin,
    PreState, TableHeadToken,
};
use serde::Serialize;

use crate::evidence::Evidence;
use crate::facts::first_slot;

/// Why one effect cannot be resolved by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[non_exhaustive]
pub enum RefusedBecause {
    /// The table cannot be read, or its history has a hole where the plan's slots are.
    Unreadable,
    /// A foreign commit lies above a landed step.
    Buried,
    /// The ref that the effect commits to is gone although its table is live on it.
    RefMissing,
    /// An inline effect met a commit that may or may not be its own.
    Unrecognised,
    /// The published pin is neither the pre-state nor above everything that the attempt did.
    PinContradicts,
    /// What the attempt made is published although the attempt did not commit.
    PublishedUncommitted,
    /// The adapter declares no way to take a landed effect back.
    NoCompensation,
    /// The recorded plan contradicts itself, or names an object that is not the attempt's own.
    PlanContradicts,
    /// The record names another branch than the one under which it lies.
    ForeignBranch,
}

impl RefusedBecause {
    /// The reason in words.
    pub fn text(self) -> &'static str {
        match self {
            Self::Unreadable => "the versions that the attempt planned cannot be read",
            Self::Buried => "a foreign commit lies above a landed step of the attempt",
            Self::RefMissing => "the ref that the attempt commits to is gone",
            Self::Unrecognised => {
                "a commit after the pre-state may or may not be the attempt's own"
            }
            Self::PinContradicts => {
                "the published version is neither the pre-state nor above the attempt's commits"
            }
            Self::PublishedUncommitted => {
                "what the attempt made is published although the attempt did not commit"
            }
            Self::NoCompensation => "the adapter declares no way to take the landed effect back",
            Self::PlanContradicts => {
                "the recorded plan contradicts itself or names an object that is not the attempt's"
            }
            Self::ForeignBranch => "the record names another branch than the one it lies under",
        }
    }
}

/// Where an effect stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Standing {
    /// It moves no version; the manifest alone carries it.
    Pointer,
    /// Nothing landed, and a late step still may: its slot must be fenced.
    Vacant,
    /// A prefix landed: it must be restored above.
    Partial,
    /// All of it landed, at HEAD: to be published, or to be restored above.
    Complete,
    /// As `Complete`, but its adapter knows no way back.
    CompleteOneWay,
    /// We closed its slot, and the pin is still the pre-state: the pin must follow.
    Closed,
    /// Its slot belongs to another: it never landed and never can. Settled.
    Foreign,
    /// Closed and the pin is at or above the closing version, or nobody commits to that ref any
    /// more. Settled.
    Settled,
    /// A uniquely named object that does not exist. Whatever appears under its name later is
    /// garbage that nothing can pin (K4). Settled.
    Unmade,
    /// A uniquely named object that exists and is not complete: it must be removed.
    Made,
    /// A uniquely named object, complete: to be published, or to be removed.
    MadeComplete,
    /// The pin has moved above everything seen: the evidence is older than the authority.
    Outdated,
    /// It needs `repair`.
    Refused(RefusedBecause),
}

impl Standing {
    /// Whether every planned step is there to be published.
    pub fn is_complete(self) -> bool {
        use Standing::{Complete, CompleteOneWay, MadeComplete, Pointer};
        matches!(self, Pointer | Complete | CompleteOneWay | MadeComplete)
    }

    /// Whether nothing of it can be in the way of anybody any more.
    pub fn is_settled(self) -> bool {
        use Standing::{Foreign, Pointer, Settled, Unmade};
        matches!(self, Pointer | Foreign | Settled | Unmade)
    }

    /// Whether nothing landed as far as storage shows.
    pub fn has_nothing_landed(self) -> bool {
        self.is_settled() || self == Self::Vacant
    }
}

/// How the table's current head relates to what the effect acts on.
enum Head<'a> {
    /// The table is dropped, or lives on another dataset or ref: nobody will commit to this one.
    Left,
    /// The table was never loaded.
    Unloaded,
    /// The table is live exactly where the effect acts.
    Here(&'a LiveHead),
}

/// The standing of an `effect` of `attempt` under `view`. `top` is the highest version that the
/// attempt landed, for evidence that has one.
pub fn standing_of(
    effect: &Effect,
    attempt: AttemptId,
    evidence: Evidence,
    top: u64,
    view: &BaseView,
) -> Standing {
    let head = head_of(effect, view.head(effect.target.identity));
    match (&effect.pre, effect.kind) {
        (_, EffectKind::Pointer) => Standing::Pointer,
        (PreState::Absent, _) if is_named_after(effect, attempt) => unique_name(evidence, &head),
        (PreState::At(pin), kind) if kind.is_slot_bearing() => {
            existing_ref(effect, evidence, pin, top, &head)
        }
        _ => Standing::Refused(RefusedBecause::PlanContradicts),
    }
}

/// Only what carries the attempt's own id may ever be removed for it (K4, pitfall 28).
fn is_named_after(effect: &Effect, attempt: AttemptId) -> bool {
    let target = &effect.target;
    match effect.kind {
        EffectKind::CreateDataset => {
            target.path == DatasetPath::of_first_load(target.identity, attempt)
        }
        EffectKind::CreateRef => target.physical_ref == PhysicalRef::of_first_write(attempt),
        EffectKind::Staged | EffectKind::Chain | EffectKind::Pointer | EffectKind::Inline => false,
    }
}

fn head_of<'a>(effect: &Effect, token: &'a TableHeadToken) -> Head<'a> {
    let target = &effect.target;
    match token {
        TableHeadToken::Tombstoned => Head::Left,
        TableHeadToken::Absent => Head::Unloaded,
        TableHeadToken::Live(live) => {
            let same = live.path == target.path && live.physical_ref == target.physical_ref;
            if same { Head::Here(live) } else { Head::Left }
        }
    }
}

/// An object whose name carries the attempt's id. Only this attempt makes it, and only its commit
/// pins it; without that commit it may be removed at any time (K4).
fn unique_name(evidence: Evidence, head: &Head<'_>) -> Standing {
    let published = matches!(head, Head::Here(_));
    match evidence {
        _ if published => Standing::Refused(RefusedBecause::PublishedUncommitted),
        Evidence::RefAbsent => Standing::Unmade,
        Evidence::Complete => Standing::MadeComplete,
        Evidence::Open(_) | Evidence::RefUntouched => Standing::Made,
        // Nobody else can write there, so what is not ours is not understood (pitfall 28).
        Evidence::Buried | Evidence::SlotForeign | Evidence::Closed { .. } => {
            Standing::Refused(RefusedBecause::Buried)
        }
        Evidence::Unreadable => Standing::Refused(RefusedBecause::Unreadable),
    }
}

fn existing_ref(
    effect: &Effect,
    evidence: Evidence,
    pre: &Pin,
    top: u64,
    head: &Head<'_>,
) -> Standing {
    if evidence == Evidence::SlotForeign {
        return foreign_slot(effect, head);
    }
    let live = match head {
        // The ref is nobody's target any more: what lands there is garbage.
        Head::Left => return Standing::Settled,
        Head::Unloaded => return Standing::Refused(RefusedBecause::PinContradicts),
        Head::Here(live) => live,
    };
    match evidence {
        Evidence::Closed { version, .. } => closed(version, pre, &live.pin),
        Evidence::Open(0) => Standing::Vacant,
        Evidence::Open(_) | Evidence::Complete => landed(effect, evidence, pre, top, &live.pin),
        Evidence::Buried => Standing::Refused(RefusedBecause::Buried),
        Evidence::RefAbsent => Standing::Refused(RefusedBecause::RefMissing),
        Evidence::SlotForeign | Evidence::RefUntouched | Evidence::Unreadable => {
            Standing::Refused(RefusedBecause::Unreadable)
        }
    }
}

/// K1: the first step can land only in that slot, so the effect is over. An inline effect does not
/// know all its transactions beforehand; for it the slot is foreign only once somebody published
/// it, because nobody builds on an unpublished version.
fn foreign_slot(effect: &Effect, head: &Head<'_>) -> Standing {
    let published = match head {
        Head::Left => true,
        Head::Unloaded => false,
        Head::Here(live) => live.pin.version >= first_slot(effect),
    };
    if effect.kind != EffectKind::Inline || published {
        Standing::Foreign
    } else {
        Standing::Refused(RefusedBecause::Unrecognised)
    }
}

/// The closing commit was recognised by its transaction, and the versions of a ref are one line:
/// a pin at or above it contains it. That is containment, not a comparison of numbers (RFC 4.1).
fn closed(version: u64, pre: &Pin, pin: &Pin) -> Standing {
    if pin == pre {
        Standing::Closed
    } else if pin.version >= version {
        Standing::Settled
    } else {
        Standing::Refused(RefusedBecause::PinContradicts)
    }
}

/// A restore goes to the pre-state only while that is the pin: otherwise it would take back what
/// somebody else published (pitfall 26).
fn landed(effect: &Effect, evidence: Evidence, pre: &Pin, top: u64, pin: &Pin) -> Standing {
    let one_way = matches!(effect.compensation, Compensation::None { .. });
    if pin != pre {
        let above = pin.version > top;
        return if above {
            Standing::Outdated
        } else {
            Standing::Refused(RefusedBecause::PinContradicts)
        };
    }
    match (evidence, one_way) {
        (Evidence::Complete, false) => Standing::Complete,
        (Evidence::Complete, true) => Standing::CompleteOneWay,
        (_, true) => Standing::Refused(RefusedBecause::NoCompensation),
        (_, false) => Standing::Partial,
    }
}
