//! CSV cut into records and fields by the one grammar of RFC 4180, so that places are exact, a quote
//! that is never closed cannot swallow a file, and what the grammar does not allow is refused: other
//! readers guess, and lose or join rows over it.

use csv::StringRecord;

use super::lines::{LINE_BYTES_MAX, Lines, without_end};
use super::source::{SourceError, SourceErrorKind};

/// Records, each with the line at which it begins.
pub(crate) struct Records<'a> {
    lines: Lines<'a>,
    record: StringRecord,
    has_begun: bool,
}

impl<'a> Records<'a> {
    pub(crate) fn new(lines: Lines<'a>) -> Self {
        Self { lines, record: StringRecord::new(), has_begun: false }
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
        self.record.clear();
        let (mut cut, mut first, mut bytes) = (Cut::default(), None, 0);
        while let Some(text) = self.lines.next()? {
            let is_begun = std::mem::replace(&mut self.has_begun, true);
            let mark = text.strip_prefix('\u{feff}').filter(|_| !is_begun);
            let text = mark.unwrap_or(text);
            if first.is_none() && without_end(text).is_empty() {
                continue;
            }
            bytes += text.len() as u64;
            let ended = cut.line(text, &mut self.record);
            let (line, begun) = (self.lines.line, *first.get_or_insert(self.lines.line));
            if bytes > LINE_BYTES_MAX {
                return Err(self.lines.refused(SourceErrorKind::LineTooLong { line: begun }));
            }
            match ended {
                Ok(true) => return Ok(Some((begun, &self.record))),
                Ok(false) => {}
                Err(Unallowed::Quote) => {
                    return Err(self.lines.refused(SourceErrorKind::StrayQuote { line }));
                }
                Err(Unallowed::Return) => {
                    return Err(self.lines.refused(SourceErrorKind::LoneReturn { line }));
                }
            }
        }
        match first {
            Some(line) => Err(self.lines.refused(SourceErrorKind::OpenQuote { line })),
            None => Ok(None),
        }
    }
}

/// What RFC 4180 has no place for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unallowed {
    /// A quote in a field that does not begin with one, or something behind the closing one.
    Quote,
    /// A carriage return outside quotes that is not part of the end of a line.
    Return,
}

/// Where in a record the next character stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum State {
    #[default]
    Begin,
    Plain,
    Quoted,
    /// Behind a quote within a quoted field: the first half of two, or its end.
    Closing,
}

/// A record on its way into fields.
#[derive(Debug, Default)]
struct Cut {
    state: State,
    field: String,
}

impl Cut {
    /// Takes in one line, with its end; true when the record ends with it.
    fn line(&mut self, text: &str, record: &mut StringRecord) -> Result<bool, Unallowed> {
        let mut rest = text.chars().peekable();
        while let Some(char) = rest.next() {
            let ends = char == '\n' || (char == '\r' && matches!(rest.peek(), Some('\n') | None));
            match (self.state, char) {
                (State::Begin, '"') => self.state = State::Quoted,
                (State::Quoted, '"') => self.state = State::Closing,
                (State::Quoted, char) => self.field.push(char),
                (State::Closing, '"') => self.quote(),
                (_, ',') => self.end_field(record),
                _ if ends => break,
                (_, '\r') => return Err(Unallowed::Return),
                (State::Closing, _) | (State::Plain, '"') => return Err(Unallowed::Quote),
                (State::Begin | State::Plain, char) => {
                    self.field.push(char);
                    self.state = State::Plain;
                }
            }
        }
        if self.state == State::Quoted {
            return Ok(false);
        }
        self.end_field(record);
        Ok(true)
    }

    fn quote(&mut self) {
        self.field.push('"');
        self.state = State::Quoted;
    }

    fn end_field(&mut self, record: &mut StringRecord) {
        record.push_field(&self.field);
        self.field.clear();
        self.state = State::Begin;
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, Read};

    use proptest::prelude::*;

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
    fn a_quote_where_none_may_stand_is_refused_with_its_line() {
        for text in
            ["a\n5\" x\n6\" y\nb\n", "a\nb\"\n", "a\n\"b\"c\n", "a\n\"b\" \n", "a\nx\"y\"\n"]
        {
            let error = all(text).unwrap_err();
            assert!(
                matches!(error.kind, SourceErrorKind::StrayQuote { line: 2 }),
                "{text}: {error}"
            );
        }
    }

    #[test]
    fn a_carriage_return_ends_no_line_alone() {
        for text in ["a\rb\r", "a,b\rc,d\n", "a\r\r\n"] {
            let error = all(text).unwrap_err();
            assert!(
                matches!(error.kind, SourceErrorKind::LoneReturn { line: 1 }),
                "{text}: {error}"
            );
        }
        assert_eq!(all("a\r\nb\r").unwrap(), [record(1, &["a"]), record(2, &["b"])]);
        assert_eq!(all("\"a\rb\"\n").unwrap(), [record(1, &["a\rb"])]);
    }

    proptest! {
        /// What is written by another hand is read as it was; what is damaged never loses a record
        /// without a word.
        #[test]
        fn records_come_back_whole_or_are_refused(
            fields in proptest::collection::vec(
                proptest::collection::vec("[a\",\r\n é]{0,4}", 2..4), 1..6),
            damage in proptest::option::of((any::<prop::sample::Index>(), "[\"\r,\n]")),
        ) {
            let mut writer = csv::Writer::from_writer(Vec::new());
            writer.write_record(["x", "y"]).unwrap();
            let mut writer = csv::WriterBuilder::new().flexible(true).from_writer(writer.into_inner().unwrap());
            fields.iter().for_each(|record| writer.write_record(record).unwrap());
            let text = String::from_utf8(writer.into_inner().unwrap()).unwrap();
            let found = all(&text).unwrap();
            let found: Vec<_> = found.into_iter().skip(1).map(|(_, record)| record).collect();
            prop_assert_eq!(&found, &fields);
            if let Some((at, damage)) = damage {
                let at = at.index(text.chars().count() + 1);
                let damaged: String = text.chars().take(at)
                    .chain(damage.chars()).chain(text.chars().skip(at)).collect();
                if let Ok(read) = all(&damaged) {
                    let read: usize = read.iter().flat_map(|(_, record)| record).map(String::len).sum();
                    let kept = damaged.chars().filter(|char| !"\",\r\n".contains(*char));
                    prop_assert!(read >= kept.map(char::len_utf8).sum::<usize>());
                }
            }
        }
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
