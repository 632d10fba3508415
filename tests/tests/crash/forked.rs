//! What is demanded of those who make and delete branches: a name means nothing, or a branch with the rows
//! of exactly one source, which its records name; whoever comes next makes, writes and deletes it at once;
//! every answer is true; nothing beside it has changed.

use std::collections::{BTreeMap, BTreeSet};

use graphwrite_coordinator::{BranchError, BranchInfo, Graph, Store};
use graphwrite_protocol_types::{Answer, BranchToken, CommitId};
use graphwrite_substrate::ObjectEntry;

use super::control::{
    Alive, CHILD, Earlier, NAME, Origin, begins_with, beside_a_fork, beside_a_removal, check_whole,
    delete_branch, fork, fresh, incarnation, live, origin_of, standing, upsert,
};
use super::log::dataset_of;
use super::refs::ref_of;
use super::subject::{Act, Said, Scene};
use crate::ground::{Beside, Ground, on};
use crate::judge::{
    Case, Complaint, Heard, Promise, Reference, Verdict, judge_on, open_impatient, seen_by,
};

impl Scene {
    fn older(&self) -> CommitId {
        self.ids.older.expect("main has commits")
    }

    /// The branch in question, and what nobody touches.
    fn contested_ground(&self) -> Ground {
        let beside = match self.subject.act {
            Act::Remove(alive) => beside_a_removal(&self.stage, alive),
            _ => beside_a_fork(&self.stage),
        };
        Ground { branch: Some(NAME), beside }
    }

    /// A branch of `origin` to which these rows were written since.
    fn case_of(&self, origin: Origin, written: &[String]) -> Case {
        let (rows, commits) = begins_with(&self.stage, origin);
        let state = rows.with(written);
        let commits = commits + usize::from(!written.is_empty());
        let next = self.stage.scenario.next("next");
        Case { before: state.clone(), after: state, commits, next }
    }

    /// A fresh process makes the branch of something else, and finds what there is.
    pub(super) async fn judged_fork(
        &self,
        store: &Store,
        (origin, earlier): (Origin, Earlier),
        said: &Said,
        witnesses: &[&Graph],
    ) -> Result<Verdict, Complaint> {
        let looked = open_impatient(store).await;
        let stood = live(&looked).await;
        if stood.is_some() {
            check_whole(&looked).await?;
        }
        let found = format!("{:?}", standing(&looked).await.map(|it| std::mem::discriminant(&it)));
        let again = fork(&open_impatient(store).await, origin.other(), self.older()).await;
        let Some(info) = live(&open_impatient(store).await).await else {
            return Err(Promise::NoRestart.broken(again));
        };
        let of = origin_of(&info, self.older());
        let is_made = again.as_ref().is_ok_and(|it| it.token == info.token);
        let is_found = matches!(&again, Err(BranchError::Exists { .. }));
        let is_one = match of {
            Some(of) if of == origin.other() => is_made && stood.is_none(),
            Some(of) => is_found && (of == origin || earlier == Earlier::Complete),
            None => false,
        };
        if !is_one {
            return Err(Promise::OneCommit.broken((stood, again, info)));
        }
        if stood.as_ref().is_some_and(|it| it.token != info.token) {
            return Err(Promise::Stable.broken((stood, info)));
        }
        if let Said::Forked(answer) = said {
            let of_its_own = is_found && of == Some(origin);
            is_true_of_fork(answer, stood.as_ref(), of_its_own, earlier)?;
        }
        let case = self.case_of(of.unwrap_or(origin), &[]);
        let ground = self.contested_ground();
        let verdict = judge_on(&ground, store, &case, &Heard::Nothing, &[]).await?;
        self.agree(&ground, witnesses, &verdict.state).await?;
        let aftermath = format!("{found} {of:?} {}", verdict.aftermath);
        Ok(Verdict { is_after: is_found, aftermath, ..verdict })
    }

