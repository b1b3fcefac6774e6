//! A writer's connections with its servers.
//!
//! Invariant: connecting, which takes time, is done by the thread in the background (`connecting`); everything else by whoever uses the log.

use super::datagrams::{Rest, ServerDatagrams};
use super::since_boot;
use super::spinning::Spinner;
use crate::limits::LOOKS_PER_STREAM;
use crate::message::{ToServer, ToWriter, encode};
use crate::names::ServerId;
use crate::writer::LogWriter;
use bytes::Bytes;
use commit_log::Log;
use raidcomm::framed::Framed;
use raidcomm::remote::RemoteError;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, epoll, eventfd, poll};
use rustix::fd::{AsFd, OwnedFd};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// What wakes whoever waits for servers: the disk's thread, and the one that connects.
#[derive(Clone, Debug)]
pub(super) struct WriterBell(Arc<Rung>);

#[derive(Debug)]
struct Rung {
    /// For whoever sleeps.
    event: OwnedFd,
    /// For whoever is awake, and would look at the other with a system call each time.
    flag: AtomicBool,
}

impl WriterBell {
    pub(super) fn new() -> io::Result<WriterBell> {
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(WriterBell(Arc::new(Rung { event, flag: AtomicBool::new(false) })))
    }

    pub(super) fn ring(&self) {
        self.0.flag.store(true, Ordering::Release);
        // It fails only when it has been rung very often and nobody has listened: then it still rings.
        let _ = rustix::io::write(&self.0.event, &1_u64.to_ne_bytes());
    }

    fn is_rung(&self) -> bool {
        self.0.flag.load(Ordering::Acquire)
    }

    /// To be called before it is looked for what it was rung for.
    fn hush(&self) {
        self.0.flag.store(false, Ordering::Release);
        let _ = rustix::io::read(&self.0.event, &mut [0; 8]);
    }
}

/// Sleeps until one of them has something, or can take something, or the bell rings; says which have something.
pub(super) fn sleep<'a>(
    mut fds: Vec<PollFd<'a>>,
    bell: Option<&'a WriterBell>,
    time: Duration,
) -> io::Result<Vec<bool>> {
    let count = fds.len();
    fds.extend(bell.map(|bell| PollFd::from_borrowed_fd(bell.0.event.as_fd(), PollFlags::IN)));
    let time = Timespec { tv_sec: time.as_secs() as i64, tv_nsec: time.subsec_nanos().into() };
    match poll(&mut fds, Some(&time)) {
        Err(rustix::io::Errno::INTR) => return Ok(vec![false; count]),
        other => other?,
    };
    // An error or an end is something to be read, too.
    let mut ready: Vec<bool> =
        fds.iter().map(|fd| fd.revents().intersects(PollFlags::IN | PollFlags::ERR | PollFlags::HUP)).collect();
    if let Some(bell) = bell
        && ready[count]
    {
        bell.hush();
    }
    ready.truncate(count);
    Ok(ready)
}

/// Those that are closed are watched no longer by themselves.
fn watch_one(watcher: &OwnedFd, one: impl AsFd) -> io::Result<()> {
    let flags = epoll::EventFlags::IN | epoll::EventFlags::OUT | epoll::EventFlags::ET;
    Ok(epoll::add(watcher, one, epoll::EventData::new_u64(0), flags)?)
}

/// What a connection is waited for.
pub(super) fn waiting(framed: &Framed) -> PollFd<'_> {
    let flags = if framed.is_waiting() { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN };
    PollFd::from_borrowed_fd(framed.as_fd(), flags)
}

/// What the thread that connects and the one that uses the log tell each other.
#[derive(Debug, Default)]
pub(super) struct ConnectorExchange {
    /// Servers that there is no connection with.
    pub(super) wanted: BTreeSet<ServerId>,
    /// Connections that have been made.
    pub(super) made: Vec<(ServerId, Framed)>,
    /// Servers that cannot be reached.
    pub(super) failed: BTreeSet<ServerId>,
}

/// A connection with a server, and datagrams beside it.
#[derive(Debug)]
struct ServerLink {
    framed: Framed,
    /// None where everything is encrypted.
    datagrams: Option<ServerDatagrams>,
}

/// Something that a server has said, or the end of its connection.
type ReceivedFromServer = (ServerId, Result<Bytes, RemoteError>);

/// See the module's description.
#[derive(Debug)]
pub(super) struct ServerLinks {
    links: BTreeMap<ServerId, ServerLink>,
    /// What had come when it was last waited.
    received: Vec<ReceivedFromServer>,
    /// Connections over which more may have come.
    ready: Vec<ServerId>,
    exchange: Arc<Mutex<ConnectorExchange>>,
    pub(super) bell: WriterBell,
    spinner: Spinner,
    has_datagrams: bool,
    watcher: Option<OwnedFd>,
}

