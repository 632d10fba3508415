//! How long a command waits for others, as its line says it: a closed form of times, and the rules that
//! they make. It waits for nobody itself.

use std::str::FromStr;

use clap::Args;
use graphwrite_coordinator::WaitRules;

/// For how long others are waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Args)]
pub(crate) struct WaitArgs {
    /// How long to wait for an earlier write that may still be running, before exiting with 3
    #[arg(long, value_name = "TIME", default_value = "10s", help_heading = "Waiting")]
    pub(crate) contention_wait: Time,
    /// After how long without a sign of progress an earlier write is closed although it may still be
    /// running; that is safe, it merely starts again
    #[arg(long, value_name = "TIME", default_value = "60s", help_heading = "Waiting")]
    pub(crate) fence_after: Time,
}

impl WaitArgs {
    pub(crate) fn rules(self) -> WaitRules {
        WaitRules {
            contention_wait_ms: self.contention_wait.0,
            fence_after_ms: self.fence_after.0,
            ..WaitRules::default()
        }
    }
}

/// A time on the command line, in milliseconds: a whole number and its unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Time(pub(crate) u64);

/// The units, and how many milliseconds each has.
const UNITS: [(&str, u64); 4] = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000)];

impl FromStr for Time {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, unit) = text.split_at(digits);
        let number = number.parse::<u64>().ok();
        let unit = UNITS.iter().find(|(name, _)| *name == unit).map(|(_, ms)| *ms);
        let time = number.zip(unit).and_then(|(number, ms)| number.checked_mul(ms));
        time.map(Self)
            .ok_or_else(|| "a time is a whole number and `ms`, `s`, `m` or `h`".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_a_whole_number_and_a_unit() {
        for (text, ms) in
            [("0s", 0), ("500ms", 500), ("10s", 10_000), ("2m", 120_000), ("1h", 3_600_000)]
        {
            assert_eq!(text.parse(), Ok(Time(ms)), "{text}");
        }
    }

    #[test]
    fn anything_else_is_no_time() {
        for text in [
            "",
            "10",
            "s",
            "-1s",
            "+1s",
            "1.5s",
            "1 s",
            "1d",
            "1S",
            "99999999999999999999s",
            "9999999999999999999h",
            "é",
        ] {
            assert!(text.parse::<Time>().is_err(), "{text}");
        }
    }
}
