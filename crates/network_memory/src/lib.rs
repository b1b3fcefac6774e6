//! Network memory: a log that is durable in the memory of k servers while the disk follows.
//!
//! After S. Ioannidis, E. Markatos and J. Sevaslidou, "On using network memory to improve the performance of transaction-based
//! systems" (ICS-FORTH, technical report 190, 1997), section 2: a commit sends its record to memories that fail independently of the
//! writer's, and does not wait for the disk. This crate knows nothing of what a record means.
//!
//! # Words
//!
//! A *log* is a row of records, numbered from 0, with one *writer* at a time. *Servers* keep logs; the n *members* of a log count for it, and a
//! record is acknowledged by memory when *k* of them hold it. An *epoch* is the reign of one writer with one configuration of members;
//! a higher one ends all lower ones. An *incarnation* is a life of a server's memory. To *seal* a log for an epoch makes a server
//! refuse all lower ones from then on. A *receipt* says what made a record durable: `Memory { copies }`, or `Disk`. The *window* is what has a
//! receipt and is not on the writer's disk yet. The messages stand in [`message`].
//!
//! # Promises
//!
//! 1. A receipt is true. `Memory`: k members of the epoch hold the log up to the record, without a gap. `Disk`: a sync of the writer's disk
//!    that covers it has returned.
//! 2. A log that is opened has every record with a receipt that was not truncated, or its opening says of what kind it may miss some
//!    ([`names::RecoveryDoubt`]), or it is not opened: then [`writer::Missing`] names what must come back.
//! 3. Under a lease a writer that was cut off and comes back never forks the log: k servers accept nothing of it any more, and its disk alone
//!    is not enough; nor does one whose servers have lost their memory, and with it that they were sealed, when somebody accepts that. Where the log restarts on its disk it goes on with that disk alone: whoever accepts the loss of the disk must know that
//!    its writer is dead. If it comes back it stops, whatever it has acknowledged in between.
//!
//! When the disk alone is enough is chosen once for each log:
//!
//! * [`names::Fallback::RestartOnThisDisk`]: every recovery has this disk, so the disk is always enough, and with all servers dead the log
//!   goes on at the speed of the disk. Elsewhere the log is refused, unless its loss is accepted. The disk says, synced before it matters,
//!   whether memory may hold what it lacks; if not, no server is needed to open the log. Spares may take the places of members.
//! * [`names::Fallback::UnderLease`]: the log may be recovered on any host, from n - k + 1 members. The disk is enough only while k members
//!   grant a lease, which every seal meets and waits for; fewer than k reachable members for longer than a lease means that nothing is
//!   acknowledged. A recovery without that disk says whether something may be on it alone. The names of the members are fixed: a third
//!   server beside k = 2 is the spare.
//!
//! # What is lost when
//!
//! | what fails | what is lost |
//! |---|---|
//! | the writer's process | nothing |
//! | the writer's host, or its power | nothing, if n - k + 1 members of the last configuration have kept their memory; otherwise it is said which are wanting |
//! | fewer than k servers | nothing |
//! | k servers or more, the writer stays | nothing where the log restarts on this disk: it restores what they lack. Under a lease no epoch can be begun any more: nothing is acknowledged |
//! | the writer's power, and more than k - 1 servers, before the disk has followed | at most the window that was displayed, and only after its loss was accepted |
//! | the network to the servers | nothing: the disk, or waiting; never both sides of the cut |
//!
//! A server that ends in order saves its memory, and goes on as the same incarnation when it has reloaded it; the paper's server with an
//! uninterruptible power supply. One that starts empty counts for nothing until the writer, or a recovery, has begun an epoch with its
//! new incarnation, and restored it. Under a lease the same goes for one that has kept its memory, but did not answer whoever has accepted a
//! loss; and there such an epoch is established by k members that have kept their memory, or by all members: n = k
//! means that every member is needed. Clocks of two hosts may differ in speed by one part in [`limits::DRIFT_PARTS`]; nothing else is
//! assumed of them but that they go on while a host is suspended: a virtual machine that is stopped from outside, or restored from a snapshot,
//! is not covered.
//!
//! # Where it stands
//!
//! Whoever opens a log asks all servers before it seals any: an attempt that may not get through, or reaches too few, leaves the writer alone.
//! Accepting a loss gives up memories; where the log may be recovered anywhere it gives up no server that does not answer, because
//! those could be enough for a writer that is cut off; and it holds the seal for a lease, because servers may have forgotten what they had answered.
//! It gives up no memory that is not wanting: as long as enough have kept theirs, an attempt to accept a loss that breaks off is one like any other.
//!
//! In reading order: [`names`] and [`message`] are the words; [`server`] is the memory server and [`writer`] the writer, pure machines both, over
//! a local log (`journal`); [`simulation`] runs them under faults with a checker outside, and [`planted`] lists the bugs that it must find;
//! [`host`] is the real world: [`host::memory_server::MemoryServer`] and [`host::remote_log::RemoteLog`]; [`stream`] is what programs over a log have that count in
//! positions of their own; [`limits`] holds every bound.

pub mod host;
mod journal;
pub mod limits;
pub mod message;
pub mod names;
pub mod planted;
mod retained;
pub mod server;
pub mod simulation;
pub mod stream;
pub mod writer;

/// The example of the README is run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
