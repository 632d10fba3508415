//! The store of name records: what branch names mean, create-only, a directory per name. It owns
//! the names of the objects and what an answer of the storage proves; what the records come to is
//! the protocol's (design 01 section 8).

use std::collections::BTreeMap;

use bytes::Bytes;
use futures::{StreamExt, TryStreamExt, stream};
use graphwrite_protocol_types::{
    BegunFact, BranchName, BranchToken, CodecError, DecidedFact, EncodeError, IdentityDomain,
    LiveBranch, NameBegun, NameDecided, NameDeleted, NameFacts, NameRecord, NameState, NameVerdict,
    decode_name_record, domain_of_record, encode_name_record,
};
use thiserror::Error;

use crate::{ObjectEntry, PutOutcome, Store, StoreError};

const DIRECTORY: &str = "_control/branch";
const NAMES_AT_ONCE: usize = 16;
/// How often a name is listed again because a record vanished between listing and reading: each time
/// somebody has gone on to a higher number.
const LOOKS_MAX: u32 = 8;

/// What became of a record that was written.
#[derive(Debug)]
#[must_use]
pub enum RecordPut<R> {
    /// The record stands.
    Written,
    /// Another record stands in its place, and always will.
    Taken(Box<R>),
    /// Nobody knows: it may stand, or come to stand later. Writing the same record again is safe and
    /// settles it.
    Unknown(StoreError),
}

/// A name record could not be written or read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum NameError {
    /// The storage failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The record has no encoding.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// The object is not a record that this build understands; it is left as it is.
    #[error("`{path}` is not a usable record of a branch name: {cause}")]
    Unusable {
        /// The object.
        path: String,
        /// What is wrong with it.
        cause: CodecError,
    },
    /// The records of the name kept changing while they were read; nothing was done.
    #[error("the records of branch `{name}` keep changing; try again")]
    Restless {
        /// The name.
        name: BranchName,
    },
}

/// The records of one number, as a listing shows them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NumberRecords {
    /// `<n>.begin`.
    pub begun: Option<ObjectEntry>,
    /// `<n>.decided`.
    pub decided: Option<ObjectEntry>,
    /// `<n>.deleted`.
    pub deleted: Option<ObjectEntry>,
}

/// The records of one name, as one LIST shows them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NameListing {
    /// Records by number.
    pub numbers: BTreeMap<u64, NumberRecords>,
    /// Objects whose names are not understood.
    pub foreign: Vec<ObjectEntry>,
}

/// The records of all names, as one LIST shows them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AllNames {
    /// Listings by name.
    pub names: BTreeMap<BranchName, NameListing>,
    /// Objects that belong to no name.
    pub foreign: Vec<ObjectEntry>,
}

/// A name with the one record of its highest number that says what it means.
#[derive(Debug)]
pub struct NameLook {
    /// The name.
    pub name: BranchName,
    /// The listing.
    pub listing: NameListing,
    /// The record that was read; none where the listing says everything.
    pub record: Option<LookedAt>,
    /// What the name is judged by. Its native branch is not asked.
    pub facts: NameFacts,
}

/// The record of a highest number that says what it means.
#[derive(Debug)]
pub enum LookedAt {
    /// It is undecided.
    Begun(Box<NameBegun>),
    /// It is decided.
    Decided(Box<NameDecided>),
    /// It cannot be understood.
    Unusable(NameError),
}

/// The name records of one graph.
#[derive(Debug, Clone)]
pub struct NameStore {
    store: Store,
    domain: IdentityDomain,
}

impl NameStore {
    /// The records in `store`, bound to the graph `domain`.
    pub fn new(store: Store, domain: IdentityDomain) -> Self {
        Self { store, domain }
    }

    /// Writes `<n>.begin`.
    ///
    /// # Errors
    /// When this record certainly does not stand; or what stands cannot be understood.
    pub async fn put_begun(&self, begun: &NameBegun) -> Result<RecordPut<NameBegun>, NameError> {
        self.write_once(begun).await
    }

    /// Writes `<n>.decided`.
    ///
    /// # Errors
    /// As for [`NameStore::put_begun`].
    pub async fn put_decided(
        &self,
        decided: &NameDecided,
    ) -> Result<RecordPut<NameDecided>, NameError> {
        self.write_once(decided).await
    }

