//! The rows of the hot fragment as one value: current state and the newest lineage and outcomes. It
//! owns which rows must be there, and must not know where they are stored.

use std::collections::{BTreeMap, BTreeSet};

use graphwrite_protocol_types::{
    AttemptId, GraphHeadToken, OperationId, SchemaToken, TableHeadToken, TableIdentity,
};

use crate::declared::declared_tables;
use crate::error::Damage;
use crate::outcome_row::OutcomeRow;
use crate::reach_row::ReachRow;
use crate::rows::{
    CommitRow, GRAPH_HEAD, GraphHeadRow, Row, RowBody, SCHEMA, SchemaRow, TABLE_HEAD, TableHeadRow,
};

/// A value with the manifest version that wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Written<T> {
    pub(crate) version: u64,
    pub(crate) value: T,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HotRows {
    pub(crate) schema: Written<SchemaRow>,
    pub(crate) graph_head: Written<GraphHeadRow>,
    pub(crate) heads: BTreeMap<TableIdentity, Written<TableHeadToken>>,
    /// Oldest first.
    pub(crate) commits: Vec<CommitRow>,
    /// Oldest first.
    pub(crate) outcomes: Vec<OutcomeRow>,
    /// Oldest first.
    pub(crate) reaches: Vec<ReachRow>,
}

/// Rows sorted by what they are, before it is known that all of them are there.
#[derive(Default)]
struct Sorted {
    schema: Option<Written<SchemaRow>>,
    graph_head: Option<Written<GraphHeadRow>>,
    heads: BTreeMap<TableIdentity, Written<TableHeadToken>>,
    commits: Vec<CommitRow>,
    outcomes: Vec<OutcomeRow>,
    reaches: Vec<ReachRow>,
}

impl Sorted {
    fn add(&mut self, row: Row) -> Result<(), Damage> {
        let (version, kind, key) = (row.version, row.body.kind(), row.body.key());
        let was_there = match row.body {
            RowBody::Schema(value) => self.schema.replace(Written { version, value }).is_some(),
            RowBody::GraphHead(value) => {
                self.graph_head.replace(Written { version, value }).is_some()
            }
            RowBody::TableHead(TableHeadRow { identity, head }) => {
                self.heads.insert(identity, Written { version, value: head }).is_some()
            }
            RowBody::Commit(row) => {
                self.commits.push(row);
                false
            }
            RowBody::Outcome(row) => {
                self.outcomes.push(row);
                false
            }
            RowBody::Reach(row) => {
                self.reaches.push(row);
                false
            }
        };
        if was_there { Err(Damage::DuplicateRow { kind, key }) } else { Ok(()) }
    }
}

impl HotRows {
    pub(crate) fn from_rows(rows: Vec<Row>) -> Result<Self, Damage> {
        let mut sorted = Sorted::default();
        rows.into_iter().try_for_each(|row| sorted.add(row))?;
        let missing = |kind, key: &str| Damage::MissingRow { kind, key: key.to_owned() };
        let mut hot = Self {
            schema: sorted.schema.ok_or_else(|| missing(SCHEMA, ""))?,
            graph_head: sorted.graph_head.ok_or_else(|| missing(GRAPH_HEAD, ""))?,
            heads: sorted.heads,
            commits: sorted.commits,
            outcomes: sorted.outcomes,
            reaches: sorted.reaches,
        };
        hot.commits.sort_by_key(|row| row.manifest_version);
        hot.outcomes.sort_by_key(|row| row.manifest_version);
        hot.reaches.sort_by_key(|row| row.manifest_version);
        hot.check_schema()?;
        Ok(hot)
    }

    /// The schema is what its hash says, and every declared table has a head.
    fn check_schema(&self) -> Result<(), Damage> {
        let SchemaRow { hash, canonical } = &self.schema.value;
        let declared = declared_tables(*hash, canonical).map_err(Damage::Schema)?;
        let headless = declared.into_iter().find(|table| !self.heads.contains_key(table));
        match headless {
            Some(table) => Err(Damage::MissingRow { kind: TABLE_HEAD, key: table.to_string() }),
            None => Ok(()),
        }
    }

    /// All rows: current state, then lineage and outcomes, oldest first.
    pub(crate) fn to_rows(&self) -> Vec<Row> {
        self.state_rows().chain(self.lineage_rows(|_| true)).collect()
    }

