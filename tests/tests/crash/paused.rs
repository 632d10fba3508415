//! Zombies: a process is held at one of its durable operations while another one, which waits for
//! nobody, runs its barrier and a whole write to the same tables; then it goes on, and its answer must
//! be true.

use std::sync::atomic::{AtomicBool, Ordering};

use graphwrite_coordinator::{Graph, LoadMode, LoadRequest, OpenError, OperationOutcome, Store};
use graphwrite_protocol_types::{Answer, BranchToken, Conflict, WriteOutcome};
use graphwrite_substrate::{Fault, Operation};

use super::cells::warm;
use super::forked::{self, Contested};
use super::log;
use super::pending;
use super::place::Place;
use super::scenario::{Scenario, Stage, TWO_FIRST_APPEND};
use super::subject::{Act, Said, Scene, perform, release_for_ever};
use super::verdict::{agrees, ask_on, is_sealed};
use crate::judge::{
    Case, Complaint, Heard, Promise, Reference, Verdict, check_answer, check_commits, check_faults,
    judge, judge_on, which,
};
use crate::world::{create, input, own_process};

/// What the other process did.
#[derive(Debug)]
enum Other {
    /// A write to the same tables; whether the zombie's commit was visible before it.
    Wrote { is_first: bool },
    /// A graph, created or found.
    Created { is_found: bool },
    /// The request that the zombie seals.
    Sent(Heard),
    /// A barrier, and a write of its own rows.
    Recovered,
    /// A branch of the same name, made or found, and a write to it.
    Forked(Contested),
    /// The deletion, a branch of the same name, and a write to it.
    Replaced(BranchToken),
}

pub(super) async fn cell(scene: &Scene, place: &Place) -> Result<Verdict, Complaint> {
    let store = Store::memory(&scene.start.fork());
    let warm = warm(scene, &store).await;
    // Logged is what comes through to the storage, when it does.
    let (logged, faults) = store.faulty(|_| Fault::Proceed);
    let (client, mut handle) = logged.holding(from(scene.names.picks(place)));
    let mut running = tokio::spawn(perform(scene.subject, client, scene.ids));
    let first = tokio::select! {
        held = handle.next() => held,
        _ = &mut running => None,
    };
    let first = first.expect("no cell passes because nothing was held");
    let other = Box::pin(meanwhile(scene, &store)).await?;
    assert!(!running.is_finished(), "the process is held");
    first.release();
    let releasing = release_for_ever(handle);
    let (zombie, said) = running.await.expect("the process ends");
    log::beside_others(scene, &faults.log())?;
    let witnesses: Vec<_> = zombie.iter().chain(&warm).collect();
    let verdict = Box::pin(judged(scene, &store, &other, &said, &witnesses)).await;
    releasing.abort();
    verdict
}

/// The whole process, from the operation that is picked.
pub(crate) fn from(
    picks: impl Fn(&Operation) -> bool + Send + Sync + 'static,
) -> impl Fn(&Operation) -> bool + Send + Sync + 'static {
    let is_held = AtomicBool::new(false);
    move |operation| {
        if picks(operation) {
            is_held.store(true, Ordering::SeqCst);
        }
        is_held.load(Ordering::SeqCst)
    }
}

/// The other process, beside the one that stands still.
async fn meanwhile(scene: &Scene, store: &Store) -> Result<Other, Complaint> {
    match scene.subject.act {
        Act::Write => {
            let is_first = writes_over(&scene.stage, store).await?;
            Ok(Other::Wrote { is_first })
        }
        Act::Create => creates(store).await,
        Act::Seal => {
            let heard = pending::send(&scene.stage.fresh(store).await, scene.stage.scenario).await;
            Ok(Other::Sent(heard))
        }
        Act::Recover(_) | Act::Resolve => {
            let heard =
                write_next(&scene.stage.fresh(store).await, scene.stage.scenario, "two").await;
            match heard.receipt() {
                Some(_) => Ok(Other::Recovered),
                None => Err(Promise::NoRestart.broken(heard)),
            }
        }
        Act::Fork(origin, _) => forked::contested(scene, store, origin).await.map(Other::Forked),
        Act::Remove(_) => forked::replaced(scene, store).await.map(Other::Replaced),
    }
}

