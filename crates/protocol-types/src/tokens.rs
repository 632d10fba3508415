//! Tokens: values whose equality means "nothing that mattered has changed" (design 01 section 4).
//! They are captured as values and never looked up again by name (BLOCKER-05).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{AttemptId, CommitId, ContentId, IdentityDomain, InvalidId, TableIdentity};

/// Hash of an accepted schema's canonical bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SchemaHash(pub [u8; 32]);

impl fmt::Display for SchemaHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for SchemaHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SchemaHash({self})")
    }
}

/// Digest of a request's content, for "same operation id, other content".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RequestDigest(pub [u8; 32]);

/// The accepted schema a write was prepared against.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SchemaToken(pub SchemaHash);

/// The exact head commit of a branch, absence included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct GraphHeadToken(pub Option<CommitId>);

/// A native branch of `__manifest`: `main`, or `<slug>.<attempt>`, never reused (K4).
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct NativeBranch(String);

impl NativeBranch {
    /// The native branch of the graph's main branch.
    pub fn main() -> Self {
        Self("main".to_owned())
    }

    /// The native branch of one incarnation of a named branch.
    pub fn of_incarnation(slug: &str, attempt: AttemptId) -> Self {
        Self(format!("{slug}.{attempt}"))
    }

    /// The attempt that made the branch; none for main.
    pub fn attempt(&self) -> Option<AttemptId> {
        let (_, attempt) = self.0.rsplit_once('.')?;
        attempt.parse().ok()
    }

    /// The branch of this name; none for a name that no native branch has.
    pub fn named(text: &str) -> Option<Self> {
        let native = Self(text.to_owned());
        let slug_and_attempt = text.rsplit_once('.').zip(native.attempt());
        let is_incarnation = slug_and_attempt.is_some_and(|((slug, written), attempt)| {
            // One spelling per attempt: it is a directory name (K4).
            !slug.is_empty() && !slug.contains('/') && attempt.to_string() == written
        });
        (native.is_main() || is_incarnation).then_some(native)
    }

    /// What of the branch's name shows in it; none for main.
    pub fn slug(&self) -> Option<&str> {
        self.0.rsplit_once('.').map(|(slug, _)| slug)
    }

    /// The ref of `__manifest` that the branch is.
    pub fn physical_ref(&self) -> PhysicalRef {
        if self.is_main() { PhysicalRef::Main } else { PhysicalRef::Named(self.0.clone()) }
    }

    /// The name as Lance knows it.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this is the main branch.
    pub fn is_main(&self) -> bool {
        self.0 == "main"
    }
}

impl fmt::Display for NativeBranch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What Lance knows of a ref's identity, captured as a value.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum RefIdentifier {
    /// Lance has none for a dataset's main ref; the graph's identity domain stands in.
    Main(IdentityDomain),
    /// Lance's `BranchIdentifier`: the versions and identifiers along the chain of forks.
    Native(Vec<(u64, String)>),
}

impl RefIdentifier {
    /// The identity of a ref that `attempt` makes of version `version` of this one. It follows from
    /// the attempt, so that it is known before the ref is made, and equal for all who complete it.
    pub fn forked(&self, version: u64, attempt: AttemptId) -> Self {
        let mut mapping = match self {
            Self::Main(_) => Vec::new(),
            Self::Native(mapping) => mapping.clone(),
        };
        mapping.push((version, format!("{:032x}", attempt.as_u128())));
        Self::Native(mapping)
    }

    /// The version of its origin that the ref was made of; 0 for a main ref. All that is younger was
    /// made on the ref itself.
    pub fn forked_at(&self) -> u64 {
        match self {
            Self::Main(_) => 0,
            Self::Native(mapping) => mapping.last().map_or(0, |(version, _)| *version),
        }
    }
}

/// One incarnation of a branch of the graph.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct BranchToken {
    /// The branch's name, a label.
    pub name: String,
    /// Number of the name record that decided this incarnation; 0 for main.
    pub record: u64,
    /// Where the incarnation lives.
    pub native: NativeBranch,
    /// Lance's identity of it.
    pub identifier: RefIdentifier,
}

