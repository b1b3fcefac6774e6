//! Network memory.

mod journal;
pub mod limits;
pub mod message;
pub mod names;
pub mod planted;
mod retained;
pub mod server;
pub mod simulation;
pub mod writer;