async fn judged(
    scene: &Scene,
    store: &Store,
    other: &Other,
    said: &Said,
    witnesses: &[&Graph],
) -> Result<Verdict, Complaint> {
    match (other, said) {
        (Other::Wrote { is_first }, Said::Wrote(heard)) => {
            judged_write(&scene.stage, store, *is_first, heard, witnesses).await
        }
        (Other::Created { is_found }, Said::Created(answer)) => {
            let is_true = match answer.as_ref() {
                Ok(()) => *is_found,
                Err(error) => !*is_found && error.had_no_effect(),
            };
            if !is_true {
                return Err(Promise::Acknowledged.broken((is_found, answer)));
            }
            judged_rows(scene, store, TWO_FIRST_APPEND.rows, witnesses).await
        }
        (Other::Sent(heard), Said::Sealed(_)) => {
            let found = ask_on(&scene.stage.ground, store).await;
            agrees(said, Some(heard), &found)?;
            judged_after_seal(scene, store, &found, witnesses).await
        }
        (Other::Recovered, Said::Recovered(answer)) => {
            if answer.is_err() {
                return Err(Promise::NoRestart.broken(answer));
            }
            judged_recovery(scene, store, witnesses).await
        }
        (Other::Forked(contested), Said::Forked(answer)) => {
            Box::pin(forked::told_of_fork(scene, store, contested, answer)).await
        }
        (Other::Replaced(token), Said::Removed(answer)) => {
            Box::pin(forked::told_of_removal(scene, store, token, answer)).await
        }
        other => panic!("two answers that do not belong together: {other:?}"),
    }
}

/// Rows of the other process: some of the writer's keys with other values, and keys of its own.
fn others(scenario: &Scenario) -> Vec<String> {
    let contested = if scenario.is_strict() { 1 } else { 2.min(scenario.rows.len()) };
    let changed = scenario.rows[..contested].iter().map(|row| row.replace("\"age\":", "\"age\":7"));
    let in_tables =
        |row: &String| scenario.tables.iter().any(|it| row.contains(&format!("\"{it}\"")));
    changed.filter(in_tables).chain(scenario.next("other")).collect()
}

/// A barrier and a write, beside the writer that stands still. Says whether the writer's commit was,
/// or was made, visible before.
pub(crate) async fn writes_over(stage: &Stage, store: &Store) -> Result<bool, Complaint> {
    let other = stage.fresh(store).await;
    let rows = others(&stage.scenario);
    let request = LoadRequest::new(input(&other, &rows).await, LoadMode::Upsert);
    let outcome = other.load(request).await;
    other.settled().await;
    if !matches!(outcome, Ok(WriteOutcome::Committed(_))) {
        return Err(Promise::NoRestart.broken(outcome));
    }
    let first = stage.scenario.over(&stage.before).with(&rows);
    let is_first = which(&other, &stage.before.with(&rows), &first).await?;
    // Where the other has replaced all that the writer wrote, the rows do not tell.
    let is_same = first == stage.before.with(&rows);
    let commits = other.log(usize::MAX).await.expect("a log").len();
    let is_first = is_first || is_same && commits == stage.commits + 2;
    check_commits(&other, stage.commits + 1, is_first).await?;
    check_faults(&other).await?;
    Ok(is_first)
}

/// How a writer that was held ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// Its commit came first.
    First,
    /// It committed over the other's write.
    OnTop,
    /// It was refused.
    Refused,
}

/// The writer's answer is true, and all the rest too.
pub(crate) async fn judged_write(
    stage: &Stage,
    store: &Store,
    is_first: bool,
    heard: &Heard,
    witnesses: &[&Graph],
) -> Result<Verdict, Complaint> {
    let ended = ended(is_first, heard)?;
    check_answer(&stage.fresh(store).await, heard, ended != Ended::Refused).await?;
    let verdict =
        judge_on(&stage.ground, store, &case_of(stage, ended), &Heard::Nothing, witnesses).await?;
    let is_after = ended != Ended::Refused;
    Ok(Verdict { is_after, aftermath: format!("{ended:?}"), ..verdict })
}

