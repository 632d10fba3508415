//! The dependency rule between the crates of the workspace, as one closed table. It reads what
//! cargo says about the packages, never their sources.

use std::path::{Path, PathBuf};

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
const ROOMS: [Room; 11] = [
    Room { name: "protocol-types", may_use: &[] },
    Room { name: "unify", may_use: &[] },
    Room { name: "gates", may_use: &["protocol-types"] },
    Room { name: "schema", may_use: &["protocol-types"] },
    Room { name: "recovery", may_use: &["protocol-types"] },
    Room { name: "model", may_use: &["protocol-types", "recovery"] },
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

/// The package of the cross-crate tests: it may use every crate, but no crate's own tools.
const TESTS: &str = "tests";
/// This package: it knows no type of any crate that it builds, so that it never waits for Lance.
const TASKS: &str = "xtask";

/// The packages, by prefix, that only some crates may depend on, for tests and build scripts too.
/// `unify` holds features and no code.
const RESERVED: [(&str, &[&str]); 7] = [
    ("lance", &["substrate"]),
    ("object_store", &["substrate"]),
    ("datafusion", &["substrate"]),
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
    manifest_path: PathBuf,
    dependencies: Vec<Dependency>,
    targets: Vec<Target>,
}

#[derive(Debug, Deserialize)]
struct Dependency {
    name: String,
    /// What the sources call it, if that is not its name.
    rename: Option<String>,
    /// Where it is, for a package on this disk.
    path: Option<PathBuf>,
}

/// Something that cargo compiles.
#[derive(Debug, Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
    src_path: PathBuf,
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

/// Whether the crate in `room` may come to what `other` owns, through whatever lies between. A room
/// that the table does not have may see all.
pub(crate) fn sees(room: &str, other: &str) -> bool {
    let Some(room) = ROOMS.iter().find(|known| known.name == room) else { return true };
    room.may_use.iter().any(|below| *below == other || sees(below, other))
}

/// Every dependency that breaks the rule, and every package whose sources are not where they are
/// looked for.
pub(crate) fn check(packages: &[Package]) -> Vec<Finding> {
    packages.iter().flat_map(check_package).collect()
}

fn check_package(package: &Package) -> Vec<Finding> {
    let room = match package.name.strip_prefix(PREFIX) {
        Some(room) if room == TESTS || ROOMS.iter().any(|known| known.name == room) => room,
        None if package.name == TASKS => TASKS,
        _ => return vec![homeless(&package.name)],
    };
    let judged = package.dependencies.iter().flat_map(|on| {
        [judge(room, on), reserved(room, on), disguised(package, room, on)].into_iter().flatten()
    });
    judged
        .chain(package.targets.iter().filter_map(|target| elsewhere(package, room, target)))
        .collect()
}

fn homeless(name: &str) -> Finding {
    let text = format!("`{name}` has no place in the layer table (xtask/src/layers.rs)");
    Finding::fault("Cargo.toml", RULE, text)
}

fn judge(room: &str, on: &Dependency) -> Option<Finding> {
    let other = on.name.strip_prefix(PREFIX)?;
    let allowed: Vec<&str> = match ROOMS.iter().find(|known| known.name == room) {
        Some(known) => known.may_use.to_vec(),
        None if room == TESTS => ROOMS.iter().map(|known| known.name).collect(),
        None => Vec::new(),
    };
    if allowed.contains(&other) {
        return None;
    }
    let text = format!("may not depend on `{other}`; it may see only: {}", allowed.join(", "));
    Some(Finding::fault(manifest_of(room), RULE, text))
}

/// The audit of the sources goes by names: a crate has one, and it is what is in this workspace.
fn disguised(package: &Package, room: &str, on: &Dependency) -> Option<Finding> {
    let is_reserved = RESERVED.iter().any(|(name, _)| is_of(&on.name, name));
    let other = on.name.strip_prefix(PREFIX);
    if let Some(name) = on.rename.as_ref().filter(|_| is_reserved || other.is_some()) {
        let text = format!("calls `{}` by another name, `{name}`", on.name);
        return Some(Finding::fault(manifest_of(room), RULE, text));
    }
    let home = |other: &str| workspace_of(package, room).join(directory_of(other));
    let stranger = other.filter(|other| on.path.as_deref() != Some(home(other).as_path()))?;
    let text = format!("takes `{stranger}` from elsewhere than {}", directory_of(stranger));
    Some(Finding::fault(manifest_of(room), RULE, text))
}

/// Code that is made while building, and code outside of `src` and `tests`, is not read.
fn elsewhere(package: &Package, room: &str, target: &Target) -> Option<Finding> {
    let root = package.manifest_path.parent()?;
    let below = target.src_path.strip_prefix(root).ok();
    let read = below
        .is_some_and(|path| ["src", "tests"].iter().any(|directory| path.starts_with(directory)));
    let is = |kind: &str| target.kind.iter().any(|it| it == kind);
    let text = if is("custom-build") || is("proc-macro") {
        format!("`{}` makes code while building, which the audit cannot read", target.name)
    } else if !read {
        format!("the sources of `{}` are at {}", target.name, target.src_path.display())
    } else if is("lib") && target.name != package.name.replace('-', "_") {
        format!("the library is called `{}`, not as its package", target.name)
    } else {
        return None;
    };
    Some(Finding::fault(manifest_of(room), RULE, text))
}

fn workspace_of(package: &Package, room: &str) -> PathBuf {
    let depth = Path::new(&directory_of(room)).components().count();
    package.manifest_path.ancestors().nth(depth + 1).map(Path::to_path_buf).unwrap_or_default()
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
    format!("{}/Cargo.toml", directory_of(room))
}

fn directory_of(room: &str) -> String {
    if [TESTS, TASKS].contains(&room) { room.to_owned() } else { format!("crates/{room}") }
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
    fn a_renamed_dependency_is_seen_through_and_refused() {
        let renamed =
            "[dependencies]\nharmless = { package = \"object_store\", version = \"0.14\" }\n";
        assert_eq!(faults(&[("crates/coordinator", renamed)]).len(), 2);
        assert_eq!(faults(&[("crates/substrate", renamed)]).len(), 1);
    }

    #[test]
    fn a_crate_of_the_workspace_has_one_name() {
        let renamed = "[dependencies]\ntypes = { package = \"graphwrite-protocol-types\", path = \"../protocol-types\" }\n";
        let found = faults(&[TYPES, ("crates/gates", renamed)]);
        assert_eq!(found.len(), 1);
        assert!(found[0].contains("by another name, `types`"), "{found:?}");
    }

    #[test]
    fn a_crate_of_the_workspace_comes_from_the_workspace() {
        let other = "[dependencies]\ngraphwrite-protocol-types = \"0.1\"\n";
        let found = faults(&[("crates/gates", other)]);
        assert_eq!(found.len(), 1);
        assert!(found[0].contains("from elsewhere"), "{found:?}");
    }

    #[test]
    fn dependencies_of_every_kind_and_target_count() {
        for table in ["dev-dependencies", "build-dependencies", "target.'cfg(unix)'.dependencies"] {
            for package in ["lance", "datafusion-expr", "object_store"] {
                let text = format!("[{table}]\n{package} = \"1\"\n");
                assert_eq!(faults(&[("crates/recovery", &text)]).len(), 1, "{text}");
                assert_eq!(faults(&[("tests", &text)]).len(), 1, "{text}");
            }
        }
    }

    #[test]
    fn an_optional_dependency_counts() {
        let optional = "[dependencies]\nlance = { version = \"14\", optional = true }\n";
        assert_eq!(faults(&[("crates/adapters", optional)]).len(), 1);
    }

    #[test]
    fn the_tests_package_may_use_every_crate() {
        let on_types = "[dev-dependencies]\ngraphwrite-protocol-types = { path = \"../crates/protocol-types\" }\n";
        assert_eq!(faults(&[TYPES, ("tests", on_types)]), Vec::<String>::new());
    }

    #[test]
    fn a_build_script_is_a_fault() {
        let scratch = workspace(&[("crates/gates", "")]);
        scratch.write("crates/gates/build.rs", "fn main() {}");
        let found = check(&packages(scratch.path()).unwrap());
        assert!(found[0].text.contains("makes code while building"), "{found:?}");
    }

    #[test]
    fn sources_outside_of_their_directory_are_a_fault() {
        let moved = "[lib]\npath = \"other/lib.rs\"\n";
        let scratch = workspace(&[("crates/gates", moved)]);
        scratch.write("crates/gates/other/lib.rs", "");
        let found = check(&packages(scratch.path()).unwrap());
        assert!(found[0].text.contains("the sources of"), "{found:?}");
    }

    #[test]
    fn a_library_is_called_as_its_package() {
        assert_eq!(faults(&[("crates/gates", "[lib]\nname = \"doors\"\n")]).len(), 1);
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
