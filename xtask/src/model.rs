//! `cargo xtask model`: explores the models of the protocol and compares what came out with
//! `docs/model.md`, so that the numbers there are those of the code. The model says what holds; this
//! knows only rows of text.

use std::fs;

use crate::failure::Failure;
use crate::finding::{Finding, judge};
use crate::process::Workspace;

/// How the results are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    /// Rows, compared with the page.
    Rows,
    /// One JSON object per exploration, compared with nothing.
    Json,
}

/// A profile of its own: millions of states need optimized code, and nothing of it needs Lance.
const RUN: [&str; 6] = ["run", "--quiet", "--profile", "model", "--package", "graphwrite-model"];
const PAGE: &str = "docs/model.md";
/// The cells of a row that are the same on every machine; the time comes after them.
const CELLS: usize = 4;

/// Explores everything.
///
/// # Errors
/// When a property fails in a configuration, when a planted defect is not found, or when the page has
/// other numbers.
pub(crate) fn run(workspace: &Workspace, shown: Shown) -> Result<(), Failure> {
    if shown == Shown::Json {
        return workspace.cargo(&[&RUN[..], &["--", "--json"]].concat());
    }
    let mut rows = Vec::new();
    workspace.cargo_watched(&RUN, |line| rows.extend(compared(line)))?;
    let path = workspace.root().join(PAGE);
    let page = fs::read_to_string(&path).map_err(Failure::file(&path))?;
    judge("model", &missing(&rows, &page))
}

/// The part of a row that the page has too.
fn compared(line: &str) -> Option<String> {
    let cells: Vec<&str> = line.strip_prefix("| ")?.splitn(CELLS + 1, " | ").collect();
    (cells.len() > CELLS).then(|| format!("| {} |", cells[..CELLS].join(" | ")))
}

fn missing(rows: &[String], page: &str) -> Vec<Finding> {
    let heads =
        |row: &&String| row.starts_with("| configuration ") || row.starts_with("| left out ");
    let on_page = |row: &&String| page.lines().any(|line| line == row.as_str());
    rows.iter()
        .filter(|row| !heads(row) && !on_page(row))
        .map(|row| Finding::fault(PAGE, "model", format!("does not have the row {row}")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: &str = "| two writers | 357,547 | 77 | holds | 1,029,199 | 4.2 |";

    #[test]
    fn the_time_is_not_compared() {
        let row = compared(ROW);
        assert_eq!(row.as_deref(), Some("| two writers | 357,547 | 77 | holds |"));
    }

    #[test]
    fn what_is_no_row_is_not_compared() {
        assert_eq!(compared("|---|---|---|---|---|---|"), None);
        assert_eq!(compared("  HEAD is not below its pin after"), None);
    }

    #[test]
    fn a_number_that_drifted_is_a_fault() {
        let rows: Vec<String> = compared(ROW).into_iter().collect();
        assert_eq!(missing(&rows, "| two writers | 357,547 | 77 | holds |\n").len(), 0);
        assert_eq!(missing(&rows, "| two writers | 357,548 | 77 | holds |\n").len(), 1);
    }
}
