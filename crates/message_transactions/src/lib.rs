//! The message transaction of the V kernel: processes send messages to each other and are blocked until the reply.
//!
//! A [`Kernel`] is a pure machine: no socket, thread or clock. Requests are executed at least once or exactly once, as each says;
//! packets may be lost, doubled and reordered, receivers slow, kernels gone. A receiver may use the memory that the sender lends, until
//! it replies. Groups answer with none, one or many replies. Processes are named for ever and found wherever they are, and may move.
//!
//! In reading order:
//!
//! * [`identifier`]: processes, groups and hosts;
//! * [`packet`], [`codec`]: what kernels say to each other;
//! * [`memory`]: what a process lends, with rights;
//! * `hints`: where others were last heard from ([`raidcomm::round_trip`]: how long to wait for their answers);
//! * [`kernel`]: the machine; [`outbox`]: what comes out of it;
//! * [`host`]: the machine in the real world, with calls that block or are awaited;
//! * [`limits`]: every bound;
//! * [`simulation`]: kernels on a network that misbehaves; [`planted`]: bugs for it to find.
//!
//! Source: W. Zwaenepoel, "Message Passing on a Local Network" (Stanford, STAN-CS-85-1083, 1985); RFC 6298 and Karn's rule for how
//! long to wait. What differs: messages of variable length, identifiers of 64 bits, waits of milliseconds, forwards kept like
//! replies, chunks asked for by the end that receives them.
//!
//! ```
//! use message_transactions::kernel::{Kernel, OutgoingMessage};
//! use message_transactions::memory::OwnedMemory;
//! use message_transactions::outbox::Completion;
//!
//! // One kernel, two processes; time passes when we say so.
//! let mut kernel: Kernel<u32, OwnedMemory> = Kernel::new(0, 42);
//! while kernel.host().is_none() {
//!     let due = kernel.next_deadline().expect("it claims a host identifier");
//!     kernel.tick(due);
//! }
//! let (client, server) = (kernel.create()?, kernel.create()?);
//! kernel.send(0, client, server, OutgoingMessage::exactly_once(b"how much is 6 times 7?".to_vec()))?;
//! let delivery = kernel.receive(0, server)?.expect("a message waits");
//! assert_eq!(delivery.message, b"how much is 6 times 7?");
//! kernel.reply(0, server, &delivery.exchange, b"42", 0, &[])?;
//! let replied = std::iter::from_fn(|| kernel.outbox().next_completion()).find(|completed| completed.process == client);
//! assert!(matches!(replied.map(|replied| replied.completion), Some(Completion::Replied { message, .. }) if message == b"42"));
//! # Ok::<(), message_transactions::kernel::ProcessError>(())
//! ```

pub mod codec;
mod hints;
pub mod host;
pub mod identifier;
pub mod kernel;
pub mod limits;
pub mod memory;
pub mod outbox;
pub mod packet;
pub mod planted;
pub mod simulation;

pub use identifier::{LogicalHostId, MessageDestination, ProcessGroupId, ProcessId};
pub use kernel::{GatherUntil, Gathering, Kernel, OutgoingMessage, ProcessError};
pub use memory::{LentMemory, OwnedMemory, SegmentRights};
pub use outbox::{Completion, MessageExchange, ReceivedMessage};
pub use packet::WantedReplies;
