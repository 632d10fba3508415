//! The constraints of a schema as data. Judging rows by them is the writers' work.

use std::fmt;

use graphwrite_protocol_types::{StableTableId, TableIdentity};

use crate::cardinality::Cardinality;
use crate::ir::{EDGE_DST, EDGE_SRC, EdgeDef, GraphSchema, PropertyDef, TypeDef};
use crate::property_type::PropertyType;

/// One end of an edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum End {
    /// Where the edge starts.
    Src,
    /// Where the edge leads.
    Dst,
}

impl End {
    /// The column that holds the key of the node at this end.
    pub fn column(self) -> &'static str {
        match self {
            Self::Src => EDGE_SRC,
            Self::Dst => EDGE_DST,
        }
    }
}

/// A rule that every row of a type keeps. Shown as `Person.email unique`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Constraint {
    /// The type whose rows are judged.
    pub table: TableIdentity,
    /// The label of that type.
    pub type_name: String,
    /// What is demanded.
    pub rule: ConstraintRule,
}

/// What a constraint demands.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConstraintRule {
    /// The columns are not null, and no two rows have the same values in them.
    Key {
        /// The key columns.
        columns: Vec<String>,
    },
    /// No two rows have the same values in the columns; a row with a null in one is not judged.
    Unique {
        /// One column, or several that are unique together.
        columns: Vec<String>,
    },
    /// The column is not null.
    Required {
        /// The column.
        column: String,
    },
    /// The column is null or one of the values.
    Enum {
        /// The column.
        column: String,
        /// The allowed texts, sorted.
        values: Vec<String>,
    },
    /// The column is not null, and a node with that key exists.
    Endpoint {
        /// Which end.
        end: End,
        /// The node type at that end.
        node: StableTableId,
        /// The label of that type.
        node_name: String,
    },
    /// Every node of the `from` type has so many edges of this type.
    Cardinality {
        /// The node type whose nodes are counted for.
        from: StableTableId,
        /// How many.
        cardinality: Cardinality,
    },
}

impl Constraint {
    /// A stable code of the kind of constraint, for programs.
    pub fn code(&self) -> &'static str {
        match self.rule {
            ConstraintRule::Key { .. } => "key",
            ConstraintRule::Unique { .. } => "unique",
            ConstraintRule::Required { .. } => "required",
            ConstraintRule::Enum { .. } => "enum",
            ConstraintRule::Endpoint { .. } => "endpoint",
            ConstraintRule::Cardinality { .. } => "cardinality",
        }
    }

    /// The columns that the constraint looks at.
    pub fn columns(&self) -> Vec<&str> {
        match &self.rule {
            ConstraintRule::Key { columns } | ConstraintRule::Unique { columns } => {
                columns.iter().map(String::as_str).collect()
            }
            ConstraintRule::Required { column } | ConstraintRule::Enum { column, .. } => {
                vec![column]
            }
            ConstraintRule::Endpoint { end, .. } => vec![end.column()],
            ConstraintRule::Cardinality { .. } => vec![EDGE_SRC],
        }
    }
}

impl fmt::Display for Constraint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let ConstraintRule::Cardinality { cardinality, .. } = self.rule {
            return write!(f, "{} cardinality {cardinality}", self.type_name);
        }
        match self.columns().as_slice() {
            [column] => write!(f, "{}.{column} {}", self.type_name, self.code()),
            columns => write!(f, "{}.({}) {}", self.type_name, columns.join(", "), self.code()),
        }
    }
}

impl GraphSchema {
    /// The constraints on the rows of a type: key, endpoints, cardinality, then for each property
    /// required, enum and unique, then the composite unique sets. Empty when the schema has no
    /// such type.
    pub fn constraints_of(&self, identity: TableIdentity) -> Vec<Constraint> {
        let Some(def) = self.by_identity(identity) else { return Vec::new() };
        let mut rules = vec![ConstraintRule::Key { columns: owned(def.key_columns()) }];
        if let Some(edge) = def.edge() {
            rules.extend(self.edge_rules(edge));
        }
        let key = def.key_property().map(|key| key.id);
        for property in &def.properties {
            rules.extend(property_rules(property, Some(property.id) == key));
        }
        rules.extend(composite_rules(def));
        let constraint =
            |rule| Constraint { table: def.identity, type_name: def.name.clone(), rule };
        rules.into_iter().map(constraint).collect()
    }

    fn edge_rules(&self, edge: &EdgeDef) -> Vec<ConstraintRule> {
        let ends = [(End::Src, edge.from), (End::Dst, edge.to)].into_iter();
        let endpoint = |(end, node)| {
            let node_name = self.by_table(node)?.name.clone();
            Some(ConstraintRule::Endpoint { end, node, node_name })
        };
        let mut rules: Vec<_> = ends.filter_map(endpoint).collect();
        if edge.cardinality != Cardinality::ANY {
            let (from, cardinality) = (edge.from, edge.cardinality);
            rules.push(ConstraintRule::Cardinality { from, cardinality });
        }
        rules
    }
}

fn property_rules(property: &PropertyDef, is_key: bool) -> Vec<ConstraintRule> {
    let column = || property.name.clone();
    let mut rules = Vec::new();
    if !property.nullable && !is_key {
        rules.push(ConstraintRule::Required { column: column() });
    }
    if let PropertyType::Enum(values) = &property.property_type {
        rules.push(ConstraintRule::Enum { column: column(), values: values.clone() });
    }
    if property.unique {
        rules.push(ConstraintRule::Unique { columns: vec![column()] });
    }
    rules
}

fn composite_rules(def: &TypeDef) -> impl Iterator<Item = ConstraintRule> {
    def.unique.iter().map(|set| {
        let named = set.iter().filter_map(|id| def.property(*id));
        ConstraintRule::Unique { columns: named.map(|found| found.name.clone()).collect() }
    })
}

fn owned(names: Vec<&str>) -> Vec<String> {
    names.into_iter().map(str::to_owned).collect()
}
