//! Communication: addresses, channels, exchanges, groups.
//!
//! * [`address`]: who a server is: the papers' 4-tuple, and patterns over it;
//! * [`limits`]: every bound;
//! * [`frame`]: messages on a stream of bytes;
//! * [`memory`]: the channel between threads of a process;
//! * [`streams`]: the channel between processes.

pub mod address;
pub mod frame;
pub mod limits;
pub mod memory;
pub mod streams;
