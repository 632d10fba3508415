//! What can be said about who holds and who waits. Owns the words for people; decides nothing.

use std::fmt;

use thiserror::Error;

use crate::{GateKey, GateMode};

/// An attempt that holds a gate.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct GateHolder {
    /// The label under which it acquired, normally its attempt id.
    pub label: String,
    /// The gate that it holds.
    pub key: GateKey,
    /// How it holds it.
    pub mode: GateMode,
    /// Microseconds since the grant.
    pub age_us: u64,
}

impl fmt::Display for GateHolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { label, key, mode, age_us } = self;
        write!(f, "`{label}` holds {key} ({mode}) for {age_us} us")
    }
}

/// An attempt that waits for a gate. It holds nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct GateWaiter {
    /// The label under which it asked, normally its attempt id.
    pub label: String,
    /// The first gate, in acquisition order, at which its turn has not come.
    pub key: GateKey,
    /// How it wants it.
    pub mode: GateMode,
    /// Microseconds since it asked.
    pub age_us: u64,
}

/// The bound of a wait was reached before the set was granted. Nothing is held and nothing has
/// happened: the attempt may be tried again as it is, or answered as contended.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub struct GateTimeout {
    /// The label of the attempt that gave up.
    pub label: String,
    /// The first gate, in acquisition order, at which its turn did not come.
    pub key: GateKey,
    /// How it wanted that gate.
    pub mode: GateMode,
    /// Microseconds that it waited.
    pub waited_us: u64,
    /// Those that hold what it, or an older request before it, waits for. Never empty.
    pub holders: Vec<GateHolder>,
    /// How many older requests wait before it, directly or behind one another.
    pub waiters_ahead: usize,
}

impl GateTimeout {
    /// More holders than this are counted in the message, not listed.
    const LISTED_MAX: usize = 3;
}

impl fmt::Display for GateTimeout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { label, key, mode, waited_us, waiters_ahead, .. } = self;
        write!(f, "`{label}` waited {waited_us} us for {key} ({mode}) in this process: ")?;
        write!(f, "{waiters_ahead} older requests wait before it")?;
        for holder in self.holders.iter().take(Self::LISTED_MAX) {
            write!(f, "; {holder}")?;
        }
        match self.holders.len().saturating_sub(Self::LISTED_MAX) {
            0 => {}
            more => write!(f, "; and {more} more")?,
        }
        write!(f, ". Nothing was changed; try again when they are done, or allow a longer wait")
    }
}
