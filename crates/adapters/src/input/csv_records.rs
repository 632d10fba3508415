//! CSV cut into records. The cut is made here, so that places are exact and a quote that is never
//! closed cannot swallow a file; the fields are told apart by the `csv` crate.

use std::io::{self, Read};

use csv::{Reader, ReaderBuilder, StringRecord};

use super::lines::{LINE_BYTES_MAX, Lines, without_end};
use super::source::{SourceError, SourceErrorKind};

/// Records, each with the line at which it begins.
pub(crate) struct Records<'a> {
    lines: Lines<'a>,
    fields: Reader<Feed>,
    record: StringRecord,
}

/// The text of one record on its way into the reader of fields.
#[derive(Default)]
struct Feed {
    text: Vec<u8>,
    taken: usize,
}

impl Read for Feed {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let mut rest = &self.text[self.taken..];
        let taken = rest.read(out)?;
        self.taken += taken;
        Ok(taken)
    }
}

impl<'a> Records<'a> {
    pub(crate) fn new(lines: Lines<'a>) -> Self {
        let mut fields = ReaderBuilder::new();
        fields.has_headers(false).flexible(true).buffer_capacity(1 << 16);
        Self { lines, fields: fields.from_reader(Feed::default()), record: StringRecord::new() }
    }

    /// Bytes read so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.lines.bytes
    }

    pub(crate) fn refused(&self, kind: SourceErrorKind) -> SourceError {
        self.lines.refused(kind)
    }

    /// The next record; lines with nothing on them are none.
    pub(crate) fn next(&mut self) -> Result<Option<(u64, &StringRecord)>, SourceError> {
        let Some(line) = self.gather()? else { return Ok(None) };
        let damaged = |error: csv::Error| SourceErrorKind::Damaged {
            row: None,
            cause: format!("line {line}: {error}"),
        };
        match self.fields.read_record(&mut self.record) {
            Ok(_) => Ok(Some((line, &self.record))),
            Err(error) => Err(self.lines.refused(damaged(error))),
        }
    }

    /// Puts together the lines of a record. It ends where every quote is closed: a quote within a
    /// quoted field is doubled, so that means an even number of them.
    fn gather(&mut self) -> Result<Option<u64>, SourceError> {
        let feed = self.fields.get_mut();
        feed.text.clear();
        feed.taken = 0;
        let mut first = None;
        let mut is_open = false;
        while let Some(text) = self.lines.next()? {
            if first.is_none() && without_end(text).is_empty() {
                continue;
            }
            let quotes = text.bytes().filter(|byte| *byte == b'"').count();
            is_open ^= quotes % 2 == 1;
            feed.text.extend_from_slice(if is_open { text } else { without_end(text) }.as_bytes());
            let begun = *first.get_or_insert(self.lines.line);
            if feed.text.len() as u64 > LINE_BYTES_MAX {
                return Err(self.lines.refused(SourceErrorKind::LineTooLong { line: begun }));
            }
            if !is_open {
                break;
            }
        }
        match first {
            Some(line) if is_open => Err(self.lines.refused(SourceErrorKind::OpenQuote { line })),
            first => {
                feed.text.push(b'\n');
                Ok(first)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Result<Vec<(u64, Vec<String>)>, SourceError> {
        let mut input = text.as_bytes();
        let mut records = Records::new(Lines::new(&mut input, "x"));
        let mut read = Vec::new();
        while let Some((line, record)) = records.next()? {
            read.push((line, record.iter().map(str::to_owned).collect()));
        }
        Ok(read)
    }

    fn record(line: u64, fields: &[&str]) -> (u64, Vec<String>) {
        (line, fields.iter().map(|field| (*field).to_owned()).collect())
    }

    #[test]
    fn records_have_the_line_at_which_they_begin() {
        let read = all("\u{feff}a,b\r\n\r\n\"x\r\ny\",\"1\"\"2\"\n\n,\nlast").unwrap();
        assert_eq!(
            read,
            [
                record(1, &["a", "b"]),
                record(3, &["x\r\ny", "1\"2"]),
                record(6, &["", ""]),
                record(7, &["last"]),
            ]
        );
    }

    #[test]
    fn a_single_empty_field_is_a_record_when_it_is_quoted() {
        assert_eq!(all("a\n\"\"\n\n").unwrap(), [record(1, &["a"]), record(2, &[""])]);
    }

    #[test]
    fn an_open_quote_is_refused_with_the_line_at_which_its_record_begins() {
        let error = all("a\nb\n\"c\nd\n").unwrap_err();
        assert!(matches!(error.kind, SourceErrorKind::OpenQuote { line: 3 }), "{error}");
    }

    #[test]
    fn an_open_quote_does_not_fill_the_memory() {
        let mut input = io::BufReader::new(b"\"a\n".chain(EndlessLines));
        let mut records = Records::new(Lines::new(&mut input, "x"));
        let error = records.next().unwrap_err();
        assert!(matches!(error.kind, SourceErrorKind::LineTooLong { line: 1 }), "{error}");
    }

    struct EndlessLines;

    impl Read for EndlessLines {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            out.fill(b'x');
            if let Some(last) = out.last_mut() {
                *last = b'\n';
            }
            Ok(out.len())
        }
    }
}
