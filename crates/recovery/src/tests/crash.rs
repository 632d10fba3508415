//! Recovery from every crash state, itself crashed at every durable step and taken up by others.

use std::sync::atomic::Ordering;

use super::actors::{Said, recoverer, run, share};
use super::defect::Defect;
use super::judge::{Start, judge, leaves_no_garbage, plans, starts};
use super::model_port::{Fault, ModelPort, Shared};

fn every_start(check: impl Fn(&Start)) -> usize {
    let all: Vec<Start> = plans().iter().flat_map(|kinds| starts(kinds)).collect();
    all.iter().for_each(check);
    all.len()
}

/// One recoverer with a fault; what it said, and how many durable changes it issued.
fn recover(world: &Shared, start: &Start, actor: u128, fault: Fault) -> (Said, usize) {
    let port = ModelPort::new(world, actor, fault);
    let (said, _) = run(vec![recoverer(&port, &start.intent, Defect::None)], &[]);
    port.deliver(usize::MAX);
    (said[0].clone(), port.changes.load(Ordering::Relaxed))
}

fn expect_good(start: &Start, world: &Shared, how: &str) {
    if let Err(problem) = judge(start, world, &[]) {
        panic!("{} {how}: {problem}\n{:#?}", start.name, world.lock().unwrap());
    }
    if let Err(problem) = leaves_no_garbage(start, &world.lock().unwrap()) {
        panic!("{} {how}: {problem}", start.name);
    }
}

#[test]
fn one_recoverer_alone_ends_every_crash_state() {
    let states = every_start(|start| {
        let world = share(&start.world);
        let (said, _) = recover(&world, start, 1, Fault::None);
        let Said::Resolved(resolution) = &said else { panic!("{}: {said:?}", start.name) };
        assert!(resolution.is_over(), "{}: {resolution:?}", start.name);
        assert!(world.lock().unwrap().records.is_empty(), "{}: a record is left", start.name);
        expect_good(start, &world, "alone");
    });
    assert!(states > 150, "only {states} crash states");
}

#[test]
fn a_recoverer_that_dies_after_any_durable_step_is_taken_up_twice() {
    let mut deaths = 0;
    for start in plans().iter().flat_map(|kinds| starts(kinds)) {
        for first in 0.. {
            let world = share(&start.world);
            if recover(&world, &start, 1, Fault::DieAfter(first)).0 != Said::Died {
                break;
            }
            let after_first = world.lock().unwrap().clone();
            for second in 0.. {
                let world = share(&after_first);
                let (said, _) = recover(&world, &start, 2, Fault::DieAfter(second));
                if said != Said::Died {
                    break;
                }
                deaths += 1;
                expect_good(&start, &world, &format!("died after {first}, then {second}"));
            }
        }
    }
    assert!(deaths > 1_000, "only {deaths} pairs of deaths");
}

#[test]
fn a_lost_answer_is_looked_up_and_not_guessed() {
    every_start(|start| {
        for at in 1.. {
            let world = share(&start.world);
            let (said, changes) = recover(&world, start, 1, Fault::LoseAnswer(at));
            if changes < at {
                break;
            }
            assert!(matches!(&said, Said::Resolved(r) if r.is_over()), "{}: {said:?}", start.name);
            expect_good(start, &world, &format!("answer {at} lost"));
        }
    });
}

#[test]
fn a_change_that_lands_late_does_no_harm() {
    every_start(|start| {
        for turns in [1, 4, usize::MAX / 2] {
            for change in 1.. {
                let world = share(&start.world);
                let (_, changes) = recover(&world, start, 1, Fault::Late { change, turns });
                if changes < change {
                    break;
                }
                expect_good(start, &world, &format!("change {change} late by {turns}"));
            }
        }
    });
}
