//! Bytes of the control records: magic, kind, record version, identity domain, postcard body,
//! checksum. Decoding is total: any bytes give a value or a typed error (docs/format.md).

use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

use crate::{
    Alive, AttemptId, BranchName, Confirm, IdentityDomain, Intent, NameBegun, NameDecided,
    NameDeleted,
};

const MAGIC: [u8; 4] = *b"GWCR";
const HEADER_BYTES: usize = 4 + 1 + 2 + 16;
const CHECKSUM_BYTES: usize = 16;

/// The record version that this build writes. It also reads the one before, once there is one.
pub const RECORD_VERSION: u16 = 1;

/// A record that lives in an object of its own.
pub trait ControlRecord: Serialize + DeserializeOwned {
    /// The record's kind byte.
    const KIND: u8;
    /// The word used in messages.
    const NAME: &'static str;

    /// The attempt whose name the object carries.
    fn attempt(&self) -> AttemptId;
}

impl ControlRecord for Intent {
    const KIND: u8 = 1;
    const NAME: &'static str = "intent";

    fn attempt(&self) -> AttemptId {
        self.attempt
    }
}

impl ControlRecord for Confirm {
    const KIND: u8 = 2;
    const NAME: &'static str = "confirm";

    fn attempt(&self) -> AttemptId {
        self.attempt
    }
}

impl ControlRecord for Alive {
    const KIND: u8 = 3;
    const NAME: &'static str = "alive";

    fn attempt(&self) -> AttemptId {
        self.attempt
    }
}

/// A record of what a branch name means, in an object that is named after the name and a number.
pub trait NameRecord: Serialize + DeserializeOwned {
    /// The record's kind byte.
    const KIND: u8;
    /// The word used in messages.
    const NAME: &'static str;
    /// The last part of the object's name.
    const SUFFIX: &'static str;

    /// The branch name and the number that the object's path carries.
    fn place(&self) -> (&BranchName, u64);
}

impl NameRecord for NameBegun {
    const KIND: u8 = 4;
    const NAME: &'static str = "branch begin";
    const SUFFIX: &'static str = "begin";

    fn place(&self) -> (&BranchName, u64) {
        (&self.name, self.number)
    }
}

impl NameRecord for NameDecided {
    const KIND: u8 = 5;
    const NAME: &'static str = "branch decision";
    const SUFFIX: &'static str = "decided";

    fn place(&self) -> (&BranchName, u64) {
        (&self.name, self.number)
    }
}

impl NameRecord for NameDeleted {
    const KIND: u8 = 6;
    const NAME: &'static str = "branch deletion";
    const SUFFIX: &'static str = "deleted";

    fn place(&self) -> (&BranchName, u64) {
        (&self.name, self.number)
    }
}

/// Bytes are not the record that they were read as. The object is left as it is; it blocks the
/// branch that its path names and never stops reads.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CodecError {
    /// Shorter than any record.
    #[error("the {record} record is cut off: {bytes} bytes")]
    Truncated {
        /// The expected kind of record.
        record: &'static str,
        /// The number of bytes found.
        bytes: usize,
    },
    /// Does not start like a record.
    #[error("the object is not a {record} record of this project")]
    NotARecord {
        /// The expected kind of record.
        record: &'static str,
    },
    /// Contents and checksum disagree.
    #[error("the {record} record is damaged: its checksum does not match")]
    Checksum {
        /// The expected kind of record.
        record: &'static str,
    },
    /// Another kind of record.
    #[error("expected a {record} record, found kind {found}")]
    Kind {
        /// The expected kind of record.
        record: &'static str,
        /// The kind byte found.
        found: u8,
    },
    /// Written by another version of the format.
    #[error("the {record} record has version {found}; this build reads version {supported}")]
    Version {
        /// The expected kind of record.
        record: &'static str,
        /// The version found.
        found: u16,
        /// The version that this build reads.
        supported: u16,
    },
    /// Belongs to another graph.
    #[error("the {record} record belongs to graph {found}, not to {expected}")]
    Domain {
        /// The expected kind of record.
        record: &'static str,
        /// The graph that the record names.
        found: IdentityDomain,
        /// The graph that was opened.
        expected: IdentityDomain,
    },
    /// The object's name and the record inside disagree.
    #[error("the object is named after attempt {named} but holds the {record} of {found}")]
    Name {
        /// The expected kind of record.
        record: &'static str,
        /// The attempt in the name.
        named: AttemptId,
        /// The attempt in the record.
        found: AttemptId,
    },
    /// The object's path and the record inside disagree.
    #[error("the object is named after {named} but holds the {record} of {found}")]
    Place {
        /// The expected kind of record.
        record: &'static str,
        /// The branch name and number in the path.
        named: String,
        /// The branch name and number in the record.
        found: String,
    },
    /// The body does not decode.
    #[error("the body of the {record} record does not decode")]
    Body {
        /// The expected kind of record.
        record: &'static str,
    },
}

impl CodecError {
    /// What somebody may do who has such an object among the recovery records. Nothing but the object
    /// says what its write was about to do, so none of it is to delete the object.
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Version { .. } => "Use the build that wrote it: its next write resolves it",
            Self::Domain { .. } => {
                "It came here from another graph: move it out of this one, back to where it belongs"
            }
            Self::Name { .. } | Self::Place { .. } => {
                "It was copied or renamed: give it its own name back, or, if the record of that name is \
                 there too, move this one out of the graph"
            }
            Self::Truncated { .. }
            | Self::NotARecord { .. }
            | Self::Checksum { .. }
            | Self::Kind { .. }
            | Self::Body { .. } => {
                "It is damaged: restore it from a copy of the graph. If there is none, move it out of the \
                 graph and run `verify`, which names what its write has left"
            }
        }
    }
}

