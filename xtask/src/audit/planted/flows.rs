//! Entry points that come to acts around the attempt or beyond their protocol, each hidden in
//! another way.

use super::disguises::DISGUISES;
use super::*;
use crate::audit::table::Protocol;

const IMPORTS: &str = "use std::sync::Arc; use graphwrite_manifest::Manifest; use crate::Graph;
    use crate::core::Core; use crate::recover::recover; use crate::write::write;";

/// A public function of the graph, in a file of its own: its body, and what is beside it.
type Shortcut<'a> = (&'a str, &'a str);

/// The files and rows of shortcuts that are listed with `protocol`. In each, `quiet` has a name of
/// its own, so that none is found through another.
fn shortcuts(protocol: Protocol, plants: &[Shortcut<'_>]) -> (Vec<EntryPoint>, Vec<Edit>) {
    let mut rows = ENTRY_POINTS.to_vec();
    let edits = plants.iter().enumerate().map(|(n, (body, beside))| {
        let name = format!("Graph::shortcut{n}").leak();
        rows.push(EntryPoint { name, protocol, says: "" });
        let method = format!(
            "{beside}\nimpl Graph {{ pub async fn shortcut{n}(&self, x: X) {{ // HERE\n{body} }} }}"
        );
        let method =
            method.replace("quiet", &format!("quiet{n}")).replace("Quiet", &format!("Quiet{n}"));
        let path = format!("crates/coordinator/src/planted{n}.rs").leak();
        Append(path, format!("{IMPORTS}\n{method}").leak())
    });
    let edits = edits.collect();
    (rows, edits)
}

impl Workspace {
    fn finds_shortcuts(&mut self, protocol: Protocol, rule: &str, plants: &[Shortcut<'_>]) {
        let (rows, edits) = shortcuts(protocol, plants);
        self.finds_with(&rows, rule, &edits);
    }
}

fn bodies<'a>(bodies: &[&'a str]) -> Vec<Shortcut<'a>> {
    bodies.iter().map(|body| (*body, "")).collect()
}

#[test]
fn a_graph_write_that_does_not_come_to_the_attempt_is_found() {
    in_workspace(|workspace| {
        let ways = ["", "self.core.manifest.state().await;", "attempt(x);", "self.attempt(x);"];
        workspace.finds_shortcuts(Protocol::GraphWrite("load"), "no-attempt", &bodies(&ways));
    });
}

#[test]
fn a_graph_write_that_also_goes_around_the_attempt_is_found() {
    in_workspace(|workspace| {
        let ways = [
            "self.core.manifest.publish(x, &x).await; write(&self.core, x).await;",
            "graphwrite_substrate::strict_commit(x, x, x).await; write(&self.core, x).await;",
            "graphwrite_substrate::create_dataset(x, x, x, x).await; write(&self.core, x).await;",
            "self.core.intents.arm(x).await; write(&self.core, x).await;",
            "self.core.store.delete(x).await; write(&self.core, x).await;",
            "write(&self.core, x).await; crate::resolve::resolve_own(x, x, x, x).await;",
        ];
        workspace.finds_shortcuts(Protocol::GraphWrite("load"), "around-attempt", &bodies(&ways));
    });
}

const ACTS: &[&str] = &[
    "write(&self.core, x).await;",
    "self.load(x).await;",
    "self.core.manifest.publish(x, &x).await;",
    "graphwrite_substrate::strict_commit(x, x, x).await;",
    "graphwrite_substrate::create_dataset(x, x, x, x).await;",
    "graphwrite_substrate::stage_create(x, x, x, x).await;",
    "graphwrite_substrate::delete_dataset(x, x, x).await;",
    "self.core.intents.arm(x).await;",
    "self.core.intents.delete(x, x, x, x).await;",
    "use graphwrite_substrate::RawObjects; self.core.store.put_if_absent(x, x, x).await;",
    "Manifest::init(x, x, x).await;",
    "recover(&self.core, x).await;",
];

/// The shortcuts that are listed as reading and do not, by the test that they belong to.
fn readers() -> Vec<(&'static str, &'static str, &'static str)> {
    let acts = ACTS.iter().map(|body| ("acts", *body, ""));
    let disguises = DISGUISES.iter().map(|(body, beside)| ("disguises", *body, *beside));
    let grants = [("grants", GRANTS, "")].into_iter();
    acts.chain(disguises).chain(through_traits()).chain(grants).collect()
}

