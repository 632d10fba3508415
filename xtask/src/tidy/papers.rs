//! Rules about everything that is not Rust: the papers that must exist, what the README must say,
//! and the lints that each package must take from the workspace.

use std::path::Path;

use crate::finding::Finding;

/// The papers of the repository, each promised to the reader by another.
const PAPERS: [&str; 6] =
    ["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "LICENSE", "deny.toml", "docs/STYLE.md"];

/// All the set-up there is.
const COMMANDS: [&str; 2] = ["cargo xtask demo", "cargo xtask test"];

pub(crate) fn check(root: &Path) -> Vec<Finding> {
    let mut findings = missing(root);
    findings.extend(readme(root));
    findings.extend(manifests(root));
    findings
}

fn missing(root: &Path) -> Vec<Finding> {
    PAPERS
        .iter()
        .filter(|paper| !root.join(paper).is_file())
        .map(|paper| Finding::fault(*paper, "papers", "does not exist".to_owned()))
        .collect()
}

/// A missing README is already a finding of its own.
fn readme(root: &Path) -> Vec<Finding> {
    let Ok(text) = std::fs::read_to_string(root.join("README.md")) else { return Vec::new() };
    let silent = COMMANDS.iter().filter(|command| !text.contains(*command)).map(|command| {
        Finding::fault("README.md", "readme-commands", format!("does not mention `{command}`"))
    });
    let dead = links(&text).into_iter().filter(|link| !root.join(link).exists()).map(|link| {
        Finding::fault("README.md", "readme-links", format!("links to `{link}`, which is missing"))
    });
    silent.chain(dead).collect()
}

/// The targets of Markdown links that are files of the repository.
fn links(text: &str) -> Vec<&str> {
    text.split("](")
        .skip(1)
        .filter_map(|rest| rest.split([')', '#', ' ']).next())
        .filter(|link| !link.is_empty() && !link.contains(':'))
        .collect()
}

fn manifests(root: &Path) -> Vec<Finding> {
    let crates = std::fs::read_dir(root.join("crates")).into_iter().flatten().flatten();
    let mut members: Vec<String> =
        crates.map(|entry| format!("crates/{}", entry.file_name().to_string_lossy())).collect();
    members.extend(["tests".to_owned(), "xtask".to_owned()]);
    members.sort();
    members.iter().filter_map(|member| lints(root, &format!("{member}/Cargo.toml"))).collect()
}

fn lints(root: &Path, manifest: &str) -> Option<Finding> {
    let text = std::fs::read_to_string(root.join(manifest)).ok()?;
    let mut lines = text.lines().map(str::trim).skip_while(|line| *line != "[lints]").skip(1);
    let inherits = lines.find(|line| !line.is_empty()) == Some("workspace = true");
    if inherits {
        return None;
    }
    let text = "must say `[lints]` `workspace = true`".to_owned();
    Some(Finding::fault(manifest, "lints", text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::rules;
    use crate::scratch::Scratch;

    const README: &str =
        "Run `cargo xtask demo` or `cargo xtask test`. See [style](docs/STYLE.md).";

    fn complete() -> Scratch {
        let scratch = Scratch::new("papers");
        for paper in PAPERS {
            scratch.write(paper, "text");
        }
        scratch.write("README.md", README);
        scratch.write("crates/gates/Cargo.toml", "[package]\n\n[lints]\nworkspace = true\n");
        scratch
    }

    #[test]
    fn a_complete_set_of_papers_is_fine() {
        assert_eq!(check(complete().path()), []);
    }

    #[test]
    fn each_missing_paper_is_a_fault() {
        for paper in PAPERS {
            let scratch = complete();
            std::fs::remove_file(scratch.path().join(paper)).unwrap();
            assert!(check(scratch.path()).iter().any(|found| found.place == paper), "{paper}");
        }
    }

    #[test]
    fn a_readme_without_a_command_is_a_fault() {
        for command in COMMANDS {
            let scratch = complete();
            scratch.write("README.md", &README.replace(command, "make"));
            assert_eq!(rules(&check(scratch.path())), ["readme-commands"], "{command}");
        }
    }

    #[test]
    fn a_link_to_a_page_that_is_missing_is_a_fault() {
        let scratch = complete();
        scratch.write("README.md", &format!("{README} And [format](docs/format.md#stamp)."));
        let found = check(scratch.path());
        assert_eq!(rules(&found), ["readme-links"]);
        assert!(found[0].text.contains("`docs/format.md`"));
    }

    #[test]
    fn a_link_out_of_the_repository_or_within_the_page_is_not_judged() {
        assert_eq!(links("[a](https://example.org/x) [b](#here) [c](docs/d.md)"), ["docs/d.md"]);
    }

    #[test]
    fn a_package_with_lints_of_its_own_is_a_fault() {
        for text in ["[package]\n", "[lints]\n", "[lints]\nworkspace = false\n", "[lints.rust]\n"] {
            let scratch = complete();
            scratch.write("crates/gates/Cargo.toml", text);
            assert_eq!(rules(&check(scratch.path())), ["lints"], "{text}");
        }
    }
}
