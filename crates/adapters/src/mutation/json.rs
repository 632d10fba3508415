//! The JSON form of a statement: what it does, with which type, and which members say so. It reads
//! no value; unknown members are refused, since a member that is passed over is a wish not granted.

use graphwrite_schema::{EDGE_ID, GraphSchema, TypeDef};

use super::partial::NameText;
use super::statement::{Naming, OnReferenced};
use crate::input::assembly::{RowText, member};
use crate::input::json::{Json, JsonError, Members};
use crate::input::naming::{named, type_name};
use crate::input::suggest::nearest;
use crate::input::{Rule, quoted};

/// What a statement asks.
pub(super) enum Request<'s, 'j, 'a> {
    Put { def: &'s TypeDef, strict: bool, row: RowText<'j, 'a> },
    Update { def: &'s TypeDef, name: NameText<'j, 'a>, set: &'j Members<'a> },
    Delete { def: &'s TypeDef, by: Naming, name: NameText<'j, 'a>, on: OnReferenced },
    DeleteWhere { def: &'s TypeDef, text: &'j str, on: OnReferenced },
}

/// A statement has not the form that it must have: the member at fault, the rule, the message.
pub(super) type Misshapen = (Option<String>, Rule, String);

const NO_MEMBERS: &Members<'static> = &Vec::new();
const STATEMENTS: [&str; 4] = ["insert", "upsert", "update", "delete"];

/// Reads one statement.
pub(super) fn read<'s, 'j, 'a>(
    schema: &'s GraphSchema,
    statement: &'j Json<'a>,
) -> Result<Request<'s, 'j, 'a>, Misshapen> {
    let Json::Object(members) = statement else {
        let message = format!("a statement is an object, not {}", statement.kind());
        return Err((None, Rule::Shape, message));
    };
    let [(verb, body)] = members.as_slice() else {
        let message = format!(
            "a statement has one member, {}, not {}",
            STATEMENTS.join(", ").replace(", delete", " or delete"),
            members.len()
        );
        return Err((None, Rule::Shape, message));
    };
    let read = match verb.as_ref() {
        "insert" | "upsert" => read_put,
        "update" => read_update,
        "delete" => read_delete,
        other => return Err(no_statement(other)),
    };
    let Json::Object(members) = body else {
        let message = format!("`{verb}` is an object, not {}", body.kind());
        return Err((Some(verb.to_string()), Rule::Shape, message));
    };
    let shaped = type_name(members).and_then(|(field, name)| named(schema, field, name));
    let def = shaped.map_err(|(field, rule, message)| (field.map(quoted), rule, message))?;
    read(def, verb.as_ref(), members)
}

fn no_statement(verb: &str) -> Misshapen {
    let hint = match nearest(verb, STATEMENTS) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "write `insert`, `upsert`, `update` or `delete`".to_owned(),
    };
    let verb = quoted(verb);
    (Some(verb.clone()), Rule::Shape, format!("there is no statement `{verb}`; {hint}"))
}

fn read_put<'s, 'j, 'a>(
    def: &'s TypeDef,
    verb: &str,
    members: &'j Members<'a>,
) -> Result<Request<'s, 'j, 'a>, Misshapen> {
    let allowed: &[&str] =
        if def.is_node() { &["type", "data"] } else { &["edge", "from", "to", "data"] };
    refuse_strangers(members, allowed, verb, |name| {
        def.property_by_name(name).map(|_| "properties belong into `data`".to_owned())
    })?;
    let data = object(members, "data")?.unwrap_or(NO_MEMBERS);
    let row = RowText { from: member(members, "from"), to: member(members, "to"), data };
    Ok(Request::Put { def, strict: verb == "insert", row })
}

fn read_update<'s, 'j, 'a>(
    def: &'s TypeDef,
    verb: &str,
    members: &'j Members<'a>,
) -> Result<Request<'s, 'j, 'a>, Misshapen> {
    let (allowed, name): (&[&str], _) = match Naming::of(def) {
        Naming::Key => (&["type", "key", "set"], NameText::Key(member(members, "key"))),
        Naming::Id => (&["edge", "id", "set"], NameText::Id(member(members, EDGE_ID))),
        Naming::Ends | Naming::Parallels => (&["edge", "from", "to", "set"], ends(members)),
    };
    refuse_strangers(members, allowed, verb, |name| {
        if def.property_by_name(name).is_some() {
            return Some("properties belong into `set`".to_owned());
        }
        by_id_only(def, name)
    })?;
    match object(members, "set")? {
        Some(set) => Ok(Request::Update { def, name, set }),
        None => {
            let message = "an update says in `set` what it sets".to_owned();
            Err((Some("set".to_owned()), Rule::Required, message))
        }
    }
}

