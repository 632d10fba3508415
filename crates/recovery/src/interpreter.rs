//! The one recovery interpreter: it takes intents to their end, all that a barrier met at once, or
//! the one whose owner failed. It looks, decides, performs, and looks again; it remembers no fact
//! between two looks, so that any process can go on where another one died.
//!
//! A look reads once what several intents share; each intent is classified by itself. Then what was
//! decided is performed in groups, with one manifest commit after a look at most, since a commit
//! makes every other decision over that state old. What is complete is published first, one graph
//! commit each. Of the others, all that are to be aborted are aborted by one commit; then their
//! slots are closed; then one commit moves all pins and records all `rolled_back`.
//!
//! A step that was refused or never answered is not judged here: the next look sees what it did. An
//! `Unknown` is never taken for a proof. An intent whose looks stop showing progress is given up; it
//! holds up no other.

use std::collections::VecDeque;

use graphwrite_protocol_types::{AttemptId, Full, Intent, RecoveryMode};

use crate::look::{Looks, Subject, look_at};
use crate::port::{RecordSet, RecoveryPort};
use crate::resolution::Resolution;
use crate::side_by_side::WIDTH;
use crate::track::{Pending, Track};
use crate::wait::{Owner, WaitRules};

/// Takes intents of one branch to their end.
#[derive(Debug)]
pub struct Interpreter<'a, P> {
    pub(crate) port: &'a P,
    pub(crate) mode: &'a RecoveryMode,
    pub(crate) waits: &'a WaitRules,
    /// How many calls may be under way at a time.
    pub(crate) width: usize,
    #[cfg(test)]
    pub(crate) defect: crate::tests::defect::Defect,
}

/// How several intents ended.
#[derive(Debug)]
pub struct Ended<E> {
    /// Each intent that was taken up, but for those that met a fault.
    pub resolutions: Vec<(AttemptId, Resolution)>,
    /// The first fault that concerned single intents, with the attempt of one of them. These are as
    /// they were or further; the others were taken to their end all the same.
    pub fault: Option<(AttemptId, E)>,
}

impl<E> Default for Ended<E> {
    fn default() -> Self {
        Self { resolutions: Vec::new(), fault: None }
    }
}

impl<E> Ended<E> {
    pub(crate) fn add(&mut self, track: Track<'_>, resolution: Resolution) {
        self.resolutions.push(track.end(resolution));
    }
}

impl<'a, P: RecoveryPort> Interpreter<'a, P> {
    /// An interpreter over `port` that performs what `mode` allows.
    pub fn new(port: &'a P, mode: &'a RecoveryMode, waits: &'a WaitRules) -> Self {
        Self {
            port,
            mode,
            waits,
            width: WIDTH,
            #[cfg(test)]
            defect: crate::tests::defect::Defect::None,
        }
    }

    /// Takes `intent` to its end, or as far as it goes. `records` are its control records as last
    /// listed; an owner that resolves its own attempt passes what it created.
    ///
    /// # Errors
    /// A fault of the port. The intent is as it was or further; the pass can be repeated.
    pub async fn resolve(
        &self,
        intent: &Intent,
        records: &RecordSet,
        owner: &Owner,
    ) -> Result<Resolution, P::Error> {
        let ended = self.resolve_all(&[Pending { intent, records, owner }]).await?;
        match (ended.resolutions.into_iter().next(), ended.fault) {
            (Some((_, resolution)), _) => Ok(resolution),
            (None, Some((_, fault))) => Err(fault),
            // One intent ends or meets a fault; if it did neither, it is as it was.
            (None, None) => Ok(Resolution::Vanished),
        }
    }

    /// Takes each of these intents to its end, or as far as it goes. The result for each is what
    /// resolving them one by one could have come to. The order of the results is not that of
    /// `pending`.
    ///
    /// # Errors
    /// A fault of the port that concerns them all. They are as they were or further.
    pub async fn resolve_all(&self, pending: &[Pending<'_>]) -> Result<Ended<P::Error>, P::Error> {
        let mut ended = Ended::default();
        let mut now: Vec<Track<'_>> = pending.iter().copied().map(Track::new).collect();
        // Those that were complete when they were last seen, and those that are looked at again when
        // nothing is left to be published.
        let (mut complete, mut later) = (VecDeque::new(), Vec::new());
        while !now.is_empty() {
            let publishing = !(complete.is_empty() && later.is_empty());
            let after = Box::pin(self.round(now, publishing, &mut ended)).await?;
            now = after.again;
            complete.extend(after.complete);
            later.extend(after.later);
            match complete.pop_front() {
                Some(next) => now.push(next),
                None => now.append(&mut later),
            }
        }
        Ok(ended)
    }

    #[cfg(not(test))]
    pub(crate) async fn look(&self, subjects: &[Subject<'_>]) -> Result<Looks<P::Error>, P::Error> {
        look_at(self.port, subjects, self.waits, self.width).await
    }

    #[cfg(test)]
    pub(crate) async fn look(&self, subjects: &[Subject<'_>]) -> Result<Looks<P::Error>, P::Error> {
        match self.defect {
            crate::tests::defect::Defect::None => {
                look_at(self.port, subjects, self.waits, self.width).await
            }
            defect => defect.look_at(self.port, subjects, self.waits, self.width).await,
        }
    }

    pub(crate) fn full(&self) -> Option<&'a Full> {
        match self.mode {
            RecoveryMode::Full(full) => Some(full),
            RecoveryMode::Probe | RecoveryMode::RollForward(_) => None,
        }
    }
}
