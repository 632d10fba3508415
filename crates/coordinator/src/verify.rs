//! `verify`: everything about a graph and all of its branches that can be checked, past every cache,
//! without writing. Each check adds findings; none stops the others.

mod branches;
mod chain;
mod decisions;
mod kinds;
mod line;
mod lineage;
mod listing;
mod origins;
mod past;
mod records;
mod rows;
mod versions;

use std::collections::BTreeSet;
use std::sync::Arc;

use graphwrite_manifest::Manifest;
use graphwrite_protocol_types::{AttemptId, ForkPoint, NativeBranch, Purpose, TableIdentity};

use crate::census::{Census, needed_natives, owned_by_the_dead};
use crate::core::Core;
use crate::report::{Finding, Severity, VerifyReport};
use crate::side_by_side::side_by_side;
use crate::tree::{Objects, Tree, objects_of};
use crate::{OpenError, ReadError};

use branches::branch_findings;
use line::{Line, cores, lines};
use origins::Origins;
use records::Records;
use rows::Rows;

pub(crate) use branches::is_there;
pub use kinds::FINDINGS;
pub(crate) use kinds::{
    ABANDONED_DATASET, ABANDONED_REF, FOREIGN_OBJECT, ORPHAN_RECORDS, PENDING_DATASET, PENDING_REF,
    RECLAIM_PENDING, STAGED_FILES, UNEXPLAINED_OBJECT, UNKNOWN_BRANCH, UNNAMED_FILES, VERSION_HINT,
};
pub(crate) use listing::Listing;
pub(crate) use versions::Named as NamedObjects;

/// How often a graph is looked at whose branches are deleted while faults are found.
const LOOKS_MAX: u32 = 4;
const ROWS_OF_BRANCHES_AT_ONCE: usize = 2;

/// Checks the graph of `core` from storage alone.
///
/// What a branch consists of may go at any time once its name is deleted. So where there are faults and
/// a branch was deleted meanwhile, the graph is looked at again, and a fault is one that both looks
/// show.
pub(crate) async fn verify(core: &Arc<Core>) -> Result<VerifyReport, ReadError> {
    let mut look = Look::over(core).await?;
    for _ in 1..LOOKS_MAX {
        if look.report.is_clean() || !look.is_outdated(core).await? {
            break;
        }
        let before = look;
        look = Look::over(core).await?;
        look.keep_confirmed(&before);
    }
    Ok(look.report)
}

/// What one look at the graph came to, and the branches that were live.
struct Look {
    report: VerifyReport,
    census: Census,
}

impl Look {
    /// What is there is looked at first, then the names, then the records, and manifests are read last:
    /// a branch was begun before anything of it was made; what a version belongs to was armed before
    /// the version was made, and is decided in the manifest before its record goes. So a graph that is
    /// written to meanwhile is explained as well.
    async fn over(core: &Arc<Core>) -> Result<Self, ReadError> {
        let core = afresh(core).await?;
        let listing = Listing::of(&core.store).await?;
        let census = Census::of(&core).await?;
        let mut findings = branch_findings(&core, &census, &listing).await?;
        let (cores, unreadable) = cores(&core, &census).await;
        findings.extend(unreadable);
        let mut records = records_of(&cores, &listing).await?;
        findings.append(&mut records.findings);
        let lines = lines(cores, &mut findings).await?;
        findings.extend(lines.iter().flat_map(heads));
        let needed = needed_natives(&census);
        let pending = &records.attempts;
        let origins = Origins::of(&core.store, &listing, &lines, &needed, pending);
        let (origins, mut rows) = futures::join!(Box::pin(origins), Box::pin(rows_of(&lines)));
        let origins = origins?;
        findings.append(&mut rows.findings);
        let objects = objects(&core, &listing, &census, &records, &origins).await?;
        findings.extend(origins.findings);
        findings.extend(objects.findings);
        findings
            .sort_by(|a, b| (b.severity, &a.place, a.code).cmp(&(a.severity, &b.place, b.code)));
        let report = VerifyReport {
            branches: lines.len() as u64,
            tables: rows.tables,
            rows: rows.rows,
            commits: origins.commits,
            versions: origins.versions,
            pending: records.armed,
            objects: objects.groups,
            findings,
        };
        Ok(Self { report, census })
    }

