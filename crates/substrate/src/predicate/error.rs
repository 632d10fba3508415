//! Why a text is no predicate, or a predicate has no answer for some rows.

use std::fmt;

use arrow_schema::DataType;
use thiserror::Error;

use crate::Cause;

/// Where in a text something stands. Both count from one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextPosition {
    /// The line.
    pub line: u64,
    /// The character within the line.
    pub column: u64,
}

impl fmt::Display for TextPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

fn at(position: &Option<TextPosition>) -> String {
    position.map(|position| format!(" ({position})")).unwrap_or_default()
}

/// What is wrong with a predicate. Nothing was read or written but what the message says.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PredicateError {
    /// The text is not one SQL expression.
    #[error("not an SQL condition{}: {reason}", at(.position))]
    Syntax {
        /// Where reading stopped; none at the end of the text.
        position: Option<TextPosition>,
        /// The reader's own words.
        reason: String,
    },
    /// A name is not that of a column.
    #[error("no column `{name}`{}; {hint}", at(.position))]
    UnknownColumn {
        /// The name, without quotes.
        name: String,
        /// Where it stands.
        position: Option<TextPosition>,
        /// The columns that there are, or the one that was meant.
        hint: String,
    },
    /// The expression is of another type.
    #[error("the condition is of type {found}, not true or false; compare it with something")]
    NotBoolean {
        /// The type that it has.
        found: DataType,
    },
    /// A function may answer otherwise when it is asked again.
    #[error(
        "`{function}` depends on more than the row, so that a repeated request would mean \
         something else; write its value"
    )]
    NotDeterministic {
        /// The function's name.
        function: String,
    },
    /// A construct is SQL, but not one that a predicate may have.
    #[error("a condition cannot have {what}{}", at(.position))]
    Unsupported {
        /// The construct.
        what: String,
        /// Where it stands.
        position: Option<TextPosition>,
    },
    /// An operator, function or literal does not fit the types beside it, or there is no such
    /// function.
    #[error("the condition has no type: {cause}")]
    Mistyped {
        /// The engine's own words.
        #[source]
        cause: Cause,
    },
    /// The system gave no thread to read the text on.
    #[error("the condition could not be read: {cause}")]
    Unread {
        /// The system's own words.
        #[source]
        cause: Cause,
    },
    /// The text is larger than a condition may be.
    #[error(
        "the condition has {found} {what}, the most is {most}; name rows by their keys instead"
    )]
    TooLarge {
        /// What is counted.
        what: &'static str,
        /// How many there are.
        found: usize,
        /// How many there may be.
        most: usize,
    },
    /// The expression has no value for at least one row: a division by zero, an overflow, a cast
    /// that fails.
    #[error("the condition `{text}` cannot be evaluated: {cause}")]
    Evaluation {
        /// The predicate's text.
        text: String,
        /// The engine's own words.
        #[source]
        cause: Cause,
    },
    /// The rows do not have the columns that the predicate was parsed for.
    #[error("the condition does not fit the rows: {reason}")]
    OtherRows {
        /// What is missing or different.
        reason: String,
    },
}

impl PredicateError {
    /// The engine's words without the place in its own source.
    pub(super) fn engine(error: lance::Error) -> Self {
        Self::mistyped(match error {
            lance::Error::InvalidInput { source, .. }
            | lance::Error::NotSupported { source, .. }
            | lance::Error::External { source, .. } => source,
            lance::Error::Arrow { message, .. } | lance::Error::Execution { message, .. } => {
                message.into()
            }
            other => other.into(),
        })
    }

    pub(super) fn mistyped(cause: impl Into<Cause>) -> Self {
        Self::Mistyped { cause: cause.into() }
    }
}
