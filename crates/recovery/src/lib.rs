//! Recovery of armed attempts: what is decided about an intent that a writer left behind, and the
//! interpreter and the barrier that carry it out over ports. It knows neither Lance nor an object
//! store, and has no clock of its own.
//!
//! This page is the manual. `docs/recovery-decisions.md` is the complete decision table, made from
//! the code.
//!
//! # The problem
//!
//! A graph write moves the HEADs of several datasets before one manifest commit makes the result
//! visible. Before the first of them, the writer makes an *intent* durable: a complete plan, from
//! which anybody can finish the attempt or take it back. When a writer dies, stalls, or loses a
//! race, its intent is found by the next request's *barrier*, which ends it in place, in whatever
//! process that is, without a restart and without a file deleted by hand.
//!
//! # Four facts that make it safe
//!
//! * **K1.** Every commit is strict: it lands at exactly the version after the one it was made
//!   over, with a transaction id that was chosen beforehand, or not at all. So the versions of a
//!   ref are one line, a slot has one owner, and who it is can be read.
//! * **K2.** An attempt has at most one terminal row in the manifest, `committed` or `aborted`,
//!   and whoever writes it has decided. The other one finds it, and follows.
//! * **K3.** After `aborted`, each slot that a late step could still take is closed: by a *fence*,
//!   an empty commit directly above the pre-state, or by a *restore* of the pre-state above what
//!   landed. Both are derived from attempt and effect, so that everybody recognises them. Then one
//!   manifest commit moves the pins to those content-equal versions.
//! * **K4.** No name is ever used again: what lands under a dead name is garbage, never an impostor.
//!
//! No lease and no clock is needed for any of this. Waiting for an owner is courtesy.
//!
//! # The path of one intent
//!
//! ```text
//!   facts            evidence          standing           summary          decision
//!   what a port  ->  what storage  ->  under the     ->   a few       ->   by the first
//!   can read         proves            published head     classes          rule that applies
//!   facts.rs         evidence.rs       standing.rs        summary.rs       rule.rs, classify.rs
//! ```
//!
//! [`look_at`] reads: intent, confirm object, tables, and **the manifest last**. [`classify`] judges,
//! purely and totally. [`Interpreter`] performs what was decided, and looks again. It keeps nothing
//! between two looks, so there is no state to lose: a recoverer may die after any durable step, and
//! the next one goes on.
//!
//! # Many intents
//!
//! A barrier takes up to [`BATCH`] intents together; one intent is a batch of one, on the same path.
//! A look reads HEAD and slots of each ref once, whoever planned there, and then the manifest once.
//! Each intent is classified by itself, so a batch decides nothing that a single one would not. What
//! was decided is performed in groups: records are deleted side by side; what is complete is
//! published, one after the other, each after a look of its own; then one manifest commit aborts
//! all that is to be aborted; then slots are closed, one step per ref; then, after another look, one
//! manifest commit moves all pins and records all `rolled_back`. Every manifest commit is
//! arbitrated for each attempt in it, and is made for all of them or for none. What cannot be read
//! or judged is left, and holds up no other intent.
//!
//! # The rules
//!
//! [`decide`] asks them in this order; the doc comment of each rule says why it is safe.
//!
//! | | if | then |
//! |---|---|---|
//! | 1 | row `committed` | delete the records |
//! | 2 | row `rolled_back` | delete the records |
//! | 3 | the branch incarnation is gone | audit, discard the record |
//! | 4 | row `aborted` | take back, never forward |
//! | 5 | the owner may be at work and is not silent | wait |
//! | 6 | all landed, confirmed, files there, read set holds, request not decided elsewhere | publish the fixed delta |
//! | 7 | nothing landed and provably nothing can | delete the records |
//! | 8 | otherwise | record `aborted`, then as 4 |
//!
//! Taking back goes effect by effect: fence, restore, or remove what has a name of its own; then
//! one manifest commit moves every pin that is still the pre-state, and, once all effects are
//! *settled*, records `rolled_back`. An effect is settled when its slot went to another, when its
//! pin is at or above our closing version, or when its table is dropped or lives elsewhere. An
//! effect that cannot be judged is refused by itself, and blocks its own table only.
//!
//! # Every crash
//!
//! | what is durable when the writer dies | what recovery does |
//! |---|---|
//! | the intent | 8: `aborted`, fences, pins follow, `rolled_back` |
//! | the intent, every slot taken by others | 7: deletes it |
//! | some steps | 8: `aborted`, restores and fences, pins follow, `rolled_back` |
//! | all steps, unconfirmed where confirmation is needed | 8, since they may be partial |
//! | all steps, the read set moved | 8 |
//! | all steps, the read set holds | 6: publishes the same commit that the writer would have |
//! | the manifest commit | 1 |
//! | `aborted`, anything of the compensation | 4: goes on from there |
//! | `rolled_back` | 2 |
//!
//! # Every zombie
//!
//! A writer that stalled and goes on is one of these, and none of them does harm:
//!
//! * its next step finds the slot closed, and is refused (K1, K3);
//! * its next step lands before the fence: the fence is refused, the next look sees the step, and
//!   restores above it. A plan has finitely many steps, so this ends;
//! * it publishes before `aborted`: then that is the outcome, and the recoverer's row is refused;
//! * it publishes after `aborted`: its slot of the manifest is gone, and arbitration finds the row;
//! * it makes its dataset or ref after that was found absent: nothing will ever pin it (K4);
//! * it writes a confirm object or a sign of progress of an attempt that is over: swept.
//!
//! A recoverer that stalls and goes on repeats a strict step whose slot is taken, a removal of an
//! object that only an aborted attempt could have made, or a manifest commit that is refused.
//!
//! # Waiting
//!
//! [`owner_of`] says whether an owner is known to be dead. If it may be alive and its last sign of
//! progress is younger than [`WaitRules::fence_after_ms`], the barrier looks again with growing
//! pauses up to [`WaitRules::contention_wait_ms`], and then answers
//! [`BarrierOutcome::Contended`]. An attempt that runs in this process is no recovery case: its
//! gates order the others behind it.
//!
//! # Using it
//!
//! Implement [`RecoveryPort`] for a branch and [`LocalProcess`] for the process; call [`run`] at
//! every write's entry, [`resolve_attempt`] for an operator, [`Interpreter::resolve`] with
//! [`Owner::OwnStopped`] for one's own failed attempt under its gates, and [`look_at`] and
//! [`explain`] to show a pending intent to people.

