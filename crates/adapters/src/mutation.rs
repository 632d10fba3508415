//! The writer kind `mutation`: statements that act in order and are one graph commit. It resolves them
//! to net changes; it must not know gates, intents or the manifest's storage.

mod base;
mod batches;
mod builder;
mod digest;
mod draft;
mod ends;
mod json;
mod net;
mod overlay;
mod partial;
mod resolve;
mod scans;
mod scope;
mod sources;
mod statement;
mod trouble;

#[cfg(test)]
mod tests;

use graphwrite_protocol_types::WriterKind;

use crate::change::TableChange;
use crate::error::PrepareError;
use crate::prepare::{PrepareContext, Signature, WritePlan, judge, plan, probed};
use crate::probe::BaseTables;

pub use builder::MutationBuilder;
pub use digest::mutation_digest;
pub use statement::{MutationInput, OnReferenced};

use resolve::resolve;
use scope::Scope;

/// The adapter of mutations.
#[derive(Debug, Clone, Copy, Default)]
pub struct MutationAdapter;

impl MutationAdapter {
    /// Stage B (RFC 4.2): reads what the statements are about, lets them act, validates what comes of
    /// it and stages that. No HEAD is moved and nothing of an earlier attempt is reused (RFC 3.4).
    ///
    /// Every table that a statement names or that goes with one is a member of the read set, rows or
    /// no rows: a condition is asked of all rows of its table, and a cascade of all edges.
    ///
    /// # Errors
    /// Statements that contradict each other or break a constraint of the graph, more rows than the
    /// limits of the request allow, a base of another schema, or storage that does not answer. No
    /// HEAD has moved.
    pub async fn prepare(
        &self,
        context: &PrepareContext<'_>,
        input: &MutationInput,
    ) -> Result<WritePlan, PrepareError> {
        let scope = Scope::of(context.schema, input);
        let named = scope.tables.keys().filter_map(|identity| {
            Some((*identity, context.schema.by_identity(*identity)?.name.as_str()))
        });
        context.check_schema(input.schema, named)?;
        if let Some(conflict) = context.unexpected_head() {
            return Ok(WritePlan::Conflict(conflict));
        }
        let mut tables = BaseTables::new(context.store, context.base);
        let mut read_set = context.read_set();
        probed(scope.tables.keys().copied(), context, &mut tables, &mut read_set).await?;
        let resolved = Box::pin(resolve(context.schema, input, &scope, &tables)).await?;
        let nets = match resolved {
            Ok(nets) => nets,
            Err(conflict) => return Ok(WritePlan::Conflict(conflict)),
        };
        let (rows, changes): (Vec<_>, Vec<_>) = nets.into_iter().unzip();
        let changes = rows.iter().zip(changes);
        let changes: Vec<_> =
            changes.map(|(rows, changes)| TableChange { rows, changes }).collect();
        judge(context, &changes, input.errors_max, &mut tables, &mut read_set).await?;
        let signature = Signature {
            request: mutation_digest(input),
            writer: WriterKind::Mutation,
            merges: None,
        };
        plan(context, signature, &changes, &tables, read_set).await
    }
}
