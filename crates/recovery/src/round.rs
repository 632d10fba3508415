//! One round of the interpreter: a look at all open intents, and what was decided performed in
//! groups. A group has one durable effect on the manifest, or one per ref, so that no two steps of a
//! round want the same slot.

use graphwrite_protocol_types::{AttemptId, Failpoint, Intent, Pin};

use crate::classify::{Decision, Wait};
use crate::facts::{AttemptOutcome, Authority};
use crate::interpreter::{Ended, Interpreter};
use crate::look::{Look, Subject};
use crate::port::{Aborting, Publishing, Recorded, RecoveryPort, Retired};
use crate::resolution::{Resolution, StopReason, stopped};
use crate::rule::Verdict;
use crate::side_by_side::side_by_side;
use crate::track::Track;

/// An intent with what the last look found.
pub(crate) struct Seen<'a> {
    pub(crate) track: Track<'a>,
    pub(crate) look: Look,
}

impl<'a> Seen<'a> {
    pub(crate) fn intent(&self) -> &'a Intent {
        self.track.intent()
    }
}

/// What is looked at again, and when.
#[derive(Default)]
pub(crate) struct After<'a> {
    /// In the next round.
    pub(crate) again: Vec<Track<'a>>,
    /// Each in a round of its own, to be published.
    pub(crate) complete: Vec<Track<'a>>,
    /// When nothing is left to be published.
    pub(crate) later: Vec<Track<'a>>,
    /// How long something has not answered, in idle looks.
    unanswered: Option<u32>,
}

impl<'a> After<'a> {
    pub(crate) fn settle(&mut self, mut track: Track<'a>, next: Next) {
        match next {
            Next::Look => {}
            Next::Lost => track.forget_seen(),
            Next::Pause(cause) => {
                track.note_trouble(cause);
                self.unanswered = self.unanswered.max(Some(track.idle_looks()));
            }
        }
        self.again.push(track);
    }

    /// Nothing was tried for these.
    fn put_off(&mut self, sorted: Sorted<'a>) {
        let Sorted { to_abort, to_compensate, outdated, .. } = sorted;
        let all = to_abort.into_iter().chain(to_compensate).chain(outdated);
        self.later.extend(all.map(untried));
    }
}

pub(crate) fn untried(mut seen: Seen<'_>) -> Track<'_> {
    seen.track.forget_seen();
    seen.track
}

/// What one performed decision leads to.
#[derive(Debug, Clone)]
pub(crate) enum Next {
    /// Look again.
    Look,
    /// Look again: somebody else took the manifest slot, which is progress, but theirs.
    Lost,
    /// Look again after a pause: something did not answer.
    Pause(String),
}

/// Intents by what was decided about them.
#[derive(Default)]
struct Sorted<'a> {
    /// Only records are left to delete.
    endings: Vec<Seen<'a>>,
    orphans: Vec<Seen<'a>>,
    complete: Vec<Seen<'a>>,
    to_abort: Vec<Seen<'a>>,
    to_compensate: Vec<Seen<'a>>,
    outdated: Vec<Seen<'a>>,
}

impl<'a> Sorted<'a> {
    /// What is waited for or refused ends here.
    fn of<E>(all: Vec<Seen<'a>>, ended: &mut Ended<E>) -> Self {
        let mut sorted = Self::default();
        for seen in all {
            let group = match &seen.look.judgement.decision {
                Decision::Finalize | Decision::RetireEmpty => &mut sorted.endings,
                Decision::DiscardOrphan => &mut sorted.orphans,
                Decision::RollForward => &mut sorted.complete,
                Decision::Abort => &mut sorted.to_abort,
                Decision::Compensate(_) => &mut sorted.to_compensate,
                Decision::Wait(Wait::Evidence) => &mut sorted.outdated,
                Decision::Wait(wait) => {
                    let waiting = Resolution::Waiting(*wait);
                    ended.add(seen.track, waiting);
                    continue;
                }
                Decision::Refuse { effect, reason } => {
                    let reason = StopReason::Refused(*reason);
                    let refused = stopped(seen.intent(), &seen.look, *effect, reason);
                    ended.add(seen.track, refused);
                    continue;
                }
            };
            group.push(seen);
        }
        sorted
    }
}

