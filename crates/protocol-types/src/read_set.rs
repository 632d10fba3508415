//! The base a write is computed against, and the part of it that must not change (RFC 2.1, 2.2).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{BranchToken, GraphHeadToken, Pin, SchemaToken, TableHeadToken, TableIdentity};

/// One consistent view of a branch's authority, read from one manifest version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseView {
    /// The branch's incarnation.
    pub branch: BranchToken,
    /// The manifest version that was read, with its transaction.
    pub manifest: Pin,
    /// The accepted schema.
    pub schema: SchemaToken,
    /// Head of every declared table.
    pub heads: BTreeMap<TableIdentity, TableHeadToken>,
    /// The head commit.
    pub graph_head: GraphHeadToken,
}

impl BaseView {
    /// The head of `identity`; an undeclared table has none to offer and counts as tombstoned.
    pub fn head(&self, identity: TableIdentity) -> &TableHeadToken {
        self.heads.get(&identity).unwrap_or(&TableHeadToken::Tombstoned)
    }
}

/// How a write depends on a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Access {
    /// Its rows affected the decision.
    Probed,
    /// The write changes it, so its whole head token matters.
    Written,
}

/// A table in the read set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableMember {
    /// The head that was captured; absence included.
    pub head: TableHeadToken,
    /// What of it is compared.
    pub access: Access,
}

/// Every authority value of the *target* branch whose stability the prepared result needs. All of
/// it is arbitrated at every manifest commit (RFC 4.7); facts of another branch are effect
/// preconditions instead (BLOCKER-10).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadSet {
    branch: BranchToken,
    schema: SchemaToken,
    tables: BTreeMap<TableIdentity, TableMember>,
    graph_head: Option<GraphHeadToken>,
}

/// A member of the read set that has changed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Stale {
    /// The branch was deleted, or deleted and created again.
    #[error("branch `{name}` is no longer the incarnation that the write was prepared on")]
    Branch {
        /// The branch's name.
        name: String,
    },
    /// The accepted schema changed.
    #[error("the accepted schema changed while the write was prepared")]
    Schema,
    /// A table that was written or probed changed.
    #[error("table {identity} changed while the write was prepared")]
    Table {
        /// The table.
        identity: TableIdentity,
        /// How the write depends on it.
        access: Access,
    },
    /// The head commit moved and the write depends on its parentage.
    #[error("the branch head moved while the write was prepared")]
    GraphHead {
        /// The head that was captured.
        expected: GraphHeadToken,
        /// The head that was found.
        actual: GraphHeadToken,
    },
}

impl ReadSet {
    /// The members that every write has: the branch's incarnation and the accepted schema.
    pub fn new(base: &BaseView) -> Self {
        Self {
            branch: base.branch.clone(),
            schema: base.schema,
            tables: BTreeMap::new(),
            graph_head: None,
        }
    }

    /// Adds a table as captured in `base`. A table that is both probed and written is written.
    pub fn add_table(&mut self, base: &BaseView, identity: TableIdentity, access: Access) {
        let head = base.head(identity).clone();
        let member = self.tables.entry(identity).or_insert(TableMember { head, access });
        member.access = member.access.max(access);
    }

    /// Makes the grain coarse: the whole branch head becomes a member.
    pub fn add_graph_head(&mut self, head: GraphHeadToken) {
        self.graph_head = Some(head);
    }

    /// The branch's incarnation.
    pub fn branch(&self) -> &BranchToken {
        &self.branch
    }

    /// The accepted schema.
    pub fn schema(&self) -> SchemaToken {
        self.schema
    }

    /// The head commit, if the grain is coarse.
    pub fn graph_head(&self) -> Option<GraphHeadToken> {
        self.graph_head
    }

    /// The tables, in identity order.
    pub fn tables(&self) -> impl Iterator<Item = (TableIdentity, &TableMember)> {
        self.tables.iter().map(|(identity, member)| (*identity, member))
    }

    /// The captured head of one table.
    pub fn table(&self, identity: TableIdentity) -> Option<&TableMember> {
        self.tables.get(&identity)
    }

    /// Compares every member with fresh authority (RFC 4.4, 4.7).
    ///
    /// # Errors
    /// The first member that differs.
    pub fn check(&self, fresh: &BaseView) -> Result<(), Stale> {
        if self.branch != fresh.branch {
            return Err(Stale::Branch { name: self.branch.name.clone() });
        }
        if self.schema != fresh.schema {
            return Err(Stale::Schema);
        }
        self.check_graph_head(fresh.graph_head)?;
        self.tables.iter().try_for_each(|(identity, member)| {
            let holds = member.holds(fresh.head(*identity));
            holds.then_some(()).ok_or(Stale::Table { identity: *identity, access: member.access })
        })
    }

    fn check_graph_head(&self, actual: GraphHeadToken) -> Result<(), Stale> {
        match self.graph_head {
            Some(expected) if expected != actual => Err(Stale::GraphHead { expected, actual }),
            _ => Ok(()),
        }
    }
}

impl TableMember {
    fn holds(&self, fresh: &TableHeadToken) -> bool {
        match self.access {
            Access::Written => self.head == *fresh,
            Access::Probed => self.head.same_content(fresh),
        }
    }
}
