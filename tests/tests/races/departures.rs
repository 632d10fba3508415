//! A caller that goes away: before the intent the write is gone with it, after it it is carried out.

use std::sync::Arc;

use async_trait::async_trait;
use graphwrite_coordinator::{
    Graph, GraphOptions, Hooks, Injected, LoadMode, LoadRequest, MemoryStorage, Store,
};
use graphwrite_protocol_types::Failpoint;
use tokio::sync::Notify;

use super::ring::RING;
use crate::judge::{Case, Heard, Reference, judge};
use crate::world::{append, create, input, own_process};

/// Says that a write has come to a point, and lets it go on.
#[derive(Debug)]
struct Signal {
    point: Failpoint,
    reached: Notify,
}

#[async_trait]
impl Hooks for Signal {
    async fn reach(&self, point: Failpoint) -> Result<(), Injected> {
        if point == self.point {
            self.reached.notify_one();
            // The caller goes away before the write comes any further.
            tokio::task::yield_now().await;
        }
        Ok(())
    }

    fn wants(&self, point: Failpoint) -> bool {
        point == self.point
    }
}

/// Drops the future of a load as soon as it has come to `point`; returns what the graph is then.
async fn goes_away_at(point: Failpoint) -> (Store, Graph) {
    let store = Store::memory(&MemoryStorage::new());
    append(&create(&store).await, RING.base).await;
    let hooks = Arc::new(Signal { point, reached: Notify::new() });
    let options = GraphOptions { hooks: hooks.clone(), ..own_process() };
    let graph = Graph::open(store.reopened(), options).await.unwrap();
    let request = LoadRequest::new(input(&graph, GONE).await, LoadMode::Append);
    tokio::select! {
        biased;
        () = hooks.reached.notified() => {}
        answer = graph.load(request) => panic!("the load was faster: {answer:?}"),
    }
    graph.settled().await;
    (store, graph)
}

const GONE: &[&str] =
    &[r#"{"type":"Person","data":{"slug":"k1"}}"#, r#"{"type":"Company","data":{"slug":"d1"}}"#];

#[tokio::test]
async fn a_caller_that_goes_away_after_the_intent_does_not_stop_the_write() {
    for point in [Failpoint::PreArm, Failpoint::PostArm, Failpoint::PrePublish] {
        let (store, graph) = goes_away_at(point).await;
        let state = Reference::default().with(RING.base).with(GONE);
        let next = RING.next.iter().map(ToString::to_string).collect();
        let case = Case { before: state.clone(), after: state, commits: 2, next };
        judge(&store, &case, &Heard::Nothing, &[&graph]).await.expect("the write was finished");
    }
}

#[tokio::test]
async fn a_caller_that_goes_away_before_the_intent_leaves_nothing() {
    let (store, graph) = goes_away_at(Failpoint::PostPrepare).await;
    assert!(graph.pending_intents().await.unwrap().intents.is_empty());
    let state = Reference::default().with(RING.base);
    let next = RING.next.iter().map(ToString::to_string).collect();
    let case = Case { before: state.clone(), after: state, commits: 1, next };
    judge(&store, &case, &Heard::Nothing, &[&graph]).await.expect("nothing has happened");
}
