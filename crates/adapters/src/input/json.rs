//! One JSON text as a tree that keeps numbers as they were written and refuses what a lenient
//! reader would silently settle: repeated names, lone surrogates, deep nesting. It knows no types.

use std::borrow::Cow;

use thiserror::Error;

/// How deep lists and objects may be nested. A row needs three levels.
const DEPTH_MAX: usize = 32;

/// A JSON value. Numbers keep their text, so that no digit is lost before the type is known.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Json<'a> {
    Null,
    Bool(bool),
    Number(&'a str),
    Text(Cow<'a, str>),
    List(Vec<Json<'a>>),
    Object(Members<'a>),
}

/// The members of an object, in the order of the text, each name once.
pub(crate) type Members<'a> = Vec<(Cow<'a, str>, Json<'a>)>;

/// A text is not one JSON value.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{kind} at column {column}")]
pub(crate) struct JsonError {
    /// Byte of the line, counted from 1.
    pub(crate) column: usize,
    pub(crate) kind: JsonErrorKind,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum JsonErrorKind {
    #[error("the text ends too early")]
    Ends,
    #[error("unexpected character {0:?}")]
    Unexpected(char),
    #[error("a value is expected")]
    NoValue,
    #[error("more text after the value")]
    Trailing,
    #[error("a number must have the form of JSON")]
    Number,
    #[error("unknown escape in a string")]
    Escape,
    #[error("half of a surrogate pair in a string")]
    Surrogate,
    #[error("control character in a string")]
    Control,
    #[error("the name {0:?} stands twice in one object")]
    DuplicateName(String),
    #[error("nested deeper than {DEPTH_MAX} levels")]
    Depth,
}

impl Json<'_> {
    /// What the value is, for messages.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Number(_) => "a number",
            Self::Text(_) => "a string",
            Self::List(_) => "a list",
            Self::Object(_) => "an object",
        }
    }
}

/// Reads a text that holds exactly one value.
pub(crate) fn parse(text: &str) -> Result<Json<'_>, JsonError> {
    let mut reader = Reader { text, at: 0 };
    reader.space();
    let value = reader.value(0)?;
    reader.space();
    if reader.at < text.len() { Err(reader.error(JsonErrorKind::Trailing)) } else { Ok(value) }
}

/// The values of a list, read one at a time: each with how many bytes it takes. After an error it
/// ends.
pub(crate) struct Elements<'a> {
    reader: Reader<'a>,
    is_first: bool,
    is_done: bool,
}

impl<'a> Elements<'a> {
    /// None when the text does not begin with a list.
    pub(crate) fn of(text: &'a str) -> Option<Self> {
        let mut reader = Reader { text, at: 0 };
        reader.space();
        reader.skip(b'[').then_some(Self { reader, is_first: true, is_done: false })
    }

    fn read(&mut self) -> Result<Option<(Json<'a>, usize)>, JsonError> {
        let reader = &mut self.reader;
        reader.space();
        if reader.skip(b']') {
            self.is_done = true;
            reader.space();
            let is_end = reader.at == reader.text.len();
            return if is_end { Ok(None) } else { Err(reader.error(JsonErrorKind::Trailing)) };
        }
        if !std::mem::take(&mut self.is_first) {
            reader.expect(b',')?;
            reader.space();
        }
        let start = reader.at;
        let value = reader.value(1)?;
        Ok(Some((value, reader.at - start)))
    }
}

impl<'a> Iterator for Elements<'a> {
    type Item = Result<(Json<'a>, usize), JsonError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_done {
            return None;
        }
        let read = self.read();
        self.is_done |= read.is_err();
        read.transpose()
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn error(&self, kind: JsonErrorKind) -> JsonError {
        JsonError { column: self.at + 1, kind }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn skip(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn unexpected(&self) -> JsonError {
        let next = self.text.get(self.at..).and_then(|rest| rest.chars().next());
        self.error(next.map_or(JsonErrorKind::Ends, JsonErrorKind::Unexpected))
    }

    fn expect(&mut self, byte: u8) -> Result<(), JsonError> {
        if self.skip(byte) { Ok(()) } else { Err(self.unexpected()) }
    }

    fn value(&mut self, depth: usize) -> Result<Json<'a>, JsonError> {
        if depth > DEPTH_MAX {
            return Err(self.error(JsonErrorKind::Depth));
        }
        match self.peek() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.list(depth),
            Some(b'"') => self.string().map(Json::Text),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => self.word(),
        }
    }

