//! Opens the graph that a command names.

use graphwrite_coordinator::{Durability, Graph, GraphOptions, InitError, Store, graph_around};
use graphwrite_protocol_types::BranchSelector;

use crate::classes::{failed, failed_store};
use crate::command::GraphPlace;
use crate::failure::Failure;
use crate::place;

/// For reading. Such a handle never writes, not even to recover.
pub(super) async fn for_reading(place: &GraphPlace) -> Result<Graph, Failure> {
    let (store, options) = (store(&place.whole)?, GraphOptions::default());
    let opened = Graph::open_read_only_on(store, &place.branch, options).await;
    opened.map_err(|error| failed(&error, place))
}

/// For writing.
pub(super) async fn for_writing(
    place: &GraphPlace,
    options: GraphOptions,
) -> Result<Graph, Failure> {
    let opened = Graph::open_on(store(&place.whole)?, &place.branch, options).await;
    opened.map_err(|error| failed(&error, place))
}

/// The graph without a word about a branch, for reading.
pub(super) async fn whole_for_reading(location: &str) -> Result<Graph, Failure> {
    let (store, options) = (store(location)?, GraphOptions::default());
    let opened = Box::pin(Graph::open_read_only(store, options)).await;
    opened.map_err(|error| failed(&error, location))
}

/// The graph on a branch of it, for writing.
pub(super) async fn whole_on(
    location: &str,
    branch: &BranchSelector,
    options: GraphOptions,
) -> Result<Graph, Failure> {
    let opened = Graph::open_on(store(location)?, branch, options).await;
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
    let directory = Store::directory_named(location);
    let directory = directory.map_err(|error| failed_store(&error, location))?;
    if let Some(graph) = graph_around(&directory) {
        let (root, graph) = (location.to_owned(), graph.display().to_string());
        return Err(failed(&InitError::InsideGraph { root, graph }, location));
    }
    Store::create(location, Durability::default()).map_err(|error| failed_store(&error, location))
}
