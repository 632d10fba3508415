//! What statements could not do, met while they act: the first one decides the answer, and those of
//! its kind are counted. It knows no table.

use graphwrite_protocol_types::Conflict;
use graphwrite_substrate::PredicateError;

use super::overlay::Refusal;
use super::statement::Selection;
use crate::error::PrepareError;
use crate::input::spot::Spot;
use crate::input::{Faults, Rule, Violation, quoted};

/// A row that a statement could not act on, as people know it.
pub(super) struct Subject<'a> {
    pub(super) table: &'a str,
    /// The columns of the key, joined.
    pub(super) key_names: String,
    pub(super) key: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Exists,
    Missing,
    Fault,
}

/// The first conflict of a kind, and how many there are.
#[derive(Debug, Default)]
struct Tally {
    first: Option<(String, String, Spot)>,
    total: u64,
}

impl Tally {
    fn note(&mut self, subject: Subject<'_>, spot: Spot) {
        self.total += 1;
        self.first.get_or_insert_with(|| (subject.table.to_owned(), quoted(&subject.key), spot));
    }
}

pub(super) struct Trouble {
    first: Option<Kind>,
    exists: Tally,
    missing: Tally,
    faults: Faults,
}

impl Trouble {
    pub(super) fn new(errors_max: usize) -> Self {
        let (exists, missing) = (Tally::default(), Tally::default());
        Self { first: None, exists, missing, faults: Faults::new(errors_max) }
    }

    pub(super) fn refused(&mut self, refusal: Refusal, subject: Subject<'_>, spot: Spot) {
        match refusal {
            Refusal::Exists => {
                self.first.get_or_insert(Kind::Exists);
                self.exists.note(subject, spot);
            }
            Refusal::Missing => {
                self.first.get_or_insert(Kind::Missing);
                self.missing.note(subject, spot);
            }
            Refusal::Repeated(earlier) => self.fault(repeated(subject, spot, earlier)),
        }
    }

    pub(super) fn fault(&mut self, violation: Violation) {
        self.first.get_or_insert(Kind::Fault);
        self.faults.push(violation);
    }

    /// The answer, if something went wrong. What follows from an earlier trouble is no news, so the
    /// first one tells the kind.
    pub(super) fn verdict(self) -> Result<Option<Conflict>, PrepareError> {
        match self.first {
            None => Ok(None),
            Some(Kind::Fault) => Ok(self.faults.into_result().map(|()| None)?),
            Some(Kind::Exists) => Ok(self.exists.first.map(|(table, key, spot)| {
                let place = Some(spot.place().to_string());
                Conflict::KeyExists { table, key, place, total: self.exists.total }
            })),
            Some(Kind::Missing) => Ok(self.missing.first.map(|(table, key, spot)| {
                let place = Some(spot.place().to_string());
                Conflict::KeyMissing { table, key, place, total: self.missing.total }
            })),
        }
    }
}

/// A condition that has no answer for some row.
pub(super) fn unanswered(table: &str, selection: &Selection, error: &PredicateError) -> Violation {
    Violation {
        place: selection.spot.place(),
        table: Some(table.to_owned()),
        field: Some("where".to_owned()),
        rule: Rule::Predicate,
        found: None,
        message: error.to_string(),
    }
}

fn repeated(subject: Subject<'_>, spot: Spot, earlier: Spot) -> Violation {
    let key = quoted(&subject.key);
    Violation {
        place: spot.place(),
        table: Some(subject.table.to_owned()),
        field: Some(subject.key_names),
        rule: Rule::Key,
        message: format!(
            "the key `{key}` cannot be inserted: {} has put it already",
            earlier.place()
        ),
        found: Some(key),
    }
}
