//! A memory server's process: one thread, which answers requests as they come.
//!
//! Invariants: an image is reloaded at most once, because it is removed before anybody is served, and a mark says that somebody was; a folder
//! that is missing is not made, because what should be mounted there may hold another image.

use super::clients::{Answering, LogClients};
use super::datagrams::{self, BUFFER_BYTES};
use super::spinning::Spinner;
use super::{HostClock, draw, links, since_boot};
use crate::limits::{
    CONNECTIONS_MAX, DATAGRAM_BYTES_MAX, HELD_BYTES_MAX, LOOKED_AT_MAX, LOOKS_PER_STREAM, SPIN, TURN_REQUESTS_MAX,
};
use crate::message::{ToServer, ToWriter, encode};
use crate::names::Incarnation;
use crate::server::image::{self, ImageError};
use crate::server::{LogServer, Room};
use bytes::Bytes;
use mio::event::Source;
use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token};
use raidcomm::frame;
use raidcomm::framed::Framed;
use raidcomm::keys::Keys;
use raidcomm::remote::RemoteError;
use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use thiserror::Error;

/// The listener's token.
const LISTENER: Token = Token(0);
/// That of the socket for datagrams; connections have the higher ones.
const DATAGRAMS: Token = Token(1);
/// Events of one turn.
const EVENTS: usize = 256;
/// A power failure (signal(7)), which signal-hook has no name for.
const SIGPWR: i32 = rustix::process::Signal::POWER.as_raw();
/// How late an end may be noticed that no signal interrupts for.
const NOTICE: Duration = Duration::from_millis(200);
/// The saved memory, while it is written, and what was no image.
const IMAGE: &str = "memory.image";
const PARTIAL: &str = "memory.image.partial";
const DAMAGED: &str = "memory.image.damaged";
/// There while a server serves from what it had: an image beside it is an older one.
const SERVING: &str = "memory.serving";
/// An image that is not the last one.
const OLD: &str = "memory.image.old";

/// How a server is run.
#[derive(Clone, Debug)]
pub struct MemoryServerOptions {
    /// Where it listens.
    pub listen: SocketAddr,
    /// Bytes of all logs, with [`crate::limits::RECORD_OVERHEAD_BYTES`] for each record.
    pub capacity_bytes: u64,
    /// Bytes of one log, counted likewise; the capacity if there is none.
    pub quota_bytes: Option<u64>,
    /// The folder, which must be there, where the memory is saved at an orderly end, and reloaded from. Never put an older copy of it back.
    pub save: Option<PathBuf>,
    /// With keys of an instance, clients must have some too; without, everything is in clear, and everybody is believed.
    pub keys: Option<Keys>,
}

/// Why a server cannot start, or has ended.
#[derive(Debug, Error)]
pub enum ServeError {
    /// The address is taken, or not ours.
    #[error("cannot listen at {address}: {source}")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// What the operating system says.
        source: io::Error,
    },
    /// The folder cannot be used.
    #[error("{}: {source}", path.display())]
    File {
        /// Which file or folder.
        path: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
    /// There is none.
    #[error("there is no folder {}: make it for a new server; mount it, if that is where the saved memory is", .0.display())]
    Missing(PathBuf),
    /// Another server has it.
    #[error("the folder {} is in use by another memory server: stop that one first, or use another folder", .0.display())]
    Locked(PathBuf),
    /// The capacity has become smaller.
    #[error("the memory saved in {} cannot be reloaded: {source}; raise the capacity, or move the file away and give up what it holds", path.display())]
    Capacity {
        /// The image.
        path: PathBuf,
        /// How much is wanting.
        source: ImageError,
    },
    /// The event loop.
    #[error("the event loop has failed: {0}")]
    Poll(io::Error),
}

/// What was reloaded when a server started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reloaded {
    /// There was nothing, or nowhere to look.
    Nothing,
    /// All of it: the server goes on as the one that has saved it.
    Image,
    /// The file is no whole image; it was set aside, and the server is empty.
    Damaged(String),
    /// The file is older than what the last server held; it was set aside, and the server is empty.
    Old,
}

/// See the module's description.
pub struct MemoryServer {
    server: LogServer,
    keys: Option<Keys>,
    listener: TcpListener,
    /// At the listener's address; none where clients have to prove who they are.
    datagrams: Option<UdpSocket>,
    poll: Poll,
    clock: HostClock,
    clients: LogClients,
    swept_at: u64,
    /// When it was last asked what has come over any connection, and who has connected: by [`since_boot`].
    polled_at: u64,
    /// Since something came over a connection.
    looks: u32,
    next: usize,
    save: Option<(PathBuf, File)>,
    reloaded: Reloaded,
    scratch: Vec<u8>,
}

