//! Identities and names.

use super::fixture::{attempt, table};
use crate::*;

#[test]
fn an_identity_has_one_spelling() {
    let id = AttemptId::from_u128(0x0192_f0de_adbe_ef00);
    assert_eq!(id.to_string().parse(), Ok(id));
    assert!(id.to_string().to_lowercase().parse::<AttemptId>().is_err());
    assert!("".parse::<AttemptId>().is_err());
    assert!("81Z0000000000000000000000O".parse::<AttemptId>().is_err());
}

#[test]
fn only_a_transaction_of_the_manifest_names_whom_it_was_made_for() {
    let made = TxUuid::authority(attempt(), 7);
    assert_eq!(made.as_authority(), Some(attempt()));
    let others = [TxUuid::effect(attempt(), 0, 0), TxUuid::fence(attempt(), 0)];
    assert!(others.iter().all(|other| other.as_authority().is_none()));
    for text in [format!("{}-m7", attempt()), format!("x-m{:032x}", 7), String::new()] {
        assert_eq!(TxUuid::observed(text).as_authority(), None);
    }
}

#[test]
fn a_zero_number_is_no_identity() {
    assert_eq!(StableTableId::new(0), None);
    assert!("0000000000000000".parse::<StableTableId>().is_err());
    assert!("1".parse::<StableTableId>().is_err());
}

#[test]
fn a_table_identity_and_a_dataset_path_come_back_from_their_text() {
    let identity = table(7);
    assert_eq!(identity.to_string().parse(), Ok(identity));
    let path = DatasetPath::of_first_load(identity, attempt());
    assert_eq!(path.as_str().parse(), Ok(path.clone()));
    assert!("tables/else".parse::<DatasetPath>().is_err());
    assert!("../tables/else".parse::<DatasetPath>().is_err());
}

#[test]
fn an_operation_id_is_short_and_printable() {
    assert!("job-7/part:3".parse::<OperationId>().is_ok());
    assert!("x".repeat(128).parse::<OperationId>().is_ok());
    for refused in ["", "two words", "tab\t", "é", &"x".repeat(129)] {
        assert!(refused.parse::<OperationId>().is_err(), "{refused:?}");
    }
}

#[test]
fn a_transaction_tells_which_step_of_which_attempt_it_is() {
    let fence = TxUuid::fence(attempt(), 3);
    assert_eq!(fence.as_fence(), Some((attempt(), 3)));
    assert_eq!(TxUuid::effect(attempt(), 3, 0).as_fence(), None);
    assert_eq!(TxUuid::restore(attempt(), 3).as_fence(), None);
    assert_eq!(TxUuid::observed("somebody-e1-fence").as_fence(), None);
    let all = [
        TxUuid::effect(attempt(), 0, 1),
        TxUuid::effect(attempt(), 1, 0),
        TxUuid::fence(attempt(), 0),
        TxUuid::restore(attempt(), 0),
        TxUuid::authority(attempt(), 0),
    ];
    let distinct: std::collections::BTreeSet<_> = all.iter().collect();
    assert_eq!(distinct.len(), all.len());
}

#[test]
fn every_failpoint_has_its_own_name() {
    for point in Failpoint::ALL {
        assert_eq!(point.name().parse(), Ok(*point));
    }
    assert!("no_such_point".parse::<Failpoint>().is_err());
}

#[test]
fn a_transaction_says_which_commit_to_a_table_it_is_and_foreign_ones_say_nothing() {
    let step = TxUuid::effect(attempt(), 3, 1);
    let restore = TxUuid::restore(attempt(), 3);
    let fence = TxUuid::fence(attempt(), 3);
    let commit = |uuid: &TxUuid| uuid.as_table_commit();
    assert_eq!(commit(&step), Some((attempt(), TableCommit::Step { effect: 3, step: 1 })));
    assert_eq!(commit(&fence), Some((attempt(), TableCommit::Fence { effect: 3 })));
    assert_eq!(commit(&restore), Some((attempt(), TableCommit::Restore { effect: 3 })));
    assert_eq!(commit(&TxUuid::authority(attempt(), 7)), None);
    let zeros = TxUuid::observed(format!("{}-e03-s1", attempt()));
    let foreign = ["0f8fad5b-d9cb-469f-a165-70867728950e", "", "x-e1-s1", "-e-"];
    let foreign = foreign.map(TxUuid::observed).into_iter().chain([zeros]);
    foreign.for_each(|uuid| assert_eq!(commit(&uuid), None, "{uuid}"));
}
