//! What is demanded after a cell: the judge's promises, and beside them what the workflow itself
//! promises to whoever called it.

use graphwrite_coordinator::{
    BarrierOutcome, CreateError, Graph, InitError, OpenError, OperationOutcome, OutcomeRequest,
    RecoverMode, Resolution, Store,
};
use graphwrite_protocol_types::{Answer, Conflict, WriteOutcome};

use super::pending::{Pending, operation};
use super::scenario::TWO_FIRST_APPEND;
use super::subject::{Act, Said, Scene};
use crate::ground::Ground;
use crate::judge::{
    Case, Complaint, Heard, Promise, Reference, Verdict, check_answer, judge, judge_on,
};
use crate::world::{create, own_process, schema};

impl Scene {
    /// Judges the storage behind `store`, with what the workflow's caller heard and what a writer
    /// beside it heard. One more write is there afterwards.
    pub(super) async fn judged(
        &self,
        store: &Store,
        said: &Said,
        beside: Option<&Heard>,
        witnesses: &[&Graph],
    ) -> Result<Verdict, Complaint> {
        match (self.subject.act, said) {
            (Act::Create, said) => Box::pin(judged_creation(store, said)).await,
            (Act::Write, Said::Wrote(heard)) => {
                Box::pin(self.judged_write(store, heard, witnesses)).await
            }
            (Act::Write, _) => Box::pin(self.judged_write(store, &Heard::Nothing, witnesses)).await,
            (Act::Fork(origin, earlier), said) => {
                Box::pin(self.judged_fork(store, (origin, earlier), said, witnesses)).await
            }
            (Act::Remove(alive), said) => {
                Box::pin(self.judged_removal(store, alive, said, witnesses)).await
            }
            (Act::Seal, said) => Box::pin(self.judged_seal(store, said, beside, witnesses)).await,
            (Act::Recover(_) | Act::Resolve, said) => {
                Box::pin(self.judged_recovery(store, said, witnesses)).await
            }
        }
    }

    /// Judges the same storage again: whatever happened since has changed nothing.
    pub(super) async fn unchanged(
        &self,
        store: &Store,
        verdict: &Verdict,
        witnesses: &[&Graph],
    ) -> Result<(), Complaint> {
        let case = Case {
            before: verdict.state.clone(),
            after: verdict.state.clone(),
            commits: verdict.commits,
            next: self.stage.scenario.next("late"),
        };
        match self.subject.act {
            Act::Fork(..) | Act::Remove(_) => self.unchanged_branch(store, &case).await,
            _ => {
                let ground = &self.stage.ground;
                judge_on(ground, store, &case, &Heard::Nothing, witnesses).await.map(drop)
            }
        }
    }

    /// The rows before and after, and the commits, where the end is decided already.
    pub(super) fn case(&self) -> Case {
        let case = self.stage.case();
        match self.subject.pending.is_visible() {
            true => Case { before: case.after.clone(), commits: case.commits + 1, ..case },
            false => case,
        }
    }

    async fn judged_write(
        &self,
        store: &Store,
        heard: &Heard,
        witnesses: &[&Graph],
    ) -> Result<Verdict, Complaint> {
        let (ground, case) = (&self.stage.ground, self.stage.case());
        if case.before == case.after {
            return self.judged_commit(store, heard, witnesses).await;
        }
        let verdict = judge_on(ground, store, &case, heard, witnesses).await?;
        self.check_refs(store).await?;
        Ok(verdict)
    }

    /// The same of a write that changes no row: the lineage alone says whether it is there.
    async fn judged_commit(
        &self,
        store: &Store,
        heard: &Heard,
        witnesses: &[&Graph],
    ) -> Result<Verdict, Complaint> {
        let (ground, case) = (&self.stage.ground, self.stage.case());
        let fresh = ground.fresh(store).await;
        let commits = fresh.log(usize::MAX).await.expect("a log").len();
        let is_there = commits > case.commits;
        check_answer(&fresh, heard, is_there).await?;
        let case = Case { commits: case.commits + usize::from(is_there), ..case };
        let verdict = judge_on(ground, store, &case, &Heard::Nothing, witnesses).await?;
        check_answer(&ground.fresh(store).await, heard, is_there).await?;
        Ok(Verdict { is_after: is_there, ..verdict })
    }

    async fn judged_recovery(
        &self,
        store: &Store,
        said: &Said,
        witnesses: &[&Graph],
    ) -> Result<Verdict, Complaint> {
        let pending = self.subject.pending;
        let (case, decided) = (self.case(), pending.is_decided());
        if let Said::Recovered(answer) = said {
            is_true(self.subject.act, pending, answer)?;
        }
        let ground = &self.stage.ground;
        let verdict = judge_on(ground, store, &case, &Heard::Nothing, witnesses).await?;
        self.check_refs(store).await?;
        let is_right = pending.is_visible() || decided == Some(verdict.is_after);
        if is_right { Ok(verdict) } else { Err(Promise::Atomic.broken((pending, verdict))) }
    }

    async fn judged_seal(
        &self,
        store: &Store,
        said: &Said,
        beside: Option<&Heard>,
        witnesses: &[&Graph],
    ) -> Result<Verdict, Complaint> {
        let ground = &self.stage.ground;
        let found = ask_on(ground, store).await;
        agrees(said, beside, &found)?;
        let case = self.case();
        let case = match &found {
            OperationOutcome::Aborted { is_final: true, .. } => {
                Case { after: case.before.clone(), ..case }
            }
            OperationOutcome::Committed(_) if !self.subject.pending.is_visible() => {
                Case { before: case.after.clone(), commits: case.commits + 1, ..case }
            }
            _ => case,
        };
        let mut verdict = judge_on(ground, store, &case, &Heard::Nothing, witnesses).await?;
        let last = ask_on(ground, store).await;
        if is_final(&found) && last != found {
            return Err(Promise::Stable.broken((found, last)));
        }
        verdict.aftermath = format!("{} {}", kind(&found), verdict.aftermath);
        Ok(verdict)
    }
}

