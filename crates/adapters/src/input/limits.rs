//! How much one request may hold. Exceeding it is refused before anything is armed.

use graphwrite_protocol_types::Answer;
use thiserror::Error;

/// Bounds of one load or mutation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoadLimits {
    /// Rows in all tables together; at most 2^32 - 1, whatever is set.
    pub rows_max: u64,
    /// Bytes of memory that a request may take for its rows and the indexes over them, apart from what
    /// the storage engine needs; at least 64 KiB, whatever is set. The rows of a load that do not fit
    /// go to a temporary file, and questions about them are asked in several passes.
    pub bytes_max: u64,
    /// Tables with at least one row.
    pub tables_max: usize,
}

impl Default for LoadLimits {
    fn default() -> Self {
        Self { rows_max: u32::MAX.into(), bytes_max: 512 << 20, tables_max: 1_024 }
    }
}

impl LoadLimits {
    fn bytes(&self) -> u64 {
        self.bytes_max.max(64 << 10)
    }

    /// Bytes of decoded rows that stay in memory. The same again is left for batches on their way.
    pub(crate) fn rows_share(&self) -> u64 {
        self.bytes() / 4
    }

    /// Bytes of rows that make one batch. Small ones are better kept apart by the allocator, which would
    /// hold on to large ones after their use.
    pub(crate) fn batch_share(&self) -> u64 {
        let share = self.rows_share();
        (share / 32).max((share / 4).min(256 << 10))
    }

    /// Bytes of the indexes over keys that are kept.
    pub(crate) fn keys_share(&self) -> u64 {
        self.bytes() / 8
    }

    /// Bytes of one index that is built for a question.
    pub(crate) fn index_share(&self) -> u64 {
        self.bytes() / 4
    }
}

/// A request is larger than allowed; nothing was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LimitExceeded {
    /// Too many rows.
    #[error("the input has more than {max} rows; split it into several requests")]
    Rows {
        /// The limit.
        max: u64,
    },
    /// Too much memory, for a request that cannot be put on disk.
    #[error("the request takes more than {max} bytes of memory; split it")]
    Bytes {
        /// The limit, in bytes.
        max: u64,
    },
    /// Too many tables.
    #[error("the input has rows of more than {max} types; split it into several requests")]
    Tables {
        /// The limit.
        max: usize,
    },
}

impl Answer for LimitExceeded {
    fn code(&self) -> &'static str {
        "limit_exceeded"
    }

    fn may_retry(&self) -> bool {
        false
    }

    fn had_no_effect(&self) -> bool {
        true
    }

    fn help(&self) -> String {
        "the graph is unchanged; split the input into several requests".into()
    }
}

/// What a request holds so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct Usage {
    pub(crate) rows: u64,
    pub(crate) bytes: u64,
    pub(crate) tables: usize,
}

impl Usage {
    pub(crate) fn check(&self, limits: &LoadLimits) -> Result<(), LimitExceeded> {
        // Rows are numbered in 32 bits.
        let rows_max = limits.rows_max.min(u32::MAX.into());
        if self.rows > rows_max {
            return Err(LimitExceeded::Rows { max: rows_max });
        }
        if self.bytes > limits.bytes() {
            return Err(LimitExceeded::Bytes { max: limits.bytes() });
        }
        if self.tables > limits.tables_max {
            return Err(LimitExceeded::Tables { max: limits.tables_max });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_limit_lets_row_numbers_overflow() {
        let limits = LoadLimits { rows_max: u64::MAX, ..LoadLimits::default() };
        let usage = |rows| Usage { rows, ..Usage::default() };
        assert_eq!(usage(u64::from(u32::MAX)).check(&limits), Ok(()));
        let refused = Err(LimitExceeded::Rows { max: u32::MAX.into() });
        assert_eq!(usage(u64::from(u32::MAX) + 1).check(&limits), refused);
    }
}
