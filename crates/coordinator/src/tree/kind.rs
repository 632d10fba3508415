//! What an object below a graph's root can be, and what is to be said of each. It must not know how that
//! is told.

use crate::report::FindingKind;
use crate::verify::{
    ABANDONED_DATASET, ABANDONED_REF, FOREIGN_OBJECT, ORPHAN_RECORDS, PENDING_DATASET, PENDING_REF,
    RECLAIM_PENDING, STAGED_FILES, UNEXPLAINED_OBJECT, UNKNOWN_BRANCH, UNNAMED_FILES, VERSION_HINT,
};

/// What an object is. Each has exactly one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    ManifestVersion,
    TableVersion,
    DataFile,
    DeletionFile,
    IndexFile,
    TransactionFile,
    RefContents,
    RecoveryRecord,
    NameRecord,
    CreatingBranch,
    UndeterminedBranch,
    ReclaimBranch,
    ReclaimRef,
    ReclaimDataset,
    OrphanRecord,
    VersionHint,
    PendingDataset,
    PendingRef,
    StagedFile,
    UnnamedFile,
    AbandonedDataset,
    AbandonedRef,
    UnknownBranch,
    Unexplained,
    Beside,
}

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::ManifestVersion => "manifest_version",
            Self::TableVersion => "table_version",
            Self::DataFile => "data_file",
            Self::DeletionFile => "deletion_file",
            Self::IndexFile => "index_file",
            Self::TransactionFile => "transaction_file",
            Self::RefContents => "ref_contents",
            Self::RecoveryRecord => "recovery_record",
            Self::NameRecord => "name_record",
            Self::CreatingBranch => "creating_branch",
            Self::UndeterminedBranch => "undetermined_branch",
            Self::ReclaimBranch => "reclaim_branch",
            Self::ReclaimRef => "reclaim_ref",
            Self::ReclaimDataset => "reclaim_dataset",
            Self::OrphanRecord => "orphan_record",
            Self::VersionHint => "version_hint",
            Self::PendingDataset => "pending_dataset",
            Self::PendingRef => "pending_ref",
            Self::StagedFile => "staged_file",
            Self::UnnamedFile => "unnamed_file",
            Self::AbandonedDataset => "abandoned_dataset",
            Self::AbandonedRef => "abandoned_ref",
            Self::UnknownBranch => "unknown_branch",
            Self::Unexplained => "unexplained",
            Self::Beside => "beside",
        }
    }

    /// What is said of an object of this kind; nothing of a part of the graph, and of what its name's
    /// records speak for.
    pub(crate) fn finding(self) -> Option<&'static FindingKind> {
        match self {
            Self::ManifestVersion
            | Self::TableVersion
            | Self::DataFile
            | Self::DeletionFile
            | Self::IndexFile
            | Self::TransactionFile
            | Self::RefContents
            | Self::RecoveryRecord
            | Self::NameRecord
            | Self::CreatingBranch
            | Self::UndeterminedBranch => None,
            Self::ReclaimBranch | Self::ReclaimRef | Self::ReclaimDataset => Some(&RECLAIM_PENDING),
            Self::OrphanRecord => Some(&ORPHAN_RECORDS),
            Self::VersionHint => Some(&VERSION_HINT),
            Self::PendingDataset => Some(&PENDING_DATASET),
            Self::PendingRef => Some(&PENDING_REF),
            Self::StagedFile => Some(&STAGED_FILES),
            Self::UnnamedFile => Some(&UNNAMED_FILES),
            Self::AbandonedDataset => Some(&ABANDONED_DATASET),
            Self::AbandonedRef => Some(&ABANDONED_REF),
            Self::UnknownBranch => Some(&UNKNOWN_BRANCH),
            Self::Unexplained => Some(&UNEXPLAINED_OBJECT),
            Self::Beside => Some(&FOREIGN_OBJECT),
        }
    }

    /// What waits for reclaim: what it is called, and where it is. There may be hundreds of each, so
    /// they are told together.
    pub(crate) fn waiting(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::ReclaimBranch => Some(("native branches", "__manifest/tree")),
            Self::ReclaimRef => Some(("refs of tables", "tables")),
            Self::ReclaimDataset => Some(("datasets", "tables")),
            _ => None,
        }
    }

    pub(crate) fn text(self) -> &'static str {
        self.finding().map_or("part of the graph", |finding| finding.meaning)
    }
}
