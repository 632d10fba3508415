//! What lies below a graph's root, by name: part of the graph, residue that is understood, or
//! neither. It reads no object.

mod kind;
mod objects;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use graphwrite_manifest::{MANIFEST_PATH, ManifestState};
use graphwrite_protocol_types::{AttemptId, NativeBranch, TableHeadToken};
use graphwrite_substrate::{is_name_record, version_of_object};

use crate::census::{Census, Owned, Standing, directory_of, needed_natives};
use crate::verify::NamedObjects;

pub(crate) use kind::Kind;
pub(crate) use objects::{Objects, objects_of};

const TABLES: &str = "tables";
const RECOVERY: &str = "_recovery";
const CONTROL: &str = "_control";
const HINT: &str = "latest_version_hint.json";
const MAIN: &str = "main";

/// Whether a name at the top is a directory of the graph.
fn is_ours(top: &str) -> bool {
    [MANIFEST_PATH, TABLES, RECOVERY, CONTROL].contains(&top)
}

/// What is known of a graph, to tell its objects by.
#[derive(Debug)]
pub(crate) struct Tree<'a> {
    pub(crate) census: &'a Census,
    /// The native branches that are dead and hold versions of the lines of live ones.
    needed: BTreeMap<NativeBranch, u64>,
    /// The directories of the refs that live branches have published.
    refs: BTreeSet<String>,
    /// The directories of the refs that dead incarnations owned.
    left: BTreeSet<String>,
    /// The attempts with records on live branches.
    pub(crate) pending: BTreeSet<AttemptId>,
    /// The attempts with records on dead ones.
    pub(crate) orphans: BTreeSet<AttemptId>,
    /// The datasets on which an attempt is pending.
    pub(crate) staged: BTreeSet<String>,
    /// What the versions name; none if they were not read.
    named: Option<&'a NamedObjects>,
}

impl<'a> Tree<'a> {
    pub(crate) fn of(census: &'a Census) -> Self {
        Self {
            census,
            needed: needed_natives(census),
            refs: BTreeSet::new(),
            left: BTreeSet::new(),
            pending: BTreeSet::new(),
            orphans: BTreeSet::new(),
            staged: BTreeSet::new(),
            named: None,
        }
    }

    /// The refs that a live branch sees at its head.
    pub(crate) fn seen_at(&mut self, state: &ManifestState) {
        let live = state.base().heads.values().filter_map(TableHeadToken::live);
        self.refs.extend(live.map(directory_of));
    }

    /// What versions name that were read.
    pub(crate) fn named(&mut self, named: &'a NamedObjects) {
        self.refs.extend(named.refs.iter().cloned());
        self.named = Some(named);
    }

    /// What dead incarnations owned. Where versions were not read, all of what a needed one owned is
    /// taken for needed.
    pub(crate) fn left_by(&mut self, owned: Owned) {
        for (native, directories) in owned {
            match self.named.is_none() && self.needed.contains_key(&native) {
                true => self.refs.extend(directories),
                false => self.left.extend(directories),
            }
        }
    }

    /// What the object at `path` is, and what it is listed under.
    pub(crate) fn kind_of(&self, path: &str) -> (Kind, String) {
        let itself = |kind| (kind, path.to_owned());
        let (top, rest) = path.split_once('/').unwrap_or((path, ""));
        match top {
            _ if rest.is_empty() && is_ours(top) => itself(Kind::Unexplained),
            MANIFEST_PATH => self.in_manifest(path, rest),
            TABLES => self.in_tables(path, rest),
            RECOVERY => self.in_recovery(path, rest),
            CONTROL if is_name_record(path) => itself(Kind::NameRecord),
            CONTROL => itself(Kind::Unexplained),
            _ => (Kind::Beside, top.to_owned()),
        }
    }

    fn in_manifest(&self, path: &str, rest: &str) -> (Kind, String) {
        let Some((native, inside)) = Inside::of(rest) else {
            return self.in_ref(path, MANIFEST_PATH, rest);
        };
        let directory = format!("{MANIFEST_PATH}/tree/{native}");
        let kind = match self.standing(native) {
            Some(Standing::Live) => return self.in_known_ref(path, directory, inside),
            Some(Standing::Creating) => Kind::CreatingBranch,
            Some(Standing::NotKnown) => Kind::UndeterminedBranch,
            Some(Standing::Dead) => Kind::ReclaimBranch,
            None => Kind::UnknownBranch,
        };
        (kind, directory)
    }

    /// A dead native branch that a live one needs stands like a live one.
    fn standing(&self, native: &str) -> Option<Standing> {
        let is_needed = self.needed.keys().any(|needed| needed.as_str() == native);
        if is_needed { Some(Standing::Live) } else { self.census.standing(native) }
    }

    /// Names in here are judged, and refused, by the barrier of the branch.
    fn in_recovery(&self, path: &str, rest: &str) -> (Kind, String) {
        let Some((native, _)) = rest.split_once('/') else {
            return (Kind::Unexplained, path.to_owned());
        };
        match self.census.standing(native) {
            _ if native == MAIN => (Kind::RecoveryRecord, path.to_owned()),
            Some(Standing::Dead) => (Kind::OrphanRecord, format!("{RECOVERY}/{native}")),
            Some(_) => (Kind::RecoveryRecord, path.to_owned()),
            None => (Kind::Unexplained, path.to_owned()),
        }
    }

