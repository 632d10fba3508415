//! The closed table of entry points: what may change or read a graph, and by which protocol. A row
//! here is a decision; the audit holds the sources to it.

use super::flows::Act;

/// Where a reader of a fault must go.
pub(crate) const PLACE: &str = "xtask/src/audit/table.rs";

/// How an entry point may touch a graph (RFC 3 and 7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// Stages A to H, with effects of the named adapter.
    GraphWrite(&'static str),
    /// Changes control state or resolves attempts; makes no lineage.
    Control,
    /// Its compare-and-set on the authority comes first, and there are no effects before it.
    AuthorityFirst,
    /// Writes nothing.
    ReadOnly,
    /// A trait that the user implements and the library calls; no way in.
    Port,
}

impl Protocol {
    /// What the page calls it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::GraphWrite(_) => "graph write",
            Self::Control => "control",
            Self::AuthorityFirst => "authority-first",
            Self::ReadOnly => "read-only",
            Self::Port => "port",
        }
    }
}

/// One way in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EntryPoint {
    /// `Type::function` of the library, or `graphwrite <command>`.
    pub(crate) name: &'static str,
    pub(crate) protocol: Protocol,
    /// One sentence for the operator.
    pub(crate) says: &'static str,
}

impl EntryPoint {
    pub(crate) fn is_command(&self) -> bool {
        self.name.starts_with("graphwrite ")
    }
}

const fn row(name: &'static str, protocol: Protocol, says: &'static str) -> EntryPoint {
    EntryPoint { name, protocol, says }
}

use Protocol::{AuthorityFirst, Control, GraphWrite, Port, ReadOnly};

/// Every entry point, in the order of the page.
pub(crate) const ENTRY_POINTS: &[EntryPoint] = &[
    row("Graph::create", AuthorityFirst, "Creates a graph with the first commit of its manifest."),
    row("Graph::open", ReadOnly, "Opens a graph for reading and writing."),
    row("Graph::open_read_only", ReadOnly, "Opens a graph whose handle cannot write."),
    row("Graph::open_on", ReadOnly, "Opens a graph on a branch for reading and writing."),
    row(
        "Graph::open_read_only_on",
        ReadOnly,
        "Opens a graph on a branch; the handle cannot write.",
    ),
    row("Graph::load", GraphWrite("load"), "Loads rows into many tables in one graph commit."),
    row(
        "Graph::outcome",
        Control,
        "Says what became of an operation; with a seal, decides that it never commits.",
    ),
    row(
        "Graph::mutate",
        GraphWrite("mutation"),
        "Carries out statements over many tables in one graph commit.",
    ),
    row(
        "Graph::merge",
        GraphWrite("merge"),
        "Merges what another branch has changed in one graph commit.",
    ),
    row("Graph::preview_merge", ReadOnly, "Compares two branches as a merge does."),
    row(
        "Graph::mutation",
        ReadOnly,
        "Prepares the statements of a mutation against the accepted schema.",
    ),
    row("Graph::input", ReadOnly, "Prepares the rows of a load against the accepted schema."),
    row("Graph::snapshot", ReadOnly, "Captures a branch head or a commit for reading."),
    row("Snapshot::table", ReadOnly, "Opens one table of a snapshot, pinned to its version."),
    row("SnapshotTable::count_rows", ReadOnly, "Counts the rows of a pinned table."),
    row("SnapshotTable::scan", ReadOnly, "Streams the rows of a pinned table."),
    row("Graph::log", ReadOnly, "Lists the graph commits of a branch."),
    row("Graph::commit", ReadOnly, "Shows one graph commit."),
    row("Graph::snapshot_at", ReadOnly, "Opens the graph as a commit left it."),
    row("Graph::diff", ReadOnly, "Compares the rows of two commits."),
    row("Graph::audit", ReadOnly, "Lists what recovery and seals have decided."),
    row("Graph::status", ReadOnly, "Shows heads, pending attempts and drift."),
    row("Graph::pending_intents", ReadOnly, "Lists the attempts that are not resolved."),
    row("Graph::intent", ReadOnly, "Shows one armed intent."),
    row("Graph::recover", Control, "Resolves pending attempts in place."),
    row("Graph::verify", ReadOnly, "Checks that everything stored agrees."),
    row("Graph::create_branch", Control, "Makes a branch; copies no rows and makes no commit."),
    row("Graph::branch", ReadOnly, "Opens a branch: the incarnation that its name means now."),
    row("Graph::branches", ReadOnly, "Lists the names of branches and what each means."),
    row("Graph::branch_status", ReadOnly, "Shows one branch closely."),
    row(
        "Graph::delete_branch",
        Control,
        "Deletes a branch, by one record; behind the answer, discards what it has left in flight.",
    ),
    row("Graph::settled", ReadOnly, "Waits for the tidying behind earlier answers."),
    row("Store::get", ReadOnly, "Reads one object."),
    row("Store::head", ReadOnly, "Describes one object."),
    row("Store::list", ReadOnly, "Lists objects."),
    row("Store::directory_with", ReadOnly, "Looks for a directory at the top by what is in it."),
    row("BatchStream::collect_all", ReadOnly, "Collects a stream of rows."),
    row("MemoryStorage::digest", ReadOnly, "Summarises what a storage in memory holds."),
    row("FaultHandle::release_late", ReadOnly, "Lets the requests go on that a layer held back."),
    row("HoldHandle::next", ReadOnly, "Waits for the next request that a layer holds."),
    row("Hooks::reach", Port, "Called at every failpoint; a production handle does nothing there."),
    row("graphwrite init", AuthorityFirst, "Creates a graph from a schema file."),
    row("graphwrite load", GraphWrite("load"), "Loads a file of rows in one graph commit."),
    row(
        "graphwrite mutate",
        GraphWrite("mutation"),
        "Carries out a file of statements in one graph commit.",
    ),
    row(
        "graphwrite merge",
        GraphWrite("merge"),
        "Merges what another branch has changed in one graph commit; on request, then deletes that branch.",
    ),
    row("graphwrite export", ReadOnly, "Prints the rows of a branch or a commit."),
    row("graphwrite status", ReadOnly, "Shows heads, pending attempts and drift on one screen."),
    row("graphwrite commit log", ReadOnly, "Lists the graph commits of a branch."),
    row("graphwrite commit show", ReadOnly, "Shows one graph commit."),
    row("graphwrite commit diff", ReadOnly, "Compares the rows of two commits."),
    row("graphwrite audit", ReadOnly, "Lists what recovery and seals have decided."),
    row("graphwrite intent list", ReadOnly, "Lists the attempts that are not resolved."),
    row("graphwrite intent show", ReadOnly, "Shows one armed intent."),
    row(
        "graphwrite intent explain",
        ReadOnly,
        "Says what recovery would do with an intent, and why.",
    ),
    row("graphwrite intent resolve", Control, "Resolves an intent in place."),
    row(
        "graphwrite outcome",
        Control,
        "Says what became of an operation; with `--seal`, decides that it never commits.",
    ),
    row("graphwrite branch create", Control, "Makes a branch; copies no rows and makes no commit."),
    row("graphwrite branch list", ReadOnly, "Lists the branches."),
    row("graphwrite branch status", ReadOnly, "Shows one branch closely."),
    row(
        "graphwrite branch delete",
        Control,
        "Deletes a branch, by one record, and discards what it has left in flight.",
    ),
    row("graphwrite verify", ReadOnly, "Checks that everything stored agrees."),
    row("graphwrite version", ReadOnly, "Prints the version."),
    row("graphwrite completions", ReadOnly, "Prints the completion script of a shell."),
];

