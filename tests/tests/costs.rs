//! What the common operations ask of the storage, counted on an in-memory one: requests by kind,
//! bytes, and round trips that come one after the other. None of it depends on the machine, so that
//! a change which makes an operation dearer is seen like a change of code (design 05 section 2).

mod branches;
mod merges;
mod quiet;
mod scene;
mod table;
pub(crate) mod waves;

use std::path::{Path, PathBuf};
use std::process::Command;

use graphwrite_coordinator::{MemoryStorage, Store};
use tempfile::TempDir;

use crate::world::{BASE, append, create};
use table::{Costs, differences};

/// Where [`measure`] leaves what it has found, if this process is the one that measures. It has a
/// process of its own: that nothing runs can be seen of a whole process only.
pub(crate) const TO: &str = "GRAPHWRITE_COSTS_TO";
const PAGE: &str = "costs.md";
const COUNTS: &str = "counts.txt";
const WAVES: &str = "waves.txt";

#[test]
fn the_common_operations_cost_what_the_page_says() {
    if let Some(to) = std::env::var_os(TO) {
        return measure(Path::new(&to));
    }
    let directory = TempDir::new().unwrap();
    measure_elsewhere(directory.path());
    let found = |name: &str| std::fs::read_to_string(directory.path().join(name)).unwrap();
    insta::with_settings!({ prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("costs", found(COUNTS));
    });
    let page = repository().join("docs").join(PAGE);
    let page = std::fs::read_to_string(page).unwrap_or_default();
    let differences = differences(&page, &found(PAGE));
    assert!(
        differences.is_empty(),
        "docs/{PAGE} is not what was measured; `cargo xtask bench --counts > docs/{PAGE}`, and look \
         at what has changed:\n{}",
        differences.join("\n")
    );
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn measure_elsewhere(to: &Path) {
    let name = concat!(module_path!(), "::the_common_operations_cost_what_the_page_says");
    let name = name.split_once("::").map_or(name, |(_, name)| name);
    let output = Command::new(std::env::current_exe().unwrap())
        .args([name, "--exact", "--nocapture"])
        .env(TO, to)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
}

fn measure(to: &Path) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let costs: Costs = runtime.block_on(scene::all());
    std::fs::write(to.join(PAGE), costs.page()).unwrap();
    std::fs::write(to.join(COUNTS), costs.counts()).unwrap();
    std::fs::write(to.join(WAVES), costs.waves()).unwrap();
    costs.assert_budgets();
    costs.assert_growth();
    costs.assert_flat(branches::SIZES.len());
}

/// Crosses the spill of older lineage, which comes after 64 commits.
#[tokio::test]
async fn the_requests_of_a_write_do_not_grow_with_history() {
    let (store, counter) = Store::memory(&MemoryStorage::new()).counting();
    let person = |number: usize| format!(r#"{{"type":"Person","data":{{"slug":"n{number}"}}}}"#);
    let company = |number: usize| format!(r#"{{"type":"Company","data":{{"slug":"x{number}"}}}}"#);
    let graph = create(&store).await;
    append(&graph, BASE).await;
    for number in 0..5 {
        append(&graph, &[person(number)]).await;
    }
    graph.settled().await;
    counter.take();
    append(&graph, &[company(1)]).await;
    graph.settled().await;
    let shallow = counter.take().total();
    for number in 100..165 {
        append(&graph, &[person(number)]).await;
    }
    graph.settled().await;
    counter.take();
    append(&graph, &[company(2)]).await;
    graph.settled().await;
    let deep = counter.take().total();
    assert!(deep <= shallow + 1, "{shallow} requests at depth 6, {deep} at depth 72");
}
