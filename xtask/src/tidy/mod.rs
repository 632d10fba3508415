//! `cargo xtask tidy`: the house rules (docs/STYLE.md) that a program can check. Each submodule owns
//! one kind of rule; the dependency rule itself is shared with the audit.

mod bans;
mod features;
mod files;
mod mentions;
mod papers;

use crate::failure::Failure;
use crate::finding::{self, Finding};
use crate::layers;
use crate::process::Workspace;
use crate::tree::Tree;

/// Runs every check and prints what it finds.
///
/// # Errors
/// When a check finds a fault, or the workspace cannot be read.
pub(crate) fn run(workspace: &Workspace) -> Result<(), Failure> {
    let mut findings = sources(&Tree::read(workspace.root())?);
    findings.extend(papers::check(workspace.root()));
    let packages = layers::packages(workspace.root())?;
    let members: Vec<String> = packages.iter().map(|package| package.name.clone()).collect();
    findings.extend(layers::check(&packages));
    findings.extend(features::check(workspace, &members).unwrap_or_else(unresolved));
    finding::report("tidy", &findings)
}

/// A workspace that cargo refuses is one more finding, so that the others are still printed.
fn unresolved(failure: Failure) -> Vec<Finding> {
    vec![Finding::fault("Cargo.toml", "one-build", failure.to_string())]
}

/// The rules that need only the sources.
fn sources(tree: &Tree) -> Vec<Finding> {
    let mut findings = tree.broken.clone();
    findings.extend(files::check(tree));
    findings.extend(bans::check(tree));
    findings.extend(mentions::check(tree));
    findings
}
