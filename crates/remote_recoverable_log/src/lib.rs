//! [`recoverable_memory::LogDevice`] over [`network_memory`]: a commit of recoverable memory that k servers hold is durable.
//!
//! The device's row of bytes is a row of records of the remote log: bytes with their position, truncations, resets. Invariants:
//! * positions of the remote log are given up only below the record with the oldest byte, and below the last truncation or reset, so what is
//!   left always says where the row starts;
//! * a failure is final, as the contract of the trait wants it: the remote log may or may not have taken what failed.
//!
//! `record` is the format, `device` the device.

mod device;
mod record;

pub use device::RemoteLogDevice;

/// The example of the README is compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
