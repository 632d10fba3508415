//! What recovery needs from the world: the traits that a driver implements. A port is bound to one
//! branch. It reads facts and performs single durable steps; it judges nothing and repeats nothing
//! on its own. Whoever performs must show the mode that allows it.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::marker::PhantomData;

use graphwrite_protocol_types::{
    AttemptId, BranchToken, CodecError, DatasetPath, Effect, Failpoint, Full, Intent,
    ManifestDelta, PhysicalRef, Pin, Planted, RecoveryMode, RollForward, TxUuid,
};

use crate::classify::PinMove;
use crate::facts::{AuthorityFacts, ConfirmFacts, RefFacts};

/// The right to publish a complete attempt and to delete records of a decided one. Both acting
/// modes have it; `Probe` has not.
#[derive(Debug, Clone, Copy)]
pub struct Publishing<'a>(PhantomData<&'a ()>);

impl<'a> From<&'a RollForward> for Publishing<'a> {
    fn from(_: &'a RollForward) -> Self {
        Self(PhantomData)
    }
}

impl<'a> From<&'a Full> for Publishing<'a> {
    fn from(_: &'a Full) -> Self {
        Self(PhantomData)
    }
}

impl<'a> Publishing<'a> {
    /// The right that a mode includes.
    pub fn of(mode: &'a RecoveryMode) -> Option<Self> {
        match mode {
            RecoveryMode::Probe => None,
            RecoveryMode::RollForward(granted) => Some(granted.into()),
            RecoveryMode::Full(granted) => Some(granted.into()),
        }
    }
}

/// The control records of one attempt, as one LIST shows them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RecordSet {
    /// Whether there is an intent.
    pub intent: bool,
    /// Whether there is a confirm object.
    pub confirm: bool,
    /// The numbers of the signs of progress.
    pub alive: Vec<u32>,
    /// Age of the youngest of these objects on the store's clock, in milliseconds. It only chooses
    /// between waiting and acting.
    pub age_ms: u64,
}

/// One LIST of a branch's `_recovery` directory.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Listing {
    /// The records, in attempt order.
    pub records: BTreeMap<AttemptId, RecordSet>,
    /// Objects whose name is none of a record.
    pub foreign: Vec<String>,
}

/// An intent, once somebody tried to read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoadedIntent {
    /// Here it is.
    Found(Box<Intent>),
    /// It was deleted since it was listed: its attempt is over.
    Vanished,
    /// It does not decode. Transport faults are errors, not this.
    Unreadable {
        /// Its name, relative to the graph's root.
        object: String,
        /// What is wrong with it.
        cause: CodecError,
    },
}

/// One ref of one dataset: a line of versions that intents may share.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RefName {
    /// The dataset.
    pub path: DatasetPath,
    /// The ref.
    pub physical_ref: PhysicalRef,
}

impl RefName {
    /// The ref that an effect acts on.
    pub fn of(effect: &Effect) -> Self {
        let target = &effect.target;
        Self { path: target.path.clone(), physical_ref: target.physical_ref.clone() }
    }
}

/// An attempt that shall never commit.
#[derive(Debug, Clone, Copy)]
pub struct Aborting<'a> {
    /// The attempt.
    pub intent: &'a Intent,
    /// Why, for the audit.
    pub reason: &'static str,
}

/// What the manifest is to follow of the compensation of an aborted attempt.
#[derive(Debug, Clone, Copy)]
pub struct TakenBack<'a> {
    /// The attempt.
    pub intent: &'a Intent,
    /// The pins that follow their closing versions. May be empty.
    pub moves: &'a [PinMove],
    /// Whether everything is settled with it, so that the attempt is `rolled_back`.
    pub complete: bool,
}

/// What became of a strict commit of the manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recorded {
    /// It landed as this manifest version.
    Landed(Pin),
    /// It did not land: the slot was taken, or what it was decided on no longer holds.
    Lost,
    /// Whether it landed is not known. No proof of anything.
    Unknown {
        /// What stood in the way.
        cause: String,
    },
}

/// What became of a strict commit of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Landing {
    /// It landed.
    Landed,
    /// It was refused: the slot belongs to somebody.
    SlotTaken {
        /// To whom, where that was read.
        winner: Option<TxUuid>,
    },
    /// Whether it landed is not known. No proof of anything.
    Unknown {
        /// What stood in the way.
        cause: String,
    },
}

/// What became of a removal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Removal {
    /// The object is not there any more, or never was.
    Removed,
    /// Whether it is there is not known.
    Unknown {
        /// What stood in the way.
        cause: String,
    },
}

/// What became of the deletion of an attempt's records. A record that could not be deleted is found
/// and deleted by the next barrier; it is never an error of the request (pitfall 32).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Retired {
    /// Records that may still be there, with what stood in the way.
    pub left: Vec<(String, String)>,
}

/// The world of one branch, as recovery needs it.
///
/// `over` is the manifest version on which a decision was made. A performing function commits
/// strictly at the version after it. It may go to a newer state by itself only if it arbitrates
/// again, in that state, everything that its documentation names; else the answer is `Lost`, and
/// the interpreter decides anew.
///
/// An `Err` is a fault that leaves things as unknown as `Unknown` does; it ends the pass.
pub trait RecoveryPort: Sync {
    /// A fault of the storage or of a failpoint.
    type Error: std::error::Error + Send + Sync + 'static;

