//! Text as it is shown: nothing that came from a graph or a file may steer a terminal or break a
//! line of a script. Also times and counts in words, and bytes.

use std::borrow::Cow;

/// `text` with every control character written out.
pub(crate) fn shown(text: &str) -> Cow<'_, str> {
    escaped(text, char::is_control)
}

/// Like [`shown`], but keeps line breaks.
pub(crate) fn shown_lines(text: &str) -> Cow<'_, str> {
    escaped(text, |c| c.is_control() && c != '\n')
}

/// One field of a line of fields that are separated by tabs: a backslash is doubled, so that the
/// original can be told.
pub(crate) fn field(text: &str) -> Cow<'_, str> {
    escaped(text, |c| c.is_control() || c == '\\')
}

fn escaped(text: &str, escapes: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&escapes) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if escapes(c) { out.extend(c.escape_debug()) } else { out.push(c) }
    }
    Cow::Owned(out)
}

/// A moment in RFC 3339, UTC, to the millisecond.
pub(crate) fn moment(unix_us: u64) -> String {
    let ms = unix_us / 1_000;
    let (days, of_day) = (ms / 86_400_000, ms % 86_400_000);
    let (year, month, day) = civil(days);
    let (hour, minute) = (of_day / 3_600_000, of_day / 60_000 % 60);
    let (second, milli) = (of_day / 1_000 % 60, of_day % 1_000);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
}

/// The date of a day counted from 1970-01-01, in the Gregorian calendar. Years are counted from
/// March, so that the leap day is the last of its year.
fn civil(days: u64) -> (u64, u64, u64) {
    const DAYS_FROM_YEAR_0: u64 = 719_468;
    const DAYS_OF_400_YEARS: u64 = 146_097;
    let days = days + DAYS_FROM_YEAR_0;
    let (era, of_era) = (days / DAYS_OF_400_YEARS, days % DAYS_OF_400_YEARS);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

/// An age in the two largest units that matter.
pub(crate) fn age(ms: u64) -> String {
    let seconds = ms / 1_000;
    match seconds {
        0 => format!("{ms} ms"),
        1..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min {} s", seconds / 60, seconds % 60),
        3_600..86_400 => format!("{} h {} min", seconds / 3_600, seconds / 60 % 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds / 3_600 % 24),
    }
}

/// Bytes in hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A count with its noun.
pub(crate) fn count(n: u64, one: &str) -> String {
    let ending = if n == 1 { "" } else { "s" };
    format!("{n} {one}{ending}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_a_date_and_a_time() {
        assert_eq!(moment(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(moment(951_782_400_000_000), "2000-02-29T00:00:00.000Z");
        assert_eq!(moment(1_735_689_599_999_999), "2024-12-31T23:59:59.999Z");
        assert_eq!(moment(4_107_542_400_000_000), "2100-03-01T00:00:00.000Z");
    }

    #[test]
    fn every_byte_has_two_digits() {
        assert_eq!(hex(&[0, 9, 255]), "0009ff");
    }

    #[test]
    fn an_age_has_the_units_that_matter() {
        let ages = [7, 59_999, 61_000, 3_600_000, 90_061_000].map(age);
        assert_eq!(ages, ["7 ms", "59 s", "1 min 1 s", "1 h 0 min", "1 d 1 h"]);
    }

    #[test]
    fn text_from_a_graph_cannot_steer_the_terminal() {
        assert_eq!(shown("a\u{1b}[31mb\n"), "a\\u{1b}[31mb\\n");
        assert_eq!(shown("Zürich, 東京"), "Zürich, 東京");
    }

    #[test]
    fn a_field_never_contains_what_separates_fields_and_can_be_told_apart() {
        assert_eq!(field("a\tb\\t"), "a\\tb\\\\t");
        assert_ne!(field("\t"), field("\\t"));
    }
}
