//! What lies below a graph's root, by name: part of the graph, residue that is understood, or
//! neither. It reads no object.

use std::collections::{BTreeMap, BTreeSet};

use graphwrite_manifest::{MANIFEST_PATH, ManifestState};
use graphwrite_protocol_types::{AttemptId, TableHeadToken};
use graphwrite_substrate::{ObjectEntry, version_of_object};

use crate::ReadError;
use crate::core::Core;
use crate::report::{Finding, FindingKind, ObjectGroup};
use crate::verify::{
    ABANDONED_DATASET, FOREIGN_OBJECT, Listing, NamedObjects, PENDING_DATASET, STAGED_FILES,
    UNEXPLAINED_OBJECT, UNNAMED_FILES, VERSION_HINT,
};

const TABLES: &str = "tables";
const RECOVERY: &str = "_recovery";
const CONTROL: &str = "_control";
const HINT: &str = "latest_version_hint.json";

/// The objects that are no part of the graph, grouped by what they are: datasets of attempts that are
/// pending or given up, objects inside the graph's directories that are no part of it, and whatever
/// else lies beside them: `init` allows it, and no graph looks at it. No version is read, so files
/// inside a table are taken for its own.
pub(crate) async fn unnamed_objects(
    core: &Core,
    state: &ManifestState,
) -> Result<Vec<Finding>, ReadError> {
    let branch = &state.base().branch.native;
    // Listed before the intents, so that a dataset made in between is not taken for garbage.
    let listing = Listing::of(&core.store).await?;
    let pending = core.intents.list(branch).await?.attempts.into_keys().collect();
    let newest = core.manifest.state().await?;
    let staged = BTreeSet::new();
    let tree = Tree::of(&newest, &pending, &staged, None);
    Ok(object_groups(&tree, listing.objects()).1)
}

/// All objects by what they are, and what is to be said of those that are no part of the graph.
pub(crate) fn object_groups(
    tree: &Tree<'_>,
    objects: &[ObjectEntry],
) -> (Vec<ObjectGroup>, Vec<Finding>) {
    let mut places: BTreeMap<(Kind, String), Sum> = BTreeMap::new();
    let mut kinds: BTreeMap<Kind, Sum> = BTreeMap::new();
    for object in objects {
        let (kind, place) = tree.kind_of(&object.path);
        kinds.entry(kind).or_default().add(object);
        if kind.finding().is_some() {
            places.entry((kind, place)).or_default().add(object);
        }
    }
    let groups = kinds.into_iter().map(|(kind, sum)| ObjectGroup {
        kind: kind.name(),
        count: sum.count,
        bytes: sum.bytes,
    });
    let findings = places.into_iter().filter_map(|((kind, place), sum)| {
        let message = match kind {
            Kind::Unexplained => "not an object of a graph".to_owned(),
            _ => format!("{} objects, {} bytes: {}", sum.count, sum.bytes, kind.text()),
        };
        Some(kind.finding()?.at(place, message))
    });
    (groups.collect(), findings.collect())
}

#[derive(Debug, Default)]
struct Sum {
    count: u64,
    bytes: u64,
}

impl Sum {
    fn add(&mut self, object: &ObjectEntry) {
        self.count += 1;
        self.bytes += object.size;
    }
}

/// What an object is. Each has exactly one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    ManifestVersion,
    TableVersion,
    DataFile,
    DeletionFile,
    IndexFile,
    TransactionFile,
    RecoveryRecord,
    VersionHint,
    PendingDataset,
    StagedFile,
    UnnamedFile,
    AbandonedDataset,
    Unexplained,
    Beside,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::ManifestVersion => "manifest_version",
            Self::TableVersion => "table_version",
            Self::DataFile => "data_file",
            Self::DeletionFile => "deletion_file",
            Self::IndexFile => "index_file",
            Self::TransactionFile => "transaction_file",
            Self::RecoveryRecord => "recovery_record",
            Self::VersionHint => "version_hint",
            Self::PendingDataset => "pending_dataset",
            Self::StagedFile => "staged_file",
            Self::UnnamedFile => "unnamed_file",
            Self::AbandonedDataset => "abandoned_dataset",
            Self::Unexplained => "unexplained",
            Self::Beside => "beside",
        }
    }

    /// What is said of an object of this kind; nothing of a part of the graph.
    fn finding(self) -> Option<&'static FindingKind> {
        match self {
            Self::ManifestVersion
            | Self::TableVersion
            | Self::DataFile
            | Self::DeletionFile
            | Self::IndexFile
            | Self::TransactionFile
            | Self::RecoveryRecord => None,
            Self::VersionHint => Some(&VERSION_HINT),
            Self::PendingDataset => Some(&PENDING_DATASET),
            Self::StagedFile => Some(&STAGED_FILES),
            Self::UnnamedFile => Some(&UNNAMED_FILES),
            Self::AbandonedDataset => Some(&ABANDONED_DATASET),
            Self::Unexplained => Some(&UNEXPLAINED_OBJECT),
            Self::Beside => Some(&FOREIGN_OBJECT),
        }
    }

    fn text(self) -> &'static str {
        self.finding().map_or("part of the graph", |finding| finding.meaning)
    }
}

