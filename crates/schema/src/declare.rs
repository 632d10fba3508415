//! Turns a document into the first schema of a graph: resolves names and mints identities. It is
//! the only place where a type or property gets an identity for the first time.

use std::collections::{BTreeMap, BTreeSet};

use graphwrite_protocol_types::{Env, StableTableId, TableIdentity};

use crate::document::{DeclKind, PropertyDecl, SchemaDocument, TypeDecl};
use crate::error::SchemaError;
use crate::ir::{EdgeDef, GraphSchema, PropertyDef, PropertyId, TypeDef, TypeKind};
use crate::reader::DocumentError;
use crate::validate::{KeyError, ReferenceError, UniqueError};

/// How often a fresh identity is tried for before the randomness is called broken.
const MINT_TRIES: u32 = 64;

/// Makes the first schema of a graph from a document, with fresh identities.
///
/// # Errors
/// The first rule that the document breaks, with its place and line. Nothing is kept on error.
pub fn declare(document: &SchemaDocument, env: &dyn Env) -> Result<GraphSchema, SchemaError> {
    declare_types(document.types(), env).map_err(|error| document.locate(error))
}

fn declare_types(types: &[TypeDecl], env: &dyn Env) -> Result<GraphSchema, SchemaError> {
    if types.is_empty() {
        return Err(SchemaError::new(crate::error::Place::root(), DocumentError::NoTypes));
    }
    types.iter().try_for_each(refuse_renames)?;
    let identities = mint_distinct(types, env)?;
    let nodes = node_ids(types, &identities);
    let lowered = types.iter().zip(identities).map(|(decl, id)| lower_type(decl, id, &nodes));
    GraphSchema::new(lowered.collect::<Result<_, _>>()?)
}

fn refuse_renames(decl: &TypeDecl) -> Result<(), SchemaError> {
    let of_type = (decl.place(), &decl.renamed_from);
    let properties = decl.properties.iter().map(|property| {
        (decl.place().child("properties").child(&property.name), &property.renamed_from)
    });
    for (place, renamed_from) in std::iter::once(of_type).chain(properties) {
        if let Some(found) = renamed_from.clone() {
            let kind = DocumentError::RenameWithoutPast { found };
            return Err(SchemaError::new(place.child("renamed_from"), kind));
        }
    }
    Ok(())
}

fn mint_distinct(types: &[TypeDecl], env: &dyn Env) -> Result<Vec<TableIdentity>, SchemaError> {
    let (mut tables, mut incarnations) = (BTreeSet::new(), BTreeSet::new());
    let mint_one = |decl: &TypeDecl| {
        let fresh = (0..MINT_TRIES)
            .map(|_| TableIdentity::mint(env))
            .find(|id| !tables.contains(&id.table) && !incarnations.contains(&id.incarnation));
        let exhausted = ReferenceError::NoFreshIdentity { tries: MINT_TRIES };
        let id = fresh.ok_or_else(|| SchemaError::new(decl.place(), exhausted))?;
        tables.insert(id.table);
        incarnations.insert(id.incarnation);
        Ok(id)
    };
    types.iter().map(mint_one).collect()
}

fn node_ids<'d>(
    types: &'d [TypeDecl],
    identities: &[TableIdentity],
) -> BTreeMap<&'d str, StableTableId> {
    let nodes = types.iter().zip(identities);
    let nodes = nodes.filter(|(decl, _)| matches!(decl.kind, DeclKind::Node { .. }));
    nodes.map(|(decl, id)| (decl.name.as_str(), id.table)).collect()
}

fn lower_type(
    decl: &TypeDecl,
    identity: TableIdentity,
    nodes: &BTreeMap<&str, StableTableId>,
) -> Result<TypeDef, SchemaError> {
    let properties: Vec<_> = (1..).zip(&decl.properties).map(lower_property).collect();
    let id_of = |name: &str| properties.iter().find(|found| found.name == name).map(|p| p.id);
    Ok(TypeDef {
        identity,
        name: decl.name.clone(),
        kind: lower_kind(decl, nodes, id_of)?,
        unique: lower_unique(decl, id_of)?,
        index: decl.index,
        next_property_id: properties.last().map_or(1, |last| last.id.0 + 1),
        properties,
    })
}

fn lower_property((id, decl): (u32, &PropertyDecl)) -> PropertyDef {
    PropertyDef {
        id: PropertyId(id),
        name: decl.name.clone(),
        property_type: decl.property_type.clone(),
        nullable: decl.nullable,
        unique: decl.unique,
        index: decl.index,
    }
}

fn lower_kind(
    decl: &TypeDecl,
    nodes: &BTreeMap<&str, StableTableId>,
    id_of: impl Fn(&str) -> Option<PropertyId>,
) -> Result<TypeKind, SchemaError> {
    let end = |attribute: &str, name: &str| {
        let unknown = ReferenceError::UnknownNode { found: name.to_owned() };
        let refused = || SchemaError::new(decl.place().child(attribute), unknown);
        nodes.get(name).copied().ok_or_else(refused)
    };
    match &decl.kind {
        DeclKind::Node { key } => {
            let unknown = KeyError::UnknownProperty { found: key.clone() };
            let refused = || SchemaError::new(decl.place().child("key"), unknown);
            Ok(TypeKind::Node { key: id_of(key).ok_or_else(refused)? })
        }
        DeclKind::Edge { from, to, cardinality, multi } => Ok(TypeKind::Edge(EdgeDef {
            from: end("from", from)?,
            to: end("to", to)?,
            cardinality: *cardinality,
            multi: *multi,
        })),
    }
}

fn lower_unique(
    decl: &TypeDecl,
    id_of: impl Fn(&str) -> Option<PropertyId>,
) -> Result<Vec<Vec<PropertyId>>, SchemaError> {
    let resolve = |name: &String| {
        let unknown = UniqueError::UnknownProperty { found: name.clone() };
        id_of(name).ok_or_else(|| SchemaError::new(decl.place().child("unique"), unknown))
    };
    decl.unique.iter().map(|set| set.iter().map(resolve).collect()).collect()
}