impl<P: RecoveryPort> Interpreter<'_, P> {
    /// A look at `open`, and what it leads to. While others wait for complete attempts to be
    /// published (`publishing`), nothing is taken back, so that all that is to be taken back is so
    /// together.
    pub(crate) async fn round<'t>(
        &self,
        mut open: Vec<Track<'t>>,
        publishing: bool,
        ended: &mut Ended<P::Error>,
    ) -> Result<After<'t>, P::Error> {
        open.sort_by_key(Track::attempt);
        let seen = self.seen(open, ended).await?;
        let mut sorted = Sorted::of(seen, ended);
        let mut after = After::default();
        self.end(std::mem::take(&mut sorted.endings), ended).await?;
        self.discard(std::mem::take(&mut sorted.orphans), &mut after, ended).await?;
        let mut complete = std::mem::take(&mut sorted.complete).into_iter();
        let first = complete.next();
        after.complete.extend(complete.map(untried));
        let publishing = publishing || first.is_some();
        if let Some(first) = first {
            self.roll_forward(first, &mut after, ended).await?;
        }
        if publishing {
            after.put_off(sorted);
        } else {
            self.take_back(sorted, &mut after, ended).await?;
        }
        if let Some(idle_looks) = after.unanswered {
            self.port.pause(self.waits.backoff_ms(idle_looks)).await;
        }
        Ok(after)
    }

    /// Looks, and gives up those of which looks have shown the same for too long.
    async fn seen<'t>(
        &self,
        open: Vec<Track<'t>>,
        ended: &mut Ended<P::Error>,
    ) -> Result<Vec<Seen<'t>>, P::Error> {
        let subjects: Vec<Subject<'t>> = open.iter().map(Track::subject).collect();
        let found = self.look(&subjects).await?;
        note_fault(ended, found.fault);
        let mut all = Vec::new();
        for (mut track, look) in open.into_iter().zip(found.looks) {
            let Some(look) = look else { continue };
            track.note(&look);
            if track.is_exhausted() {
                let given_up = track.without_progress(&look);
                ended.add(track, given_up);
            } else {
                all.push(Seen { track, look });
            }
        }
        Ok(all)
    }

    /// Deletes the records of attempts whose outcome is durable and complete, or that had no effect
    /// and can have none.
    async fn end(
        &self,
        endings: Vec<Seen<'_>>,
        ended: &mut Ended<P::Error>,
    ) -> Result<(), P::Error> {
        let is_final = |seen: &Seen<'_>| seen.look.judgement.decision == Decision::Finalize;
        let Some(right) = Publishing::of(self.mode) else {
            for seen in endings {
                let final_ = is_final(&seen);
                forbid(seen, if final_ { Verdict::Finalize } else { Verdict::RetireEmpty }, ended);
            }
            return Ok(());
        };
        if endings.iter().any(is_final) {
            self.port.reach(Failpoint::RecoveryPreRetire).await?;
        }
        let deletions = endings
            .iter()
            .map(|seen| self.port.retire(right, seen.track.attempt(), seen.track.pending.records));
        let retired = side_by_side(self.width, deletions).await;
        for (seen, retired) in endings.into_iter().zip(retired) {
            let resolution = end_of(&seen, retired);
            ended.add(seen.track, resolution);
        }
        Ok(())
    }

    /// Records on main that the intents of deleted branches are discarded, all of them in one
    /// manifest commit, and then deletes their records. Nothing else of them is touched: a fork may
    /// pin what they made.
    async fn discard<'t>(
        &self,
        orphans: Vec<Seen<'t>>,
        after: &mut After<'t>,
        ended: &mut Ended<P::Error>,
    ) -> Result<(), P::Error> {
        if orphans.is_empty() {
            return Ok(());
        }
        let Some(full) = self.full() else {
            orphans.into_iter().for_each(|seen| forbid(seen, Verdict::DiscardOrphan, ended));
            return Ok(());
        };
        let intents: Vec<&Intent> = orphans.iter().map(Seen::intent).collect();
        let recorded = self.port.audit_orphans(full, &intents).await?;
        if !matches!(recorded, Recorded::Landed(_)) {
            let next = after_record(recorded);
            orphans.into_iter().for_each(|seen| after.settle(seen.track, next.clone()));
            return Ok(());
        }
        self.port.reach(Failpoint::RecoveryPreRetire).await?;
        let deletions = orphans.iter().map(|seen| {
            self.port.retire(full.into(), seen.track.attempt(), seen.track.pending.records)
        });
        let retired = side_by_side(self.width, deletions).await;
        for (seen, retired) in orphans.into_iter().zip(retired) {
            ended.add(seen.track, Resolution::Discarded { retired });
        }
        Ok(())
    }

    /// Publishes the graph commit of an attempt. Only of one after a look: the commit makes every
    /// other decision of it old.
    async fn roll_forward<'t>(
        &self,
        mut seen: Seen<'t>,
        after: &mut After<'t>,
        ended: &mut Ended<P::Error>,
    ) -> Result<(), P::Error> {
        let right = Publishing::of(self.mode);
        let (Some(right), Some(over)) = (right, manifest_of(&seen.look)) else {
            forbid(seen, Verdict::RollForward, ended);
            return Ok(());
        };
        let delta = seen.look.delta(seen.intent());
        let recorded = self.port.publish(right, seen.intent(), over, &delta).await?;
        seen.track.published |= matches!(recorded, Recorded::Landed(_));
        after.settle(seen.track, after_record(recorded));
        Ok(())
    }

    async fn take_back<'t>(
        &self,
        sorted: Sorted<'t>,
        after: &mut After<'t>,
        ended: &mut Ended<P::Error>,
    ) -> Result<(), P::Error> {
        let stays = "the evidence stays older than the authority";
        for seen in sorted.outdated {
            after.settle(seen.track, Next::Pause(stays.into()));
        }
        if sorted.to_abort.is_empty() {
            return self.compensate(sorted.to_compensate, after, ended).await;
        }
        // The commit of `aborted` makes what was decided about the others old.
        after.again.extend(sorted.to_compensate.into_iter().map(untried));
        self.abort(sorted.to_abort, after, ended).await
    }

    /// Makes `aborted` durable for all of these in one manifest commit.
    async fn abort<'t>(
        &self,
        to_abort: Vec<Seen<'t>>,
        after: &mut After<'t>,
        ended: &mut Ended<P::Error>,
    ) -> Result<(), P::Error> {
        let over = to_abort.first().and_then(|seen| manifest_of(&seen.look)).cloned();
        let (Some(full), Some(over)) = (self.full(), over) else {
            to_abort.into_iter().for_each(|seen| forbid(seen, Verdict::Abort, ended));
            return Ok(());
        };
        // An attempt that was retired as empty since it was listed needs no row.
        let listing = self.port.list_records().await?;
        let is_there = |seen: &Seen<'_>| {
            listing.records.get(&seen.track.attempt()).is_some_and(|records| records.intent)
        };
        let (to_abort, gone): (Vec<_>, Vec<_>) = to_abort.into_iter().partition(is_there);
        gone.into_iter().for_each(|seen| ended.add(seen.track, Resolution::Vanished));
        if to_abort.is_empty() {
            return Ok(());
        }
        let aborting = to_abort.iter().map(|seen| Aborting {
            intent: seen.intent(),
            reason: seen.look.judgement.summary.obstacle(),
        });
        let aborting: Vec<_> = aborting.collect();
        let recorded = self.port.record_aborted(full, &aborting, &over).await?;
        if matches!(recorded, Recorded::Landed(_)) {
            self.port.reach(Failpoint::RecoveryPostAbort).await?;
        }
        let next = after_record(recorded);
        to_abort.into_iter().for_each(|seen| after.settle(seen.track, next.clone()));
        Ok(())
    }
}

