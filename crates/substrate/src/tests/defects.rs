//! A commit that is not strict lands somewhere else, so that its caller can tell.

use graphwrite_protocol_types::Defect;

use super::world::*;
use crate::*;

#[tokio::test]
async fn a_commit_that_is_not_strict_lands_after_what_came_between() {
    let storage = MemoryStorage::new().with_defect(Defect::NoStrictCommit);
    let store = Store::memory(&storage);
    let table = create(&store, &[("a", 1)]).await;
    commit(&table, stage_fence(1, uuid(2))).await;
    let staged = stage_fence(1, uuid(3));
    let landing = strict_commit(&permit(), &table, staged).await.unwrap();
    let (version, _) = landing.landed().expect("it is rebased");
    assert_eq!(version.version, 3);
}