/// What a control or an authority-first entry point comes to, and nothing else. The others need no
/// row: a graph write comes to everything, through the attempt alone; what reads comes to nothing.
pub(crate) const COMES_TO: &[(&str, &[Act])] = &[
    ("Graph::create", GENESIS),
    ("graphwrite init", GENESIS),
    ("Graph::recover", RESOLVING),
    ("graphwrite intent resolve", RESOLVING),
    ("Graph::outcome", SEALING),
    ("graphwrite outcome", SEALING),
    ("Graph::create_branch", FORKING),
    ("graphwrite branch create", FORKING),
    ("Graph::delete_branch", DELETING),
    ("graphwrite branch delete", DELETING),
];

/// Graph writes that also carry out a control operation of the library behind their commit, by its entry
/// point, whose own row says to what that comes.
pub(crate) const THEN: &[(&str, &str)] = &[("graphwrite merge", "Graph::delete_branch")];

const GENESIS: &[Act] = &[Act::Stage, Act::Create];
/// One commit of the manifest, and nothing else.
const SEALING: &[Act] = &[Act::Stage, Act::Commit, Act::Publish];
const RESOLVING: &[Act] = &[Act::Stage, Act::Commit, Act::Publish, Act::Delete];
/// The barrier of the branch that is open, then the two records of a name around the clone.
const FORKING: &[Act] =
    &[Act::Stage, Act::Commit, Act::Publish, Act::Delete, Act::Create, Act::Put];
/// One record; behind the answer, what the branch has left in flight is discarded on main.
const DELETING: &[Act] = &[Act::Put, Act::Stage, Act::Commit, Act::Publish, Act::Delete];

/// A function that grants a right, and the crates that may name it (tests apart).
pub(crate) struct Guarded {
    pub(crate) owner: &'static str,
    pub(crate) function: &'static str,
    pub(crate) rooms: &'static [&'static str],
    pub(crate) grants: &'static str,
}

