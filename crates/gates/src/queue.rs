//! The queue at one gate, oldest first. Decides who is admitted here; knows nothing of the other
//! gates that a request needs.

use std::collections::VecDeque;

use crate::GateMode;

/// The place of a request in the order of arrival. Never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Ticket(pub(crate) u64);

#[derive(Debug, Clone, Copy)]
struct Entry {
    ticket: Ticket,
    mode: GateMode,
}

/// What happened when an entry left.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Removal {
    /// Whether the entry had been admitted.
    pub(crate) was_admitted: bool,
    /// Those that are admitted now because it left, oldest first.
    pub(crate) admitted: Vec<Ticket>,
}

/// Requests at one gate. The admitted ones are always a prefix: one exclusive entry, or the
/// leading run of shared ones. That is what keeps a stream of shared requests from overtaking an
/// exclusive one.
#[derive(Debug, Clone, Default)]
pub(crate) struct GateQueue {
    entries: VecDeque<Entry>,
    admitted: usize,
}

impl GateQueue {
    /// Adds the youngest request; true if it is admitted at once.
    pub(crate) fn push(&mut self, ticket: Ticket, mode: GateMode) -> bool {
        self.entries.push_back(Entry { ticket, mode });
        self.admit_next().is_some()
    }

    /// Takes a request out, wherever it stands.
    pub(crate) fn remove(&mut self, ticket: Ticket) -> Removal {
        let Some(index) = self.index_of(ticket) else { return Removal::default() };
        let was_admitted = index < self.admitted;
        self.entries.remove(index);
        self.admitted -= usize::from(was_admitted);
        let admitted = std::iter::from_fn(|| self.admit_next()).collect();
        Removal { was_admitted, admitted }
    }

    /// Everybody before this request, if it is still waiting here.
    pub(crate) fn ahead_of(&self, ticket: Ticket) -> Option<impl Iterator<Item = Ticket>> {
        let index = self.index_of(ticket).filter(|index| *index >= self.admitted)?;
        Some(self.entries.range(..index).map(|entry| entry.ticket))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn admit_next(&mut self) -> Option<Ticket> {
        let next = *self.entries.get(self.admitted)?;
        // Within the admitted prefix all modes agree, so the first one speaks for it.
        let fits = self.admitted == 0 || self.entries[0].mode.is_compatible_with(next.mode);
        fits.then(|| {
            self.admitted += 1;
            next.ticket
        })
    }

    fn index_of(&self, ticket: Ticket) -> Option<usize> {
        self.entries.binary_search_by_key(&ticket, |entry| entry.ticket).ok()
    }
}
