//! Which names types and properties may have. Names are labels: nothing here decides identity.

use std::collections::BTreeMap;

use thiserror::Error;

use crate::error::BrokenRule;

/// The longest name, in bytes.
pub const NAME_BYTES_MAX: usize = 64;

/// A name was refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NameError {
    /// The text is not in the grammar of names.
    #[error("`{}` is not a name: {rule}", found.escape_debug())]
    Grammar {
        /// The refused text.
        found: String,
        /// The part of the grammar that it breaks.
        rule: &'static str,
    },
    /// The name belongs to the system.
    #[error("`{found}` is reserved: {reason}")]
    Reserved {
        /// The refused name.
        found: String,
        /// What it is reserved for.
        reason: &'static str,
    },
    /// Two names differ by case only, or not at all.
    #[error("`{found}` collides with `{other}`: names must differ by more than case")]
    Collision {
        /// The name that comes second.
        found: String,
        /// The name that was there.
        other: String,
    },
}

impl BrokenRule for NameError {
    fn code(&self) -> &'static str {
        match self {
            Self::Grammar { .. } => "schema.name_grammar",
            Self::Reserved { .. } => "schema.name_reserved",
            Self::Collision { .. } => "schema.name_collision",
        }
    }

    fn remedy(&self) -> &'static str {
        match self {
            Self::Grammar { .. } => {
                "write an ASCII letter, then letters, digits or `_`, 64 bytes at most"
            }
            Self::Reserved { .. } | Self::Collision { .. } => "choose another name",
        }
    }
}

/// Refuses a text outside the grammar: an ASCII letter, then ASCII letters, digits and `_`.
pub(crate) fn check_name(name: &str) -> Result<(), NameError> {
    let grammar = |rule| Err(NameError::Grammar { found: name.to_owned(), rule });
    if name.starts_with('_') {
        let reason = "names that start with `_` belong to the system";
        return Err(NameError::Reserved { found: name.to_owned(), reason });
    }
    if name.len() > NAME_BYTES_MAX {
        return grammar("it is longer than 64 bytes");
    }
    if !name.starts_with(|first: char| first.is_ascii_alphabetic()) {
        return grammar("it does not start with an ASCII letter");
    }
    if !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        return grammar("it has a character other than ASCII letters, digits and `_`");
    }
    Ok(())
}

/// Names that are distinct even to tools that ignore case.
#[derive(Default)]
pub(crate) struct DistinctNames(BTreeMap<String, String>);

impl DistinctNames {
    /// Adds a name, or refuses it beside the one that it collides with.
    pub(crate) fn add(&mut self, name: &str) -> Result<(), NameError> {
        match self.0.insert(name.to_ascii_lowercase(), name.to_owned()) {
            None => Ok(()),
            Some(other) => Err(NameError::Collision { found: name.to_owned(), other }),
        }
    }
}