impl BranchToken {
    /// The token of main, which has one incarnation for the life of the graph.
    pub fn main(domain: IdentityDomain) -> Self {
        Self {
            name: "main".to_owned(),
            record: 0,
            native: NativeBranch::main(),
            identifier: RefIdentifier::Main(domain),
        }
    }
}

/// A ref of a table's dataset: its main ref, or `t-<attempt>` made by a branch's first write.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum PhysicalRef {
    /// The dataset's main ref.
    Main,
    /// A ref of that name; the name is unique to the attempt that made it.
    Named(String),
}

impl PhysicalRef {
    /// The ref that the first write of a branch to a table makes (K4).
    pub fn of_first_write(attempt: AttemptId) -> Self {
        Self::Named(format!("t-{attempt}"))
    }
}

impl fmt::Display for PhysicalRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Main => f.write_str("main"),
            Self::Named(name) => f.write_str(name),
        }
    }
}

/// Path of a dataset below the graph's root. Relative, so that a graph may be moved.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct DatasetPath(String);

impl DatasetPath {
    /// The dataset of a table's lifetime that `attempt` loads first (K4).
    pub fn of_first_load(identity: TableIdentity, attempt: AttemptId) -> Self {
        Self(format!("tables/{identity}-{attempt}"))
    }

    /// The path, with `/` between segments.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for DatasetPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Identity of one Lance transaction. Its text says which step of which attempt it is, so that
/// recovery recognises every step, its own included, from storage alone (K1, K3).
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TxUuid(String);

/// Which commit to a table an attempt, or a recovery of it, makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TableCommit {
    /// A planned step.
    Step {
        /// The effect's index.
        effect: u32,
        /// The step's index within the effect.
        step: u32,
    },
    /// The commit that closes the effect's slot (K3).
    Fence {
        /// The effect's index.
        effect: u32,
    },
    /// The commit that takes the effect's landed prefix back (K3).
    Restore {
        /// The effect's index.
        effect: u32,
    },
}

impl TxUuid {
    /// Step `step` of effect `effect`.
    pub fn effect(attempt: AttemptId, effect: u32, step: u32) -> Self {
        Self(format!("{attempt}-e{effect}-s{step}"))
    }

    /// The commit that closes the slot of `effect` when nothing of it landed (K3).
    pub fn fence(attempt: AttemptId, effect: u32) -> Self {
        Self(format!("{attempt}-e{effect}-fence"))
    }

    /// The commit that takes back the landed prefix of `effect` (K3).
    pub fn restore(attempt: AttemptId, effect: u32) -> Self {
        Self(format!("{attempt}-e{effect}-restore"))
    }

    /// The commit that makes the ref of `effect` out of a version of another ref.
    pub fn fork(attempt: AttemptId, effect: u32) -> Self {
        Self(format!("{attempt}-e{effect}-fork"))
    }

    /// The commit that makes the native branch of `attempt`.
    pub fn native_branch(attempt: AttemptId) -> Self {
        Self(format!("{attempt}-branch"))
    }

    /// A commit of the manifest. `nonce` keeps two actors apart that decide for one attempt.
    pub fn authority(attempt: AttemptId, nonce: u128) -> Self {
        Self(format!("{attempt}-m{nonce:032x}"))
    }

    /// The attempt on whose behalf the manifest version of this transaction was made.
    pub fn as_authority(&self) -> Option<AttemptId> {
        let (attempt, nonce) = self.0.split_once("-m")?;
        let is_nonce = nonce.len() == 32 && u128::from_str_radix(nonce, 16).is_ok();
        is_nonce.then(|| attempt.parse().ok())?
    }

