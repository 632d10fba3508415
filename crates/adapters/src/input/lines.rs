//! The lines of a stream, one at a time, as text. It must not know what a line means.

use std::io::{BufRead, Read};

use super::source::{SourceError, SourceErrorKind};

/// The longest line that is read, in bytes: a file without line breaks must not fill the memory.
pub(crate) const LINE_BYTES_MAX: u64 = 64 << 20;

/// Lines of a stream.
pub(crate) struct Lines<'a> {
    input: &'a mut (dyn BufRead + Send),
    name: &'a str,
    buffer: Vec<u8>,
    /// Number of the line that was read last, counted from 1.
    pub(crate) line: u64,
    /// Bytes read so far.
    pub(crate) bytes: u64,
}

impl<'a> Lines<'a> {
    pub(crate) fn new(input: &'a mut (dyn BufRead + Send), name: &'a str) -> Self {
        Self { input, name, buffer: Vec::new(), line: 0, bytes: 0 }
    }

    /// The next line with its end; none at the end of the stream.
    pub(crate) fn next(&mut self) -> Result<Option<&str>, SourceError> {
        self.buffer.clear();
        let mut limited = Read::take(&mut *self.input, LINE_BYTES_MAX);
        let read = limited.read_until(b'\n', &mut self.buffer);
        let read = read.map_err(|cause| self.refused(SourceErrorKind::Unreadable(cause)))? as u64;
        if read == 0 {
            return Ok(None);
        }
        self.line += 1;
        self.bytes += read;
        if read == LINE_BYTES_MAX && !self.buffer.ends_with(b"\n") {
            return Err(self.refused(SourceErrorKind::LineTooLong { line: self.line }));
        }
        match std::str::from_utf8(&self.buffer) {
            Ok(text) => Ok(Some(text)),
            Err(_) => Err(self.refused(SourceErrorKind::NotUtf8 { line: self.line })),
        }
    }

    pub(crate) fn refused(&self, kind: SourceErrorKind) -> SourceError {
        SourceError { name: self.name.to_owned(), kind }
    }
}

/// A line without its end.
pub(crate) fn without_end(line: &str) -> &str {
    line.trim_end_matches(['\n', '\r'])
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    fn all(bytes: &[u8]) -> Result<Vec<(u64, String)>, SourceError> {
        let mut input = io::BufReader::with_capacity(3, bytes);
        let mut lines = Lines::new(&mut input, "x");
        let mut read = Vec::new();
        while let Some(text) = lines.next()?.map(str::to_owned) {
            read.push((lines.line, without_end(&text).to_owned()));
        }
        assert_eq!(lines.bytes, bytes.len() as u64);
        Ok(read)
    }

    #[test]
    fn lines_are_counted_from_one() {
        let read = all(b"a\r\n\nc").unwrap();
        assert_eq!(read, [(1, "a".into()), (2, String::new()), (3, "c".into())]);
    }

    #[test]
    fn bytes_that_are_not_text_are_refused_with_their_line() {
        let error = all(b"a\n\xff\n").unwrap_err();
        assert!(matches!(error.kind, SourceErrorKind::NotUtf8 { line: 2 }), "{error}");
    }

    #[test]
    fn a_file_without_line_breaks_does_not_fill_the_memory() {
        let mut input = io::BufReader::new(io::repeat(b'x'));
        let mut lines = Lines::new(&mut input, "x");
        let error = lines.next().unwrap_err();
        assert!(matches!(error.kind, SourceErrorKind::LineTooLong { line: 1 }), "{error}");
    }
}