impl MemoryServer {
    /// Reloads what was saved, and listens.
    ///
    /// # Errors
    /// See [`ServeError`].
    pub fn start(options: MemoryServerOptions) -> Result<MemoryServer, ServeError> {
        let MemoryServerOptions { listen, capacity_bytes, quota_bytes, save, keys } = options;
        let clock = HostClock::start();
        let listener = TcpListener::bind(listen).map_err(|source| ServeError::Listen { address: listen, source })?;
        let room = Room { capacity_bytes, quota_bytes: quota_bytes.unwrap_or(capacity_bytes) };
        let save = save.map(|folder| lock(&folder).map(|lock| (folder, lock))).transpose()?;
        let (server, reloaded) = match &save {
            Some((folder, _)) => reload(folder, clock.now(), room)?,
            None => (None, Reloaded::Nothing),
        };
        let server = match server {
            Some(server) => server,
            None => LogServer::new(Incarnation(draw().map_err(ServeError::Poll)?), room),
        };
        let poll = Poll::new().map_err(ServeError::Poll)?;
        let registered = listener
            .set_nonblocking(true)
            .and_then(|()| SourceFd(&listener.as_raw_fd()).register(poll.registry(), LISTENER, Interest::READABLE));
        registered.map_err(ServeError::Poll)?;
        let datagrams = keys.is_none().then(|| open_datagrams(&listener, &poll)).transpose();
        let datagrams = datagrams.unwrap_or_else(|error| {
            tracing::warn!("there are no datagrams, which are faster than connections: {error}");
            None
        });
        Ok(MemoryServer {
            server,
            keys,
            listener,
            datagrams,
            poll,
            clock,
            clients: LogClients::new(HELD_BYTES_MAX),
            swept_at: 0,
            polled_at: 0,
            looks: 0,
            next: 2,
            save,
            reloaded,
            scratch: Vec::new(),
        })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// The operating system does not tell.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// What was reloaded.
    pub fn reloaded(&self) -> &Reloaded {
        &self.reloaded
    }

    /// Serves until SIGTERM, SIGINT or SIGPWR, then saves, if it was told where.
    ///
    /// # Errors
    /// The event loop fails, or the memory cannot be saved.
    pub fn serve(self) -> Result<(), ServeError> {
        let stop = Arc::new(AtomicBool::new(false));
        for signal in [signal_hook::consts::SIGTERM, signal_hook::consts::SIGINT, SIGPWR] {
            signal_hook::flag::register(signal, Arc::clone(&stop)).map_err(ServeError::Poll)?;
        }
        self.serve_until(&stop)
    }

    /// Serves until somebody sets this, then saves.
    ///
    /// # Errors
    /// As [`MemoryServer::serve`].
    pub fn serve_until(mut self, stop: &AtomicBool) -> Result<(), ServeError> {
        let (mut events, mut spinner) = (Events::with_capacity(EVENTS), Spinner::new());
        while !stop.load(Ordering::Relaxed) {
            let begun = since_boot();
            let mut failed = None;
            let is_found = self.clients.has_unanswered()
                || spinner.spin(since_boot, || match self.look(&mut events) {
                    Ok(is_found) => is_found,
                    Err(error) => {
                        failed = Some(error);
                        true
                    }
                });
            if let Some(error) = failed {
                return Err(error);
            }
            if !is_found || self.clients.has_unanswered() {
                self.poll(&mut events, if is_found { Duration::ZERO } else { NOTICE })?;
            }
            spinner.waited(since_boot() - begun);
        }
        // Nothing is answered any more that would not be saved.
        self.clients.clear();
        let Some((folder, _lock)) = &self.save else { return Ok(()) };
        save(&self.server, folder).map_err(|source| ServeError::File { path: folder.join(IMAGE), source })
    }

    /// Answers what has come, without waiting; says whether anything had.
    fn look(&mut self, events: &mut Events) -> Result<bool, ServeError> {
        // Whoever has just connected is looked for more rarely, and many are asked for at once.
        if self.clients.len() > LOOKED_AT_MAX || since_boot() >= self.polled_at + SPIN {
            return self.poll(events, Duration::ZERO);
        }
        self.looks += 1;
        if self.answer_datagrams(1) > 0 {
            return Ok(true);
        }
        // While everything comes as datagrams connections are looked at more rarely.
        if self.looks > LOOKS_PER_STREAM && !self.looks.is_multiple_of(LOOKS_PER_STREAM) {
            return Ok(false);
        }
        let (clients, mut answering) = self.parts();
        let has_answered = clients.look(&mut answering);
        if has_answered {
            self.looks = 0;
        }
        Ok(has_answered)
    }

    /// Waits until something comes, at most so long, and answers it; says whether anything has come.
    fn poll(&mut self, events: &mut Events, time: Duration) -> Result<bool, ServeError> {
        match self.poll.poll(events, Some(time)) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(false),
            other => other.map_err(ServeError::Poll)?,
        }
        self.polled_at = since_boot();
        let mut has_come = self.clients.has_unanswered();
        for event in events.iter() {
            match event.token() {
                LISTENER => self.accept()?,
                token => {
                    has_come |= self.turn(token);
                    if event.is_read_closed() || event.is_error() {
                        self.clients.look_again(token);
                    }
                }
            }
        }
        for token in self.clients.take_unanswered() {
            self.turn(token);
        }
        self.sweep();
        Ok(has_come)
    }

