//! Which type a JSON object means: `type` names a node type, `edge` an edge type. It reads no other
//! member.

use graphwrite_schema::{GraphSchema, TypeDef};

use super::assembly::member;
use super::json::{Json, Members};
use super::suggest::nearest;
use super::violation::{Rule, quoted};

/// Something has not the form that it must have: the member at fault, the rule, the message.
pub(crate) type ShapeFault = (Option<&'static str>, Rule, String);

/// The name of a type, and whether it stands under `type` or under `edge`.
pub(crate) fn type_name<'j>(
    members: &'j Members<'_>,
) -> Result<(&'static str, &'j str), ShapeFault> {
    let (field, name) = match (member(members, "type"), member(members, "edge")) {
        (Some(name), None) => ("type", name),
        (None, Some(name)) => ("edge", name),
        (Some(_), Some(_)) => {
            let message = "a row has `type` or `edge`, not both";
            return Err((Some("edge"), Rule::Shape, message.into()));
        }
        (None, None) => {
            let message = "a row names its type: `type` for a node, `edge` for an edge";
            return Err((None, Rule::Shape, message.into()));
        }
    };
    match name {
        Json::Text(name) => Ok((field, name)),
        other => {
            let message = format!("`{field}` is a name, not {}", other.kind());
            Err((Some(field), Rule::Shape, message))
        }
    }
}

/// The type with this name, of the kind that `field` is for.
pub(crate) fn named<'s>(
    schema: &'s GraphSchema,
    field: &'static str,
    name: &str,
) -> Result<&'s TypeDef, ShapeFault> {
    let is_node = field == "type";
    match schema.by_name(name) {
        Some(def) if def.is_node() == is_node => Ok(def),
        Some(_) => {
            let right = if is_node { "edge" } else { "type" };
            let message = format!("`{name}` is no {field}; write `\"{right}\":\"{name}\"`");
            Err((Some(field), Rule::UnknownType, message))
        }
        None => {
            let alike = schema.types().iter().filter(|def| def.is_node() == is_node);
            let message = unknown_type(field, name, alike.map(|def| def.name.as_str()));
            Err((Some(field), Rule::UnknownType, message))
        }
    }
}

pub(crate) fn unknown_type<'n>(
    kind: &str,
    name: &str,
    names: impl IntoIterator<Item = &'n str>,
) -> String {
    let hint = match nearest(name, names) {
        Some(near) => format!("; did you mean `{near}`?"),
        None => String::new(),
    };
    format!("the schema has no {kind} `{}`{hint}", quoted(name))
}