    fn word(&mut self) -> Result<Json<'a>, JsonError> {
        let words =
            [("null", Json::Null), ("true", Json::Bool(true)), ("false", Json::Bool(false))];
        let rest = &self.text[self.at..];
        for (word, value) in words {
            if rest.starts_with(word) {
                self.at += word.len();
                return Ok(value);
            }
        }
        Err(self.error(if rest.is_empty() { JsonErrorKind::Ends } else { JsonErrorKind::NoValue }))
    }

    fn list(&mut self, depth: usize) -> Result<Json<'a>, JsonError> {
        let mut items = Vec::new();
        self.expect(b'[')?;
        self.space();
        if self.skip(b']') {
            return Ok(Json::List(items));
        }
        loop {
            self.space();
            items.push(self.value(depth + 1)?);
            self.space();
            if self.skip(b']') {
                return Ok(Json::List(items));
            }
            self.expect(b',')?;
        }
    }

    fn object(&mut self, depth: usize) -> Result<Json<'a>, JsonError> {
        let mut members = Vec::new();
        self.expect(b'{')?;
        self.space();
        if self.skip(b'}') {
            return Ok(Json::Object(members));
        }
        loop {
            self.space();
            let name = self.string()?;
            self.space();
            self.expect(b':')?;
            self.space();
            members.push((name, self.value(depth + 1)?));
            self.space();
            if self.skip(b'}') {
                return self.distinct(members);
            }
            self.expect(b',')?;
        }
    }

    fn distinct(&self, members: Members<'a>) -> Result<Json<'a>, JsonError> {
        let mut names: Vec<&str> = members.iter().map(|(name, _)| name.as_ref()).collect();
        names.sort_unstable();
        match names.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(self.error(JsonErrorKind::DuplicateName(pair[0].to_owned()))),
            None => Ok(Json::Object(members)),
        }
    }

    fn digits(&mut self) -> Result<(), JsonError> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at == start { Err(self.error(JsonErrorKind::Number)) } else { Ok(()) }
    }

    fn number(&mut self) -> Result<Json<'a>, JsonError> {
        let start = self.at;
        self.skip(b'-');
        let leading_zero = self.peek() == Some(b'0');
        let first = self.at;
        self.digits()?;
        if leading_zero && self.at > first + 1 {
            return Err(self.error(JsonErrorKind::Number));
        }
        if self.skip(b'.') {
            self.digits()?;
        }
        if self.skip(b'e') || self.skip(b'E') {
            let _ = self.skip(b'+') || self.skip(b'-');
            self.digits()?;
        }
        Ok(Json::Number(&self.text[start..self.at]))
    }

    fn string(&mut self) -> Result<Cow<'a, str>, JsonError> {
        self.expect(b'"')?;
        let mut owned: Option<String> = None;
        loop {
            let piece = self.plain_run()?;
            match (&mut owned, self.peek()) {
                (None, Some(b'"')) => {
                    self.at += 1;
                    return Ok(Cow::Borrowed(piece));
                }
                (Some(text), Some(b'"')) => {
                    text.push_str(piece);
                    self.at += 1;
                    return Ok(Cow::Owned(std::mem::take(text)));
                }
                _ => {
                    let text = owned.get_or_insert_with(String::new);
                    text.push_str(piece);
                    text.push(self.escape()?);
                }
            }
        }
    }

    /// Up to a quote or a backslash.
    fn plain_run(&mut self) -> Result<&'a str, JsonError> {
        let start = self.at;
        loop {
            match self.peek() {
                Some(b'"' | b'\\') => return Ok(&self.text[start..self.at]),
                Some(0..=0x1f) => return Err(self.error(JsonErrorKind::Control)),
                Some(_) => self.at += 1,
                None => return Err(self.error(JsonErrorKind::Ends)),
            }
        }
    }

    fn escape(&mut self) -> Result<char, JsonError> {
        self.expect(b'\\')?;
        let escaped = self.peek().ok_or_else(|| self.error(JsonErrorKind::Ends))?;
        let plain = match escaped {
            b'"' | b'\\' | b'/' => char::from(escaped),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => return self.unicode(),
            _ => return Err(self.error(JsonErrorKind::Escape)),
        };
        self.at += 1;
        Ok(plain)
    }

    fn unicode(&mut self) -> Result<char, JsonError> {
        let high = self.code_unit()?;
        if !(0xd800..0xe000).contains(&high) {
            return char::from_u32(high).ok_or_else(|| self.error(JsonErrorKind::Surrogate));
        }
        if high >= 0xdc00 || !self.skip(b'\\') {
            return Err(self.error(JsonErrorKind::Surrogate));
        }
        let low = self.code_unit()?;
        if !(0xdc00..0xe000).contains(&low) {
            return Err(self.error(JsonErrorKind::Surrogate));
        }
        let scalar = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
        char::from_u32(scalar).ok_or_else(|| self.error(JsonErrorKind::Surrogate))
    }

    /// `uXXXX`.
    fn code_unit(&mut self) -> Result<u32, JsonError> {
        if !self.skip(b'u') {
            return Err(self.error(JsonErrorKind::Surrogate));
        }
        let digits = self.text.as_bytes().get(self.at..self.at + 4);
        let hex = digits.filter(|digits| digits.iter().all(u8::is_ascii_hexdigit));
        let text = hex.and_then(|digits| std::str::from_utf8(digits).ok());
        let unit = text.and_then(|text| u32::from_str_radix(text, 16).ok());
        let unit = unit.ok_or_else(|| self.error(JsonErrorKind::Escape))?;
        self.at += 4;
        Ok(unit)
    }
}

