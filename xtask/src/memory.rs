//! What large requests take of time and memory: tests of the suite that measure it, with more rows than
//! they have there.

use crate::failure::Failure;
use crate::process::{FEATURES, Workspace};

const LOAD: &str =
    "process::memory::a_load_stays_within_its_memory_whatever_the_number_of_its_rows";

/// Rows, and the memory that their load may take.
const OF_LOAD: [(&str, &str); 2] =
    [("GRAPHWRITE_MEMORY_ROWS", "1000000"), ("GRAPHWRITE_MEMORY", "256MiB")];

const MERGES: &str = "merge::scale::";

/// Rows of the tables that a merge of a hundred goes into.
const OF_MERGES: [(&str, &str); 1] = [("GRAPHWRITE_MERGE_ROWS", "10000 100000 1000000")];

/// Builds the program, loads, and prints peak and seconds.
///
/// # Errors
/// When the peak is above what is allowed, or something cannot be built.
pub(crate) fn load(workspace: &Workspace) -> Result<(), Failure> {
    let build = ["build", "--workspace", "--bins"];
    workspace.cargo(&[build.as_slice(), &FEATURES].concat())?;
    measure(workspace, &["--exact", LOAD], &OF_LOAD)
}

/// Merges few rows into tables of different sizes, and many rows that are new, and prints what they take.
///
/// # Errors
/// When the time follows what there is instead of what has changed, or something cannot be built.
pub(crate) fn merges(workspace: &Workspace) -> Result<(), Failure> {
    measure(workspace, &[MERGES, "--test-threads=1"], &OF_MERGES)
}

fn measure(
    workspace: &Workspace,
    tests: &[&str],
    settings: &[(&str, &str)],
) -> Result<(), Failure> {
    let test = ["test", "--workspace", "--test", "graphwrite"];
    let only = [&["--"], tests, &["--nocapture"]].concat();
    workspace.cargo_with(&[test.as_slice(), &FEATURES, &only].concat(), settings)
}
