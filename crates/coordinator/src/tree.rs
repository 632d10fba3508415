//! What lies below a graph's root, by name: part of the graph, residue that is understood, or
//! neither.

use std::collections::{BTreeMap, BTreeSet};

use graphwrite_manifest::{MANIFEST_PATH, ManifestState};
use graphwrite_protocol_types::{AttemptId, TableHeadToken};

use crate::ReadError;
use crate::core::Core;
use crate::report::{Finding, Severity};

const TABLES: &str = "tables";
const RECOVERY: &str = "_recovery";
const CONTROL: &str = "_control";

/// The objects that no published state names, grouped by what they are: datasets of attempts that
/// are pending or given up, objects inside the graph's directories that are no part of it, and
/// whatever else lies beside them: `init` allows it, and no graph looks at it.
pub(crate) async fn unnamed_objects(
    core: &Core,
    state: &ManifestState,
) -> Result<Vec<Finding>, ReadError> {
    let branch = &state.base().branch.native;
    // Listed before the intents, so that a dataset made in between is not taken for garbage.
    let objects = core.store.list("").await?;
    let pending = core.intents.list(branch).await?.attempts.into_keys().collect();
    let newest = core.manifest.state().await?;
    let tree = Tree { named: named_datasets(&newest), pending };
    let mut groups: BTreeMap<(String, Kind), u64> = BTreeMap::new();
    for object in &objects {
        if let Some(group) = tree.group_of(&object.path) {
            *groups.entry(group).or_default() += 1;
        }
    }
    Ok(groups.into_iter().map(|((place, kind), count)| finding(place, kind, count)).collect())
}

fn named_datasets(state: &ManifestState) -> BTreeSet<String> {
    let live = state.base().heads.values().filter_map(TableHeadToken::live);
    live.map(|head| head.path.as_str().to_owned()).collect()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    PendingDataset,
    AbandonedDataset,
    Unexplained,
    Beside,
}

/// Whether a name at the top is a directory of the graph.
fn is_ours(top: &str) -> bool {
    [MANIFEST_PATH, TABLES, RECOVERY, CONTROL].contains(&top)
}

struct Tree {
    named: BTreeSet<String>,
    pending: BTreeSet<AttemptId>,
}

impl Tree {
    /// The group of an object that no published state names; none when it is part of the graph.
    fn group_of(&self, path: &str) -> Option<(String, Kind)> {
        let unexplained = || Some((path.to_owned(), Kind::Unexplained));
        let (top, rest) = path.split_once('/').unwrap_or((path, ""));
        match top {
            _ if rest.is_empty() && is_ours(top) => unexplained(),
            MANIFEST_PATH => None,
            // Names in here are judged, and refused, by the barrier.
            RECOVERY => None,
            TABLES => self.dataset_group(rest).unwrap_or_else(unexplained),
            CONTROL => unexplained(),
            _ => Some((top.to_owned(), Kind::Beside)),
        }
    }

    fn dataset_group(&self, rest: &str) -> Option<Option<(String, Kind)>> {
        let (name, _) = rest.split_once('/')?;
        let dataset = format!("{TABLES}/{name}");
        if self.named.contains(&dataset) {
            return Some(None);
        }
        let attempt: AttemptId = name.rsplit_once('-')?.1.parse().ok()?;
        let pending = self.pending.contains(&attempt);
        let kind = if pending { Kind::PendingDataset } else { Kind::AbandonedDataset };
        Some(Some((dataset, kind)))
    }
}

fn finding(place: String, kind: Kind, count: u64) -> Finding {
    let (severity, code, message) = match kind {
        Kind::PendingDataset => {
            (Severity::Note, "pending_dataset", format!("{count} objects of a pending attempt"))
        }
        Kind::AbandonedDataset => (
            Severity::Note,
            "abandoned_dataset",
            format!("{count} objects of an attempt that was given up; nothing names them"),
        ),
        Kind::Unexplained => {
            (Severity::Fault, "unexplained_object", "not an object of a graph".to_owned())
        }
        Kind::Beside => {
            (Severity::Note, "foreign_object", format!("{count} objects beside the graph's own"))
        }
    };
    Finding { severity, code, place, message }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMED: &str = "tables/0000000000000001-0000000000000065-00000000000000000000000051";
    const OTHER: &str = "tables/0000000000000001-0000000000000065-00000000000000000000000052";

    fn tree(pending: &[u128]) -> Tree {
        Tree {
            named: [NAMED.to_owned()].into(),
            pending: pending.iter().map(|id| AttemptId::from_u128(*id)).collect(),
        }
    }

    #[test]
    fn what_the_manifest_names_is_part_of_the_graph() {
        assert_eq!(tree(&[]).group_of(&format!("{NAMED}/data/x.lance")), None);
        assert_eq!(tree(&[]).group_of("__manifest/_versions/1.manifest"), None);
    }

    #[test]
    fn a_dataset_that_nothing_names_is_pending_or_given_up() {
        let object = format!("{OTHER}/data/x.lance");
        let group = |kind| Some((OTHER.to_owned(), kind));
        assert_eq!(tree(&[]).group_of(&object), group(Kind::AbandonedDataset));
        assert_eq!(tree(&[0xa2]).group_of(&object), group(Kind::PendingDataset));
    }

    #[test]
    fn anything_else_inside_the_graph_is_unexplained() {
        for path in ["tables", "tables/readme", "tables/mine/data/x.lance", "_control/x"] {
            assert_eq!(tree(&[]).group_of(path), Some((path.to_owned(), Kind::Unexplained)));
        }
    }

    #[test]
    fn what_lies_beside_the_graph_is_grouped_by_its_name() {
        for (path, name) in [("notes.txt", "notes.txt"), ("photos/1/a.jpg", "photos")] {
            assert_eq!(tree(&[]).group_of(path), Some((name.to_owned(), Kind::Beside)));
        }
    }
}