pub(crate) fn note_fault<E>(ended: &mut Ended<E>, fault: Option<(AttemptId, E)>) {
    if let Some(fault) = fault {
        ended.fault.get_or_insert(fault);
    }
}

pub(crate) fn forbid<E>(seen: Seen<'_>, verdict: Verdict, ended: &mut Ended<E>) {
    let forbidden = seen.track.forbidden(&seen.look, verdict);
    ended.add(seen.track, forbidden);
}

/// How an attempt ended of which only records are left.
fn end_of(seen: &Seen<'_>, retired: Retired) -> Resolution {
    let rolled_forward = seen.track.published;
    match (&seen.look.judgement.decision, seen.look.authority.outcome) {
        (Decision::RetireEmpty, _) => Resolution::Empty { retired },
        (_, AttemptOutcome::Committed { commit }) => {
            Resolution::Committed { commit, rolled_forward, retired }
        }
        _ => Resolution::RolledBack { retired },
    }
}

pub(crate) fn manifest_of(look: &Look) -> Option<&Pin> {
    match &look.authority.authority {
        Authority::Branch(view) => Some(&view.manifest),
        Authority::BranchGone => None,
    }
}

pub(crate) fn after_record(recorded: Recorded) -> Next {
    match recorded {
        Recorded::Landed(_) => Next::Look,
        Recorded::Lost => Next::Lost,
        Recorded::Unknown { cause } => Next::Pause(cause),
    }
}
