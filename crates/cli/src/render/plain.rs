//! The form for scripts: one line for each fact or entry, fields separated by tabs.

use std::borrow::Cow;

use crate::render::{Block, Cell, Rows};
use crate::text;

/// A report that is a list has one line per entry. Any other has a line `name value` per fact. An
/// entry of any further list begins with what it is, so that it is never taken for one of the first.
pub(crate) fn render(blocks: &[Block]) -> String {
    let facts = blocks.iter().any(|block| matches!(block, Block::Facts(_)));
    let first = blocks.iter().position(|block| matches!(block, Block::Rows(_)));
    let named = |at: usize| facts || first != Some(at);
    blocks.iter().enumerate().map(|(at, block)| part(block, named(at))).collect()
}

fn part(block: &Block, named: bool) -> String {
    match block {
        Block::Facts(facts) => facts.iter().map(fact).collect(),
        Block::Rows(rows) => list(rows, named),
        Block::Note(_) => String::new(),
    }
}

fn fact((name, value): &(&'static str, Cell)) -> String {
    format!("{name}\t{}\n", field(value))
}

fn field(cell: &Cell) -> Cow<'_, str> {
    text::field(cell.raw.as_ref().unwrap_or(&cell.text))
}

fn list(rows: &Rows, named: bool) -> String {
    rows.rows.iter().map(|row| line(named.then_some(rows.kind), row)).collect()
}

fn line(kind: Option<&str>, row: &[Cell]) -> String {
    let cells = row.iter().map(field);
    let fields: Vec<_> = kind.into_iter().map(Into::into).chain(cells).collect();
    fields.join("\t") + "\n"
}
