//! How much memory a large load takes: the test of the suite that measures it, with a million rows.

use crate::failure::Failure;
use crate::process::{FEATURES, Workspace};

const TEST: &str =
    "process::memory::a_load_stays_within_its_memory_whatever_the_number_of_its_rows";

/// Rows, and the memory that their load may take.
const SETTINGS: [(&str, &str); 2] =
    [("GRAPHWRITE_MEMORY_ROWS", "1000000"), ("GRAPHWRITE_MEMORY", "256MiB")];

/// Builds the program, loads, and prints peak and seconds.
///
/// # Errors
/// When the peak is above what is allowed, or something cannot be built.
pub(crate) fn run(workspace: &Workspace) -> Result<(), Failure> {
    let build = ["build", "--workspace", "--bins"];
    workspace.cargo(&[build.as_slice(), &FEATURES].concat())?;
    let test = ["test", "--workspace", "--test", "graphwrite"];
    let only = ["--", "--exact", TEST, "--nocapture"];
    workspace.cargo_with(&[test.as_slice(), &FEATURES, &only].concat(), &SETTINGS)
}