/// What a fresh process hears that asks about the request.
pub(super) async fn ask(store: &Store) -> OperationOutcome {
    ask_on(&Ground::default(), store).await
}

pub(super) async fn ask_on(ground: &Ground, store: &Store) -> OperationOutcome {
    let fresh = ground.fresh(store).await;
    fresh.outcome(OutcomeRequest::new(operation())).await.expect("an answer")
}

/// Whether no later answer may differ.
pub(super) fn is_final(outcome: &OperationOutcome) -> bool {
    is_sealed(outcome) || matches!(outcome, OperationOutcome::Committed(_))
}

pub(super) fn is_sealed(outcome: &OperationOutcome) -> bool {
    matches!(outcome, OperationOutcome::Aborted { is_final: true, .. })
}

fn kind(outcome: &OperationOutcome) -> &'static str {
    match outcome {
        OperationOutcome::Committed(_) => "committed",
        OperationOutcome::Aborted { is_final: true, .. } => "sealed",
        OperationOutcome::Aborted { .. } => "aborted",
        OperationOutcome::Pending { .. } => "pending",
        _ => "unknown",
    }
}

pub(super) fn is_refused_as_sealed(heard: &Heard) -> bool {
    let sealed = |it: &WriteOutcome| {
        matches!(it, WriteOutcome::Conflict(Conflict::OperationSealed { .. }))
            && it.had_no_effect()
            && !it.may_retry()
    };
    heard.answer().is_some_and(|answer| answer.as_ref().is_ok_and(sealed))
}

/// The sealer, a writer of the same request, and whoever asks later tell one story.
pub(super) fn agrees(
    said: &Said,
    beside: Option<&Heard>,
    found: &OperationOutcome,
) -> Result<(), Complaint> {
    let is_told = match said {
        Said::Sealed(answer) => match answer.as_ref() {
            Ok(told) => is_final(told) && told == found,
            Err(error) => !error.had_no_effect() || error.may_retry(),
        },
        _ => true,
    };
    let is_heard = beside.is_none_or(|heard| match found {
        OperationOutcome::Committed(receipt) => {
            heard.receipt().is_some_and(|mine| mine.commit == receipt.commit)
        }
        found => is_sealed(found) && is_refused_as_sealed(heard),
    });
    if is_told && is_heard {
        return Ok(());
    }
    Err(Promise::Acknowledged.broken((said, beside, found)))
}

/// Whether the report of a recovery says what was to be done.
fn is_true(
    act: Act,
    pending: Pending,
    answer: &Result<graphwrite_coordinator::BarrierReport, graphwrite_coordinator::RecoverError>,
) -> Result<(), Complaint> {
    let Ok(report) = answer else {
        // A fault of the storage, which may be corrected and the request repeated.
        return Ok(());
    };
    let is_full = act != Act::Recover(RecoverMode::RollForward);
    let is_possible = |end: &Resolution| match end {
        Resolution::Committed { .. } => pending.is_decided() == Some(true),
        Resolution::RolledBack { .. } => pending.is_decided() == Some(false),
        Resolution::Empty { .. } | Resolution::Discarded { .. } => false,
        Resolution::Vanished | Resolution::Waiting(_) | Resolution::Stopped(_) => true,
    };
    let may_stay = !is_full
        && matches!(
            pending,
            Pending::Armed
                | Pending::Cloned
                | Pending::Forked
                | Pending::Half
                | Pending::Prefix(_)
                | Pending::Aborted
                | Pending::Closed
        );
    let is_over = report.outcome == BarrierOutcome::Clean || may_stay;
    let is_consistent = report.resolved.iter().all(|(_, end)| is_possible(end));
    if is_over && is_consistent {
        return Ok(());
    }
    Err(Promise::Acknowledged.broken((act, pending, report)))
}

/// Says whether there was a graph. There is one afterwards.
async fn judged_creation(store: &Store, said: &Said) -> Result<Verdict, Complaint> {
    let opened = Graph::open(store.reopened(), own_process()).await;
    let was = opened.is_ok();
    if let Said::Created(answer) = said {
        match answer.as_ref() {
            Ok(()) if !was => return Err(Promise::Acknowledged.broken(answer)),
            Err(error) if error.had_no_effect() && was => {
                return Err(Promise::Refused.broken(error));
            }
            _ => {}
        }
    }
    let left = store.list("").await.map(|objects| objects.len());
    match opened {
        Ok(_) => refuses_another(store).await?,
        Err(OpenError::NotAGraph { .. }) => drop(create(&store.reopened()).await),
        Err(error) => return Err(Promise::NoRestart.broken(error)),
    }
    let case = Case {
        before: Reference::default(),
        after: Reference::default(),
        commits: 0,
        next: TWO_FIRST_APPEND.next("first"),
    };
    let verdict = judge(store, &case, &Heard::Nothing, &[]).await?;
    Ok(Verdict { is_after: was, aftermath: format!("{was} {left:?}"), ..verdict })
}

async fn refuses_another(store: &Store) -> Result<(), Complaint> {
    match Graph::create(store.reopened(), &schema(), "ada", own_process()).await {
        Err(CreateError::Init(InitError::AlreadyExists { .. })) => Ok(()),
        other => Err(Promise::OneCommit.broken(other.map(drop))),
    }
}
