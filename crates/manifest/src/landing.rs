//! Takes one strict commit to a verdict. Whoever takes the slot decides, so the cure for an unknown
//! answer is to want the same slot again; it must not know what is committed.

use std::time::Duration;

use futures::future::BoxFuture;
use graphwrite_substrate::{Cause, Landing, SubstrateError, TableHandle, TableVersion};
use tracing::debug;

/// How long an unknown answer is worked on before it is passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// How often the same slot is tried again.
    pub retries: u32,
    /// The first wait; each further one is twice as long.
    pub first_wait: Duration,
}

impl Default for Patience {
    /// Six more tries within about three seconds.
    fn default() -> Self {
        Self { retries: 6, first_wait: Duration::from_millis(50) }
    }
}

impl Patience {
    fn wait_before(&self, retry: u32) -> Duration {
        self.first_wait * 2u32.saturating_pow(retry.saturating_sub(1)).min(1 << 10)
    }
}

/// What a commit came to.
pub(crate) enum Verdict {
    Landed(TableVersion, TableHandle),
    /// Another holds the slot; this commit never will.
    SlotTaken,
}

pub(crate) enum LandingFault {
    /// No try was sent.
    NotSent(SubstrateError),
    /// A try may have landed and may land late.
    Unknown(Cause),
}

/// Calls `commit`, which tries one staged commit, until its fate is known or patience ends.
pub(crate) async fn settle<'a>(
    patience: Patience,
    commit: impl Fn() -> BoxFuture<'a, Result<Landing, SubstrateError>>,
) -> Result<Verdict, LandingFault> {
    let mut doubt: Option<Cause> = None;
    for retry in 0..=patience.retries {
        if let Some(cause) = &doubt {
            debug!(%cause, retry, "the answer to a manifest commit is unknown; trying its slot again");
            tokio::time::sleep(patience.wait_before(retry)).await;
        }
        doubt = Some(match commit().await {
            Ok(Landing::Landed { version, table }) => return Ok(Verdict::Landed(version, table)),
            // A slot that is gone does not say who had it, so it settles no doubt.
            Ok(Landing::SlotTaken { winner: None }) if doubt.is_some() => {
                "the slot was cleaned up before its owner was seen".into()
            }
            Ok(Landing::SlotTaken { .. }) => return Ok(Verdict::SlotTaken),
            Ok(Landing::Unknown(cause)) => cause,
            Err(error) if doubt.is_none() => return Err(LandingFault::NotSent(error)),
            Err(error) => error.into(),
        });
    }
    Err(LandingFault::Unknown(doubt.unwrap_or_else(|| "no try was made".into())))
}
