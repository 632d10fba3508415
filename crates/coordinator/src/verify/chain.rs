//! Where the rows of a table come from: the chain of its versions, each explained by a row of the
//! manifest or not at all (K1 to K3). Pure; it must not know how versions are read.

use std::collections::{BTreeMap, BTreeSet};

use graphwrite_protocol_types::{
    AttemptId, CommitId, DatasetPath, NativeBranch, PhysicalRef, Pin, TableCommit, TableIdentity,
    TxUuid,
};
use graphwrite_substrate::{SlotAction, SlotRecord};

use super::decisions::Decisions;
use super::kinds;
use crate::report::Finding;

/// A ref of a table's dataset, with what was published of it.
#[derive(Debug)]
pub(crate) struct RefFacts {
    pub(crate) identity: TableIdentity,
    /// What the table is called in messages.
    pub(crate) name: String,
    pub(crate) path: DatasetPath,
    pub(crate) physical_ref: PhysicalRef,
    /// The first version: 1, or the one that the ref was made of.
    pub(crate) first: u64,
    /// Every version that was published, each with the first commit that did; none where only the
    /// current state names it.
    pub(crate) pins: BTreeMap<(u64, TxUuid), Option<CommitId>>,
    /// The version that readers of the head see, if the ref is current.
    pub(crate) head: Option<Pin>,
}

impl RefFacts {
    pub(crate) fn add(&mut self, other: Self) {
        for (pin, commit) in other.pins {
            let known = self.pins.entry(pin).or_insert(commit);
            *known = known.or(commit);
        }
        self.head = self.head.take().or(other.head);
    }

    pub(crate) fn newest_pin(&self) -> u64 {
        self.pins.keys().map(|(version, _)| *version).max().unwrap_or_default()
    }

    /// The attempt that made the ref: its name says it (K4).
    pub(crate) fn maker(&self) -> Option<AttemptId> {
        let name = match &self.physical_ref {
            PhysicalRef::Main => self.path.as_str(),
            PhysicalRef::Named(name) => name,
        };
        name.rsplit_once('-')?.1.parse().ok()
    }
}

/// Whose rows a version holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Content {
    /// Those of commits alone.
    Committed,
    /// Those of commits alone, on top of versions that are gone.
    OnTopOfGone,
    /// Also those that this version brought, which no commit accounts for.
    Brought(u64),
}

/// The versions of one ref.
pub(crate) struct Chain<'a> {
    pub(crate) facts: &'a RefFacts,
    pub(crate) slots: &'a BTreeMap<u64, SlotRecord>,
    pub(crate) decisions: &'a Decisions<'a>,
    /// Attempts that are pending, or may be.
    pub(crate) pending: &'a BTreeSet<AttemptId>,
}

