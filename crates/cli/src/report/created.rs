//! The receipt of `init`.

use serde::Serialize;

use crate::render::{Block, Cell, Report, Tone};

/// A graph that was created.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Created {
    /// Always `created`.
    pub(crate) outcome: &'static str,
    pub(crate) root: String,
    pub(crate) domain: String,
    pub(crate) format: u32,
    pub(crate) schema: String,
    pub(crate) branch: String,
    pub(crate) manifest_version: u64,
    pub(crate) node_types: Vec<String>,
    pub(crate) edge_types: Vec<String>,
}

impl Report for Created {
    fn blocks(&self) -> Vec<Block> {
        let facts = vec![
            ("outcome", Cell::text(self.outcome).toned(Tone::Good)),
            ("graph", Cell::text(&self.root)),
            ("domain", Cell::text(&self.domain)),
            ("format", Cell::number(self.format.into())),
            ("schema", Cell::text(&self.schema)),
            ("branch", Cell::text(&self.branch)),
            ("manifest", Cell::number(self.manifest_version)),
            ("nodes", Cell::text(self.node_types.join(", "))),
            ("edges", Cell::text(self.edge_types.join(", "))),
        ];
        vec![Block::Facts(facts)]
    }
}
