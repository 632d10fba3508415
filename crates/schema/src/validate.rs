//! The rules that a schema as a whole keeps, whether it was just declared or read from bytes. It
//! expects the canonical order and changes nothing.

use std::collections::BTreeSet;

use graphwrite_protocol_types::StableTableId;
use thiserror::Error;

use crate::error::{BrokenRule, Place, SchemaError};
use crate::ir::{EDGE_DST, EDGE_ID, EDGE_SRC, EdgeDef, PropertyDef, PropertyId, TypeDef, TypeKind};
use crate::name::{DistinctNames, NameError, check_name};

/// The largest number of properties of one type.
pub const PROPERTIES_MAX: usize = 4096;

/// Checks all rules over types in canonical order.
pub(crate) fn check_types(types: &[TypeDef]) -> Result<(), SchemaError> {
    check_identities(types)?;
    check_type_names(types)?;
    let nodes = types.iter().filter(|def| def.is_node()).map(|def| def.identity.table).collect();
    types.iter().try_for_each(|def| check_type(def, &nodes))
}

fn check_identities(types: &[TypeDef]) -> Result<(), SchemaError> {
    let (mut tables, mut incarnations) = (BTreeSet::new(), BTreeSet::new());
    for def in types {
        let fresh = tables.insert(def.identity.table);
        if !(incarnations.insert(def.identity.incarnation) && fresh) {
            let found = def.identity.to_string();
            return Err(SchemaError::new(def.place(), ReferenceError::IdentityRepeated { found }));
        }
    }
    Ok(())
}

/// Nodes and edges share one name space: a table is called by its type's name.
fn check_type_names(types: &[TypeDef]) -> Result<(), SchemaError> {
    let mut by_name: Vec<&TypeDef> = types.iter().collect();
    // Identities are random; which of two names comes second must not be.
    by_name.sort_by_key(|def| (!def.is_node(), &def.name));
    let mut names = DistinctNames::default();
    for def in by_name {
        let checked = check_name(&def.name).and_then(|()| names.add(&def.name));
        checked.map_err(|error| SchemaError::new(def.place(), error))?;
    }
    Ok(())
}

fn check_type(def: &TypeDef, nodes: &BTreeSet<StableTableId>) -> Result<(), SchemaError> {
    check_property_ids(def)?;
    check_property_names(def)?;
    def.properties.iter().try_for_each(|property| check_property(def, property))?;
    check_unique_sets(def)?;
    match &def.kind {
        TypeKind::Node { key } => check_key(def, *key),
        TypeKind::Edge(edge) => check_edge(def, edge, nodes),
    }
}

fn check_property_ids(def: &TypeDef) -> Result<(), SchemaError> {
    let refused = |error: ReferenceError| Err(SchemaError::new(def.place(), error));
    if def.properties.len() > PROPERTIES_MAX {
        return refused(ReferenceError::TooManyProperties { found: def.properties.len() });
    }
    let mut free = 1;
    for property in &def.properties {
        if property.id.0 < free || property.id.0 >= def.next_property_id {
            return refused(ReferenceError::PropertyId { found: property.id.0 });
        }
        free = property.id.0 + 1;
    }
    if def.next_property_id < 1 {
        return refused(ReferenceError::PropertyId { found: def.next_property_id });
    }
    Ok(())
}

fn check_property_names(def: &TypeDef) -> Result<(), SchemaError> {
    let mut names = DistinctNames::default();
    for property in &def.properties {
        let checked = check_name(&property.name)
            .and_then(|()| check_reserved(def, property))
            .and_then(|()| names.add(&property.name));
        checked.map_err(|error| SchemaError::new(property_place(def, property), error))?;
    }
    Ok(())
}

/// The names of an edge's own columns, and of a node row's id, cannot be those of properties.
fn check_reserved(def: &TypeDef, property: &PropertyDef) -> Result<(), NameError> {
    let is = |name: &str| property.name.eq_ignore_ascii_case(name);
    let reason = match def.kind {
        TypeKind::Edge(_) if is(EDGE_ID) || is(EDGE_SRC) || is(EDGE_DST) => {
            "edges have columns `id`, `src` and `dst` of their own"
        }
        TypeKind::Node { key } if is("id") && !(property.id == key && property.name == "id") => {
            "`id` is the value of the node's key, so only the key may be called `id`"
        }
        _ => return Ok(()),
    };
    Err(NameError::Reserved { found: property.name.clone(), reason })
}

