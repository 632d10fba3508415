//! What a branch name means, as create-only records (design 01 section 8): K2 applied to a name.
//! For every number there is at most one record of a kind, the first one wins, and the highest
//! number is what counts. What they come to is `name_state`'s to say.

use serde::{Deserialize, Serialize};

use crate::{
    AttemptId, BranchName, BranchToken, CommitId, NativeBranch, OwnerRecord, Pin,
    ProcessInstanceId, RefIdentifier,
};

/// A native branch that holds versions of the line that leads to a fork.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Ancestor {
    /// The native branch.
    pub native: NativeBranch,
    /// The last manifest version of the line that is on it.
    pub until_version: u64,
}

/// What a branch was made of: a commit of another branch at its manifest version. It stays readable
/// as long as the branch lives, since a merge base may be there.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ForkPoint {
    /// The incarnation of the branch that was named as the source.
    pub source: BranchToken,
    /// The commit; none for a source without commits.
    pub commit: Option<CommitId>,
    /// The manifest version of the commit, with its transaction.
    pub manifest: Pin,
    /// Where the versions up to `manifest` are, oldest first; the last one is what is cloned. It is
    /// an ancestor of `source` when the commit is older than `source` itself.
    pub ancestry: Vec<Ancestor>,
}

impl ForkPoint {
    /// The fork of `source`, which was itself made at `source_fork` unless it is main, at the
    /// version `manifest` of its line.
    pub fn of(
        source: &BranchToken,
        source_fork: Option<&Self>,
        commit: Option<CommitId>,
        manifest: Pin,
    ) -> Self {
        let version = manifest.version;
        // At the fork itself the source has but a clone of what it was made of.
        let fork = source_fork.filter(|fork| fork.manifest.version == version);
        let manifest = fork.map_or(manifest, |fork| fork.manifest.clone());
        let older = source_fork.map(|fork| fork.ancestry.as_slice()).unwrap_or_default();
        let mut ancestry: Vec<Ancestor> =
            older.iter().take_while(|ancestor| ancestor.until_version < version).cloned().collect();
        let native = match older.get(ancestry.len()) {
            Some(ancestor) => ancestor.native.clone(),
            None => source.native.clone(),
        };
        ancestry.push(Ancestor { native, until_version: version });
        Self { source: source.clone(), commit, manifest, ancestry }
    }

    /// The native branch that is cloned.
    pub fn cloned_from(&self) -> &NativeBranch {
        self.ancestry.last().map_or(&self.source.native, |ancestor| &ancestor.native)
    }

    /// The native branch that holds `version`, for a version up to the fork.
    pub fn holder_of(&self, version: u64) -> Option<&NativeBranch> {
        let holder = self.ancestry.iter().find(|ancestor| version <= ancestor.until_version);
        holder.map(|ancestor| &ancestor.native)
    }

    /// Lance's identity of the branch that `attempt` makes here.
    pub fn identifier_for(&self, attempt: AttemptId) -> RefIdentifier {
        let forks = self.ancestry.len().saturating_sub(1);
        let mut cloned = self.source.identifier.clone();
        if let RefIdentifier::Native(mapping) = &mut cloned {
            // Where an ancestor of the source is cloned, its identity is how that of the source begins.
            mapping.truncate(forks);
        }
        cloned.forked(self.manifest.version, attempt)
    }
}

/// An incarnation of a branch that is live, with what it was made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveBranch {
    /// The incarnation.
    pub token: BranchToken,
    /// What it was made of.
    pub fork: ForkPoint,
}

