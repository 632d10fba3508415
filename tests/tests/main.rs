//! Conformance, crashes, races and processes, over the real storage stack. One binary, because each
//! one links Lance.

mod conformance;
mod costs;
mod crash;
mod judge;
mod world;
