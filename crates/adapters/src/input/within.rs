//! What the rows of one input say of each other: no key twice, no unique value twice. It is pure;
//! what the graph already holds is judged in `validate`.

use arrow_schema::ArrowError;
use graphwrite_protocol_types::TableIdentity;
use graphwrite_schema::{ConstraintRule, GraphSchema};

use super::table::TableInput;
use super::violation::{Faults, Rule, Violation, quoted};
use crate::keys::RowIndex;

/// Every row of the input is part of the result, so a repetition within it can never be right.
pub(crate) fn check(
    schema: &GraphSchema,
    table: &TableInput,
    faults: &mut Faults,
) -> Result<(), ArrowError> {
    for (again, first) in table.keys.repetitions() {
        faults.push(repeated_key(table, again as usize, first as usize));
    }
    for columns in unique_sets(schema, table.identity) {
        let index = index_of(table, &columns)?;
        for (again, first) in index.repetitions() {
            faults.push(repeated_value(table, &columns, again as usize, first as usize)?);
        }
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

/// The rows of the input by the values of some columns.
pub(crate) fn index_of(table: &TableInput, columns: &[String]) -> Result<RowIndex, ArrowError> {
    let names: Vec<&str> = columns.iter().map(String::as_str).collect();
    let types =
        names.iter().map(|name| Ok(table.schema.field_with_name(name)?.data_type().clone()));
    let types = types.collect::<Result<Vec<_>, ArrowError>>()?;
    RowIndex::new(types, table.columns(&names)?)
}

fn repeated_key(table: &TableInput, again: usize, first: usize) -> Violation {
    let key = quoted(&table.key_text(again));
    Violation {
        place: table.place(again),
        table: Some(table.name.clone()),
        field: Some(table.key_names()),
        rule: Rule::Key,
        message: format!("the key `{key}` occurs twice, first at {}", table.place(first)),
        found: Some(key),
    }
}

fn repeated_value(
    table: &TableInput,
    columns: &[String],
    again: usize,
    first: usize,
) -> Result<Violation, ArrowError> {
    let value = table.value_text(columns, again)?;
    Ok(Violation {
        place: table.place(again),
        table: Some(table.name.clone()),
        field: Some(columns.join(", ")),
        rule: Rule::Unique,
        message: format!("`{value}` must be unique and occurs first at {}", table.place(first)),
        found: Some(value),
    })
}