mod barrier;
mod classify;
mod evidence;
mod explain;
mod facts;
mod interpreter;
mod look;
mod planted;
mod port;
mod resolution;
mod round;
mod rule;
mod side_by_side;
mod span;
mod standing;
mod summary;
mod taking_back;
#[cfg(test)]
mod tests;
mod track;
mod wait;

pub use barrier::{
    BATCH, BarrierError, BarrierOutcome, BarrierReport, BlockingObject, resolve_attempt, run,
};
pub use classify::{Case, CompensationStep, Decision, Judgement, PinMove, Wait, classify};
pub use evidence::{Closing, Evidence, evidence_of};
pub use explain::{ExplainedEffect, Explanation, explain};
pub use facts::{
    AttemptOutcome, Authority, AuthorityFacts, ConfirmFacts, DataFiles, OperationOutcome, RefFacts,
    SlotFacts, slots_to_observe,
};
pub use interpreter::{Ended, Interpreter};
pub use look::{EvidenceFacts, Look, Looks, Subject, look_at};
pub use port::{
    Aborting, Landing, Listing, LoadedIntent, Publishing, RecordSet, Recorded, RecoveryPort,
    RefName, Removal, Retired, TakenBack,
};
pub use resolution::{Resolution, StopReason, Stopped};
pub use rule::{Rule, Verdict, decide};
pub use side_by_side::WIDTH;
pub use span::RESOLVE_SPAN;
pub use standing::{RefusedBecause, Standing, standing_of};
pub use summary::{BranchClass, OperationClass, OutcomeClass, OwnerClass, Rest, Shape, Summary};
pub use track::Pending;
pub use wait::{
    DeathProof, LocalProcess, OwnSteps, Owner, PidState, WaitRules, owner_of, proof_of_death,
};
