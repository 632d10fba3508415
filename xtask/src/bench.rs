//! `cargo xtask bench --counts` and `--recovery`: what the common operations, and the recovery of very
//! many attempts, ask of the storage. The integration binary measures, in a process of its own; this
//! prints what it has left.

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
    /// The recovery of a thousand attempts.
    Recovery,
}

impl Shown {
    fn file(self) -> &'static str {
        match self {
            Self::Page => "costs.md",
            Self::Waves => "waves.txt",
            Self::Recovery => "recovery.md",
        }
    }

    /// The test that measures.
    fn test(self) -> &'static str {
        match self {
            Self::Page | Self::Waves => "costs::the_common_operations_cost_what_the_page_says",
            Self::Recovery => {
                "recovery_batch::a_thousand_intents_cost_a_few_commits_per_batch_and_a_read_and_a_deletion_each"
            }
        }
    }
}

/// The variable that tells it where to write.
const TO: &str = "GRAPHWRITE_COSTS_TO";

/// Measures and prints.
///
/// # Errors
/// When the measurement cannot be built, fails, or finds a budget exceeded.
pub(crate) fn run(workspace: &Workspace, shown: Shown) -> Result<(), Failure> {
    let to = workspace.root().join("target").join("xtask").join("costs");
    fs::create_dir_all(&to).map_err(Failure::file(&to))?;
    let binary = ["test", "--workspace", "--test", "graphwrite"];
    let only = ["--", shown.test(), "--exact"];
    let arguments = [&binary[..], &FEATURES, &only].concat();
    // What the harness says must not come between the lines of the page.
    workspace.cargo_output_with(&arguments, &[(TO, &to.to_string_lossy())])?;
    let file = to.join(shown.file());
    print!("{}", fs::read_to_string(&file).map_err(Failure::file(&file))?);
    Ok(())
}
