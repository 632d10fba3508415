//! `verify`: everything about a graph that can be checked, past every cache, without writing. Each
//! check adds findings; none stops the others.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::TryStreamExt;
use graphwrite_adapters::{
    InputBuilder, InputError, LoadLimits, PrepareError, Violations, check_graph,
};
use graphwrite_manifest::{Manifest, ManifestState};
use graphwrite_protocol_types::{CommitId, LiveHead, NativeBranch, TableIdentity};
use graphwrite_recovery::{BlockingObject, Explanation};
use graphwrite_schema::GraphSchema;
use graphwrite_substrate::TableHandle;

use crate::core::Core;
use crate::fence::is_fence_above;
use crate::recover::probe;
use crate::report::{Finding, Severity, VerifyReport};
use crate::snapshot::open_pinned;
use crate::status::newest;
use crate::tree::unnamed_objects;
use crate::{OpenError, ReadError, RecoverError};

/// Checks the graph of `core` from storage alone.
pub(crate) async fn verify(core: &Arc<Core>) -> Result<VerifyReport, ReadError> {
    let core = afresh(core).await?;
    let mut check = Check { report: VerifyReport::default(), unsettled: BTreeSet::new() };
    // Intents before tables: a table that an intent explains is no fault.
    check.intents(&core).await;
    let state = core.manifest.state().await?;
    let schema = GraphSchema::from_bytes(state.schema_canonical())?;
    check.schema(&state, &schema);
    check.tables(&core, &state, &schema).await?;
    check.lineage(&state).await?;
    check.report.findings.extend(unnamed_objects(&core, &state).await?);
    check.report.findings.sort_by(|a, b| (b.severity, &a.place).cmp(&(a.severity, &b.place)));
    Ok(check.report)
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

struct Check {
    report: VerifyReport,
    /// Tables that a pending intent may have moved.
    unsettled: BTreeSet<String>,
}

impl Check {
    fn add(&mut self, severity: Severity, code: &'static str, place: &str, message: String) {
        self.report.findings.push(Finding { severity, code, place: place.to_owned(), message });
    }

    fn fault(&mut self, code: &'static str, place: &str, message: String) {
        self.add(Severity::Fault, code, place, message);
    }

    async fn intents(&mut self, core: &Arc<Core>) {
        match probe(core).await {
            Ok(found) => {
                found.pending.iter().for_each(|intent| self.intent(intent));
                found.blocking.iter().for_each(|object| self.blocking(object));
            }
            Err(error) => self.fault("unreadable_intents", "_recovery", source_text(&error)),
        }
    }

    fn intent(&mut self, intent: &Explanation) {
        self.report.pending += 1;
        let paths = intent.effects.iter().map(|effect| effect.path.clone());
        self.unsettled.extend(paths);
        let message = format!("pending; the next overlapping write will {}", intent.decision);
        self.add(Severity::Note, "pending_intent", &intent.attempt, message);
    }

    /// It stops every write to the branch, so it is a fault although reads go on.
    fn blocking(&mut self, object: &BlockingObject) {
        let message = format!("stops writes: {}. {}", object.reason, object.remedy);
        self.fault("unusable_record", &object.object, message);
    }

    fn schema(&mut self, state: &ManifestState, schema: &GraphSchema) {
        if schema.hash() != state.base().schema.0 {
            let message = "its hash is not that of its canonical bytes".to_owned();
            self.fault("schema_hash", "schema", message);
        }
        let declared: BTreeSet<TableIdentity> = schema.types().iter().map(|t| t.identity).collect();
        let headed: BTreeSet<TableIdentity> = state.base().heads.keys().copied().collect();
        for identity in declared.difference(&headed) {
            let message = "declared, but it has no head".to_owned();
            self.fault("missing_head", &identity.to_string(), message);
        }
    }

    async fn tables(
        &mut self,
        core: &Core,
        state: &ManifestState,
        schema: &GraphSchema,
    ) -> Result<(), ReadError> {
        let mut rows =
            InputBuilder::new(schema).with_limits(all_rows()).with_errors_max(FINDINGS_MAX);
        let mut complete = true;
        for declared in schema.types() {
            let head = state.base().head(declared.identity);
            let Some(live) = head.live() else { continue };
            self.report.tables += 1;
            match self.table(core, &declared.name, live, &mut rows).await {
                Ok(()) => {}
                Err(error) => {
                    complete = false;
                    self.fault("unreadable_table", &declared.name, error.to_string());
                }
            }
        }
        self.report.rows = rows.rows();
        let found = match rows.finish() {
            Ok(input) if complete => check_graph(&core.store, state.base(), schema, &input).await,
            // Without all rows the constraints between tables cannot be judged.
            Ok(_) => Ok(()),
            Err(InputError::Invalid(violations)) => Err(PrepareError::Invalid(violations)),
            Err(error) => Err(error.into()),
        };
        match found {
            Ok(()) => {}
            Err(PrepareError::Invalid(violations)) => self.violations(&violations),
            Err(error) => self.fault("unchecked_constraints", "rows", error.to_string()),
        }
        Ok(())
    }

    async fn table(
        &mut self,
        core: &Core,
        name: &str,
        live: &LiveHead,
        rows: &mut InputBuilder,
    ) -> Result<(), ReadError> {
        let table = open_pinned(&core.store, live).await?;
        self.head(core, name, live).await?;
        self.files(name, &table).await?;
        let mut batches = table.scan(Default::default()).await?;
        while let Some(batch) = batches.try_next().await? {
            // Rows that break a rule are collected by the builder, up to a bound.
            if rows.push_batch(name, &batch).is_err() {
                break;
            }
        }
        Ok(())
    }

    async fn head(&mut self, core: &Core, name: &str, live: &LiveHead) -> Result<(), ReadError> {
        let found = newest(core, live).await?;
        if found.as_ref() == Some(&live.pin) {
            return Ok(());
        }
        let text = found.as_ref().map_or_else(|| "missing".to_owned(), ToString::to_string);
        let message = format!("HEAD is {text}, published is {}", live.pin);
        let explained = self.unsettled.contains(live.path.as_str());
        let fence = match &found {
            Some(found) => {
                let (path, physical_ref) = (&live.path, &live.physical_ref);
                is_fence_above(&core.store, path, physical_ref, &live.pin, found).await?
            }
            None => false,
        };
        match (explained, fence) {
            (true, _) => self.add(Severity::Note, "unpublished_head", name, message),
            (false, true) => self.add(Severity::Note, "fence", name, message),
            (false, false) => self.fault("drift", name, message),
        }
        Ok(())
    }

    async fn files(&mut self, name: &str, table: &TableHandle) -> Result<(), ReadError> {
        for file in table.missing_files().await? {
            self.fault("missing_file", name, format!("`{file}` is named but not there"));
        }
        Ok(())
    }

    fn violations(&mut self, violations: &Violations) {
        for violation in violations.listed() {
            let place = violation.table.clone().unwrap_or_else(|| "rows".to_owned());
            self.fault("constraint", &place, violation.to_string());
        }
        let unlisted = violations.total() - violations.listed().len() as u64;
        if unlisted > 0 {
            self.fault("constraint", "rows", format!("and {unlisted} more"));
        }
    }

    /// Every commit's parents are commits, and the head is the newest one.
    async fn lineage(&mut self, state: &ManifestState) -> Result<(), ReadError> {
        let commits = state.commits(usize::MAX).await?;
        self.report.commits = commits.len() as u64;
        let known: BTreeSet<CommitId> = commits.iter().map(|row| row.commit).collect();
        if known.len() != commits.len() {
            self.fault("lineage", "commits", "two commits share an id".to_owned());
        }
        for row in &commits {
            for parent in row.parents.iter().filter(|parent| !known.contains(parent)) {
                let message = format!("its parent {parent} is not in the history");
                self.fault("lineage", &row.commit.to_string(), message);
            }
        }
        let newest = commits.first().map(|row| row.commit);
        let head = state.base().graph_head.0;
        if newest != head {
            let message = format!("the newest commit is {newest:?}, the head is {head:?}");
            self.fault("lineage", "graph head", message);
        }
        Ok(())
    }
}

/// Violations that are listed one by one.
const FINDINGS_MAX: usize = 100;

/// Constraints between tables are judged on all rows, in as much memory as a load has.
fn all_rows() -> LoadLimits {
    LoadLimits { tables_max: usize::MAX, ..LoadLimits::default() }
}

fn source_text(error: &RecoverError) -> String {
    use std::error::Error;
    error.source().map_or_else(|| error.to_string(), |source| format!("{error}: {source}"))
}
