//! Shared memory: calls between two processes of one host (Raidcomm V.3).
//!
//! A *line* joins one thread of a client with one thread of a server. Both map the same segment, whose slots hold requests and then their
//! replies: a value is written once, in the place where the other side finds it, and no system call is made while both sides run. Who waits
//! says so in the segment, and where: the other side then wakes only a sleeper, and on a shared processor hands over to it at once.
//!
//! Invariants: a slot belongs to one side at a time, told by its state word, so there is no lock that a dead process could hold. Nothing that
//! the other side wrote is trusted: states, lengths and bits are copied, checked, and an error if they are not what they may be. The death
//! of the other side ends every wait.
//!
//! Two threads may be the ends as well:
//!
//! ```
//! use raidcomm::shared::{LineClient, LineListener, Shape};
//!
//! let folder = tempfile::tempdir()?;
//! let listener = LineListener::bind(&folder.path().join("line"))?;
//! let serving = std::thread::spawn(move || {
//!     let mut server = listener.accept().expect("a client");
//!     server.serve(|request, reply| reply.extend(request.iter().rev()))
//! });
//! let mut client = LineClient::connect(&folder.path().join("line"), Shape { slots: 1, slot_bytes: 64 })?;
//! let mut reply = Vec::new();
//! client.call(b"desserts", &mut reply, None)?;
//! assert_eq!(reply, b"stressed");
//! drop(client);
//! assert_eq!(serving.join().expect("it ends"), Ok(()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! `cargo bench -p raidcomm --bench calls` measures them beside sockets and pipes; `--example kills` kills servers under calls.
//!
//! Source: "Evolution of a Communication System for Distributed Transaction Processing in Raid" (1992), sections 4.2 (passing control
//! directly) and 4.3 (V.3). In reading order:
//!
//! * [`client`], [`server`]: the two ends, and calls;
//! * `calls`: the slots as each side sees them;
//! * `segment`: what lies where in the memory, and the slots' states;
//! * `waiting`: spinning, yielding, sleeping, and waking;
//! * `shape`: how large a line is; `greeting`: how the two ends meet; `lifeline`: how one learns that the other is gone;
//! * [`ring`]: bytes in one direction, for event loops; [`door`]: how a ring gets to the other process;
//! * `place`: what shared memory is to all of these; `mapping`: memory that two processes have; `models`: memory that two threads of a model
//!   have, in which every order of what they do is tried.

mod calls;
pub mod client;
pub mod door;
mod greeting;
mod lifeline;
mod mapping;
#[cfg(test)]
mod models;
mod place;
pub mod ring;
mod segment;
pub mod server;
mod shape;
mod waiting;

#[cfg(test)]
mod tests;

pub use client::{LineCallError, LineClient, RequestFate, Ticket};
pub use server::{LineListener, LineServeError, LineServer, TakenCall};
pub use shape::{LineError, Shape};

use lifeline::Lifeline;
use segment::{LineSegment, LineSide};
use std::sync::Arc;
use waiting::{LineWaiter, Waited};

/// One end of a line.
#[derive(Debug)]
struct SharedLine {
    segment: Arc<LineSegment>,
    side: LineSide,
    waiter: LineWaiter,
    lifeline: Lifeline,
}

impl SharedLine {
    fn new(segment: Arc<LineSegment>, side: LineSide, lifeline: Lifeline) -> SharedLine {
        SharedLine { segment, side, waiter: LineWaiter::default(), lifeline }
    }

    /// Takes the slots that the other side has posted; waits for some if there are none.
    fn take_posted(&mut self, deadline: Option<u64>) -> Result<u32, Waited> {
        let SharedLine { segment, side, waiter, lifeline } = self;
        let wait = || waiter.wait(segment, *side, deadline);
        waiting::take_posted(segment, *side, || lifeline.is_gone(), wait)
    }
}
