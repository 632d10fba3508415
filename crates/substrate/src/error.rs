//! What can go wrong below the protocol. It owns the translation of storage and engine errors into
//! typed conditions; it must not decide what follows from them.

use graphwrite_protocol_types::{Answer, PhysicalRef};
use thiserror::Error;

use crate::PredicateError;

/// The error underneath, kept for the reader and never parsed.
pub type Cause = Box<dyn std::error::Error + Send + Sync + 'static>;

/// A request to the object store did not do what was asked.
///
/// Only [`StoreError::AlreadyExists`] and [`StoreError::NotFound`] are statements about the object;
/// everything else leaves open whether a write has landed or will land (design 01 section 5).
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The object does not exist.
    #[error("`{path}` does not exist")]
    NotFound {
        /// Path below the graph's root.
        path: String,
    },
    /// The object exists and was to be created.
    #[error("`{path}` exists already")]
    AlreadyExists {
        /// Path below the graph's root.
        path: String,
    },
    /// The storage says that it will not do this: no permission, not supported, not a valid name.
    #[error(
        "the storage refuses access to `{path}`: {cause}; correct permissions or configuration"
    )]
    Refused {
        /// Path below the graph's root.
        path: String,
        /// The storage's own words.
        #[source]
        cause: Cause,
    },
    /// The storage did not answer usefully. Of a write, this proves nothing.
    #[error("the outcome of a request to `{path}` is unknown: {cause}")]
    Unknown {
        /// Path below the graph's root.
        path: String,
        /// The storage's own words.
        #[source]
        cause: Cause,
    },
    /// A path or name below the graph's root breaks the naming rule.
    #[error("`{path}` is not a valid object path: {rule}")]
    InvalidPath {
        /// The refused path.
        path: String,
        /// The rule that it breaks.
        rule: &'static str,
    },
    /// The location is on a kind of storage that this build does not reach.
    #[error("`{location}` is on `{scheme}` storage, which this build does not support: {remedy}")]
    UnsupportedScheme {
        /// The refused location.
        location: String,
        /// Its URL scheme.
        scheme: String,
        /// What would be needed.
        remedy: &'static str,
    },
    /// The root directory of a graph is missing or cannot be used.
    #[error(
        "`{root}` cannot be the root of a graph: {cause}; name an existing directory, or create the graph with `init`"
    )]
    RootUnusable {
        /// The refused root.
        root: String,
        /// The operating system's own words.
        #[source]
        cause: Cause,
    },
}

impl StoreError {
    pub(crate) fn of(path: &str, error: object_store::Error) -> Self {
        use object_store::Error as Os;
        let path = path.to_owned();
        match error {
            Os::NotFound { .. } => Self::NotFound { path },
            Os::AlreadyExists { .. } | Os::Precondition { .. } => Self::AlreadyExists { path },
            refused @ (Os::InvalidPath { .. }
            | Os::NotSupported { .. }
            | Os::NotImplemented { .. }
            | Os::PermissionDenied { .. }
            | Os::Unauthenticated { .. }
            | Os::UnknownConfigurationKey { .. }) => Self::Refused { path, cause: refused.into() },
            unknown => Self::Unknown { path, cause: unknown.into() },
        }
    }
}

/// A table operation did not do what was asked. Returned by a committing function, it says that
/// this call has issued no commit; a commit whose fate is open is a value, not an error.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SubstrateError {
    /// A request to the object store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// There is no such dataset, ref or version.
    #[error("no table at `{path}`, ref `{physical_ref}`{}", at_version(.version))]
    TableNotFound {
        /// Path of the dataset below the graph's root.
        path: String,
        /// The ref that was asked for.
        physical_ref: PhysicalRef,
        /// The version that was asked for; none for the latest.
        version: Option<u64>,
    },
    /// The version has the number that was asked for, and another transaction has made it.
    #[error(
        "version {version} of the table at `{path}`, ref `{physical_ref}`, is not the one that the graph published"
    )]
    VersionReplaced {
        /// Path of the dataset below the graph's root.
        path: String,
        /// The ref that was asked for.
        physical_ref: PhysicalRef,
        /// The version.
        version: u64,
    },
    /// There is a dataset where one was to be created.
    #[error("there is a table at `{path}` already; a new table needs a path of its own")]
    TableExists {
        /// Path of the dataset below the graph's root.
        path: String,
    },
    /// A staged commit is not based on the version of the handle that it is committed through.
    #[error(
        "the commit to `{path}` was staged over version {staged}, the handle is at {handle}; stage it again over that version"
    )]
    BaseMismatch {
        /// Path of the dataset below the graph's root.
        path: String,
        /// The version that the commit was staged over.
        staged: u64,
        /// The version of the handle.
        handle: u64,
    },
    /// A request names a column, key or fragment that the table does not have as described.
    #[error("`{path}`: {reason}")]
    InvalidRequest {
        /// Path of the dataset below the graph's root.
        path: String,
        /// What is wrong, in words.
        reason: String,
    },
    /// What is stored is not what was written: a file is missing, cut off or changed.
    #[error("{operation} of `{path}` met damage: {cause}")]
    Damaged {
        /// What was attempted.
        operation: &'static str,
        /// Path of the dataset below the graph's root.
        path: String,
        /// The engine's own words.
        #[source]
        cause: Cause,
    },
    /// A version is not under the name of its number: somebody has copied or renamed it there.
    #[error(
        "`{object}` is named as version {named} of the dataset at `{path}`, but holds version {found}"
    )]
    Misnamed {
        /// Path of the dataset below the graph's root.
        path: String,
        /// The object, by its path below the graph's root.
        object: String,
        /// The version that its name says.
        named: u64,
        /// The version that is in it.
        found: u64,
    },
    /// A condition that was part of the request has no answer for some row.
    #[error(transparent)]
    Predicate(#[from] PredicateError),
    /// The table engine failed.
    #[error("{operation} of `{path}` failed: {cause}")]
    Engine {
        /// What was attempted.
        operation: &'static str,
        /// Path of the dataset below the graph's root.
        path: String,
        /// The engine's own words.
        #[source]
        cause: Cause,
    },
}

