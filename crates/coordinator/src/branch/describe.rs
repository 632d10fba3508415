//! What branches there are and how each of them stands. Reads only: nothing is decided here, and a name
//! that is undecided is shown as that.

use std::sync::Arc;

use graphwrite_manifest::{Manifest, ManifestState, NativeFork};
use graphwrite_protocol_types::{
    BranchName, BranchSelector, BranchToken, CommitId, ForkPoint, LiveBranch, NameFacts, NameState,
    OwnerRecord, Purpose,
};
use graphwrite_schema::GraphSchema;
use graphwrite_substrate::{LookedAt, NameLook};

use super::remains::{creating, gone};
use super::source::manifest_of;
use crate::BranchError;
use crate::core::Core;
use crate::report::Waiting;

/// A branch, as its records say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BranchInfo {
    /// The incarnation; for an undecided or unusable name only its name and number are meant.
    pub token: BranchToken,
    /// What it was made of; none for main.
    pub fork: Option<ForkPoint>,
}

/// How a name stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BranchStanding {
    /// It means this branch.
    Live(Box<BranchInfo>),
    /// An incarnation is on its way.
    Creating {
        /// Its number.
        incarnation: u64,
    },
    /// The newest incarnation was given up or deleted; what it left is for maintenance.
    Gone {
        /// Its number.
        incarnation: u64,
    },
    /// The record that decides cannot be understood.
    Unusable {
        /// What is wrong with it.
        cause: String,
    },
}

/// A branch looked at closely; one that is being created has no head, tables or intents yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BranchStatus {
    /// The branch.
    pub info: BranchInfo,
    /// Its records and its native branch, seen together.
    pub state: NameState,
    /// Its head commit.
    pub head: Option<CommitId>,
    /// Commits that it has and its source has not; 0 for main.
    pub ahead: u64,
    /// Commits that its source has since the fork; none where the source is gone, and for main.
    pub behind: Option<u64>,
    /// Names of the types whose tables it owns, in order; the others it inherits.
    pub owned: Vec<String>,
    /// Its pending intents; of a dead one, those that nobody can finish.
    pub pending: u64,
    /// What there is of an incarnation that is on its way, or is left of a name that means no branch.
    pub left: Vec<Waiting>,
    /// Live branches that need what is left, since their lines go through it.
    pub needed_by: Vec<String>,
    /// Who makes one that is on its way, and how long ago it was begun, in milliseconds.
    pub maker: Option<(OwnerRecord, u64)>,
}

impl BranchStatus {
    /// That of an incarnation that nobody can read.
    pub(super) fn without_head(info: BranchInfo, state: NameState) -> Self {
        Self {
            info,
            state,
            head: None,
            ahead: 0,
            behind: None,
            owned: Vec::new(),
            pending: 0,
            left: Vec::new(),
            needed_by: Vec::new(),
            maker: None,
        }
    }
}

impl BranchInfo {
    pub(crate) fn new(token: BranchToken, fork: Option<&ForkPoint>) -> Self {
        Self { token, fork: fork.cloned() }
    }

    fn of(live: LiveBranch) -> Self {
        Self { token: live.token, fork: Some(live.fork) }
    }
}

/// All names that were ever used, main first, with what each means now.
pub(crate) async fn list(core: &Core) -> Result<Vec<(String, BranchStanding)>, BranchError> {
    let looks = core.names.look_all().await.map_err(BranchError::Names)?;
    let main = BranchInfo::new(BranchToken::main(core.domain()), None);
    let mut all = vec![("main".to_owned(), BranchStanding::Live(Box::new(main)))];
    all.extend(looks.iter().map(|look| (look.name.to_string(), standing(look))));
    Ok(all)
}

fn standing(look: &NameLook) -> BranchStanding {
    let incarnation = look.listing.highest().map_or(0, |(number, _)| number);
    match (look.live(), &look.record, look.state()) {
        (Some(live), _, _) => BranchStanding::Live(Box::new(BranchInfo::of(live))),
        (_, Some(LookedAt::Unusable(cause)), _) => {
            BranchStanding::Unusable { cause: cause.to_string() }
        }
        (_, _, NameState::Creating(_)) => BranchStanding::Creating { incarnation },
        (_, _, NameState::Unusable) => BranchStanding::Unusable {
            cause: "its decision is of a kind that this build does not know".to_owned(),
        },
        _ => BranchStanding::Gone { incarnation },
    }
}

