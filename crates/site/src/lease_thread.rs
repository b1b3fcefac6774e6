//! The thread that keeps leases: a socket of its own, a priority that busy neighbours do not starve, and no lock that it waits for.
//!
//! It drives the keeper of the present life (`leases`) and carries what keepers say to each other as notes (`raidcomm::datagrams::notes`). The core tells
//! it of lives and peers, and takes from it what must go by the connections: what is said to peers from which no note has come lately, since a network may
//! carry no UDP. The two meet in `Desk`, whose lock the thread only tries; the core holds it for an assignment.
//!
//! Invariant: no byte of a client is seen here, and nothing here takes longer than a datagram does.

use crate::lateness::Lateness;
use crate::{clock, limits};
use leases::{Keeper, LeaseSaid, MessageTaken};
use messages::replication::ReplicationMessage;
use messages::{Envelope, EpochNumber, Incarnation, InstanceId, Message, ServerKind, SiteId};
use raidcomm::datagrams::notes::{self, Correspondence, NoteKeys};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use thread_priority::unix::{
    NormalThreadSchedulePolicy, RealtimeThreadSchedulePolicy, ThreadSchedulePolicy, set_thread_priority_and_policy,
    thread_native_id,
};
use thread_priority::{ThreadPriority, ThreadPriorityValue};

/// What a keeper says that goes by a connection: to whom, and in which epoch.
type ByConnection = (SiteId, EpochNumber, ReplicationMessage);

/// What the thread has left for the core.
#[derive(Debug, Default)]
pub(crate) struct LeaseThreadOutput {
    /// For the connections.
    pub(crate) by_connection: Vec<ByConnection>,
    /// For the replication controller.
    pub(crate) strays: Vec<Envelope>,
    /// From whom no note has come: they must be told where this site's keeper hears notes.
    pub(crate) unproven: Vec<SiteId>,
}

/// Where the core and the thread leave things for each other.
#[derive(Debug, Default)]
struct Desk {
    /// The keeper of a life that has begun.
    keeper: Option<(Incarnation, Keeper)>,
    /// Peers that are connected: where they hear notes, and with which keys.
    peers: BTreeMap<SiteId, (SocketAddr, Option<NoteKeys>)>,
    /// Something above has changed.
    is_new: bool,
    /// For the core.
    left: LeaseThreadOutput,
}

/// By what right the thread runs before others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Right {
    /// A real-time policy (SCHED_RR), before all ordinary threads of the machine.
    RealTime = 1,
    /// As all others: leases get longer while the machine is busy.
    Ordinary = 0,
}

impl Right {
    /// In a word.
    pub fn name(self) -> &'static str {
        match self {
            Right::RealTime => "real-time",
            Right::Ordinary => "ordinary",
        }
    }
}

/// What both sides have.
#[derive(Debug)]
struct Common {
    desk: Mutex<Desk>,
    stop: AtomicBool,
    right: AtomicU8,
    lateness: Lateness,
    port: u16,
}

/// The core's side.
#[derive(Debug)]
pub(crate) struct LeaseThread {
    common: Arc<Common>,
    thread: Option<std::thread::JoinHandle<()>>,
    /// Peers, as the desk has them.
    told_at: u64,
}

impl LeaseThread {
    /// Starts the thread of a site that listens at this host.
    ///
    /// # Errors
    /// No socket or no thread is to be had.
    pub(crate) fn start(instance: InstanceId, site: SiteId, host: IpAddr) -> std::io::Result<LeaseThread> {
        let socket = UdpSocket::bind((host, 0))?;
        socket.set_nonblocking(true)?;
        let common = Common {
            desk: Mutex::default(),
            stop: AtomicBool::new(false),
            right: AtomicU8::new(Right::Ordinary as u8),
            lateness: Lateness::default(),
            port: socket.local_addr()?.port(),
        };
        let common = Arc::new(common);
        let runner = Runner::new(common.clone(), instance, site, socket);
        let thread = std::thread::Builder::new().name("leases".to_owned()).spawn(move || runner.run())?;
        Ok(LeaseThread { common, thread: Some(thread), told_at: 0 })
    }

    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.common.desk.lock().expect("no holder of this lock panics")
    }

    /// Where the thread hears notes.
    pub(crate) fn port(&self) -> u16 {
        self.common.port
    }

    /// By what right it runs.
    pub(crate) fn right(&self) -> Right {
        match self.common.right.load(Ordering::Relaxed) {
            1 => Right::RealTime,
            _ => Right::Ordinary,
        }
    }

    /// How late it was, each time that it was to run.
    pub(crate) fn lateness(&self) -> &Lateness {
        &self.common.lateness
    }

    /// A life has begun.
    pub(crate) fn begin_life(&self, life: Incarnation, keeper: Keeper) {
        let mut desk = self.desk();
        *desk = Desk { keeper: Some((life, keeper)), is_new: true, ..Desk::default() };
    }

    /// A peer hears notes there.
    pub(crate) fn found(&self, site: SiteId, address: SocketAddr, keys: Option<NoteKeys>) {
        let mut desk = self.desk();
        let before = desk.peers.insert(site, (address, keys.clone()));
        desk.is_new |= before != Some((address, keys));
    }

    /// Takes what the thread has left; who must be told of the port only now and then.
    pub(crate) fn take(&mut self, now: u64) -> LeaseThreadOutput {
        let mut left = std::mem::take(&mut self.desk().left);
        if now < self.told_at + limits::LEASE_DOOR_AGAIN {
            left.unproven.clear();
        } else if !left.unproven.is_empty() {
            self.told_at = now;
        }
        left
    }
}

