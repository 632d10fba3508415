//! The names of branches (design 01 section 8): their grammar, their form as one path segment, and
//! what of them shows in the name of a native branch. A name is a label; which incarnation it means
//! is said by its records.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::CommitId;

/// The name of a branch other than main.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct BranchName(String);

/// A text is not the name of a branch.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{}` cannot be the name of a branch: {rule}", text.escape_debug())]
pub struct InvalidBranchName {
    /// The refused text.
    pub text: String,
    /// The rule that it breaks.
    pub rule: &'static str,
}

/// A branch as a request names it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum BranchSelector {
    /// The branch that every graph has and that is never deleted.
    Main,
    /// A branch that was created.
    Named(BranchName),
}

const MAIN: &str = "main";
const SLUG_BYTES_MAX: usize = 24;

impl BranchName {
    /// The longest name, in bytes: escaped, three times as long, it is still one path segment on
    /// every file system.
    pub const BYTES_MAX: usize = 80;

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name as one path segment. Only lower-case letters, digits, `-`, `_` and `.` stand for
    /// themselves; every other byte is `%` and two lower-case hexadecimal digits. So two names are
    /// never the same file, not even where case makes no difference between files.
    pub fn escaped(&self) -> String {
        let plain = |byte: u8| byte.is_ascii_lowercase() || is_mark_or_digit(byte);
        let escape = |byte: u8| match plain(byte) {
            true => char::from(byte).to_string(),
            false => format!("%{byte:02x}"),
        };
        self.0.bytes().map(escape).collect()
    }

    /// The name whose escaped form this is; none for any other text.
    pub fn from_escaped(segment: &str) -> Option<Self> {
        let mut bytes = segment.bytes();
        let mut text = Vec::new();
        while let Some(byte) = bytes.next() {
            text.push(match byte {
                b'%' => {
                    let digits = [bytes.next()?, bytes.next()?];
                    u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
                }
                plain => plain,
            });
        }
        let name = Self::try_from(String::from_utf8(text).ok()?).ok()?;
        // One spelling per name: it is an object name (K4).
        (name.escaped() == segment).then_some(name)
    }

    /// What of the name shows in its native branches, for people who look at the storage.
    pub fn slug(&self) -> String {
        let letter = |byte: u8| match byte.is_ascii_alphanumeric() {
            true => char::from(byte.to_ascii_lowercase()),
            false => '-',
        };
        self.0.bytes().take(SLUG_BYTES_MAX).map(letter).collect()
    }
}

fn is_mark_or_digit(byte: u8) -> bool {
    byte.is_ascii_digit() || matches!(byte, b'-' | b'_' | b'.')
}

/// The first rule that the text breaks.
fn broken_rule(text: &str) -> Option<&'static str> {
    if text.is_empty() {
        return Some("it is empty");
    }
    if text.len() > BranchName::BYTES_MAX {
        return Some("it is longer than 80 bytes");
    }
    // ASCII has one form in every Unicode normalization, so nothing has to be normalized here.
    if !text
        .bytes()
        .all(|byte| byte.is_ascii_alphabetic() || is_mark_or_digit(byte) || byte == b'/')
    {
        return Some("only the ASCII letters and digits, `-`, `_`, `.` and `/` are allowed");
    }
    if text.eq_ignore_ascii_case(MAIN) {
        return Some("`main` is the branch that every graph has");
    }
    if text.starts_with('_') {
        return Some("names that start with `_` belong to the system");
    }
    if text.parse::<CommitId>().is_ok() {
        return Some("it reads as a commit id");
    }
    text.split('/').find_map(broken_segment_rule)
}

fn broken_segment_rule(segment: &str) -> Option<&'static str> {
    if segment.is_empty() {
        return Some("a `/` stands between two parts, neither of them empty");
    }
    if segment.starts_with(['.', '-']) {
        return Some("no part starts with `.` or `-`");
    }
    if segment.ends_with('.') || segment.ends_with(".lock") {
        return Some("no part ends with `.` or `.lock`");
    }
    segment.contains("..").then_some("there is no `..`")
}

impl TryFrom<String> for BranchName {
    type Error = InvalidBranchName;

    fn try_from(text: String) -> Result<Self, InvalidBranchName> {
        match broken_rule(&text) {
            None => Ok(Self(text)),
            Some(rule) => Err(InvalidBranchName { text, rule }),
        }
    }
}

impl FromStr for BranchName {
    type Err = InvalidBranchName;

    fn from_str(text: &str) -> Result<Self, InvalidBranchName> {
        Self::try_from(text.to_owned())
    }
}

impl From<BranchName> for String {
    fn from(name: BranchName) -> Self {
        name.0
    }
}

impl fmt::Display for BranchName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for BranchSelector {
    type Err = InvalidBranchName;

    fn from_str(text: &str) -> Result<Self, InvalidBranchName> {
        match text {
            MAIN => Ok(Self::Main),
            name => name.parse().map(Self::Named),
        }
    }
}

impl fmt::Display for BranchSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Main => f.write_str(MAIN),
            Self::Named(name) => name.fmt(f),
        }
    }
}