fn readers_are_found(group: &'static str) {
    in_workspace(move |workspace| {
        let readers = readers();
        let (found, marks) = workspace.shared("readers", Part::Flows, || {
            let plants: Vec<_> = readers.iter().map(|(_, body, beside)| (*body, *beside)).collect();
            shortcuts(Protocol::ReadOnly, &plants)
        });
        assert_eq!(marks.len(), readers.len());
        let of_group = readers.iter().zip(marks).filter(|((of, ..), _)| *of == group);
        of_group.for_each(|(_, mark)| assert_at(found, "beyond-protocol", mark));
    });
}

#[test]
fn what_reads_and_comes_to_an_act_is_found() {
    readers_are_found("acts");
}

#[test]
fn an_act_beyond_control_and_authority_first_is_found() {
    for protocol in [Protocol::Control, Protocol::AuthorityFirst] {
        in_workspace(move |workspace| {
            let ways = ["write(&self.core, x).await;", "self.core.intents.arm(x).await;"];
            workspace.finds_shortcuts(protocol, "beyond-protocol", &bodies(&ways));
        });
    }
}

#[test]
fn a_port_whose_implementation_acts_is_found() {
    in_workspace(|workspace| {
        let text = "struct Sly { graph: crate::Graph }
        #[async_trait] impl Hooks for Sly {
            async fn reach(&self, point: Failpoint) -> Result<(), Injected> { // HERE
                self.graph.load(point).await }
        }";
        let edits = [Append("crates/coordinator/src/hooks.rs", text)];
        let found = workspace.planted(ENTRY_POINTS, &edits, &[Part::Flows]).0;
        let of_port = |it: &Finding| {
            it.rule == "beyond-protocol" && it.text.contains("`Hooks::reach` is port")
        };
        assert!(found.iter().any(of_port), "{}", shown(&found));
    });
}

#[test]
fn an_act_that_is_listed_and_never_comes_is_found() {
    in_workspace(|workspace| {
        let from = "recover(&self.core, request).await";
        let edits = [Replace(GRAPH, from, "self.nothing(request).await")];
        let place = "xtask/src/audit/table.rs";
        workspace.finds_in(ENTRY_POINTS, "never-reached", place, "`Graph::recover`", &edits);
    });
}

#[test]
fn no_disguise_of_a_call_hides_it() {
    readers_are_found("disguises");
}

/// Calls through a trait of the graph, in every form that they have.
fn through_traits() -> Vec<(&'static str, &'static str, &'static str)> {
    let of_trait = "trait Quiet { async fn quiet(&self, x: X); }
        impl Quiet for Graph { async fn quiet(&self, x: X) { write(&self.core, x).await; } }";
    let by_default = "trait Quiet { fn core(&self) -> &Arc<Core>;
            async fn quiet(&self, x: X) { write(self.core(), x).await; } }";
    let blanket = "trait Quiet { async fn quiet(&self, x: X); }
        impl<T: Sync> Quiet for T { async fn quiet(&self, x: X) { write(&self.core, x).await; } }";
    let behind = "trait Above: Quiet {} trait Quiet { async fn quiet(&self, x: X); }
        impl Quiet for Graph { async fn quiet(&self, x: X) { write(&self.core, x).await; } }
        async fn above<A: Above>(a: A, x: X) { a.quiet(x).await; }";
    let calls = [
        "self.quiet(x).await;",
        "Quiet::quiet(self, x).await;",
        "<Self as Quiet>::quiet(self, x).await;",
        "let it: &dyn Quiet = self; it.quiet(x).await;",
        "async fn run<Q: Quiet>(q: Q, x: X) { q.quiet(x).await; } run(x, x).await;",
        "async fn run<Q: Quiet>(x: X) { Q::quiet(x, x).await; } run::<Self>(x).await;",
    ];
    let traits = [of_trait, by_default, blanket].into_iter();
    let plants = traits.flat_map(|of| calls.into_iter().map(move |call| ("traits", call, of)));
    plants.chain([("traits", "above(x, x).await;", behind)]).collect()
}

#[test]
fn traits_do_not_hide_a_call() {
    readers_are_found("traits");
}