    /// The branch whose records, refs and manifest this port reaches.
    fn branch(&self) -> &BranchToken;

    /// What tests have planted in the build that recovers.
    fn planted(&self) -> Planted {
        Planted::default()
    }

    /// Lists the branch's records. One LIST.
    fn list_records(&self) -> impl Future<Output = Result<Listing, Self::Error>> + Send;

    /// Reads and decodes an intent. The record's own branch is not judged here.
    fn load_intent(
        &self,
        attempt: AttemptId,
    ) -> impl Future<Output = Result<LoadedIntent, Self::Error>> + Send;

    /// Reads the confirm object of an attempt that needs one.
    fn load_confirm(
        &self,
        intent: &Intent,
    ) -> impl Future<Output = Result<ConfirmFacts, Self::Error>> + Send;

    /// Reads HEAD of a ref, then those of `slots` that are not above it. A slot above HEAD was vacant
    /// when HEAD was read; looking at it later than at the slots below could show a hole that never
    /// was. Past every cache: a cache is no evidence.
    fn observe(
        &self,
        of: &RefName,
        slots: &BTreeSet<u64>,
    ) -> impl Future<Output = Result<RefFacts, Self::Error>> + Send;

    /// Whether every data file that the landed steps of effect `effect` name is there.
    fn data_files_exist(
        &self,
        intent: &Intent,
        effect: u32,
    ) -> impl Future<Output = Result<bool, Self::Error>> + Send;

    /// Reads, from one manifest version, the branch's state and, for each intent in order, the rows
    /// of its attempt and of its operation, hot and cold. For a branch other than main, first
    /// whether the incarnation still is what its name means.
    fn authority(
        &self,
        intents: &[&Intent],
    ) -> impl Future<Output = Result<Vec<AuthorityFacts>, Self::Error>> + Send;

    /// Makes `aborted` durable for all these attempts, or for none: one manifest commit. To be
    /// arbitrated: no attempt of them has a terminal row.
    fn record_aborted(
        &self,
        full: &Full,
        aborting: &[Aborting<'_>],
        over: &Pin,
    ) -> impl Future<Output = Result<Recorded, Self::Error>> + Send;

    /// Lands an `Append` of no fragments at `read_version + 1` with this transaction, or nothing.
    fn fence(
        &self,
        full: &Full,
        intent: &Intent,
        effect: u32,
        read_version: u64,
        tx_uuid: &TxUuid,
    ) -> impl Future<Output = Result<Landing, Self::Error>> + Send;

    /// Lands a `Restore` of `to` at `read_version + 1` with this transaction, or nothing.
    fn restore(
        &self,
        full: &Full,
        intent: &Intent,
        effect: u32,
        to: &Pin,
        read_version: u64,
        tx_uuid: &TxUuid,
    ) -> impl Future<Output = Result<Landing, Self::Error>> + Send;

    /// Removes the dataset that the effect made. Idempotent.
    fn delete_dataset(
        &self,
        full: &Full,
        intent: &Intent,
        effect: u32,
    ) -> impl Future<Output = Result<Removal, Self::Error>> + Send;

    /// Removes the ref that the effect made. Idempotent.
    fn delete_ref(
        &self,
        full: &Full,
        intent: &Intent,
        effect: u32,
    ) -> impl Future<Output = Result<Removal, Self::Error>> + Send;

    /// One manifest commit that moves pins, content ids kept, and records `rolled_back` for each
    /// attempt that is `complete`. No lineage, no new graph head. To be arbitrated, for each attempt:
    /// `aborted` is there, and a pin that is not `from` any more is left alone.
    fn move_pins(
        &self,
        full: &Full,
        taken_back: &[TakenBack<'_>],
        over: &Pin,
    ) -> impl Future<Output = Result<Recorded, Self::Error>> + Send;

    /// The graph commit of the attempt: `delta`, the lineage of the intent, and `committed`. To be
    /// arbitrated: the complete read set, no terminal row of the attempt, no `committed` and no
    /// `sealed` row of the operation.
    fn publish(
        &self,
        right: Publishing<'_>,
        intent: &Intent,
        over: &Pin,
        delta: &ManifestDelta,
    ) -> impl Future<Output = Result<Recorded, Self::Error>> + Send;

    /// Deletes signs of progress, confirm, then intent: the intent last, so that a crash in between
    /// leaves a record that says what the others belong to.
    fn retire(
        &self,
        right: Publishing<'_>,
        attempt: AttemptId,
        records: &RecordSet,
    ) -> impl Future<Output = Retired> + Send;

    /// Records on main that these intents of deleted branches are discarded: one manifest commit.
    /// Idempotent, for each by its attempt: `Landed` also if all of it is recorded already.
    fn audit_orphans(
        &self,
        full: &Full,
        orphans: &[&Intent],
    ) -> impl Future<Output = Result<Recorded, Self::Error>> + Send;

    /// Waits this many milliseconds.
    fn pause(&self, milliseconds: u64) -> impl Future<Output = ()> + Send;

    /// A clock that never goes back, in milliseconds.
    fn now_ms(&self) -> u64;

    /// Passes a named place; a test may stop, fail or kill here.
    fn reach(&self, failpoint: Failpoint) -> impl Future<Output = Result<(), Self::Error>> + Send;
}
