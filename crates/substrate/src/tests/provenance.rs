//! Where rows are, across versions and refs, and reading them from there.

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;

use super::forks::{first_write, fork};
use super::world::*;
use crate::*;

const ID: &str = "id";

async fn taken(table: &TableHandle, addresses: &RowAddresses) -> Vec<(String, u64)> {
    let rows = table.rows_at(&[ID.to_owned()], addresses).await.unwrap();
    let ids = rows.column_by_name(ID).unwrap().as_string::<i32>();
    let at = rows.column_by_name(ROW_ADDRESS).unwrap().as_primitive::<UInt64Type>();
    let id = |row| (ids.value(row).to_owned(), at.value(row));
    (0..rows.num_rows()).map(id).collect()
}

#[tokio::test]
async fn rows_are_read_by_their_addresses_in_any_version_that_has_them() {
    let (_directory, on_disk) = local();
    for store in [memory(), on_disk] {
        let table = create(&store, &[("a", 1), ("b", 2), ("c", 3)]).await;
        let staged = change(&table, &["b"], Some(rows(&[("b", 9), ("d", 4)])), uuid(2)).await;
        let newer = commit(&table, staged).await;
        let of_new = addresses(&newer, ids(&["a", "d"])).await;
        let found: Vec<_> = taken(&newer, &of_new).await;
        assert_eq!(found.iter().map(|row| row.0.as_str()).collect::<Vec<_>>(), ["a", "d"]);
        assert_eq!(found.iter().map(|row| row.1).collect::<RowAddresses>(), of_new);
        let of_old = addresses(&table, ids(&["b"])).await;
        assert_eq!(taken(&table, &of_old).await.len(), 1);
        let gone = newer.rows_at(&[ID.to_owned()], &of_old).await;
        assert!(matches!(gone, Err(SubstrateError::InvalidRequest { .. })), "{gone:?}");
    }
}

#[tokio::test]
async fn columns_and_fragments_that_are_not_there_are_refused() {
    let table = create(&memory(), &[("a", 1)]).await;
    let column = table.rows_at(&["gone".to_owned()], &RowAddresses::new()).await;
    assert!(matches!(column, Err(SubstrateError::InvalidRequest { .. })), "{column:?}");
    let fragment = table.deleted_offsets(9).await;
    assert!(matches!(fragment, Err(SubstrateError::InvalidRequest { .. })), "{fragment:?}");
}

#[tokio::test]
async fn a_ref_has_its_source_rows_at_the_same_places_and_its_own_at_others() {
    let store = memory();
    let main = create(&store, &[("a", 1), ("b", 2)]).await;
    let forked = fork(&store, &first_write(1)).await;
    assert_eq!(main.places().unwrap()[0].files, forked.places().unwrap()[0].files);
    let (of_main, of_fork) = (rows(&[("c", 1)]), rows(&[("d", 1)]));
    let main = commit(&main, change(&main, &["a"], Some(of_main), uuid(2)).await).await;
    let forked = commit(&forked, change(&forked, &["b"], Some(of_fork), uuid(3)).await).await;
    let (main_places, fork_places) = (main.places().unwrap(), forked.places().unwrap());
    assert_eq!(main_places[0].files, fork_places[0].files, "the rows that they share");
    assert_ne!(main_places[0].deletion, fork_places[0].deletion);
    assert_eq!(main_places[1].id, fork_places[1].id, "an id says nothing");
    assert_ne!(main_places[1].files, fork_places[1].files);
    let deleted = |table: TableHandle| async move {
        table.deleted_offsets(0).await.unwrap().iter().collect::<Vec<_>>()
    };
    assert_eq!((deleted(main.clone()).await, deleted(forked.clone()).await), (vec![0], vec![1]));
    assert!(main.deleted_offsets(1).await.unwrap().is_empty());
}
