//! The rows that readers of a head see, against every rule of the schema. They are judged together,
//! in the memory of a load; what does not fit goes to a temporary file. Of a branch those are judged
//! that its own tables may have put at odds: what it has inherited was a head of its source.

use std::collections::BTreeSet;

use futures::TryStreamExt;
use graphwrite_adapters::{
    InputBuilder, InputError, LoadLimits, PrepareError, Violations, check_graph,
};
use graphwrite_manifest::ManifestState;
use graphwrite_protocol_types::{LiveHead, StableTableId, TableIdentity};
use graphwrite_schema::{GraphSchema, TypeKind};

use super::kinds;
use super::line::Line;
use crate::ReadError;
use crate::core::Core;
use crate::report::Finding;
use crate::snapshot::open_pinned;

/// Violations that are listed one by one.
const LISTED_MAX: usize = 100;

/// What the rows came to.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    pub(crate) tables: u64,
    pub(crate) rows: u64,
    pub(crate) findings: Vec<Finding>,
}

impl Rows {
    pub(crate) async fn of(line: &Line) -> Self {
        let (core, state, schema) = (&*line.core, &line.state, &line.schema);
        let (mut judged, concerned) = (Self::default(), concerned(line));
        let limits = LoadLimits { tables_max: usize::MAX, ..LoadLimits::default() };
        let mut rows = InputBuilder::new(schema).with_limits(limits).with_errors_max(LISTED_MAX);
        let mut complete = true;
        for declared in schema.types().iter().filter(|it| concerned.contains(&it.identity.table)) {
            let head = state.base().head(declared.identity);
            let Some(live) = head.live() else { continue };
            judged.tables += 1;
            if let Err(error) = read_table(core, &declared.name, live, &mut rows).await {
                complete = false;
                let found = kinds::UNREADABLE_TABLE.at(&declared.name, error.to_string());
                judged.findings.push(found);
            }
        }
        judged.rows = rows.rows();
        judged.together(core, state, schema, rows, complete).await;
        judged.place(line);
        judged
    }

    fn place(&mut self, line: &Line) {
        for finding in &mut self.findings {
            finding.place = line.place(std::mem::take(&mut finding.place));
        }
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.tables += other.tables;
        self.rows += other.rows;
        self.findings.extend(other.findings);
    }

    /// Without all rows the constraints between tables cannot be judged.
    async fn together(
        &mut self,
        core: &Core,
        state: &ManifestState,
        schema: &GraphSchema,
        rows: InputBuilder,
        complete: bool,
    ) {
        let found = match rows.finish() {
            Ok(input) if complete => check_graph(&core.store, state.base(), schema, &input).await,
            Ok(_) => Ok(()),
            Err(InputError::Invalid(violations)) => Err(PrepareError::Invalid(violations)),
            Err(error) => Err(error.into()),
        };
        match found {
            Ok(()) => {}
            Err(PrepareError::Invalid(violations)) => self.violations(&violations),
            Err(error) => {
                self.findings.push(kinds::UNCHECKED_CONSTRAINTS.at("rows", error.to_string()));
            }
        }
    }

    fn violations(&mut self, violations: &Violations) {
        for violation in violations.listed() {
            let place = violation.table.clone().unwrap_or_else(|| "rows".to_owned());
            self.findings.push(kinds::CONSTRAINT.at(place, violation.to_string()));
        }
        let unlisted = violations.total() - violations.listed().len() as u64;
        if unlisted > 0 {
            self.findings.push(kinds::CONSTRAINT.at("rows", format!("and {unlisted} more")));
        }
    }
}

/// All tables of main; of a branch those that it owns and all that rules between tables connect with
/// them.
fn concerned(line: &Line) -> BTreeSet<StableTableId> {
    let all = line.schema.types().iter();
    if line.is_main() {
        return all.map(|declared| declared.identity.table).collect();
    }
    let inherited = line.state.inherited();
    let is_own = |identity: TableIdentity| {
        line.state.base().head(identity).live().is_some() && !inherited.contains(&identity)
    };
    let own = all.map(|declared| declared.identity).filter(|identity| is_own(*identity));
    let mut concerned: BTreeSet<StableTableId> = own.map(|identity| identity.table).collect();
    loop {
        let before = concerned.len();
        for declared in line.schema.types() {
            let TypeKind::Edge(edge) = &declared.kind else { continue };
            let together = [declared.identity.table, edge.from, edge.to];
            if together.iter().any(|table| concerned.contains(table)) {
                concerned.extend(together);
            }
        }
        if concerned.len() == before {
            return concerned;
        }
    }
}

async fn read_table(
    core: &Core,
    name: &str,
    live: &LiveHead,
    rows: &mut InputBuilder,
) -> Result<(), ReadError> {
    let table = open_pinned(&core.store, live).await?;
    let mut batches = table.scan(Default::default()).await?;
    while let Some(batch) = batches.try_next().await? {
        // Rows that break a rule are collected by the builder, up to a bound.
        if rows.push_batch(name, &batch).is_err() {
            break;
        }
    }
    Ok(())
}
