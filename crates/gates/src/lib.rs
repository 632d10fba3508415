//! The ordered lock manager of one graph in one process (RFC-022 section 4.3, stage C). It owns
//! who may be in stages D to G at the same time; it must not know Lance, object stores, intents or
//! durable claims.
//!
//! # What a gate is, and what it is not
//!
//! Gates are a local optimisation (RFC-022 sections 3.7 and 9). They spare writers of one process
//! the work of losing a race that could be seen coming, and they give those writers one order in
//! which they cannot deadlock. They are **never** what makes a write correct: two processes do not
//! see each other's gates, and a graph must stay right when every process has a manager of its
//! own. Correctness across processes comes from the read set compared at the manifest, from strict
//! commits, and from recovery. Code that would be wrong without a gate is wrong.
//!
//! # The order
//!
//! An attempt states everything that it needs in one [`GateSet`] and gets all of it or nothing:
//!
//! 1. schema control: shared by writers, exclusive for a schema apply;
//! 2. branch control, one gate for each native branch: shared by writers, exclusive for the control
//!    operations of the branch;
//! 3. tables, one gate for each `(physical ref, table identity)`, always exclusive.
//!
//! Durable claims, where a control workflow needs one, come before all of these and are not gates.
//!
//! # The rule
//!
//! *A request is granted as soon as no older request, holding or waiting, conflicts with it.*
//! A conflict is a gate that both name and that at least one of them wants exclusively. Everything
//! that is promised follows from this one rule:
//!
//! * a waiting request holds nothing, and the oldest one waits only for holders, so there is no
//!   deadlock;
//! * nobody is overtaken by a later request that conflicts with it, so a schema apply is not starved
//!   by a stream of writers. The price: writers that come after a waiting schema apply wait too,
//!   at most for its bounded wait;
//! * requests that do not conflict never wait for each other.
//!
//! The place of a request is given back when its future is dropped, when its wait ends without a
//! grant and when its [`GateGuard`] is dropped; there is no other way to hold one.
//!
//! An attempt acquires once. Whoever asks for more while holding a guard can wait for itself; the
//! wait is bounded and the [`GateTimeout`] then names the attempt as its own holder.
//!
//! # Example
//!
//! ```
//! # use std::sync::Arc;
//! # use std::time::Duration;
//! # use graphwrite_gates::{GateMode, GateRegistry, GateSet, GateTimeout};
//! # use graphwrite_protocol_types::{Env, TableIdentity};
//! # async fn write(env: Arc<dyn Env>, person: TableIdentity) -> Result<(), GateTimeout> {
//! let manager = GateRegistry::process().for_root("file:///graphs/people", env);
//! let set = GateSet::for_writer("main", [("main".to_owned(), person)]);
//! let guard = manager.acquire(set, &"attempt 1", Duration::from_secs(10)).await?;
//! // Revalidate, arm, apply, publish.
//! drop(guard);
//! # Ok(())
//! # }
//! ```

#[cfg(test)]
mod explorer;
mod key;
mod manager;
mod metrics;
mod queue;
mod registry;
mod report;
mod set;
mod table;

pub use key::{GateKey, GateKind, GateMode};
pub use manager::{GateGuard, GateManager};
pub use metrics::{GateMetrics, GateTimes};
pub use registry::GateRegistry;
pub use report::{GateHolder, GateTimeout, GateWaiter};
pub use set::GateSet;
