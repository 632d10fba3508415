//! Stage G and its kin (RFC 4.7): the loop that decides over a state, writes one strict commit, and
//! after a lost slot decides again over the winner's state. It owns no rule of what may follow what.

use std::collections::BTreeSet;

use arrow_array::RecordBatch;
use arrow_select::concat::concat_batches;
use graphwrite_protocol_types::{AttemptId, CommitPermit, Intent, ManifestDelta, Pin, TxUuid};
use graphwrite_substrate::{StagedCommit, stage_replace, strict_commit};
use tracing::debug;

use crate::batch::{RowEncodeError, batch_of, columns};
use crate::decision::{Decision, Ground, Report, Settled};
use crate::error::{Damage, ManifestError};
use crate::hot::{Concerned, HotRows};
use crate::landing::{LandingFault, Verdict, settle};
use crate::manifest::Manifest;
use crate::outcome_row::OutcomeRow;
use crate::reading::read_batches;
use crate::rows::COMMIT;
use crate::spill;
use crate::state::ManifestState;
use crate::transition::{PublishOutcome, Transition};

/// Slots that a publish may lose before it gives up. Each loss is another's success, so this is a
/// guard against a storage that lies, not a limit on contention.
const SLOTS_LOST_MAX: u32 = 1_000;

/// A decided transition that lacks nothing but its manifest.
#[derive(Debug)]
struct Ready {
    hot: Box<HotRows>,
    report: Report,
    staged: StagedCommit,
}

/// A graph commit whose data is written and that nobody can see. It is good for one state and one
/// change.
#[derive(Debug)]
pub struct StagedAhead {
    attempt: AttemptId,
    over: Pin,
    delta: ManifestDelta,
    ready: Ready,
}

impl StagedAhead {
    fn is_for(&self, transition: &Transition<'_>, state: &ManifestState) -> bool {
        matches!(
            transition,
            Transition::Commit { intent, delta }
                if intent.attempt == self.attempt && **delta == self.delta
        ) && state.base().manifest == self.over
    }
}

impl Manifest {
    /// Makes one transition, or says why not. The first try is made over `base` without reading it
    /// again: the strict slot after it proves that it is still the state.
    ///
    /// For a commit, `base` must be a state in which the operation was searched for, or lie at the
    /// manifest version of the intent; any other base is searched here, hot and cold.
    ///
    /// # Errors
    /// [`ManifestError::Unknown`] alone leaves open whether the transition was made.
    pub async fn publish(
        &self,
        transition: Transition<'_>,
        base: &ManifestState,
    ) -> Result<PublishOutcome, ManifestError> {
        self.publish_staged(transition, base, None).await
    }

    /// Like [`Manifest::publish`], with what was staged ahead for it; that is used if it was staged
    /// over `base` and for the same change.
    ///
    /// # Errors
    /// As for [`Manifest::publish`].
    pub async fn publish_staged(
        &self,
        transition: Transition<'_>,
        base: &ManifestState,
        mut ahead: Option<StagedAhead>,
    ) -> Result<PublishOutcome, ManifestError> {
        let attempt = transition.attempt()?;
        let mut search = OutcomeSearch::of(&transition, base);
        let mut state = self.own(base);
        for _ in 0..SLOTS_LOST_MAX {
            let found = search.extend_to(&state).await?;
            let ready = match ahead.take().filter(|ahead| ahead.is_for(&transition, &state)) {
                Some(ahead) => ahead.ready,
                None => match self.decide(&transition, &state, &found)? {
                    Decision::Settled(settled) => return report_settled(settled, state).await,
                    Decision::Write { hot, report } => {
                        self.ready(&state, attempt, hot, report).await?
                    }
                },
            };
            let Ready { hot, report, staged } = ready;
            if let Some(landed) = self.land(&state, attempt, *hot, staged).await? {
                return Ok(report.over(landed));
            }
            debug!(%attempt, slot = state.version() + 1, "the manifest slot went to another");
            state = self.state().await?;
        }
        Err(ManifestError::Contended { attempt, slots: SLOTS_LOST_MAX })
    }

    /// Writes the data of a graph commit while its effects are still on their way: `delta` is what
    /// they will have achieved if they all land. Nothing can be seen of it, and it is garbage if
    /// they do not. None when there is nothing to stage; publishing then says why.
    pub async fn stage_ahead(
        &self,
        intent: &Intent,
        delta: &ManifestDelta,
        base: &ManifestState,
    ) -> Option<StagedAhead> {
        let state = self.own(base);
        let attempt = intent.attempt;
        let transition = Transition::Commit { intent, delta };
        let found = OutcomeSearch::of(&transition, base).extend_to(&state).await.ok()?;
        let Decision::Write { hot, report } = self.decide(&transition, &state, &found).ok()? else {
            return None;
        };
        let ready = self.ready(&state, attempt, hot, report).await.ok()?;
        let (over, delta) = (state.base().manifest.clone(), delta.clone());
        Some(StagedAhead { attempt, over, delta, ready })
    }

    /// The same state as this handle has it, so that the commit goes through its storage even when
    /// `base` came from another handle.
    fn own(&self, base: &ManifestState) -> ManifestState {
        let known = self.known_state();
        if known.base().manifest == base.base().manifest { known } else { base.clone() }
    }

    fn decide(
        &self,
        transition: &Transition<'_>,
        state: &ManifestState,
        found: &[OutcomeRow],
    ) -> Result<Decision, ManifestError> {
        let now_unix_us = self.env.unix_micros();
        let planted = self.store.planted();
        let ground = Ground { base: state.base(), hot: state.hot(), found, now_unix_us, planted };
        Ok(ground.decide(transition)?)
    }

