//! The intent store: the recovery records of attempts, create-only, in a directory per native
//! branch. It owns their names and the order in which they go; what they say is the protocol's.

use std::collections::BTreeMap;

use bytes::Bytes;
use graphwrite_protocol_types::{
    Alive, AttemptId, CodecError, Confirm, ControlRecord, Defect, EncodeError, IdentityDomain,
    Intent, IntentDurable, NativeBranch, decode, encode,
};
use thiserror::Error;

use crate::{ObjectEntry, PutOutcome, RawObjects, Store, StoreError};

const DIRECTORY: &str = "_recovery";

/// Which of an attempt's records an object is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RecordKind {
    /// The armed intent.
    Intent,
    /// The confirmed post-state of a multi-step adapter.
    Confirm,
    /// A sign of progress, counted from 1.
    Alive(u32),
}

/// An object in a recovery directory whose name is not understood. It blocks that branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignRecord {
    /// The object.
    pub entry: ObjectEntry,
}

/// The records of one attempt.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AttemptRecords {
    /// The armed intent; absent when only its leftovers are there.
    pub intent: Option<ObjectEntry>,
    /// The confirmed post-state.
    pub confirm: Option<ObjectEntry>,
    /// Signs of progress by their numbers.
    pub alive: BTreeMap<u32, ObjectEntry>,
}

/// What a branch's recovery directory holds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RecoveryListing {
    /// Records by attempt, oldest attempt first.
    pub attempts: BTreeMap<AttemptId, AttemptRecords>,
    /// Objects whose names are not understood.
    pub foreign: Vec<ForeignRecord>,
}

/// What became of arming.
#[derive(Debug)]
#[must_use]
pub enum Arming {
    /// The intent is durable; the proof allows the effects.
    Armed(Box<IntentDurable>),
    /// The attempt's name is taken by other bytes. An attempt id is used once, so this is a fault.
    NameTaken,
    /// The intent may or may not exist, or come to exist. Nothing was done under it: delete it,
    /// and go on as a new attempt.
    Unknown(StoreError),
}

/// A recovery record could not be written or read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum IntentError {
    /// The storage failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The record has no encoding.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// The object is not a record that this build understands; it is left as it is.
    #[error(
        "`{path}` is not a usable recovery record: {cause}; it blocks this branch until it is resolved or moved away"
    )]
    Unusable {
        /// The object.
        path: String,
        /// What is wrong with it.
        cause: CodecError,
    },
}

/// The recovery records of one graph.
#[derive(Debug, Clone)]
pub struct IntentStore {
    store: Store,
    domain: IdentityDomain,
}

impl IntentStore {
    /// The records in `store`, bound to the graph `domain`.
    pub fn new(store: Store, domain: IdentityDomain) -> Self {
        Self { store, domain }
    }

    /// Makes an intent durable, which is stage E (RFC 4.5).
    ///
    /// # Errors
    ///
    /// When the intent certainly does not exist: no encoding, or refused by the storage.
    pub async fn arm(&self, intent: Intent) -> Result<Arming, IntentError> {
        if self.store.has(Defect::IntentAfterEffect) {
            return Ok(Arming::Armed(Box::new(IntentDurable::witness(intent))));
        }
        self.arm_now(intent).await
    }

    async fn arm_now(&self, intent: Intent) -> Result<Arming, IntentError> {
        let branch = intent.branch.native.clone();
        match self.create(&branch, RecordKind::Intent, &intent).await? {
            PutOutcome::Created => Ok(Arming::Armed(Box::new(IntentDurable::witness(intent)))),
            PutOutcome::AlreadyExists => Ok(Arming::NameTaken),
            PutOutcome::Unknown(cause) => Ok(Arming::Unknown(cause)),
        }
    }

    /// [`Defect::IntentAfterEffect`]: makes an intent durable when an effect of it has landed.
    pub async fn arm_late(&self, intent: &Intent) {
        let is_late = self.store.has(Defect::IntentAfterEffect);
        if is_late && let Ok(None) = self.intent(&intent.branch.native, intent.attempt).await {
            let _ = self.arm_now(intent.clone()).await;
        }
    }

    /// Writes the confirmed post-state of an attempt, once.
    pub async fn confirm(
        &self,
        branch: &NativeBranch,
        confirm: &Confirm,
    ) -> Result<PutOutcome, IntentError> {
        self.create(branch, RecordKind::Confirm, confirm).await
    }

    /// Writes a sign of progress.
    pub async fn beat(
        &self,
        branch: &NativeBranch,
        alive: &Alive,
    ) -> Result<PutOutcome, IntentError> {
        self.create(branch, RecordKind::Alive(alive.beat), alive).await
    }

    async fn create<R: ControlRecord>(
        &self,
        branch: &NativeBranch,
        kind: RecordKind,
        record: &R,
    ) -> Result<PutOutcome, IntentError> {
        let bytes = Bytes::from(encode(self.domain, record)?);
        let path = object_name(branch, record.attempt(), kind);
        Ok(self.store.put_if_absent(&path, bytes, record.attempt()).await?)
    }

