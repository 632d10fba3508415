//! Explicit-state models of the protocol: every interleaving of writers, recoverers, cleaners and those
//! who control branches, with PUTs that arrive late and actors that stop for ever, explored in full
//! within small configurations. `docs/model.md` says what is modelled, and what is not.
//!
//! Nothing here decides what the production decides. Recovery's decisions come from
//! `graphwrite_recovery::classify`, arbitration from `ReadSet` and the stages of
//! `graphwrite_protocol_types`, the meaning of a branch name from `NameFacts`. What is modelled is the
//! storage, the order of reads and durable operations, and whoever performs them.
//!
//! Four models:
//!
//! * `write`: a graph write with all its attempts, recovery, and an environment;
//! * `names`: the create-only records of a branch name;
//! * `fork`: branches made of a head and of a commit, beside deletes and maintenance;
//! * `cleanup`: the handshake between maintenance and those who make old versions reachable.
//!
//! Each is played with all rules kept, in which case every property must hold in every state that can
//! be reached, and with one rule left out, in which case a property must fail.

mod cleanup;
mod fork;
mod job;
mod names;
mod pool;
mod report;
mod write;

pub use job::{Failure, Found, Job, Purpose};
pub use pool::run_all;
pub use report::{Shown, header, is_as_expected, row, title_of_defects};

/// Every exploration: the configurations, then the planted defects.
pub fn jobs() -> Vec<Job> {
    let sound = [
        write::configurations(),
        names::configurations(),
        cleanup::configurations(),
        fork::configurations(),
    ];
    let defects = [write::defects(), names::defects(), cleanup::defects(), fork::defects()];
    sound.into_iter().chain(defects).flatten().collect()
}
