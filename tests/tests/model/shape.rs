//! What a schema of the model says: tables, properties and rules as plain constants, and the text
//! that the product is given of them.

use std::fmt::Write;

/// The values that a property may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    I32,
    I64,
    U32,
    OneOf(&'static [&'static str]),
}

/// One property.
#[derive(Debug, Clone, Copy)]
pub(super) struct Property {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) nullable: bool,
    pub(super) unique: bool,
}

impl Property {
    pub(super) const fn required(name: &'static str, kind: Kind) -> Self {
        Self { name, kind, nullable: false, unique: false }
    }

    pub(super) const fn nullable(name: &'static str, kind: Kind) -> Self {
        Self { name, kind, nullable: true, unique: false }
    }

    pub(super) const fn unique(self) -> Self {
        Self { unique: true, ..self }
    }

    fn text(&self) -> String {
        let kind = match self.kind {
            Kind::Text => "\"string\"".to_owned(),
            Kind::I32 => "\"i32\"".to_owned(),
            Kind::I64 => "\"i64\"".to_owned(),
            Kind::U32 => "\"u32\"".to_owned(),
            Kind::OneOf(values) => format!("\"enum\", values = {values:?}"),
        };
        let Self { name, nullable, unique, .. } = self;
        format!("{name} = {{ type = {kind}, nullable = {nullable}, unique = {unique} }}")
    }
}

/// What only nodes or only edges have.
#[derive(Debug, Clone, Copy)]
pub(super) enum Shape {
    Node { key: &'static str },
    Edge { from: &'static str, to: &'static str, min: usize, max: Option<usize>, multi: bool },
}

/// One node or edge type.
#[derive(Debug, Clone, Copy)]
pub(super) struct Table {
    pub(super) name: &'static str,
    pub(super) shape: Shape,
    pub(super) properties: &'static [Property],
    /// Properties that are unique together.
    pub(super) together: &'static [&'static [&'static str]],
}

impl Table {
    pub(super) fn is_node(&self) -> bool {
        matches!(self.shape, Shape::Node { .. })
    }

    pub(super) fn is_multi(&self) -> bool {
        matches!(self.shape, Shape::Edge { multi: true, .. })
    }

    /// The node types at both ends of an edge.
    pub(super) fn ends(&self) -> Option<(&'static str, &'static str)> {
        match self.shape {
            Shape::Node { .. } => None,
            Shape::Edge { from, to, .. } => Some((from, to)),
        }
    }

    /// The property that tells nodes apart.
    pub(super) fn key(&self) -> Option<&'static str> {
        match self.shape {
            Shape::Node { key } => Some(key),
            Shape::Edge { .. } => None,
        }
    }

    pub(super) fn property(&self, name: &str) -> Option<&'static Property> {
        self.properties.iter().find(|property| property.name == name)
    }

    /// Every set of properties that no two rows may share.
    pub(super) fn unique_sets(&self) -> impl Iterator<Item = Vec<&'static str>> {
        let single = self.properties.iter().filter(|property| property.unique);
        let single = single.map(|property| vec![property.name]);
        single.chain(self.together.iter().map(|set| set.to_vec()))
    }

    fn text(&self, out: &mut String) -> std::fmt::Result {
        let section = if self.is_node() { "node" } else { "edge" };
        writeln!(out, "[{section}.{}]", self.name)?;
        match self.shape {
            Shape::Node { key } => writeln!(out, "key = {key:?}")?,
            Shape::Edge { from, to, min, max, multi } => {
                let max = max.map_or_else(|| "*".to_owned(), |max| max.to_string());
                writeln!(out, "from = {from:?}\nto = {to:?}")?;
                writeln!(out, "cardinality = \"{min}..{max}\"\nmulti = {multi}")?;
            }
        }
        if !self.together.is_empty() {
            writeln!(out, "unique = {:?}", self.together)?;
        }
        writeln!(out, "[{section}.{}.properties]", self.name)?;
        self.properties.iter().try_for_each(|property| writeln!(out, "{}", property.text()))
    }
}

/// A graph's types.
#[derive(Debug, Clone, Copy)]
pub(super) struct Schema {
    pub(super) name: &'static str,
    pub(super) tables: &'static [Table],
}

impl Schema {
    pub(super) fn table(&self, name: &str) -> Option<&'static Table> {
        self.tables.iter().find(|table| table.name == name)
    }

    pub(super) fn edges(&self) -> impl Iterator<Item = &'static Table> {
        self.tables.iter().filter(|table| !table.is_node())
    }

    /// The schema as a file of it says it.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for table in self.tables {
            table.text(&mut text).expect("text grows");
        }
        text
    }
}
