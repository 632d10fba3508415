//! What can go wrong with the manifest: one enum per operation, each with a stable code and the
//! next step. Outcomes of a publish are values, not errors.

use graphwrite_protocol_types::{Answer, AttemptId, FormatRefused, NativeBranch, TableIdentity};
use graphwrite_substrate::{Cause, MISNAMED, SubstrateError};
use thiserror::Error;

use crate::batch::RowEncodeError;
use crate::declared::SchemaFault;
use crate::rows::RowError;
use crate::transition::InvalidTransition;

/// What is stored is not what this format stores.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Damage {
    /// A row does not decode.
    #[error(transparent)]
    Row(#[from] RowError),
    /// A row that must be there is not.
    #[error("there is no row `{kind}` `{key}`")]
    MissingRow {
        /// The row's kind.
        kind: &'static str,
        /// The row's key.
        key: String,
    },
    /// A row of which there is one is there twice.
    #[error("there are two rows `{kind}` `{key}`")]
    DuplicateRow {
        /// The row's kind.
        kind: &'static str,
        /// The row's key.
        key: String,
    },
    /// The dataset has other columns.
    #[error("the columns are not those of this format")]
    Columns,
    /// There is no fragment that could be the hot one, or one of unknown size.
    #[error("the fragments are not those of this format")]
    Fragments,
    /// A file of the manifest is missing, cut off or changed.
    #[error("{text}")]
    File {
        /// What was attempted, on what, and the engine's own words.
        text: String,
    },
    /// A version of the manifest is not under the name of its number.
    #[error("{text}")]
    Misnamed {
        /// Which object, what its name says and what is in it.
        text: String,
    },
    /// A fact of the creating commit is missing or malformed.
    #[error("`{key}` in the schema metadata is {}", or_missing(.text))]
    Metadata {
        /// The key.
        key: &'static str,
        /// The value; none when the key is missing.
        text: Option<String>,
    },
    /// The schema row is not a schema.
    #[error("the schema row is refused: {0}")]
    Schema(SchemaFault),
}

impl Damage {
    fn help(&self) -> &'static str {
        match self {
            Self::Misnamed { .. } => MISNAMED,
            _ => DAMAGED,
        }
    }
}

fn or_missing(text: &Option<String>) -> String {
    text.as_ref().map_or_else(|| "missing".to_owned(), |text| format!("malformed: `{text}`"))
}