/// Appends `text` as a JSON string.
pub(crate) fn write_string(out: &mut String, text: &str) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            control if control < ' ' => {
                out.push_str(&format!("\\u{:04x}", u32::from(control)));
            }
            plain => out.push(plain),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind_of(text: &str) -> JsonErrorKind {
        parse(text).unwrap_err().kind
    }

    #[test]
    fn keeps_the_text_of_numbers() {
        for text in ["0", "-0", "1.50", "1e400", "18446744073709551615", "-1E-2"] {
            assert_eq!(parse(text).unwrap(), Json::Number(text));
        }
    }

    #[test]
    fn refuses_numbers_outside_the_grammar() {
        for text in ["01", "-", "1.", "1e", "-01", "1.e3"] {
            assert_eq!(kind_of(text), JsonErrorKind::Number, "{text}");
        }
        for text in [".5", "+1", "NaN", "Infinity"] {
            assert_eq!(kind_of(text), JsonErrorKind::NoValue, "{text}");
        }
    }

    #[test]
    fn reads_every_escape() {
        let read = parse(r#""\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00z""#).unwrap();
        assert_eq!(read, Json::Text("\"\\/\u{8}\u{c}\n\r\té😀z".into()));
    }

    #[test]
    fn refuses_half_a_surrogate_pair() {
        for text in [r#""\ud83d""#, r#""\ude00""#, r#""\ud83dx""#, r#""\ud83d\u0041""#] {
            assert_eq!(kind_of(text), JsonErrorKind::Surrogate, "{text}");
        }
    }

    #[test]
    fn refuses_a_name_that_stands_twice_even_when_it_is_spelled_with_an_escape() {
        let repeated = JsonErrorKind::DuplicateName("a".into());
        assert_eq!(kind_of(r#"{"a":1,"b":2,"\u0061":3}"#), repeated);
        assert_eq!(kind_of(r#"{"x":{"a":1,"a":1}}"#), repeated);
    }

    #[test]
    fn refuses_deep_nesting_without_a_deep_stack() {
        assert_eq!(kind_of(&"[".repeat(100_000)), JsonErrorKind::Depth);
    }

    #[test]
    fn refuses_torn_and_trailing_text() {
        for text in ["", "{", "[1,", "\"a", "{\"a\":", "[1"] {
            assert_eq!(kind_of(text), JsonErrorKind::Ends, "{text}");
        }
        assert_eq!(kind_of("{} x"), JsonErrorKind::Trailing);
        assert_eq!(kind_of("{\"a\" 1}"), JsonErrorKind::Unexpected('1'));
        assert_eq!(kind_of("[1 é]"), JsonErrorKind::Unexpected('é'));
    }

    #[test]
    fn reads_a_list_one_value_at_a_time_and_ends_at_an_error() {
        let read = |text: &'static str| -> Vec<Result<(Json<'_>, usize), JsonErrorKind>> {
            Elements::of(text).unwrap().map(|read| read.map_err(|error| error.kind)).collect()
        };
        let number = |text: &'static str| Ok((Json::Number(text), text.len()));
        assert_eq!(read(" [ 1 , 22 ] "), [number("1"), number("22")]);
        assert_eq!(read("[]"), []);
        assert_eq!(read("[1,]"), [number("1"), Err(JsonErrorKind::NoValue)]);
        assert_eq!(read("[1 2,3]"), [number("1"), Err(JsonErrorKind::Unexpected('2'))]);
        assert_eq!(read("[1"), [number("1"), Err(JsonErrorKind::Ends)]);
        assert_eq!(read("[1] x"), [number("1"), Err(JsonErrorKind::Trailing)]);
        assert_eq!(read("[,1]"), [Err(JsonErrorKind::NoValue)]);
        assert!(Elements::of("{}").is_none());
    }

    #[test]
    fn says_the_column() {
        assert_eq!(parse("{\"a\":x}").unwrap_err().column, 6);
    }

    #[test]
    fn writes_what_it_reads_back() {
        let text = "a\"b\\c\n\r\t\u{8}\u{c}\u{1}é😀/\u{7f}";
        let mut out = String::new();
        write_string(&mut out, text);
        assert_eq!(parse(&out).unwrap(), Json::Text(text.into()));
    }
}
