//! The hot rows after a transition: pure, no storage, no arbitration. It owns what a transition may
//! change and refuses one that contradicts itself or the state.

use std::collections::BTreeSet;

use graphwrite_protocol_types::{
    CommitId, HeadChange, Intent, LiveHead, ManifestDelta, NativeBranch, NextHead, Pin, PinSlot,
    ProcessInstanceId, SchemaChange, TableHeadToken, TableIdentity,
};

use crate::declared::declared_tables;
use crate::descent::Descent;
use crate::hot::{HotRows, Written};
use crate::outcome_row::{OutcomeKind, OutcomeRow};
use crate::rows::{CommitRow, GraphHeadRow, HeadCommit, SchemaRow};
use crate::transition::{InvalidTransition, PinFate, PinMove};

/// Where and when a transition is recorded.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stamp<'a> {
    /// The manifest version that it will have.
    pub(crate) version: u64,
    pub(crate) branch_record: u64,
    /// The version at which the branch was made; 0 for main. Heads up to it are inherited.
    pub(crate) forked_at: u64,
    pub(crate) at_unix_us: u64,
    /// The native branch whose manifest it is.
    pub(crate) line: &'a NativeBranch,
}

impl HotRows {
    /// Applies the graph commit of `intent`, published by `by`, and gives its row.
    pub(crate) fn apply_commit(
        &mut self,
        intent: &Intent,
        delta: &ManifestDelta,
        by: ProcessInstanceId,
        stamp: Stamp<'_>,
    ) -> Result<CommitRow, InvalidTransition> {
        if !binds(&intent.delta, delta) {
            return Err(InvalidTransition::OtherDelta { attempt: intent.attempt });
        }
        let descent = Descent::of(intent, &self.graph_head, stamp)?;
        let commit = commit_row(intent, &descent, stamp);
        let version = stamp.version;
        if let Some(schema) = &delta.schema {
            self.apply_schema(schema, delta, version)?;
        }
        self.apply_heads(&delta.heads, stamp)?;
        self.check_identities()?;
        let head = HeadCommit { commit: commit.commit, position: descent.position };
        self.graph_head = Written { version, value: GraphHeadRow { head: Some(head) } };
        self.reaches.extend(descent.reaches);
        self.commits.push(commit.clone());
        self.outcomes.push(committed_row(intent, commit.commit, by, stamp));
        Ok(commit)
    }

    /// A newly declared table starts absent; one that is no longer declared must be dropped by the
    /// same delta.
    fn apply_schema(
        &mut self,
        schema: &SchemaChange,
        delta: &ManifestDelta,
        version: u64,
    ) -> Result<(), InvalidTransition> {
        let declared = declared_tables(schema.hash, &schema.canonical)?;
        self.check_dropped(&declared, delta)?;
        for identity in declared {
            let absent = Written { version, value: TableHeadToken::Absent };
            let head = self.heads.entry(identity).or_insert(absent);
            if head.value == TableHeadToken::Tombstoned {
                return Err(InvalidTransition::Tombstoned { identity });
            }
        }
        let value = SchemaRow { hash: schema.hash, canonical: schema.canonical.clone() };
        self.schema = Written { version, value };
        Ok(())
    }

    fn check_dropped(
        &self,
        declared: &BTreeSet<TableIdentity>,
        delta: &ManifestDelta,
    ) -> Result<(), InvalidTransition> {
        let dropped = |identity: &TableIdentity| {
            let drops = |change: &HeadChange| {
                change.identity == *identity && change.next == NextHead::Tombstoned
            };
            delta.heads.iter().any(drops)
        };
        let left = self.heads.iter().find(|(identity, head)| {
            head.value != TableHeadToken::Tombstoned
                && !declared.contains(identity)
                && !dropped(identity)
        });
        match left {
            Some((identity, _)) => Err(InvalidTransition::NotDropped { identity: *identity }),
            None => Ok(()),
        }
    }

    fn apply_heads(
        &mut self,
        changes: &[HeadChange],
        stamp: Stamp<'_>,
    ) -> Result<(), InvalidTransition> {
        let version = stamp.version;
        let mut seen = BTreeSet::new();
        changes.iter().try_for_each(|HeadChange { identity, next }| {
            let identity = *identity;
            if !seen.insert(identity) {
                return Err(InvalidTransition::Twice { identity });
            }
            let undeclared = InvalidTransition::Undeclared { identity };
            let head = self.heads.get_mut(&identity).ok_or(undeclared)?;
            if head.value == TableHeadToken::Tombstoned {
                return Err(InvalidTransition::Tombstoned { identity });
            }
            let value = head_after(identity, next)?;
            if head.version <= stamp.forked_at && is_other_version_of_same_ref(&head.value, &value)
            {
                return Err(InvalidTransition::InheritedRef { identity });
            }
            *head = Written { version, value };
            Ok(())
        })
    }

