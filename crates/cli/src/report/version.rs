//! What this build is.

use graphwrite_protocol_types::{FEATURES, FORMAT};
use serde::Serialize;

use crate::render::{Block, Cell, Report};

/// The tool's version and what it understands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Version {
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
    /// The format that this build writes, and the newest that it reads.
    pub(crate) format: u32,
    /// Features of the format that it understands.
    pub(crate) features: Vec<&'static str>,
    /// Whether this build can be told to fail, for tests.
    pub(crate) failpoints: bool,
}

impl Version {
    pub(crate) fn of_this_build() -> Self {
        Self {
            name: "graphwrite",
            version: env!("CARGO_PKG_VERSION"),
            format: FORMAT,
            features: FEATURES.to_vec(),
            failpoints: cfg!(feature = "failpoints"),
        }
    }
}

impl Report for Version {
    fn blocks(&self) -> Vec<Block> {
        let features = (!self.features.is_empty()).then(|| self.features.join(", "));
        let mut facts = vec![
            ("name", Cell::text(self.name)),
            ("version", Cell::text(self.version)),
            ("format", Cell::number(self.format.into())),
            ("features", Cell::optional(features)),
        ];
        if self.failpoints {
            facts.push(("failpoints", Cell::text("yes")));
        }
        vec![Block::Facts(facts)]
    }
}
