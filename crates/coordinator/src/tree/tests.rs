//! Objects by hand: what each of them is.

use super::*;

const NAMED: &str = "tables/0000000000000001-0000000000000065-00000000000000000000000051";
const OTHER: &str = "tables/0000000000000001-0000000000000065-00000000000000000000000052";

struct World {
    census: Census,
    pending: BTreeSet<AttemptId>,
    staged: BTreeSet<String>,
    left: BTreeSet<String>,
    named: NamedObjects,
}

impl World {
    fn new(pending: &[u128]) -> Self {
        Self {
            census: Census::default(),
            pending: pending.iter().map(|id| AttemptId::from_u128(*id)).collect(),
            staged: BTreeSet::new(),
            left: BTreeSet::new(),
            named: NamedObjects::default(),
        }
    }

    fn group_of(&self, path: &str) -> (Kind, String) {
        self.tree(Some(&self.named)).kind_of(path)
    }

    fn tree<'a>(&'a self, named: Option<&'a NamedObjects>) -> Tree<'a> {
        let mut tree = Tree::of(&self.census);
        tree.refs = [NAMED.to_owned(), format!("{NAMED}/tree/t-{}", ulid(0x61))].into();
        tree.pending = self.pending.clone();
        tree.staged = self.staged.clone();
        tree.left = self.left.clone();
        tree.named = named;
        tree
    }
}

fn ulid(n: u128) -> String {
    AttemptId::from_u128(n).to_string()
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

#[test]
fn a_ref_of_a_table_is_published_pending_left_or_given_up() {
    let of = |n: u128| format!("{NAMED}/tree/t-{}", ulid(n));
    let mut world = World::new(&[0x62]);
    world.left.insert(of(0x63));
    for (n, kind) in [
        (0x61, Kind::TableVersion),
        (0x62, Kind::PendingRef),
        (0x63, Kind::ReclaimRef),
        (0x64, Kind::AbandonedRef),
    ] {
        let version = format!("{}/_versions/18446744073709551614.manifest", of(n));
        assert_eq!(world.group_of(&version), (kind, of(n)));
        let contents = format!("{NAMED}/_refs/branches/t-{}.json", ulid(n));
        let kind = if n == 0x61 { Kind::RefContents } else { kind };
        assert_eq!(world.group_of(&contents), (kind, of(n)));
    }
}

#[test]
fn a_file_that_a_version_of_another_ref_names_is_needed_wherever_it_lies() {
    let mut world = World::new(&[]);
    let file = format!("{NAMED}/tree/t-{}/data/x.lance", ulid(0x64));
    assert_eq!(world.group_of(&file).0, Kind::AbandonedRef);
    world.named.files.insert(file.clone(), "Person version 1".to_owned());
    assert_eq!(world.group_of(&file).0, Kind::DataFile);
}

#[test]
fn a_native_branch_that_no_record_speaks_of_is_unknown() {
    let native = format!("a.{}", ulid(1));
    let directory = format!("__manifest/tree/{native}");
    let object = format!("{directory}/_versions/18446744073709551614.manifest");
    assert_eq!(World::new(&[]).group_of(&object), (Kind::UnknownBranch, directory.clone()));
    let contents = format!("__manifest/_refs/branches/{native}.json");
    assert_eq!(World::new(&[]).group_of(&contents), (Kind::UnknownBranch, directory));
}

#[test]
fn records_of_names_are_told_by_their_names() {
    let kind = |path: &str| World::new(&[]).group_of(path).0;
    assert_eq!(kind("_control/branch/agent%2f1/1.begin"), Kind::NameRecord);
    for path in ["_control/branch/A/1.begin", "_control/branch/a/1.other", "_control/branch/x"] {
        assert_eq!(kind(path), Kind::Unexplained, "{path}");
    }
}

#[test]
fn while_a_name_cannot_be_understood_nothing_that_its_branch_may_own_is_called_given_up() {
    let mut world = World::new(&[]);
    world.census.unusable = 1;
    let places = [
        (format!("{NAMED}/tree/t-{}", ulid(0x64)), Kind::AbandonedRef),
        (OTHER.to_owned(), Kind::AbandonedDataset),
    ];
    for (place, given_up) in places {
        let file = format!("{place}/data/x.lance");
        let unread = world.tree(None).kind_of(&file);
        assert_eq!(unread, (Kind::UndeterminedBranch, place.clone()));
        // Whoever has read all versions knows that none names it.
        assert_eq!(world.group_of(&file), (given_up, place));
    }
}
