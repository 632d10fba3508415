//! The line of one live branch: main's, or one that goes through other native branches down to where it
//! was forked. What several lines share is checked once.

use std::collections::BTreeMap;
use std::sync::Arc;

use graphwrite_manifest::{Manifest, ManifestState};
use graphwrite_protocol_types::{ForkPoint, NativeBranch};
use graphwrite_schema::GraphSchema;

use super::kinds;
use crate::ReadError;
use crate::census::{Census, Living};
use crate::core::Core;
use crate::report::Finding;
use crate::side_by_side::side_by_side;

const OPENED_AT_ONCE: usize = 16;

/// A live branch at the state that is checked.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) core: Arc<Core>,
    /// What it was made of; none for main.
    pub(crate) fork: Option<ForkPoint>,
    pub(crate) state: ManifestState,
    pub(crate) schema: GraphSchema,
    /// The version up to which another line shows the same.
    pub(crate) since: u64,
}

impl Line {
    async fn of(core: Arc<Core>, fork: Option<ForkPoint>) -> Result<Self, ReadError> {
        let state = core.manifest.state().await?;
        let schema = GraphSchema::from_bytes(state.schema_canonical())?;
        Ok(Self { core, fork, state, schema, since: 0 })
    }

    pub(crate) fn is_main(&self) -> bool {
        self.fork.is_none()
    }

    pub(crate) fn native(&self) -> &NativeBranch {
        &self.state.base().branch.native
    }

    /// A place on the branch, in messages.
    pub(crate) fn place(&self, place: String) -> String {
        place_on(&self.state.base().branch.name, self.is_main(), place)
    }

    /// The native branch that holds a version of the line.
    pub(crate) fn holder_of(&self, version: u64) -> NativeBranch {
        let holder = self.fork.as_ref().and_then(|fork| fork.holder_of(version));
        holder.unwrap_or_else(|| self.native()).clone()
    }

    /// The versions after which the line is on another native branch.
    pub(crate) fn forks(&self) -> Vec<u64> {
        let ancestry = self.fork.iter().flat_map(|fork| &fork.ancestry);
        ancestry.map(|ancestor| ancestor.until_version).collect()
    }
}

pub(crate) fn place_on(name: &str, is_main: bool, place: String) -> String {
    if is_main { place } else { format!("{place} of branch {name}") }
}

/// The cores of all live branches, main first, and what is to be said of those that cannot be opened.
pub(crate) async fn cores(
    main: &Arc<Core>,
    census: &Census,
) -> (Vec<(Arc<Core>, Option<ForkPoint>)>, Vec<Finding>) {
    let (mut cores, mut findings) = (vec![(Arc::clone(main), None)], Vec::new());
    let opened = census.living.iter().map(|living| open(main, living));
    for opened in side_by_side(opened, OPENED_AT_ONCE).await {
        match opened {
            Ok(core) => cores.push(core),
            Err(finding) => findings.push(finding),
        }
    }
    (cores, findings)
}

async fn open(
    main: &Arc<Core>,
    living: &Living,
) -> Result<(Arc<Core>, Option<ForkPoint>), Finding> {
    let (store, env) = (&main.store, Arc::clone(&main.options.env));
    let opened = Manifest::open_branch(store, env, &living.branch, main.purpose);
    match Box::pin(opened).await {
        Ok(manifest) => {
            let core = Core::new(store.clone(), manifest, main.options.clone(), main.purpose);
            Ok((core, Some(living.branch.fork.clone())))
        }
        Err(error) => {
            let native = &living.branch.token.native;
            let message = format!("its native branch {native} cannot be opened: {error}");
            Err(kinds::UNREADABLE_BRANCH.at(living.name.as_str(), message))
        }
    }
}

/// The lines of the branches at their newest states, each with the part that it shows alone.
///
/// # Errors
/// The state of main cannot be read; what is wrong with another branch is a finding.
pub(crate) async fn lines(
    cores: Vec<(Arc<Core>, Option<ForkPoint>)>,
    findings: &mut Vec<Finding>,
) -> Result<Vec<Line>, ReadError> {
    let read = cores.into_iter().map(|(core, fork)| async move {
        let name = core.branch().name;
        (name, fork.is_none(), Box::pin(Line::of(core, fork)).await)
    });
    let read = side_by_side(read, OPENED_AT_ONCE).await;
    let (mut lines, mut shown) = (Vec::new(), Shown::default());
    for (name, is_main, line) in read {
        match line {
            Ok(mut line) => {
                line.since = shown.since(&line);
                shown.add(&line);
                lines.push(line);
            }
            Err(error) if is_main => return Err(error),
            Err(error) => findings.push(kinds::UNREADABLE_BRANCH.at(name, error.to_string())),
        }
    }
    Ok(lines)
}

/// Up to which version each native branch is shown by some line.
#[derive(Default)]
struct Shown(BTreeMap<NativeBranch, u64>);

impl Shown {
    fn until(&self, native: &NativeBranch) -> u64 {
        self.0.get(native).copied().unwrap_or(0)
    }

    /// Whoever has shown a version of a native branch has shown all that led to it.
    fn since(&self, line: &Line) -> u64 {
        let ancestry = line.fork.iter().flat_map(|fork| &fork.ancestry);
        let own = self.until(line.native());
        let shown = ancestry.map(|it| self.until(&it.native).min(it.until_version));
        shown.chain([own]).max().unwrap_or(0)
    }

    fn add(&mut self, line: &Line) {
        let ancestry = line.fork.iter().flat_map(|fork| &fork.ancestry);
        let ancestry = ancestry.map(|it| (it.native.clone(), it.until_version));
        for (native, until) in ancestry.chain([(line.native().clone(), line.state.version())]) {
            let shown = self.0.entry(native).or_insert(0);
            *shown = until.max(*shown);
        }
    }
}
