//! A scenario with what has been computed about it: the production's intents and decisions. It holds
//! no state of a run.

use std::sync::Arc;

use graphwrite_protocol_types::Intent;
use graphwrite_recovery::Evidence;

use super::code::{ATTEMPTS, EFFECTS, Pin, TABLES};
use super::defect::Defect;
use super::look::{Judged, Seen, Sighting, Slots, Stopped};
use super::memo::Memo;
use super::real::Real;
use super::scenario::Scenario;
use super::view::{Plan, View};

type Revalidation = (u8, Plan, View, Option<[Pin; TABLES]>, Option<u8>);

/// A scenario, the defect planted in it, and every answer of the production code so far.
#[derive(Debug)]
pub(crate) struct Setting {
    pub(crate) scenario: Scenario,
    pub(crate) defect: Defect,
    /// Which attempts' requests can disturb each other.
    overlaps: [[bool; ATTEMPTS]; ATTEMPTS],
    intents: Memo<(u8, Plan), Option<Arc<Intent>>>,
    read_sets: Memo<(u8, Plan, View), bool>,
    revalidations: Memo<Revalidation, bool>,
    pub(crate) evidence: Memo<(u8, Plan, u8, Slots), Evidence>,
    pub(crate) judgements: Memo<(u8, Plan, Seen, Sighting), Judged>,
    /// Whether one recoverer alone ends everything, by the fingerprint of a store.
    pub(crate) endings: Memo<u64, bool>,
}

impl Setting {
    pub(crate) fn new(scenario: Scenario, defect: Defect) -> Self {
        let attempts: [u8; ATTEMPTS] = std::array::from_fn(|at| at as u8);
        let overlaps = attempts.map(|one| attempts.map(|other| scenario.overlap(one, other)));
        Self {
            scenario,
            defect,
            overlaps,
            intents: Memo::default(),
            read_sets: Memo::default(),
            revalidations: Memo::default(),
            evidence: Memo::default(),
            judgements: Memo::default(),
            endings: Memo::default(),
        }
    }

    pub(crate) fn overlap(&self, one: u8, other: u8) -> bool {
        self.overlaps[usize::from(one)][usize::from(other)]
    }

    pub(crate) fn real(&self) -> Real<'_> {
        Real { scenario: &self.scenario, defect: self.defect }
    }

    /// The intent of an attempt, as the production writes it.
    pub(crate) fn intent(&self, attempt: u8, plan: &Plan) -> Option<Arc<Intent>> {
        self.intents.get((attempt, *plan), |_| self.real().intent(attempt, plan).map(Arc::new))
    }

    /// Whether everything that an attempt read is still so (RFC 4.7).
    pub(crate) fn read_set_holds(&self, attempt: u8, plan: &Plan, view: &View) -> bool {
        self.read_sets.get((attempt, *plan, *view), |_| {
            let fresh = self.real().view(self.scenario.incarnation(attempt), view);
            self.intent(attempt, plan).is_some_and(|intent| intent.read_set.check(&fresh).is_ok())
        })
    }

    /// Stage D (RFC 4.4): the manifest and the intents first, the HEADs afterwards.
    pub(crate) fn revalidates(
        &self,
        attempt: u8,
        plan: &Plan,
        fresh: &View,
        heads: Option<[Pin; TABLES]>,
        pending: Option<u8>,
    ) -> bool {
        let key = (attempt, *plan, *fresh, heads, pending);
        self.revalidations
            .get(key, |_| self.real().revalidates(attempt, plan, fresh, heads, pending))
    }

    /// Where a ref is kept: each under its own name (K4), unless names are used again.
    pub(crate) fn place_of(&self, line: u8) -> usize {
        match self.defect {
            Defect::NamesReused if usize::from(line) > TABLES => {
                TABLES + (usize::from(line) - TABLES) % EFFECTS
            }
            _ => usize::from(line),
        }
    }
}

impl Stopped {
    /// Whether a request that needs the tables in `concerned` has to stay away.
    pub(crate) fn blocks(&self, concerned: impl Fn(u8) -> bool) -> bool {
        !self.aborted
            || (0..TABLES as u8).any(|at| self.unsettled[usize::from(at)] && concerned(at))
    }
}