    async fn ready(
        &self,
        state: &ManifestState,
        attempt: AttemptId,
        mut hot: Box<HotRows>,
        report: Report,
    ) -> Result<Ready, ManifestError> {
        let uuid = TxUuid::authority(attempt, self.env.random_u128());
        let staged = stage(state, &mut hot, uuid).await?;
        Ok(Ready { hot, report, staged })
    }

    /// One strict commit of `hot` over `state`; none when another took the slot.
    async fn land(
        &self,
        state: &ManifestState,
        attempt: AttemptId,
        hot: HotRows,
        staged: StagedCommit,
    ) -> Result<Option<ManifestState>, ManifestError> {
        let permit = CommitPermit::authority(attempt);
        let table = state.table();
        let verdict =
            settle(self.patience, || Box::pin(strict_commit(&permit, table, staged.clone())));
        match verdict.await {
            Ok(Verdict::SlotTaken) => Ok(None),
            Ok(Verdict::Landed(version, table)) => {
                let (facts, branch) = (state.facts().clone(), state.base().branch.clone());
                let landed = ManifestState::new(facts, hot, &version, table, branch)?;
                self.remember(&landed);
                Ok(Some(landed))
            }
            Err(LandingFault::NotSent(error)) => Err(error.into()),
            Err(LandingFault::Unknown(cause)) => {
                Err(ManifestError::Unknown { attempt, version: state.version() + 1, cause })
            }
        }
    }
}

/// Stages the replacement of the hot fragment. When it is full, older lineage goes to a cold
/// fragment in the same commit; the hot one is written last, so that it has the highest id.
async fn stage(
    state: &ManifestState,
    hot: &mut HotRows,
    uuid: TxUuid,
) -> Result<StagedCommit, ManifestError> {
    let mut removed = vec![state.hot_fragment()];
    let mut batches = Vec::new();
    if let Some(plan) = spill::plan(&hot.lineage_versions(), state.cold_fragments()) {
        let spilled = batch_of(&hot.take_lineage_before(plan.keep_from_version))?;
        batches.push(cold_batch(state, plan.absorbed.clone(), spilled).await?);
        removed.extend(plan.absorbed);
    }
    batches.push(batch_of(&hot.to_rows())?);
    Ok(Box::pin(stage_replace(state.table(), removed, batches, uuid)).await?)
}

async fn cold_batch(
    state: &ManifestState,
    absorbed: Vec<u64>,
    spilled: RecordBatch,
) -> Result<RecordBatch, ManifestError> {
    let mut parts = read_batches(state.table(), absorbed, None).await?;
    parts.push(spilled);
    Ok(concat_batches(&columns(), &parts).map_err(RowEncodeError::from)?)
}

impl Report {
    fn over(self, state: ManifestState) -> PublishOutcome {
        match self {
            Self::Committed(commit) => PublishOutcome::Committed { state, commit },
            Self::Aborted(outcomes) => PublishOutcome::Aborted { state, outcomes },
            Self::Sealed(outcome) => PublishOutcome::Sealed { state, outcome },
            Self::PinsMoved(fates) => PublishOutcome::PinsMoved { state, fates },
            Self::Discarded => PublishOutcome::Discarded { state },
        }
    }
}

async fn report_settled(
    settled: Settled,
    state: ManifestState,
) -> Result<PublishOutcome, ManifestError> {
    Ok(match settled {
        Settled::Converged(id) => {
            let missing = || Damage::MissingRow { kind: COMMIT, key: id.to_string() };
            let commit = Box::new(state.commit(id).await?.ok_or_else(missing)?);
            PublishOutcome::Committed { state, commit }
        }
        Settled::AlreadyDecided(outcome) => PublishOutcome::AlreadyDecided { state, outcome },
        Settled::OperationTaken(outcome) => PublishOutcome::OperationTaken { state, outcome },
        Settled::OperationSealed(outcome) => PublishOutcome::OperationSealed { state, outcome },
        Settled::SealedBefore(outcome) => PublishOutcome::Sealed { state, outcome },
        Settled::Stale(stale) => PublishOutcome::Stale { state, stale },
        Settled::PinsMoved(fates) => PublishOutcome::PinsMoved { state, fates },
        Settled::DiscardedBefore => PublishOutcome::Discarded { state },
    })
}

/// Collects the outcome rows of attempts and operations over the states of one publish. Each cold
/// fragment is read once; hot rows cost nothing.
struct OutcomeSearch<'a> {
    asked: Concerned<'a>,
    /// Cold fragments that need no search: their rows were known when the intent was armed, or have
    /// been found by this search.
    searched: BTreeSet<u64>,
    found: Vec<OutcomeRow>,
}

impl<'a> OutcomeSearch<'a> {
    fn of(transition: &'a Transition<'_>, base: &ManifestState) -> Self {
        let searched = match transition {
            Transition::Commit { intent, .. } | Transition::RollForward { intent, .. }
                if intent.manifest == base.base().manifest =>
            {
                base.cold_ids()
            }
            _ => Vec::new(),
        };
        let searched = searched.into_iter().collect();
        Self { asked: transition.concerns(), searched, found: Vec::new() }
    }

    async fn extend_to(&mut self, state: &ManifestState) -> Result<Vec<OutcomeRow>, ManifestError> {
        if self.asked.is_empty() {
            return Ok(Vec::new());
        }
        let added: Vec<u64> =
            state.cold_ids().into_iter().filter(|id| self.searched.insert(*id)).collect();
        let older = state.cold_outcomes(added, &self.asked).await?;
        self.found.extend(older);
        let hot = state.hot().outcomes_of(&self.asked);
        Ok(self.found.iter().chain(hot).cloned().collect())
    }
}
