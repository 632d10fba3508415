//! The system's clock and randomness: the one place that asks for them.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use graphwrite_protocol_types::Env;

/// The environment of a real process.
#[derive(Debug)]
pub struct SystemEnv {
    start: Instant,
}

impl SystemEnv {
    /// The environment of this process.
    pub fn new() -> Self {
        Self { start: Instant::now() }
    }
}

impl Default for SystemEnv {
    fn default() -> Self {
        Self::new()
    }
}

impl Env for SystemEnv {
    fn unix_micros(&self) -> u64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
    }

    fn monotonic_micros(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    fn random_u128(&self) -> u128 {
        let mut bytes = [0; 16];
        // Ids must never repeat (K4): without randomness no write may go on.
        getrandom::fill(&mut bytes).expect("the operating system gives randomness");
        u128::from_le_bytes(bytes)
    }
}