    /// Whether a branch that was live is not any more.
    async fn is_outdated(&self, core: &Core) -> Result<bool, ReadError> {
        let now = core.names.list_all().await?;
        Ok(self.census.living.iter().any(|living| {
            let listing = now.names.get(&living.name);
            listing.is_none_or(|listing| !listing.means(living.branch.token.record))
        }))
    }

    fn keep_confirmed(&mut self, before: &Self) {
        let seen: BTreeSet<_> =
            before.report.findings.iter().map(|found| (found.code, &found.place)).collect();
        self.report.findings.retain(|found| {
            found.severity == Severity::Note || seen.contains(&(found.code, &found.place))
        });
    }
}

/// The same graph through a client that remembers nothing.
async fn afresh(core: &Arc<Core>) -> Result<Arc<Core>, ReadError> {
    let store = core.store.reopened();
    let env = Arc::clone(&core.options.env);
    let opened = Manifest::open(&store, env, &NativeBranch::main(), core.purpose).await;
    let manifest = opened.map_err(|error| match error {
        OpenError::Substrate(error) => ReadError::Substrate(error),
        error => ReadError::Reopen(Box::new(error)),
    })?;
    Ok(Core::new(store, manifest, core.options.clone(), core.purpose))
}

/// The recovery records of main, and of every other branch that has any.
async fn records_of(
    cores: &[(Arc<Core>, Option<ForkPoint>)],
    listing: &Listing,
) -> Result<Records, ReadError> {
    let mut records = Records::default();
    for (core, fork) in cores {
        let directory = format!("_recovery/{}/", core.branch().native);
        if fork.is_none() || !listing.below(&directory).is_empty() {
            records.add(Records::of(core).await?);
        }
    }
    Ok(records)
}

async fn rows_of(lines: &[Line]) -> Rows {
    let mut all = Rows::default();
    let judged = side_by_side(lines.iter().map(Rows::of), ROWS_OF_BRANCHES_AT_ONCE).await;
    judged.into_iter().for_each(|rows| all.add(rows));
    all
}

async fn objects(
    core: &Core,
    listing: &Listing,
    census: &Census,
    records: &Records,
    origins: &Origins,
) -> Result<Objects, ReadError> {
    let mut tree = Tree::of(census);
    tree.named(&origins.named);
    tree.pending = records.attempts.clone();
    tree.staged = records.paths.clone();
    tree.orphans = orphans(core, listing, census).await?;
    let dead = census.dead.iter().filter(|dead| is_there(listing, dead)).collect();
    tree.left_by(owned_by_the_dead(core, dead).await);
    Ok(objects_of(&tree, listing.objects()))
}

/// The attempts whose records are on dead branches.
pub(crate) async fn orphans(
    core: &Core,
    listing: &Listing,
    census: &Census,
) -> Result<BTreeSet<AttemptId>, ReadError> {
    let mut orphans = BTreeSet::new();
    for dead in &census.dead {
        if !listing.below(&format!("_recovery/{}/", dead.native)).is_empty() {
            orphans.extend(core.intents.list(&dead.native).await?.attempts.into_keys());
        }
    }
    Ok(orphans)
}

/// The stamp, and the heads beside those that the schema declares. That the schema is what its hash names
/// and that every declared type has a head was checked when the state was read.
fn heads(line: &Line) -> Vec<Finding> {
    let (state, schema) = (&line.state, &line.schema);
    let mut found = Vec::new();
    if let (true, Err(refused)) = (line.is_main(), state.stamp().admit(Purpose::Write)) {
        found.push(kinds::NEWER_WRITER.at("format stamp", refused.to_string()));
    }
    let declared: BTreeSet<TableIdentity> = schema.types().iter().map(|it| it.identity).collect();
    let headed: BTreeSet<TableIdentity> = state.base().heads.keys().copied().collect();
    let is_live = |identity: &&TableIdentity| state.base().head(**identity).live().is_some();
    for identity in headed.difference(&declared).filter(is_live) {
        let message = "it has a head, but is not declared";
        found.push(kinds::UNDECLARED_HEAD.at(line.place(identity.to_string()), message));
    }
    found
}
