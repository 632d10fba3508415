//! Sizes in bytes as people write them.

use std::fmt;

/// Bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size(pub(crate) u64);

/// A text is not a size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NoSize;

impl fmt::Display for NoSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("write a whole number and its unit, as in `64KiB`, `256MiB` or `2GiB`")
    }
}

impl std::error::Error for NoSize {}

const UNITS: [(&str, u64); 7] = [
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("B", 1),
];

impl Size {
    /// Reads a size, for the parser of the command line.
    pub(crate) fn parse(text: &str) -> Result<Self, NoSize> {
        let unit = UNITS.iter().find_map(|(unit, bytes)| Some((text.strip_suffix(unit)?, *bytes)));
        let (number, bytes) = unit.ok_or(NoSize)?;
        let is_plain = !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit());
        let number: u64 = number.parse().ok().filter(|_| is_plain).ok_or(NoSize)?;
        number.checked_mul(bytes).map(Self).ok_or(NoSize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_a_whole_number_with_a_unit() {
        for (text, bytes) in
            [("64KiB", 65_536), ("2GiB", 2 << 30), ("1MB", 1_000_000), ("7B", 7), ("0MiB", 0)]
        {
            assert_eq!(Size::parse(text), Ok(Size(bytes)), "{text}");
        }
        for text in
            ["", "64", "KiB", "1.5MiB", "+1MiB", "-1MiB", " 1MiB", "1 MiB", "99999999999GiB"]
        {
            assert_eq!(Size::parse(text), Err(NoSize), "{text}");
        }
    }
}