    /// Writes `<n>.deleted`. `Taken` says that another has deleted the incarnation.
    ///
    /// # Errors
    /// As for [`NameStore::put_begun`].
    pub async fn put_deleted(
        &self,
        deleted: &NameDeleted,
    ) -> Result<RecordPut<NameDeleted>, NameError> {
        self.write_once(deleted).await
    }

    async fn write_once<R: NameRecord>(&self, record: &R) -> Result<RecordPut<R>, NameError> {
        let (name, number) = record.place();
        let path = object_name::<R>(name, number);
        let bytes = Bytes::from(encode_name_record(self.domain, record)?);
        let doubt = match self.store.put_own(&path, bytes).await? {
            PutOutcome::Created => return Ok(RecordPut::Written),
            PutOutcome::AlreadyExists => StoreError::AlreadyExists { path },
            PutOutcome::Unknown(cause) => return Ok(RecordPut::Unknown(cause)),
        };
        match self.read(name, number).await? {
            Some(stands) => Ok(RecordPut::Taken(Box::new(stands))),
            // It stood a moment ago: its number is dead and has been tidied away.
            None => Ok(RecordPut::Unknown(doubt)),
        }
    }

    /// The records of a name: one LIST.
    pub async fn list(&self, name: &BranchName) -> Result<NameListing, StoreError> {
        listing_of(&self.store, name).await
    }

    /// The records of all names: one LIST.
    pub async fn list_all(&self) -> Result<AllNames, StoreError> {
        let mut all = AllNames::default();
        for entry in self.store.list(DIRECTORY).await? {
            let rest = entry.path.strip_prefix(DIRECTORY).and_then(|rest| rest.strip_prefix('/'));
            let parts = rest.and_then(|rest| rest.split_once('/'));
            let named = parts.and_then(|(segment, file)| {
                Some((BranchName::from_escaped(segment)?, file.to_owned()))
            });
            match named {
                Some((name, file)) => all.names.entry(name).or_default().add(Some(&file), entry),
                None => all.foreign.push(entry),
            }
        }
        Ok(all)
    }

    /// What a name means now: one LIST, and one GET unless the name is free or deleted.
    ///
    /// # Errors
    /// The storage failed. A record that cannot be understood is a fact, not an error.
    pub async fn look(&self, name: &BranchName) -> Result<NameLook, NameError> {
        for _ in 0..LOOKS_MAX {
            let listing = self.list(name).await?;
            if let Some(look) = self.look_at(name, listing).await? {
                return Ok(look);
            }
        }
        Err(NameError::Restless { name: name.clone() })
    }

    /// What all names mean: one LIST, and side by side one GET for each name that is not deleted. A
    /// name that changes meanwhile is looked at again.
    ///
    /// # Errors
    /// As for [`NameStore::look`].
    pub async fn look_all(&self) -> Result<Vec<NameLook>, NameError> {
        let all = self.list_all().await?;
        let looks = all.names.into_iter().map(|(name, listing)| async move {
            match self.look_at(&name, listing).await? {
                Some(look) => Ok(look),
                None => self.look(&name).await,
            }
        });
        stream::iter(looks).buffered(NAMES_AT_ONCE).try_collect().await
    }

    /// Whether the incarnation still is what its name means: one LIST. Asked after a commit has
    /// landed, it is what the commit's acknowledgement depends on (design 01 section 5, G).
    ///
    /// # Errors
    /// The storage failed, and nothing is known.
    pub async fn still_means(&self, name: &BranchName, number: u64) -> Result<bool, StoreError> {
        Ok(self.list(name).await?.means(number))
    }

    /// None when the record was there and is not any more.
    async fn look_at(
        &self,
        name: &BranchName,
        listing: NameListing,
    ) -> Result<Option<NameLook>, NameError> {
        let Some(deciding) = Deciding::of(name, &listing) else {
            return Ok(Some(NameLook::new(name, listing, None)));
        };
        let Some(bytes) = self.store.get(&deciding.path).await? else { return Ok(None) };
        let record = deciding.understood(self.domain, name, &bytes);
        Ok(Some(NameLook::new(name, listing, Some(record))))
    }