/// Whether a name at the top is a directory of the graph.
fn is_ours(top: &str) -> bool {
    [MANIFEST_PATH, TABLES, RECOVERY, CONTROL].contains(&top)
}

/// What is known of a graph, to tell its objects by.
pub(crate) struct Tree<'a> {
    /// The directories of the refs that were published.
    refs: BTreeSet<String>,
    /// Where records of the branch are.
    records: String,
    pending: &'a BTreeSet<AttemptId>,
    /// The datasets on which an attempt is pending.
    staged: &'a BTreeSet<String>,
    /// What the versions name; none if they were not read.
    named: Option<&'a NamedObjects>,
}

impl<'a> Tree<'a> {
    pub(crate) fn of(
        state: &ManifestState,
        pending: &'a BTreeSet<AttemptId>,
        staged: &'a BTreeSet<String>,
        named: Option<&'a NamedObjects>,
    ) -> Self {
        let live = state.base().heads.values().filter_map(TableHeadToken::live);
        let current = live.map(|head| head.path.to_string());
        let refs = named.map(|named| named.refs.iter().cloned());
        let refs = current.chain(refs.into_iter().flatten()).collect();
        let records = format!("{RECOVERY}/{}/", state.base().branch.native);
        Self { refs, records, pending, staged, named }
    }

    /// What the object at `path` is, and what it is listed under.
    fn kind_of(&self, path: &str) -> (Kind, String) {
        let itself = |kind| (kind, path.to_owned());
        let (top, rest) = path.split_once('/').unwrap_or((path, ""));
        match top {
            _ if rest.is_empty() && is_ours(top) => itself(Kind::Unexplained),
            MANIFEST_PATH => self.in_ref(path, MANIFEST_PATH, rest),
            // Names in here are judged, and refused, by the barrier.
            RECOVERY if path.starts_with(&self.records) => itself(Kind::RecoveryRecord),
            TABLES => self.in_tables(path, rest),
            RECOVERY | CONTROL => itself(Kind::Unexplained),
            _ => (Kind::Beside, top.to_owned()),
        }
    }

    fn in_tables(&self, path: &str, rest: &str) -> (Kind, String) {
        let unexplained = (Kind::Unexplained, path.to_owned());
        let Some((name, rest)) = rest.split_once('/') else { return unexplained };
        let dataset = format!("{TABLES}/{name}");
        if self.refs.contains(&dataset) {
            return self.in_ref(path, &dataset, rest);
        }
        let attempt = name.rsplit_once('-').and_then(|(_, attempt)| attempt.parse().ok());
        match attempt {
            Some(attempt) if self.pending.contains(&attempt) => (Kind::PendingDataset, dataset),
            Some(_) => (Kind::AbandonedDataset, dataset),
            None => unexplained,
        }
    }

    /// An object of a ref that was published: a version, or something that a version names.
    fn in_ref(&self, path: &str, dataset: &str, rest: &str) -> (Kind, String) {
        let (directory, name) = rest.split_once('/').unwrap_or((rest, ""));
        let kind = match directory {
            "_versions" if version_of_object(path).is_some() && dataset == MANIFEST_PATH => {
                Kind::ManifestVersion
            }
            "_versions" if version_of_object(path).is_some() => Kind::TableVersion,
            "_versions" if name == HINT => Kind::VersionHint,
            "data" => self.if_named(Kind::DataFile, dataset, |it| it.files.contains_key(path)),
            "_deletions" => {
                self.if_named(Kind::DeletionFile, dataset, |it| it.files.contains_key(path))
            }
            "_indices" => {
                let index = name.split('/').next().unwrap_or_default();
                let index = format!("{dataset}/_indices/{index}");
                self.if_named(Kind::IndexFile, dataset, |it| it.indices.contains(&index))
            }
            "_transactions" => {
                self.if_named(Kind::TransactionFile, dataset, |it| it.transactions.contains(path))
            }
            _ => Kind::Unexplained,
        };
        match kind {
            Kind::Unexplained | Kind::VersionHint => (kind, path.to_owned()),
            kind => (kind, dataset.to_owned()),
        }
    }

