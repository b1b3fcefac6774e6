//! What all experiments and comparisons use: processes, hosts, rounds in turns, tables and plots.
//!
//! Invariants: what is compared runs in turns within one run; a table tells the machine, the load that others made meanwhile, and how far its
//! figures spread; a process that is started never outlives the one that started it. It must not know what is measured.
//!
//! In reading order:
//!
//! * [`rounds`]: everything that is compared in turns;
//! * [`process`]: this program again, with something to do, or another program;
//! * [`placement`]: which side runs where, and beside whom;
//! * [`network`]: several hosts within this one;
//! * [`figure`], [`machine`]: a figure with its spread, and what it depends on;
//! * [`report`], [`plot`]: tables as text, as JSON, and as plots;
//! * [`failure`]: what can go wrong; [`limits`]: every bound.

pub mod failure;
pub mod figure;
pub mod limits;
pub mod machine;
pub mod network;
pub mod placement;
pub mod plot;
pub mod process;
pub mod report;
pub mod rounds;

pub use failure::{Failure, Outcome};
