//! Row addresses: which rows of one version of a table are meant. It must not know what the rows
//! hold, nor what is to become of them.

use roaring::{RoaringBitmap, RoaringTreemap};

/// Name of the column that [`crate::ScanRequest::with_row_address`] adds.
pub const ROW_ADDRESS: &str = lance_core::ROW_ADDR;

/// A set of row addresses (fragment id in the upper 32 bits, offset within the fragment in the
/// lower) of one version of one table. In another version an address may name nothing, or another
/// row: the set is worth nothing without the handle whose scan has given it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RowAddresses(RoaringTreemap);

impl RowAddresses {
    /// No address.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an address; false when it is there already.
    pub fn insert(&mut self, address: u64) -> bool {
        self.0.insert(address)
    }

    /// Whether the address is one of the set.
    pub fn contains(&self, address: u64) -> bool {
        self.0.contains(address)
    }

    /// How many addresses there are.
    pub fn len(&self) -> u64 {
        self.0.len()
    }

    /// Whether there is no address.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The addresses, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        self.0.iter()
    }

    /// The offsets of each fragment that is named.
    pub(crate) fn by_fragment(&self) -> impl Iterator<Item = (u32, &RoaringBitmap)> {
        self.0.bitmaps()
    }
}

impl Extend<u64> for RowAddresses {
    fn extend<T: IntoIterator<Item = u64>>(&mut self, addresses: T) {
        self.0.extend(addresses);
    }
}

impl FromIterator<u64> for RowAddresses {
    fn from_iter<T: IntoIterator<Item = u64>>(addresses: T) -> Self {
        Self(addresses.into_iter().collect())
    }
}
