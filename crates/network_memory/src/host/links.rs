//! A writer's connections with its servers.
//!
//! Invariant: connecting, which takes time, is done by the thread in the background (`connecting`); everything else by whoever uses the log.

use super::since_boot;
use super::spinning::Spinner;
use crate::message::{ToServer, ToWriter, encode};
use crate::names::{LogId, ServerId};
use crate::writer::Writer;
use commit_log::Log;
use raidcomm::framed::Framed;
use raidcomm::remote::RemoteError;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, epoll, eventfd, poll};
use rustix::fd::{AsFd, OwnedFd};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// What wakes whoever waits for servers: the disk's thread, and the one that connects.
#[derive(Clone, Debug)]
pub(super) struct Bell(Arc<OwnedFd>);

impl Bell {
    pub(super) fn new() -> io::Result<Bell> {
        Ok(Bell(Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?)))
    }

    pub(super) fn ring(&self) {
        // It fails only when it has been rung very often and nobody has listened: then it still rings.
        let _ = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }

    fn hush(&self) {
        let _ = rustix::io::read(&self.0, &mut [0; 8]);
    }
}

/// To look without waiting.
const NOW: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

/// Waits until one of them has something, or can take something, or the bell rings; says which have something.
pub(super) fn wait<'a>(
    framed: impl IntoIterator<Item = &'a Framed>,
    bell: Option<&Bell>,
    time: Option<Duration>,
    mut spinner: Option<&mut Spinner>,
) -> io::Result<Vec<bool>> {
    let flags = |framed: &Framed| if framed.is_waiting() { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN };
    let mut fds: Vec<PollFd<'_>> =
        framed.into_iter().map(|framed| PollFd::from_borrowed_fd(framed.as_fd(), flags(framed))).collect();
    let count = fds.len();
    if let Some(bell) = bell {
        fds.push(PollFd::from_borrowed_fd(bell.0.as_fd(), PollFlags::IN));
    }
    let time = time.map(|time| Timespec { tv_sec: time.as_secs() as i64, tv_nsec: time.subsec_nanos().into() });
    let begun = since_boot();
    let is_found = match &mut spinner {
        Some(spinner) if time.is_none_or(|time| time != NOW) => {
            spinner.spin(since_boot, || match poll(&mut fds, Some(&NOW)) {
                Err(rustix::io::Errno::INTR) => Ok(false),
                other => other.map(|count| count > 0),
            })?
        }
        _ => false,
    };
    let polled = if is_found { Ok(1) } else { poll(&mut fds, time.as_ref()) };
    match polled {
        Err(rustix::io::Errno::INTR) => return Ok(vec![false; count]),
        other => other?,
    };
    if let Some(spinner) = spinner {
        spinner.waited(since_boot() - begun);
    }
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

/// What the thread that connects and the one that uses the log tell each other.
#[derive(Debug, Default)]
pub(super) struct Exchange {
    /// Servers that there is no connection with.
    pub(super) wanted: BTreeSet<ServerId>,
    /// Connections that have been made.
    pub(super) made: Vec<(ServerId, Framed)>,
    /// Servers that cannot be reached.
    pub(super) failed: BTreeSet<ServerId>,
}

/// See the module's description.
#[derive(Debug)]
pub(super) struct Links {
    framed: BTreeMap<ServerId, Framed>,
    /// Those that had something when they were last waited for.
    ready: Vec<ServerId>,
    exchange: Arc<Mutex<Exchange>>,
    pub(super) bell: Bell,
    spinner: Spinner,
    watcher: Option<OwnedFd>,
}

impl Links {
    pub(super) fn new(exchange: Arc<Mutex<Exchange>>, bell: Bell) -> Links {
        Links { framed: BTreeMap::new(), ready: Vec::new(), exchange, bell, spinner: Spinner::new(), watcher: None }
    }

    /// A descriptor that is readable when one of them has something, or the bell rings (epoll(7): such a descriptor can be polled itself).
    pub(super) fn watch(&mut self) -> io::Result<OwnedFd> {
        let watcher = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let for_others = watcher.try_clone()?;
        watch_one(&watcher, &self.bell.0)?;
        for framed in self.framed.values() {
            watch_one(&watcher, framed)?;
        }
        self.watcher = Some(watcher);
        Ok(for_others)
    }

    /// Waits for something to happen, at most so long.
    pub(super) fn wait(&mut self, time: Option<Duration>) -> io::Result<()> {
        let ready = wait(self.framed.values(), Some(&self.bell), time, Some(&mut self.spinner))?;
        let ready = self.framed.keys().zip(ready).filter_map(|(server, is_ready)| is_ready.then_some(*server));
        self.ready.clear();
        self.ready.extend(ready);
        Ok(())
    }

    /// Takes over the connections that have been made, and says which are wanting.
    pub(super) fn meet<L: Log>(&mut self, now: u64, writer: &mut Writer<L>) {
        let (made, failed) = {
            let mut exchange = self.exchange.lock().unwrap_or_else(PoisonError::into_inner);
            exchange.wanted = writer.servers().filter(|server| !self.framed.contains_key(server)).collect();
            (std::mem::take(&mut exchange.made), std::mem::take(&mut exchange.failed))
        };
        for server in failed.into_iter().filter(|server| !self.framed.contains_key(server)) {
            writer.disconnected(now, server);
        }
        for (server, framed) in made {
            // One that cannot be watched is looked at whenever something is due.
            if let Some(Err(error)) = self.watcher.as_ref().map(|watcher| watch_one(watcher, &framed)) {
                tracing::warn!("the connection with memory server {server} cannot be watched: {error}");
            }
            self.framed.insert(server, framed);
            writer.connected(now, server);
        }
    }

    /// Sends what the writer wants to send, and hands it what had come when it was last waited.
    pub(super) fn drive<L: Log>(&mut self, now: u64, writer: &mut Writer<L>) {
        let log = writer.log();
        self.send(now, log, writer);
        let mut broken = Vec::new();
        for server in std::mem::take(&mut self.ready) {
            let Some(framed) = self.framed.get_mut(&server) else { continue };
            let error = loop {
                match framed.receive() {
                    Ok(None) => break None,
                    Ok(Some(frame)) => match ToWriter::decode(&frame) {
                        Ok(message) => writer.handle(now, server, message),
                        Err(error) => break Some(error.to_string()),
                    },
                    Err(error) => break Some(error.to_string()),
                }
            };
            if let Some(error) = error {
                broken.push((server, error));
            }
        }
        for (server, error) in broken {
            self.lose(now, server, &error, writer);
        }
        self.send(now, log, writer);
    }

    fn send<L: Log>(&mut self, now: u64, log: LogId, writer: &mut Writer<L>) {
        let mut touched = BTreeSet::new();
        let mut broken: BTreeMap<ServerId, RemoteError> = BTreeMap::new();
        while let Some((server, request)) = writer.take_requests() {
            // To a server that there is no connection with it is lost, as on any network.
            if let Some(framed) = self.framed.get_mut(&server) {
                touched.insert(server);
                if let Err(error) = framed.send_with(|payload| encode(&ToServer::new(log, request), payload)) {
                    broken.insert(server, error);
                }
            }
        }
        for (server, framed) in &mut self.framed {
            if (touched.contains(server) || framed.is_waiting())
                && let Err(error) = framed.flush()
            {
                broken.insert(*server, error);
            }
        }
        for (server, error) in broken {
            self.lose(now, server, &error.to_string(), writer);
        }
    }

    fn lose<L: Log>(&mut self, now: u64, server: ServerId, error: &str, writer: &mut Writer<L>) {
        tracing::info!("the connection with memory server {server} is lost: {error}");
        self.framed.remove(&server);
        writer.disconnected(now, server);
        self.meet(now, writer);
    }
}
