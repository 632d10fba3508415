//! Where a test may stop, fail or kill a write. A production handle has [`NoHooks`].

use async_trait::async_trait;
use graphwrite_protocol_types::Failpoint;
use thiserror::Error;

/// A failpoint was told to fail here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("failpoint {0} was told to fail")]
pub struct Injected(pub Failpoint);

/// Called at every failpoint of the write path.
#[async_trait]
pub trait Hooks: Send + Sync + std::fmt::Debug {
    /// The write has reached `point`. It goes on when this returns `Ok`.
    async fn reach(&self, point: Failpoint) -> Result<(), Injected>;

    /// Whether `point` matters to this hook; effects run one after the other if
    /// [`Failpoint::PostEffect`] does.
    fn wants(&self, point: Failpoint) -> bool;
}

/// Lets everything pass.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoHooks;

#[async_trait]
impl Hooks for NoHooks {
    async fn reach(&self, _: Failpoint) -> Result<(), Injected> {
        Ok(())
    }

    fn wants(&self, _: Failpoint) -> bool {
        false
    }
}