impl ServerLinks {
    /// `has_datagrams`: nothing need be encrypted.
    pub(super) fn new(exchange: Arc<Mutex<ConnectorExchange>>, bell: WriterBell, has_datagrams: bool) -> ServerLinks {
        let (links, received, ready) = (BTreeMap::new(), Vec::new(), Vec::new());
        ServerLinks { links, received, ready, exchange, bell, spinner: Spinner::new(), has_datagrams, watcher: None }
    }

    /// A descriptor that is readable when one of them has something, or the bell rings (epoll(7): such a descriptor can be polled itself).
    pub(super) fn watch(&mut self) -> io::Result<OwnedFd> {
        let watcher = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let for_others = watcher.try_clone()?;
        watch_one(&watcher, &self.bell.0.event)?;
        for link in self.links.values() {
            link.watch(&watcher)?;
        }
        self.watcher = Some(watcher);
        Ok(for_others)
    }

    /// Waits for something to happen, at most so long.
    pub(super) fn wait(&mut self, time: Duration) -> io::Result<()> {
        if time.is_zero() {
            self.look();
            return Ok(());
        }
        let ServerLinks { links, received, ready, bell, spinner, .. } = self;
        let begun = since_boot();
        // Whether a connection can take more only sleeping tells.
        let may_spin = !links.values().any(|link| link.framed.is_waiting());
        let mut looks = 0;
        let mut look = || {
            looks += 1;
            look(links, received, ready, bell, looks)
        };
        let is_found = may_spin && spinner.spin(since_boot, &mut look);
        if !is_found {
            self.sleep(time)?;
        }
        self.spinner.waited(since_boot() - begun);
        Ok(())
    }

    /// Takes what has come, without waiting; says whether something has.
    pub(super) fn look(&mut self) -> bool {
        look(&mut self.links, &mut self.received, &mut self.ready, &self.bell, 0)
    }

    fn sleep(&mut self, time: Duration) -> io::Result<()> {
        let fds = self.links.values().flat_map(|link| {
            let datagrams = link.datagrams.as_ref().map(|socket| PollFd::new(socket, PollFlags::IN));
            std::iter::once(waiting(&link.framed)).chain(datagrams)
        });
        let mut is_ready = sleep(fds.collect(), Some(&self.bell), time)?.into_iter();
        for (server, link) in &mut self.links {
            if is_ready.next() == Some(true) {
                self.ready.push(*server);
            }
            if let Some(datagrams) = &mut link.datagrams
                && is_ready.next() == Some(true)
            {
                self.received.extend(datagrams.receive().map(|bytes| (*server, Ok(bytes))));
            }
        }
        Ok(())
    }

    /// When something has to be sent again.
    pub(super) fn next_deadline(&self) -> Option<u64> {
        self.links.values().filter_map(|link| link.datagrams.as_ref()?.deadline()).min()
    }

    /// Takes over the connections that have been made, and says which are wanting.
    pub(super) fn meet<L: Log>(&mut self, now: u64, writer: &mut LogWriter<L>) {
        let (made, failed) = {
            let mut exchange = self.exchange.lock().unwrap_or_else(PoisonError::into_inner);
            exchange.wanted = writer.servers().filter(|server| !self.links.contains_key(server)).collect();
            (std::mem::take(&mut exchange.made), std::mem::take(&mut exchange.failed))
        };
        for server in failed.into_iter().filter(|server| !self.links.contains_key(server)) {
            writer.disconnected(now, server);
        }
        for (server, framed) in made {
            let datagrams = self.has_datagrams.then(|| ServerDatagrams::to(server));
            let datagrams = datagrams.transpose().unwrap_or_else(|error| {
                tracing::debug!("no datagrams to memory server {server}: {error}");
                None
            });
            let link = ServerLink { framed, datagrams };
            // One that cannot be watched is looked at whenever something is due.
            if let Some(Err(error)) = self.watcher.as_ref().map(|watcher| link.watch(watcher)) {
                tracing::warn!("the connection with memory server {server} cannot be watched: {error}");
            }
            self.links.insert(server, link);
            writer.connected(now, server);
        }
    }

