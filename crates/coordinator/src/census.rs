//! Which branches a graph has and had, from all records of all names, and what each of them still needs
//! of the storage. It reads and decides nothing; whether a native branch is whole is not asked here.

mod counted;
mod owned;

use std::collections::{BTreeMap, BTreeSet};

use graphwrite_protocol_types::{
    BranchName, LiveBranch, NameBegun, NameDecided, NameRecord, NameState, NameVerdict,
    NativeBranch,
};
use graphwrite_substrate::{LookedAt, NameError, NameLook, NumberRecords, ObjectEntry};

use crate::core::Core;
use crate::side_by_side::side_by_side;

pub(crate) use counted::Counted;
pub(crate) use owned::{Owned, directory_of, needed_natives, owned_by_the_dead};

const NAMES_AT_ONCE: usize = 16;

/// A branch that its name means.
#[derive(Debug, Clone)]
pub(crate) struct Living {
    pub(crate) name: BranchName,
    pub(crate) branch: LiveBranch,
    /// When it was decided, on the decider's clock. For display only.
    pub(crate) since_unix_us: u64,
}

/// A name whose newest number is begun and undecided.
#[derive(Debug, Clone)]
pub(crate) struct Undecided {
    pub(crate) begun: NameBegun,
    pub(crate) age_ms: u64,
}

/// How an incarnation came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// It was live, or may have been, and was deleted.
    Deleted,
    /// It never was, and never will be.
    GivenUp,
}

/// An incarnation that no name means any more.
#[derive(Debug, Clone)]
pub(crate) struct Dead {
    pub(crate) name: BranchName,
    pub(crate) number: u64,
    pub(crate) native: NativeBranch,
    pub(crate) end: End,
    pub(crate) begun: Option<NameBegun>,
    /// The branch that it was; none where it was never live.
    pub(crate) branch: Option<LiveBranch>,
}

/// A record that is not as it should be.
#[derive(Debug, Clone)]
pub(crate) struct BadRecord {
    pub(crate) path: String,
    pub(crate) message: String,
    /// Whether the meaning of the name hangs on it.
    pub(crate) decides: bool,
}

/// What a native branch is to the graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    Live,
    Creating,
    Dead,
    /// It may be of an incarnation whose records cannot be understood.
    NotKnown,
}

/// The branches of a graph, by their records.
#[derive(Debug, Default)]
pub(crate) struct Census {
    pub(crate) living: Vec<Living>,
    pub(crate) undecided: Vec<Undecided>,
    pub(crate) dead: Vec<Dead>,
    pub(crate) bad: Vec<BadRecord>,
    /// Names whose meaning is not known.
    pub(crate) unusable: u64,
    /// Records of numbers below the highest, which nobody needs.
    pub(crate) outlived: Counted,
    standing: BTreeMap<String, Standing>,
    /// What shows of the names in native branches that cannot be told.
    not_known: BTreeSet<String>,
}

/// The records of one number.
#[derive(Debug, Default)]
struct NumberRead {
    begun: Option<NameBegun>,
    decided: Option<NameDecided>,
    bad: Vec<BadRecord>,
}

impl Census {
    /// One LIST, and up to three GETs for each number of each name, some names at a time.
    ///
    /// # Errors
    /// The storage failed, or the records of a name kept changing.
    pub(crate) async fn of(core: &Core) -> Result<Self, NameError> {
        let looks = core.names.look_all().await?;
        let reads = looks.iter().map(|look| read_name(core, look));
        let reads = side_by_side(reads, NAMES_AT_ONCE).await;
        let mut census = Self::default();
        let now_us = core.options.env.unix_micros();
        for (look, numbers) in looks.iter().zip(reads) {
            census.add(look, numbers?, now_us);
        }
        Ok(census)
    }

    /// What the native branch of this name is; none when no record speaks of it.
    pub(crate) fn standing(&self, native: &str) -> Option<Standing> {
        let by_slug = || {
            let (slug, _) = native.rsplit_once('.')?;
            self.not_known.contains(slug).then_some(Standing::NotKnown)
        };
        self.standing.get(native).copied().or_else(by_slug)
    }

    fn add(&mut self, look: &NameLook, numbers: BTreeMap<u64, NumberRead>, now_us: u64) {
        let highest = look.listing.highest().map(|(number, _)| number);
        for (number, mut read) in numbers {
            let records = &look.listing.numbers[&number];
            self.bad.append(&mut read.bad);
            if Some(number) != highest {
                self.outlived.add_all(entries(records));
                self.bury(look, number, records, &read);
                continue;
            }
            match (look.state(), look.live(), look.begun()) {
                (NameState::Live(_), Some(branch), _) => self.enlist(look, branch, &read),
                (NameState::Creating(_), _, Some(begun)) => {
                    let age_ms = records.begun.as_ref().map_or(0, |it| it.age_ms(now_us));
                    self.stand(&begun.native(), Standing::Creating);
                    self.undecided.push(Undecided { begun: begun.clone(), age_ms });
                }
                (NameState::Unusable, _, _) => {
                    self.unusable += 1;
                    self.not_known.insert(look.name.slug());
                }
                _ => self.bury(look, number, records, &read),
            }
        }
    }

