//! The writer kinds: decoding of their requests, the complete validators, the classification of
//! rows, and the plans and steps of their effects. It must not know gates, intents or recovery, and
//! it never decides whether a step may be taken: the permit of an armed attempt does.

mod input;
mod keys;

pub use input::{
    InputBuilder, InputError, LimitExceeded, LoadInput, LoadLimits, Place, Rule, TableInput,
    Violation, Violations,
};
