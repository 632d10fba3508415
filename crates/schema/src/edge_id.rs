//! The id of an edge whose key is `(src, dst)`. It is a function of the key alone and knows no row.

use std::fmt::Write;

use graphwrite_protocol_types::TableIdentity;

/// Separates edge ids from every other hash over the same bytes.
const ID_DOMAIN: &[u8] = b"graphwrite edge id\0";

/// How many bytes of the hash make the id: 128 bits.
const ID_BYTES: usize = 16;

/// The value of a node's key, as edges refer to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KeyValue<'a> {
    /// A key of type string.
    Text(&'a str),
    /// A key of type i32 or i64.
    Signed(i64),
    /// A key of type u32 or u64.
    Unsigned(u64),
}

/// The id of the edge of a type from `src` to `dst`: 32 lower-case hexadecimal digits.
///
/// The same inputs give the same id in every process and version; inputs that differ are hashed
/// from byte strings that differ. The type counts by identity, incarnation included, so that a
/// rename keeps the id and a type that was dropped and added again gets new ones (BLOCKER-07).
pub fn derived_edge_id(edge: TableIdentity, src: KeyValue<'_>, dst: KeyValue<'_>) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(ID_DOMAIN);
    hasher.update(&edge.table.get().to_le_bytes());
    hasher.update(&edge.incarnation.get().to_le_bytes());
    src.feed(&mut hasher);
    dst.feed(&mut hasher);
    hex(&hasher.finalize().as_bytes()[..ID_BYTES])
}

impl KeyValue<'_> {
    /// A tag, the length and the bytes: no two values feed the same bytes.
    fn feed(self, hasher: &mut blake3::Hasher) {
        match self {
            Self::Text(text) => feed(hasher, 0, text.as_bytes()),
            Self::Signed(number) => feed(hasher, 1, &number.to_le_bytes()),
            Self::Unsigned(number) => feed(hasher, 2, &number.to_le_bytes()),
        }
    }
}

fn feed(hasher: &mut blake3::Hasher, tag: u8, bytes: &[u8]) {
    hasher.update(&[tag]).update(&(bytes.len() as u64).to_le_bytes()).update(bytes);
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        // Writing into a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}
