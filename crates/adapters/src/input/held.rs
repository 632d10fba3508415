//! What rows in memory really take: the buffers behind them, each counted once, however many slices share it.

use std::collections::BTreeSet;

use arrow_array::{Array, RecordBatch};
use arrow_buffer::Buffer;

/// The buffers behind some batches.
#[derive(Debug, Default)]
pub(crate) struct Held {
    /// By where they begin; none is freed while its batches are held.
    buffers: BTreeSet<usize>,
    bytes: u64,
}

impl Held {
    /// Adds what a batch takes beyond those before.
    pub(crate) fn add(&mut self, batch: &RecordBatch) {
        let mut rest: Vec<_> = batch.columns().iter().map(|column| column.to_data()).collect();
        while let Some(data) = rest.pop() {
            let nulls = data.nulls().map(|nulls| nulls.buffer());
            data.buffers().iter().chain(nulls).for_each(|buffer| self.add_buffer(buffer));
            rest.extend_from_slice(data.child_data());
        }
    }

    fn add_buffer(&mut self, buffer: &Buffer) {
        if self.buffers.insert(buffer.data_ptr().as_ptr() as usize) {
            self.bytes += buffer.capacity() as u64;
        }
    }

    /// Bytes of all of them.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// None of the batches is held any more.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Int64Array, StringArray};

    use super::*;

    #[test]
    fn slices_of_one_batch_take_what_the_batch_takes() {
        let numbers: ArrayRef =
            Arc::new(Int64Array::from_iter((0..1_000).map(|n| (n > 5).then_some(n))));
        let texts: ArrayRef =
            Arc::new(StringArray::from_iter_values((0..1_000).map(|n| n.to_string())));
        let batch = RecordBatch::try_from_iter([("n", numbers), ("t", texts)]).unwrap();
        let (mut whole, mut slices) = (Held::default(), Held::default());
        whole.add(&batch);
        (0..100).for_each(|part| slices.add(&batch.slice(part * 10, 10)));
        assert_eq!(slices.bytes(), whole.bytes());
        assert!(whole.bytes() >= 1_000 * 8 + 1_000 * 4, "{}", whole.bytes());
        slices.clear();
        slices.add(&batch.slice(0, 1));
        assert_eq!(slices.bytes(), whole.bytes(), "one row holds its whole batch");
    }
}
