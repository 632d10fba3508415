//! A judge of merges that are there: the rows of each are what the rows of its parents, and of what these have
//! in common, come to. It knows the order of all commits, and nothing of how one was made.

use std::collections::{BTreeMap, BTreeSet};

use graphwrite_coordinator::{Graph, MergeStrategy};
use graphwrite_protocol_types::CommitId;
use serde_json::Value;

use crate::world::rows_of;

/// Rows by type and key.
type Rows = BTreeMap<(String, String), String>;

struct Commit {
    parents: Vec<CommitId>,
    rows: Rows,
}

/// Judges every merge in the lines of `graphs`, which have all commits among them, and says how many there
/// are. All of them were sent with this strategy.
pub(crate) async fn judge_merges(graphs: &[&Graph], strategy: MergeStrategy) -> usize {
    let mut commits = BTreeMap::new();
    for graph in graphs {
        for found in graph.log(usize::MAX).await.expect("a log") {
            if commits.contains_key(&found.commit) {
                continue;
            }
            let snapshot = graph.snapshot_at(found.commit).await.expect("a commit of the line");
            let lines = rows_of(&snapshot).await;
            let count = lines.values().map(Vec::len).sum::<usize>();
            let rows: Rows = lines.into_values().flatten().map(keyed).collect();
            assert_eq!(rows.len(), count, "{} has a key twice", found.commit);
            commits.insert(found.commit, Commit { parents: found.parents, rows });
        }
    }
    let merges = commits.iter().filter(|(_, commit)| commit.parents.len() == 2);
    merges.map(|(id, commit)| judge(&commits, *id, commit, strategy)).count()
}

fn judge(
    commits: &BTreeMap<CommitId, Commit>,
    id: CommitId,
    merge: &Commit,
    strategy: MergeStrategy,
) {
    let [target, source] = [merge.parents[0], merge.parents[1]];
    let bases = best_common(commits, target, source);
    let bases: Vec<&Rows> = bases.iter().map(|base| &commits[base].rows).collect();
    let (target, source) = (&commits[&target].rows, &commits[&source].rows);
    let places: BTreeSet<_> =
        bases.iter().copied().chain([target, source]).flat_map(BTreeMap::keys).collect();
    let mut expected = Rows::new();
    for place in places {
        let (ours, theirs) = (target.get(place), source.get(place));
        let of_bases: Vec<_> = bases.iter().map(|base| base.get(place)).collect();
        let row = if ours == theirs || of_bases.iter().all(|base| *base == theirs) {
            ours
        } else if of_bases.iter().all(|base| *base == ours) {
            theirs
        } else {
            match strategy {
                MergeStrategy::Fail => panic!("{id}: {place:?} contradicts, and was merged"),
                MergeStrategy::Ours => ours,
                MergeStrategy::Theirs => theirs,
            }
        };
        expected.extend(row.map(|row| (place.clone(), row.clone())));
    }
    assert_eq!(merge.rows, expected, "{id}");
}

fn ancestors(commits: &BTreeMap<CommitId, Commit>, of: CommitId) -> BTreeSet<CommitId> {
    let (mut seen, mut open) = (BTreeSet::new(), vec![of]);
    while let Some(id) = open.pop() {
        if seen.insert(id) {
            open.extend(&commits[&id].parents);
        }
    }
    seen
}

fn best_common(
    commits: &BTreeMap<CommitId, Commit>,
    one: CommitId,
    other: CommitId,
) -> BTreeSet<CommitId> {
    let common = &ancestors(commits, one) & &ancestors(commits, other);
    let older =
        |id: &CommitId| common.iter().any(|it| it != id && ancestors(commits, *it).contains(id));
    common.iter().copied().filter(|id| !older(id)).collect()
}

fn keyed(line: String) -> ((String, String), String) {
    let row: Value = serde_json::from_str(&line).expect("a JSON line");
    let place = match row.get("edge") {
        Some(edge) => (edge.to_string(), format!("{} -> {}", row["from"], row["to"])),
        None => (row["type"].to_string(), row["data"]["slug"].to_string()),
    };
    (place, line)
}
