//! The format stamp: what a binary must understand before it may touch a graph (design 01
//! section 3). It is part of the commit that creates the graph.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The format that this build writes.
pub const FORMAT: u32 = 1;

/// The features that this build understands.
pub const FEATURES: &[&str] = &[];

/// What a graph needs from a binary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FormatStamp {
    /// The format's number.
    pub format: u32,
    /// The lowest format that a reader must know.
    pub min_reader: u32,
    /// The lowest format that a writer must know.
    pub min_writer: u32,
    /// Features that a binary must know by name.
    pub features: Vec<String>,
}

/// What a caller wants to do with a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Read only.
    Read,
    /// Read and write.
    Write,
}

/// This build does not understand the graph; nothing was read or written.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FormatRefused {
    /// The graph needs a newer format.
    #[error("the graph needs format {needed} to {action}; this build knows format {known}")]
    TooNew {
        /// The needed format.
        needed: u32,
        /// The format of this build.
        known: u32,
        /// What was asked for.
        action: &'static str,
    },
    /// The graph uses a feature that this build does not know.
    #[error("the graph uses feature `{feature}`, which this build does not know")]
    UnknownFeature {
        /// The feature.
        feature: String,
    },
}

impl FormatStamp {
    /// The stamp of a graph made by this build.
    pub fn current() -> Self {
        let features = FEATURES.iter().map(|feature| (*feature).to_owned()).collect();
        Self { format: FORMAT, min_reader: FORMAT, min_writer: FORMAT, features }
    }

    /// Whether this build may use the graph for `purpose`.
    ///
    /// # Errors
    /// What the build does not understand.
    pub fn admit(&self, purpose: Purpose) -> Result<(), FormatRefused> {
        let (needed, action) = match purpose {
            Purpose::Read => (self.min_reader, "read"),
            Purpose::Write => (self.min_writer.max(self.min_reader), "write"),
        };
        if needed > FORMAT {
            return Err(FormatRefused::TooNew { needed, known: FORMAT, action });
        }
        let unknown = self.features.iter().find(|feature| !FEATURES.contains(&feature.as_str()));
        match unknown {
            Some(feature) => Err(FormatRefused::UnknownFeature { feature: feature.clone() }),
            None => Ok(()),
        }
    }
}
