//! The files that an operator names: the schema, and the lines of the data. It must not know what a
//! line means.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use graphwrite_schema::SchemaDocument;

use crate::exit::Exit;
use crate::failure::{Detail, Failure};

/// The longest line that is read, in bytes: a file without line breaks must not fill the memory.
const LINE_BYTES_MAX: u64 = 64 << 20;

/// Reads the schema of a new graph.
pub(crate) fn schema(path: &Path) -> Result<SchemaDocument, Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| unreadable(path, &error))?;
    SchemaDocument::parse(&text).map_err(|error| refused_schema(path, &error))
}

/// The failure of a schema that was refused, wherever its rules were checked.
pub(crate) fn refused_schema(path: &Path, error: &graphwrite_schema::SchemaError) -> Failure {
    let line = error.line.map(|line| format!("line {line}, ")).unwrap_or_default();
    let detail = Detail {
        place: format!("{line}{}", error.place),
        field: None,
        rule: error.code().to_owned(),
        message: error.kind.to_string(),
    };
    Failure::new(Exit::Refused, "invalid_schema", format!("{}: {error}", path.display()))
        .help(format!("nothing was created; {}", error.remedy()))
        .details(vec![detail])
}

/// The data of a load: a file, with its size, or standard input.
pub(crate) fn data(path: &Path) -> Result<Option<(BufReader<File>, u64)>, Failure> {
    if path == Path::new("-") {
        return Ok(None);
    }
    check_form(path)?;
    let file = File::open(path).map_err(|error| unreadable(path, &error))?;
    let found = file.metadata().map_err(|error| unreadable(path, &error))?;
    if found.is_dir() {
        return Err(unreadable(path, &io::Error::from(io::ErrorKind::IsADirectory)));
    }
    Ok(Some((BufReader::with_capacity(1 << 18, file), found.len())))
}

fn check_form(path: &Path) -> Result<(), Failure> {
    let extension = path.extension().and_then(|extension| extension.to_str());
    match extension {
        Some(form @ ("parquet" | "csv" | "arrow")) => {
            let message = format!("{}: this build does not load {form} files", path.display());
            Err(Failure::new(Exit::Refused, "unsupported_data_form", message)
                .help("nothing was changed; give the rows as JSON lines"))
        }
        _ => Ok(()),
    }
}

fn unreadable(path: &Path, error: &io::Error) -> Failure {
    Failure::new(Exit::Refused, "file_unreadable", format!("{}: {error}", path.display()))
        .help("nothing was changed; name a file that can be read")
}

/// Lines of a stream, one at a time.
pub(crate) struct Lines<'a> {
    input: &'a mut (dyn BufRead + Send),
    name: String,
    buffer: Vec<u8>,
    /// Number of the line that was read last, counted from 1.
    pub(crate) line: u64,
    /// Bytes read so far.
    pub(crate) bytes: u64,
}

impl<'a> Lines<'a> {
    pub(crate) fn new(input: &'a mut (dyn BufRead + Send), path: &Path) -> Self {
        let stdin = path == Path::new("-");
        let name = if stdin { "standard input".into() } else { path.display().to_string() };
        Self { input, name, buffer: Vec::new(), line: 0, bytes: 0 }
    }

    /// The next line without its end; none at the end of the stream.
    pub(crate) fn next(&mut self) -> Result<Option<&str>, Failure> {
        self.buffer.clear();
        let mut limited = Read::take(&mut *self.input, LINE_BYTES_MAX);
        let read = limited.read_until(b'\n', &mut self.buffer);
        let read = read.map_err(|error| unreadable(Path::new(&self.name), &error))? as u64;
        if read == 0 {
            return Ok(None);
        }
        self.line += 1;
        self.bytes += read;
        if read == LINE_BYTES_MAX && !self.buffer.ends_with(b"\n") {
            return Err(self.refused("line_too_long", "is longer than 64 MiB"));
        }
        match std::str::from_utf8(&self.buffer) {
            Ok(text) => Ok(Some(text.trim_end_matches(['\n', '\r']))),
            Err(_) => Err(self.refused("not_utf8", "is not UTF-8 text")),
        }
    }

    fn refused(&self, code: &'static str, what: &str) -> Failure {
        let message = format!("{}: line {} {what}", self.name, self.line);
        Failure::new(Exit::Refused, code, message)
            .help("the graph is unchanged; correct the data and load it again")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(bytes: &[u8]) -> Result<Vec<(u64, String)>, Failure> {
        let mut input = io::BufReader::with_capacity(3, bytes);
        let mut lines = Lines::new(&mut input, Path::new("-"));
        let mut read = Vec::new();
        while let Some(text) = lines.next()?.map(str::to_owned) {
            read.push((lines.line, text));
        }
        assert_eq!(lines.bytes, bytes.len() as u64);
        Ok(read)
    }

    #[test]
    fn lines_are_counted_from_one_and_lose_their_ends() {
        let read = all(b"a\r\n\nc").unwrap();
        assert_eq!(read, [(1, "a".into()), (2, String::new()), (3, "c".into())]);
    }

    #[test]
    fn bytes_that_are_not_text_are_refused_with_their_line() {
        let failure = all(b"a\n\xff\n").unwrap_err();
        assert_eq!((failure.exit, failure.code), (Exit::Refused, "not_utf8"));
        assert!(failure.message.contains("line 2"));
    }

    #[test]
    fn a_file_without_line_breaks_does_not_fill_the_memory() {
        let mut input = io::BufReader::new(io::repeat(b'x'));
        let mut lines = Lines::new(&mut input, Path::new("-"));
        assert_eq!(lines.next().unwrap_err().code, "line_too_long");
    }

    #[test]
    fn a_form_that_is_not_supported_is_refused_before_the_file_is_opened() {
        let failure = data(Path::new("nowhere.parquet")).err().unwrap();
        assert_eq!(failure.code, "unsupported_data_form");
        assert_eq!(data(Path::new("nowhere.jsonl")).err().unwrap().code, "file_unreadable");
    }

    #[test]
    fn a_schema_that_is_refused_names_the_file_the_place_and_the_rule() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("schema.toml");
        std::fs::write(
            &path,
            "[node.A]\nkey = \"k\"\n[node.A.properties]\nk = { type = \"cow\" }\n",
        )
        .unwrap();
        let failure = schema(&path).err().unwrap();
        assert_eq!((failure.exit, failure.code), (Exit::Refused, "invalid_schema"));
        assert!(failure.message.contains("schema.toml"));
        assert!(failure.details[0].place.contains("node.A.properties.k"));
    }
}