    fn enlist(&mut self, look: &NameLook, branch: LiveBranch, read: &NumberRead) {
        self.stand(&branch.token.native, Standing::Live);
        let since_unix_us = read.decided.as_ref().map_or(0, |it| it.decided_at_unix_us);
        self.bad.extend(contradiction(look, &branch, read));
        self.living.push(Living { name: look.name.clone(), branch, since_unix_us });
    }

    /// An incarnation that is over; one whose attempt no record says may be any of its name's.
    fn bury(&mut self, look: &NameLook, number: u64, records: &NumberRecords, read: &NumberRead) {
        let end = if records.deleted.is_some() { End::Deleted } else { End::GivenUp };
        let native = match (&read.begun, &read.decided) {
            (Some(begun), _) => begun.native(),
            (None, Some(decided)) => decided.native(),
            (None, None) => {
                self.not_known.insert(look.name.slug());
                return;
            }
        };
        self.stand(&native, Standing::Dead);
        let (name, begun) = (look.name.clone(), read.begun.clone());
        let branch = read.decided.as_ref().and_then(NameDecided::live);
        self.dead.push(Dead { name, number, native, end, begun, branch });
    }

    fn stand(&mut self, native: &NativeBranch, standing: Standing) {
        self.standing.insert(native.to_string(), standing);
    }
}

fn entries(records: &NumberRecords) -> impl Iterator<Item = &ObjectEntry> {
    [&records.begun, &records.decided, &records.deleted].into_iter().flatten()
}

/// What a decision says of an incarnation is what its beginning said.
fn contradiction(look: &NameLook, branch: &LiveBranch, read: &NumberRead) -> Option<BadRecord> {
    let (number, records) = look.listing.highest()?;
    let decided = records.decided.as_ref()?;
    let message = match &read.begun {
        Some(begun) if begun.token() == branch.token && begun.fork == branch.fork => return None,
        Some(begun) => format!(
            "it decides {} live, but what began under number {number} is {}",
            branch.token.native,
            begun.native()
        ),
        None if records.begun.is_some() => return None,
        None => format!("number {number} was decided, and its beginning is not there"),
    };
    Some(BadRecord { path: decided.path.clone(), message, decides: true })
}

async fn read_name(core: &Core, look: &NameLook) -> Result<BTreeMap<u64, NumberRead>, NameError> {
    let mut numbers = BTreeMap::new();
    for (number, records) in &look.listing.numbers {
        let mut read = NumberRead::default();
        let place = (&look.name, *number);
        match &look.record {
            Some(LookedAt::Decided(decided)) if decided.number == *number => {
                read.decided = Some((**decided).clone());
                unknown_verdict(look, decided, records, &mut read.bad);
            }
            _ => read.decided = one(core, place, &records.decided, &mut read.bad).await?,
        }
        read.begun = one(core, place, &records.begun, &mut read.bad).await?;
        let deleted: Option<graphwrite_protocol_types::NameDeleted> =
            one(core, place, &records.deleted, &mut read.bad).await?;
        drop(deleted);
        judge(look, *number, records, &mut read.bad);
        numbers.insert(*number, read);
    }
    Ok(numbers)
}

fn unknown_verdict(
    look: &NameLook,
    decided: &NameDecided,
    records: &NumberRecords,
    bad: &mut Vec<BadRecord>,
) {
    let is_known = matches!(decided.verdict, NameVerdict::Live { .. } | NameVerdict::Void { .. });
    if let (false, Some(entry)) = (is_known, &records.decided) {
        let message = format!("branch `{}` was decided in a way that is not known", look.name);
        bad.push(BadRecord { path: entry.path.clone(), message, decides: true });
    }
}

/// Only the record that says what a name means is missed when it cannot be understood. A deletion counts
/// whatever is in it, so one that nobody can have written takes a branch away.
fn judge(look: &NameLook, number: u64, records: &NumberRecords, bad: &mut Vec<BadRecord>) {
    let highest = look.listing.highest().map(|(number, _)| number);
    if highest != Some(number) {
        return;
    }
    let is_unusable = look.state() == NameState::Unusable;
    let decided = records.decided.as_ref().or(records.begun.as_ref()).filter(|_| is_unusable);
    let deciding = records.deleted.as_ref().or(decided);
    for record in bad.iter_mut() {
        record.decides |= deciding.is_some_and(|entry| entry.path == record.path);
    }
    if let (None, None, Some(deleted)) = (&records.begun, &records.decided, &records.deleted) {
        let message = format!("number {number} was deleted, and nothing of it is there");
        bad.push(BadRecord { path: deleted.path.clone(), message, decides: true });
    }
}

async fn one<R: NameRecord>(
    core: &Core,
    (name, number): (&BranchName, u64),
    entry: &Option<ObjectEntry>,
    bad: &mut Vec<BadRecord>,
) -> Result<Option<R>, NameError> {
    if entry.is_none() {
        return Ok(None);
    }
    match core.names.read(name, number).await {
        Err(NameError::Unusable { path, cause }) => {
            let message = format!("it cannot be read: {cause}");
            bad.push(BadRecord { path, message, decides: false });
            Ok(None)
        }
        read => read,
    }
}