    /// Handles that were open all the time see main as it was, and the branch as it is.
    async fn agree(
        &self,
        ground: &Ground,
        witnesses: &[&Graph],
        state: &Reference,
    ) -> Result<(), Complaint> {
        let main = ground.beside.iter().find(|it| it.branch.is_none()).expect("main");
        for witness in witnesses {
            let seen =
                (seen_by(witness).await, seen_by(&on((*witness).clone(), Some(NAME)).await).await);
            if seen != (main.rows.rows(), state.rows()) {
                return Err(Promise::Agreement.broken((seen, state)));
            }
        }
        Ok(())
    }

    /// A branch that stands works like any other; then its name is free for another.
    pub(super) async fn judged_removal(
        &self,
        store: &Store,
        alive: Alive,
        said: &Said,
        witnesses: &[&Graph],
    ) -> Result<Verdict, Complaint> {
        let stood = incarnation(&open_impatient(store).await).await;
        if let Said::Removed(answer) = said {
            let is_true = match answer.as_ref() {
                Ok(()) => stood.is_none(),
                Err(error) => !error.had_no_effect() || stood.is_some(),
            };
            if !is_true {
                return Err(Promise::Acknowledged.broken((stood, answer)));
            }
        }
        let (ground, case) = (self.contested_ground(), self.case());
        let mut aftermath = format!("{} ", stood.is_some());
        if stood.is_some() {
            let verdict = judge_on(&ground, store, &case, &Heard::Nothing, &[]).await?;
            aftermath.push_str(&verdict.aftermath);
            let deleted = delete_branch(&open_impatient(store).await).await;
            deleted.map_err(|error| Promise::NoRestart.broken(error))?;
        }
        match delete_branch(&open_impatient(store).await).await {
            Err(BranchError::NoSuchBranch { .. }) => {}
            other => return Err(Promise::Refused.broken(other)),
        }
        let made = fork(&open_impatient(store).await, Origin::Main, self.older()).await;
        made.map_err(|error| Promise::NoRestart.broken(error))?;
        let case = self.case_of(Origin::Main, &[]);
        let verdict = judge_on(&ground, store, &case, &Heard::Nothing, &[]).await?;
        self.agree(&ground, witnesses, &verdict.state).await?;
        if alive == Alive::Parent {
            self.judged_child(store, ground.beside).await?;
        }
        Ok(Verdict { is_after: stood.is_none(), aftermath, ..verdict })
    }

    /// A branch that was made of the one that went goes on.
    async fn judged_child(&self, store: &Store, beside: Vec<Beside>) -> Result<(), Complaint> {
        let beside = beside.into_iter().filter(|it| it.branch != Some(CHILD)).collect();
        let ground = Ground { branch: Some(CHILD), beside };
        let case = self.stage.case();
        let case = Case { after: case.before.clone(), ..case };
        judge_on(&ground, store, &case, &Heard::Nothing, &[]).await.map(drop)
    }

    /// Whatever has happened since has changed nothing of the branch.
    pub(super) async fn unchanged_branch(
        &self,
        store: &Store,
        case: &Case,
    ) -> Result<(), Complaint> {
        let mut ground = self.contested_ground();
        // It has gone on.
        ground.beside.retain(|it| it.branch != Some(CHILD));
        judge_on(&ground, store, case, &Heard::Nothing, &[]).await.map(drop)
    }

    /// No attempt that has ended has left a ref: a table has one of the branch, if any. Files that are
    /// below no version are no ref.
    pub(super) async fn check_refs(&self, store: &Store) -> Result<(), Complaint> {
        if !self.is_on_branch() {
            return Ok(());
        }
        let mut refs: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let objects = store.list("tables").await.expect("a listing");
        let is_part = |it: &&ObjectEntry| {
            ["/_versions/", "/_refs/"].iter().any(|part| it.path.contains(part))
        };
        for object in objects.iter().filter(is_part) {
            if let Some((dataset, of_ref)) = dataset_of(&object.path).zip(ref_of(&object.path)) {
                refs.entry(dataset.to_owned()).or_default().insert(of_ref);
            }
        }
        match refs.values().all(|refs| refs.len() == 1) {
            true => Ok(()),
            false => Err(Promise::NothingPending.broken(refs)),
        }
    }
}