    fn state_rows(&self) -> impl Iterator<Item = Row> {
        let schema = &self.schema;
        let head = &self.graph_head;
        let fixed = [
            Row { version: schema.version, body: RowBody::Schema(schema.value.clone()) },
            Row { version: head.version, body: RowBody::GraphHead(head.value.clone()) },
        ];
        let heads = self.heads.iter().map(|(identity, head)| Row {
            version: head.version,
            body: RowBody::TableHead(TableHeadRow {
                identity: *identity,
                head: head.value.clone(),
            }),
        });
        fixed.into_iter().chain(heads)
    }

    /// The commit, outcome and reach rows of the versions that `selects` picks, oldest first.
    pub(crate) fn lineage_rows(&self, selects: impl Fn(u64) -> bool) -> Vec<Row> {
        let commits = self
            .commits
            .iter()
            .map(|row| Row { version: row.manifest_version, body: RowBody::Commit(row.clone()) });
        let outcomes = self
            .outcomes
            .iter()
            .map(|row| Row { version: row.manifest_version, body: RowBody::Outcome(row.clone()) });
        let reaches = self
            .reaches
            .iter()
            .map(|row| Row { version: row.manifest_version, body: RowBody::Reach(row.clone()) });
        let rows = commits.chain(outcomes).chain(reaches);
        let mut rows: Vec<Row> = rows.filter(|row| selects(row.version)).collect();
        rows.sort_by_key(|row| row.version);
        rows
    }

    /// The versions of the lineage rows, ascending.
    pub(crate) fn lineage_versions(&self) -> Vec<u64> {
        let commits = self.commits.iter().map(|row| row.manifest_version);
        let outcomes = self.outcomes.iter().map(|row| row.manifest_version);
        let reaches = self.reaches.iter().map(|row| row.manifest_version);
        let mut versions: Vec<u64> = commits.chain(outcomes).chain(reaches).collect();
        versions.sort_unstable();
        versions
    }

    /// Takes the lineage rows before `version` out.
    pub(crate) fn take_lineage_before(&mut self, version: u64) -> Vec<Row> {
        let taken = self.lineage_rows(|of| of < version);
        self.commits.retain(|row| row.manifest_version >= version);
        self.outcomes.retain(|row| row.manifest_version >= version);
        self.reaches.retain(|row| row.manifest_version >= version);
        taken
    }

    pub(crate) fn schema_token(&self) -> SchemaToken {
        SchemaToken(self.schema.value.hash)
    }

    pub(crate) fn graph_head_token(&self) -> GraphHeadToken {
        GraphHeadToken(self.graph_head.value.commit())
    }

    pub(crate) fn head_tokens(&self) -> BTreeMap<TableIdentity, TableHeadToken> {
        let tokens = self.heads.iter().map(|(identity, head)| (*identity, head.value.clone()));
        tokens.collect()
    }

    /// The outcome rows that speak of what is asked about.
    pub(crate) fn outcomes_of<'a>(
        &'a self,
        asked: &'a Concerned<'_>,
    ) -> impl Iterator<Item = &'a OutcomeRow> {
        self.outcomes.iter().filter(|row| asked.names(row))
    }
}

/// The attempts and operations whose outcomes somebody asks for.
#[derive(Debug, Default)]
pub(crate) struct Concerned<'a> {
    pub(crate) attempts: BTreeSet<AttemptId>,
    pub(crate) operations: BTreeSet<&'a OperationId>,
}

impl<'a> Concerned<'a> {
    pub(crate) fn of(
        asked: impl IntoIterator<Item = (AttemptId, Option<&'a OperationId>)>,
    ) -> Self {
        let mut concerned = Self::default();
        for (attempt, operation) in asked {
            concerned.attempts.insert(attempt);
            concerned.operations.extend(operation);
        }
        concerned
    }

    pub(crate) fn one(attempt: AttemptId, operation: Option<&'a OperationId>) -> Self {
        Self::of([(attempt, operation)])
    }

    pub(crate) fn names(&self, row: &OutcomeRow) -> bool {
        self.attempts.contains(&row.attempt) || self.operations.contains(&row.operation)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.attempts.is_empty() && self.operations.is_empty()
    }
}
