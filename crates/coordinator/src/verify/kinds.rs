//! Every kind of finding: its stable code, what it means and what to do. `docs/operations.md` has the
//! same table. It must not know how anything is found.

use crate::report::{FindingKind, Severity};

const HARMLESS: &str = "nothing; it does no harm";
const RESTORE: &str = "restore the object from a copy, then run `graphwrite verify` again";
const FOREIGN_WRITER: &str = "find what writes to the graph's files beside this tool and stop it; \
     then restore the graph from a copy made before";

const BRANCH_LOST: &str =
    "restore the object from a copy, or give the branch up: `graphwrite branch delete`";

macro_rules! kinds {
    ($($name:ident = $severity:ident $code:literal: $meaning:literal; $remedy:expr)*) => {
        $(pub(crate) const $name: FindingKind = FindingKind {
            severity: Severity::$severity,
            code: $code,
            meaning: $meaning,
            remedy: $remedy,
        };)*

        /// Every kind of finding of `verify`.
        pub const FINDINGS: &[FindingKind] = &[$($name),*];
    };
}

kinds! {
    PENDING_INTENT = Note "pending_intent":
        "a write was armed and is not finished";
        "the next write that overlaps it resolves it, and so does `graphwrite intent resolve`"
    UNREADABLE_RECORDS = Fault "unreadable_intents":
        "the recovery records cannot be listed or looked into";
        "correct what the message names and run it again"
    UNUSABLE_RECORD = Fault "unusable_record":
        "an object among the recovery records cannot be understood; it stops every write, and no read";
        "if a newer build wrote it, use that build; if it is damaged, restore it from a copy; if it is \
         nobody's, move it away"
    UNREADABLE_PROGRESS = Note "unreadable_progress":
        "a confirm object or a sign of progress cannot be read; it counts as missing and stops nobody";
        "nothing; it is deleted with what is left of its attempt"
    NEWER_WRITER = Note "newer_writer":
        "the graph can be read by this build, but only a newer one may write to it";
        "write with the build that the stamp asks for"
    UNDECLARED_HEAD = Fault "undeclared_head":
        "a table has a head and is not declared";
        RESTORE
    UNREADABLE_TABLE = Fault "unreadable_table":
        "the rows of a table cannot be read";
        RESTORE
    UNREADABLE_VERSION = Fault "unreadable_version":
        "a version is there and cannot be decoded, or is not the version that its name says";
        RESTORE
    MISSING_FILE = Fault "missing_file":
        "a file that a version names is not there";
        RESTORE
    PIN_LOST = Fault "pin_lost":
        "a version that a commit published is not there, or another one has its number";
        RESTORE
    UNPUBLISHED_HEAD = Note "unpublished_head":
        "versions above the one that readers see, all of them of pending attempts";
        "`graphwrite intent list` shows the attempts; the next write resolves them"
    FENCE = Note "fence":
        "the version above the one that readers see is empty: recovery closed the slot";
        "nothing; the next write takes it over"
    DRIFT = Fault "drift":
        "versions above the one that readers see that nobody armed";
        "find what writes to the graph's files beside this tool and stop it; readers do not see its \
         rows, and writes to the table are refused until the versions are moved away"
    UNCOMMITTED_ROWS = Fault "uncommitted_rows":
        "readers see rows that no commit of the graph made";
        FOREIGN_WRITER
    FOREIGN_VERSION = Note "foreign_version":
        "a version that no attempt made, taken back before anything was published over it";
        "find what writes to the graph's files beside this tool and stop it"
    LOST_VERSION = Fault "lost_version":
        "a commit changed a table, and no version of the table is of that commit";
        RESTORE
    VERSIONS_REMOVED = Note "versions_removed":
        "versions that no commit needs are gone, so the origin of older rows cannot be checked";
        HARMLESS
    FOREIGN_MANIFEST = Fault "foreign_manifest":
        "a version of the manifest was not made by a decision of the protocol";
        FOREIGN_WRITER
    HISTORY_REMOVED = Note "history_removed":
        "the oldest commits are listed and can no longer be opened";
        "nothing, if old versions were removed on purpose"
    VERSION_GONE = Fault "version_gone":
        "a commit can no longer be opened, although an older one can";
        RESTORE
    OTHER_VERSION = Fault "other_version":
        "something else has the number of a commit's manifest version";
        FOREIGN_WRITER
    UNREADABLE_COMMIT = Fault "unreadable_commit":
        "the manifest version of a commit cannot be read";
        RESTORE
    LINEAGE = Fault "lineage":
        "the history is not one connected line that ends at the head";
        RESTORE
    OUTCOMES = Fault "outcomes":
        "outcome rows contradict each other, the commits, or the versions that recorded them";
        RESTORE
    CONSTRAINT = Fault "constraint":
        "a row breaks a rule of the schema";
        "correct the row by a load or a mutation; if no write of this tool made it, find what writes to \
         the graph's files"
    UNCHECKED_CONSTRAINTS = Fault "unchecked_constraints":
        "the rules between rows could not be judged";
        "correct what the message names and run it again"
    PENDING_DATASET = Note "pending_dataset":
        "the dataset of a pending attempt that loads a type first";
        "the next write resolves the attempt"
    ABANDONED_DATASET = Note "abandoned_dataset":
        "the dataset of an attempt that was given up, or is being prepared";
        HARMLESS
    STAGED_FILES = Note "staged_files":
        "files in a table that no version names, while an attempt on it is pending";
        HARMLESS
    UNNAMED_FILES = Note "unnamed_files":
        "files that no version names, left by attempts that were given up or are being prepared";
        HARMLESS
    PENDING_REF = Note "pending_ref":
        "the ref of a pending attempt that writes to a table of a branch first";
        "the next write to the branch resolves the attempt"
    ABANDONED_REF = Note "abandoned_ref":
        "the ref of an attempt that was given up, or of a branch that is gone";
        HARMLESS
    RECLAIM_PENDING = Note "reclaim_pending":
        "left of deleted branches and of creations that were given up; no live branch needs it";
        HARMLESS
    ORPHAN_RECORDS = Note "orphan_records":
        "records of attempts on a branch that was deleted; they stop nobody";
        "nothing; `graphwrite intent resolve --full` discards them"
    CREATING_BRANCH = Note "creating_branch":
        "a branch is being made, or its maker died: nobody can see it yet";
        "nothing; whoever needs the name next decides it, as `graphwrite branch create` of the name does"
    UNUSABLE_NAME = Fault "unusable_name":
        "the record that says what a branch name means cannot be understood or contradicts others";
        "if a newer build wrote it, use that build; if it was put there from outside, move it away; else \
         restore it from a copy, or give the name up: `graphwrite branch delete`"
    UNREADABLE_NAME_RECORD = Note "unreadable_name_record":
        "a record of a branch name cannot be understood; what the name means does not hang on it";
        HARMLESS
    UNREADABLE_BRANCH = Fault "unreadable_branch":
        "a live branch cannot be opened";
        BRANCH_LOST
    DAMAGED_BRANCH = Fault "damaged_branch":
        "a native branch has lost one of its two parts, or holds what its making did not put there";
        BRANCH_LOST
    FORK_LOST = Fault "fork_lost":
        "the version that a live branch was made of is not there, or another one has its number";
        RESTORE
    UNKNOWN_BRANCH = Fault "unknown_branch":
        "a native branch that no record of a name has begun";
        "find what makes branches of `__manifest` beside this tool and stop it; then move it away"
    VERSION_HINT = Note "version_hint":
        "a hint of another writer at the newest version; this tool never believes it";
        HARMLESS
    UNEXPLAINED_OBJECT = Fault "unexplained_object":
        "an object in the graph's directories that is no part of a graph";
        "move it away, after finding out what put it there"
    FOREIGN_OBJECT = Note "foreign_object":
        "objects beside the graph's directories; no graph looks at them";
        HARMLESS
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn line(kind: &FindingKind) -> String {
        let severity = if kind.severity == Severity::Fault { "fault" } else { "note" };
        format!("| `{}` | {severity} | {} | {} |", kind.code, kind.meaning, kind.remedy)
    }

    #[test]
    fn the_manual_says_of_every_kind_what_it_means_and_what_to_do() {
        let manual = include_str!("../../../../docs/operations.md");
        let table = FINDINGS.iter().map(line).collect::<Vec<_>>().join("\n");
        assert!(manual.contains(&table), "docs/operations.md must have:\n{table}");
    }

    #[test]
    fn every_kind_has_a_code_of_its_own() {
        let codes: BTreeSet<&str> = FINDINGS.iter().map(|kind| kind.code).collect();
        assert_eq!(codes.len(), FINDINGS.len());
    }
}