    fn accept(&mut self) -> Result<(), ServeError> {
        loop {
            let stream = match self.listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                // Whoever connected is gone again, or there are too many files: others may come.
                Err(error) => {
                    tracing::warn!("a connection was not accepted: {error}");
                    return Ok(());
                }
            };
            if self.clients.len() >= CONNECTIONS_MAX {
                tracing::warn!("a connection was closed: there are {CONNECTIONS_MAX} already");
                continue;
            }
            let framed = match Framed::accepting(stream, self.keys.as_ref()) {
                Ok(framed) => framed,
                Err(error) => {
                    tracing::warn!("a connection was closed: {error}");
                    continue;
                }
            };
            let token = Token(self.next);
            self.next += 1;
            let interest = Interest::READABLE | Interest::WRITABLE;
            let fd = framed.stream().as_raw_fd();
            SourceFd(&fd).register(self.poll.registry(), token, interest).map_err(ServeError::Poll)?;
            self.clients.insert(token, framed, self.clock.now());
        }
    }

    /// Closes connections of hosts that have gone without a word.
    fn sweep(&mut self) {
        let now = self.clock.now();
        if now < self.swept_at + NOTICE.as_nanos() as u64 {
            return;
        }
        self.swept_at = now;
        self.clients.sweep(now);
    }

    /// Answers datagrams, at most so many; says how many have come.
    fn answer_datagrams(&mut self, requests_max: usize) -> usize {
        let MemoryServer { datagrams: Some(socket), server, clock, scratch, .. } = self else { return 0 };
        let mut buffer = [0; BUFFER_BYTES];
        for requests in 0..requests_max {
            let (count, from) = match socket.recv_from(&mut buffer) {
                Ok(received) => received,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return requests,
                // That an earlier reply has found nobody: it is not known whose.
                Err(_) => continue,
            };
            // Whatever else comes here is not for this server, or was damaged: it is lost, as on any network.
            let message = datagrams::payload(&buffer[..count]).map(ToServer::decode);
            let Some(Ok(ToServer { log, request, .. })) = message else { continue };
            if !datagrams::is_answered(&request) {
                continue;
            }
            let reply = ToWriter::new(log, server.incarnation(), server.handle(clock.now(), log, request));
            scratch.clear();
            let framed = frame::append_with(scratch, DATAGRAM_BYTES_MAX, |payload| encode(&reply, payload));
            // A reply that cannot be sent is lost: it is asked again.
            let _ = framed.map(|()| socket.send_to(scratch, from));
        }
        requests_max
    }

    /// Answers what has come over a connection; says whether anything had.
    fn turn(&mut self, token: Token) -> bool {
        if token == DATAGRAMS {
            let requests = self.answer_datagrams(TURN_REQUESTS_MAX);
            if requests == TURN_REQUESTS_MAX {
                self.clients.look_again(DATAGRAMS);
            }
            return requests > 0;
        }
        let (clients, mut answering) = self.parts();
        clients.turn(token, &mut answering)
    }

    fn parts(&mut self) -> (&mut LogClients, Answering<'_>) {
        let MemoryServer { clients, clock, server, scratch, .. } = self;
        (clients, Answering { clock: *clock, server, scratch })
    }
}