    /// Reads a record; none when it is not there.
    ///
    /// # Errors
    /// The storage failed, or the object is not such a record.
    pub async fn read<R: NameRecord>(
        &self,
        name: &BranchName,
        number: u64,
    ) -> Result<Option<R>, NameError> {
        let path = object_name::<R>(name, number);
        let Some(bytes) = self.store.get(&path).await? else { return Ok(None) };
        let record = decode_name_record(self.domain, name, number, &bytes);
        record.map(Some).map_err(|cause| NameError::Unusable { path, cause })
    }
}

async fn listing_of(store: &Store, name: &BranchName) -> Result<NameListing, StoreError> {
    let directory = directory(name);
    let mut listing = NameListing::default();
    for entry in store.list(&directory).await? {
        let file = entry.path.strip_prefix(&directory).and_then(|rest| rest.strip_prefix('/'));
        let file = file.map(str::to_owned);
        listing.add(file.as_deref(), entry);
    }
    Ok(listing)
}

/// What a name means, for one who does not know the graph yet, and the graph that the record says it is
/// of: to be compared with the graph that the branch turns out to be of, before anything is believed.
/// One LIST, and one GET unless the name is free or deleted.
///
/// # Errors
/// As for [`NameStore::look`].
pub async fn look_at_unknown_graph(
    store: &Store,
    name: &BranchName,
) -> Result<(NameLook, Option<IdentityDomain>), NameError> {
    for _ in 0..LOOKS_MAX {
        let listing = listing_of(store, name).await?;
        let Some(deciding) = Deciding::of(name, &listing) else {
            return Ok((NameLook::new(name, listing, None), None));
        };
        let Some(bytes) = store.get(&deciding.path).await? else { continue };
        let domain = domain_of_record(&bytes);
        // What is no record at all is none of any graph.
        let any = domain.unwrap_or(IdentityDomain::from_u128(0));
        let record = deciding.understood(any, name, &bytes);
        return Ok((NameLook::new(name, listing, Some(record)), domain));
    }
    Err(NameError::Restless { name: name.clone() })
}

/// The record of the highest number that says what it means, unless it is deleted.
struct Deciding {
    number: u64,
    is_decided: bool,
    path: String,
}

impl Deciding {
    fn of(name: &BranchName, listing: &NameListing) -> Option<Self> {
        let (number, records) = listing.highest().filter(|(_, it)| it.deleted.is_none())?;
        let is_decided = records.decided.is_some();
        let path = if is_decided {
            object_name::<NameDecided>(name, number)
        } else {
            object_name::<NameBegun>(name, number)
        };
        Some(Self { number, is_decided, path })
    }

    fn understood(self, domain: IdentityDomain, name: &BranchName, bytes: &[u8]) -> LookedAt {
        let record = if self.is_decided {
            decode_name_record(domain, name, self.number, bytes).map(LookedAt::decided)
        } else {
            decode_name_record(domain, name, self.number, bytes).map(LookedAt::begun)
        };
        let path = self.path;
        record.unwrap_or_else(|cause| LookedAt::Unusable(NameError::Unusable { path, cause }))
    }
}

impl LookedAt {
    fn begun(record: NameBegun) -> Self {
        Self::Begun(Box::new(record))
    }

    fn decided(record: NameDecided) -> Self {
        Self::Decided(Box::new(record))
    }
}

impl NameListing {
    /// The highest number, which is what counts.
    pub fn highest(&self) -> Option<(u64, &NumberRecords)> {
        self.numbers.last_key_value().map(|(number, records)| (*number, records))
    }

    /// Whether no number is left for a beginning.
    pub fn is_exhausted(&self) -> bool {
        self.highest().is_some_and(|(number, _)| number == NUMBER_MAX)
    }

    /// The number of the next beginning.
    pub fn next_number(&self) -> u64 {
        self.highest().map_or(1, |(number, _)| number + 1)
    }

    /// Whether `number`, which was decided live, still is what the name means.
    pub fn means(&self, number: u64) -> bool {
        self.highest()
            .is_some_and(|(highest, records)| highest == number && records.deleted.is_none())
    }