fn check_property(def: &TypeDef, property: &PropertyDef) -> Result<(), SchemaError> {
    let place = property_place(def, property);
    if let Err(error) = property.property_type.check() {
        return Err(SchemaError::new(place.child(error.attribute()), error));
    }
    if property.unique {
        check_uniqueness(property)
            .map_err(|error| SchemaError::new(place.child("unique"), error))?;
    }
    Ok(())
}

fn check_uniqueness(property: &PropertyDef) -> Result<(), UniqueError> {
    if property.property_type.can_be_unique() {
        return Ok(());
    }
    let found = property.property_type.to_string();
    Err(UniqueError::Type { property: property.name.clone(), found })
}

fn check_unique_sets(def: &TypeDef) -> Result<(), SchemaError> {
    let place = || def.place().child("unique");
    for set in &def.unique {
        check_unique_set(def, set).map_err(|error| SchemaError::new(place(), error))?;
    }
    match def.unique.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => {
            let found = names_of(def, &pair[0]);
            Err(SchemaError::new(place(), UniqueError::RepeatedSet { found }))
        }
        None => Ok(()),
    }
}

fn check_unique_set(def: &TypeDef, set: &[PropertyId]) -> Result<(), UniqueError> {
    if set.len() < 2 {
        return Err(UniqueError::TooShort { found: names_of(def, set) });
    }
    if let Some(pair) = set.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(UniqueError::RepeatedProperty { found: names_of(def, &pair[..1]) });
    }
    for id in set {
        let missing = || UniqueError::UnknownProperty { found: id.to_string() };
        check_uniqueness(def.property(*id).ok_or_else(missing)?)?;
    }
    Ok(())
}

fn names_of(def: &TypeDef, set: &[PropertyId]) -> String {
    let name =
        |id: &PropertyId| def.property(*id).map_or(id.to_string(), |found| found.name.clone());
    set.iter().map(name).collect::<Vec<_>>().join(", ")
}

fn check_key(def: &TypeDef, key: PropertyId) -> Result<(), SchemaError> {
    let refused = |error: KeyError| SchemaError::new(def.place().child("key"), error);
    let property = def
        .property(key)
        .ok_or_else(|| refused(KeyError::UnknownProperty { found: key.to_string() }))?;
    let (found, name) = (property.property_type.to_string(), property.name.clone());
    if !property.property_type.scalar().is_some_and(|scalar| scalar.is_key()) {
        return Err(refused(KeyError::Type { key: name, found }));
    }
    if property.nullable {
        return Err(refused(KeyError::Nullable { key: name }));
    }
    Ok(())
}

fn check_edge(
    def: &TypeDef,
    edge: &EdgeDef,
    nodes: &BTreeSet<StableTableId>,
) -> Result<(), SchemaError> {
    let cardinality = |error| SchemaError::new(def.place().child("cardinality"), error);
    edge.cardinality.check().map_err(cardinality)?;
    for (attribute, end) in [("from", edge.from), ("to", edge.to)] {
        if !nodes.contains(&end) {
            let error = ReferenceError::UnknownNode { found: end.to_string() };
            return Err(SchemaError::new(def.place().child(attribute), error));
        }
    }
    Ok(())
}

fn property_place(def: &TypeDef, property: &PropertyDef) -> Place {
    def.place().child("properties").child(&property.name)
}

/// A node's key was refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The key is not a property of the type.
    #[error("the key `{found}` is not a property of the type")]
    UnknownProperty {
        /// The refused key.
        found: String,
    },
    /// The key may be null.
    #[error("the key `{key}` is nullable, but every node has an id")]
    Nullable {
        /// The key property.
        key: String,
    },
    /// The key's type has no exact, ordered values.
    #[error("the key `{key}` has type `{found}`, which cannot be a key")]
    Type {
        /// The key property.
        key: String,
        /// Its type.
        found: String,
    },
}

