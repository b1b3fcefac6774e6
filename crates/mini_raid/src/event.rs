//! What happens in the simulated world, and in which order.
//!
//! Invariant: events happen in the order of their times; of the same time, in the order in which they were planned. So equal
//! plans make equal runs.

use crate::faults::Fault;
use messages::SessionId;
use messages::replication::SiteNotice;
use messages::session::{SessionReply, SessionRequest};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Something that happens.
#[derive(Debug)]
pub enum SimulatedEvent {
    /// A message arrives.
    Message {
        /// From which site; 0 is the oracle.
        from: usize,
        /// At which site.
        to: usize,
        /// The connection it travels on.
        generation: u32,
        /// What it says.
        bytes: Vec<u8>,
    },
    /// A site's servers tick.
    Tick {
        /// Which site.
        site: usize,
        /// Of which start of its process.
        start: u32,
    },
    /// A site's servers go on with what there was no time for.
    GoOn {
        /// Which site.
        site: usize,
        /// Of which start of its process.
        start: u32,
    },
    /// Sessions of a life that is over are told so.
    LifeOver {
        /// Of which site.
        site: usize,
        /// Which.
        sessions: Vec<SessionId>,
    },
    /// A disk has synced what it was asked to.
    Synced {
        /// Whose disk.
        site: usize,
        /// Of which start of its process.
        start: u32,
    },
    /// A connection to a peer came or went.
    Notice {
        /// Who is told.
        site: usize,
        /// Of which start of its process.
        start: u32,
        /// What.
        notice: SiteNotice,
    },
    /// Two sites try to connect.
    Connect {
        /// One.
        a: usize,
        /// The other.
        b: usize,
    },
    /// Two sites notice that their connection has been dead for long.
    Stalled {
        /// One.
        a: usize,
        /// The other.
        b: usize,
    },
    /// A client's request arrives at its site.
    Request {
        /// Which site.
        site: usize,
        /// The client's session.
        session: SessionId,
        /// What it asks.
        request: SessionRequest,
    },
    /// A site's servers are given what has been asked of them in one turn of its process.
    Turn {
        /// Which site.
        site: usize,
    },
    /// The next step of a snapshot that a site takes, or the first one.
    Snapshot {
        /// Which site.
        site: usize,
    },
    /// What a site has on disk of its log goes to its archive.
    Archive {
        /// Which site.
        site: usize,
    },
    /// An answer arrives at a client.
    Reply {
        /// Which client.
        client: usize,
        /// In which session.
        session: SessionId,
        /// The answer.
        reply: SessionReply,
    },
    /// A client does the next thing.
    Client {
        /// Which client.
        client: usize,
        /// After which of its requests.
        request: u64,
    },
    /// The oracle may have something to do.
    Oracle {
        /// Of which start of its process.
        start: u32,
    },
    /// Chance brings the next fault.
    NextFault,
    /// A fault happens, or ends.
    Fault(Fault),
}

/// Everything that is going to happen.
#[derive(Debug, Default)]
pub struct Agenda {
    /// Time, order, and place among the events: what moves about in a heap is small.
    heap: BinaryHeap<Reverse<(u64, u64, usize)>>,
    events: Vec<Option<SimulatedEvent>>,
    free: Vec<usize>,
    planned: u64,
}

impl Agenda {
    /// Plans an event for this time.
    pub fn plan(&mut self, time: u64, event: SimulatedEvent) {
        self.planned += 1;
        let place = match self.free.pop() {
            Some(place) => {
                self.events[place] = Some(event);
                place
            }
            None => {
                self.events.push(Some(event));
                self.events.len() - 1
            }
        };
        self.heap.push(Reverse((time, self.planned, place)));
    }

    /// The next event.
    pub fn pop(&mut self) -> Option<(u64, SimulatedEvent)> {
        let Reverse((time, _, place)) = self.heap.pop()?;
        self.free.push(place);
        Some((time, self.events[place].take().expect("what is planned is there")))
    }

    /// When the next event happens.
    pub fn next_time(&self) -> Option<u64> {
        self.heap.peek().map(|Reverse((time, ..))| *time)
    }
}
