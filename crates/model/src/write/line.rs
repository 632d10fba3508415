//! The versions of one ref, and how a PUT takes the next one. It knows neither tables nor attempts.

use super::code::{Pin, Rows, Tx};

/// One version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Version {
    pub(crate) tx: Tx,
    pub(crate) rows: Rows,
    /// Cleanup has removed it, so that the name of its object is free again.
    pub(crate) is_gone: bool,
}

/// The versions of a ref from `first` on. Without versions, the dataset or ref does not exist.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(crate) struct Line {
    first: u8,
    versions: Vec<Version>,
}

/// A commit on its way: the version it makes, with the rows fixed when it was issued.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Put {
    /// The ref.
    pub(crate) line: u8,
    /// The version that it takes.
    pub(crate) version: u8,
    pub(crate) tx: Tx,
    pub(crate) rows: Rows,
    /// What of the rows is new.
    pub(crate) adds: Rows,
    /// Whether it makes the dataset or ref.
    pub(crate) creates: bool,
}

/// What became of a PUT.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Landing {
    Landed,
    Refused,
}

impl Line {
    /// A ref with one version.
    pub(crate) fn starting_at(version: u8, tx: Tx, rows: Rows) -> Self {
        Self { first: version, versions: vec![Version { tx, rows, is_gone: false }] }
    }

    /// The newest version; none if there is no such ref.
    pub(crate) fn head(&self) -> Option<Pin> {
        let version = self.top()?;
        self.get(version).map(|found| Pin { version, tx: found.tx })
    }

    fn top(&self) -> Option<u8> {
        Some(self.first + (self.versions.len() as u8).checked_sub(1)?)
    }

    /// A version, unless there is none or cleanup took it.
    pub(crate) fn get(&self, version: u8) -> Option<&Version> {
        let at = usize::from(version.checked_sub(self.first)?);
        self.versions.get(at).filter(|found| !found.is_gone)
    }

    /// The rows of a version that is exactly this one.
    pub(crate) fn rows_at(&self, pin: Pin) -> Option<Rows> {
        self.get(pin.version).filter(|found| found.tx == pin.tx).map(|found| found.rows)
    }

    /// The version that a transaction made.
    pub(crate) fn find(&self, tx: Tx) -> Option<u8> {
        (self.first..).zip(&self.versions).find(|(_, found)| found.tx == tx).map(|found| found.0)
    }

    /// K1: a strict commit, as its client sees it. It lands directly above the HEAD that it was made
    /// over, or not at all; one that is there already has landed.
    pub(crate) fn commit(&mut self, put: Put) -> Landing {
        if self.get(put.version).is_some_and(|found| found.tx == put.tx) {
            return Landing::Landed;
        }
        let is_next = match self.top() {
            Some(top) => !put.creates && put.version == top + 1,
            None => put.creates,
        };
        if is_next { self.arrive(put) } else { Landing::Refused }
    }

    /// A PUT reaches the storage. All that the storage checks is that no object of that name exists:
    /// a slot that cleanup has emptied takes it.
    pub(crate) fn arrive(&mut self, put: Put) -> Landing {
        let version = Version { tx: put.tx, rows: put.rows, is_gone: false };
        let Some(top) = self.top() else {
            *self = Self { first: put.version, versions: vec![version] };
            return Landing::Landed;
        };
        if put.version == top + 1 {
            self.versions.push(version);
            return Landing::Landed;
        }
        let at = put.version.checked_sub(self.first).map(usize::from);
        match at.and_then(|at| self.versions.get_mut(at)).filter(|found| found.is_gone) {
            Some(hole) => {
                *hole = version;
                Landing::Landed
            }
            None => Landing::Refused,
        }
    }

    /// What a commit does that is not strict: it goes on top of whatever came between.
    pub(crate) fn rebase(&mut self, put: Put) -> Landing {
        let newest = self.versions.last().copied();
        let Some((top, newest)) = self.top().zip(newest) else { return self.commit(put) };
        if self.find(put.tx).is_none() {
            self.arrive(Put { version: top + 1, rows: newest.rows.with(put.adds), ..put });
        }
        Landing::Landed
    }

    /// Cleanup removes one version. HEAD is never one that it may remove.
    pub(crate) fn collect(&mut self, version: u8) {
        let at = version.checked_sub(self.first).map(usize::from);
        if let Some(found) = at.and_then(|at| self.versions.get_mut(at)) {
            found.is_gone = true;
        }
    }

    /// The versions that are there.
    pub(crate) fn present(&self) -> impl Iterator<Item = u8> {
        let all = (self.first..).zip(&self.versions);
        all.filter(|(_, found)| !found.is_gone).map(|(version, _)| version)
    }
}
