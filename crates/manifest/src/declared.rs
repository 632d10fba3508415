//! Which tables a schema declares, read from its canonical bytes. The schema's own rules are the
//! schema crate's; here it only matters that bytes, hash and tables belong together.

use std::collections::BTreeSet;

use graphwrite_protocol_types::{SchemaHash, TableIdentity};
use graphwrite_schema::{GraphSchema, SchemaDecodeError};
use thiserror::Error;

/// A schema's bytes are not what is said of them.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SchemaFault {
    /// They are not a schema.
    #[error("the schema does not decode: {0}")]
    Bytes(#[from] SchemaDecodeError),
    /// They are another schema.
    #[error("the schema's bytes hash to {actual}, not to {stated}")]
    Hash {
        /// The hash stated.
        stated: SchemaHash,
        /// The hash of the bytes.
        actual: SchemaHash,
    },
}

pub(crate) fn declared_tables(
    stated: SchemaHash,
    canonical: &[u8],
) -> Result<BTreeSet<TableIdentity>, SchemaFault> {
    let schema = GraphSchema::from_bytes(canonical)?;
    let actual = schema.hash();
    if actual != stated {
        return Err(SchemaFault::Hash { stated, actual });
    }
    Ok(schema.types().iter().map(|def| def.identity).collect())
}
