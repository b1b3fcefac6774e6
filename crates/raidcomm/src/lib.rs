//! Communication: channels between servers, and where servers are.
//!
//! Servers name a destination, an address or a group, and the address decides the channel: inside the process values are
//! handed over, to other processes go frames. A channel has the semantics of a datagram, whatever carries it: a message
//! arrives at most once, in the order of sending, or not at all; what must arrive is sent again by the protocol above. This crate knows
//! nothing of what is said: messages are the business of `messages`, and messages that are replied to of `message_transactions`. Who a server is,
//! the crate `identifiers` says.
//!
//! In reading order:
//!
//! * [`directory`]: where addresses live, and groups;
//! * [`codec`]: how a value looks between processes;
//! * [`port`]: the one interface: the destination picks the channel;
//! * [`memory`]: the channel between threads of a process;
//! * [`shared`]: calls between processes of one host, through shared memory;
//! * [`remote`]: calls between processes of two hosts, over a connection;
//! * [`frame`], [`streams`]: the channel between processes; [`framed`]: frames over one connection, for clients and servers of other kinds;
//! * [`datagrams`]: the channel between sites of one network, and [`datagrams::notes`] beside it; [`round_trip`]: how long to wait for an answer;
//! * [`keys`]: what sites prove themselves with, and encrypt streams with;
//! * [`limits`]: every bound.

pub mod codec;
pub mod datagrams;
pub mod directory;
pub mod fields;
pub mod frame;
pub mod framed;
pub mod keys;
pub mod limits;
pub mod memory;
pub mod port;
pub mod remote;
pub mod round_trip;
pub mod shared;
pub mod streams;
mod unguessable;

/// The examples of the README are run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
