//! Why the evidence is read first and the authority last.

use std::sync::Mutex;

use graphwrite_protocol_types::*;

use super::actors::{Actor, Said, later_writer, run, share, writer};
use super::defect::Defect;
use super::fixture::dead;
use super::judge::{Start, plans, starts};
use super::model_port::{Fault, ModelPort};
use crate::*;

/// Somebody who looks at the intent once, and writes down what was seen.
fn observer<'a>(
    port: &'a ModelPort,
    intent: &'a Intent,
    defect: Defect,
    seen: &'a Mutex<Option<Look>>,
) -> Actor<'a> {
    Box::pin(async move {
        let (waits, owner) = (WaitRules::default(), dead());
        let looked = defect.look_at(port, &[(intent, &owner)], &waits, 1).await;
        *seen.lock().unwrap() = looked.ok().and_then(|looks| looks.looks.into_iter().next()?);
        Said::Done
    })
}

/// The looks that find a foreign commit above a landed step of an attempt that seems undecided,
/// while a healthy writer commits and others build on it.
fn buried_looks(start: &Start, defect: Defect) -> (usize, usize) {
    let (mut buried, mut looks) = (0, 0);
    for before in 0..8 {
        for between in 0..20 {
            let world = share(&start.world);
            let port = |actor| ModelPort::new(&world, actor, Fault::None);
            let (looking, writing, using) = (port(1), port(2), port(3));
            let seen = Mutex::new(None);
            let cast = vec![
                observer(&looking, &start.intent, defect, &seen),
                writer(&writing, &start.intent, &start.prefix),
                later_writer(&using, &start.intent),
            ];
            let schedule =
                [vec![0; before], vec![1; between], vec![2; 8], vec![0; 20], vec![1; 40]].concat();
            run(cast, &schedule);
            let look = seen.into_inner().unwrap().expect("nobody died");
            let undecided = look.authority.outcome == AttemptOutcome::None;
            looks += 1;
            buried += usize::from(undecided && look.found.evidence.contains(&Evidence::Buried));
        }
    }
    (buried, looks)
}

fn all_buried_looks(defect: Defect) -> (usize, usize) {
    let small = plans().into_iter().filter(|kinds| kinds.len() <= 2);
    let starts: Vec<Start> = small.flat_map(|kinds| starts(&kinds)).collect();
    let counts = starts.iter().map(|start| buried_looks(start, defect));
    counts.fold((0, 0), |(b, l), (buried, looks)| (b + buried, l + looks))
}

#[test]
fn a_healthy_history_never_looks_buried() {
    let (buried, looks) = all_buried_looks(Defect::None);
    assert!(looks > 5_000, "only {looks} looks");
    assert_eq!(buried, 0);
}

#[test]
fn authority_before_evidence_is_caught() {
    assert!(all_buried_looks(Defect::AuthorityFirst).0 > 0);
}
