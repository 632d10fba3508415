//! Lance and object_store named where they may not be, and their acting functions inside the
//! substrate.

use super::*;
use crate::audit::acting::ACTING;

const SCAN: &str = "crates/substrate/src/scan.rs";

#[test]
fn lance_outside_of_the_substrate_is_found() {
    in_workspace(|workspace| {
        for path in [
            "crates/coordinator/src/write.rs",
            "crates/manifest/src/publish.rs",
            "crates/adapters/src/lib.rs",
            "crates/cli/src/main.rs",
            "crates/manifest/src/tests/world.rs",
            "tests/tests/main.rs",
            "xtask/src/main.rs",
        ] {
            let texts = [
                "use lance::Dataset; // HERE",
                "use ::object_store as objects; // HERE",
                "fn f(d: &datafusion_expr::Expr) {} // HERE",
                "fn f() { lance_table::io::commit(); } // HERE",
            ];
            workspace.finds_each("physical-path", path, &texts);
        }
    });
}

#[test]
fn lance_handed_on_by_the_substrate_is_found() {
    in_workspace(|workspace| {
        let texts = [
            "pub use lance::Dataset; // HERE",
            "pub mod inner { pub use object_store as objects; // HERE\n}",
        ];
        workspace.finds_each("re-export", "crates/substrate/src/lib.rs", &texts);
        let texts = [
            "pub fn raw() -> Arc<Dataset> { x() } // HERE",
            "pub struct Raw { pub dataset: Dataset, // HERE\n}",
            "pub type Raw = lance::Dataset; // HERE",
        ];
        workspace.finds_each("handle", "crates/substrate/src/tables.rs", &texts);
    });
}

#[test]
fn an_inner_crate_handed_on_by_the_library_is_found() {
    in_workspace(|workspace| {
        let texts = [
            "pub use graphwrite_substrate::TableHandle; // HERE",
            "pub use graphwrite_manifest::Manifest as Reader; // HERE",
            "pub use graphwrite_substrate; // HERE",
        ];
        workspace.finds_each("re-export", "crates/coordinator/src/lib.rs", &texts);
    });
}

#[test]
fn every_acting_function_is_found_in_the_substrate() {
    in_workspace(|workspace| {
        let calls = ACTING.iter().map(|name| {
            if name.starts_with(char::is_uppercase) {
                format!("let a = {name}::new(x); // HERE")
            } else {
                format!("x.{name}(y).await; // HERE")
            }
        });
        let text = format!("async fn sly(x: X) {{\n{}\n}}", calls.collect::<Vec<_>>().join("\n"));
        workspace.finds("acts", &[Append(SCAN, text.leak())]);
    });
}

#[test]
fn an_acting_function_is_found_in_every_form() {
    in_workspace(|workspace| {
        let texts = [
            "async fn sly(x: X) { Dataset::delete(x, \"true\").await; } // HERE",
            "async fn sly(x: X) { lance::Dataset::restore(x).await; } // HERE",
            "async fn sly(x: X) { x.map(ObjectStore::put_opts); } // HERE",
            "async fn sly(x: X) { x.execute::<A>(y).await; } // HERE",
            "async fn sly(x: X) { join!(x.cleanup_old_versions(y)); } // HERE",
            "use lance::dataset::CommitBuilder as Quiet; // HERE",
            "use lance::dataset::optimize::compact_files; async fn sly() { compact_files(x).await; } // HERE",
            "static SLY: F = lance::dataset::cleanup::cleanup_old_versions; // HERE",
        ];
        workspace.finds_each("acts", SCAN, &texts);
    });
}

#[test]
fn a_commit_without_a_permit_in_its_signature_is_found() {
    in_workspace(|workspace| {
        let strict = "crates/substrate/src/strict.rs";
        let edits = [Replace(strict, "permit: &CommitPermit<'_>,", "permit: &Nothing,")];
        workspace.finds_in(ENTRY_POINTS, "acts", strict, "must ask for a `CommitPermit`", &edits);
        let text =
            "async fn sly(t: TableHandle) { CommitBuilder::new(t) // HERE\n.execute(x).await; }";
        workspace.finds("acts", &[Append(strict, text)]);
    });
}

#[test]
fn staging_without_a_commit_is_allowed() {
    in_workspace(|workspace| {
        let text =
            "async fn stage(x: X) { x.execute_uncommitted(y).await; InsertBuilder::new(x); }";
        workspace.allows(ENTRY_POINTS, &[Append(SCAN, text)]);
    });
}

#[test]
fn an_exemption_that_nobody_uses_is_told() {
    in_workspace(|workspace| {
        let from = "self.files.rename_opts(from, to, options).await";
        let edits =
            [Replace("crates/substrate/src/store/ordered.rs", from, "refuse(from, to, options)")];
        workspace.finds_in(ENTRY_POINTS, "exemption", "crates/substrate", "rename_opts", &edits);
    });
}

#[test]
fn a_right_that_is_granted_elsewhere_is_found() {
    in_workspace(|workspace| {
        let edits = [
            Append(GRAPH, "fn f(a: A) { CommitPermit::authority(a); } // HERE"),
            Append(
                "crates/cli/src/run.rs",
                "fn f() { graphwrite_protocol_types::Full::granted(); } // HERE",
            ),
            Append(
                "crates/recovery/src/barrier.rs",
                "fn f() { let g = RollForward::granted; } // HERE",
            ),
            Append(
                "crates/manifest/src/init.rs",
                "use graphwrite_protocol_types::IntentDurable as Proof; fn f(i: I) { Proof::witness(i); } // HERE",
            ),
        ];
        workspace.finds("guarded", &edits);
    });
}

#[test]
fn a_file_that_is_written_around_the_store_is_found() {
    in_workspace(|workspace| {
        let texts = [
            "fn f() { std::fs::write(a, b); } // HERE",
            "fn f() { tokio::fs::remove_file(a); } // HERE",
            "use std::fs::rename as quiet; // HERE",
            "fn f() { File::create(a); } // HERE",
            "fn f() { OpenOptions::new().write(true).open(a); } // HERE",
        ];
        workspace.finds_each("file-write", "crates/coordinator/src/verify.rs", &texts);
    });
}
