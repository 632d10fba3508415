//! What is said of an exploration: a row of a table, or one JSON object.

use crate::job::{Failure, Found, Job, Purpose};

/// More states than any configuration should have.
const UNIQUE_MAX: usize = 5_000_000;

/// How results are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// Rows of a table, as in `docs/model.md`; what was measured comes last.
    Rows,
    /// One JSON object per line.
    Json,
}

/// Whether a job did what it is for: a configuration holds, a defect is found.
pub fn is_as_expected(job: &Job, found: &Found) -> bool {
    match job.purpose {
        Purpose::Sound => found.failures.is_empty() && found.unique <= UNIQUE_MAX,
        Purpose::Defect(_) => broken(found).is_some(),
    }
}

/// The first property that fails in a state. What had not happened yet when it failed is no failure.
fn broken(found: &Found) -> Option<&Failure> {
    found.failures.iter().find(|failure| !failure.trace.is_empty())
}

/// The head of the table of configurations.
pub fn header() -> &'static str {
    "| configuration | different states | depth | result | states | seconds |\n|---|---|---|---|---|---|"
}

/// The head of the table of defects.
pub fn title_of_defects() -> &'static str {
    "\n| left out | configuration | property that fails | steps | states | seconds |\n|---|---|---|---|---|---|"
}

/// One result.
pub fn row(job: &Job, found: &Found, shown: Shown) -> String {
    match shown {
        Shown::Rows => cells(job, found),
        Shown::Json => json(job, found),
    }
}

fn cells(job: &Job, found: &Found) -> String {
    let (unique, states) = (grouped(found.unique), grouped(found.states));
    let seconds = found.took.as_secs_f64();
    match job.purpose {
        Purpose::Sound => {
            let (name, depth, result) = (job.configuration, found.depth, result(found));
            format!("| {name} | {unique} | {depth} | {result} | {states} | {seconds:.1} |")
        }
        Purpose::Defect(text) => {
            let name = job.configuration;
            let (property, steps) = match broken(found) {
                Some(failure) => (failure.property, failure.trace.len().to_string()),
                None => ("NONE: the defect survives", "-".to_owned()),
            };
            format!("| {text} | {name} | {property} | {steps} | {states} | {seconds:.1} |")
        }
    }
}

fn result(found: &Found) -> String {
    match found.failures.first() {
        Some(failure) if failure.trace.is_empty() => {
            format!("FAILS: never \"{}\"", failure.property)
        }
        Some(failure) => {
            format!("FAILS: \"{}\" after {} steps", failure.property, failure.trace.len())
        }
        None if found.unique > UNIQUE_MAX => format!("GREW beyond {}", grouped(UNIQUE_MAX)),
        None => "holds".to_owned(),
    }
}

fn json(job: &Job, found: &Found) -> String {
    let defect = match job.purpose {
        Purpose::Sound => "null".to_owned(),
        Purpose::Defect(text) => format!("{text:?}"),
    };
    let failed = broken(found).or(found.failures.first());
    let property = failed.map_or("null".to_owned(), |failure| format!("{:?}", failure.property));
    let steps = failed.map_or("null".to_owned(), |failure| failure.trace.len().to_string());
    format!(
        "{{\"configuration\": {:?}, \"defect\": {defect}, \"states\": {}, \"unique_states\": {}, \
         \"depth\": {}, \"seconds\": {:.3}, \"failed_property\": {property}, \
         \"counterexample_steps\": {steps}, \"as_expected\": {}}}",
        job.configuration,
        found.states,
        found.unique,
        found.depth,
        found.took.as_secs_f64(),
        is_as_expected(job, found),
    )
}

/// A number with a comma after every three digits.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn found(failures: Vec<Failure>) -> Found {
        Found { states: 1_234_567, unique: 999, depth: 7, took: Duration::from_secs(1), failures }
    }

    #[test]
    fn numbers_are_grouped_by_three() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn what_never_happened_fails_a_configuration_and_finds_no_defect() {
        let never = found(vec![Failure { property: "it commits", trace: Vec::new() }]);
        assert!(result(&never).contains("never"));
        assert_eq!(broken(&never), None);
    }

    #[test]
    fn a_broken_property_is_named_with_its_steps() {
        let failure = Failure { property: "HEAD is the pin", trace: vec!["one".into()] };
        assert_eq!(result(&found(vec![failure])), "FAILS: \"HEAD is the pin\" after 1 steps");
        assert_eq!(result(&found(Vec::new())), "holds");
    }
}
