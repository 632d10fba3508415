//! The core as the explorer sees it, with what it promises beyond any scheduler: the rule of the
//! crate documentation, all or none, and a named holder for every wait.

use std::sync::Arc;

use super::{Gates, Present, Violation, conflict};
use crate::queue::Ticket;
use crate::table::{GateTable, Standing};
use crate::{GateHolder, GateSet};

impl Gates for GateTable {
    fn request(&mut self, set: &GateSet, attempt: usize) -> Ticket {
        self.request(Arc::new(set.clone()), attempt.to_string(), 0)
    }

    fn leave(&mut self, ticket: Ticket) {
        self.leave(ticket, 0);
    }

    fn is_granted(&self, ticket: Ticket) -> bool {
        self.poll(ticket) == Standing::Granted
    }

    fn is_empty(&self) -> bool {
        self.is_empty()
    }

    fn judge(&self, present: &[Present<'_>]) -> Result<(), Violation> {
        let holders = self.holders(0);
        for (position, one) in present.iter().enumerate() {
            let granted = self.poll(one.ticket) == Standing::Granted;
            let attempt = one.attempt;
            if granted == present[..position].iter().any(|older| conflict(older.set, one.set)) {
                return Err(Violation::NotTheRule { attempt });
            }
            if !shows_all_or_none(&holders, one, granted) {
                return Err(Violation::NotAllOrNone { attempt });
            }
            if !explains_itself(self, &holders, one, granted) {
                return Err(Violation::Unexplained { attempt });
            }
        }
        Ok(())
    }
}

fn shows_all_or_none(holders: &[GateHolder], one: &Present<'_>, granted: bool) -> bool {
    let label = one.attempt.to_string();
    let held = holders.iter().filter(|holder| holder.label == label);
    let visible = held.map(|holder| (&holder.key, holder.mode));
    visible.eq(one.set.iter().filter(|_| granted))
}

/// A wait that ended now would name holders, all of them real; one that was granted cannot end.
fn explains_itself(
    table: &GateTable,
    holders: &[GateHolder],
    one: &Present<'_>,
    granted: bool,
) -> bool {
    match table.obstruction(one.ticket, 0) {
        Some(timeout) => {
            let named = !timeout.holders.is_empty();
            !granted && named && timeout.holders.iter().all(|holder| holders.contains(holder))
        }
        None => granted,
    }
}