/// `<n>.begin`: an attempt has begun to make incarnation `n` of a name. Allowed only while the
/// highest number of the name is void or deleted, or there is none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NameBegun {
    /// The name.
    pub name: BranchName,
    /// The incarnation's number, counted from 1.
    pub number: u64,
    /// The attempt, which the native branch is named after.
    pub attempt: AttemptId,
    /// What it is made of. A root of maintenance until the number is decided.
    pub fork: ForkPoint,
    /// Who makes it. It only chooses between waiting and acting.
    pub owner: OwnerRecord,
    /// Who asked.
    pub actor: String,
    /// When, in microseconds since the Unix epoch on the owner's clock. It goes into the native
    /// branch, so that everybody who completes it writes the same bytes; it decides nothing.
    pub begun_at_unix_us: u64,
}

impl NameBegun {
    /// The native branch of the incarnation.
    pub fn native(&self) -> NativeBranch {
        NativeBranch::of_incarnation(&self.name.slug(), self.attempt)
    }

    /// Lance's identity of the native branch. It is known before the branch is there.
    pub fn identifier(&self) -> RefIdentifier {
        self.fork.identifier_for(self.attempt)
    }

    /// The incarnation, once it is decided live.
    pub fn token(&self) -> BranchToken {
        BranchToken {
            name: self.name.to_string(),
            record: self.number,
            native: self.native(),
            identifier: self.identifier(),
        }
    }

    /// The record that makes the incarnation live. Allowed once its native branch is complete.
    pub fn decided_live(&self, by: ProcessInstanceId, at_unix_us: u64) -> NameDecided {
        self.decided(NameVerdict::Live { fork: self.fork.clone() }, by, at_unix_us)
    }

    /// The record that says that the incarnation will never be.
    pub fn decided_void(
        &self,
        reason: impl Into<String>,
        by: ProcessInstanceId,
        at_unix_us: u64,
    ) -> NameDecided {
        self.decided(NameVerdict::Void { reason: reason.into() }, by, at_unix_us)
    }

    fn decided(
        &self,
        verdict: NameVerdict,
        by: ProcessInstanceId,
        decided_at_unix_us: u64,
    ) -> NameDecided {
        let (name, number, attempt) = (self.name.clone(), self.number, self.attempt);
        NameDecided { name, number, attempt, verdict, by, decided_at_unix_us }
    }
}

/// What a number was decided to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum NameVerdict {
    /// The incarnation exists: this record, not the native branch, is its visibility point.
    Live {
        /// What it was made of.
        fork: ForkPoint,
    },
    /// The incarnation will never exist.
    Void {
        /// Why, for people.
        reason: String,
    },
}

/// `<n>.decided`: what became of the beginning. The first decision stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NameDecided {
    /// The name.
    pub name: BranchName,
    /// The incarnation's number.
    pub number: u64,
    /// The attempt that began.
    pub attempt: AttemptId,
    /// The decision.
    pub verdict: NameVerdict,
    /// The process instance that decided.
    pub by: ProcessInstanceId,
    /// When, in microseconds since the Unix epoch on the decider's clock. For display only.
    pub decided_at_unix_us: u64,
}

impl NameDecided {
    /// The native branch of the incarnation.
    pub fn native(&self) -> NativeBranch {
        NativeBranch::of_incarnation(&self.name.slug(), self.attempt)
    }

    /// The incarnation, if it was decided to be live.
    pub fn live(&self) -> Option<LiveBranch> {
        let NameVerdict::Live { fork } = &self.verdict else { return None };
        let token = BranchToken {
            name: self.name.to_string(),
            record: self.number,
            native: self.native(),
            identifier: fork.identifier_for(self.attempt),
        };
        Some(LiveBranch { token, fork: fork.clone() })
    }
}

/// `<n>.deleted`: the logical delete of an incarnation, whole in one object. Its existence is what
/// counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NameDeleted {
    /// The name.
    pub name: BranchName,
    /// The incarnation's number.
    pub number: u64,
    /// The process instance that deleted it.
    pub by: ProcessInstanceId,
    /// Who asked.
    pub actor: String,
    /// When, in microseconds since the Unix epoch on the deleter's clock. For display only.
    pub deleted_at_unix_us: u64,
}
