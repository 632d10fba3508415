//! Runs every interleaving of a few attempts over the pure core and judges every state. Knows
//! nothing of futures; defects planted in stand-ins for the core show that it can fail.

mod defects;
mod production;
mod schedules;

use crate::queue::Ticket;
use crate::{GateMode, GateSet};

/// A scheduler of gates, as its callers see it.
trait Gates: Clone + Default {
    fn request(&mut self, set: &GateSet, attempt: usize) -> Ticket;
    /// Releases or cancels.
    fn leave(&mut self, ticket: Ticket);
    fn is_granted(&self, ticket: Ticket) -> bool;
    /// Nothing is left of anybody.
    fn is_empty(&self) -> bool;

    /// What only one kind of scheduler promises. `present` is in the order of arrival.
    fn judge(&self, _present: &[Present<'_>]) -> Result<(), Violation> {
        Ok(())
    }
}

/// An attempt that asked and did not leave.
#[derive(Debug, Clone, Copy)]
struct Present<'a> {
    attempt: usize,
    ticket: Ticket,
    set: &'a GateSet,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Violation {
    /// Two attempts hold one gate in modes that exclude each other.
    Incompatible { attempts: (usize, usize) },
    /// Some wait, and nobody is there whose leaving could end it.
    Deadlock { waiting: Vec<usize> },
    /// An attempt was overtaken too often by later ones that conflict with it.
    Overtaken { attempt: usize, times: usize },
    /// A grant was taken back.
    Revoked { attempt: usize },
    /// Everybody left and something is still there.
    Residue,
    /// An attempt waits although no older one conflicts, or is granted although one does.
    NotTheRule { attempt: usize },
    /// What is visible of an attempt is neither its whole set nor nothing.
    NotAllOrNone { attempt: usize },
    /// A waiting attempt cannot say who is in its way.
    Unexplained { attempt: usize },
}

/// What was looked at, so that a test can tell that it looked at everything.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Tally {
    states: usize,
    schedules: usize,
    waits: usize,
}

impl Tally {
    fn add(&mut self, other: Self) {
        self.states += other.states;
        self.schedules += other.schedules;
        self.waits += other.waits;
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Idle,
    Present { ticket: Ticket, granted: bool, overtaken: usize },
    Gone,
}

#[derive(Clone)]
struct World<'a, G> {
    gates: G,
    sets: &'a [GateSet],
    phases: Vec<Phase>,
    arrivals: Vec<usize>,
    overtaken_max: usize,
}

/// Each attempt asks once and leaves once, waiting or granted; every order of these events is run.
fn explore<G: Gates>(sets: &[GateSet], overtaken_max: usize) -> Result<Tally, Violation> {
    let phases = vec![Phase::Idle; sets.len()];
    let world = World { gates: G::default(), sets, phases, arrivals: Vec::new(), overtaken_max };
    let mut tally = Tally::default();
    world.explore(&mut tally)?;
    Ok(tally)
}

impl<G: Gates> World<'_, G> {
    fn explore(&self, tally: &mut Tally) -> Result<(), Violation> {
        tally.states += 1;
        tally.waits += self.waiting().count();
        let active = |attempt: &usize| self.phases[*attempt] != Phase::Gone;
        let mut ended = true;
        for attempt in (0..self.sets.len()).filter(active) {
            ended = false;
            let mut next = self.clone();
            next.step(attempt)?;
            next.explore(tally)?;
        }
        tally.schedules += usize::from(ended);
        Ok(())
    }

    fn step(&mut self, attempt: usize) -> Result<(), Violation> {
        match self.phases[attempt] {
            Phase::Idle => self.ask(attempt),
            Phase::Present { ticket, .. } => self.leave(attempt, ticket),
            Phase::Gone => {}
        }
        self.observe_grants()?;
        self.judge()
    }

    fn ask(&mut self, attempt: usize) {
        let ticket = self.gates.request(&self.sets[attempt], attempt);
        self.phases[attempt] = Phase::Present { ticket, granted: false, overtaken: 0 };
        self.arrivals.push(attempt);
    }

    fn leave(&mut self, attempt: usize, ticket: Ticket) {
        self.gates.leave(ticket);
        self.phases[attempt] = Phase::Gone;
        self.arrivals.retain(|present| *present != attempt);
    }

    /// Takes over what the scheduler says, oldest first, and counts who was overtaken by whom.
    fn observe_grants(&mut self) -> Result<(), Violation> {
        for position in 0..self.arrivals.len() {
            let attempt = self.arrivals[position];
            let Phase::Present { ticket, granted, .. } = &mut self.phases[attempt] else {
                continue;
            };
            let was_granted = std::mem::replace(granted, self.gates.is_granted(*ticket));
            match (was_granted, *granted) {
                (true, false) => return Err(Violation::Revoked { attempt }),
                (false, true) => self.count_overtaken(position)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn count_overtaken(&mut self, position: usize) -> Result<(), Violation> {
        let overtaker = self.arrivals[position];
        for older in self.arrivals[..position].iter().copied() {
            let conflict = conflict(&self.sets[older], &self.sets[overtaker]);
            let Phase::Present { granted: false, overtaken, .. } = &mut self.phases[older] else {
                continue;
            };
            *overtaken += usize::from(conflict);
            if *overtaken > self.overtaken_max {
                return Err(Violation::Overtaken { attempt: older, times: *overtaken });
            }
        }
        Ok(())
    }

    fn judge(&self) -> Result<(), Violation> {
        self.judge_holders()?;
        let waiting: Vec<usize> = self.waiting().collect();
        if !waiting.is_empty() && self.granted().next().is_none() {
            return Err(Violation::Deadlock { waiting });
        }
        if self.arrivals.is_empty() && !self.gates.is_empty() {
            return Err(Violation::Residue);
        }
        self.gates.judge(&self.present())
    }

    fn judge_holders(&self) -> Result<(), Violation> {
        let holders: Vec<usize> = self.granted().collect();
        for (position, one) in holders.iter().enumerate() {
            let rest = &holders[position + 1..];
            if let Some(other) = rest.iter().find(|o| conflict(&self.sets[*one], &self.sets[**o])) {
                return Err(Violation::Incompatible { attempts: (*one, *other) });
            }
        }
        Ok(())
    }

    fn present(&self) -> Vec<Present<'_>> {
        let present = |attempt: usize| match self.phases[attempt] {
            Phase::Present { ticket, .. } => {
                Some(Present { attempt, ticket, set: &self.sets[attempt] })
            }
            Phase::Idle | Phase::Gone => None,
        };
        self.arrivals.iter().copied().filter_map(present).collect()
    }

    fn granted(&self) -> impl Iterator<Item = usize> {
        self.in_state(true)
    }

    fn waiting(&self) -> impl Iterator<Item = usize> {
        self.in_state(false)
    }

    fn in_state(&self, wanted: bool) -> impl Iterator<Item = usize> {
        let phases = self.phases.iter().enumerate();
        phases.filter_map(move |(attempt, phase)| match phase {
            Phase::Present { granted, .. } if *granted == wanted => Some(attempt),
            _ => None,
        })
    }
}

/// A gate that both name and that one of them wants exclusively.
fn conflict(one: &GateSet, other: &GateSet) -> bool {
    let clashes = |theirs: GateMode, ours: GateMode| {
        ours == GateMode::Exclusive || theirs == GateMode::Exclusive
    };
    one.iter().any(|(key, ours)| other.mode_of(key).is_some_and(|theirs| clashes(theirs, ours)))
}
