//! What is durable about one branch name: its numbered create-only records, and the native branch of
//! each attempt. The production's `NameFacts` says what they come to.

use graphwrite_protocol_types::{BegunFact, DecidedFact, NameFacts, NameState, PhysicalFact};

use super::Defect;

/// How many numbers the name can come to, which is how many creators there are.
pub(crate) const NUMBERS: usize = 2;
/// How many writers there are.
pub(crate) const WRITERS: usize = 2;

/// What a number was decided to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Verdict {
    Live,
    Void,
}

/// The records of one number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct Records {
    /// `<n>.begin`, with the creator.
    pub(crate) begun: Option<u8>,
    /// `<n>.decided`.
    pub(crate) decided: Option<Verdict>,
    /// `<n>.deleted`.
    pub(crate) is_deleted: bool,
}

/// A native branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct Native {
    pub(crate) has_clone: bool,
    pub(crate) has_contents: bool,
    /// The number that each writer took the branch for when it published here.
    pub(crate) published: [Option<u8>; WRITERS],
}

/// A durable operation. All but the last three are create-only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Put {
    Begin { number: u8, creator: u8 },
    Decide { number: u8, verdict: Verdict },
    Delete { number: u8 },
    Clone { creator: u8 },
    Contents { creator: u8 },
    Publish { number: u8, creator: u8, writer: u8 },
}

/// All that a new process finds.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(crate) struct Store {
    pub(crate) numbers: [Records; NUMBERS],
    pub(crate) natives: [Native; NUMBERS],
    /// What was issued and has not arrived, in order.
    pub(crate) late: Vec<Put>,
}

impl Store {
    /// The highest number with a record; none if the name was never used.
    pub(crate) fn highest(&self) -> Option<u8> {
        let used = |it: &&Records| it.begun.is_some() || it.decided.is_some() || it.is_deleted;
        let count = self.numbers.iter().rev().skip_while(|it| !used(it)).count();
        u8::try_from(count).ok()?.checked_sub(1)
    }

    /// What the records of the highest number come to; nobody has looked at the native branch.
    pub(crate) fn listed(&self) -> NameFacts {
        self.highest().map_or(NameFacts::NONE, |number| self.facts(number))
    }

    fn facts(&self, number: u8) -> NameFacts {
        let records = self.numbers[usize::from(number)];
        NameFacts {
            begun: if records.begun.is_some() { BegunFact::Present } else { BegunFact::Absent },
            decided: match records.decided {
                None => DecidedFact::Absent,
                Some(Verdict::Live) => DecidedFact::Live,
                Some(Verdict::Void) => DecidedFact::Void,
            },
            deleted: records.is_deleted,
            ..NameFacts::NONE
        }
    }

    /// The same, with a look at the native branch of its attempt.
    pub(crate) fn looked_at(&self, defect: Defect, number: u8) -> NameFacts {
        let creator = self.numbers[usize::from(number)].begun;
        let native = creator.map(|it| self.natives[place(defect, it)]).unwrap_or_default();
        let fact = |there| if there { PhysicalFact::Own } else { PhysicalFact::Absent };
        NameFacts {
            clone: fact(native.has_clone),
            contents: fact(native.has_contents),
            ..self.facts(number)
        }
    }

    /// Whether `number` is what the name means.
    pub(crate) fn means(&self, number: u8) -> bool {
        self.highest() == Some(number) && matches!(self.listed().state(), NameState::Live(_))
    }

    /// Performs an operation; whether it took effect.
    pub(crate) fn perform(&mut self, defect: Defect, put: Put) -> bool {
        match put {
            Put::Begin { number, creator } => {
                let begun = &mut self.numbers[usize::from(number)].begun;
                let is_first = begun.is_none();
                *begun = begun.or(Some(creator));
                is_first
            }
            Put::Decide { number, verdict } => {
                let decided = &mut self.numbers[usize::from(number)].decided;
                // K2 for a name: the first decision stands.
                let counts = decided.is_none() || defect == Defect::LastDecisionWins;
                if counts {
                    *decided = Some(verdict);
                }
                counts
            }
            Put::Delete { number } => {
                self.numbers[usize::from(number)].is_deleted = true;
                true
            }
            Put::Clone { creator } => {
                self.natives[place(defect, creator)].has_clone = true;
                true
            }
            Put::Contents { creator } => {
                self.natives[place(defect, creator)].has_contents = true;
                true
            }
            Put::Publish { number, creator, writer } => {
                let native = &mut self.natives[place(defect, creator)];
                let is_there = native.has_clone && native.has_contents;
                if is_there {
                    native.published[usize::from(writer)] = Some(number);
                }
                is_there
            }
        }
    }

    /// Removes the native branch of a number that is dead for good.
    pub(crate) fn reclaim(&mut self, defect: Defect, number: u8) {
        if let Some(creator) = self.numbers[usize::from(number)].begun {
            self.natives[place(defect, creator)] = Native::default();
        }
    }

    /// The numbers whose native branch may go.
    pub(crate) fn reclaimable(&self, defect: Defect) -> impl Iterator<Item = u8> {
        let numbers = 0..self.numbers.len() as u8;
        numbers.filter(move |number| self.looked_at(defect, *number).state().rights().reclaim)
    }
}

/// Where the native branch of a creation is kept: each under the name of its attempt (K4).
pub(crate) fn place(defect: Defect, creator: u8) -> usize {
    if defect == Defect::NativeNameReused { 0 } else { usize::from(creator) }
}
