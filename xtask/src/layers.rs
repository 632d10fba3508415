//! The dependency rule between the crates of the workspace, as one closed table. It reads what
//! cargo says about the packages, never their sources.

use std::path::Path;

use serde::Deserialize;

use crate::failure::Failure;
use crate::finding::Finding;

const RULE: &str = "layers";
const PREFIX: &str = "graphwrite-";

/// One crate and the crates of the workspace that it may depend on.
struct Room {
    name: &'static str,
    may_use: &'static [&'static str],
}

/// Bottom to top. A crate that is not here has no place yet: adding one is a decision about the
/// architecture, to be explained in ARCHITECTURE.md.
const ROOMS: [Room; 10] = [
    Room { name: "protocol-types", may_use: &[] },
    Room { name: "unify", may_use: &[] },
    Room { name: "gates", may_use: &["protocol-types"] },
    Room { name: "schema", may_use: &["protocol-types"] },
    Room { name: "recovery", may_use: &["protocol-types"] },
    Room { name: "substrate", may_use: &["protocol-types", "unify"] },
    Room { name: "manifest", may_use: &["protocol-types", "schema", "substrate"] },
    Room { name: "adapters", may_use: &["protocol-types", "schema", "substrate", "manifest"] },
    Room {
        name: "coordinator",
        may_use: &[
            "protocol-types",
            "gates",
            "schema",
            "recovery",
            "substrate",
            "manifest",
            "adapters",
        ],
    },
    Room { name: "cli", may_use: &["protocol-types", "schema", "coordinator"] },
];

/// The package of the cross-crate tests: it may use every crate, and anything to test with.
const TESTS: &str = "tests";

/// The packages, by prefix, that only some crates may depend on. `unify` holds features and no code.
const RESERVED: [(&str, &[&str]); 6] = [
    ("lance", &["substrate"]),
    ("object_store", &["substrate"]),
    ("clap", &["cli"]),
    ("miette", &["cli"]),
    ("indicatif", &["cli"]),
    ("comfy-table", &["cli", "unify"]),
];

#[derive(Debug, Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

/// A member of the workspace.
#[derive(Debug, Deserialize)]
pub(crate) struct Package {
    pub(crate) name: String,
    dependencies: Vec<Dependency>,
}

#[derive(Debug, Deserialize)]
struct Dependency {
    name: String,
    kind: Option<String>,
}

/// The members, from `cargo metadata --no-deps`.
///
/// # Errors
/// When cargo refuses the workspace.
pub(crate) fn packages(root: &Path) -> Result<Vec<Package>, Failure> {
    let program = "cargo metadata --format-version 1 --no-deps".to_owned();
    let output = std::process::Command::new("cargo")
        .args(["metadata", "--format-version", "1", "--no-deps"])
        .current_dir(root)
        .output()
        .map_err(|source| Failure::Start { program: program.clone(), source })?;
    if !output.status.success() {
        eprint!("{}", String::from_utf8_lossy(&output.stderr));
        return Err(Failure::Exit { program, code: output.status.code() });
    }
    let metadata: Metadata = serde_json::from_slice(&output.stdout)
        .map_err(|why| Failure::Answer { program, why: why.to_string() })?;
    Ok(metadata.packages)
}

/// Every dependency that breaks the rule.
pub(crate) fn check(packages: &[Package]) -> Vec<Finding> {
    packages.iter().flat_map(check_package).collect()
}

fn check_package(package: &Package) -> Vec<Finding> {
    if package.name == "xtask" {
        return package.dependencies.iter().filter_map(|on| reserved("xtask", on)).collect();
    }
    let Some(room) = package.name.strip_prefix(PREFIX) else {
        return vec![homeless(&package.name)];
    };
    if room == TESTS {
        let production = package.dependencies.iter().filter(|on| on.kind.as_deref() != Some("dev"));
        return production.filter_map(|on| reserved(room, on)).collect();
    }
    match ROOMS.iter().find(|known| known.name == room) {
        None => vec![homeless(&package.name)],
        Some(known) => package.dependencies.iter().filter_map(|on| judge(known, on)).collect(),
    }
}

fn homeless(name: &str) -> Finding {
    let text = format!("`{name}` has no place in the layer table (xtask/src/layers.rs)");
    Finding::fault("Cargo.toml", RULE, text)
}

fn judge(room: &Room, on: &Dependency) -> Option<Finding> {
    match on.name.strip_prefix(PREFIX) {
        Some(other) if room.may_use.contains(&other) => None,
        Some(other) => {
            let allowed = room.may_use.join(", ");
            let text = format!("may not depend on `{other}`; it may see only: {allowed}");
            Some(Finding::fault(manifest_of(room.name), RULE, text))
        }
        None => reserved(room.name, on),
    }
}