impl Drop for LeaseThread {
    fn drop(&mut self) {
        self.common.stop.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            // It looks at least every few milliseconds; a panic of it has been told.
            let _ = thread.join();
        }
    }
}

/// A peer, as the thread knows it.
#[derive(Debug)]
struct LeasePeer {
    address: SocketAddr,
    correspondence: Correspondence,
    /// When a note of it came (boot clock); 0: never.
    heard_at: u64,
}

/// The thread's side.
struct Runner {
    common: Arc<Common>,
    instance: InstanceId,
    site: SiteId,
    socket: UdpSocket,
    life: Incarnation,
    keeper: Option<Keeper>,
    peers: BTreeMap<SiteId, LeasePeer>,
    by_connection: Vec<ByConnection>,
    strays: Vec<Envelope>,
    budget: Budget,
    datagram: Vec<u8>,
    message: Vec<u8>,
}

impl Runner {
    fn new(common: Arc<Common>, instance: InstanceId, site: SiteId, socket: UdpSocket) -> Runner {
        Runner {
            common,
            instance,
            site,
            socket,
            life: Incarnation(0),
            keeper: None,
            peers: BTreeMap::new(),
            by_connection: Vec::new(),
            strays: Vec::new(),
            budget: Budget::default(),
            datagram: Vec::with_capacity(notes::DATAGRAM_BYTES),
            message: Vec::with_capacity(notes::NOTE_BYTES_MAX),
        }
    }

    fn run(mut self) {
        self.set_right(Right::RealTime);
        let mut due = clock::boot();
        while !self.common.stop.load(Ordering::SeqCst) {
            let now = clock::boot();
            self.look_at_budget(now);
            self.exchange();
            let mut said = LeaseSaid::new();
            if let Some(keeper) = &mut self.keeper {
                keeper.look();
                let late = now.saturating_sub(due);
                self.common.lateness.note(late);
                keeper.was_late(now, late);
                keeper.tick(now, &mut said);
            }
            self.send(now, said);
            due = clock::boot() + limits::LEASE_LOOK;
            let timeout = Timespec { tv_sec: 0, tv_nsec: limits::LEASE_LOOK as i64 };
            let mut sockets = [PollFd::new(&self.socket, PollFlags::IN)];
            // Interrupted, or not: what has come is looked for.
            let _ = poll(&mut sockets, Some(&timeout));
            self.receive();
        }
    }

    /// Takes what the core has left, and leaves what is for it; later, if it is there just now.
    fn exchange(&mut self) {
        let common = self.common.clone();
        let Ok(mut desk) = common.desk.try_lock() else { return };
        if std::mem::take(&mut desk.is_new) {
            if let Some((life, keeper)) = desk.keeper.take() {
                (self.life, self.keeper) = (life, Some(keeper));
                self.peers.clear();
            }
            for (site, (address, keys)) in &desk.peers {
                let same = self
                    .peers
                    .get(site)
                    .is_some_and(|peer| peer.address == *address && peer.correspondence.keys() == keys.as_ref());
                if !same {
                    let correspondence = Correspondence::new(self.instance, self.site, *site, keys.clone());
                    let peer = LeasePeer { address: *address, correspondence, heard_at: 0 };
                    self.peers.insert(*site, peer);
                }
            }
        }
        let room = |waiting: usize| limits::LEASES_BY_CONNECTION_MAX.saturating_sub(waiting);
        let left = &mut desk.left;
        let fits = room(left.by_connection.len()).min(self.by_connection.len());
        left.unproven = self.by_connection.iter().map(|(site, ..)| *site).collect();
        left.by_connection.extend(self.by_connection.drain(..fits));
        self.by_connection.clear();
        let fits = room(left.strays.len()).min(self.strays.len());
        left.strays.extend(self.strays.drain(..fits));
        self.strays.clear();
    }

