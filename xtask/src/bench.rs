//! `cargo xtask bench --counts`: what the common operations ask of the storage. The integration
//! binary measures, in a process of its own; this prints what it has left.

use std::fs;

use crate::failure::Failure;
use crate::process::{FEATURES, Workspace};

/// What is printed of what was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    /// The page of the manual.
    Page,
    /// Every request of every round trip.
    Waves,
}

impl Shown {
    fn file(self) -> &'static str {
        match self {
            Self::Page => "costs.md",
            Self::Waves => "waves.txt",
        }
    }
}

/// The test that measures, and the variable that tells it where to write.
const MEASURE: &str = "costs::the_common_operations_cost_what_the_page_says";
const TO: &str = "GRAPHWRITE_COSTS_TO";

/// Measures and prints.
///
/// # Errors
/// When the measurement cannot be built, fails, or finds a budget exceeded.
pub(crate) fn run(workspace: &Workspace, shown: Shown) -> Result<(), Failure> {
    let to = workspace.root().join("target").join("xtask").join("costs");
    fs::create_dir_all(&to).map_err(Failure::file(&to))?;
    let binary = ["test", "--workspace", "--test", "graphwrite"];
    let only = ["--", MEASURE, "--exact"];
    let arguments = [&binary[..], &FEATURES, &only].concat();
    // What the harness says must not come between the lines of the page.
    workspace.cargo_output_with(&arguments, &[(TO, &to.to_string_lossy())])?;
    let file = to.join(shown.file());
    print!("{}", fs::read_to_string(&file).map_err(Failure::file(&file))?);
    Ok(())
}
