//! Races: writers that have prepared over the same base, in one process whose gates they share, in
//! processes that know nothing of each other, and in such that close each other's intents at once.

pub(crate) mod constraints;
mod crowd;
mod departures;
mod keys;
mod publication;
mod requests;
pub(crate) mod ring;
mod same_number;
