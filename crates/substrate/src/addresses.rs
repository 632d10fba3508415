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

    /// The same addresses in portions of at most `most`, in order. The rows of one fragment stay
    /// together, since one commit gives a fragment one list of removed rows: a portion that begins
    /// with more than `most` of them is that large.
    pub fn in_portions(&self, most: u64) -> Vec<Self> {
        let mut portions: Vec<Self> = Vec::new();
        for (fragment, offsets) in self.0.bitmaps() {
            let fits = |last: &Self| last.len() + offsets.len() <= most;
            if portions.last().is_none_or(|last| !fits(last)) {
                portions.push(Self::new());
            }
            let first = u64::from(fragment) << 32;
            if let Some(last) = portions.last_mut() {
                last.extend(offsets.iter().map(|offset| first | u64::from(offset)));
            }
        }
        portions
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

#[cfg(test)]
mod tests {
    use super::*;

    fn address(fragment: u64, offset: u64) -> u64 {
        fragment << 32 | offset
    }

    #[test]
    fn portions_are_bounded_keep_fragments_whole_and_lose_nothing() {
        let sizes = [3, 1, 7, 2, 2];
        let all: RowAddresses = (0..)
            .zip(sizes)
            .flat_map(|(fragment, rows)| (0..rows).map(move |row| address(fragment, row)))
            .collect();
        let portions = all.in_portions(4);
        assert_eq!(portions.iter().map(RowAddresses::len).collect::<Vec<_>>(), [4, 7, 4]);
        let together: RowAddresses = portions.iter().flat_map(RowAddresses::iter).collect();
        assert_eq!(together, all);
        assert_eq!(all.in_portions(u64::MAX), std::slice::from_ref(&all));
        assert_eq!(RowAddresses::new().in_portions(1), []);
    }
}
