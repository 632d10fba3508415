//! Every selection of packages must compile Lance and what lies below it with the same features:
//! a test or a demo that asks for more than another command compiles Lance a second time.

use std::collections::{BTreeMap, BTreeSet};

use crate::failure::Failure;
use crate::finding::Finding;
use crate::process::{FEATURES, Workspace};

/// The feature that plants defects; only tests may come to it (docs/defects.md).
const DEFECTS: &str = "defects";
/// The package that must be built once.
const COSTLY: &str = "lance";
/// The packages that have the feature to offer.
const OFFER_DEFECTS: [&str; 2] = ["graphwrite-protocol-types", "graphwrite-substrate"];
const NORMAL: &str = "normal,build";
const WITH_TESTS: &str = "normal,build,dev";

/// The feature sets of each package and version (a build script may see another set).
type Sets = BTreeMap<String, BTreeSet<String>>;

/// Compares the demo, and the tests of each member alone, with the tests of the whole workspace.
///
/// # Errors
/// When cargo cannot resolve the workspace, or the lock file cannot be read.
pub(crate) fn check(workspace: &Workspace, members: &[String]) -> Result<Vec<Finding>, Failure> {
    let below = below_costly(workspace)?;
    let all: &[&str] = &[&["--workspace"][..], &FEATURES].concat();
    let suite = resolved(workspace, all, WITH_TESTS)?;
    let demo = resolved(workspace, all, NORMAL)?;
    let mut findings = compare("the demo", &demo, &suite, &below);
    findings.extend(shipped(workspace, members)?);
    for member in members {
        let alone = resolved(workspace, &["-p", member], WITH_TESTS)?;
        if builds_costly(&alone) {
            findings.extend(compare(&format!("`-p {member}`"), &alone, &suite, &below));
        }
    }
    Ok(findings)
}

/// What anybody builds but the tests, with every feature that its packages have to offer themselves.
fn shipped(workspace: &Workspace, members: &[String]) -> Result<Vec<Finding>, Failure> {
    let own = |member: &&String| !OFFER_DEFECTS.contains(&member.as_str());
    let mut findings = Vec::new();
    for member in members.iter().filter(own) {
        let selection = ["-p", member.as_str(), "--all-features"];
        findings.extend(without_defects(member, &resolved(workspace, &selection, NORMAL)?));
    }
    Ok(findings)
}

fn without_defects(selection: &str, sets: &Sets) -> Vec<Finding> {
    let is_planted = |set: &String| set.split(',').any(|feature| feature == DEFECTS);
    let planted = sets.iter().filter(|(_, sets)| sets.iter().any(is_planted));
    let fault = |package: &String| {
        let text = format!(
            "`{selection}` comes to the feature `{DEFECTS}` of `{package}` without being a test; \
             ask for it among the dev-dependencies of graphwrite-tests alone"
        );
        Finding::fault("Cargo.toml", "no-defects", text)
    };
    planted.map(|(package, _)| fault(package)).collect()
}