    /// Whether `number` is what the name once meant or was to mean, and never will again: it is
    /// deleted, or a higher one has begun.
    pub fn is_over(&self, number: u64) -> bool {
        self.highest().is_some_and(|(highest, records)| {
            highest > number || (highest == number && records.deleted.is_some())
        })
    }

    fn add(&mut self, file: Option<&str>, entry: ObjectEntry) {
        let Some((number, suffix)) = file.and_then(parse_name) else {
            self.foreign.push(entry);
            return;
        };
        let records = self.numbers.entry(number).or_default();
        let record = match suffix {
            Suffix::Begun => &mut records.begun,
            Suffix::Decided => &mut records.decided,
            Suffix::Deleted => &mut records.deleted,
        };
        *record = Some(entry);
    }
}

impl NameLook {
    fn new(name: &BranchName, listing: NameListing, record: Option<LookedAt>) -> Self {
        let facts = facts(&listing, record.as_ref());
        Self { name: name.clone(), listing, record, facts }
    }

    /// What the name means, without a look at its native branch.
    pub fn state(&self) -> NameState {
        self.facts.state()
    }

    /// The branch, if the name means one.
    pub fn live(&self) -> Option<LiveBranch> {
        match &self.record {
            Some(LookedAt::Decided(decided)) => decided.live(),
            _ => None,
        }
    }

    /// The beginning, if the highest number is undecided.
    pub fn begun(&self) -> Option<&NameBegun> {
        match &self.record {
            Some(LookedAt::Begun(begun)) => Some(begun),
            _ => None,
        }
    }

    /// Whether the incarnation of `token` is what the name means.
    pub fn is_of(&self, token: &BranchToken) -> bool {
        self.live().is_some_and(|live| live.token == *token)
    }
}

fn facts(listing: &NameListing, record: Option<&LookedAt>) -> NameFacts {
    let Some((_, records)) = listing.highest() else { return NameFacts::NONE };
    let unusable = matches!(record, Some(LookedAt::Unusable(_)));
    let begun = match &records.begun {
        None => BegunFact::Absent,
        Some(_) if unusable && records.decided.is_none() => BegunFact::Unusable,
        Some(_) => BegunFact::Present,
    };
    let decided = match record {
        Some(LookedAt::Decided(decided)) => match decided.verdict {
            NameVerdict::Live { .. } => DecidedFact::Live,
            NameVerdict::Void { .. } => DecidedFact::Void,
            _ => DecidedFact::Unusable,
        },
        Some(LookedAt::Unusable(_)) if records.decided.is_some() => DecidedFact::Unusable,
        _ => DecidedFact::Absent,
    };
    NameFacts { begun, decided, deleted: records.deleted.is_some(), ..NameFacts::NONE }
}

/// Whether `path`, below the graph's root, is where a record of a branch name may be.
pub fn is_name_record(path: &str) -> bool {
    let rest = path.strip_prefix(DIRECTORY).and_then(|rest| rest.strip_prefix('/'));
    rest.and_then(|rest| rest.split_once('/')).is_some_and(|(segment, file)| {
        BranchName::from_escaped(segment).is_some() && parse_name(file).is_some()
    })
}

enum Suffix {
    Begun,
    Decided,
    Deleted,
}

fn directory(name: &BranchName) -> String {
    format!("{DIRECTORY}/{}", name.escaped())
}

fn object_name<R: NameRecord>(name: &BranchName, number: u64) -> String {
    format!("{}/{number}.{}", directory(name), R::SUFFIX)
}

/// The last number of a name. Counting does not get there; an object under a higher one was put there
/// from outside, and is no record.
const NUMBER_MAX: u64 = u64::MAX >> 1;

/// Understands exactly the names that [`object_name`] makes.
fn parse_name(file: &str) -> Option<(u64, Suffix)> {
    let (digits, suffix) = file.split_once('.')?;
    let number: u64 = digits.parse().ok()?;
    let suffix = match suffix {
        NameBegun::SUFFIX => Suffix::Begun,
        NameDecided::SUFFIX => Suffix::Decided,
        NameDeleted::SUFFIX => Suffix::Deleted,
        _ => return None,
    };
    let is_number = (1..=NUMBER_MAX).contains(&number) && number.to_string() == digits;
    is_number.then_some((number, suffix))
}
