//! How many objects there are of something, and how large they are.

use graphwrite_substrate::ObjectEntry;

/// A count of objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Counted {
    pub(crate) count: u64,
    pub(crate) bytes: u64,
}

impl Counted {
    pub(crate) fn add(&mut self, object: &ObjectEntry) {
        self.count += 1;
        self.bytes += object.size;
    }

    pub(crate) fn add_all<'a>(&mut self, objects: impl IntoIterator<Item = &'a ObjectEntry>) {
        objects.into_iter().for_each(|object| self.add(object));
    }
}
