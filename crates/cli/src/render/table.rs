//! The form for people: facts in two columns, lists as tables, sentences as they are.

use comfy_table::{Attribute, CellAlignment, Color, ContentArrangement, Table, presets};

use crate::render::{Block, Cell, Rows, Tone};
use crate::style::Style;
use crate::text;

pub(crate) fn render(blocks: &[Block], style: Style) -> String {
    let parts: Vec<_> = blocks.iter().filter_map(|block| part(block, style)).collect();
    parts.join("\n")
}

fn part(block: &Block, style: Style) -> Option<String> {
    match block {
        Block::Facts(facts) => Some(lines(&fact_table(facts, style))),
        Block::Rows(rows) if rows.rows.is_empty() => None,
        Block::Rows(rows) => Some(format!("{}\n{}", rows.title, lines(&row_table(rows, style)))),
        Block::Note(note) => Some(format!("{}\n", text::shown_lines(note))),
    }
}

/// The table without the blanks that pad its last column.
fn lines(table: &Table) -> String {
    table.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

fn empty(style: Style) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(style.width);
    if style.color_output {
        table.enforce_styling();
    } else {
        table.force_no_tty();
    }
    table
}

fn fact_table(facts: &[(&'static str, Cell)], style: Style) -> Table {
    let mut table = empty(style);
    for (name, value) in facts {
        table.add_row([comfy_table::Cell::new(name).add_attribute(Attribute::Dim), drawn(value)]);
    }
    flush_left(&mut table);
    table
}

fn row_table(rows: &Rows, style: Style) -> Table {
    let mut table = empty(style);
    let header = rows.columns.iter();
    table
        .set_header(header.map(|name| comfy_table::Cell::new(name).add_attribute(Attribute::Bold)));
    for row in &rows.rows {
        table.add_row(row.iter().map(drawn));
    }
    flush_left(&mut table);
    for (index, cell) in rows.rows.iter().take(1).flatten().enumerate() {
        if let Some(column) = table.column_mut(index).filter(|_| cell.is_number) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// Columns are two blanks apart and begin at the margin.
fn flush_left(table: &mut Table) {
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
}

fn drawn(cell: &Cell) -> comfy_table::Cell {
    let drawn = comfy_table::Cell::new(text::shown(&cell.text));
    match cell.tone {
        Tone::Even => drawn,
        Tone::Good => drawn.fg(Color::Green),
        Tone::Warn => drawn.fg(Color::Yellow),
        Tone::Bad => drawn.fg(Color::Red),
    }
}
