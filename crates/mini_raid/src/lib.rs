//! The simulated world: the very servers of a site, many sites in one thread, virtual time, and everything that can go wrong.
//!
//! A *run* draws a world from its seed, lets clients work while faults happen, stops the faults, waits for the instance to recover by
//! itself, and has checkers judge what clients saw and what sites hold. The same seed gives the same run, event by event. It
//! must not know how servers decide: it moves their messages, keeps their logs and clocks, and judges from outside.
//!
//! In reading order:
//!
//! * [`mod@run`], [`bounds`] and [`sweep`]: one run, what it is allowed, many runs; [`cli`]: `raid sim`; [`statistics`];
//! * [`world`]: what happens; [`event`]: in which order; [`random`]: by which chance;
//! * [`machine`], [`clock`], [`network`], [`oracle_host`]: what sites run on;
//! * [`profile`], [`situations`], [`faults`], [`message_kind`]: what goes wrong; [`mover`]: what must not matter;
//! * [`client`], [`seat`], [`workload`], [`programs`], [`tables`], [`families`], [`family_programs`], [`history`]: what is asked, and what was seen;
//! * [`checkers`]: what must hold; [`limits`].

pub mod bounds;
pub mod checkers;
pub mod cli;
pub mod client;
pub mod clock;
pub mod event;
pub mod families;
pub mod family_programs;
pub mod faults;
pub mod history;
pub mod limits;
pub mod machine;
pub mod message_kind;
pub mod mover;
pub mod network;
pub mod oracle_host;
pub mod profile;
pub mod programs;
pub mod random;
pub mod run;
pub mod seat;
pub mod situations;
pub mod statistics;
pub mod sweep;
pub mod tables;
pub mod workload;
pub mod world;

pub use bounds::RunBounds;
pub use mover::Moves;
pub use run::{RunOutcome, run};
pub use situations::{Situation, Situations};
pub use sweep::Sweep;