/// A value could not be written as bytes.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the {record} record cannot be encoded: {reason}")]
pub struct EncodeError {
    /// The kind of record.
    pub record: &'static str,
    /// What the encoder says.
    pub reason: String,
}

/// The bytes of `record` in the graph `domain`.
///
/// # Errors
/// When the value has no encoding; no record of this project is known to be so.
pub fn encode<R: ControlRecord>(
    domain: IdentityDomain,
    record: &R,
) -> Result<Vec<u8>, EncodeError> {
    framed(domain, R::KIND, R::NAME, record)
}

/// The bytes of a name's `record` in the graph `domain`.
///
/// # Errors
/// As for [`encode`].
pub fn encode_name_record<R: NameRecord>(
    domain: IdentityDomain,
    record: &R,
) -> Result<Vec<u8>, EncodeError> {
    framed(domain, R::KIND, R::NAME, record)
}

/// Reads the record of attempt `named` in the graph `domain`.
///
/// # Errors
/// What is wrong with the bytes, the outermost fault first.
pub fn decode<R: ControlRecord>(
    domain: IdentityDomain,
    named: AttemptId,
    bytes: &[u8],
) -> Result<R, CodecError> {
    let record = R::NAME;
    let value: R = unframed(domain, R::KIND, record, bytes)?;
    let found = value.attempt();
    if found == named { Ok(value) } else { Err(CodecError::Name { record, named, found }) }
}

/// Reads the record of number `number` of the branch name `name` in the graph `domain`.
///
/// # Errors
/// What is wrong with the bytes, the outermost fault first.
pub fn decode_name_record<R: NameRecord>(
    domain: IdentityDomain,
    name: &BranchName,
    number: u64,
    bytes: &[u8],
) -> Result<R, CodecError> {
    let record = R::NAME;
    let value: R = unframed(domain, R::KIND, record, bytes)?;
    if value.place() == (name, number) {
        return Ok(value);
    }
    let text = |(name, number): (&BranchName, u64)| format!("`{name}` number {number}");
    let (named, found) = (text((name, number)), text(value.place()));
    Err(CodecError::Place { record, named, found })
}

/// The graph that a record says it is of; none when the bytes are no record. For a reader that does not
/// know its graph yet, and compares as soon as it does.
pub fn domain_of_record(bytes: &[u8]) -> Option<IdentityDomain> {
    let header = checked_content("record", bytes).ok()?.get(..HEADER_BYTES)?;
    Some(domain_in(header))
}

fn framed(
    domain: IdentityDomain,
    kind: u8,
    record: &'static str,
    value: &impl Serialize,
) -> Result<Vec<u8>, EncodeError> {
    let body = postcard::to_stdvec(value)
        .map_err(|error| EncodeError { record, reason: error.to_string() })?;
    let mut bytes = Vec::with_capacity(HEADER_BYTES + body.len() + CHECKSUM_BYTES);
    bytes.extend_from_slice(&MAGIC);
    bytes.push(kind);
    bytes.extend_from_slice(&RECORD_VERSION.to_le_bytes());
    bytes.extend_from_slice(&domain.as_u128().to_le_bytes());
    bytes.extend_from_slice(&body);
    let checksum = checksum(&bytes);
    bytes.extend_from_slice(&checksum);
    Ok(bytes)
}

fn unframed<T: DeserializeOwned>(
    domain: IdentityDomain,
    kind: u8,
    record: &'static str,
    bytes: &[u8],
) -> Result<T, CodecError> {
    let content = checked_content(record, bytes)?;
    let (header, body) = content.split_at(HEADER_BYTES);
    check_header(domain, kind, record, header)?;
    let (value, rest): (T, &[u8]) =
        postcard::take_from_bytes(body).map_err(|_| CodecError::Body { record })?;
    if rest.is_empty() { Ok(value) } else { Err(CodecError::Body { record }) }
}

fn checked_content<'a>(record: &'static str, bytes: &'a [u8]) -> Result<&'a [u8], CodecError> {
    if bytes.len() < HEADER_BYTES + CHECKSUM_BYTES {
        return Err(CodecError::Truncated { record, bytes: bytes.len() });
    }
    if bytes[..MAGIC.len()] != MAGIC {
        return Err(CodecError::NotARecord { record });
    }
    let (content, found) = bytes.split_at(bytes.len() - CHECKSUM_BYTES);
    if checksum(content) == found { Ok(content) } else { Err(CodecError::Checksum { record }) }
}

fn check_header(
    expected: IdentityDomain,
    kind: u8,
    record: &'static str,
    header: &[u8],
) -> Result<(), CodecError> {
    let found = header[4];
    if found != kind {
        return Err(CodecError::Kind { record, found });
    }
    let found = u16::from_le_bytes([header[5], header[6]]);
    if found != RECORD_VERSION {
        return Err(CodecError::Version { record, found, supported: RECORD_VERSION });
    }
    let found = domain_in(header);
    if found == expected { Ok(()) } else { Err(CodecError::Domain { record, found, expected }) }
}

fn domain_in(header: &[u8]) -> IdentityDomain {
    let mut domain = [0; 16];
    domain.copy_from_slice(&header[7..HEADER_BYTES]);
    IdentityDomain::from_u128(u128::from_le_bytes(domain))
}

fn checksum(bytes: &[u8]) -> [u8; CHECKSUM_BYTES] {
    let mut out = [0; CHECKSUM_BYTES];
    out.copy_from_slice(&blake3::hash(bytes).as_bytes()[..CHECKSUM_BYTES]);
    out
}