    /// All records of a branch: one LIST.
    pub async fn list(&self, branch: &NativeBranch) -> Result<RecoveryListing, StoreError> {
        let mut listing = RecoveryListing::default();
        for entry in self.store.list(&directory(branch)).await? {
            listing.add(branch, entry);
        }
        Ok(listing)
    }

    /// The records of all branches that have any, whether or not they still exist: one LIST.
    /// Directories that no native branch is named after are not among them.
    pub async fn list_all(&self) -> Result<BTreeMap<NativeBranch, RecoveryListing>, StoreError> {
        let mut all: BTreeMap<NativeBranch, RecoveryListing> = BTreeMap::new();
        for entry in self.store.list(DIRECTORY).await? {
            let segment = entry.path.split('/').nth(1);
            if let Some(branch) = segment.and_then(NativeBranch::named) {
                all.entry(branch.clone()).or_default().add(&branch, entry);
            }
        }
        Ok(all)
    }

    /// The object that holds an attempt's intent.
    pub fn intent_object(branch: &NativeBranch, attempt: AttemptId) -> String {
        object_name(branch, attempt, RecordKind::Intent)
    }

    /// Reads an attempt's intent; none when it is gone, which means that somebody has resolved it.
    pub async fn intent(
        &self,
        branch: &NativeBranch,
        attempt: AttemptId,
    ) -> Result<Option<Intent>, IntentError> {
        self.read(branch, attempt, RecordKind::Intent).await
    }

    /// Reads an attempt's confirmed post-state, if there is one.
    pub async fn confirmed(
        &self,
        branch: &NativeBranch,
        attempt: AttemptId,
    ) -> Result<Option<Confirm>, IntentError> {
        self.read(branch, attempt, RecordKind::Confirm).await
    }

    async fn read<R: ControlRecord>(
        &self,
        branch: &NativeBranch,
        attempt: AttemptId,
        kind: RecordKind,
    ) -> Result<Option<R>, IntentError> {
        let path = object_name(branch, attempt, kind);
        let Some(bytes) = self.store.get(&path).await? else { return Ok(None) };
        let record = decode(self.domain, attempt, &bytes);
        record.map(Some).map_err(|cause| IntentError::Unusable { path, cause })
    }

    /// Deletes the records of an attempt: signs of progress by their numbers, then the confirmation
    /// if there is one, then the intent. As long as anything is left to judge by, the intent is
    /// there.
    pub async fn delete(
        &self,
        branch: &NativeBranch,
        attempt: AttemptId,
        confirm: bool,
        alive: &[u32],
    ) -> Result<(), StoreError> {
        let alive = alive.iter().map(|beat| RecordKind::Alive(*beat));
        let confirm = confirm.then_some(RecordKind::Confirm);
        for kind in alive.chain(confirm).chain([RecordKind::Intent]) {
            self.store.delete(&object_name(branch, attempt, kind)).await?;
        }
        Ok(())
    }
}

impl RecoveryListing {
    /// Whether there is nothing at all.
    pub fn is_empty(&self) -> bool {
        self.attempts.is_empty() && self.foreign.is_empty()
    }

    fn add(&mut self, branch: &NativeBranch, entry: ObjectEntry) {
        let name = entry.path.strip_prefix(&format!("{}/", directory(branch)));
        match name.and_then(parse_name) {
            Some((attempt, kind)) => self.attempts.entry(attempt).or_default().add(kind, entry),
            None => self.foreign.push(ForeignRecord { entry }),
        }
    }
}

impl AttemptRecords {
    fn add(&mut self, kind: RecordKind, entry: ObjectEntry) {
        match kind {
            RecordKind::Intent => self.intent = Some(entry),
            RecordKind::Confirm => self.confirm = Some(entry),
            RecordKind::Alive(beat) => {
                self.alive.insert(beat, entry);
            }
        }
    }
}

fn directory(branch: &NativeBranch) -> String {
    format!("{DIRECTORY}/{branch}")
}

fn object_name(branch: &NativeBranch, attempt: AttemptId, kind: RecordKind) -> String {
    let directory = directory(branch);
    match kind {
        RecordKind::Intent => format!("{directory}/{attempt}.intent"),
        RecordKind::Confirm => format!("{directory}/{attempt}.confirm"),
        RecordKind::Alive(beat) => format!("{directory}/{attempt}.alive.{beat}"),
    }
}

/// Understands exactly the names that [`object_name`] makes.
fn parse_name(name: &str) -> Option<(AttemptId, RecordKind)> {
    let (attempt, suffix) = name.split_once('.')?;
    let attempt = attempt.parse().ok()?;
    let kind = match suffix {
        "intent" => RecordKind::Intent,
        "confirm" => RecordKind::Confirm,
        _ => RecordKind::Alive(beat_of(suffix)?),
    };
    Some((attempt, kind))
}

fn beat_of(suffix: &str) -> Option<u32> {
    let digits = suffix.strip_prefix("alive.")?;
    let beat: u32 = digits.parse().ok()?;
    (beat.to_string() == digits).then_some(beat)
}
