//! The digest of a mutation: what is done with which rows, in which order. The same statements have
//! the same digest in every process and version, given as JSON or as batches and however they are
//! cut; it says nothing of places and nothing of the graph's content.

use arrow_array::{Array, RecordBatch};
use blake3::Hasher;
use graphwrite_protocol_types::RequestDigest;

use super::statement::{Action, Group, MutationInput, Naming, OnReferenced, Selection, Step};
use crate::digest::{Feed, column_label};

/// Separates these digests from every other hash over the same bytes.
const DOMAIN: &[u8] = b"graphwrite mutation request 1\0";

/// The digest of a mutation.
pub fn mutation_digest(input: &MutationInput) -> RequestDigest {
    let content = input.content.get_or_init(|| content_digest(input));
    let mut hasher = Hasher::new();
    hasher.update(DOMAIN).update(content);
    RequestDigest(*hasher.finalize().as_bytes())
}

fn content_digest(input: &MutationInput) -> [u8; 32] {
    let mut feed = Feed::default();
    for step in &input.steps {
        match step {
            Step::Rows { group, rows } => {
                let group = &input.groups[*group];
                rows.clone().for_each(|row| feed_row(&mut feed, group, row));
            }
            Step::Where(selection) => feed_selection(&mut feed, selection),
        }
    }
    feed.finish()
}

/// What is done, as one byte. Part of the stored digest: never change one.
fn tag(action: Action, by: Naming) -> u8 {
    match (action, by == Naming::Parallels) {
        (Action::Insert, _) => 1,
        (Action::Upsert, _) => 2,
        (Action::Update, _) => 3,
        (Action::Delete(OnReferenced::Restrict), false) => 4,
        (Action::Delete(OnReferenced::Cascade), false) => 5,
        (Action::Delete(_), true) => 6,
    }
}

/// The tag of a delete by condition.
fn where_tag(on: OnReferenced) -> u8 {
    match on {
        OnReferenced::Restrict => 7,
        OnReferenced::Cascade => 8,
    }
}

/// Row by row, so that nothing depends on what rows are kept together. In a whole row nulls say
/// nothing, so that a property that is added later does not change the digest; in an update they
/// are values.
fn feed_row(feed: &mut Feed, group: &Group, row: usize) {
    let Some((batch, row)) = group.locate(row) else { return };
    feed.bytes(&[tag(group.action, group.by)]);
    feed.sized(group.table.to_string().as_bytes());
    let whole = matches!(group.action, Action::Insert | Action::Upsert);
    let says = |column: usize| !whole || batch.column(column).is_valid(row);
    let columns: Vec<usize> = (0..batch.num_columns()).filter(|column| says(*column)).collect();
    feed.bytes(&(columns.len() as u64).to_le_bytes());
    columns.into_iter().for_each(|column| feed_cell(feed, batch, column, row));
}

fn feed_cell(feed: &mut Feed, batch: &RecordBatch, at: usize, row: usize) {
    let column = batch.column(at);
    feed.sized(column_label(batch.schema_ref().field(at)).as_bytes());
    feed.bytes(&[u8::from(column.is_valid(row))]);
    if column.is_valid(row) {
        feed.cell(column, row);
    }
}

fn feed_selection(feed: &mut Feed, selection: &Selection) {
    feed.bytes(&[where_tag(selection.on)]);
    feed.sized(selection.table.to_string().as_bytes());
    feed.sized(selection.predicate.text().as_bytes());
}