    /// No two declared tables share a stable id, and no two lifetimes of any table share an
    /// incarnation id, so that two branches can never have minted one identity twice.
    pub(crate) fn check_identities(&self) -> Result<(), InvalidTransition> {
        let mut tables = std::collections::BTreeMap::new();
        let mut incarnations = std::collections::BTreeMap::new();
        self.heads.iter().try_for_each(|(identity, head)| {
            let declared = head.value != TableHeadToken::Tombstoned;
            let same_table = declared.then(|| tables.insert(identity.table, *identity)).flatten();
            let same_lifetime = incarnations.insert(identity.incarnation, *identity);
            match same_table.or(same_lifetime) {
                Some(other) => {
                    Err(InvalidTransition::SharedIdentity { identity: *identity, other })
                }
                None => Ok(()),
            }
        })
    }

    /// Moves the pins that are where their move starts.
    pub(crate) fn apply_moves<'m>(
        &mut self,
        moves: impl IntoIterator<Item = &'m PinMove>,
        version: u64,
    ) -> Vec<(TableIdentity, PinFate)> {
        moves.into_iter().map(|pin| (pin.identity, self.apply_move(pin, version))).collect()
    }

    fn apply_move(&mut self, pin: &PinMove, version: u64) -> PinFate {
        let Some(head) = self.heads.get_mut(&pin.identity) else { return PinFate::Elsewhere };
        let TableHeadToken::Live(live) = &mut head.value else { return PinFate::Elsewhere };
        if live.pin == pin.to {
            return PinFate::AlreadyThere;
        }
        if live.pin != pin.from {
            return PinFate::Elsewhere;
        }
        live.pin = pin.to.clone();
        // The tag belonged to the version that was left.
        live.e_tag = None;
        head.version = version;
        PinFate::Moved
    }
}

/// Whether `bound` is `planned` but for output slots that were bound: binding a slot cannot change
/// the plan (RFC 2.4).
fn binds(planned: &ManifestDelta, bound: &ManifestDelta) -> bool {
    let same = |(planned, bound): (&HeadChange, &HeadChange)| {
        let mut planned = planned.clone();
        if let (NextHead::Live { pin: slot, .. }, NextHead::Live { pin, .. }) =
            (&mut planned.next, &bound.next)
            && matches!(slot, PinSlot::Output { .. })
        {
            *slot = pin.clone();
        }
        planned == *bound
    };
    planned.schema == bound.schema
        && planned.heads.len() == bound.heads.len()
        && planned.heads.iter().zip(&bound.heads).all(same)
}

fn commit_row(intent: &Intent, descent: &Descent, stamp: Stamp<'_>) -> CommitRow {
    let lineage = &intent.lineage;
    CommitRow {
        commit: lineage.commit,
        manifest_version: stamp.version,
        parents: descent.parents.clone(),
        attempt: intent.attempt,
        operation: intent.operation.clone(),
        writer: intent.writer,
        actor: lineage.actor.clone(),
        message: lineage.message.clone(),
        tables: lineage.tables.clone(),
        recorded_at_unix_us: stamp.at_unix_us,
        position: descent.position.clone(),
    }
}

/// A commit that another than its owner published says so: it is part of the audit of recovery.
fn committed_row(
    intent: &Intent,
    commit: CommitId,
    by: ProcessInstanceId,
    stamp: Stamp<'_>,
) -> OutcomeRow {
    let kind = if by == intent.owner.instance {
        OutcomeKind::Committed { commit }
    } else {
        OutcomeKind::RolledForward { commit, by }
    };
    OutcomeRow {
        attempt: intent.attempt,
        operation: intent.operation.clone(),
        request: Some(intent.request),
        branch_record: stamp.branch_record,
        manifest_version: stamp.version,
        kind,
        recorded_at_unix_us: stamp.at_unix_us,
    }
}

fn head_after(
    identity: TableIdentity,
    next: &NextHead,
) -> Result<TableHeadToken, InvalidTransition> {
    let NextHead::Live { path, physical_ref, ref_identifier, pin, content, table_schema } = next
    else {
        return Ok(TableHeadToken::Tombstoned);
    };
    let PinSlot::Exact(pin) = pin else { return Err(InvalidTransition::Unbound { identity }) };
    Ok(TableHeadToken::Live(Box::new(LiveHead {
        identity,
        path: path.clone(),
        physical_ref: physical_ref.clone(),
        ref_identifier: ref_identifier.clone(),
        pin: pin.clone(),
        // A roll-forward must publish the same bytes, and knows no tag: the uuid is the identity.
        e_tag: None,
        content: *content,
        table_schema: *table_schema,
    })))
}

/// A branch commits to its own refs only: of a ref that it has inherited it may keep the version that
/// it has inherited, and its first write makes a ref of its own (design 01 section 6).
fn is_other_version_of_same_ref(before: &TableHeadToken, after: &TableHeadToken) -> bool {
    let (Some(before), Some(after)) = (before.live(), after.live()) else { return false };
    before.path == after.path
        && before.physical_ref == after.physical_ref
        && before.pin != after.pin
}

/// A fence may be adopted only from the version directly below it.
pub(crate) fn check_fence(from: &Pin, to: &Pin) -> Result<(), InvalidTransition> {
    let above = to.version == from.version + 1 && to.tx_uuid.as_fence().is_some();
    let refused = || InvalidTransition::NotAFence { from: from.clone(), to: to.clone() };
    if above { Ok(()) } else { Err(refused()) }
}