/// Whether a creator was told what is so.
fn is_true_of_fork(
    answer: &Result<BranchInfo, BranchError>,
    stood: Option<&BranchInfo>,
    of_its_own: bool,
    earlier: Earlier,
) -> Result<(), Complaint> {
    let is_true = match answer {
        Ok(info) => of_its_own && stood.is_some_and(|it| it.token == info.token),
        Err(BranchError::Exists { .. }) => earlier == Earlier::Complete && stood.is_some(),
        Err(error) => !error.had_no_effect() || !of_its_own,
    };
    if is_true { Ok(()) } else { Err(Promise::Acknowledged.broken((stood, answer))) }
}

/// What another process has done with the name beside a creator that stands still.
#[derive(Debug)]
pub(super) struct Contested {
    token: BranchToken,
    of: Origin,
    /// It was there, or nothing was missing but the decision.
    is_found: bool,
}

/// The branch is made of something else, or found, and written to.
pub(super) async fn contested(
    scene: &Scene,
    store: &Store,
    origin: Origin,
) -> Result<Contested, Complaint> {
    let made = fork(&open_impatient(store).await, origin.other(), scene.older()).await;
    let is_found = match &made {
        Ok(_) => false,
        Err(BranchError::Exists { .. }) => true,
        Err(error) => return Err(Promise::NoRestart.broken(error)),
    };
    let info = live(&open_impatient(store).await).await;
    let of = info.as_ref().and_then(|info| origin_of(info, scene.older()));
    let Some((info, of)) = info.zip(of) else { return Err(Promise::Acknowledged.broken(made)) };
    upsert(&fresh(store).await, &scene.stage.scenario.next("other")).await;
    Ok(Contested { token: info.token, of, is_found })
}

/// The creator that stood still is told what is so, and the branch is what the other has made of it.
pub(super) async fn told_of_fork(
    scene: &Scene,
    store: &Store,
    contested: &Contested,
    answer: &Result<BranchInfo, BranchError>,
) -> Result<Verdict, Complaint> {
    let Contested { token, of, is_found } = contested;
    let is_complete = matches!(scene.subject.act, Act::Fork(_, Earlier::Complete));
    let is_true = match answer {
        Ok(info) => *is_found && !is_complete && info.token == *token,
        Err(BranchError::GivenUp { .. }) => !is_found,
        Err(BranchError::Exists { .. }) => !is_found || is_complete,
        Err(_) => false,
    };
    if !is_true {
        return Err(Promise::Acknowledged.broken((contested, answer)));
    }
    stays(store, token).await?;
    let case = scene.case_of(*of, &scene.stage.scenario.next("other"));
    let ground = scene.contested_ground();
    let verdict = judge_on(&ground, store, &case, &Heard::Nothing, &[]).await?;
    Ok(Verdict { is_after: *is_found, ..verdict })
}

async fn stays(store: &Store, token: &BranchToken) -> Result<(), Complaint> {
    let now = incarnation(&open_impatient(store).await).await;
    if now.as_ref() == Some(token) { Ok(()) } else { Err(Promise::Stable.broken((token, now))) }
}

/// The branch is deleted and made again, of main, and written to.
pub(super) async fn replaced(scene: &Scene, store: &Store) -> Result<BranchToken, Complaint> {
    let other = open_impatient(store).await;
    let replaced = async {
        delete_branch(&other).await?;
        fork(&other, Origin::Main, scene.older()).await
    };
    let info = replaced.await.map_err(|error| Promise::NoRestart.broken(error))?;
    upsert(&fresh(store).await, &scene.stage.scenario.next("other")).await;
    Ok(info.token)
}

/// The deleter that stood still is told that there was nothing more to delete.
pub(super) async fn told_of_removal(
    scene: &Scene,
    store: &Store,
    token: &BranchToken,
    answer: &Result<(), BranchError>,
) -> Result<Verdict, Complaint> {
    let Err(BranchError::NoSuchBranch { .. }) = answer else {
        return Err(Promise::Acknowledged.broken((token, answer)));
    };
    stays(store, token).await?;
    let case = scene.case_of(Origin::Main, &scene.stage.scenario.next("other"));
    judge_on(&scene.contested_ground(), store, &case, &Heard::Nothing, &[]).await
}
