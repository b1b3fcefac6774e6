//! What all experiments use.
//!
//! * [`rounds`]: everything that is compared in turns;
//! * [`laboratory`]: such rounds, and calls by any method at any place;
//! * [`process`], [`job`]: this program again, and what it is to do then;
//! * [`placement`]: which side runs where, and beside whom;
//! * [`network`]: several hosts within this one;
//! * [`figure`], [`machine`]: a figure with its spread, and what it depends on;
//! * [`report`], [`plot`]: tables as text, as JSON, and as plots.

pub mod figure;
pub mod job;
pub mod laboratory;
pub mod machine;
pub mod network;
pub mod placement;
pub mod plot;
pub mod process;
pub mod report;
pub mod rounds;
