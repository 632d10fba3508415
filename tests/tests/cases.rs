//! Faults that users of systems like this one reported, each told again as a test of its whole kind.
//! `docs/cases.md` says which test holds which of them.

mod branch_family;
mod clocks;
mod deleted_branch;
mod limits;
mod listed_names;
mod lost_answers;
mod many_branches;
mod merge_lines;
mod merge_rows;
mod merge_sent_again;
mod stale_records;
mod vanished;
mod warm_server;