pub(crate) const GUARDED: [Guarded; 4] = [
    Guarded {
        owner: "IntentDurable",
        function: "witness",
        rooms: &["substrate"],
        grants: "the proof that an intent is durable, without which nothing is armed",
    },
    Guarded {
        owner: "CommitPermit",
        function: "authority",
        rooms: &["manifest"],
        grants: "the right to commit to `__manifest`",
    },
    Guarded {
        owner: "RollForward",
        function: "granted",
        rooms: &["coordinator"],
        grants: "recovery that publishes complete attempts",
    },
    Guarded {
        owner: "Full",
        function: "granted",
        rooms: &["coordinator"],
        grants: "recovery that also aborts and compensates",
    },
];

/// Names of lower crates that a crate may re-export although its users could not name them.
/// Data, errors and opaque handles: never a type with a function that commits, moves a ref or
/// deletes without a permit. The audit counts their asynchronous functions as entry points.
pub(crate) const RE_EXPORTED: &[(&str, &str)] = &[
    ("coordinator", "graphwrite_manifest::BasesError"),
    ("coordinator", "graphwrite_manifest::InitError"),
    ("coordinator", "graphwrite_manifest::OpenError"),
    ("coordinator", "graphwrite_manifest::graph_around"),
    ("coordinator", "graphwrite_adapters::InputBuilder"),
    ("coordinator", "graphwrite_adapters::InputError"),
    ("coordinator", "graphwrite_adapters::KeysOf"),
    ("coordinator", "graphwrite_adapters::LimitExceeded"),
    ("coordinator", "graphwrite_adapters::PrepareError"),
    ("coordinator", "graphwrite_adapters::LoadInput"),
    ("coordinator", "graphwrite_adapters::LoadLimits"),
    ("coordinator", "graphwrite_adapters::LoadMode"),
    ("coordinator", "graphwrite_adapters::CommitBounds"),
    ("coordinator", "graphwrite_adapters::ConflictCounts"),
    ("coordinator", "graphwrite_adapters::ConflictKind"),
    ("coordinator", "graphwrite_adapters::ConstraintConflict"),
    ("coordinator", "graphwrite_adapters::ConstraintKind"),
    ("coordinator", "graphwrite_adapters::Discovery"),
    ("coordinator", "graphwrite_adapters::MergeCounts"),
    ("coordinator", "graphwrite_adapters::MergeError"),
    ("coordinator", "graphwrite_adapters::MergeOptions"),
    ("coordinator", "graphwrite_adapters::MergeReview"),
    ("coordinator", "graphwrite_adapters::MergeRoute"),
    ("coordinator", "graphwrite_adapters::MergeStrategy"),
    ("coordinator", "graphwrite_adapters::MergeTableReview"),
    ("coordinator", "graphwrite_adapters::MergedConstraints"),
    ("coordinator", "graphwrite_adapters::RowConflict"),
    ("coordinator", "graphwrite_adapters::RowConflicts"),
    ("coordinator", "graphwrite_adapters::MutationBuilder"),
    ("coordinator", "graphwrite_adapters::MutationInput"),
    ("coordinator", "graphwrite_adapters::OnReferenced"),
    ("coordinator", "graphwrite_adapters::ExportError"),
    ("coordinator", "graphwrite_adapters::RowSorter"),
    ("coordinator", "graphwrite_adapters::RowWriter"),
    ("coordinator", "graphwrite_adapters::Place"),
    ("coordinator", "graphwrite_adapters::RenderError"),
    ("coordinator", "graphwrite_adapters::RowChanges"),
    ("coordinator", "graphwrite_adapters::RowRenderer"),
    ("coordinator", "graphwrite_adapters::RowValue"),
    ("coordinator", "graphwrite_adapters::RowValues"),
    ("coordinator", "graphwrite_adapters::RowsError"),
    ("coordinator", "graphwrite_adapters::Rule"),
    ("coordinator", "graphwrite_adapters::TempError"),
    ("coordinator", "graphwrite_adapters::DataForm"),
    ("coordinator", "graphwrite_adapters::Source"),
    ("coordinator", "graphwrite_adapters::SourceData"),
    ("coordinator", "graphwrite_adapters::SourceError"),
    ("coordinator", "graphwrite_adapters::SourceErrorKind"),
    ("coordinator", "graphwrite_adapters::SourceName"),
    ("coordinator", "graphwrite_adapters::UnknownForm"),
    ("coordinator", "graphwrite_adapters::Violation"),
    ("coordinator", "graphwrite_adapters::Violations"),
    ("coordinator", "graphwrite_substrate::BatchStream"),
    ("coordinator", "graphwrite_substrate::Durability"),
    ("coordinator", "graphwrite_substrate::MemoryStorage"),
    ("coordinator", "graphwrite_substrate::Store"),
    ("coordinator", "graphwrite_substrate::StoreError"),
];

/// Public signatures of the substrate that may mention a physical handle, as `file: function`.
pub(crate) const HANDLES_SHOWN: [&str; 0] = [];
