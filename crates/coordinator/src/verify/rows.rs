//! The rows that readers of the head see, against every rule of the schema. They are judged together,
//! in the memory of a load; what does not fit goes to a temporary file.

use futures::TryStreamExt;
use graphwrite_adapters::{
    InputBuilder, InputError, LoadLimits, PrepareError, Violations, check_graph,
};
use graphwrite_manifest::ManifestState;
use graphwrite_protocol_types::LiveHead;
use graphwrite_schema::GraphSchema;

use super::kinds;
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
    pub(crate) async fn of(core: &Core, state: &ManifestState, schema: &GraphSchema) -> Self {
        let mut judged = Self::default();
        let limits = LoadLimits { tables_max: usize::MAX, ..LoadLimits::default() };
        let mut rows = InputBuilder::new(schema).with_limits(limits).with_errors_max(LISTED_MAX);
        let mut complete = true;
        for declared in schema.types() {
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
        judged
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
