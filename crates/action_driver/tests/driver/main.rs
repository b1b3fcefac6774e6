//! The action driver among stand-ins: golden scripts of what it says, and what statements come to.
//!
//! Invariant: the stand-ins exist here only; the driver under test is the one that sites run.

mod companions;
mod increments;
mod indexes;
mod isolation;
mod leftovers;
mod locking;
mod programs;
mod scripts;
mod statements;
mod temporary_schemas;
mod world;