    fn in_tables(&self, path: &str, rest: &str) -> (Kind, String) {
        let unexplained = (Kind::Unexplained, path.to_owned());
        let Some((name, rest)) = rest.split_once('/') else { return unexplained };
        let dataset = format!("{TABLES}/{name}");
        if let Some((name, inside)) = Inside::of(rest) {
            return self.in_table_ref(path, &dataset, name, inside);
        }
        if self.refs.contains(&dataset) {
            return self.in_ref(path, &dataset, rest);
        }
        let attempt = name.rsplit_once('-').and_then(|(_, attempt)| attempt.parse().ok());
        let Some(attempt) = attempt else { return unexplained };
        match self.file_needed_by_another(path) {
            Some(kind) => (kind, dataset),
            None if self.pending.contains(&attempt) => (Kind::PendingDataset, dataset),
            None if self.is_left(&dataset, attempt) => (Kind::ReclaimDataset, dataset),
            None if self.is_open() => (Kind::UndeterminedBranch, dataset),
            None => (Kind::AbandonedDataset, dataset),
        }
    }

    fn in_table_ref(
        &self,
        path: &str,
        dataset: &str,
        name: &str,
        inside: Inside<'_>,
    ) -> (Kind, String) {
        let directory = format!("{dataset}/tree/{name}");
        if self.refs.contains(&directory) {
            return self.in_known_ref(path, directory, inside);
        }
        let attempt = name.strip_prefix("t-").and_then(|attempt| attempt.parse().ok());
        let Some(attempt) = attempt else { return (Kind::Unexplained, path.to_owned()) };
        match self.file_needed_by_another(path) {
            Some(kind) => (kind, directory),
            None if self.pending.contains(&attempt) => (Kind::PendingRef, directory),
            None if self.is_left(&directory, attempt) => (Kind::ReclaimRef, directory),
            None if self.is_open() => (Kind::UndeterminedBranch, directory),
            None => (Kind::AbandonedRef, directory),
        }
    }

    /// While a name is not decided or cannot be understood, what is not named may be its branch's, and a
    /// branch of it may read it. Who has looked at all that is named knows better.
    fn is_open(&self) -> bool {
        let is_settled = self.census.unusable == 0 && self.census.undecided.is_empty();
        !is_settled && self.named.is_none()
    }

    fn is_left(&self, directory: &str, attempt: AttemptId) -> bool {
        self.left.contains(directory) || self.orphans.contains(&attempt)
    }

    /// A ref shares the files of the one that it was made of, whoever owned that.
    fn file_needed_by_another(&self, path: &str) -> Option<Kind> {
        let is_named = self.named.is_some_and(|named| named.files.contains_key(path));
        match is_named {
            true if path.contains("/_deletions/") => Some(Kind::DeletionFile),
            true => Some(Kind::DataFile),
            false => None,
        }
    }

    fn in_known_ref(&self, path: &str, directory: String, inside: Inside<'_>) -> (Kind, String) {
        match inside {
            Inside::Contents => (Kind::RefContents, directory),
            Inside::Tree(rest) => self.in_ref(path, &directory, rest),
        }
    }

    /// An object of a ref that was published: a version, or something that a version names.
    fn in_ref(&self, path: &str, dataset: &str, rest: &str) -> (Kind, String) {
        let (directory, name) = rest.split_once('/').unwrap_or((rest, ""));
        let is_file = |it: &NamedObjects| it.files.contains_key(path);
        let kind = match directory {
            "_versions" if version_of_object(path).is_some() => match path.starts_with(TABLES) {
                true => Kind::TableVersion,
                false => Kind::ManifestVersion,
            },
            "_versions" if name == HINT => Kind::VersionHint,
            "data" => self.if_named(Kind::DataFile, dataset, is_file),
            "_deletions" => self.if_named(Kind::DeletionFile, dataset, is_file),
            "_indices" => {
                let index = name.split('/').next().unwrap_or_default();
                let index = format!("{dataset}/_indices/{index}");
                self.if_named(Kind::IndexFile, dataset, |it| it.indices.contains(&index))
            }
            "_transactions" => {
                self.if_named(Kind::TransactionFile, dataset, |it| it.transactions.contains(path))
            }
            _ => Kind::Unexplained,
        };
        match kind {
            Kind::Unexplained | Kind::VersionHint => (kind, path.to_owned()),
            kind => (kind, dataset.to_owned()),
        }
    }

    fn if_named(
        &self,
        kind: Kind,
        directory: &str,
        is_named: impl Fn(&NamedObjects) -> bool,
    ) -> Kind {
        let dataset = directory.split("/tree/").next().unwrap_or(directory);
        match self.named {
            Some(named) if !is_named(named) && self.staged.contains(dataset) => Kind::StagedFile,
            Some(named) if !is_named(named) => Kind::UnnamedFile,
            _ => kind,
        }
    }
}

/// Which of a ref's objects one is: Lance keeps them in two places.
#[derive(Debug, Clone, Copy)]
enum Inside<'p> {
    /// Lance's record of the ref.
    Contents,
    /// Below the ref's own directory.
    Tree(&'p str),
}

impl<'p> Inside<'p> {
    /// The ref's name, of an object of a dataset; none where it is of the main ref.
    fn of(rest: &'p str) -> Option<(&'p str, Self)> {
        if let Some(file) = rest.strip_prefix("_refs/branches/") {
            return Some((file.strip_suffix(".json")?, Self::Contents));
        }
        let (name, rest) = rest.strip_prefix("tree/")?.split_once('/')?;
        Some((name, Self::Tree(rest)))
    }
}