fn at_version(version: &Option<u64>) -> String {
    version.map(|version| format!(", version {version}")).unwrap_or_default()
}

impl SubstrateError {
    pub(crate) fn engine(operation: &'static str, path: &str, error: lance::Error) -> Self {
        let (path, damaged) = (path.to_owned(), is_damage(&error));
        let cause = Box::new(error);
        if damaged {
            Self::Damaged { operation, path, cause }
        } else {
            Self::Engine { operation, path, cause }
        }
    }

    pub(crate) fn cut_off(operation: &'static str, path: &str) -> Self {
        let cause = "a version is cut off".into();
        Self::Damaged { operation, path: path.to_owned(), cause }
    }

    pub(crate) fn invalid(path: &str, reason: impl Into<String>) -> Self {
        Self::InvalidRequest { path: path.to_owned(), reason: reason.into() }
    }
}

/// Whether the storage has failed, rather than the engine over what it has read.
pub(crate) fn is_of_storage(error: &lance::Error) -> bool {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if error.is::<object_store::Error>() || error.is::<std::io::Error>() {
            return true;
        }
        cause = error.source();
    }
    false
}

/// Whether a file of a version is missing or not what it was. What a version names is written before
/// the version is, so a file that is not found was lost.
fn is_damage(error: &lance::Error) -> bool {
    let engine = |error: &lance::Error| {
        matches!(error, lance::Error::CorruptFile { .. } | lance::Error::NotFound { .. })
    };
    let store = |error: &object_store::Error| matches!(error, object_store::Error::NotFound { .. });
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        let damaged = error.downcast_ref().is_some_and(engine);
        if damaged || error.downcast_ref().is_some_and(store) {
            return true;
        }
        cause = error.source();
    }
    false
}

/// What to do about [`SubstrateError::Misnamed`].
pub const MISNAMED: &str = "nothing was changed; restore that object from a copy of the graph or, if the copy does \
     not have it, move it out of the graph, then run `graphwrite verify <graph>`";

impl Answer for SubstrateError {
    fn code(&self) -> &'static str {
        match self {
            Self::TableNotFound { .. } | Self::VersionReplaced { .. } => "pin_lost",
            Self::Damaged { .. } | Self::Misnamed { .. } => "table_damaged",
            Self::TableExists { .. } | Self::BaseMismatch { .. } | Self::InvalidRequest { .. } => {
                "internal"
            }
            Self::Predicate(_) => "invalid_input",
            Self::Store(_) | Self::Engine { .. } => "storage",
        }
    }

    fn may_retry(&self) -> bool {
        matches!(self, Self::Store(_) | Self::Engine { .. })
    }

    fn had_no_effect(&self) -> bool {
        true
    }

    fn help(&self) -> String {
        match self {
            Self::TableNotFound { .. } | Self::VersionReplaced { .. } | Self::Damaged { .. } => {
                "files of the graph were removed or changed from outside; nothing was written; \
                 restore them from a copy, then run `graphwrite verify <graph>`"
            }
            Self::Misnamed { .. } => MISNAMED,
            Self::TableExists { .. } | Self::BaseMismatch { .. } | Self::InvalidRequest { .. } => {
                "nothing was changed; this is a fault of graphwrite, report it"
            }
            Self::Predicate(_) => "nothing was changed; correct the condition",
            Self::Store(_) | Self::Engine { .. } => {
                "nothing was changed; correct what the message names and send the request again"
            }
        }
        .to_owned()
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error;
    use std::io::{self, ErrorKind};

    use super::*;

    /// What the operating system said, as a reader of the causes finds it.
    fn system_kind(error: &(dyn Error + 'static)) -> Option<ErrorKind> {
        let own = error.downcast_ref::<io::Error>().map(io::Error::kind);
        error.source().and_then(system_kind).or(own)
    }

    fn of_the_store(kind: ErrorKind) -> StoreError {
        let source = Box::new(io::Error::from(kind));
        StoreError::of("a/b", object_store::Error::Generic { store: "LocalFileSystem", source })
    }

    #[test]
    fn what_the_system_said_of_an_object_can_be_read_from_the_causes() {
        let full = of_the_store(ErrorKind::StorageFull);
        assert!(matches!(full, StoreError::Unknown { .. }));
        assert_eq!(system_kind(&full), Some(ErrorKind::StorageFull));
        let through_a_table = SubstrateError::from(full);
        assert_eq!(system_kind(&through_a_table), Some(ErrorKind::StorageFull));
    }

    #[test]
    fn what_the_system_said_of_a_refusal_can_be_read_from_the_causes() {
        let source = Box::new(io::Error::from(ErrorKind::PermissionDenied));
        let denied = object_store::Error::PermissionDenied { path: "a/b".into(), source };
        assert_eq!(system_kind(&StoreError::of("a/b", denied)), Some(ErrorKind::PermissionDenied));
    }

    #[test]
    fn what_the_system_said_to_the_engine_can_be_read_from_the_causes() {
        let full = lance::Error::from(io::Error::from(ErrorKind::StorageFull));
        let error = SubstrateError::engine("writing", "tables/x", full);
        assert_eq!(system_kind(&error), Some(ErrorKind::StorageFull));
    }
}
