//! Constructs that the audit cannot see through, each in a place where it would matter.

use super::*;

const REPORT: &str = "crates/coordinator/src/report.rs";

/// The name of a test, the rule, and texts that break it, each with one mark.
type Plants = (&'static str, &'static str, &'static [&'static str]);

const PLANTS: &[Plants] = &[
    (
        "code_that_is_not_where_it_is_read_is_found",
        "hidden-source",
        &[
            "include!(\"more.in\"); // HERE",
            "fn f() { include!(concat!(env!(\"OUT_DIR\"), \"/more.rs\")); } // HERE",
            "#[path = \"../../more.rs\"] mod more; // HERE",
            "extern crate graphwrite_substrate as inner; // HERE",
            "#[macro_use] // HERE\nmod more;",
            "#[macro_export] // HERE\nmacro_rules! more { () => {} }",
        ],
    ),
    (
        "globs_are_found",
        "glob",
        &[
            "use graphwrite_substrate::*; // HERE",
            "pub use graphwrite_protocol_types::*; // HERE",
            "use crate::write::{self, *}; // HERE",
            "fn f() { use Severity::*; } // HERE",
        ],
    ),
    (
        "a_macro_that_makes_acting_code_is_found",
        "macro",
        &[
            "macro_rules! quiet { ($a:expr) => { $crate::write::write($a) } } // HERE",
            "macro_rules! quiet { ($s:ident, $t:expr) => { $s.manifest.publish($t, $t) } } // HERE",
            "macro_rules! quiet { ($s:ident) => { fn $s(t: T) { strict_commit(t, t, t) } } } // HERE",
            "bitflags! { fn quiet() { strict_commit(a, b, c) } } // HERE",
            "impl CommitInfo { make! { fn quiet(m: M) { m.publish(a, b) } } // HERE\n}",
            "#[derive(Sly)] #[sly(with = Manifest::publish(a, b))] // HERE\nstruct A;",
            "#[serde(deserialize_with = \"crate::write::write\")] // HERE\nstruct A;",
        ],
    ),
    (
        "a_foreign_trait_that_acts_is_found",
        "implicit-call",
        &[
            "impl Drop for CommitInfo { fn drop(&mut self) { write(&self.core, x); } // HERE\n} use crate::write::write;",
            "impl From<Graph> for CommitInfo { fn from(g: Graph) -> Self { g.core.manifest.publish(x, &x) } // HERE\n} use crate::Graph;",
            "impl std::fmt::Display for CommitInfo { fn fmt(&self, f: &mut F) -> R { self.quiet() } // HERE\n} impl CommitInfo { fn quiet(&self) { self.m().publish(a, b); } }",
            "impl std::ops::Deref for CommitInfo { type Target = A; fn deref(&self) -> &A { crate::write::write(a, b) } // HERE\n}",
            "impl Iterator for CommitInfo { type Item = A; fn next(&mut self) -> Option<A> { graphwrite_substrate::delete_dataset(a, b, c) } // HERE\n}",
        ],
    ),
    (
        "kept_code_is_found",
        "stored",
        &[
            "struct Kept { run: fn(u32) -> u32, // HERE\n}",
            "struct Kept { run: Box<dyn Fn() + Send>, // HERE\n}",
            "struct Kept { run: std::sync::Arc<Mutex<Option<Box<dyn FnOnce()>>>>, // HERE\n}",
            "struct Kept { run: BoxFuture<'static, ()>, // HERE\n}",
            "struct Kept { run: Pin<Box<dyn Future<Output = ()>>>, // HERE\n}",
            "struct Kept<F: Fn()> { run: F, // HERE\n}",
            "struct Kept<F> where F: FnMut() { run: F, // HERE\n}",
            "enum Kept { Run(Box<dyn Fn()>), // HERE\n}",
            "static KEPT: Mutex<Vec<fn()>> = x(); // HERE",
            "type Kept = Box<dyn Fn()>; // HERE",
        ],
    ),
    (
        "a_kept_right_is_found",
        "stored",
        &[
            "struct Kept { mode: graphwrite_protocol_types::Full, // HERE\n}",
            "struct Kept<'a> { permit: Option<CommitPermit<'a>>, // HERE\n}",
            "struct Kept { mode: RecoveryMode, // HERE\n}",
            "static KEPT: OnceLock<RollForward> = OnceLock::new(); // HERE",
        ],
    ),
    (
        "a_task_that_takes_orders_is_found",
        "task",
        &[
            "fn f() { tokio::spawn(async { loop {} }); } // HERE",
            "fn f(r: Runtime) { r.spawn(x); } // HERE",
            "fn f() { std::thread::spawn(x); } // HERE",
            "fn f() { let mut set = tokio::task::JoinSet::new(); } // HERE",
            "fn f() { let start = tokio::spawn; } // HERE",
        ],
    ),
];

fn is_found(test: &'static str) {
    in_workspace(move |workspace| {
        let texts = || PLANTS.iter().flat_map(|(_, _, texts)| *texts).copied();
        let (found, marks) = workspace.shared("hidden", Part::Hidden, || {
            let text = texts().collect::<Vec<_>>().join("\n");
            (ENTRY_POINTS.to_vec(), vec![Append(REPORT, text.leak())])
        });
        assert_eq!(marks.len(), texts().count());
        let rules =
            PLANTS.iter().flat_map(|(name, rule, texts)| texts.iter().map(move |_| (*name, *rule)));
        let of_test = rules.zip(marks).filter(|((name, _), _)| *name == test);
        of_test.for_each(|((_, rule), mark)| assert_at(found, rule, mark));
    });
}

#[test]
fn a_macro_that_only_computes_is_allowed() {
    in_workspace(|workspace| {
        let text = "macro_rules! plain { ($a:expr) => { $a.iter().map(|a| a + 1).sum() } }";
        workspace.allows(ENTRY_POINTS, &[Append(REPORT, text)]);
    });
}

#[test]
fn tests_may_do_all_of_this() {
    in_workspace(|workspace| {
        let text = "#[cfg(test)] mod planted {
        use super::*; use graphwrite_substrate::*;
        struct Kept { run: fn(), mode: Full }
        fn f() { tokio::spawn(x); strict_commit(a, b, c); }
    }";
        workspace.allows(ENTRY_POINTS, &[Append(REPORT, text)]);
    });
}

#[test]
fn code_that_is_not_where_it_is_read_is_found() {
    is_found("code_that_is_not_where_it_is_read_is_found");
}

#[test]
fn globs_are_found() {
    is_found("globs_are_found");
}

#[test]
fn a_macro_that_makes_acting_code_is_found() {
    is_found("a_macro_that_makes_acting_code_is_found");
}

#[test]
fn a_foreign_trait_that_acts_is_found() {
    is_found("a_foreign_trait_that_acts_is_found");
}

#[test]
fn kept_code_is_found() {
    is_found("kept_code_is_found");
}

#[test]
fn a_kept_right_is_found() {
    is_found("a_kept_right_is_found");
}

#[test]
fn a_task_that_takes_orders_is_found() {
    is_found("a_task_that_takes_orders_is_found");
}
