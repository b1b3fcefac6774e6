//! Communication: addresses, channels, exchanges, groups.
//!
//! * [`address`]: who a server is: the papers' 4-tuple, and patterns over it.

pub mod address;
