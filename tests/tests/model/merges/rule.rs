//! What a merge makes of rows, key by key: the table of `docs/merge.md`, over plain maps.

use std::collections::{BTreeMap, BTreeSet};

use graphwrite_coordinator::MergeStrategy;

use crate::model::row::{Key, Row};
use crate::model::shape::{Schema, Table};
use crate::model::state::State;

/// What is counted in one table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Counted {
    pub(super) adopted: u64,
    pub(super) rewritten: u64,
    pub(super) removed: u64,
    pub(super) converged: u64,
    /// Contradictions by kind.
    pub(super) conflicts: BTreeMap<&'static str, u64>,
}

/// What a merge comes to.
#[derive(Debug, Clone, Default)]
pub(super) struct Merged {
    /// The target with what is taken over.
    pub(super) after: State,
    pub(super) tables: BTreeMap<&'static str, Counted>,
    /// The keys that get the source's row, or lose the target's.
    pub(super) taken: BTreeSet<(&'static str, Key)>,
}

/// What becomes of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Stays,
    Taken,
    Contradicts,
}

type Side<'a> = Option<&'a Row>;

/// A row of the table in the document for one base.
fn by_one_base(base: Side<'_>, source: Side<'_>, target: Side<'_>) -> Fate {
    let (source_changed, target_changed) = (source != base, target != base);
    match (source_changed, target_changed) {
        (false, _) => Fate::Stays,
        (true, false) => Fate::Taken,
        (true, true) if source == target => Fate::Stays,
        (true, true) => Fate::Contradicts,
    }
}

/// What bases come to when each is merged with those before it. Where that contradicts itself every one of them
/// stands for itself.
fn in_turn<'a>(bases: &[(Side<'a>, Vec<Side<'a>>)]) -> Vec<Side<'a>> {
    let mut all = bases[0].0;
    for (base, older) in &bases[1..] {
        let older = if older.is_empty() { &vec![None] } else { older };
        let fates: Vec<Fate> = older.iter().map(|older| by_one_base(*older, *base, all)).collect();
        all = match fates[0] {
            _ if *base == all => all,
            fate if fates.iter().any(|other| *other != fate) => {
                return bases.iter().map(|(base, _)| *base).collect();
            }
            Fate::Stays => all,
            Fate::Taken => *base,
            Fate::Contradicts => return bases.iter().map(|(base, _)| *base).collect(),
        };
    }
    vec![all]
}

/// Every base must give the same result.
fn fate(bases: &[Side<'_>], source: Side<'_>, target: Side<'_>) -> Fate {
    if source == target {
        return Fate::Stays;
    }
    let fates: Vec<Fate> = bases.iter().map(|base| by_one_base(*base, source, target)).collect();
    let first = fates[0];
    if fates.iter().all(|fate| *fate == first) { first } else { Fate::Contradicts }
}

fn kind(bases: &[Side<'_>], source: Side<'_>, target: Side<'_>) -> &'static str {
    match (source, target) {
        (None, _) => "deleted_by_source",
        (_, None) => "deleted_by_target",
        _ if bases.iter().any(Option::is_some) => "divergent_update",
        _ => "divergent_insert",
    }
}

/// Merges `source` into `target`. Without bases both are compared with the graph without rows.
pub(super) fn merged(
    schema: &Schema,
    bases: &[(State, Vec<State>)],
    source: &State,
    target: &State,
    strategy: MergeStrategy,
) -> Merged {
    let nothing = [(State::default(), Vec::new())];
    let bases = if bases.is_empty() { &nothing } else { bases };
    let mut merged = Merged { after: target.clone(), ..Merged::default() };
    for table in schema.tables {
        let states = bases.iter().map(|(base, _)| base).chain([source, target]);
        let keys: BTreeSet<&Key> =
            states.flat_map(|state| state.rows(table.name)).map(|(key, _)| key).collect();
        for key in keys {
            let bases: Vec<_> = bases
                .iter()
                .map(|(base, older)| {
                    let older: Vec<_> = older.iter().map(|older| older.get(table, key)).collect();
                    (base.get(table, key), older)
                })
                .collect();
            let (source, target) = (source.get(table, key), target.get(table, key));
            merged.key(table, key, &bases, source, target, strategy);
        }
    }
    merged
}

impl Merged {
    fn key(
        &mut self,
        table: &'static Table,
        key: &Key,
        bases: &[(Side<'_>, Vec<Side<'_>>)],
        source: Side<'_>,
        target: Side<'_>,
        strategy: MergeStrategy,
    ) {
        let (each, bases) = (bases, &*in_turn(bases));
        let counted = self.tables.entry(table.name).or_default();
        let is_taken = match fate(bases, source, target) {
            Fate::Stays => {
                let both_changed = source == target && each.iter().any(|(base, _)| *base != target);
                counted.converged += u64::from(both_changed);
                false
            }
            Fate::Taken => true,
            Fate::Contradicts => {
                *counted.conflicts.entry(kind(bases, source, target)).or_default() += 1;
                strategy == MergeStrategy::Theirs
            }
        };
        if !is_taken {
            return;
        }
        self.taken.insert((table.name, key.clone()));
        match (source, target) {
            (Some(row), target) => {
                let is_new = target.is_none();
                counted.adopted += u64::from(is_new);
                counted.rewritten += u64::from(!is_new);
                self.after.put(table, row.clone());
            }
            (None, _) => {
                counted.removed += 1;
                self.after.remove(table, key);
            }
        }
    }

    /// Rows that contradict each other, in all tables.
    pub(super) fn row_conflicts(&self) -> u64 {
        self.tables.values().flat_map(|counted| counted.conflicts.values()).sum()
    }
}
