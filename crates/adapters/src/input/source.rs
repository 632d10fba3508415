//! Files and streams of rows, whatever their form: JSON lines, CSV or Parquet. It reads them into
//! the builder and knows nothing of the graph.

use std::fmt;
use std::fs::File;
use std::io::{BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::Path;
use std::str::FromStr;

use graphwrite_protocol_types::{Answer, TableIdentity};
use graphwrite_schema::GraphSchema;
use thiserror::Error;

use super::builder::InputBuilder;
use super::error::InputError;
use super::lines::{Lines, without_end};
use super::spill::TempError;
use super::{csv_rows, parquet_rows};

/// The form in which a source has its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DataForm {
    /// One JSON object a line, of any type.
    Jsonl,
    /// Comma-separated values with a header, of one type.
    Csv,
    /// Apache Parquet, of one type.
    Parquet,
}

impl DataForm {
    /// Every form.
    pub const ALL: [Self; 3] = [Self::Jsonl, Self::Csv, Self::Parquet];

    /// The name shown to people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Jsonl => "jsonl",
            Self::Csv => "csv",
            Self::Parquet => "parquet",
        }
    }

    /// The form that a file's extension names; JSON lines when it names none.
    pub fn of_path(path: &Path) -> Self {
        let extension = path.extension().and_then(|extension| extension.to_str());
        let named = extension.and_then(|extension| extension.to_lowercase().parse().ok());
        named.unwrap_or(Self::Jsonl)
    }

    /// Whether a row stands in a line.
    pub fn has_lines(self) -> bool {
        self != Self::Parquet
    }

    /// Whether the rows name no type themselves.
    pub fn is_of_one_type(self) -> bool {
        self != Self::Jsonl
    }
}

