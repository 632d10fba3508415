//! Opens the graph that a command names.

use graphwrite_coordinator::{Durability, Graph, GraphOptions, Store};

use crate::classes::{failed, failed_store};
use crate::command::GraphPlace;
use crate::failure::Failure;
use crate::place;

/// For reading. Such a handle never writes, not even to recover.
pub(super) async fn for_reading(place: &GraphPlace) -> Result<Graph, Failure> {
    on_branch(whole_for_reading(&place.whole).await?, place).await
}

/// For writing.
pub(super) async fn for_writing(
    place: &GraphPlace,
    options: GraphOptions,
) -> Result<Graph, Failure> {
    on_branch(whole_for_writing(&place.whole, options).await?, place).await
}

async fn on_branch(graph: Graph, place: &GraphPlace) -> Result<Graph, Failure> {
    graph.branch(&place.branch).await.map_err(|error| failed(&error, place))
}

/// The graph without a word about a branch, for reading.
pub(super) async fn whole_for_reading(location: &str) -> Result<Graph, Failure> {
    let (store, options) = (store(location)?, GraphOptions::default());
    let opened = Box::pin(Graph::open_read_only(store, options)).await;
    opened.map_err(|error| failed(&error, location))
}

/// The graph without a word about a branch, for writing.
pub(super) async fn whole_for_writing(
    location: &str,
    options: GraphOptions,
) -> Result<Graph, Failure> {
    let opened = Box::pin(Graph::open(store(location)?, options)).await;
    opened.map_err(|error| failed(&error, location))
}

fn store(location: &str) -> Result<Store, Failure> {
    place::existing(location)?;
    Store::open(location, Durability::default()).map_err(|error| failed_store(&error, location))
}

/// The storage of a new graph; its directory is created.
pub(super) fn new_store(location: &str) -> Result<Store, Failure> {
    place::creatable(location)?;
    Store::create(location, Durability::default()).map_err(|error| failed_store(&error, location))
}
