//! Push: protocols that users write, in a small stack language that is safe to run in the kernel.
//!
//! A program is one or two hooks, which see the UDP datagrams that leave or come, and tables, which they share with user space. It cannot touch foreign memory: no
//! word makes an address. It ends in bounded time: no loop is without a bound. It returns once, with a verdict on the packet.
//!
//! This crate is pure. It must not know the kernel's calls, which `push_kernel` makes, nor what its programs are used for.
//!
//! Source: Push, in the Raid papers of 1989 (section IV.A) and 1992 (section 3.2, figure 3). The language is our own.
//!
//! In reading order:
//!
//! * [`program`]: what the language has, as types;
//! * [`parse`]: from text to these;
//! * [`verify`]: whether it is safe, and what it costs at most; [`bytecode`]: what comes out;
//! * [`packet`], [`tables`], [`interpret`]: running it in user space;
//! * [`ebpf`], [`compile`]: the kernel's instructions;
//! * [`show`], [`command`]: what people see; [`shipped`]: the programs that are there;
//! * [`error`]: refusals; [`limits`]: every bound.

pub mod bytecode;
pub mod command;
pub mod compile;
pub mod ebpf;
pub mod error;
pub mod interpret;
pub mod limits;
pub mod packet;
pub mod parse;
pub mod program;
pub mod shipped;
pub mod show;
pub mod tables;
pub mod verify;

pub use bytecode::{PushBound, VerifiedHook, VerifiedProgram};
pub use error::{PushError, PushRule};
pub use packet::{PacketInMemory, PushPacket};
pub use program::{PushHook, PushTable, PushVerdict};
pub use tables::PushTables;

/// Reads and judges a program. `values` replaces the values of parameters.
///
/// # Errors
/// The first word that breaks a rule.
pub fn load(text: &str, values: &[(&str, u64)]) -> Result<VerifiedProgram, PushError> {
    verify::verify(&parse::parse(text, values)?)
}