impl Chain<'_> {
    /// What is wrong with it.
    pub(crate) fn findings(&self) -> Vec<Finding> {
        let contents = self.contents();
        let mut found = self.pin_findings(&contents);
        found.extend(self.buried(&contents));
        found.extend(self.gone());
        found.extend(self.above_head());
        found
    }

    /// Whether every version up to the newest pin is there.
    pub(crate) fn is_whole(&self) -> bool {
        let mut versions = self.facts.first..=self.facts.newest_pin();
        versions.all(|version| self.slots.contains_key(&version))
    }

    /// The attempts whose steps made versions of the chain.
    pub(crate) fn makers(&self) -> impl Iterator<Item = AttemptId> {
        let commits = self.slots.values().filter_map(|slot| slot.version.tx_uuid.as_table_commit());
        let steps = commits.filter(|(_, commit)| matches!(commit, TableCommit::Step { .. }));
        steps.map(|(attempt, _)| attempt)
    }

    fn contents(&self) -> BTreeMap<u64, Content> {
        let mut contents = BTreeMap::new();
        let mut seen = BTreeSet::new();
        for (version, slot) in self.slots {
            let content = if seen.insert(&slot.version.tx_uuid) {
                self.content(slot, &contents)
            } else {
                // Our own ids are used once (K1), so the second use is not ours.
                Content::Brought(*version)
            };
            contents.insert(*version, content);
        }
        contents
    }

    fn content(&self, slot: &SlotRecord, before: &BTreeMap<u64, Content>) -> Content {
        let version = slot.version.version;
        let at = |version: u64| match version {
            version if version < self.facts.first => Content::Committed,
            version => before.get(&version).copied().unwrap_or(Content::OnTopOfGone),
        };
        let base = at(version.saturating_sub(1));
        let brought = Content::Brought(version);
        // It brings no row, whoever made it; the rows of a clone are those of a version that the branch
        // has inherited, which is judged where it was made.
        if slot.action == SlotAction::EmptyAppend || self.is_own_clone(slot) {
            return base;
        }
        let Some((attempt, commit)) = slot.version.tx_uuid.as_table_commit() else {
            return brought;
        };
        match (commit, &slot.action) {
            (TableCommit::Step { .. }, _) if self.is_committed_step(attempt, slot) => base,
            (TableCommit::Restore { .. }, SlotAction::Restore { to })
                if *to < version && self.decisions.is_aborted(attempt, self.owner()) =>
            {
                at(*to)
            }
            _ => brought,
        }
    }

    /// The branch that commits to the ref: the one that its maker has committed on.
    fn owner(&self) -> Option<&NativeBranch> {
        self.decisions.native_of(self.facts.maker()?)
    }

    /// The first version of a ref is the clone that its maker made under the version's number.
    fn is_own_clone(&self, slot: &SlotRecord) -> bool {
        let PhysicalRef::Named(_) = &self.facts.physical_ref else { return false };
        let (version, uuid) = (slot.version.version, slot.version.tx_uuid.as_str());
        let is_makers = self.facts.maker().is_some_and(|maker| {
            let rest = uuid.strip_prefix(&format!("{maker}-e"));
            let effect = rest.and_then(|rest| rest.strip_suffix("-fork"));
            effect.is_some_and(|effect| effect.parse::<u32>().is_ok())
        });
        version == self.facts.first && slot.action == SlotAction::Clone && is_makers
    }

    /// A strict commit was staged over the version that it follows (K1), and a dataset is made by the
    /// attempt that its name carries (K4).
    fn is_committed_step(&self, attempt: AttemptId, slot: &SlotRecord) -> bool {
        let is_strict = slot.read_version + 1 == slot.version.version;
        let is_own = slot.version.version > self.facts.first
            || self.facts.path.as_str().ends_with(&format!("-{attempt}"));
        let identity = self.facts.identity;
        is_strict && is_own && self.decisions.has_committed_to(attempt, identity, self.owner())
    }

    fn pin_findings(&self, contents: &BTreeMap<u64, Content>) -> Vec<Finding> {
        let mut found = Vec::new();
        let mut brought: BTreeMap<u64, Vec<&(u64, TxUuid)>> = BTreeMap::new();
        for (pin, commit) in &self.facts.pins {
            let slot = self.slots.get(&pin.0);
            if slot.is_none_or(|slot| slot.version.tx_uuid != pin.1) {
                found.push(self.lost(pin, slot, *commit));
            } else if let Some(Content::Brought(version)) = contents.get(&pin.0) {
                brought.entry(*version).or_default().push(pin);
            }
        }
        found.extend(brought.into_iter().map(|(version, pins)| self.uncommitted(version, &pins)));
        found
    }

    fn lost(
        &self,
        (version, uuid): &(u64, TxUuid),
        slot: Option<&SlotRecord>,
        commit: Option<CommitId>,
    ) -> Finding {
        let publisher =
            commit.map_or_else(|| "the head".to_owned(), |commit| format!("commit {commit}"));
        let instead = slot.map_or_else(
            || "it is not there".to_owned(),
            |slot| format!("{} has its number", slot.version.tx_uuid),
        );
        let message = format!("{publisher} published version {version} ({uuid}); {instead}");
        kinds::PIN_LOST.at(&self.facts.name, message)
    }

    fn uncommitted(&self, version: u64, pins: &[&(u64, TxUuid)]) -> Finding {
        let first = pins[0];
        let since = self.facts.pins.get(first).copied().flatten();
        let since = since.map_or_else(
            || format!("readers of version {}", first.0),
            |commit| format!("readers since commit {commit}"),
        );
        let message = format!("{since} see what {} brought", self.described(version));
        kinds::UNCOMMITTED_ROWS.at(&self.facts.name, message)
    }

    fn described(&self, version: u64) -> String {
        let slot = self.slots.get(&version);
        slot.map_or_else(|| format!("version {version}"), described)
    }

    /// Foreign versions below a pin whose rows no reader sees.
    fn buried(&self, contents: &BTreeMap<u64, Content>) -> Vec<Finding> {
        let newest = self.facts.newest_pin();
        let seen: BTreeSet<u64> = self
            .facts
            .pins
            .keys()
            .filter_map(|(version, _)| match contents.get(version)? {
                Content::Brought(by) => Some(*by),
                _ => None,
            })
            .collect();
        let identity = self.facts.identity;
        let is_foreign = |slot: &&SlotRecord| {
            if self.is_own_clone(slot) {
                return false;
            }
            let ours = slot.version.tx_uuid.as_table_commit();
            ours.is_none_or(|(attempt, _)| {
                !self.decisions.is_aborted(attempt, self.owner())
                    && !self.decisions.has_committed_to(attempt, identity, self.owner())
            })
        };
        let buried = self.slots.range(..=newest).map(|(_, slot)| slot).filter(is_foreign);
        let buried = buried.filter(|slot| !seen.contains(&slot.version.version));
        buried.map(|slot| kinds::FOREIGN_VERSION.at(&self.facts.name, described(slot))).collect()
    }

    /// Versions that are gone and that no commit needs; those that one needs are faults.
    fn gone(&self) -> Option<Finding> {
        let pinned = |version: &u64| self.facts.pins.keys().any(|(pin, _)| pin == version);
        let newest = self.facts.newest_pin();
        let gone = (self.facts.first..=newest).filter(|version| !self.slots.contains_key(version));
        let gone: Vec<u64> = gone.filter(|version| !pinned(version)).collect();
        let (first, last) = (gone.first()?, gone.last()?);
        let message = format!("{} of the versions {first} to {last} are gone", gone.len());
        Some(kinds::VERSIONS_REMOVED.at(&self.facts.name, message))
    }

    /// HEAD is the pin, or what is above it is explained.
    fn above_head(&self) -> Option<Finding> {
        let pin = self.facts.head.as_ref()?;
        let above: Vec<&SlotRecord> =
            self.slots.range(pin.version + 1..).map(|(_, slot)| slot).collect();
        let newest = above.last()?;
        let is_fence = |slot: &SlotRecord| {
            slot.version.version == pin.version + 1
                && slot.action == SlotAction::EmptyAppend
                && slot.version.tx_uuid.as_fence().is_some()
        };
        let is_pending = |slot: &SlotRecord| {
            let made = slot.version.tx_uuid.as_table_commit();
            made.is_some_and(|(attempt, _)| self.pending.contains(&attempt))
        };
        let head = format!("HEAD is {}, published is {pin}", newest.version.pin());
        let unarmed: Vec<&SlotRecord> =
            above.iter().copied().filter(|slot| !is_fence(slot) && !is_pending(slot)).collect();
        let name = &self.facts.name;
        Some(match unarmed.is_empty() {
            true if above.iter().any(|slot| is_pending(slot)) => {
                kinds::UNPUBLISHED_HEAD.at(name, head)
            }
            true => kinds::FENCE.at(name, head),
            false => {
                let listed: Vec<String> =
                    unarmed.iter().take(LISTED_MAX).map(|slot| described(slot)).collect();
                let more = unarmed.len().saturating_sub(LISTED_MAX);
                let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                kinds::DRIFT.at(name, format!("{head}; nobody armed {}{more}", listed.join(", ")))
            }
        })
    }
}

/// Versions that one finding lists.
const LISTED_MAX: usize = 8;

fn described(slot: &SlotRecord) -> String {
    let action = match &slot.action {
        SlotAction::EmptyAppend => "an empty append".to_owned(),
        SlotAction::Restore { to } => format!("a restore of version {to}"),
        SlotAction::Clone => "a clone".to_owned(),
        SlotAction::Other(name) => name.clone(),
        _ => "an action of a newer build".to_owned(),
    };
    let (version, uuid) = (slot.version.version, &slot.version.tx_uuid);
    format!("version {version} ({uuid}, {action} over version {})", slot.read_version)
}

#[cfg(test)]
mod tests;
