//! What the root of a graph holds before `init`, judged by names alone. Pure; it must not list.

use crate::reading::MANIFEST_PATH;

/// What a listing of a root shows.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RootContents {
    /// Nothing.
    Empty,
    /// What an `init` leaves that died before its commit: files that no manifest version names.
    Residue,
    /// A graph: a version of the manifest.
    Graph,
    /// Something else.
    Foreign {
        /// The first foreign object, by its path below the root.
        path: String,
    },
}

/// Judges the paths of all objects below a root. Only over an empty root or residue may a graph be
/// created.
pub fn judge_root<'a>(paths: impl IntoIterator<Item = &'a str>) -> RootContents {
    let mut contents = RootContents::Empty;
    for path in paths {
        match part_of(path) {
            Part::Version => return RootContents::Graph,
            Part::Residue if contents == RootContents::Empty => contents = RootContents::Residue,
            Part::Foreign if !matches!(contents, RootContents::Foreign { .. }) => {
                contents = RootContents::Foreign { path: path.to_owned() };
            }
            Part::Residue | Part::Foreign => {}
        }
    }
    contents
}

enum Part {
    Version,
    Residue,
    Foreign,
}

fn part_of(path: &str) -> Part {
    let within = path.strip_prefix(MANIFEST_PATH).and_then(|rest| rest.strip_prefix('/'));
    match within.and_then(|rest| rest.split_once('/')) {
        Some(("_versions", name)) if name.ends_with(".manifest") => Part::Version,
        Some(("data", name)) if name.ends_with(".lance") => Part::Residue,
        Some(("_transactions", name)) if name.ends_with(".txn") => Part::Residue,
        _ => Part::Foreign,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DATA: &str = "__manifest/data/0123.lance";
    const TXN: &str = "__manifest/_transactions/0-01ARZ-m00.txn";
    const VERSION: &str = "__manifest/_versions/18446744073709551614.manifest";

    fn foreign(path: &str) -> RootContents {
        RootContents::Foreign { path: path.to_owned() }
    }

    #[test]
    fn an_empty_root_is_empty() {
        assert_eq!(judge_root([]), RootContents::Empty);
    }

    #[test]
    fn files_without_a_version_are_the_residue_of_a_killed_init() {
        assert_eq!(judge_root([DATA]), RootContents::Residue);
        assert_eq!(judge_root([TXN, DATA]), RootContents::Residue);
    }

    #[test]
    fn a_version_makes_a_graph_whatever_else_is_there() {
        assert_eq!(judge_root(["notes.txt", DATA, VERSION]), RootContents::Graph);
    }

    #[test]
    fn the_first_foreign_object_is_named() {
        assert_eq!(judge_root([DATA, "a/b", "c"]), foreign("a/b"));
        assert_eq!(judge_root(["__manifest/readme"]), foreign("__manifest/readme"));
        assert_eq!(judge_root(["__manifest2/data/x.lance"]), foreign("__manifest2/data/x.lance"));
    }

    #[test]
    fn tables_without_a_manifest_are_foreign() {
        let table = "tables/0000000000000001-0000000000000002-01ARZ/data/x.lance";
        assert_eq!(judge_root([table]), foreign(table));
    }
}
