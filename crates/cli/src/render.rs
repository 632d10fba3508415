//! Writes a report in the form that was asked for. It must not know what a report is about: a
//! report says what it consists of.

mod failure;
mod plain;
mod table;

use std::io::Write;

use serde::Serialize;

use crate::command::Format;
use crate::failure::Failure;
use crate::style::Style;
use crate::text;

pub(crate) use failure::render_failure;

/// How good a value is, for colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    /// Neither good nor bad.
    Even,
    /// As it should be.
    Good,
    /// Wants attention.
    Warn,
    /// Wrong.
    Bad,
}

/// One value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cell {
    pub(crate) text: String,
    /// What a script gets instead, where that is another text.
    pub(crate) raw: Option<String>,
    pub(crate) tone: Tone,
    pub(crate) is_number: bool,
}

/// The text of a value that is absent.
pub(crate) const ABSENT: &str = "-";

impl Cell {
    pub(crate) fn text(value: impl std::fmt::Display) -> Self {
        Self { text: value.to_string(), raw: None, tone: Tone::Even, is_number: false }
    }

    pub(crate) fn number(value: u64) -> Self {
        Self { is_number: true, ..Self::text(value) }
    }

    pub(crate) fn optional<T: std::fmt::Display>(value: Option<T>) -> Self {
        value.map_or_else(|| Self::text(ABSENT), Self::text)
    }

    /// An age: in words for people, in milliseconds for scripts.
    pub(crate) fn age(age_ms: u64) -> Self {
        Self { raw: Some(age_ms.to_string()), ..Self::text(text::age(age_ms)) }
    }

    pub(crate) fn toned(self, tone: Tone) -> Self {
        Self { tone, ..self }
    }
}

/// A list of things of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rows {
    /// What a row is, one word.
    pub(crate) kind: &'static str,
    /// What stands above the list.
    pub(crate) title: String,
    pub(crate) columns: Vec<&'static str>,
    pub(crate) rows: Vec<Vec<Cell>>,
}

/// A part of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Block {
    /// Names and values.
    Facts(Vec<(&'static str, Cell)>),
    /// A list.
    Rows(Rows),
    /// A sentence that only people need.
    Note(String),
}

/// A result. Its serialised form is what programs get.
pub(crate) trait Report: Serialize {
    /// What it consists of, in the order in which it is read.
    fn blocks(&self) -> Vec<Block>;

    /// Its lines in JSON lines; a list has one for each entry.
    fn lines(&self) -> Vec<String> {
        vec![line(self)]
    }
}

/// The JSON form of a part of a report, on one line.
pub(crate) fn line(part: &(impl Serialize + ?Sized)) -> String {
    // Reports consist of strings, numbers and lists, which always have a JSON form.
    serde_json::to_string(part).unwrap_or_default()
}

/// The JSON form of a report, for people who read JSON.
fn page(report: &impl Report) -> String {
    // As above.
    serde_json::to_string_pretty(report).unwrap_or_default() + "\n"
}

/// Writes `report` to `output`.
pub(crate) fn write_report(
    report: &impl Report,
    style: Style,
    output: &mut dyn Write,
) -> Result<(), Failure> {
    let text = text_of(report, style);
    let written = output.write_all(text.as_bytes()).and_then(|()| output.flush());
    written.map_err(|error| Failure::output(&error))
}

fn text_of(report: &impl Report, style: Style) -> String {
    match style.format {
        Format::Table => table::render(&report.blocks(), style),
        Format::Plain => plain::render(&report.blocks()),
        Format::Json => page(report),
        Format::Jsonl => report.lines().into_iter().map(|line| line + "\n").collect(),
    }
}
