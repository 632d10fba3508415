//! What the rows of one input say of each other: no key twice, no unique value twice. It is pure;
//! what the graph already holds is judged in `validate`.

use graphwrite_protocol_types::TableIdentity;
use graphwrite_schema::{ConstraintRule, GraphSchema};

use super::spill::RowsError;
use super::table::TableInput;
use super::violation::{Faults, Rule, Violation, quoted};
use crate::keys::Pass;

/// Every row of the input is part of the result, so a repetition within it can never be right.
pub(crate) fn check(
    schema: &GraphSchema,
    table: &TableInput,
    faults: &mut Faults,
) -> Result<(), RowsError> {
    let mut again = faults.earliest();
    for pass in Pass::each(table.key_passes()?) {
        table.keys(pass)?.repetitions().for_each(|found| again.push(found));
    }
    faults.append_earliest(again, |(again, first)| repeated_key(table, again, first))?;
    for columns in unique_sets(schema, table.identity) {
        let names: Vec<&str> = columns.iter().map(String::as_str).collect();
        let mut again = faults.earliest();
        for pass in Pass::each(table.passes(&names)?) {
            table.index(&names, pass)?.repetitions().for_each(|found| again.push(found));
        }
        let fault = |(again, first)| repeated_value(table, &columns, again, first);
        faults.append_earliest(again, fault)?;
    }
    Ok(())
}

/// The sets of columns that are unique together, single columns included, the key apart.
pub(crate) fn unique_sets(schema: &GraphSchema, identity: TableIdentity) -> Vec<Vec<String>> {
    let rules = schema.constraints_of(identity).into_iter().map(|constraint| constraint.rule);
    rules
        .filter_map(|rule| match rule {
            ConstraintRule::Unique { columns } => Some(columns),
            _ => None,
        })
        .collect()
}

fn repeated_key(table: &TableInput, again: u32, first: u32) -> Result<Violation, RowsError> {
    let key = quoted(&table.key_text(again as usize)?);
    Ok(Violation {
        place: table.place(again as usize),
        table: Some(table.name.clone()),
        field: Some(table.key_names()),
        rule: Rule::Key,
        message: format!("the key `{key}` occurs twice, first at {}", table.place(first as usize)),
        found: Some(key),
    })
}

fn repeated_value(
    table: &TableInput,
    columns: &[String],
    again: u32,
    first: u32,
) -> Result<Violation, RowsError> {
    let value = table.value_text(columns, again as usize)?;
    let first = table.place(first as usize);
    Ok(Violation {
        place: table.place(again as usize),
        table: Some(table.name.clone()),
        field: Some(columns.join(", ")),
        rule: Rule::Unique,
        message: format!("`{value}` must be unique and occurs first at {first}"),
        found: Some(value),
    })
}