impl fmt::Display for DataForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A text is not the name of a form.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{0}` is not a form of rows; write `jsonl`, `csv` or `parquet`")]
pub struct UnknownForm(pub String);

impl FromStr for DataForm {
    type Err = UnknownForm;

    fn from_str(text: &str) -> Result<Self, UnknownForm> {
        let found = Self::ALL.into_iter().find(|form| form.name() == text);
        found.ok_or_else(|| UnknownForm(text.to_owned()))
    }
}

/// A source of rows.
pub struct Source<'a> {
    /// How messages call it.
    pub name: String,
    /// The form of its rows.
    pub form: DataForm,
    /// The type of its rows, where they do not name it themselves.
    pub table: Option<String>,
    /// Whether places name the source beside the line, as they must when one load has several.
    pub is_named_in_places: bool,
    /// Its bytes.
    pub data: SourceData<'a>,
}

/// The bytes of a source.
pub enum SourceData<'a> {
    /// A file, read from where it stands.
    File(File),
    /// Anything that can be read once. Parquet, which is read from its end, is copied to an unnamed
    /// temporary file first.
    Stream(&'a mut (dyn BufRead + Send)),
}

impl fmt::Debug for Source<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A source cannot be read as what it is said to be; nothing was written.
#[derive(Debug, Error)]
#[error("{name}: {kind}")]
pub struct SourceError {
    /// The source.
    pub name: String,
    /// What is wrong with it.
    #[source]
    pub kind: SourceErrorKind,
}

/// What is wrong with a source.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SourceErrorKind {
    /// The system could not read it.
    #[error("it cannot be read: {0}")]
    Unreadable(#[source] std::io::Error),
    /// A line, or a CSV record of several lines, is too long.
    #[error("line {line} is longer than 64 MiB")]
    LineTooLong {
        /// The line, counted from 1.
        line: u64,
    },
    /// A line is not text.
    #[error("line {line} is not UTF-8 text")]
    NotUtf8 {
        /// The line, counted from 1.
        line: u64,
    },
    /// It has another form than was said.
    #[error("it is {found}, not {said}")]
    OtherForm {
        /// What was expected.
        said: DataForm,
        /// What it is.
        found: &'static str,
    },
    /// A CSV file without its first record.
    #[error("it has no header; the first record of a CSV file names the columns")]
    NoHeader,
    /// A quoted field of a CSV file has no end.
    #[error("the quote that opens in line {line} is never closed")]
    OpenQuote {
        /// The line at which the record begins.
        line: u64,
    },
    /// A quote of a CSV file stands where RFC 4180 has no place for one.
    #[error(
        "line {line} has a quote within a field; a field with quotes begins and ends with one, and \
         those within it are doubled"
    )]
    StrayQuote {
        /// The line of the quote, or of what follows the closing one.
        line: u64,
    },
    /// A carriage return of a CSV file stands alone.
    #[error("line {line} has a carriage return; lines end with LF or CR LF")]
    LoneReturn {
        /// The line.
        line: u64,
    },
    /// The bytes are not what the form says that they are.
    #[error("it is damaged {place}: {cause}", place = damage_place(*.row))]
    Damaged {
        /// Rows that could be read before the damage; none where the file's own description is
        /// damaged.
        row: Option<u64>,
        /// What the reader says.
        cause: String,
    },
    /// Its rows name no type, and neither does the request.
    #[error("its type is not named, and no type has the name of the file; the types are {types}")]
    NoType {
        /// The types of the schema, joined.
        types: String,
    },
    /// The type that the request names is not in the schema.
    #[error("the schema has no type `{table}`; the types are {types}")]
    UnknownType {
        /// The name.
        table: String,
        /// The types of the schema, joined.
        types: String,
    },
}

fn damage_place(row: Option<u64>) -> String {
    match row {
        Some(row) => format!("at or after row {row}"),
        None => "in its description of itself".to_owned(),
    }
}

impl Answer for SourceError {
    fn code(&self) -> &'static str {
        match self.kind {
            SourceErrorKind::Unreadable(_) => "file_unreadable",
            SourceErrorKind::LineTooLong { .. } => "line_too_long",
            SourceErrorKind::NotUtf8 { .. } => "not_utf8",
            SourceErrorKind::OtherForm { .. } => "other_form",
            SourceErrorKind::NoHeader => "no_header",
            SourceErrorKind::OpenQuote { .. } => "open_quote",
            SourceErrorKind::StrayQuote { .. } => "stray_quote",
            SourceErrorKind::LoneReturn { .. } => "lone_return",
            SourceErrorKind::Damaged { .. } => "file_damaged",
            SourceErrorKind::NoType { .. } => "type_not_named",
            SourceErrorKind::UnknownType { .. } => "no_such_type",
        }
    }

    fn may_retry(&self) -> bool {
        false
    }

    fn had_no_effect(&self) -> bool {
        true
    }

    fn help(&self) -> String {
        let remedy = match self.kind {
            SourceErrorKind::Unreadable(_) => "name a file that can be read",
            SourceErrorKind::OtherForm { .. } => "say what it is with `--input-format`",
            SourceErrorKind::NoType { .. } | SourceErrorKind::UnknownType { .. } => {
                "name the type of the rows with `--table`"
            }
            _ => "correct the data and load it again",
        };
        format!("the graph is unchanged; {remedy}")
    }
}

impl InputBuilder {
    /// Reads a source to its end. Bad rows are remembered and reported by
    /// [`InputBuilder::finish`]; `progress` is told how many bytes were read.
    ///
    /// # Errors
    /// [`InputError::Source`] when it cannot be read as what it is said to be, and
    /// [`InputError::Limit`]; the load is to be given up.
    pub fn read(
        &mut self,
        source: Source<'_>,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(), InputError> {
        self.begin_source(&source)?;
        let Source { name, form, table, data, .. } = source;
        let read = match (form, data) {
            (DataForm::Parquet, SourceData::File(file)) => {
                self.parquet(&name, table.as_deref(), file, progress)
            }
            (DataForm::Parquet, SourceData::Stream(input)) => {
                let file = self.copied(&name, input)?;
                self.parquet(&name, table.as_deref(), file, progress)
            }
            (_, SourceData::File(file)) => {
                let mut input = BufReader::with_capacity(1 << 18, file);
                self.text(&name, form, table.as_deref(), &mut input, progress)
            }
            (_, SourceData::Stream(input)) => {
                self.text(&name, form, table.as_deref(), input, progress)
            }
        };
        self.end_source()?;
        read
    }

    fn text(
        &mut self,
        name: &str,
        form: DataForm,
        table: Option<&str>,
        input: &mut (dyn BufRead + Send),
        progress: &mut dyn FnMut(u64),
    ) -> Result<(), InputError> {
        refuse_binary(name, form, input)?;
        let mut lines = Lines::new(input, name);
        if form == DataForm::Csv {
            let identity = self.type_of_source(name, table)?;
            return csv_rows::read(self, identity, lines, progress);
        }
        loop {
            let number = lines.line + 1;
            let Some(text) = lines.next()? else { return Ok(()) };
            self.push_json_line(number, without_end(text))?;
            progress(lines.bytes);
        }
    }

    fn parquet(
        &mut self,
        name: &str,
        table: Option<&str>,
        file: File,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(), InputError> {
        let identity = self.type_of_source(name, table)?;
        parquet_rows::read(self, name, identity, file, progress)
    }

    /// What is read from its end must be on disk.
    fn copied(&self, name: &str, input: &mut (dyn BufRead + Send)) -> Result<File, InputError> {
        let directory = self.temp_dir().to_owned();
        let failed = |cause| TempError { directory: directory.clone(), cause };
        let mut file = tempfile::tempfile_in(&directory).map_err(failed)?;
        loop {
            let bytes = input.fill_buf().map_err(|cause| SourceError {
                name: name.to_owned(),
                kind: SourceErrorKind::Unreadable(cause),
            })?;
            if bytes.is_empty() {
                break;
            }
            file.write_all(bytes).map_err(failed)?;
            let length = bytes.len();
            input.consume(length);
        }
        file.seek(SeekFrom::Start(0)).map_err(failed)?;
        Ok(file)
    }

    /// The type that was named, else the one that has the name of the file.
    fn type_of_source(
        &self,
        name: &str,
        table: Option<&str>,
    ) -> Result<TableIdentity, SourceError> {
        let failed = |kind| SourceError { name: name.to_owned(), kind };
        let schema = self.schema();
        if let Some(table) = table {
            let found = schema.by_name(table).map(|def| def.identity);
            return found.ok_or_else(|| {
                let table = table.to_owned();
                failed(SourceErrorKind::UnknownType { table, types: names_of(schema) })
            });
        }
        let stem = Path::new(name).file_stem().and_then(|stem| stem.to_str());
        let found = stem.and_then(|stem| schema.by_name(stem)).map(|def| def.identity);
        found.ok_or_else(|| failed(SourceErrorKind::NoType { types: names_of(schema) }))
    }
}

fn names_of(schema: &GraphSchema) -> String {
    let names: Vec<_> = schema.types().iter().map(|def| def.name.as_str()).collect();
    names.join(", ")
}

/// Bytes that no text begins with.
const BINARY: [(&[u8], &str); 3] = [
    (b"PAR1", "a Parquet file"),
    (b"\x1f\x8b", "compressed with gzip"),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd"),
];

fn refuse_binary(
    name: &str,
    said: DataForm,
    input: &mut (dyn BufRead + Send),
) -> Result<(), SourceError> {
    let failed = |kind| SourceError { name: name.to_owned(), kind };
    let start = input.fill_buf().map_err(|cause| failed(SourceErrorKind::Unreadable(cause)))?;
    match BINARY.iter().find(|(magic, _)| start.starts_with(magic)) {
        Some((_, found)) => Err(failed(SourceErrorKind::OtherForm { said, found })),
        None => Ok(()),
    }
}
