//! What a ref will be, from the plan of the attempt that makes it: its name, its clone, its identity and
//! its contents. It performs nothing.

use graphwrite_protocol_types::{
    AttemptId, EffectKind, ForkPoint, Intent, LiveHead, NativeBranch, PhysicalRef, Pin,
    RefIdentifier, TxUuid,
};
use lance::dataset::refs::{BranchContents, BranchIdentifier};
use lance::dataset::transaction::{Operation, Transaction};
use lance_table::io::commit::{ManifestLocation, ManifestNamingScheme};

use crate::slot::{ref_directory, ref_path};
use crate::{Store, SubstrateError};

const MICROS: u64 = 1_000_000;

/// A ref as one attempt makes it out of a version of another ref: everything about it follows from
/// here, so that each phase can be sent again and what is found can be told from anything foreign.
#[derive(Debug, Clone)]
pub struct RefFork {
    pub(crate) path: String,
    pub(crate) from: PhysicalRef,
    pub(crate) at: Pin,
    pub(crate) to: PhysicalRef,
    pub(crate) attempt: AttemptId,
    pub(crate) clone: TxUuid,
    identifier: RefIdentifier,
    at_unix_us: u64,
}

impl RefFork {
    /// The native branch `native` that `attempt` makes, of the dataset at `path`.
    pub fn of_branch(
        path: &str,
        native: &NativeBranch,
        attempt: AttemptId,
        fork: &ForkPoint,
        begun_at_unix_us: u64,
    ) -> Self {
        Self {
            path: path.to_owned(),
            from: fork.cloned_from().physical_ref(),
            at: fork.manifest.clone(),
            to: native.physical_ref(),
            attempt,
            clone: TxUuid::native_branch(attempt),
            identifier: fork.identifier_for(attempt),
            at_unix_us: begun_at_unix_us,
        }
    }

    /// The ref that effect `effect` of `attempt` makes of the head that its branch has inherited.
    pub fn of_first_write(
        attempt: AttemptId,
        effect: u32,
        inherited: &LiveHead,
        armed_at_unix_us: u64,
    ) -> Self {
        Self {
            path: inherited.path.as_str().to_owned(),
            from: inherited.physical_ref.clone(),
            at: inherited.pin.clone(),
            to: PhysicalRef::of_first_write(attempt),
            attempt,
            clone: TxUuid::fork(attempt, effect),
            identifier: inherited.ref_identifier.forked(inherited.pin.version, attempt),
            at_unix_us: armed_at_unix_us,
        }
    }

    /// The ref that effect `effect` of an armed attempt makes; none when that is not what it does.
    pub fn of_effect(intent: &Intent, effect: u32) -> Option<Self> {
        let planned = intent.effects.get(effect as usize)?;
        let inherited = intent.read_set.table(planned.target.identity)?.head.live()?;
        let fork = Self::of_first_write(intent.attempt, effect, inherited, intent.armed_at_unix_us);
        let is_planned = planned.kind == EffectKind::CreateRef
            && planned.target.path.as_str() == fork.path
            && planned.target.physical_ref == fork.to;
        is_planned.then_some(fork)
    }

    /// The same making on the dataset of a test.
    #[cfg(test)]
    pub(crate) fn at_path(self, path: &str) -> Self {
        Self { path: path.to_owned(), ..self }
    }

    /// The ref.
    pub fn physical_ref(&self) -> &PhysicalRef {
        &self.to
    }

    /// Lance's identity of the ref, known before the ref is there.
    pub fn identifier(&self) -> &RefIdentifier {
        &self.identifier
    }

    /// The first version of the ref, which is the clone.
    pub fn clone_pin(&self) -> Pin {
        Pin { version: self.at.version, tx_uuid: self.clone.clone() }
    }

    pub(crate) fn transaction(&self, store: &Store) -> Transaction {
        let source_name = match &self.from {
            PhysicalRef::Main => None,
            PhysicalRef::Named(name) => Some(name.clone()),
        };
        Transaction {
            read_version: self.at.version,
            uuid: self.clone.as_str().to_owned(),
            operation: Operation::Clone {
                is_shallow: true,
                ref_name: source_name,
                ref_version: self.at.version,
                ref_path: store.uri_of(&ref_directory(&self.path, &self.from)),
                branch_name: Some(self.to.to_string()),
            },
            tag: None,
            transaction_properties: None,
        }
    }

    /// Where the version to be cloned is, for one who has just read it.
    pub(crate) fn source(&self, bytes: u64) -> Result<ManifestLocation, SubstrateError> {
        let (naming_scheme, version) = (ManifestNamingScheme::V2, self.at.version);
        let path = naming_scheme.manifest_path(&ref_path(&self.path, &self.from)?, version);
        let size = Some(bytes);
        Ok(ManifestLocation { version, path, size, naming_scheme, e_tag: None, identity: None })
    }

    pub(crate) fn contents_path(&self) -> String {
        format!("{}/{}.json", contents_directory(&self.path), self.to)
    }

    pub(crate) fn contents(&self, source_bytes: u64) -> BranchContents {
        BranchContents {
            parent_branch: match &self.from {
                PhysicalRef::Main => None,
                PhysicalRef::Named(name) => Some(name.clone()),
            },
            identifier: lance_identifier(&self.identifier),
            parent_version: self.at.version,
            create_at: self.at_unix_us / MICROS,
            manifest_size: usize::try_from(source_bytes).unwrap_or(usize::MAX),
            metadata: Default::default(),
        }
    }

    pub(crate) fn is_contents(&self, bytes: &[u8]) -> bool {
        let own = self.contents(0);
        let found = serde_json::from_slice::<BranchContents>(bytes);
        found.is_ok_and(|found| {
            found.identifier == own.identifier
                && found.parent_branch == own.parent_branch
                && found.parent_version == own.parent_version
        })
    }
}

fn lance_identifier(identifier: &RefIdentifier) -> BranchIdentifier {
    let version_mapping = match identifier {
        RefIdentifier::Main(_) => Vec::new(),
        RefIdentifier::Native(mapping) => mapping.clone(),
    };
    BranchIdentifier { version_mapping }
}

pub(crate) fn contents_directory(path: &str) -> String {
    format!("{path}/_refs/branches")
}