impl BrokenRule for KeyError {
    fn code(&self) -> &'static str {
        match self {
            Self::UnknownProperty { .. } => "schema.key_unknown",
            Self::Nullable { .. } => "schema.key_nullable",
            Self::Type { .. } => "schema.key_type",
        }
    }

    fn remedy(&self) -> &'static str {
        match self {
            Self::UnknownProperty { .. } => "declare the property or name another one",
            Self::Nullable { .. } => "remove `nullable = true` from the property",
            Self::Type { .. } => "choose a property of type string, i32, i64, u32 or u64",
        }
    }
}

/// A uniqueness rule was refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum UniqueError {
    /// The set has fewer than two properties.
    #[error("the unique set [{found}] has fewer than two properties")]
    TooShort {
        /// The properties of the set.
        found: String,
    },
    /// The set names something that is not a property.
    #[error("`{found}` is not a property of the type")]
    UnknownProperty {
        /// The refused name.
        found: String,
    },
    /// The set names a property twice.
    #[error("`{found}` stands twice in one unique set")]
    RepeatedProperty {
        /// The repeated property.
        found: String,
    },
    /// Two sets have the same properties.
    #[error("the unique set [{found}] is listed twice")]
    RepeatedSet {
        /// The properties of the set.
        found: String,
    },
    /// Values of the type cannot be compared exactly.
    #[error("`{property}` has type `{found}`, which cannot be unique")]
    Type {
        /// The property.
        property: String,
        /// Its type.
        found: String,
    },
}

impl BrokenRule for UniqueError {
    fn code(&self) -> &'static str {
        match self {
            Self::TooShort { .. } => "schema.unique_too_short",
            Self::UnknownProperty { .. } => "schema.unique_unknown_property",
            Self::RepeatedProperty { .. } => "schema.unique_repeated_property",
            Self::RepeatedSet { .. } => "schema.unique_repeated_set",
            Self::Type { .. } => "schema.unique_type",
        }
    }

    fn remedy(&self) -> &'static str {
        match self {
            Self::TooShort { .. } => "for a single property write `unique = true` on it",
            Self::UnknownProperty { .. } => "declare the property or remove it from the set",
            Self::RepeatedProperty { .. } | Self::RepeatedSet { .. } => "list it once",
            Self::Type { .. } => "lists, vectors, f32 and f64 cannot be unique; remove the rule",
        }
    }
}

/// An identity names nothing, or names two things.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ReferenceError {
    /// Two types share a stable id or an incarnation.
    #[error("the identity {found} repeats a stable id or an incarnation of another type")]
    IdentityRepeated {
        /// The repeated identity.
        found: String,
    },
    /// No identity could be minted that is not taken.
    #[error("no fresh identity after {tries} tries: the source of randomness repeats itself")]
    NoFreshIdentity {
        /// How often it was tried.
        tries: u32,
    },
    /// An edge's end is not a declared node type.
    #[error("`{found}` is not a declared node type")]
    UnknownNode {
        /// The refused end.
        found: String,
    },
    /// A property id is repeated, zero, or not below the type's next one.
    #[error("the property id {found} is zero, repeated, or not below the type's next id")]
    PropertyId {
        /// The refused id.
        found: u32,
    },
    /// The type has more properties than a type may have.
    #[error("the type has {found} properties, more than 4096")]
    TooManyProperties {
        /// How many there are.
        found: usize,
    },
}

impl BrokenRule for ReferenceError {
    fn code(&self) -> &'static str {
        match self {
            Self::IdentityRepeated { .. } => "schema.identity_repeated",
            Self::NoFreshIdentity { .. } => "schema.no_fresh_identity",
            Self::UnknownNode { .. } => "schema.unknown_node",
            Self::PropertyId { .. } => "schema.property_id",
            Self::TooManyProperties { .. } => "schema.too_many_properties",
        }
    }

    fn remedy(&self) -> &'static str {
        match self {
            Self::IdentityRepeated { .. } | Self::PropertyId { .. } => {
                "the schema was not made by this program; use one that was"
            }
            Self::NoFreshIdentity { .. } => "give the process a working source of randomness",
            Self::UnknownNode { .. } => "declare [node.Name] for it or correct the name",
            Self::TooManyProperties { .. } => "split the type",
        }
    }
}
