//! Where everything that was ever published on a live branch comes from: the lines of all branches, the
//! versions of their native branches and of the refs of tables.

use std::collections::{BTreeMap, BTreeSet};

use graphwrite_manifest::{History, ManifestError};
use graphwrite_protocol_types::{AttemptId, NativeBranch, TableIdentity};
use graphwrite_substrate::{SlotRecord, Store};

use super::chain::Chain;
use super::decisions::Decisions;
use super::kinds;
use super::line::Line;
use super::lineage::Lineage;
use super::listing::Listing;
use super::past::Published;
use super::versions::{Named, Versions, VersionsOf, missing_files, read_versions};
use crate::ReadError;
use crate::report::Finding;
use crate::side_by_side::side_by_side;

const LINES_AT_ONCE: usize = 4;

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct Origins {
    pub(crate) named: Named,
    pub(crate) commits: u64,
    pub(crate) versions: u64,
    pub(crate) findings: Vec<Finding>,
    /// The versions of each native branch that a line goes through.
    manifests: BTreeMap<NativeBranch, BTreeMap<u64, SlotRecord>>,
}

impl Origins {
    pub(crate) async fn of(
        store: &Store,
        listing: &Listing,
        lines: &[Line],
        needed: &BTreeMap<NativeBranch, u64>,
        pending: &BTreeSet<AttemptId>,
    ) -> Result<Self, ReadError> {
        let mut origins = Self::default();
        let histories = histories(lines).await?;
        let published = published(lines, &histories).await;
        origins.findings.extend(published.findings);
        let natives = lines.iter().map(|line| (line.native().clone(), line.state.version()));
        let needed = needed.iter().map(|(native, until)| (native.clone(), *until));
        for (native, newest) in natives.chain(needed) {
            let of = VersionsOf::manifest(&native, newest);
            let versions = origins.read(store, listing, &of).await;
            origins.manifests.insert(native, versions.slots);
        }
        let mut decisions = Decisions::default();
        for (line, history) in lines.iter().zip(&histories) {
            origins.commits += history.commits.len() as u64;
            decisions.add(history, |version| line.holder_of(version));
            let found = origins.lineage(line, history);
            origins.findings.extend(found);
        }
        let mut made = Made::default();
        for facts in published.refs.values() {
            let versions = origins.read(store, listing, &VersionsOf::of(facts)).await;
            let slots = &versions.slots;
            let chain = Chain { facts, slots, decisions: &decisions, pending };
            origins.findings.extend(chain.findings());
            made.add(facts.identity, &facts.name, &chain);
        }
        origins.findings.extend(made.lost(&decisions));
        origins.findings.extend(missing_files(store, listing, &origins.named).await?);
        Ok(origins)
    }

    async fn read(&mut self, store: &Store, listing: &Listing, of: &VersionsOf) -> Versions {
        let mut versions = read_versions(store, of, listing, &mut self.named).await;
        self.versions += versions.slots.len() as u64;
        self.findings.append(&mut versions.findings);
        versions
    }

    /// The part of a line that no other line shows, and what the branch was made of.
    fn lineage(&self, line: &Line, history: &History) -> Vec<Finding> {
        let (head, newest) = (line.state.base().graph_head.0, line.state.version());
        let slots = self.slots_of(line);
        let forks = line.forks();
        let lineage = Lineage { history, head, newest, slots: &slots, forks: &forks };
        let mut found = lineage.findings();
        found.extend(self.lost_fork(line));
        found.extend(other_base(line, history));
        for finding in &mut found {
            finding.place = line.place(std::mem::take(&mut finding.place));
        }
        found
    }

    fn slots_of(&self, line: &Line) -> BTreeMap<u64, SlotRecord> {
        let mut slots = BTreeMap::new();
        let mut from = line.since + 1;
        let ends = line.forks().into_iter().chain([u64::MAX]);
        for until in ends.filter(|until| *until > line.since) {
            let held = self.manifests.get(&line.holder_of(from));
            let held = held.into_iter().flat_map(|versions| versions.range(from..=until));
            slots.extend(held.map(|(version, slot)| (*version, slot.clone())));
            from = until.saturating_add(1);
        }
        slots
    }

    fn lost_fork(&self, line: &Line) -> Option<Finding> {
        let fork = line.fork.as_ref()?;
        let (native, at) = (fork.cloned_from(), &fork.manifest);
        let found = self.manifests.get(native).and_then(|slots| slots.get(&at.version));
        if found.is_some_and(|slot| slot.version.tx_uuid == at.tx_uuid) {
            return None;
        }
        let instead = found.map_or_else(
            || "it is not there".to_owned(),
            |slot| format!("{} has its number", slot.version.tx_uuid),
        );
        let message = format!("it was made of {at} of {native}; {instead}");
        Some(kinds::FORK_LOST.at("fork", message))
    }
}

/// The commits of a branch go on from the one that it was made of.
fn other_base(line: &Line, history: &History) -> Option<Finding> {
    let fork = line.fork.as_ref().filter(|fork| fork.manifest.version == line.since)?;
    let base = history.base.as_ref().map(|row| row.commit);
    if base == fork.commit {
        return None;
    }
    let name = |commit: Option<graphwrite_protocol_types::CommitId>| {
        commit.map_or_else(|| "none".to_owned(), |commit| commit.to_string())
    };
    let message = format!(
        "it was made of commit {}, and its history goes on from {}",
        name(fork.commit),
        name(base)
    );
    Some(kinds::LINEAGE.at("fork", message))
}

async fn histories(lines: &[Line]) -> Result<Vec<History>, ManifestError> {
    let reads = lines.iter().map(|line| line.state.history_since(line.since));
    side_by_side(reads, LINES_AT_ONCE).await.into_iter().collect()
}

async fn published(lines: &[Line], histories: &[History]) -> Published {
    let reads = lines.iter().zip(histories).map(|(line, history)| Published::of(line, history));
    let mut all = Published::default();
    side_by_side(reads, LINES_AT_ONCE).await.into_iter().for_each(|of_line| all.add(of_line));
    all
}

/// Which attempts made versions of which tables.
#[derive(Default)]
struct Made {
    makers: BTreeSet<(AttemptId, TableIdentity)>,
    /// The tables all of whose versions are there, by name.
    whole: BTreeMap<TableIdentity, String>,
    broken: BTreeSet<TableIdentity>,
}

impl Made {
    fn add(&mut self, identity: TableIdentity, name: &str, chain: &Chain<'_>) {
        self.makers.extend(chain.makers().map(|attempt| (attempt, identity)));
        if chain.is_whole() {
            self.whole.entry(identity).or_insert_with(|| name.to_owned());
        } else {
            self.broken.insert(identity);
        }
    }

    /// The commits that changed a table and left no version in it.
    fn lost(&self, decisions: &Decisions<'_>) -> Vec<Finding> {
        let lost = decisions.changes().filter_map(|(attempt, identity, row)| {
            let name = self.whole.get(&identity).filter(|_| !self.broken.contains(&identity))?;
            let is_there = self.makers.contains(&(attempt, identity));
            let message = format!("commit {} changed it, and made no version of it", row.commit);
            (!is_there).then(|| kinds::LOST_VERSION.at(name, message))
        });
        lost.collect()
    }
}
