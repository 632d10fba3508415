//! The pure core: who holds what and who waits, as a state machine without clock, thread or future.
//! It owns every decision; it must not know how a waiter is woken.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::queue::{GateQueue, Ticket};
use crate::{
    GateHolder, GateKey, GateKind, GateMetrics, GateMode, GateSet, GateTimeout, GateWaiter,
};

#[derive(Debug, Clone)]
struct Request {
    set: Arc<GateSet>,
    label: String,
    asked_us: u64,
    /// At how many gates its turn has not come.
    blocked: usize,
    /// Set once, when `blocked` reaches zero.
    granted_us: Option<u64>,
}

/// Whether a request has been granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It holds its whole set.
    Granted,
    /// It holds nothing.
    Waiting,
    /// It left, or never was.
    Unknown,
}

/// All requests of one manager. A request joins the queues of all its gates in one step, so the
/// order of arrival is the same at every gate; it is granted when its turn has come at each of
/// them, which is the rule of the crate documentation.
#[derive(Debug, Clone, Default)]
pub(crate) struct GateTable {
    queues: BTreeMap<GateKey, GateQueue>,
    requests: BTreeMap<Ticket, Request>,
    issued: u64,
    metrics: GateMetrics,
}

impl GateTable {
    /// Adds a request as the youngest. It may be granted at once; see [`Self::poll`].
    pub(crate) fn request(&mut self, set: Arc<GateSet>, label: String, now_us: u64) -> Ticket {
        self.issued += 1;
        let ticket = Ticket(self.issued);
        let blocked = set.iter().filter(|(key, mode)| !self.join(key, ticket, *mode)).count();
        let request = Request { set, label, asked_us: now_us, blocked, granted_us: None };
        self.requests.insert(ticket, request);
        self.grant_if_ready(ticket, now_us);
        ticket
    }

    /// Where a request stands. Only [`Self::leave`] and [`Self::expire`] of another one change it.
    pub(crate) fn poll(&self, ticket: Ticket) -> Standing {
        match self.requests.get(&ticket).map(|request| request.granted_us) {
            Some(Some(_)) => Standing::Granted,
            Some(None) => Standing::Waiting,
            None => Standing::Unknown,
        }
    }

    /// Releases a granted request or cancels a waiting one; nothing happens for one that left
    /// before. Returns those that are granted by it, oldest first.
    pub(crate) fn leave(&mut self, ticket: Ticket, now_us: u64) -> Vec<Ticket> {
        if self.poll(ticket) == Standing::Waiting {
            self.metrics.cancelled_count += 1;
        }
        self.remove(ticket, now_us)
    }

    /// Takes out a request that has waited long enough and says what it waited for. None for a
    /// request that is not waiting: a grant is never taken back.
    pub(crate) fn expire(
        &mut self,
        ticket: Ticket,
        now_us: u64,
    ) -> Option<(GateTimeout, Vec<Ticket>)> {
        let timeout = self.obstruction(ticket, now_us)?;
        self.metrics.timed_out_count += 1;
        Some((timeout, self.remove(ticket, now_us)))
    }

    /// Everything that is held, in the order of the requests and of their gates.
    pub(crate) fn holders(&self, now_us: u64) -> Vec<GateHolder> {
        let requests = self.requests.values();
        let held = |request| held_gates(request, now_us);
        requests.flat_map(held).collect()
    }

    /// Everybody who waits, oldest first.
    pub(crate) fn waiters(&self, now_us: u64) -> Vec<GateWaiter> {
        let tickets = self.requests.keys();
        tickets.filter_map(|ticket| self.waiter(*ticket, now_us)).collect()
    }

    pub(crate) fn metrics(&self) -> GateMetrics {
        self.metrics
    }