/// The names that mean a branch.
pub(super) async fn live_names(core: &Core) -> Result<Vec<BranchName>, BranchError> {
    let looks = core.names.look_all().await.map_err(BranchError::Names)?;
    Ok(looks.iter().filter(|look| look.live().is_some()).map(|look| look.name.clone()).collect())
}

/// One branch, closely.
pub(crate) async fn describe(
    core: &Arc<Core>,
    selector: &BranchSelector,
) -> Result<BranchStatus, BranchError> {
    match selector {
        BranchSelector::Main => {
            let state = manifest_of(core, selector).await?.known_state();
            let info = BranchInfo::new(state.base().branch.clone(), None);
            status(core, info, NameState::Live(graphwrite_protocol_types::Wholeness::Whole), &state)
                .await
        }
        BranchSelector::Named(name) => {
            let look =
                core.names.look(name).await.map_err(|error| BranchError::of_names(error, name))?;
            super::clear::usable(&look)?;
            if let Some(begun) = look.begun() {
                return creating(core, begun, &look).await;
            }
            let Some(live) = look.live() else {
                let gone = Box::pin(gone(core, name, &look)).await?;
                return gone.ok_or_else(|| BranchError::NoSuchBranch { name: selector.clone() });
            };
            let whole = wholeness(core, &look, &live).await?;
            let env = Arc::clone(&core.options.env);
            let opened = Manifest::open_branch(&core.store, env, &live, Purpose::Read);
            let state = Box::pin(opened).await?.known_state();
            status(core, BranchInfo::of(live), whole, &state).await
        }
    }
}

async fn wholeness(
    core: &Core,
    look: &NameLook,
    live: &LiveBranch,
) -> Result<NameState, BranchError> {
    let Some(native) = NativeFork::of_live(live) else { return Ok(look.state()) };
    let probe = native.probe(&core.store).await?;
    Ok(NameFacts { clone: probe.clone, contents: probe.contents, ..look.facts }.state())
}

async fn status(
    core: &Core,
    info: BranchInfo,
    state_of_name: NameState,
    state: &ManifestState,
) -> Result<BranchStatus, BranchError> {
    let schema =
        GraphSchema::from_bytes(state.schema_canonical()).map_err(crate::ReadError::from)?;
    let inherited = state.inherited();
    let mut owned: Vec<String> = (schema.types().iter())
        .filter(|declared| state.base().head(declared.identity).live().is_some())
        .filter(|declared| !inherited.contains(&declared.identity))
        .map(|declared| declared.name.clone())
        .collect();
    owned.sort();
    let (ahead, behind) = match &info.fork {
        None => (0, None),
        Some(fork) => {
            let ahead = state.commits_since(fork.manifest.version).await?.len() as u64;
            (ahead, behind(core, fork).await?)
        }
    };
    let listing = core.intents.list(&info.token.native).await?;
    let pending =
        listing.attempts.values().filter(|records| records.intent.is_some()).count() as u64;
    let head = state.base().graph_head.0;
    let without = BranchStatus::without_head(info, state_of_name);
    Ok(BranchStatus { head, ahead, behind, owned, pending, ..without })
}

/// What the source has since; nothing is said of a source that was deleted.
async fn behind(core: &Core, fork: &ForkPoint) -> Result<Option<u64>, BranchError> {
    let Ok(selector) = fork.source.name.parse::<BranchSelector>() else { return Ok(None) };
    let manifest = match manifest_of(core, &selector).await {
        Ok(manifest) => manifest,
        Err(BranchError::NoSuchBranch { .. }) => return Ok(None),
        Err(error) => return Err(error),
    };
    let state = manifest.known_state();
    if state.base().branch != fork.source {
        return Ok(None);
    }
    Ok(Some(state.commits_since(fork.manifest.version).await?.len() as u64))
}
