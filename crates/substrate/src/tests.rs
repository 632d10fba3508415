//! Tests of the seam, and guards that pin the facts about Lance and object_store that the design
//! leans on: an upgrade that changes one of them fails here first.

mod assumptions;
mod changes;
mod creation;
#[cfg(feature = "defects")]
mod defects;
mod forks;
mod intents;
mod layers;
mod names;
mod objects;
mod provenance;
mod refs;
mod removal;
mod scans;
mod staging;
mod storage;
mod strict;
mod versions;
mod world;
