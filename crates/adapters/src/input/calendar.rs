//! Dates and instants as text: `YYYY-MM-DD` and RFC 3339, years 0000 to 9999, exact to the
//! microsecond. It rounds nothing.

const MICROS: i64 = 1_000_000;
const DAY_MICROS: i64 = 86_400 * MICROS;

/// Days since 1970-01-01 of a date in the proleptic Gregorian calendar.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    // Years that begin in March put the leap day at their end.
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// Year, month and day of a day number.
fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

fn number(text: &str, digits: usize) -> Option<i64> {
    let plain = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| text.parse().ok()).flatten()
}

/// Reads `YYYY-MM-DD` as days since the Unix epoch.
pub(crate) fn parse_date(text: &str) -> Option<i32> {
    let year = number(text.get(0..4)?, 4)?;
    let month = number(text.get(5..7)?, 2)?;
    let day = number(text.get(8..)?, 2)?;
    let separated = text.get(4..5)? == "-" && text.get(7..8)? == "-";
    let days = days_from_civil(year, month, day);
    // A day that the month does not have comes back as another date.
    let exists = (1..=12).contains(&month) && civil_from_days(days) == (year, month, day);
    (separated && exists).then(|| i32::try_from(days).ok()).flatten()
}

/// Writes days since the Unix epoch; none outside the years 0000 to 9999.
pub(crate) fn format_date(days: i32) -> Option<String> {
    let (year, month, day) = civil_from_days(i64::from(days));
    (0..=9999).contains(&year).then(|| format!("{year:04}-{month:02}-{day:02}"))
}

/// Reads an RFC 3339 date-time as microseconds since the Unix epoch. Leap seconds, digits below
/// the microsecond and instants outside the years 0000 to 9999 are refused.
pub(crate) fn parse_datetime(text: &str) -> Option<i64> {
    let days = parse_date(text.get(0..10)?)?;
    let separator = text.get(10..11)?;
    let (hour, minute) = clock(text.get(11..16)?)?;
    let second = number(text.get(17..19)?, 2).filter(|second| *second < 60)?;
    let (fraction, zone) = fraction(text.get(19..)?)?;
    if !separator.eq_ignore_ascii_case("T") || text.get(16..17)? != ":" {
        return None;
    }
    let local = ((hour * 60 + minute) * 60 + second) * MICROS + fraction;
    let micros = i64::from(days) * DAY_MICROS + local - offset(zone)?;
    format_datetime(micros).map(|_| micros)
}

/// `HH:MM`.
fn clock(text: &str) -> Option<(i64, i64)> {
    let hour = number(text.get(0..2)?, 2).filter(|hour| *hour < 24)?;
    let minute = number(text.get(3..)?, 2).filter(|minute| *minute < 60)?;
    (text.get(2..3)? == ":").then_some((hour, minute))
}

/// Microseconds of `.digits`, and what follows.
fn fraction(text: &str) -> Option<(i64, &str)> {
    let Some(rest) = text.strip_prefix('.') else { return Some((0, text)) };
    let end = rest.find(|next: char| !next.is_ascii_digit())?;
    let (digits, zone) = rest.split_at(end);
    let (kept, lost) = digits.split_at(digits.len().min(6));
    if digits.is_empty() || lost.bytes().any(|digit| digit != b'0') {
        return None;
    }
    Some((format!("{kept:0<6}").parse().ok()?, zone))
}

fn offset(zone: &str) -> Option<i64> {
    if zone.eq_ignore_ascii_case("Z") {
        return Some(0);
    }
    let sign = match zone.get(0..1)? {
        "+" => 1,
        "-" => -1,
        _ => return None,
    };
    let (hour, minute) = clock(zone.get(1..)?)?;
    Some(sign * (hour * 60 + minute) * 60 * MICROS)
}

/// Writes microseconds since the Unix epoch in UTC with as few digits of the fraction as needed;
/// none outside the years 0000 to 9999.
pub(crate) fn format_datetime(micros: i64) -> Option<String> {
    let date = format_date(i32::try_from(micros.div_euclid(DAY_MICROS)).ok()?)?;
    let of_day = micros.rem_euclid(DAY_MICROS);
    let (second, fraction) = (of_day / MICROS, of_day % MICROS);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    let fraction = if fraction == 0 { String::new() } else { format!(".{fraction:06}") };
    let fraction = fraction.trim_end_matches('0');
    Some(format!("{date}T{hour:02}:{minute:02}:{second:02}{fraction}Z"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_days_since_the_epoch() {
        for (text, days) in [
            ("1970-01-01", 0),
            ("1969-12-31", -1),
            ("2000-02-29", 11_016),
            ("2026-11-30", 20_787),
            ("0000-01-01", -719_528),
            ("9999-12-31", 2_932_896),
        ] {
            assert_eq!(parse_date(text), Some(days), "{text}");
            assert_eq!(format_date(days).as_deref(), Some(text));
        }
    }

    #[test]
    fn every_day_of_four_centuries_comes_back() {
        let first = parse_date("1600-01-01").unwrap();
        for days in first..first + 146_097 {
            let text = format_date(days).unwrap();
            assert_eq!(parse_date(&text), Some(days), "{text}");
        }
    }

    #[test]
    fn texts_that_are_no_date_are_refused() {
        for text in [
            "2026-02-29",
            "2100-02-29",
            "2026-13-01",
            "2026-00-10",
            "2026-01-32",
            "2026-1-1",
            "2026/01/01",
            "20260101",
            "2026-01-01 ",
            "+026-01-01",
            "2026-01-0１",
            "",
        ] {
            assert_eq!(parse_date(text), None, "{text}");
        }
        assert_eq!(format_date(2_932_897), None);
    }

    #[test]
    fn instants_are_microseconds_in_utc() {
        for (text, micros, canonical) in [
            ("1970-01-01T00:00:00Z", 0, "1970-01-01T00:00:00Z"),
            ("1969-12-31T23:59:59.999999Z", -1, "1969-12-31T23:59:59.999999Z"),
            ("1970-01-01t01:30:00.5+01:30", 500_000, "1970-01-01T00:00:00.5Z"),
            ("1969-12-31T23:00:00-01:00", 0, "1970-01-01T00:00:00Z"),
            ("1970-01-01T00:00:01.120000000z", 1_120_000, "1970-01-01T00:00:01.12Z"),
        ] {
            assert_eq!(parse_datetime(text), Some(micros), "{text}");
            assert_eq!(format_datetime(micros).as_deref(), Some(canonical));
        }
    }

    #[test]
    fn texts_that_are_no_instant_are_refused() {
        for text in [
            "2026-01-01",
            "2026-01-01T00:00:00",
            "2026-01-01 00:00:00Z",
            "2026-01-01T24:00:00Z",
            "2026-01-01T00:60:00Z",
            "2026-01-01T23:59:60Z",
            "2026-01-01T00:00:00.Z",
            "2026-01-01T00:00:00.1234567Z",
            "2026-01-01T00:00Z",
            "2026-01-01T00:00:00+1:00",
            "2026-01-01T00:00:00+24:00",
            "0000-01-01T00:00:00+00:01",
            "2026-01-01T00:00:00Zx",
            "2026-01-01T00:00:00.5",
        ] {
            assert_eq!(parse_datetime(text), None, "{text}");
        }
    }
}
