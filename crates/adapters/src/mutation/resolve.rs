//! The statements of a mutation acting in order on what the base holds of their rows. The outcome is
//! the net change of every table, or the first thing that stood in the way. It judges no constraint.

use std::collections::BTreeMap;

use graphwrite_protocol_types::{Conflict, TableIdentity};
use graphwrite_schema::GraphSchema;

use super::base::{BaseReader, GroupRows, Overlays, register};
use super::net::net;
use super::overlay::{Overlay, Refusal, Unanswered};
use super::scans::Meter;
use super::scope::Scope;
use super::sources::Slot;
use super::statement::{Action, Group, MutationInput, Naming, OnReferenced, Selection, Step};
use super::trouble::{Subject, Trouble, unanswered};
use crate::change::Changes;
use crate::error::PrepareError;
use crate::input::limits::Usage;
use crate::input::spot::Spot;
use crate::input::{Faults, TableInput, row_key_text, within};
use crate::probe::BaseTables;

/// The net change of one table: the rows that are put, and what becomes of those of the base.
pub(super) type Net = (TableInput, Changes);

/// Lets all statements act. Nothing is kept from an earlier attempt (RFC 3.4).
pub(super) async fn resolve(
    schema: &GraphSchema,
    input: &MutationInput,
    scope: &Scope,
    tables: &BaseTables<'_>,
) -> Result<Result<Vec<Net>, Conflict>, PrepareError> {
    let mut overlays = overlays(schema, scope)?;
    let mut groups = Vec::with_capacity(input.groups.len());
    for group in &input.groups {
        let Some(overlay) = overlays.get_mut(&group.table) else { continue };
        groups.push(register(overlay, group)?);
    }
    let meter = Meter::new(input.limits);
    let reader = BaseReader { input, scope, groups: &groups, tables, meter };
    let matched = Box::pin(reader.read(&mut overlays)).await?;
    let trouble = Trouble::new(input.errors_max);
    let mut walk = Walk { input, scope, groups: &groups, matched, overlays, trouble };
    walk.act()?;
    let Walk { overlays, trouble, .. } = walk;
    match trouble.verdict()? {
        Some(conflict) => Ok(Err(conflict)),
        None => net_of(schema, input, &overlays).map(Ok),
    }
}

fn overlays<'a>(schema: &'a GraphSchema, scope: &Scope) -> Result<Overlays<'a>, PrepareError> {
    let mut overlays = Overlays::new();
    for (identity, uses) in &scope.tables {
        let columns = schema.arrow_schema(*identity);
        let Some((def, columns)) = schema.by_identity(*identity).zip(columns) else { continue };
        overlays.insert(*identity, Overlay::new(def, columns, uses.finds_by_ends)?);
    }
    Ok(overlays)
}

/// Every table that changes or has rows that are put, in identity order.
fn net_of(
    schema: &GraphSchema,
    input: &MutationInput,
    overlays: &Overlays<'_>,
) -> Result<Vec<Net>, PrepareError> {
    let (mut nets, mut usage) = (Vec::new(), Usage::default());
    let mut faults = Faults::new(input.errors_max);
    for overlay in overlays.values() {
        let Some((rows, changes)) = net(schema, overlay)? else { continue };
        usage.bytes += rows.bytes();
        usage.rows += rows.rows() as u64 + changes.removed;
        usage.tables += 1;
        usage.check(&input.limits)?;
        within::check(schema, &rows, &mut faults)?;
        nets.push((rows, changes));
    }
    faults.into_result()?;
    Ok(nets)
}

struct Walk<'s, 'a> {
    input: &'s MutationInput,
    scope: &'s Scope,
    groups: &'s [GroupRows],
    /// For each condition, by the number of its step, the rows of the base that it holds for.
    matched: BTreeMap<usize, Vec<u32>>,
    overlays: Overlays<'a>,
    trouble: Trouble,
}

impl Walk<'_, '_> {
    fn act(&mut self) -> Result<(), PrepareError> {
        let input = self.input;
        for (number, step) in input.steps.iter().enumerate() {
            match step {
                Step::Rows { group, rows } => {
                    let (known, group) = (&self.groups[*group], &input.groups[*group]);
                    rows.clone().for_each(|row| self.act_row(group, known, row));
                }
                Step::Where(selection) => self.act_where(number, selection)?,
            }
        }
        Ok(())
    }

    fn act_row(&mut self, group: &Group, known: &GroupRows, row: usize) {
        let (batch, at) = group.position(row);
        let slot = Slot { source: known.first_source + batch as u32, row: at as u32 };
        let spot = group.spots[row];
        if group.by == Naming::Parallels {
            return self.delete_between(group.table, slot, spot);
        }
        let id = known.ids[row];
        let Some(overlay) = self.overlays.get_mut(&group.table) else { return };
        let acted = match group.action {
            Action::Insert => overlay.insert(id, slot, spot),
            Action::Update => overlay.update(id, slot, spot),
            Action::Upsert => {
                overlay.upsert(id, slot, spot);
                Ok(())
            }
            Action::Delete(on) => {
                self.delete(group.table, id, on, spot);
                Ok(())
            }
        };
        if let Err(refusal) = acted {
            self.refused(group, slot, refusal, spot);
        }
    }

    fn refused(&mut self, group: &Group, slot: Slot, refusal: Refusal, spot: Spot) {
        let Some(overlay) = self.overlays.get(&group.table) else { return };
        let named_by: Vec<String> =
            overlay.def.key_columns().into_iter().map(str::to_owned).collect();
        let batch = overlay.sources.batch(slot.source);
        let key = row_key_text(batch, &named_by, slot.row as usize);
        let subject = Subject { table: &overlay.def.name, key_names: named_by.join(", "), key };
        self.trouble.refused(refusal, subject, spot);
    }

    /// Deletes a row and, with a node, the edges that name it now if they are to go with it.
    fn delete(&mut self, table: TableIdentity, id: u32, on: OnReferenced, spot: Spot) {
        let Some(overlay) = self.overlays.get_mut(&table) else { return };
        if !overlay.delete(id, spot) || on == OnReferenced::Restrict {
            return;
        }
        let key = overlay.key(id);
        for dependent in self.scope.dependents.get(&table).into_iter().flatten() {
            let Some(edges) = self.overlays.get_mut(&dependent.edge) else { continue };
            for edge in edges.take_edges_at(dependent.end, &key) {
                edges.delete(edge, spot);
            }
        }
    }

    fn delete_between(&mut self, table: TableIdentity, ends: Slot, spot: Spot) {
        let Some(edges) = self.overlays.get_mut(&table) else { return };
        for edge in edges.take_edges_between(ends) {
            edges.delete(edge, spot);
        }
    }

    /// The rows of the base for which the condition holds and that no statement has touched, and
    /// those that were put for which it holds now.
    fn act_where(&mut self, step: usize, selection: &Selection) -> Result<(), PrepareError> {
        let Some(overlay) = self.overlays.get(&selection.table) else { return Ok(()) };
        let matched = self.matched.get(&step).into_iter().flatten().copied();
        let mut going: Vec<u32> = matched.filter(|id| overlay.stands(*id)).collect();
        match overlay.matching(&selection.predicate) {
            Ok(put) => going.extend(put),
            Err(Unanswered::Predicate(error)) => {
                self.trouble.fault(unanswered(&overlay.def.name, selection, &error));
            }
            Err(Unanswered::Columns(error)) => return Err(error.into()),
        }
        for id in going {
            self.delete(selection.table, id, selection.on, selection.spot);
        }
        Ok(())
    }
}