/// A socket for datagrams where the listener is.
fn open_datagrams(listener: &TcpListener, poll: &Poll) -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind(listener.local_addr()?)?;
    socket.set_nonblocking(true)?;
    SourceFd(&socket.as_raw_fd()).register(poll.registry(), DATAGRAMS, Interest::READABLE)?;
    Ok(socket)
}

/// Takes a folder for this server alone.
fn lock(folder: &Path) -> Result<File, ServeError> {
    let failed = |source| ServeError::File { path: folder.to_path_buf(), source };
    if !folder.is_dir() {
        return Err(ServeError::Missing(folder.to_path_buf()));
    }
    let file = File::create(folder.join("lock")).map_err(failed)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(file),
        Err(rustix::io::Errno::WOULDBLOCK) => Err(ServeError::Locked(folder.to_path_buf())),
        Err(error) => Err(failed(error.into())),
    }
}

/// Reads an image and removes it: what the server promises from here on stands in no image.
fn reload(folder: &Path, now: u64, room: Room) -> Result<(Option<LogServer>, Reloaded), ServeError> {
    let path = folder.join(IMAGE);
    let failed = |source| ServeError::File { path: path.clone(), source };
    let mut file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            mark_serving(folder).map_err(failed)?;
            return Ok((None, Reloaded::Nothing));
        }
        Err(error) => return Err(failed(error)),
    };
    // Whoever has served since was killed before it could save.
    if folder.join(SERVING).exists() {
        fs::rename(&path, folder.join(OLD)).map_err(failed)?;
        sync_folder(folder).map_err(failed)?;
        return Ok((None, Reloaded::Old));
    }
    let loaded = match image::load(now, room, &mut file) {
        Ok(server) => {
            mark_serving(folder).map_err(failed)?;
            fs::remove_file(&path).map_err(failed)?;
            (Some(server), Reloaded::Image)
        }
        Err(source @ ImageError::Capacity { .. }) => return Err(ServeError::Capacity { path, source }),
        Err(ImageError::System(error)) => return Err(failed(error)),
        Err(error) => {
            fs::rename(&path, folder.join(DAMAGED)).map_err(failed)?;
            mark_serving(folder).map_err(failed)?;
            (None, Reloaded::Damaged(error.to_string()))
        }
    };
    sync_folder(folder).map_err(failed)?;
    Ok(loaded)
}

/// From here on no image that is found in the folder is the memory of this server, until it has saved it.
fn mark_serving(folder: &Path) -> io::Result<()> {
    File::create(folder.join(SERVING))?.sync_all()?;
    sync_folder(folder)
}

fn save(server: &LogServer, folder: &Path) -> io::Result<()> {
    let partial = folder.join(PARTIAL);
    let mut file = BufWriter::new(File::create(&partial)?);
    image::save(server, &mut file)?;
    file.flush()?;
    file.get_ref().sync_all()?;
    fs::rename(&partial, folder.join(IMAGE))?;
    sync_folder(folder)?;
    match fs::remove_file(folder.join(SERVING)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => sync_folder(folder),
    }
}

fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Asks a server how it is.
///
/// # Errors
/// It does not answer in time, or with something else.
pub fn read_status(
    address: SocketAddr,
    keys: Option<&Keys>,
    time: Duration,
) -> Result<crate::message::MemoryServerStatus, RemoteError> {
    use crate::message::{ServerReply, WriterRequest};
    use crate::names::LogId;
    let deadline = std::time::Instant::now() + time;
    let stream = std::net::TcpStream::connect_timeout(&address, time)?;
    let mut framed = Framed::connecting(stream, keys)?;
    framed.send_with(|payload| encode(&ToServer::new(LogId(0), WriterRequest::Status), payload))?;
    loop {
        framed.flush()?;
        if let Some(frame) = framed.receive()? {
            return match decode_status(&frame) {
                Some(status) => Ok(status),
                None => {
                    Err(RemoteError::System(io::Error::new(io::ErrorKind::InvalidData, "no status of a memory server")))
                }
            };
        }
        let left = deadline.saturating_duration_since(std::time::Instant::now());
        if left.is_zero() {
            return Err(RemoteError::Silent);
        }
        links::sleep(vec![links::waiting(&framed)], None, left)?;
    }

    fn decode_status(frame: &Bytes) -> Option<crate::message::MemoryServerStatus> {
        match ToWriter::decode(frame).ok()?.reply {
            ServerReply::Status(status) => Some(status),
            _ => None,
        }
    }
}
