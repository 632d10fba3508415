//! Every command of the build system must compile the dependencies with the same features: a
//! package that tests build with more features than the demo does would compile Lance twice.

use std::collections::{BTreeMap, BTreeSet};

use crate::failure::Failure;
use crate::finding::Finding;
use crate::process::{FEATURES, Workspace};

/// The feature sets of each package and version (a build script may see another set).
type Sets = BTreeMap<String, BTreeSet<String>>;

/// Asks cargo for the tree with and without test dependencies.
///
/// # Errors
/// When cargo cannot resolve the workspace.
pub(crate) fn check(workspace: &Workspace) -> Result<Vec<Finding>, Failure> {
    let demo = resolved(workspace, "normal,build")?;
    let tests = resolved(workspace, "normal,build,dev")?;
    Ok(compare(&demo, &tests))
}

fn resolved(workspace: &Workspace, edges: &str) -> Result<Sets, Failure> {
    let options = ["tree", "--workspace", "--prefix", "none", "--format", "{p}|{f}"];
    let text = workspace.cargo_output(&[&options[..], &FEATURES, &["-e", edges]].concat())?;
    Ok(parse(&text))
}

fn parse(text: &str) -> Sets {
    let mut sets = Sets::new();
    for line in text.lines() {
        let Some((package, features)) = line.split_once('|') else { continue };
        let features = features.trim_end_matches("(*)").trim();
        sets.entry(package.trim().to_owned()).or_default().insert(features.to_owned());
    }
    sets
}

/// What only tests build cannot disturb what the demo built.
fn compare(demo: &Sets, tests: &Sets) -> Vec<Finding> {
    let none = BTreeSet::new();
    demo.iter()
        .map(|(package, sets)| (package, sets, tests.get(package).unwrap_or(&none)))
        .filter(|(_, demo, tests)| !demo.is_subset(tests))
        .map(|(package, demo, tests)| explain(package, demo, tests))
        .collect()
}

fn explain(package: &str, demo: &BTreeSet<String>, tests: &BTreeSet<String>) -> Finding {
    let text = format!(
        "`{package}` has the features {demo:?} in the demo and {tests:?} in the tests, so both compile \
         it and all that depends on it; give the workspace dependency the larger set, or make the \
         test dependency that asks for it a normal dependency of graphwrite-tests"
    );
    Finding::fault("Cargo.toml", "one-build", text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::rules;

    #[test]
    fn equal_sets_are_fine_and_test_only_packages_do_not_matter() {
        let demo = parse("lance v14.0.2|\nserde v1.0.0|derive,std\nserde v1.0.0|derive,std (*)\n");
        let tests = parse("lance v14.0.2|\nserde v1.0.0|derive,std\nproptest v1.0.0|std\n");
        assert_eq!(compare(&demo, &tests), []);
    }

    #[test]
    fn a_feature_that_only_tests_turn_on_is_a_fault() {
        let demo = parse("serde v1.0.0|derive,std\n");
        let tests = parse("serde v1.0.0|derive,rc,std\n");
        let found = compare(&demo, &tests);
        assert_eq!(rules(&found), ["one-build"]);
        assert!(found[0].text.contains("serde v1.0.0"));
    }

    #[test]
    fn a_further_feature_set_that_only_tests_build_is_fine() {
        let demo = parse("serde v1.0.0|std\n");
        let tests = parse("serde v1.0.0|std\nserde v1.0.0|rc,std\n");
        assert_eq!(compare(&demo, &tests), []);
    }
}