    /// The attempt of which this is a commit to a table, and which of its commits; none for a commit
    /// of the manifest and for a foreign one.
    pub fn as_table_commit(&self) -> Option<(AttemptId, TableCommit)> {
        let (attempt, rest) = self.0.split_once("-e")?;
        let (attempt, (effect, what)) = (attempt.parse().ok()?, rest.split_once('-')?);
        let effect = effect.parse().ok()?;
        let (uuid, commit) = match what {
            "fence" => (Self::fence(attempt, effect), TableCommit::Fence { effect }),
            "restore" => (Self::restore(attempt, effect), TableCommit::Restore { effect }),
            _ => {
                let step = what.strip_prefix('s')?.parse().ok()?;
                (Self::effect(attempt, effect, step), TableCommit::Step { effect, step })
            }
        };
        // One spelling per identity.
        (uuid == *self).then_some((attempt, commit))
    }

    /// A transaction id as storage has it, ours or foreign.
    pub fn observed(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The attempt and the effect whose slot this id fences, if it is a fence.
    pub fn as_fence(&self) -> Option<(AttemptId, u32)> {
        let (attempt, rest) = self.0.split_once("-e")?;
        let effect = rest.strip_suffix("-fence")?;
        Some((attempt.parse().ok()?, effect.parse().ok()?))
    }
}

impl fmt::Display for TxUuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for DatasetPath {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        let refused = |rule| InvalidId { what: "dataset path", text: text.to_owned(), rule };
        let name = text.strip_prefix("tables/").ok_or_else(|| refused("starts with `tables/`"))?;
        let (identity, attempt) =
            name.rsplit_once('-').ok_or_else(|| refused("table identity, hyphen, attempt id"))?;
        identity.parse::<TableIdentity>()?;
        attempt.parse::<AttemptId>()?;
        Ok(Self(text.to_owned()))
    }
}

/// One version of a dataset's ref: a number alone is no identity (BLOCKER-05).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Pin {
    /// Lance version number.
    pub version: u64,
    /// Identity of the transaction that made it.
    pub tx_uuid: TxUuid,
}

impl fmt::Display for Pin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "version {} ({})", self.version, self.tx_uuid)
    }
}

/// The head of a table that has rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiveHead {
    /// Which table, and which lifetime of it.
    pub identity: TableIdentity,
    /// Its dataset. Not part of the identity: two branches may first-load one type.
    pub path: DatasetPath,
    /// The ref that this branch commits to or inherits.
    pub physical_ref: PhysicalRef,
    /// Lance's identity of that ref.
    pub ref_identifier: RefIdentifier,
    /// The visible version.
    pub pin: Pin,
    /// The store's tag of that version's manifest where it gives one, without quotes.
    pub e_tag: Option<String>,
    /// Changes with content only.
    pub content: ContentId,
    /// Hash of the accepted schema under which the table's columns were last changed.
    pub table_schema: SchemaHash,
}

impl LiveHead {
    /// Whether two heads of one table certainly have the same rows: the same published version, or the same
    /// content under another one. None has no rows.
    pub fn have_same_rows(one: Option<&Self>, other: Option<&Self>) -> bool {
        let place = |head: &Self| (head.path.clone(), head.physical_ref.clone());
        match (one, other) {
            (Some(one), Some(other)) => {
                one.content == other.content || (place(one) == place(other) && one.pin == other.pin)
            }
            (None, None) => true,
            _ => false,
        }
    }
}

/// The head of a declared table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum TableHeadToken {
    /// Declared, never loaded.
    Absent,
    /// Dropped; the identity can never come back.
    Tombstoned,
    /// Has a dataset.
    Live(Box<LiveHead>),
}

impl TableHeadToken {
    /// The live head, if there is one.
    pub fn live(&self) -> Option<&LiveHead> {
        match self {
            Self::Live(head) => Some(head),
            Self::Absent | Self::Tombstoned => None,
        }
    }

    /// Whether a reader sees the same rows: what a *probed* table compares, so that fences,
    /// restores and maintenance do not abort it (design 01 section 4).
    pub fn same_content(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Live(a), Self::Live(b)) => a.identity == b.identity && a.content == b.content,
            (a, b) => a == b,
        }
    }
}