    /// Sends what the writer wants to send, and hands it what had come when it was last waited.
    pub(super) fn drive<L: Log>(&mut self, now: u64, writer: &mut LogWriter<L>) {
        self.send(now, writer, false);
        let mut broken = Vec::new();
        let mut hand =
            |server, datagrams: Option<&mut ServerDatagrams>, received: Result<Option<Bytes>, RemoteError>| {
                let error = match received {
                    Ok(None) => return false,
                    Ok(Some(frame)) => match ToWriter::decode(&frame) {
                        Ok(message) => {
                            if let Some(datagrams) = datagrams {
                                datagrams.heard(&message.reply);
                            }
                            writer.handle(now, server, message);
                            return true;
                        }
                        Err(error) => error.to_string(),
                    },
                    Err(error) => error.to_string(),
                };
                broken.push((server, error));
                false
            };
        for (server, received) in self.received.drain(..) {
            let Some(link) = self.links.get_mut(&server) else { continue };
            hand(server, link.datagrams.as_mut(), received.map(Some));
        }
        for server in self.ready.drain(..) {
            let Some(ServerLink { framed, datagrams }) = self.links.get_mut(&server) else { continue };
            while hand(server, datagrams.as_mut(), framed.receive()) {}
        }
        for (server, error) in broken {
            self.lose(now, server, &error, writer);
        }
        self.send(now, writer, true);
    }

    fn send<L: Log>(&mut self, now: u64, writer: &mut LogWriter<L>, is_all_heard: bool) {
        let log = writer.log();
        let mut broken: BTreeMap<ServerId, RemoteError> = BTreeMap::new();
        while let Some((server, request)) = writer.take_requests() {
            // To a server that there is no connection with it is lost, as on any network. The first one has its request while that of the
            // next is encoded.
            if let Some(link) = self.links.get_mut(&server)
                && let Err(error) = link.send(now, &ToServer::new(log, request))
            {
                broken.insert(server, error);
            }
        }
        // What has come may answer what seems to be overdue.
        for (server, link) in self.links.iter_mut().filter(|_| is_all_heard) {
            if let Err(error) = link.send_again(now) {
                broken.insert(*server, error);
            }
        }
        for (server, error) in broken {
            self.lose(now, server, &error.to_string(), writer);
        }
    }

    fn lose<L: Log>(&mut self, now: u64, server: ServerId, error: &str, writer: &mut LogWriter<L>) {
        // Another one is not blamed for what this one has said.
        self.received.retain(|(of, _)| *of != server);
        tracing::info!("the connection with memory server {server} is lost: {error}");
        self.links.remove(&server);
        writer.disconnected(now, server);
        self.meet(now, writer);
    }
}

impl ServerLink {
    fn watch(&self, watcher: &OwnedFd) -> io::Result<()> {
        self.datagrams.as_ref().map_or(Ok(()), |datagrams| watch_one(watcher, datagrams))?;
        watch_one(watcher, &self.framed)
    }

    fn send(&mut self, now: u64, message: &ToServer) -> Result<(), RemoteError> {
        let ServerLink { framed, datagrams } = self;
        match datagrams.as_mut().map_or(Rest::This, |datagrams| datagrams.send(now, message)) {
            Rest::Nothing => return Ok(()),
            Rest::This => {}
            Rest::Both(before) => framed.send_with(|payload| payload.extend_from_slice(before))?,
        }
        framed.send_with(|payload| encode(message, payload))?;
        framed.flush()
    }

    /// Sends what a datagram was not enough for, and what the connection did not take at once.
    fn send_again(&mut self, now: u64) -> Result<(), RemoteError> {
        let ServerLink { framed, datagrams } = self;
        if let Some(overdue) = datagrams.as_mut().and_then(|datagrams| datagrams.overdue(now)) {
            framed.send_with(|payload| payload.extend_from_slice(overdue))?;
        }
        if framed.is_waiting() { framed.flush() } else { Ok(()) }
    }
}

/// Takes what has come from any of the servers: without a call that only asks whether something has. `looks` counts the looks of one waiting.
fn look(
    links: &mut BTreeMap<ServerId, ServerLink>,
    received: &mut Vec<ReceivedFromServer>,
    ready: &mut Vec<ServerId>,
    bell: &WriterBell,
    looks: u32,
) -> bool {
    for (server, ServerLink { framed, datagrams }) in links {
        let mut is_elsewhere = false;
        if let Some(datagrams) = datagrams.as_mut().filter(|datagrams| datagrams.may_come()) {
            is_elsewhere = datagrams.is_awaited() && !looks.is_multiple_of(LOOKS_PER_STREAM);
            received.extend(datagrams.receive().map(|bytes| (*server, Ok(bytes))));
        }
        match if is_elsewhere { Ok(None) } else { framed.receive() } {
            Ok(None) => {}
            Ok(Some(frame)) => {
                received.push((*server, Ok(frame)));
                ready.push(*server);
            }
            Err(error) => received.push((*server, Err(error))),
        }
    }
    let is_rung = bell.is_rung();
    if is_rung {
        bell.hush();
    }
    is_rung || !received.is_empty()
}
