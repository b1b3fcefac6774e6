//! Push programs in the kernel: tables, programs, links and rings, by bpf(2) itself.
//!
//! The kernel's verifier is the second line behind ours: what it refuses is told with our word. A link belongs to the process that made it, and goes with it, however
//! it ends: nothing is pinned. Invariant: no value of this crate outlives what it stands for in the kernel, and none is left in the kernel without one.
//!
//! It must not know what programs are for. Links need Linux 6.6 (tcx), and CAP_BPF and CAP_NET_ADMIN; where these are missing, [`push::interpret`] does the same.
//!
//! In reading order:
//!
//! * [`program`]: loading a program, attaching it to devices, trying it on a packet;
//! * [`table`]: what it shares with us;
//! * [`ring`]: what it delivers;
//! * [`links`]: which links the kernel has;
//! * [`failure`]: what can go wrong; `call`: the system calls; [`limits`]: every bound.

mod call;
pub mod failure;
pub mod limits;
pub mod links;
mod memory;
pub mod program;
pub mod ring;
pub mod table;

pub use failure::KernelFailure;
pub use links::DeviceLink;
pub use program::{KernelProgram, TestedPacket};
pub use ring::PacketRing;
pub use table::KernelTable;
