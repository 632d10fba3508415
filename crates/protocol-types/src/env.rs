//! The only source of time and randomness, injected so that tests replay exactly.

/// Clock and randomness of a process.
pub trait Env: Send + Sync + std::fmt::Debug {
    /// Microseconds since the Unix epoch. For display and age only, never for safety.
    fn unix_micros(&self) -> u64;

    /// Microseconds on a clock that never goes back, from an arbitrary start.
    fn monotonic_micros(&self) -> u64;

    /// Fresh random bits.
    fn random_u128(&self) -> u128;

    /// Milliseconds since the Unix epoch.
    fn unix_millis(&self) -> u64 {
        self.unix_micros() / 1_000
    }
}