fn reserved(room: &str, on: &Dependency) -> Option<Finding> {
    let (_, owners) = RESERVED.iter().find(|(name, _)| is_of(&on.name, name))?;
    if owners.contains(&room) {
        return None;
    }
    let text = format!("may not depend on `{}`; only {} may", on.name, owners.join(" and "));
    Some(Finding::fault(manifest_of(room), RULE, text))
}

/// Whether `package` is `name` itself or one of its family (`lance-table`, `lance_io`).
fn is_of(package: &str, name: &str) -> bool {
    package.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '_']))
}

fn manifest_of(room: &str) -> String {
    if [TESTS, "xtask"].contains(&room) {
        format!("{room}/Cargo.toml")
    } else {
        format!("crates/{room}/Cargo.toml")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    /// A workspace on disk with one package per pair of name and dependency tables.
    fn workspace(members: &[(&str, &str)]) -> Scratch {
        let scratch = Scratch::new("layers");
        let paths: Vec<String> = members.iter().map(|member| format!("\"{}\"", member.0)).collect();
        let text = format!("[workspace]\nresolver = \"2\"\nmembers = [{}]\n", paths.join(", "));
        scratch.write("Cargo.toml", &text);
        for (path, dependencies) in members {
            let name = path.rsplit('/').next().unwrap();
            let text = format!(
                "[package]\nname = \"graphwrite-{name}\"\nversion = \"0.1.0\"\n{dependencies}"
            );
            scratch.write(&format!("{path}/Cargo.toml"), &text);
            scratch.write(&format!("{path}/src/lib.rs"), "");
        }
        scratch
    }

    fn faults(members: &[(&str, &str)]) -> Vec<String> {
        let scratch = workspace(members);
        let found = check(&packages(scratch.path()).unwrap());
        found.into_iter().map(|finding| format!("{}: {}", finding.place, finding.text)).collect()
    }

    const TYPES: (&str, &str) = ("crates/protocol-types", "");
    const ON_TYPES: &str =
        "[dependencies]\ngraphwrite-protocol-types = { path = \"../protocol-types\" }\n";

    #[test]
    fn a_dependency_down_the_chain_is_allowed() {
        assert_eq!(faults(&[TYPES, ("crates/gates", ON_TYPES)]), Vec::<String>::new());
    }

    #[test]
    fn a_dependency_up_the_chain_is_a_fault() {
        let up = "[dependencies]\ngraphwrite-gates = { path = \"../gates\" }\n";
        let found = faults(&[("crates/protocol-types", up), ("crates/gates", "")]);
        assert_eq!(found.len(), 1);
        assert!(
            found[0].starts_with("crates/protocol-types/Cargo.toml: may not depend on `gates`")
        );
    }

    #[test]
    fn a_pure_crate_may_not_see_another_pure_crate() {
        let on_gates = "[dependencies]\ngraphwrite-gates = { path = \"../gates\" }\n";
        assert_eq!(faults(&[("crates/recovery", on_gates), ("crates/gates", "")]).len(), 1);
    }

    #[test]
    fn lance_belongs_to_substrate_alone() {
        let lance = "[dependencies]\nlance-table = \"14\"\n";
        assert_eq!(faults(&[("crates/substrate", lance)]), Vec::<String>::new());
        assert_eq!(faults(&[("crates/manifest", lance)]).len(), 1);
    }

    #[test]
    fn a_renamed_dependency_is_seen_through() {
        let renamed =
            "[dependencies]\nharmless = { package = \"object_store\", version = \"0.14\" }\n";
        assert_eq!(faults(&[("crates/coordinator", renamed)]).len(), 1);
    }

    #[test]
    fn a_test_dependency_of_a_pure_crate_counts() {
        let lance = "[dev-dependencies]\nlance = \"14\"\n";
        assert_eq!(faults(&[("crates/recovery", lance)]).len(), 1);
    }

    #[test]
    fn the_tests_package_may_test_with_anything() {
        let lance = "[dev-dependencies]\nlance = \"14\"\n";
        assert_eq!(faults(&[("tests", lance)]), Vec::<String>::new());
    }

    #[test]
    fn terminal_crates_belong_to_the_tool_alone() {
        let clap = "[dependencies]\nclap = \"4\"\nindicatif = \"0.18\"\n";
        assert_eq!(faults(&[("crates/cli", clap)]), Vec::<String>::new());
        assert_eq!(faults(&[("crates/coordinator", clap)]).len(), 2);
    }

    #[test]
    fn a_crate_without_a_place_is_a_fault() {
        assert_eq!(faults(&[("crates/helpers", "")]).len(), 1);
    }

    #[test]
    fn a_name_that_only_begins_alike_is_not_reserved() {
        assert!(is_of("lance-io", "lance"));
        assert!(!is_of("lancet", "lance"));
    }
}