fn resolved(workspace: &Workspace, selection: &[&str], edges: &str) -> Result<Sets, Failure> {
    let options = ["tree", "--prefix", "none", "--format", "{p}|{f}", "-e", edges];
    Ok(parse(&workspace.cargo_output(&[&options[..], selection].concat())?))
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

fn builds_costly(sets: &Sets) -> bool {
    sets.keys().any(|package| name_of(package) == COSTLY)
}

fn name_of(package: &str) -> &str {
    package.split(' ').next().unwrap_or(package)
}

/// The names of the costly package and of all that it may depend on, from the lock file.
fn below_costly(workspace: &Workspace) -> Result<BTreeSet<String>, Failure> {
    let path = workspace.root().join("Cargo.lock");
    let text = std::fs::read_to_string(&path).map_err(Failure::file(path))?;
    Ok(closure(&text, COSTLY))
}

fn closure(lock: &str, root: &str) -> BTreeSet<String> {
    let mut direct: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for package in lock.split("[[package]]").skip(1) {
        let mut quoted = package.split('"').skip(1).step_by(2);
        let name = quoted.next().unwrap_or_default();
        let listed = package.split_once("dependencies = [").map_or("", |(_, list)| list);
        let names = listed.split('"').skip(1).step_by(2).map(name_of);
        direct.entry(name).or_default().extend(names);
    }
    let mut seen = BTreeSet::new();
    let mut open = vec![root];
    while let Some(name) = open.pop() {
        if seen.insert(name.to_owned()) {
            open.extend(direct.get(name).into_iter().flatten());
        }
    }
    seen
}

/// What only the suite builds disturbs nobody: a selection may lack a set, not have another.
fn compare(selection: &str, sets: &Sets, suite: &Sets, below: &BTreeSet<String>) -> Vec<Finding> {
    let none = BTreeSet::new();
    sets.iter()
        .filter(|(package, _)| below.contains(name_of(package)))
        .map(|(package, sets)| (package, sets, suite.get(package).unwrap_or(&none)))
        .filter(|(_, sets, suite)| !sets.is_subset(suite))
        .map(|(package, sets, suite)| explain(selection, package, sets, suite))
        .collect()
}

fn explain(
    selection: &str,
    package: &str,
    sets: &BTreeSet<String>,
    suite: &BTreeSet<String>,
) -> Finding {
    let text = format!(
        "{selection} builds `{package}` with {sets:?} and the whole workspace with {suite:?}, so \
         that Lance is compiled twice; add what asks for the larger set to graphwrite-unify"
    );
    Finding::fault("Cargo.toml", "one-build", text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::rules;

    fn found(selection: &str, suite: &str) -> Vec<Finding> {
        let below = BTreeSet::from(["lance".to_owned(), "serde".to_owned()]);
        compare("the demo", &parse(selection), &parse(suite), &below)
    }

    #[test]
    fn equal_sets_are_fine() {
        let text = "lance v14.0.2|\nserde v1.0.0|derive,std\nserde v1.0.0|derive,std (*)\n";
        assert_eq!(found(text, text), []);
    }

    #[test]
    fn a_feature_that_one_selection_lacks_is_a_fault() {
        let found = found("serde v1.0.0|std\n", "serde v1.0.0|rc,std\n");
        assert_eq!(rules(&found), ["one-build"]);
        assert!(found[0].text.contains("serde v1.0.0"));
    }

    #[test]
    fn a_further_set_that_only_the_suite_builds_is_fine() {
        let suite = "serde v1.0.0|std\nserde v1.0.0|rc,std\nproptest v1.0.0|std\n";
        assert_eq!(found("serde v1.0.0|std\n", suite), []);
    }

    #[test]
    fn packages_that_lance_does_not_need_are_not_compared() {
        assert_eq!(found("console v0.16.0|std\n", "console v0.16.0|ansi,std\n"), []);
    }

    #[test]
    fn a_build_with_planted_defects_is_a_fault() {
        let sets = parse("graphwrite-substrate v0.1.0|\nserde v1.0.0|derive,std\n");
        assert_eq!(without_defects("graphwrite-cli", &sets), []);
        let sets =
            parse("graphwrite-substrate v0.1.0|\ngraphwrite-protocol-types v0.1.0|a,defects\n");
        let found = without_defects("graphwrite-cli", &sets);
        assert_eq!(rules(&found), ["no-defects"]);
        assert!(found[0].text.contains("graphwrite-protocol-types"));
    }

    #[test]
    fn the_closure_follows_the_lock_file() {
        let lock = "[[package]]\nname = \"lance\"\nversion = \"14.0.2\"\ndependencies = [\n \
                    \"serde 1.0.0\",\n]\n\n[[package]]\nname = \"serde\"\nversion = \"1.0.0\"\n\
                    dependencies = [\n \"serde_core\",\n]\n\n[[package]]\nname = \"clap\"\n";
        let below = closure(lock, "lance");
        assert_eq!(
            below.iter().map(String::as_str).collect::<Vec<_>>(),
            ["lance", "serde", "serde_core"]
        );
    }
}
