//! Where the user interface's process reaches the site's: lines that bring requests of sessions and take back what the servers say.
//!
//! A line's request is answered with what came of it, so that most transactions cross twice. What comes later, because another site or the disk
//! had to be waited for, goes as the answer to a request that waits for it. Every output has a number, given under the core's lock: the
//! other side takes them in that order, whichever line they come by.
//!
//! Invariants: nothing of a process that has ended reaches the servers, or takes what is for the next one: its lines are of another generation; a
//! process that leaves more than [`limits::OUTPUTS_WAITING_MAX`] outputs untaken counts as lost.

use crate::core::{Core, CoreOutput, NewLife};
use crate::layout::{Meeting, line};
use crate::limits;
use crate::shared::SiteShared;
use messages::{Envelope, Message, ServerKind};
use raidcomm::shared::{LineError, LineListener, LineServer};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock};
use user_interface::counters::InterfaceCounts;

/// The name of the door's socket.
pub(crate) const NAME: &str = "site";

/// What the user interface's process says.
#[derive(Serialize, Deserialize)]
pub(crate) enum Knock {
    /// Requests of sessions, and how many clients there are.
    Submit(Vec<Envelope>, usize),
    /// Asks for outputs that nobody else has taken; and what workers have counted, once in a while.
    Wait(usize, Option<Box<InterfaceCounts>>),
}

/// Outputs with their numbers.
pub(crate) type Parcels = Vec<Parcel>;

/// An output of the core: its number, answers, and the catalog if a new life has begun.
#[derive(Serialize, Deserialize)]
pub(crate) struct Parcel {
    pub(crate) number: u64,
    pub(crate) local: Vec<Envelope>,
    pub(crate) new_life: Option<NewLife>,
}

/// See the module's description.
#[derive(Default)]
pub(crate) struct Door {
    listener: OnceLock<LineListener>,
    generation: AtomicU64,
    waiting: Mutex<VecDeque<Parcel>>,
    /// An output was dropped because too many wait.
    overrun: AtomicBool,
    arrived: Condvar,
    clients: AtomicUsize,
    counts: Mutex<InterfaceCounts>,
}

impl Door {
    /// Makes the socket.
    pub(crate) fn listen(&self, meeting: &Meeting) -> Result<(), LineError> {
        let listener = LineListener::bind(&meeting.path(NAME))?;
        assert!(self.listener.set(listener).is_ok(), "a door listens once");
        Ok(())
    }

    /// A new process is started. Under the core's lock.
    pub(crate) fn begin(&self) {
        self.generation.fetch_add(1, Ordering::SeqCst);
        self.waiting.lock().expect("no holder of this lock panics").clear();
        self.overrun.store(false, Ordering::SeqCst);
        self.arrived.notify_all();
    }

    /// Clients connected.
    pub(crate) fn clients(&self) -> usize {
        self.clients.load(Ordering::Relaxed)
    }

    /// What user interfaces have counted, a short time ago.
    pub(crate) fn interface_counts(&self) -> InterfaceCounts {
        self.counts.lock().expect("no holder of this lock panics").clone()
    }

    /// An output that no line has waited for.
    pub(crate) fn push(&self, output: CoreOutput) {
        let Some(parcel) = parcel(output) else { return };
        let mut waiting = self.waiting.lock().expect("no holder of this lock panics");
        if waiting.len() >= limits::OUTPUTS_WAITING_MAX {
            self.overrun.store(true, Ordering::SeqCst);
            return;
        }
        waiting.push_back(parcel);
        self.arrived.notify_all();
    }

    /// Whether the process has left so many outputs untaken that one was dropped: the others are worth nothing to it any more.
    pub(crate) fn is_overrun(&self) -> bool {
        self.overrun.load(Ordering::SeqCst)
    }

