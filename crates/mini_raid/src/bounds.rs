//! What a run is allowed: how long it goes on, and what may happen in it.

use crate::limits::{EVENTS_MAX, MOVES_EVERY, RUN_DEFAULT};
use crate::mover::Moves;
use crate::situations::Situations;

/// How long a run goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunBounds {
    /// Virtual time with faults, in nanoseconds; recovery comes on top.
    pub time: u64,
    /// Events after which the run stops without a verdict on its end.
    pub events: u64,
    /// Nothing goes wrong.
    pub calm: bool,
    /// Tell on standard error what happens.
    pub tell: bool,
    /// Moves of servers, which the run shows nothing of.
    pub moves: Moves,
    /// A site that pauses inside a step has its turn, and goes on afterwards, as one does whose servers are in other processes.
    pub turns: bool,
    /// Clients add to counters, too.
    pub counters: bool,
    /// In some runs the schemas of tables change, too.
    pub schemas: bool,
    /// In some runs disks go back in time, too.
    pub disks_back: bool,
    /// In some runs clients change the method of concurrency control, too.
    pub methods: bool,
    /// Clients take values of a sequence, too.
    pub draws: bool,
    /// Clients lock what nobody else has (`SKIP LOCKED`), too.
    pub takes: bool,
    /// In some runs clients work on tables between which there are foreign keys, too.
    pub families: bool,
    /// In some runs clients ask for less than the strict isolation level, too.
    pub levels: bool,
    /// In some runs sites take snapshots of the instance, and worlds are made from them, too.
    pub snapshots: bool,
    /// Which situations runs are in.
    pub situations: Situations,
}

impl Default for RunBounds {
    fn default() -> RunBounds {
        RunBounds {
            time: RUN_DEFAULT,
            events: EVENTS_MAX,
            calm: false,
            tell: false,
            moves: Moves { every: MOVES_EVERY, elsewhere: false },
            turns: false,
            counters: true,
            schemas: true,
            disks_back: true,
            methods: true,
            draws: true,
            takes: false,
            families: true,
            levels: true,
            snapshots: true,
            situations: Situations::BySeed,
        }
    }
}
