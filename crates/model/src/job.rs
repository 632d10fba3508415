//! One exploration: a model, what is expected of it, and what came out. It knows no protocol.

use std::fmt::Debug;
use std::hash::Hash;
use std::time::{Duration, Instant};

use stateright::{Checker, Expectation, HasDiscoveries, Model};

/// What an exploration is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Every rule is kept: every property must hold.
    Sound,
    /// A rule is left out: a property must fail.
    Defect(&'static str),
}

/// A property that does not hold, and the shortest run that shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The property.
    pub property: &'static str,
    /// The steps of the run; none for something that must happen and never did.
    pub trace: Vec<String>,
}

/// What an exploration found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// States that were generated, each time they were.
    pub states: usize,
    /// Different states.
    pub unique: usize,
    /// Steps of the longest of the shortest ways to a state.
    pub depth: usize,
    /// How long it took.
    pub took: Duration,
    /// The properties that do not hold.
    pub failures: Vec<Failure>,
}

/// An exploration that can be run.
pub struct Job {
    /// The configuration.
    pub configuration: &'static str,
    /// What it is for.
    pub purpose: Purpose,
    run: Box<dyn Fn() -> Found + Send + Sync>,
}

impl Job {
    /// A model in which every property must hold.
    pub(crate) fn sound<M>(configuration: &'static str, model: M) -> Self
    where
        M: Explorable,
        M::State: Hash + Send + Sync + Clone + PartialEq + Debug,
        M::Action: Clone + PartialEq + Debug,
    {
        Self { configuration, purpose: Purpose::Sound, run: Box::new(move || explore(&model)) }
    }

    /// A model in which a property must fail.
    pub(crate) fn defect<M>(text: &'static str, configuration: &'static str, model: M) -> Self
    where
        M: Explorable,
        M::State: Hash + Send + Sync + Clone + PartialEq + Debug,
        M::Action: Clone + PartialEq + Debug,
    {
        Self { purpose: Purpose::Defect(text), ..Self::sound(configuration, model) }
    }

    /// Runs it.
    pub fn run(&self) -> Found {
        (self.run)()
    }
}

/// A model that can be handed to a thread.
pub(crate) trait Explorable: Model + Clone + Send + Sync + 'static {}

impl<M: Model + Clone + Send + Sync + 'static> Explorable for M {}

/// Breadth first and in one thread, so that counts and depths are the same every time and the first
/// counterexample is a shortest one.
fn explore<M>(model: &M) -> Found
where
    M: Explorable,
    M::State: Hash + Send + Sync + Clone + PartialEq + Debug,
    M::Action: Clone + PartialEq + Debug,
{
    let began = Instant::now();
    let checker = model.clone().checker().finish_when(HasDiscoveries::AnyFailures);
    let checker = checker.spawn_bfs().join();
    let mut failures = Vec::new();
    for property in model.properties() {
        let shown = checker.discovery(property.name);
        let trace = match (property.expectation, shown) {
            (Expectation::Sometimes, None) => Vec::new(),
            (Expectation::Always, Some(path)) => {
                path.into_actions().iter().map(|action| format!("{action:?}")).collect()
            }
            _ => continue,
        };
        failures.push(Failure { property: property.name, trace });
    }
    // What must always hold says more than what did not happen before it failed.
    failures.sort_by_key(|failure| failure.trace.is_empty());
    Found {
        states: checker.state_count(),
        unique: checker.unique_state_count(),
        depth: checker.max_depth(),
        took: began.elapsed(),
        failures,
    }
}
