//! Whether anything runs in this process beside the thread that asks. Lance works on threads of its
//! own, so a quiet runtime says nothing. It must not know what is waited for.

use std::collections::BTreeMap;
use std::fs;

/// What the system says of a thread: its state, and how often it has gone to sleep by itself.
type Threads = BTreeMap<String, (String, String)>;

/// Whether there was a moment during this call in which every other thread slept.
///
/// A thread that is found asleep twice, and has not gone to sleep in between, has slept all that
/// time, the moment between the two looks included. A thread that was woken does not count as
/// asleep, even if it has not run yet.
pub(super) fn quiet() -> bool {
    let before = threads();
    before.values().all(|(state, _)| state == "S") && before == threads()
}

fn threads() -> Threads {
    let own = fs::read_link("/proc/thread-self").expect("a thread of this process");
    let own = own.file_name().map(|name| name.to_string_lossy().into_owned());
    let tasks = fs::read_dir("/proc/self/task").expect("the threads of this process");
    let names = tasks.filter_map(|task| task.ok()?.file_name().into_string().ok());
    let others = names.filter(|name| Some(name) != own.as_ref());
    // One that ends between the two steps does not run.
    others
        .filter_map(|name| Some((status(&name)?, name)))
        .map(|(status, name)| (name, status))
        .collect()
}

fn status(thread: &str) -> Option<(String, String)> {
    let status = fs::read_to_string(format!("/proc/self/task/{thread}/status")).ok()?;
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next().map(str::to_owned)
    };
    Some((field("State:")?, field("voluntary_ctxt_switches:")?))
}
