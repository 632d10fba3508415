//! Identities. They own their textual form; they know nothing of where they are stored.

use std::fmt;
use std::num::NonZeroU64;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use ulid::Ulid;

use crate::Env;

/// A text is not the identity that it was taken for.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{text}` is not a valid {what}: {rule}")]
pub struct InvalidId {
    /// Which kind of identity was expected.
    pub what: &'static str,
    /// The refused text.
    pub text: String,
    /// The rule that it breaks.
    pub rule: &'static str,
}

macro_rules! ulid_id {
    ($(#[$doc:meta])* $name:ident, $what:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub struct $name(u128);

        impl $name {
            /// Mints a fresh identity from the environment's clock and randomness.
            pub fn mint(env: &dyn Env) -> Self {
                Self(Ulid::from_parts(env.unix_millis(), env.random_u128()).0)
            }

            /// The identity as a number.
            pub fn as_u128(self) -> u128 {
                self.0
            }

            /// The identity with this number.
            pub fn from_u128(value: u128) -> Self {
                Self(value)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", Ulid(self.0))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), Ulid(self.0))
            }
        }

        impl FromStr for $name {
            type Err = InvalidId;

            fn from_str(text: &str) -> Result<Self, InvalidId> {
                let refused = || InvalidId {
                    what: $what,
                    text: text.to_owned(),
                    rule: "26 characters of Crockford base 32 in upper case",
                };
                let ulid = Ulid::from_string(text).map_err(|_| refused())?;
                // One spelling per identity: it is an object name (K4).
                if ulid.to_string() == text { Ok(Self(ulid.0)) } else { Err(refused()) }
            }
        }
    };
}

ulid_id!(
    /// One pass of a write through the stages; minted at every entry into stage A. Everything
    /// physical carries it, so no physical name is ever reused (K2, K4).
    AttemptId,
    "attempt id"
);
ulid_id!(
    /// One commit of the graph, minted when its intent is armed.
    CommitId,
    "commit id"
);
ulid_id!(
    /// The graph as a whole, minted by `init`. Control objects are bound to it, so that a copied
    /// object can never act on another graph.
    IdentityDomain,
    "identity domain"
);
ulid_id!(
    /// A state of a table's rows. It changes with content and is kept by fences, restores to the
    /// pin, compaction and index builds (design 01 section 4).
    ContentId,
    "content id"
);
ulid_id!(
    /// One running instance of a process that opened the graph.
    ProcessInstanceId,
    "process instance id"
);

macro_rules! number_id {
    ($(#[$doc:meta])* $name:ident, $what:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub struct $name(NonZeroU64);

        impl $name {
            /// Mints a random identity.
            pub fn mint(env: &dyn Env) -> Self {
                loop {
                    if let Some(id) = Self::new(env.random_u128() as u64) {
                        return id;
                    }
                }
            }

            /// The identity with this number; none for zero.
            pub fn new(value: u64) -> Option<Self> {
                NonZeroU64::new(value).map(Self)
            }

            /// The identity as a number.
            pub fn get(self) -> u64 {
                self.0.get()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:016x}", self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({:016x})"), self.0)
            }
        }

        impl FromStr for $name {
            type Err = InvalidId;

            fn from_str(text: &str) -> Result<Self, InvalidId> {
                let value = u64::from_str_radix(text, 16).ok().and_then(Self::new);
                value.filter(|id| id.to_string() == text).ok_or_else(|| InvalidId {
                    what: $what,
                    text: text.to_owned(),
                    rule: "16 lower-case hexadecimal digits, not all zero",
                })
            }
        }
    };
}

number_id!(
    /// A type's identity through renames (BLOCKER-07).
    StableTableId,
    "stable table id"
);
number_id!(
    /// One lifetime of a type; dropping and adding it again mints a new one (BLOCKER-07).
    IncarnationId,
    "incarnation id"
);

/// The identity of a table: names are labels, this is what is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TableIdentity {
    /// Kept by a rename.
    pub table: StableTableId,
    /// Minted anew by drop and re-add.
    pub incarnation: IncarnationId,
}

impl TableIdentity {
    /// Mints the identity of a type that is declared for the first time.
    pub fn mint(env: &dyn Env) -> Self {
        Self { table: StableTableId::mint(env), incarnation: IncarnationId::mint(env) }
    }
}

impl fmt::Display for TableIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.table, self.incarnation)
    }
}

impl FromStr for TableIdentity {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        let (table, incarnation) = text.split_once('-').ok_or_else(|| InvalidId {
            what: "table identity",
            text: text.to_owned(),
            rule: "stable table id, a hyphen, incarnation id",
        })?;
        Ok(Self { table: table.parse()?, incarnation: incarnation.parse()? })
    }
}

/// Names the caller's request: a ULID, or the caller's own idempotency key.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct OperationId(String);

impl OperationId {
    /// The longest accepted idempotency key, in bytes.
    pub const BYTES_MAX: usize = 128;

    /// Mints a ULID for a request whose caller brought no key.
    pub fn mint(env: &dyn Env) -> Self {
        Self(Ulid::from_parts(env.unix_millis(), env.random_u128()).to_string())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for OperationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for OperationId {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        Self::try_from(text.to_owned())
    }
}

impl TryFrom<String> for OperationId {
    type Error = InvalidId;

    fn try_from(text: String) -> Result<Self, InvalidId> {
        let printable = text.bytes().all(|b| b.is_ascii_graphic());
        if !text.is_empty() && text.len() <= Self::BYTES_MAX && printable {
            return Ok(Self(text));
        }
        let rule = "1 to 128 printable ASCII characters without spaces";
        Err(InvalidId { what: "operation id", text, rule })
    }
}

impl From<OperationId> for String {
    fn from(id: OperationId) -> Self {
        id.0
    }
}
