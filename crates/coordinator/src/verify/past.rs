//! The states that the commits of the history left: each opens as it was, and names versions that must
//! still be there (time travel). One state is held at a time.

use std::collections::BTreeMap;

use futures::future::join_all;
use graphwrite_manifest::{CommitRow, History, ManifestError, ManifestState, PastState};
use graphwrite_protocol_types::{CommitId, DatasetPath, LiveHead, PhysicalRef, Pin};

use super::chain::RefFacts;
use super::kinds;
use super::line::Line;
use crate::report::Finding;

const OPENED_AT_ONCE: usize = 8;

/// What the states published.
#[derive(Debug, Default)]
pub(crate) struct Published {
    pub(crate) refs: BTreeMap<(DatasetPath, PhysicalRef), RefFacts>,
    pub(crate) findings: Vec<Finding>,
}

impl Published {
    /// What the commits of `history`, a part of the line, published, and the current state of it.
    pub(crate) async fn of(line: &Line, history: &History) -> Self {
        let mut published = Self::default();
        let mut gone = Vec::new();
        let mut opened = false;
        for rows in history.commits.chunks(OPENED_AT_ONCE) {
            let states = join_all(rows.iter().map(|row| line.core.manifest.state_at(row))).await;
            for (row, past) in rows.iter().zip(states) {
                match past {
                    Ok(PastState::Found(past)) => {
                        opened = true;
                        published.state(&past, Some(row.commit), line);
                    }
                    Ok(PastState::Other { found }) => published.other(row, &found),
                    Ok(_) if opened => published.findings.push(version_gone(row)),
                    Ok(_) => gone.push(row),
                    Err(error) => published.unreadable(row, &error),
                }
            }
        }
        published.findings.extend(removed(&gone));
        published.state(&line.state, None, line);
        published
    }

    /// The same of another line: a ref that both have is one ref.
    pub(crate) fn add(&mut self, other: Self) {
        self.findings.extend(other.findings);
        for (place, facts) in other.refs {
            match self.refs.get_mut(&place) {
                None => {
                    self.refs.insert(place, facts);
                }
                Some(known) => known.add(facts),
            }
        }
    }

    fn state(&mut self, state: &ManifestState, commit: Option<CommitId>, line: &Line) {
        let inherited = state.inherited();
        for (identity, head) in &state.base().heads {
            let Some(live) = head.live() else { continue };
            let facts = self.facts(live, line);
            facts.pins.entry((live.pin.version, live.pin.tx_uuid.clone())).or_insert(commit);
            // Whose ref it is may go on.
            if commit.is_none() && !inherited.contains(identity) {
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

    fn facts(&mut self, live: &LiveHead, line: &Line) -> &mut RefFacts {
        let place = (live.path.clone(), live.physical_ref.clone());
        self.refs.entry(place).or_insert_with(|| {
            let declared = line.schema.types().iter().find(|it| it.identity == live.identity);
            let name = declared.map_or_else(|| live.path.to_string(), |it| it.name.clone());
            RefFacts {
                identity: live.identity,
                name: line.place(name),
                path: live.path.clone(),
                physical_ref: live.physical_ref.clone(),
                first: live.ref_identifier.forked_at().max(1),
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
