//! `verify` names each fault that is planted in a storage, with its place and a remedy, and never
//! writes.

mod branches;
mod damage_of_branches;
mod foreign;
mod history;
mod objects;
mod planting;
mod states;
