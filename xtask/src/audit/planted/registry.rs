//! An adapter without an entry point, an entry point without an adapter, and effects that the plans
//! do not have.

use super::*;
use crate::audit::table::Protocol;

const REGISTRY: &str = "crates/adapters/src/registry.rs";
const TABLE: &str = "xtask/src/audit/table.rs";
const PLAN: &str = "crates/adapters/src/load.rs";

#[test]
fn an_adapter_without_an_entry_point_is_found() {
    in_workspace(|workspace| {
        let writer = Replace(REGISTRY, "pub enum Writer {", "pub enum Writer { Sly, // HERE\n");
        workspace.finds("adapter", &[writer]);
    });
}

#[test]
fn an_adapter_that_the_registry_does_not_describe_is_found() {
    in_workspace(|workspace| {
        let writer = Replace(REGISTRY, "pub enum Writer {", "pub enum Writer { Sly, // HERE\n");
        workspace.finds("registry", &[writer]);
    });
}

#[test]
fn an_entry_point_of_an_adapter_that_is_not_registered_is_found() {
    in_workspace(|workspace| {
        let name = "Graph::shortcut";
        let row = EntryPoint { name, protocol: Protocol::GraphWrite("sly"), says: "" };
        workspace.finds_in(&listed(row), "adapter", TABLE, "`sly`", &[]);
    });
}

#[test]
fn an_entry_point_that_only_the_table_has_is_found() {
    in_workspace(|workspace| {
        let name = "Graph::shortcut";
        let row = EntryPoint { name, protocol: Protocol::GraphWrite("load"), says: "" };
        workspace.finds_in(&listed(row), "adapter", REGISTRY, "`Graph::shortcut`", &[]);
    });
}

#[test]
fn an_entry_point_that_only_the_registry_has_is_found() {
    in_workspace(|workspace| {
        let edits = [Replace(REGISTRY, "\"Graph::load\"", "\"Graph::load\", \"Graph::shortcut\"")];
        let text = "`Graph::shortcut`";
        workspace.finds_in(ENTRY_POINTS, "adapter", REGISTRY, text, &edits);
    });
}

#[test]
fn an_effect_that_is_planned_and_not_registered_is_found() {
    in_workspace(|workspace| {
        let text = "impl LoadAdapter { fn sly(&self) -> EffectKind { EffectKind::Inline } }";
        let text_of = "plans `Inline`";
        let edits = [Append(PLAN, text)];
        workspace.finds_in(ENTRY_POINTS, "effects", REGISTRY, text_of, &edits);
    });
}

#[test]
fn an_effect_that_is_registered_and_not_planned_is_found() {
    in_workspace(|workspace| {
        let from = "EffectKind::CreateDataset,";
        let edits = [Replace(REGISTRY, from, "EffectKind::CreateDataset, EffectKind::Pointer,")];
        workspace.finds_in(ENTRY_POINTS, "effects", REGISTRY, "registers `Pointer`", &edits);
    });
}

#[test]
fn an_effect_that_is_only_compared_with_is_no_plan() {
    in_workspace(|workspace| {
        let text = "impl LoadAdapter { fn is_inline(&self, kind: EffectKind) -> bool {
        match kind { EffectKind::Pointer => true, other => other == EffectKind::Inline } } }";
        workspace.allows(ENTRY_POINTS, &[Append(PLAN, text)]);
    });
}