#[test]
fn a_re_export_under_another_name_does_not_hide_a_call() {
    in_workspace(|workspace| {
        let re_exports = [
            Append("crates/substrate/src/lib.rs", "pub use strict::strict_commit as look;"),
            Append(
                "crates/adapters/src/lib.rs",
                "pub use graphwrite_substrate::strict_commit as see;",
            ),
            Append("crates/manifest/src/lib.rs", "pub use manifest::Manifest as Reader;"),
            Append("crates/manifest/src/lib.rs", "pub type Scanner = Manifest;"),
            Append("crates/adapters/src/lib.rs", "pub use graphwrite_manifest as inner;"),
            Append("crates/coordinator/src/verify.rs", "use crate::write::write as check_all;"),
        ];
        let ways = [
            "graphwrite_substrate::look(x, x, x).await;",
            "graphwrite_adapters::see(x, x, x).await;",
            "graphwrite_manifest::Reader::publish(x, x, x).await;",
            "graphwrite_adapters::inner::Manifest::publish(x, x, x).await;",
            "use super::verify::check_all as look; look(x, x).await;",
            "use graphwrite_manifest::Scanner; Scanner::publish(x, x, x).await;",
        ];
        let (rows, edits) = shortcuts(Protocol::ReadOnly, &bodies(&ways));
        let edits: Vec<Edit> = re_exports.into_iter().chain(edits).collect();
        workspace.finds_with(&rows, "beyond-protocol", &edits);
    });
}

#[test]
fn an_alias_of_a_type_does_not_hide_its_methods() {
    in_workspace(|workspace| {
        let alias = Append("crates/coordinator/src/core.rs", "pub(crate) type Reader = Manifest;");
        let beside = "use crate::core::Reader;
            async fn quiet(reader: &Reader) { reader.publish(x, &x).await; }";
        let (rows, edits) = shortcuts(Protocol::ReadOnly, &[("quiet(x).await;", beside)]);
        let edits: Vec<Edit> = [alias].into_iter().chain(edits).collect();
        workspace.finds_with(&rows, "beyond-protocol", &edits);
    });
}

const GRANTS: &str = "let port = crate::port::Port::new(&self.core);
    let mode = graphwrite_protocol_types::RecoveryMode::Full(graphwrite_protocol_types::Full::granted());
    graphwrite_recovery::run(&port, &mode, None, x, x).await;";
const PROBES: &str = "let port = crate::port::Port::new(&self.core);
    let mode = graphwrite_protocol_types::RecoveryMode::Probe;
    graphwrite_recovery::run(&port, &mode, None, x, x).await;";

#[test]
fn recovery_that_grants_itself_a_mode_is_found() {
    readers_are_found("grants");
}

#[test]
fn the_methods_of_atomics_are_not_ours() {
    in_workspace(|workspace| {
        let body = "x.y.each_ref().map(|count| count.load(Ordering::Relaxed));";
        let (rows, edits) = shortcuts(Protocol::ReadOnly, &[(body, "")]);
        workspace.allows(&rows, &edits);
    });
}

#[test]
fn recovery_that_only_probes_is_allowed() {
    in_workspace(|workspace| {
        let (rows, edits) = shortcuts(Protocol::ReadOnly, &[(PROBES, "")]);
        workspace.allows(&rows, &edits);
    });
}

#[test]
fn a_graph_write_through_the_attempt_is_allowed() {
    in_workspace(|workspace| {
        let body = "Box::pin(write(&self.core, x)).await;";
        let (rows, edits) = shortcuts(Protocol::GraphWrite("load"), &[(body, "")]);
        let found = workspace.planted(&rows, &edits, &ALL).0;
        // The registry does not name it: that is all.
        assert!(found.iter().all(|it| it.rule == "adapter"), "{}", shown(&found));
    });
}

#[test]
fn an_acting_function_that_is_renamed_is_missed() {
    in_workspace(|workspace| {
        let from = "pub async fn strict_commit(";
        let edits = [Replace("crates/substrate/src/strict.rs", from, "pub async fn commit_now(")];
        let place = "xtask/src/audit/flows.rs";
        workspace.finds_in(ENTRY_POINTS, "act", place, "`strict_commit`", &edits);
    });
}
