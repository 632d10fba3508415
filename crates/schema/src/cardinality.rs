//! How many edges of a type a source may have. Counting them is the writers' work.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::error::BrokenRule;

/// The number of edges of one type that each source node has, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Cardinality {
    /// At least so many.
    pub min: u32,
    /// At most so many; without limit when absent.
    pub max: Option<u32>,
}

impl Cardinality {
    /// `0..*`: says nothing about the number of edges.
    pub const ANY: Self = Self { min: 0, max: None };

    /// Whether a source with `count` edges keeps the cardinality.
    pub fn allows(self, count: u64) -> bool {
        count >= u64::from(self.min) && self.max.is_none_or(|max| count <= u64::from(max))
    }

    /// Refuses a range that no source, or no edge, can satisfy.
    pub(crate) fn check(self) -> Result<(), CardinalityError> {
        let refused = |rule| Err(CardinalityError { found: self.to_string(), rule });
        match self.max {
            Some(0) => refused("with a maximum of 0 no edge could exist"),
            Some(max) if max < self.min => refused("the minimum is above the maximum"),
            _ => Ok(()),
        }
    }
}

impl Default for Cardinality {
    fn default() -> Self {
        Self::ANY
    }
}

impl fmt::Display for Cardinality {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.max {
            Some(max) => write!(f, "{}..{max}", self.min),
            None => write!(f, "{}..*", self.min),
        }
    }
}

impl FromStr for Cardinality {
    type Err = CardinalityError;

    fn from_str(text: &str) -> Result<Self, CardinalityError> {
        let refused = |rule| CardinalityError { found: text.to_owned(), rule };
        let (min, max) = text.split_once("..").ok_or_else(|| refused("there is no `..`"))?;
        let min = bound(min).ok_or_else(|| refused("the minimum is not a number"))?;
        let max = match max {
            "*" => None,
            max => Some(bound(max).ok_or_else(|| refused("the maximum is no number and not `*`"))?),
        };
        let cardinality = Self { min, max };
        cardinality.check().map(|()| cardinality)
    }
}

/// A bound has one spelling: decimal digits without sign or leading zero.
fn bound(text: &str) -> Option<u32> {
    text.parse().ok().filter(|value: &u32| value.to_string() == text)
}

/// A text or a range is not a cardinality.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{}` is not a cardinality: {rule}", found.escape_debug())]
pub struct CardinalityError {
    /// The refused text.
    pub found: String,
    /// The rule that it breaks.
    pub rule: &'static str,
}

impl BrokenRule for CardinalityError {
    fn code(&self) -> &'static str {
        "schema.cardinality"
    }

    fn remedy(&self) -> &'static str {
        "write \"min..max\" per source node, such as \"0..*\", \"0..1\" or \"1..1\""
    }
}
