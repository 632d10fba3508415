//! The one byte form of a schema and the hash over it. Every accepted byte string decodes to a
//! schema that encodes to the same bytes.

use graphwrite_protocol_types::SchemaHash;
use thiserror::Error;

use crate::error::SchemaError;
use crate::ir::{GraphSchema, TypeDef};

/// The version of the byte form that this program writes, and the newest that it reads.
pub const IR_VERSION: u16 = 1;

/// Separates the schema hash from every other hash over the same bytes.
const HASH_DOMAIN: &[u8] = b"graphwrite schema ir\0";

impl GraphSchema {
    /// The canonical bytes: the version, then the types sorted by identity (postcard).
    pub fn to_bytes(&self) -> Vec<u8> {
        // Postcard refuses only sequences of unknown length and full buffers; there are none here.
        postcard::to_stdvec(&(IR_VERSION, self.types())).expect("a schema has a byte form")
    }

    /// Reads canonical bytes and checks every rule again.
    ///
    /// # Errors
    /// The bytes are of a newer version, not of this form, not canonical, or break a rule.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, SchemaDecodeError> {
        let (version, body) = postcard::take_from_bytes::<u16>(bytes)?;
        if version != IR_VERSION {
            return Err(SchemaDecodeError::Version { found: version });
        }
        let (types, rest) = postcard::take_from_bytes::<Vec<TypeDef>>(body)?;
        if !rest.is_empty() {
            return Err(SchemaDecodeError::TrailingBytes { count: rest.len() });
        }
        let schema = Self::new(types)?;
        if schema.to_bytes() == bytes { Ok(schema) } else { Err(SchemaDecodeError::NotCanonical) }
    }

    /// The hash that tokens carry: equal exactly when the canonical bytes are equal.
    pub fn hash(&self) -> SchemaHash {
        let mut hasher = blake3::Hasher::new();
        hasher.update(HASH_DOMAIN).update(&self.to_bytes());
        SchemaHash(*hasher.finalize().as_bytes())
    }
}

/// Bytes are not a schema.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SchemaDecodeError {
    /// The form is of a version that this program does not read.
    #[error(
        "the schema has form version {found}, this program reads version {IR_VERSION}; use a \
         program that knows it"
    )]
    Version {
        /// The version in the bytes.
        found: u16,
    },
    /// The bytes end early or hold a value that is none.
    #[error("the bytes are not a schema: {0}")]
    Malformed(#[from] postcard::Error),
    /// More bytes than the schema has.
    #[error("{count} bytes follow the schema")]
    TrailingBytes {
        /// How many.
        count: usize,
    },
    /// The same schema has another, canonical, byte form.
    #[error("the bytes are a schema, but not in its canonical form")]
    NotCanonical,
    /// The types break a rule.
    #[error("the stored schema breaks a rule: {0}")]
    Invalid(#[from] SchemaError),
}
