//! The states that the commits of the history left: each opens as it was, and names versions that must
//! still be there (time travel). One state is held at a time.

use std::collections::BTreeMap;

use futures::future::join_all;
use graphwrite_manifest::{CommitRow, History, ManifestError, ManifestState, PastState};
use graphwrite_protocol_types::{CommitId, DatasetPath, LiveHead, PhysicalRef, Pin};
use graphwrite_schema::GraphSchema;

use super::chain::RefFacts;
use super::kinds;
use crate::core::Core;
use crate::report::Finding;

const OPENED_AT_ONCE: usize = 8;

/// What the states published.
#[derive(Debug, Default)]
pub(crate) struct Published {
    pub(crate) refs: BTreeMap<(DatasetPath, PhysicalRef), RefFacts>,
    pub(crate) findings: Vec<Finding>,
}

impl Published {
    /// What the commits of `history` published, and the current `state`.
    pub(crate) async fn of(
        core: &Core,
        history: &History,
        state: &ManifestState,
        schema: &GraphSchema,
    ) -> Self {
        let mut published = Self::default();
        let mut gone = Vec::new();
        let mut opened = false;
        for rows in history.commits.chunks(OPENED_AT_ONCE) {
            let states = join_all(rows.iter().map(|row| core.manifest.state_at(row))).await;
            for (row, past) in rows.iter().zip(states) {
                match past {
                    Ok(PastState::Found(past)) => {
                        opened = true;
                        published.state(&past, Some(row.commit), schema);
                    }
                    Ok(PastState::Other { found }) => published.other(row, &found),
                    Ok(_) if opened => published.findings.push(version_gone(row)),
                    Ok(_) => gone.push(row),
                    Err(error) => published.unreadable(row, &error),
                }
            }
        }
        published.findings.extend(removed(&gone));
        published.state(state, None, schema);
        published
    }

    fn state(&mut self, state: &ManifestState, commit: Option<CommitId>, schema: &GraphSchema) {
        for head in state.base().heads.values() {
            let Some(live) = head.live() else { continue };
            let facts = self.facts(live, schema);
            facts.pins.entry((live.pin.version, live.pin.tx_uuid.clone())).or_insert(commit);
            if commit.is_none() {
                facts.head = Some(live.pin.clone());
            }
        }
    }

    fn other(&mut self, row: &CommitRow, found: &Pin) {
        let message = format!("version {} of the manifest is {found}", row.manifest_version);
        self.findings.push(kinds::OTHER_VERSION.at(place(row), message));
    }

    fn unreadable(&mut self, row: &CommitRow, error: &ManifestError) {
        self.findings.push(kinds::UNREADABLE_COMMIT.at(place(row), error.to_string()));
    }

    fn facts(&mut self, live: &LiveHead, schema: &GraphSchema) -> &mut RefFacts {
        let place = (live.path.clone(), live.physical_ref.clone());
        self.refs.entry(place).or_insert_with(|| {
            let declared = schema.types().iter().find(|it| it.identity == live.identity);
            RefFacts {
                identity: live.identity,
                name: declared.map_or_else(|| live.path.to_string(), |it| it.name.clone()),
                path: live.path.clone(),
                physical_ref: live.physical_ref.clone(),
                pins: BTreeMap::new(),
                head: None,
            }
        })
    }
}

fn place(row: &CommitRow) -> String {
    row.commit.to_string()
}

fn version_gone(row: &CommitRow) -> Finding {
    let message = format!("version {} of the manifest is gone", row.manifest_version);
    kinds::VERSION_GONE.at(place(row), message)
}

/// The oldest commits, whose versions were removed.
fn removed(gone: &[&CommitRow]) -> Option<Finding> {
    let (first, last) = (gone.first()?, gone.last()?);
    let message = format!("{} commits up to {} cannot be opened", gone.len(), last.commit);
    Some(kinds::HISTORY_REMOVED.at(place(first), message))
}