fn by_id_only(def: &TypeDef, name: &str) -> Option<String> {
    let ends = Naming::of(def) == Naming::Id && ["from", "to"].contains(&name);
    ends.then(|| format!("{} edges may be parallel, so `id` says which one", def.name))
}

fn read_delete<'s, 'j, 'a>(
    def: &'s TypeDef,
    verb: &str,
    members: &'j Members<'a>,
) -> Result<Request<'s, 'j, 'a>, Misshapen> {
    let natural = Naming::of(def);
    let allowed: &[&str] = match natural {
        Naming::Key => &["type", "key", "where", "cascade"],
        Naming::Id => &["edge", "id", "from", "to", "where"],
        Naming::Ends | Naming::Parallels => &["edge", "from", "to", "where"],
    };
    refuse_strangers(members, allowed, verb, |name| {
        (name == "cascade").then(|| "nothing refers to an edge".to_owned())
    })?;
    let on = cascade(members)?;
    let has = |name: &str| member(members, name).is_some();
    let ways = [has("where"), has("key") || has(EDGE_ID), has("from") || has("to")];
    if ways.into_iter().filter(|way| *way).count() != 1 {
        return Err(which_rows(natural));
    }
    if has("where") {
        return Ok(Request::DeleteWhere { def, text: condition(members)?, on });
    }
    let (by, name) = match natural {
        Naming::Key => (natural, NameText::Key(member(members, "key"))),
        Naming::Id if has(EDGE_ID) => (natural, NameText::Id(member(members, EDGE_ID))),
        Naming::Id | Naming::Parallels => (Naming::Parallels, ends(members)),
        Naming::Ends => (natural, ends(members)),
    };
    Ok(Request::Delete { def, by, name, on })
}

fn which_rows(by: Naming) -> Misshapen {
    let ways = match by {
        Naming::Key => "either `key` or `where`",
        Naming::Id => "either `id`, or `from` and `to`, or `where`",
        Naming::Ends | Naming::Parallels => "either `from` and `to`, or `where`",
    };
    (None, Rule::Shape, format!("a delete says what it deletes by {ways}"))
}

fn ends<'j, 'a>(members: &'j Members<'a>) -> NameText<'j, 'a> {
    NameText::Ends(member(members, "from"), member(members, "to"))
}

fn cascade(members: &Members<'_>) -> Result<OnReferenced, Misshapen> {
    match member(members, "cascade") {
        None | Some(Json::Bool(false)) => Ok(OnReferenced::Restrict),
        Some(Json::Bool(true)) => Ok(OnReferenced::Cascade),
        Some(other) => Err(wrong_kind("cascade", "true or false", other)),
    }
}

fn condition<'j>(members: &'j Members<'_>) -> Result<&'j str, Misshapen> {
    match member(members, "where") {
        Some(Json::Text(text)) => Ok(text),
        other => Err(wrong_kind("where", "a condition as a string", other.unwrap_or(&Json::Null))),
    }
}

fn object<'j, 'a>(
    members: &'j Members<'a>,
    name: &str,
) -> Result<Option<&'j Members<'a>>, Misshapen> {
    match member(members, name) {
        None => Ok(None),
        Some(Json::Object(found)) => Ok(Some(found)),
        Some(other) => Err(wrong_kind(name, "an object", other)),
    }
}

fn wrong_kind(name: &str, expected: &str, found: &Json<'_>) -> Misshapen {
    let message = format!("`{name}` is {expected}, not {}", found.kind());
    (Some(name.to_owned()), Rule::Shape, message)
}

/// `hint` knows better than a similar name what a stranger was meant to be.
fn refuse_strangers(
    members: &Members<'_>,
    allowed: &[&str],
    verb: &str,
    hint: impl Fn(&str) -> Option<String>,
) -> Result<(), Misshapen> {
    let stranger = members.iter().find(|(name, _)| !allowed.contains(&name.as_ref()));
    let Some((name, _)) = stranger else { return Ok(()) };
    let similar =
        || nearest(name, allowed.iter().copied()).map(|near| format!("did you mean `{near}`?"));
    let hint = hint(name).or_else(similar);
    let hint = hint.unwrap_or_else(|| format!("it may have {}", quote_all(allowed)));
    let name = quoted(name);
    Err((Some(name.clone()), Rule::Shape, format!("`{verb}` has no member `{name}`; {hint}")))
}

fn quote_all(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// The line, counted from 1, at which a text of many lines is no JSON, and what is wrong there.
pub(super) fn locate(text: &str, error: &JsonError) -> (u64, String) {
    let at = (error.column - 1).min(text.len());
    let before = &text.as_bytes()[..at];
    let line = before.iter().filter(|byte| **byte == b'\n').count() as u64 + 1;
    let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |found| found + 1);
    (line, format!("{} at column {}", error.kind, at - start + 1))
}