    fn send(&mut self, now: u64, said: LeaseSaid) {
        let Some(epoch) = self.keeper.as_ref().map(Keeper::epoch) else { return };
        for (site, message) in said {
            let peer = self.peers.get_mut(&site);
            let is_heard =
                peer.as_ref().is_some_and(|peer| peer.heard_at > 0 && now < peer.heard_at + limits::NOTES_HEARD);
            if let Some(peer) = peer {
                let kind = ServerKind::ReplicationController;
                let (from_site, incarnation, message) = (self.site, self.life, Message::Replication(message.clone()));
                let envelope = Envelope { from_site, from: kind, to_site: site, to: kind, epoch, incarnation, message };
                self.message.clear();
                envelope.encode_into(&mut self.message);
                peer.correspondence.write(&self.message, &mut self.datagram);
                // What cannot be sent is lost: it is said again.
                let _ = self.socket.send_to(&self.datagram, peer.address);
            }
            if !is_heard && self.by_connection.len() < limits::LEASES_BY_CONNECTION_MAX {
                self.by_connection.push((site, epoch, message));
            }
        }
    }

    fn receive(&mut self) {
        let mut buffer = [0; notes::DATAGRAM_BYTES];
        for _ in 0..limits::NOTES_AT_ONCE {
            let Ok((bytes, _)) = self.socket.recv_from(&mut buffer) else { return };
            let now = clock::boot();
            let datagram = &mut buffer[..bytes];
            let Some(site) = notes::sender(self.instance, datagram) else { continue };
            let Some(peer) = self.peers.get_mut(&site) else { continue };
            let Some(message) = peer.correspondence.read(datagram) else { continue };
            let Ok(envelope) = Envelope::decode(message) else { continue };
            let is_note = Keeper::is_for_keepers(&envelope.message) && envelope.to_site == self.site;
            if !is_note || envelope.from_site != site {
                continue;
            }
            peer.heard_at = now;
            let mut said = LeaseSaid::new();
            let taken = self.keeper.as_mut().map(|keeper| {
                keeper.look();
                keeper.handle(now, &envelope, &mut said)
            });
            if taken == Some(MessageTaken::Stray) && self.strays.len() < limits::LEASES_BY_CONNECTION_MAX {
                self.strays.push(envelope);
            }
            self.send(now, said);
        }
    }

    fn set_right(&self, right: Right) {
        let lowest = ThreadPriorityValue::try_from(1).expect("1 is a priority");
        let set = match right {
            Right::RealTime => set_thread_priority_and_policy(
                thread_native_id(),
                ThreadPriority::Crossplatform(lowest),
                ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::RoundRobin),
            ),
            Right::Ordinary => set_thread_priority_and_policy(
                thread_native_id(),
                ThreadPriority::Min,
                ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Other),
            ),
        };
        match (set, right) {
            (Ok(()), right) => self.common.right.store(right as u8, Ordering::Relaxed),
            (Err(error), Right::RealTime) => tracing::info!(
                ?error,
                "leases are kept without a real-time priority (CAP_SYS_NICE, or LimitRTPRIO of the unit): they get longer while this host is busy"
            ),
            (Err(error), Right::Ordinary) => tracing::warn!(?error, "the thread of leases keeps its priority"),
        }
    }

    /// Whoever runs before all others must not run much.
    fn look_at_budget(&mut self, now: u64) {
        if let Some(is_over) = self.budget.look(now, clock::of_thread()) {
            if is_over {
                tracing::warn!("the thread of leases uses too much of a processor: it runs as all others for a while");
            }
            self.set_right(if is_over { Right::Ordinary } else { Right::RealTime });
        }
    }
}

/// How much of a processor the thread may use with a priority before all others.
#[derive(Debug, Default)]
struct Budget {
    looked_at: u64,
    used: u64,
    /// Until when it runs as all others; 0: it does not.
    over_until: u64,
}

impl Budget {
    /// `Some(true)`: it has used too much of the last second. `Some(false)`: it has waited long enough.
    fn look(&mut self, now: u64, used: u64) -> Option<bool> {
        if now < self.looked_at + limits::LEASE_BUDGET_TIME {
            return None;
        }
        let (time, work) = (now - self.looked_at, used - self.used);
        let first = self.looked_at == 0;
        (self.looked_at, self.used) = (now, used);
        let is_over = !first && work > time / limits::LEASE_BUDGET_SHARE;
        if is_over && self.over_until == 0 {
            self.over_until = now + limits::LEASE_BUDGET_PAUSE;
            Some(true)
        } else if self.over_until > 0 && now >= self.over_until && !is_over {
            self.over_until = 0;
            Some(false)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use messages::limits::{MILLISECOND, SECOND};

    /// A flood of datagrams could take a processor from the whole machine.
    #[test]
    fn too_much_work_costs_the_priority_for_a_while() {
        let mut budget = Budget::default();
        assert_eq!(budget.look(10 * SECOND, SECOND), None, "there is nothing to compare with");
        assert_eq!(budget.look(11 * SECOND, SECOND + 20 * MILLISECOND), None);
        assert_eq!(budget.look(12 * SECOND, SECOND + 520 * MILLISECOND), Some(true));
        assert_eq!(budget.look(13 * SECOND, SECOND + 530 * MILLISECOND), None, "not yet");
        assert_eq!(budget.look(12 * SECOND + limits::LEASE_BUDGET_PAUSE, SECOND + 540 * MILLISECOND), Some(false));
    }
}
