//! The ways to call another process of this host, or of another one, and be replied to: the list, one file each. All do what [`Method`] says.
//!
//! * [`mod@line`]: this system's line of shared memory (V.3);
//! * [`memory`]: shared memory, and futexes, eventfds or semaphores to wake each other;
//! * [`queues`], [`pipes`], [`sockets`]: what the operating system carries;
//! * [`control`]: no bytes, control only: signals, and yielding the processor;
//! * [`raidcomm_one`]: Raidcomm V.1, and its layers one by one;
//! * [`transactions`]: the message transaction (V.2), and the thesis's operations.

pub mod control;
pub mod line;
pub mod memory;
pub mod pipes;
pub mod queues;
pub mod raidcomm_one;
pub mod sockets;
pub mod transactions;

use crate::communication::experiments::message_transactions;
use crate::communication::method::Method;

/// All that carry bytes between processes of a host, this system's first.
pub const CARRIERS: [&dyn Method; 13] = [
    &line::Line,
    &memory::Memory(memory::Wake::Futex),
    &memory::Memory(memory::Wake::Eventfd),
    &memory::Memory(memory::Wake::Semaphores),
    &queues::SystemV { both: true },
    &queues::SystemV { both: false },
    &queues::Posix,
    &pipes::Pipes,
    &sockets::UNIX_STREAM,
    &sockets::UNIX_DATAGRAM,
    &sockets::UNIX_SEQPACKET,
    &sockets::Udp,
    &sockets::Tcp,
];

/// Those that pass control and nothing else, and Raidcomm V.1 and V.2.
pub const OTHERS: [&dyn Method; 6] = [
    &control::Signals,
    &control::Yields,
    &raidcomm_one::LongDatagrams { fragment_bytes: 512 },
    &raidcomm_one::LongDatagrams { fragment_bytes: 8000 },
    &raidcomm_one::RaidcommOne,
    &transactions::VERSION_TWO,
];

/// All methods of this crate.
pub fn all() -> Vec<&'static dyn Method> {
    CARRIERS.into_iter().chain(OTHERS).chain(message_transactions::methods()).collect()
}
