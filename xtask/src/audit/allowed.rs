//! The closed lists of [`super::hidden`]: constructs that the call graph cannot see through and that
//! are where they are for a reason.

/// Macros that make code which may act, by the file that has them.
pub(super) const MACROS: &[(&str, &str)] = &[
    // The two commit handlers of K1, which differ in their commit alone.
    ("crates/substrate/src/handler.rs", "commit_handler"),
];

/// Types that keep code or a right, by the file that declares them.
pub(super) const STORED: &[(&str, &str)] = &[
    // The mode of a pass, which borrows or holds what its caller was granted.
    ("crates/protocol-types/src/permit.rs", "RecoveryMode"),
    ("crates/recovery/src/barrier.rs", "Barrier"),
    ("crates/recovery/src/interpreter.rs", "Interpreter"),
    // Handed to the stage that consumes it.
    ("crates/substrate/src/intents.rs", "Arming"),
    // Layers of a store decide about requests; they make none.
    ("crates/substrate/src/layers/faulty.rs", "Decide"),
    ("crates/substrate/src/layers/faulty.rs", "Faults"),
    ("crates/substrate/src/layers/holding.rs", "Holder"),
    ("crates/substrate/src/layers/tap.rs", "Verdict"),
    // Rows.
    ("crates/substrate/src/scan.rs", "BatchStream"),
];

/// Functions of somebody else's traits that act when they are called, by file and name.
pub(super) const IMPLICIT: &[(&str, &str)] = &[
    // The layer hands a deletion on to the store below it.
    ("crates/substrate/src/layers/tap.rs", "delete_stream"),
];

/// Files that start tasks.
pub(super) const TASKS: &[&str] = &[
    // An armed attempt runs to its end without its caller.
    "crates/coordinator/src/write.rs",
    // So does the creation of a branch.
    "crates/coordinator/src/branch/create.rs",
    // What a deleted branch left is discarded behind the answer of its deletion.
    "crates/coordinator/src/orphans.rs",
    // Listens for signals.
    "crates/cli/src/interrupt.rs",
];

/// Files outside of the substrate that write files.
pub(super) const WRITES_FILES: &[&str] = &[
    // A paused process of a test says that it waits.
    "crates/cli/src/fault.rs",
];