    /// Serves lines, each on a thread of its own.
    pub(crate) fn serve(&self, shared: &Arc<SiteShared>) {
        let Some(listener) = self.listener.get() else { return };
        loop {
            match listener.accept() {
                Ok(server) => {
                    let (shared, generation) = (shared.clone(), self.generation.load(Ordering::SeqCst));
                    let thread = std::thread::Builder::new().name("door".to_owned());
                    let thread = thread.spawn(move || serve_line(server, &shared, generation));
                    if let Err(error) = thread {
                        tracing::error!(%error, "no thread for a line of the user interface");
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, "no line of the user interface's process");
                    std::thread::sleep(limits::PROCESS_LOOK);
                }
            }
        }
    }

    fn wait(&self, generation: u64) -> Parcels {
        let waiting = self.waiting.lock().expect("no holder of this lock panics");
        let current = || self.generation.load(Ordering::SeqCst) == generation;
        let none = |waiting: &mut VecDeque<Parcel>| waiting.is_empty() && current();
        let (mut waiting, _) =
            self.arrived.wait_timeout_while(waiting, limits::DOOR_WAIT, none).expect("no holder of this lock panics");
        if current() { waiting.drain(..).collect() } else { Parcels::new() }
    }
}

fn parcel(output: CoreOutput) -> Option<Parcel> {
    let CoreOutput { number, local, new_life, .. } = output;
    (number > 0).then_some(Parcel { number, local, new_life })
}

fn serve_line(mut server: LineServer, shared: &Arc<SiteShared>, generation: u64) {
    let Some((core, door)) = shared.door() else { return };
    let served = line::serve(&mut server, |request, reply| {
        let parcels = match postcard::from_bytes(request) {
            Ok(Knock::Submit(envelopes, clients)) => {
                door.clients.store(clients, Ordering::Relaxed);
                submit(core, door, shared, envelopes, generation)
            }
            Ok(Knock::Wait(clients, counts)) => {
                door.clients.store(clients, Ordering::Relaxed);
                if let Some(counts) = counts {
                    *door.counts.lock().expect("no holder of this lock panics") = *counts;
                }
                door.wait(generation)
            }
            Err(error) => {
                tracing::error!(%error, "the user interface's process said what cannot be read");
                Parcels::new()
            }
        };
        let taken = std::mem::take(reply);
        *reply = postcard::to_extend(&parcels, taken).expect("an output always encodes");
    });
    if let Err(error) = served {
        tracing::error!(error, "a line of the user interface's process ends");
    }
}

fn submit(
    core: &Mutex<Core>,
    door: &Door,
    shared: &SiteShared,
    mut envelopes: Vec<Envelope>,
    generation: u64,
) -> Parcels {
    // Sessions ask action drivers; nothing else comes from there.
    envelopes.retain(|envelope| {
        matches!(envelope.message, Message::SessionRequest(..))
            && envelope.to == ServerKind::ActionDriver
            && matches!(envelope.from, ServerKind::UserInterface | ServerKind::Query)
    });
    let mut output = {
        let mut core = core.lock().expect("a panic under the core's lock ends the process");
        if door.generation.load(Ordering::SeqCst) != generation {
            return Parcels::new();
        }
        shared.ask(&mut core, envelopes)
    };
    shared.note_end(&mut output);
    parcel(output).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If this fails, a user interface's process that hangs fills the memory of the site's, or the next one is taken for hanging, too.
    #[test]
    fn what_nobody_takes_is_bounded() {
        let door = Door::default();
        let output = |number| CoreOutput { number, ..CoreOutput::default() };
        for number in 1..=limits::OUTPUTS_WAITING_MAX as u64 {
            door.push(output(number));
        }
        assert!(!door.is_overrun(), "so many may wait");
        door.push(output(limits::OUTPUTS_WAITING_MAX as u64 + 1));
        assert!(door.is_overrun(), "its process must be given up");
        assert_eq!(door.wait(0).len(), limits::OUTPUTS_WAITING_MAX);
        assert!(door.is_overrun(), "one was dropped, and those behind it can never be handed out");
        door.begin();
        assert!(!door.is_overrun(), "the next process has dropped nothing");
    }
}
