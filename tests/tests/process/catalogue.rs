//! The catalogue of failpoints is closed: each of them is crossed by a process that dies there.

use std::collections::BTreeSet;

use graphwrite_protocol_types::Failpoint;

use super::{branch_race, death, genesis, recovery_death};

#[test]
fn a_process_dies_at_every_failpoint_of_the_catalogue() {
    let faults =
        [death::FAULTS, recovery_death::FAULTS, genesis::FAULTS, &branch_race::POINTS].concat();
    let died_at: BTreeSet<&str> =
        faults.iter().map(|fault| fault.split_once('@').map_or(*fault, |(name, _)| name)).collect();
    let catalogue: BTreeSet<&str> = Failpoint::ALL.iter().map(|point| point.name()).collect();
    assert_eq!(died_at, catalogue);
}