    /// Nothing is left of anybody.
    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.queues.is_empty() && self.requests.is_empty()
    }

    fn join(&mut self, key: &GateKey, ticket: Ticket, mode: GateMode) -> bool {
        let admitted = self.queues.entry(key.clone()).or_default().push(ticket, mode);
        if admitted {
            self.metrics.of_kind(key.kind()).add_wait(0);
        }
        admitted
    }

    fn remove(&mut self, ticket: Ticket, now_us: u64) -> Vec<Ticket> {
        let Some(request) = self.requests.remove(&ticket) else { return Vec::new() };
        self.measure_hold(&request, now_us);
        let mut granted = Vec::new();
        for (key, _) in request.set.iter() {
            granted.extend(self.vacate(key, ticket, &request, now_us));
        }
        granted.sort_unstable();
        granted
    }

    /// Takes a request out of one queue and returns those that are granted by that.
    fn vacate(
        &mut self,
        key: &GateKey,
        ticket: Ticket,
        request: &Request,
        now_us: u64,
    ) -> Vec<Ticket> {
        let Some(queue) = self.queues.get_mut(key) else { return Vec::new() };
        let removal = queue.remove(ticket);
        if queue.is_empty() {
            self.queues.remove(key);
        }
        if !removal.was_admitted {
            self.metrics.of_kind(key.kind()).add_wait(age(request.asked_us, now_us));
        }
        let admitted = removal.admitted.into_iter();
        admitted.filter(|next| self.admit(*next, key.kind(), now_us)).collect()
    }

    /// The turn of a request has come at one more gate; true if that grants it.
    fn admit(&mut self, ticket: Ticket, kind: GateKind, now_us: u64) -> bool {
        let Some(request) = self.requests.get_mut(&ticket) else { return false };
        request.blocked -= 1;
        let wait_us = age(request.asked_us, now_us);
        self.metrics.of_kind(kind).add_wait(wait_us);
        self.grant_if_ready(ticket, now_us)
    }

    fn grant_if_ready(&mut self, ticket: Ticket, now_us: u64) -> bool {
        let ready = |request: &&mut Request| request.blocked == 0;
        let Some(request) = self.requests.get_mut(&ticket).filter(ready) else { return false };
        request.granted_us = Some(now_us);
        self.metrics.granted_count += 1;
        self.metrics.set.add_wait(age(request.asked_us, now_us));
        true
    }

    fn measure_hold(&mut self, request: &Request, now_us: u64) {
        let Some(granted_us) = request.granted_us else {
            return self.metrics.set.add_wait(age(request.asked_us, now_us));
        };
        let hold_us = age(granted_us, now_us);
        self.metrics.set.add_hold(hold_us);
        for (key, _) in request.set.iter() {
            self.metrics.of_kind(key.kind()).add_hold(hold_us);
        }
    }

    /// What a wait that ended now would have waited for; none for a request that is not waiting.
    pub(crate) fn obstruction(&self, ticket: Ticket, now_us: u64) -> Option<GateTimeout> {
        let GateWaiter { label, key, mode, age_us } = self.waiter(ticket, now_us)?;
        let mut seen = BTreeSet::from([ticket]);
        let mut behind = vec![ticket];
        let mut holders = Vec::new();
        while let Some(waiter) = behind.pop() {
            for (key, before) in self.before(waiter) {
                match self.holder(key, before, now_us) {
                    _ if !seen.insert(before) => {}
                    Some(holder) => holders.push(holder),
                    None => behind.push(before),
                }
            }
        }
        let waiters_ahead = seen.len() - holders.len() - 1;
        Some(GateTimeout { label, key, mode, waited_us: age_us, holders, waiters_ahead })
    }

    /// Everybody who stands before a request at a gate where its turn has not come.
    fn before(&self, ticket: Ticket) -> impl Iterator<Item = (&GateKey, Ticket)> {
        let gates = self.requests.get(&ticket).into_iter().flat_map(|request| request.set.iter());
        gates.flat_map(move |(key, _)| {
            let ahead = self.queues.get(key).and_then(|queue| queue.ahead_of(ticket));
            ahead.into_iter().flatten().map(move |before| (key, before))
        })
    }

    fn holder(&self, key: &GateKey, ticket: Ticket, now_us: u64) -> Option<GateHolder> {
        let request = self.requests.get(&ticket)?;
        held_gates(request, now_us).find(|held| held.key == *key)
    }

    fn waiter(&self, ticket: Ticket, now_us: u64) -> Option<GateWaiter> {
        let request = self.requests.get(&ticket)?;
        let (key, _) = self.before(ticket).next()?;
        Some(GateWaiter {
            label: request.label.clone(),
            key: key.clone(),
            mode: request.set.mode_of(key)?,
            age_us: age(request.asked_us, now_us),
        })
    }
}

fn held_gates(request: &Request, now_us: u64) -> impl Iterator<Item = GateHolder> {
    let granted = request.granted_us.into_iter();
    granted.flat_map(move |granted_us| {
        request.set.iter().map(move |(key, mode)| GateHolder {
            label: request.label.clone(),
            key: key.clone(),
            mode,
            age_us: age(granted_us, now_us),
        })
    })
}

fn age(since_us: u64, now_us: u64) -> u64 {
    now_us.saturating_sub(since_us)
}
