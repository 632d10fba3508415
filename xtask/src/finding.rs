//! What a check reports: where, which rule, and what to do. It knows no check.

use std::fmt;

use crate::failure::Failure;

/// Whether a finding fails the check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weight {
    Warning,
    Fault,
}

/// One place that breaks one rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) weight: Weight,
    /// A path from the workspace root, with a line where there is one.
    pub(crate) place: String,
    pub(crate) rule: &'static str,
    pub(crate) text: String,
}

impl Finding {
    pub(crate) fn fault(place: impl Into<String>, rule: &'static str, text: String) -> Self {
        Self { weight: Weight::Fault, place: place.into(), rule, text }
    }

    pub(crate) fn warning(place: impl Into<String>, rule: &'static str, text: String) -> Self {
        Self { weight: Weight::Warning, place: place.into(), rule, text }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match self.weight {
            Weight::Warning => "warning",
            Weight::Fault => "fault",
        };
        write!(f, "{word}[{}] {}: {}", self.rule, self.place, self.text)
    }
}

/// Prints the findings of a check on standard error.
///
/// # Errors
/// When at least one of them is a fault.
pub(crate) fn judge(check: &'static str, findings: &[Finding]) -> Result<(), Failure> {
    for finding in findings {
        eprintln!("{finding}");
    }
    let faults = findings.iter().filter(|finding| finding.weight == Weight::Fault).count();
    if faults > 0 { Err(Failure::Found { check, faults }) } else { Ok(()) }
}

/// The same, and says so when there is no fault.
pub(crate) fn report(check: &'static str, findings: &[Finding]) -> Result<(), Failure> {
    judge(check, findings)?;
    println!("{check}: no faults, {} warning(s)", findings.len());
    Ok(())
}

/// The rules that the findings name, for tests.
#[cfg(test)]
pub(crate) fn rules(findings: &[Finding]) -> Vec<&'static str> {
    findings.iter().map(|finding| finding.rule).collect()
}
