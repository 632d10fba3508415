//! `verify`: everything about a graph that can be checked, past every cache, without writing. Each
//! check adds findings; none stops the others.

mod chain;
mod decisions;
mod kinds;
mod lineage;
mod listing;
mod past;
mod records;
mod rows;
mod versions;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use graphwrite_manifest::{History, Manifest, ManifestState};
use graphwrite_protocol_types::{AttemptId, NativeBranch, Purpose, TableIdentity};
use graphwrite_schema::GraphSchema;

use crate::core::Core;
use crate::report::{Finding, VerifyReport};
use crate::tree::{Tree, object_groups};
use crate::{OpenError, ReadError};

use chain::Chain;
use decisions::Decisions;
use lineage::Lineage;
use past::Published;
use records::Records;
use rows::Rows;
use versions::{Named, Versions, VersionsOf, missing_files, read_versions};

pub use kinds::FINDINGS;
pub(crate) use kinds::{
    ABANDONED_DATASET, FOREIGN_OBJECT, PENDING_DATASET, STAGED_FILES, UNEXPLAINED_OBJECT,
    UNNAMED_FILES, VERSION_HINT,
};
pub(crate) use listing::Listing;
pub(crate) use versions::Named as NamedObjects;

/// Checks the graph of `core` from storage alone.
///
/// What is there is looked at before the records, and the manifest is read last: what a version
/// belongs to was armed before the version was made, and is decided in the manifest before its record
/// goes. So a graph that is written to meanwhile is explained as well.
pub(crate) async fn verify(core: &Arc<Core>) -> Result<VerifyReport, ReadError> {
    let core = afresh(core).await?;
    let listing = Listing::of(&core.store).await?;
    let mut records = Records::of(&core).await?;
    let state = core.manifest.state().await?;
    let history = state.history().await?;
    let schema = GraphSchema::from_bytes(state.schema_canonical())?;
    let mut findings = std::mem::take(&mut records.findings);
    findings.extend(heads(&state, &schema));
    let (origins, rows) = futures::join!(
        Box::pin(Origins::of(&core, &listing, &history, &state, &schema, &records.attempts)),
        Box::pin(Rows::of(&core, &state, &schema)),
    );
    let origins = origins?;
    findings.extend(rows.findings);
    findings.extend(origins.findings);
    let tree = Tree::of(&state, &records.attempts, &records.paths, Some(&origins.named));
    let (objects, unnamed) = object_groups(&tree, listing.objects());
    findings.extend(unnamed);
    findings.sort_by(|a, b| (b.severity, &a.place, a.code).cmp(&(a.severity, &b.place, b.code)));
    Ok(VerifyReport {
        tables: rows.tables,
        rows: rows.rows,
        commits: history.commits.len() as u64,
        versions: origins.versions,
        pending: records.armed,
        objects,
        findings,
    })
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

/// The stamp, and the heads beside those that the schema declares. That the schema is what its hash names
/// and that every declared type has a head was checked when the state was read.
fn heads(state: &ManifestState, schema: &GraphSchema) -> Vec<Finding> {
    let mut found = Vec::new();
    if let Err(refused) = state.stamp().admit(Purpose::Write) {
        found.push(kinds::NEWER_WRITER.at("format stamp", refused.to_string()));
    }
    let declared: BTreeSet<TableIdentity> = schema.types().iter().map(|it| it.identity).collect();
    let headed: BTreeSet<TableIdentity> = state.base().heads.keys().copied().collect();
    let is_live = |identity: &&TableIdentity| state.base().head(**identity).live().is_some();
    for identity in headed.difference(&declared).filter(is_live) {
        let message = "it has a head, but is not declared";
        found.push(kinds::UNDECLARED_HEAD.at(identity.to_string(), message));
    }
    found
}

/// Where everything that was ever published comes from.
#[derive(Debug, Default)]
struct Origins {
    named: Named,
    versions: u64,
    findings: Vec<Finding>,
}

impl Origins {
    async fn of(
        core: &Core,
        listing: &Listing,
        history: &History,
        state: &ManifestState,
        schema: &GraphSchema,
        pending: &BTreeSet<AttemptId>,
    ) -> Result<Self, ReadError> {
        let mut origins = Self::default();
        let published = Published::of(core, history, state, schema).await;
        origins.findings.extend(published.findings);
        let manifest = VersionsOf::manifest(state.version());
        let manifest = origins.read(core, listing, &manifest).await;
        let (head, newest) = (state.base().graph_head.0, state.version());
        let lineage = Lineage { history, head, newest, slots: &manifest.slots };
        origins.findings.extend(lineage.findings());
        let decisions = Decisions::of(history);
        let mut made = Made::default();
        for facts in published.refs.values() {
            let versions = origins.read(core, listing, &VersionsOf::of(facts)).await;
            let slots = &versions.slots;
            let chain = Chain { facts, slots, decisions: &decisions, pending };
            origins.findings.extend(chain.findings());
            made.add(facts.identity, &facts.name, &chain);
        }
        origins.findings.extend(made.lost(&decisions));
        origins.findings.extend(missing_files(&core.store, listing, &origins.named).await?);
        Ok(origins)
    }

    async fn read(&mut self, core: &Core, listing: &Listing, of: &VersionsOf) -> Versions {
        let mut versions = read_versions(&core.store, of, listing, &mut self.named).await;
        self.versions += versions.slots.len() as u64;
        self.findings.append(&mut versions.findings);
        versions
    }
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
            self.whole.insert(identity, name.to_owned());
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