/// How a writer ended that was told this, if that is true.
pub(crate) fn ended(is_first: bool, heard: &Heard) -> Result<Ended, Complaint> {
    match heard.answer() {
        Some(Ok(WriteOutcome::Committed(_))) if is_first => Ok(Ended::First),
        Some(Ok(WriteOutcome::Committed(_))) => Ok(Ended::OnTop),
        Some(Ok(WriteOutcome::Conflict(Conflict::KeyExists { .. } | Conflict::Merge { .. })))
            if !is_first =>
        {
            Ok(Ended::Refused)
        }
        _ => Err(Promise::Acknowledged.broken((is_first, heard))),
    }
}

/// What the storage must hold in the end.
pub(crate) fn case_of(stage: &Stage, ended: Ended) -> Case {
    let (scenario, other) = (stage.scenario, others(&stage.scenario));
    let (state, commits) = match ended {
        Ended::First => (scenario.over(&stage.before).with(&other), 2),
        Ended::OnTop => (scenario.over(&stage.before.with(&other)), 2),
        Ended::Refused => (stage.before.with(&other), 1),
    };
    let next = stage.scenario.next("next");
    Case { before: state.clone(), after: state, commits: stage.commits + commits, next }
}

/// A graph for the first rows, made here if the one that stands still has made none.
async fn creates(store: &Store) -> Result<Other, Complaint> {
    let opened = Graph::open(store.reopened(), own_process()).await;
    let (graph, is_found) = match opened {
        Ok(graph) => (graph, true),
        Err(OpenError::NotAGraph { .. }) => (create(&store.reopened()).await, false),
        Err(error) => return Err(Promise::NoRestart.broken(error)),
    };
    let request = LoadRequest::new(input(&graph, TWO_FIRST_APPEND.rows).await, LoadMode::Append);
    let outcome = graph.load(request).await;
    graph.settled().await;
    match outcome {
        Ok(WriteOutcome::Committed(_)) => Ok(Other::Created { is_found }),
        other => Err(Promise::NoRestart.broken(other)),
    }
}

/// A graph whose only commit loaded `lines`.
async fn judged_rows(
    scene: &Scene,
    store: &Store,
    lines: &[&str],
    witnesses: &[&Graph],
) -> Result<Verdict, Complaint> {
    let state = Reference::default().with(lines);
    let next = scene.stage.scenario.next("next");
    let case = Case { before: state.clone(), after: state, commits: 1, next };
    judge(store, &case, &Heard::Nothing, witnesses).await
}

/// Exactly one of the seal and the request has won.
async fn judged_after_seal(
    scene: &Scene,
    store: &Store,
    found: &OperationOutcome,
    witnesses: &[&Graph],
) -> Result<Verdict, Complaint> {
    let (stage, is_after) = (&scene.stage, !is_sealed(found));
    let after = stage.scenario.over(&stage.before);
    let state = if is_after { after } else { stage.before.clone() };
    let commits = stage.commits + usize::from(is_after);
    let next = stage.scenario.next("next");
    let case = Case { before: state.clone(), after: state, commits, next };
    judge_on(&stage.ground, store, &case, &Heard::Nothing, witnesses).await
}

/// Rows of a later write of somebody.
pub(crate) async fn write_next(graph: &Graph, scenario: Scenario, tag: &str) -> Heard {
    let request = LoadRequest::new(input(graph, &scenario.next(tag)).await, LoadMode::Upsert);
    let answer = graph.load(request).await;
    graph.settled().await;
    Heard::Answer(Box::new(answer))
}

/// The end of the attempt was decided before, and the other process's rows are there.
async fn judged_recovery(
    scene: &Scene,
    store: &Store,
    witnesses: &[&Graph],
) -> Result<Verdict, Complaint> {
    let rows = scene.stage.scenario.next("two");
    let case = scene.case();
    let case = Case {
        before: case.before.with(&rows),
        after: case.after.with(&rows),
        commits: case.commits + 1,
        ..case
    };
    let verdict = judge_on(&scene.stage.ground, store, &case, &Heard::Nothing, witnesses).await?;
    let pending = scene.subject.pending;
    let is_right = pending.is_visible() || pending.is_decided() == Some(verdict.is_after);
    if is_right { Ok(verdict) } else { Err(Promise::Atomic.broken((pending, verdict))) }
}
