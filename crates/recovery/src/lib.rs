//! Recovery of armed attempts. It decides from facts, over ports; it knows neither Lance nor an
//! object store nor a clock of its own.

mod barrier;
mod classify;
mod evidence;
mod explain;
mod facts;
mod interpreter;
mod look;
mod port;
mod rule;
mod standing;
mod summary;
#[cfg(test)]
mod tests;
mod wait;

pub use barrier::{
    BarrierError, BarrierOutcome, BarrierReport, BlockingObject, resolve_attempt, run,
};
pub use classify::{Case, CompensationStep, Decision, Judgement, PinMove, Wait, classify};
pub use evidence::{Closing, Evidence, evidence_of};
pub use explain::{ExplainedEffect, Explanation, explain};
pub use facts::{
    AttemptOutcome, Authority, AuthorityFacts, ConfirmFacts, DataFiles, OperationOutcome, RefFacts,
    SlotFacts, slots_to_observe,
};
pub use interpreter::{Interpreter, Resolution, StopReason, Stopped};
pub use look::{EvidenceFacts, Look, look};
pub use port::{
    Landing, Listing, LoadedIntent, Publishing, RecordSet, Recorded, RecoveryPort, Removal, Retired,
};
pub use rule::{Rule, Verdict, decide};
pub use standing::{RefusedBecause, Standing, standing_of};
pub use summary::{BranchClass, OperationClass, OutcomeClass, OwnerClass, Rest, Shape, Summary};
pub use wait::{
    DeathProof, LocalProcess, OwnSteps, Owner, PidState, WaitRules, owner_of, proof_of_death,
};