    fn if_named(
        &self,
        kind: Kind,
        dataset: &str,
        is_named: impl Fn(&NamedObjects) -> bool,
    ) -> Kind {
        match self.named {
            Some(named) if !is_named(named) && self.staged.contains(dataset) => Kind::StagedFile,
            Some(named) if !is_named(named) => Kind::UnnamedFile,
            _ => kind,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMED: &str = "tables/0000000000000001-0000000000000065-00000000000000000000000051";
    const OTHER: &str = "tables/0000000000000001-0000000000000065-00000000000000000000000052";

    struct World {
        pending: BTreeSet<AttemptId>,
        staged: BTreeSet<String>,
        named: NamedObjects,
    }

    impl World {
        fn new(pending: &[u128]) -> Self {
            let pending = pending.iter().map(|id| AttemptId::from_u128(*id)).collect();
            Self { pending, staged: BTreeSet::new(), named: NamedObjects::default() }
        }

        fn group_of(&self, path: &str) -> (Kind, String) {
            self.tree(Some(&self.named)).kind_of(path)
        }

        fn tree<'a>(&'a self, named: Option<&'a NamedObjects>) -> Tree<'a> {
            let (pending, staged) = (&self.pending, &self.staged);
            let (refs, records) = ([NAMED.to_owned()].into(), "_recovery/main/".to_owned());
            Tree { refs, records, pending, staged, named }
        }
    }

    #[test]
    fn what_a_version_names_is_part_of_the_graph_and_the_rest_is_residue() {
        let mut world = World::new(&[]);
        let file = format!("{NAMED}/data/x.lance");
        assert_eq!(world.group_of(&file), (Kind::UnnamedFile, NAMED.to_owned()));
        world.staged.insert(NAMED.to_owned());
        assert_eq!(world.group_of(&file), (Kind::StagedFile, NAMED.to_owned()));
        world.named.files.insert(file.clone(), "Person version 1".to_owned());
        assert_eq!(world.group_of(&file), (Kind::DataFile, NAMED.to_owned()));
        let version = "__manifest/_versions/18446744073709551614.manifest";
        assert_eq!(world.group_of(version), (Kind::ManifestVersion, MANIFEST_PATH.to_owned()));
    }

    #[test]
    fn where_no_version_was_read_a_file_of_a_table_is_taken_for_its_own() {
        let world = World::new(&[]);
        let file = format!("{NAMED}/_deletions/x.arrow");
        assert_eq!(world.tree(None).kind_of(&file).0, Kind::DeletionFile);
    }

    #[test]
    fn a_dataset_that_nothing_names_is_pending_or_given_up() {
        let object = format!("{OTHER}/data/x.lance");
        let group = |kind| (kind, OTHER.to_owned());
        assert_eq!(World::new(&[]).group_of(&object), group(Kind::AbandonedDataset));
        assert_eq!(World::new(&[0xa2]).group_of(&object), group(Kind::PendingDataset));
    }

    #[test]
    fn anything_else_inside_the_graph_is_unexplained() {
        let inside = format!("{NAMED}/_versions/d1.manifest");
        let unknown = format!("{NAMED}/notes/x");
        let paths = ["tables", "tables/readme", "tables/mine/data/x.lance", "_control/x"];
        let more = ["_recovery/x.intent", "_recovery/other/x.intent", &inside, &unknown];
        for path in paths.into_iter().chain(more) {
            assert_eq!(World::new(&[]).group_of(path), (Kind::Unexplained, path.to_owned()));
        }
    }

    #[test]
    fn what_lies_beside_the_graph_is_grouped_by_its_name() {
        for (path, name) in [("notes.txt", "notes.txt"), ("photos/1/a.jpg", "photos")] {
            assert_eq!(World::new(&[]).group_of(path), (Kind::Beside, name.to_owned()));
        }
    }
}
