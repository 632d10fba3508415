//! `__manifest`, the one authority of a graph (K2): its rows, its state at one version, its lineage
//! and outcomes, and the strict publish that arbitrates a complete read set. It must not know how
//! tables are written, what an intent's object looks like, or when a write may publish.

mod arbitration;
mod around;
mod bases;
mod batch;
mod change;
mod decision;
mod declared;
mod descent;
mod error;
mod facts;
mod fork;
mod hot;
mod init;
mod landing;
mod lineage;
mod lookup;
mod manifest;
mod outcome_row;
mod past;
mod publish;
mod reach_row;
mod reading;
mod root;
mod rows;
mod spill;
mod state;
mod transition;

#[cfg(test)]
mod tests;

pub use around::graph_around;
pub use bases::{BasesError, MERGE_BASES_MAX, MergeBase, MergeBases, MergeSide};
pub use batch::RowEncodeError;
pub use declared::SchemaFault;
pub use error::{Damage, InitError, ManifestError, OpenError};
pub use facts::{AGE_FLOOR_S_DEFAULT, AGE_FLOOR_S_MIN, GraphFacts};
pub use fork::NativeFork;
pub use init::InitRequest;
pub use landing::Patience;
pub use lookup::{History, Outcomes};
pub use manifest::Manifest;
pub use outcome_row::{OutcomeKind, OutcomeRow};
pub use past::PastState;
pub use publish::StagedAhead;
pub use reading::MANIFEST_PATH;
pub use root::{RootContents, judge_root};
pub use rows::{CommitRow, ROW_VERSION, RowError};
pub use spill::ColdFragment;
pub use state::ManifestState;
pub use transition::{
    AbortedAttempt, CompensatedAttempt, DiscardedAttempt, InvalidTransition, PinFate, PinMove,
    PublishOutcome, Transition,
};
