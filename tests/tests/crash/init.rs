//! Crashes of `create` beside the cells of the matrix: its steps may also come late when nobody has
//! made a graph meanwhile.

use graphwrite_coordinator::{CreateError, Graph, MemoryStorage, OpenError, Store};
use graphwrite_substrate::{Fault, FaultHandle};

use super::matrix::at;
use super::scenario::TWO_FIRST_APPEND;
use crate::judge::{Case, Heard, Reference, judge};
use crate::world::{create, own_process, schema};

async fn init(client: &Store) -> Result<Graph, CreateError> {
    Graph::create(client.clone(), &schema(), "ada", own_process()).await
}

async fn operations() -> u64 {
    let (client, faults) = Store::memory(&MemoryStorage::new()).faulty(|_| Fault::Proceed);
    init(&client).await.unwrap();
    faults.durable_operations()
}

async fn open(store: &Store) -> Result<Graph, OpenError> {
    Graph::open(store.reopened(), own_process()).await
}

/// A graph that was just created, whoever did it.
async fn assert_empty_graph(store: &Store) {
    let case = Case {
        before: Reference::default(),
        after: Reference::default(),
        commits: 0,
        next: TWO_FIRST_APPEND.next("first"),
    };
    judge(store, &case, &Heard::Nothing, &[]).await.expect("an empty graph that works");
}

async fn crashed(k: u64, fault: Fault) -> (Store, FaultHandle, Result<Graph, CreateError>) {
    let store = Store::memory(&MemoryStorage::new());
    let (client, faults) = store.faulty(at(k, fault));
    let answer = init(&client).await;
    assert_eq!(faults.log().0[k as usize - 1].fault, fault);
    (store, faults, answer)
}

#[tokio::test]
async fn a_creation_that_stops_anywhere_leaves_a_graph_or_room_for_one() {
    let (mut graphs, mut rooms) = (0, 0);
    for k in 1..=operations().await {
        let (store, faults, _) = crashed(k, Fault::DieAfter).await;
        assert!(faults.is_dead());
        match open(&store).await {
            Ok(_) => graphs += 1,
            Err(OpenError::NotAGraph { .. }) => rooms += 1,
            Err(error) => panic!("at {k}: {error}"),
        }
    }
    assert!(graphs > 0 && rooms > 0, "both ends are reached: {graphs}, {rooms}");
}

#[tokio::test]
async fn a_creation_whose_last_step_comes_late_is_a_graph_from_then_on() {
    let mut graphs = 0;
    for k in 1..=operations().await {
        let (store, faults, _) = crashed(k, Fault::LateDead).await;
        assert!(open(&store).await.is_err(), "at {k}");
        assert_eq!(faults.release_late().await, 1);
        if open(&store).await.is_err() {
            create(&store.reopened()).await;
        } else {
            graphs += 1;
        }
        assert_empty_graph(&store).await;
    }
    assert_eq!(graphs, 1, "one step makes the graph");
}