/// A graph was not created; `AlreadyExists` and the refusals have left everything as it was.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum InitError {
    /// There is a graph, perhaps made by another `init` a moment ago.
    #[error("`{root}` is a graph already")]
    AlreadyExists {
        /// The root.
        root: String,
    },
    /// The root holds something that is not the residue of a killed `init`.
    #[error("`{root}` is not empty: it holds `{found}`, which is no part of a new graph")]
    NotEmpty {
        /// The root.
        root: String,
        /// The first foreign object, by its path below the root.
        found: String,
    },
    /// The root is inside the directory of a graph.
    #[error("`{root}` is inside the graph at `{graph}`")]
    InsideGraph {
        /// The root.
        root: String,
        /// The graph around it.
        graph: String,
    },
    /// A directory of the root holds a graph.
    #[error("`{root}` holds a graph in its directory `{graph}`")]
    AroundGraph {
        /// The root.
        root: String,
        /// The directory.
        graph: String,
    },
    /// The age floor is below the minimum.
    #[error("an age floor of {given_s} s is below the minimum of {min_s} s")]
    AgeFloor {
        /// The floor asked for, in seconds.
        given_s: u64,
        /// The minimum, in seconds.
        min_s: u64,
    },
    /// The schema's bytes are not what is said of them.
    #[error("the schema is refused: {0}")]
    Schema(#[from] SchemaFault),
    /// The tables of the request are not those that the schema declares.
    #[error("table {identity} is declared by only one of the schema and the list of tables")]
    Tables {
        /// The first table that differs.
        identity: TableIdentity,
    },
    /// Two tables share an id.
    #[error(transparent)]
    Identities(#[from] InvalidTransition),
    /// Whether the graph exists could not be established.
    #[error("whether a graph was created at `{root}` is not known: {cause}")]
    Unknown {
        /// The root.
        root: String,
        /// What stood in the way.
        cause: Cause,
    },
    /// The rows have no bytes.
    #[error(transparent)]
    Encode(#[from] RowEncodeError),
    /// What was created cannot be read.
    #[error("the manifest of `{root}` is damaged: {damage}")]
    Damaged {
        /// The root.
        root: String,
        /// What is wrong.
        damage: Damage,
    },
    /// The storage or the table engine failed before the commit was sent.
    #[error(transparent)]
    Substrate(#[from] SubstrateError),
}

/// A graph was not opened; nothing was written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OpenError {
    /// There is no graph at the root.
    #[error("`{root}` is not a graph")]
    NotAGraph {
        /// The root.
        root: String,
    },
    /// The native branch of an incarnation that is live is gone.
    #[error("the native branch `{branch}` of `{root}` is gone")]
    NoSuchBranch {
        /// The root.
        root: String,
        /// The native branch.
        branch: NativeBranch,
    },
    /// This build does not understand the graph; no row was read.
    #[error(transparent)]
    FormatRefused(#[from] FormatRefused),
    /// What is stored is not what this format stores.
    #[error("the manifest of `{root}` is damaged: {damage}")]
    Damaged {
        /// The root.
        root: String,
        /// What is wrong.
        damage: Damage,
    },
    /// The storage or the table engine failed.
    #[error(transparent)]
    Substrate(#[from] SubstrateError),
}

/// Reading or publishing did not come to a result.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ManifestError {
    /// The commit may have landed, and may land late, until its slot is taken.
    #[error("whether attempt {attempt} has taken manifest version {version} is not known: {cause}")]
    Unknown {
        /// The attempt.
        attempt: AttemptId,
        /// The slot.
        version: u64,
        /// What stood in the way.
        cause: Cause,
    },
    /// Others took every slot; nothing was written.
    #[error("attempt {attempt} lost {slots} slots of the manifest to others")]
    Contended {
        /// The attempt.
        attempt: AttemptId,
        /// How many slots.
        slots: u32,
    },
    /// The transition contradicts itself or the state; nothing was written.
    #[error(transparent)]
    Invalid(#[from] InvalidTransition),
    /// A newer build has changed the format under this handle; nothing was written.
    #[error(transparent)]
    FormatRefused(#[from] FormatRefused),
    /// The graph that was opened is no longer there; nothing was written.
    #[error("the graph is gone: there is no manifest any more")]
    Gone,
    /// What is stored is not what this format stores; nothing was written.
    #[error("the manifest is damaged: {0}")]
    Damaged(#[from] Damage),
    /// The rows have no bytes; nothing was written.
    #[error(transparent)]
    Encode(#[from] RowEncodeError),
    /// The storage or the table engine failed before a commit was sent.
    #[error(transparent)]
    Substrate(#[from] SubstrateError),
}

const DAMAGED: &str = "nothing was changed; restore `__manifest` from a copy of the graph, and \
                       report what the message names";
const STORAGE: &str = "nothing was changed; correct what the message names and send it again";

impl Answer for InitError {
    fn code(&self) -> &'static str {
        match self {
            Self::AlreadyExists { .. } => "graph_exists",
            Self::NotEmpty { .. } => "root_not_empty",
            Self::InsideGraph { .. } | Self::AroundGraph { .. } => "graph_nested",
            Self::AgeFloor { .. } => "age_floor_too_low",
            Self::Schema(_) | Self::Tables { .. } | Self::Identities(_) => "schema_refused",
            Self::Unknown { .. } => "outcome_unknown",
            Self::Encode(_) => "internal",
            Self::Damaged { .. } => "manifest_damaged",
            Self::Substrate(error) => error.code(),
        }
    }

    fn may_retry(&self) -> bool {
        matches!(self, Self::Unknown { .. } | Self::Substrate(_))
    }

    fn had_no_effect(&self) -> bool {
        !matches!(self, Self::Unknown { .. } | Self::Damaged { .. })
    }

    fn help(&self) -> String {
        match self {
            Self::AlreadyExists { .. } => "use it as it is, or choose another directory".into(),
            Self::NotEmpty { .. } => "choose an empty directory; nothing was changed".into(),
            Self::InsideGraph { .. } | Self::AroundGraph { .. } => {
                "nothing was created; a graph has its directory for itself: choose another one"
                    .into()
            }
            Self::AgeFloor { min_s, .. } => format!("choose at least {min_s} seconds"),
            Self::Schema(_) | Self::Tables { .. } | Self::Identities(_) => {
                "nothing was created; correct the schema and run `graphwrite init` again".into()
            }
            Self::Unknown { .. } => {
                "run `graphwrite init` again: it says whether the graph exists".into()
            }
            Self::Damaged { damage, .. } => damage.help().into(),
            Self::Encode(_) | Self::Substrate(_) => STORAGE.into(),
        }
    }
}

impl Answer for OpenError {
    fn code(&self) -> &'static str {
        match self {
            Self::NotAGraph { .. } => "not_a_graph",
            Self::NoSuchBranch { .. } => "manifest_damaged",
            Self::FormatRefused(_) => "format_refused",
            Self::Damaged { .. } => "manifest_damaged",
            Self::Substrate(error) => error.code(),
        }
    }

    fn may_retry(&self) -> bool {
        matches!(self, Self::Substrate(_))
    }

    fn had_no_effect(&self) -> bool {
        true
    }

    fn help(&self) -> String {
        match self {
            Self::NotAGraph { root } => {
                format!("create one with `graphwrite init {root} --schema <file>`")
            }
            Self::NoSuchBranch { branch, .. } => format!(
                "restore `__manifest/tree/{branch}` and its record in `__manifest/_refs` from a copy, \
                 or delete the branch, which needs its records alone"
            ),
            Self::FormatRefused(_) => "use a newer build of graphwrite".into(),
            Self::Damaged { damage, .. } => damage.help().into(),
            Self::Substrate(_) => STORAGE.into(),
        }
    }
}

impl Answer for ManifestError {
    fn code(&self) -> &'static str {
        match self {
            Self::Unknown { .. } => "outcome_unknown",
            Self::Contended { .. } => "manifest_contended",
            Self::Invalid(_) | Self::Encode(_) => "internal",
            Self::FormatRefused(_) => "format_refused",
            Self::Gone => "not_a_graph",
            Self::Damaged(_) => "manifest_damaged",
            Self::Substrate(error) => error.code(),
        }
    }

    fn may_retry(&self) -> bool {
        matches!(self, Self::Contended { .. } | Self::Substrate(_))
    }

    fn had_no_effect(&self) -> bool {
        !matches!(self, Self::Unknown { .. })
    }

    fn help(&self) -> String {
        match self {
            Self::Unknown { .. } => "the next write settles it".into(),
            Self::Contended { .. } => "send it again when fewer writers are at work".into(),
            Self::Invalid(_) | Self::Encode(_) => {
                "nothing was changed; this is a fault of graphwrite, report it".into()
            }
            Self::FormatRefused(_) => "use a newer build of graphwrite".into(),
            Self::Gone => "see who removed the graph; open another one".into(),
            Self::Damaged(damage) => damage.help().into(),
            Self::Substrate(_) => STORAGE.into(),
        }
    }
}
