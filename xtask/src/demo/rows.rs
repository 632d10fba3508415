//! Reads what the demo compares: rows as a multiset, and the ids in a list of attempts.

use std::collections::BTreeMap;

use serde_json::Value;

/// Rows of a JSON Lines file with their number of occurrences. Order and absent values do not matter.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Rows(BTreeMap<String, usize>);

impl Rows {
    /// # Errors
    /// A text that names the line that is not JSON.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut rows = Self::default();
        let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        for (number, line) in lines {
            let row: Value = serde_json::from_str(line)
                .map_err(|why| format!("line {} is not a row: {why}", number + 1))?;
            *rows.0.entry(without_nulls(row).to_string()).or_default() += 1;
        }
        Ok(rows)
    }

    pub(crate) fn extend(&mut self, other: Self) {
        for (row, count) in other.0 {
            *self.0.entry(row).or_default() += count;
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.0.values().sum()
    }

    /// Whether every row of `other` is there, as often as there.
    pub(crate) fn contains(&self, other: &Self) -> bool {
        other.0.iter().all(|(row, count)| self.0.get(row).is_some_and(|found| found >= count))
    }

    /// What `found` has otherwise, one row a line.
    pub(crate) fn difference(&self, found: &Self) -> String {
        let lines = |sign: &str, left: &Self, right: &Self| -> String {
            let differs = left.0.iter().filter(|(row, count)| right.0.get(*row) != Some(*count));
            differs.map(|(row, count)| format!("  {sign} {count} x {row}\n")).collect()
        };
        lines("expected", self, found) + &lines("found", found, self)
    }
}

fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.into_iter().filter(|(_, value)| !value.is_null());
            Value::Object(fields.map(|(name, value)| (name, without_nulls(value))).collect())
        }
        other => other,
    }
}

/// The attempt ids of a JSON list of intents.
///
/// # Errors
/// A text that says what is not as expected.
pub(crate) fn attempts(json: &str) -> Result<Vec<String>, String> {
    let answer: Value =
        serde_json::from_str(json).map_err(|why| format!("the list is not JSON: {why}"))?;
    let mut found = Vec::new();
    collect("", &answer, &mut found);
    Ok(found)
}

fn collect(name: &str, value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            fields.iter().for_each(|(name, value)| collect(name, value, found))
        }
        Value::Array(values) => values.iter().for_each(|value| collect(name, value, found)),
        Value::String(text) if ["attempt", "attempt_id"].contains(&name) => {
            found.push(text.clone());
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_equal_whatever_their_order_and_absent_values() {
        let one = Rows::parse("{\"a\":1,\"b\":null}\n{\"a\":2}\n").unwrap();
        let two = Rows::parse("{\"a\":2}\n\n{\"b\":null,\"a\":1}\n").unwrap();
        assert_eq!(one, two);
        assert_eq!(one.len(), 2);
    }

    #[test]
    fn a_row_that_is_there_twice_is_not_there_once() {
        let once = Rows::parse("{\"a\":1}").unwrap();
        let twice = Rows::parse("{\"a\":1}\n{\"a\":1}").unwrap();
        assert_ne!(once, twice);
        assert!(once.difference(&twice).contains("found 2 x {\"a\":1}"));
    }

    #[test]
    fn rows_contain_what_is_there_as_often() {
        let rows = Rows::parse("{\"a\":1}\n{\"a\":1}\n{\"a\":2}").unwrap();
        assert!(rows.contains(&Rows::parse("{\"a\":1}\n{\"a\":2}").unwrap()));
        assert!(!rows.contains(&Rows::parse("{\"a\":2}\n{\"a\":2}").unwrap()));
        assert!(!rows.contains(&Rows::parse("{\"a\":3}").unwrap()));
    }

    #[test]
    fn a_line_that_is_no_row_is_named() {
        assert!(Rows::parse("{\"a\":1}\nnope").unwrap_err().starts_with("line 2"));
    }

    #[test]
    fn attempts_are_found_by_name_in_a_list() {
        let json = "[{\"attempt\":\"01A\",\"operation\":\"01B\",\"owner\":{\"pid\":1}}]";
        assert_eq!(attempts(json).unwrap(), ["01A"]);
        assert_eq!(attempts("[]").unwrap(), [""; 0]);
    }
}
