//! The event loop: clients' connections, and on the first worker also everything else of the process.
//!
//! A turn: take events; read what clients sent and let the user interface turn it into requests; run them all under the core's lock; let the user
//! interface turn the answers into bytes; write once to every peer and every client that has something. So messages to a peer, and log
//! syncs, are shared by all transactions of a turn, and nobody who is awake is woken.
//!
//! Invariant: a session belongs to one worker for life; its number says to which.

use crate::config::SiteConfig;
use crate::core::{CatalogRows, Core, Output};
use crate::query_host::QueryHost;
use crate::{clock, huge_pages, limits, status};
use bytes::BytesMut;
use messages::access::AccessReply;
use messages::{Envelope, EpochNumber, Incarnation, Message, Now, Outbox, Server, ServerKind, SessionId};
use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token, Waker};
use rustix::net::sockopt;
use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use user_interface::{CancelKey, UserInterface};

const TOKEN_WAKE: Token = Token(0);
const TOKEN_SQL: Token = Token(1);
const TOKEN_CONSOLE: Token = Token(2);
const TOKENS_STREAMS: std::ops::Range<usize> = 16..16 + raidcomm::limits::TOKENS;
const TOKENS_CLIENTS: usize = 1 << 16;
/// Bits of a session's number that count within its worker.
const SESSION_BITS: u32 = 48;

/// What reaches a worker from other threads.
enum Mail {
    /// An answer for one of its sessions, or a change of the catalog.
    Answer(Envelope),
    /// A connection that the first worker accepted for it.
    Client(TcpStream),
    /// The site has begun a new life.
    NewLife(Arc<CatalogRows>),
    /// A client of another worker wants one of this worker's sessions to cancel what it does.
    Cancel(CancelKey),
}

/// The door of a worker.
struct Mailbox {
    mail: Mutex<Vec<Mail>>,
    waker: Arc<Waker>,
}

impl Mailbox {
    fn post(&self, mail: Mail) {
        let mut waiting = self.mail.lock().expect("no holder of this lock panics");
        waiting.push(mail);
        if waiting.len() == 1 {
            // An error means that the poll is gone, and with it whoever would read the mail.
            let _ = self.waker.wake();
        }
    }
}

/// What all threads of a site share.
pub struct Shared {
    core: Mutex<Core>,
    mailboxes: Vec<Mailbox>,
    query: QueryHost,
    over: Mutex<Option<String>>,
    stop: Arc<AtomicBool>,
    clients: AtomicUsize,
}

impl Shared {
    /// Runs requests of sessions under the core's lock, on this thread, and hands out the answers.
    pub fn submit(&self, envelopes: impl IntoIterator<Item = Envelope>) {
        let output = {
            let mut core = self.core.lock().expect("a panic under the core's lock ends the process");
            core.deliver(envelopes);
            core.settle();
            core.flush();
            core.take_output()
        };
        self.route(output, None, &mut Vec::new());
    }

    /// Answers go to the worker that owns the session; those of worker `own` are put into `mine`.
    fn route(&self, output: Output, own: Option<usize>, mine: &mut Vec<Mail>) {
        if let Some(message) = output.over {
            tracing::error!(message);
            self.over.lock().expect("no holder of this lock panics").get_or_insert(message);
            self.stop.store(true, Ordering::SeqCst);
            self.wake_all();
        }
        if let Some(rows) = output.new_life {
            self.query.forget_all();
            let rows = Arc::new(rows);
            for worker in 0..self.mailboxes.len() {
                self.hand(worker, own, mine, Mail::NewLife(rows.clone()));
            }
        }
        for envelope in output.local {
            match &envelope.message {
                Message::SessionReply(session, _) if envelope.to == ServerKind::Query => {
                    self.query.scanned(*session, envelope.message);
                }
                Message::SessionReply(session, _) | Message::QueryReply(session, _) => {
                    self.hand(worker_of(*session), own, mine, Mail::Answer(envelope));
                }
                _ => {
                    for worker in 0..self.mailboxes.len() {
                        self.hand(worker, own, mine, Mail::Answer(envelope.clone()));
                    }
                }
            }
        }
    }

    fn hand(&self, worker: usize, own: Option<usize>, mine: &mut Vec<Mail>, mail: Mail) {
        if own == Some(worker) {
            mine.push(mail);
        } else if let Some(mailbox) = self.mailboxes.get(worker) {
            mailbox.post(mail);
        }
    }

    /// An answer of the query processor.
    pub fn answer(&self, envelope: Envelope) {
        if let Message::QueryReply(session, _) = &envelope.message {
            self.hand(worker_of(*session), None, &mut Vec::new(), Mail::Answer(envelope));
        }
    }

    /// The door to the query processor.
    pub(crate) fn query(&self) -> &QueryHost {
        &self.query
    }

    fn wake_all(&self) {
        for mailbox in &self.mailboxes {
            let _ = mailbox.waker.wake();
        }
    }
}

fn worker_of(session: SessionId) -> usize {
    (session.0 >> SESSION_BITS) as usize
}

/// A client's connection.
struct Client {
    socket: TcpStream,
    session: SessionId,
    input: BytesMut,
    /// The operating system has reported the end of its side, which may stand behind bytes that are still to be read.
    ending: bool,
    /// Its side of the connection is closed.
    ended: bool,
    /// The socket may have more to read.
    readable: bool,
    /// The socket takes more.
    writable: bool,
}

/// Runs a site until `stop` is set. An error is what ended it instead.
pub fn run(config: SiteConfig, stop: Arc<AtomicBool>) -> Result<(), String> {
    let config = Arc::new(config);
    let workers = config.workers;
    huge_pages::allow(false);
    let text = |error: std::io::Error| error.to_string();
    let mut polls = Vec::new();
    let mut mailboxes = Vec::new();
    for _ in 0..workers {
        let poll = Poll::new().map_err(text)?;
        let waker = Arc::new(Waker::new(poll.registry(), TOKEN_WAKE).map_err(text)?);
        polls.push(poll);
        mailboxes.push(Mailbox { mail: Mutex::default(), waker });
    }
    let first = polls[0].registry();
    let waker = mailboxes[0].waker.clone();
    let on_synced: commit_log::mapped::OnSynced = Box::new(move || drop(waker.wake()));
    let core = Core::start(config.clone(), first.try_clone().map_err(text)?, TOKENS_STREAMS, on_synced)
        .map_err(|error| format!("site {} does not start: {error}", config.id))?;
    let listen = |address, token| -> Result<TcpListener, String> {
        let mut listener =
            TcpListener::bind(address).map_err(|error| format!("cannot listen at {address}: {error}"))?;
        first.register(&mut listener, token, Interest::READABLE).map_err(text)?;
        Ok(listener)
    };
    let listeners = Listeners { sql: listen(config.sql, TOKEN_SQL)?, console: listen(config.console, TOKEN_CONSOLE)? };
    let shared = Arc::new(Shared {
        core: Mutex::new(core),
        mailboxes,
        query: QueryHost::new(),
        over: Mutex::default(),
        stop,
        clients: AtomicUsize::new(0),
    });
    shared.query.start(&shared).map_err(|error| format!("the query processor does not start: {error}"))?;
    let mut threads = Vec::new();
    let mut polls = polls.into_iter().enumerate();
    let (_, poll) = polls.next().expect("there is at least one worker");
    for (number, poll) in polls {
        let worker = Worker::new(number, poll, None, shared.clone(), &config);
        threads.push(std::thread::spawn(move || worker.run()));
    }
    Worker::new(0, poll, Some(listeners), shared.clone(), &config).run();
    for thread in threads {
        drop(thread.join());
    }
    shared.query.stop();
    shared.core.lock().expect("the workers have ended").close();
    let over = shared.over.lock().expect("the workers have ended").take();
    over.map_or(Ok(()), Err)
}

/// What only the first worker listens at.
struct Listeners {
    sql: TcpListener,
    console: TcpListener,
}

/// One thread that serves clients.
struct Worker {
    number: usize,
    poll: Poll,
    listeners: Option<Listeners>,
    shared: Arc<Shared>,
    config: Arc<SiteConfig>,
    user_interface: UserInterface,
    clients: BTreeMap<SessionId, Client>,
    next_session: u64,
    next_worker: usize,
    outbox: Outbox,
    requests: Vec<Envelope>,
    mail: Vec<Mail>,
    touched: Vec<SessionId>,
    ticked_at: u64,
}

impl Worker {
    fn new(
        number: usize,
        poll: Poll,
        listeners: Option<Listeners>,
        shared: Arc<Shared>,
        config: &Arc<SiteConfig>,
    ) -> Worker {
        let interface = user_interface::Config::new(
            config.site(),
            &format!("{:016x}", config.instance),
            env!("CARGO_PKG_VERSION"),
            (u32::from(config.id) << 20) | ((number as u32) << 14),
            clock::wall_micros() ^ ((number as u64) << 56),
        );
        Worker {
            number,
            poll,
            listeners,
            shared,
            config: config.clone(),
            user_interface: UserInterface::new(interface),
            clients: BTreeMap::new(),
            next_session: 1,
            next_worker: 0,
            outbox: Outbox::default(),
            requests: Vec::new(),
            mail: Vec::new(),
            touched: Vec::new(),
            ticked_at: 0,
        }
    }

    fn run(mut self) {
        let mut events = Events::with_capacity(limits::EVENTS_PER_TURN);
        while !self.shared.stop.load(Ordering::SeqCst) {
            let due = (self.ticked_at + limits::TICK).saturating_sub(clock::boot());
            match self.poll.poll(&mut events, Some(Duration::from_nanos(due))) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => {
                    tracing::error!(%error, "the event loop ends");
                    return;
                }
            }
            self.turn(&events);
        }
        self.shared.wake_all();
    }

    fn turn(&mut self, events: &Events) {
        for event in events {
            match event.token() {
                TOKEN_WAKE => {}
                TOKEN_SQL => self.accept(),
                TOKEN_CONSOLE => self.tell_status(),
                Token(token) if token >= TOKENS_CLIENTS => self.client_event(token, event),
                _ => {
                    let mut core = self.shared.core.lock().expect("a panic under the core's lock ends the process");
                    core.ready(event);
                }
            }
        }
        let mut waiting =
            std::mem::take(&mut *self.shared.mailboxes[self.number].mail.lock().expect("no holder panics"));
        self.mail.append(&mut waiting);
        let now = clock::now();
        let tick = now.boot >= self.ticked_at + limits::TICK;
        if tick {
            self.ticked_at = now.boot;
            self.user_interface.tick(now, &mut self.outbox);
            self.collect();
        }
        self.read_clients(now);
        self.exchange(now, tick);
        self.write_clients();
    }

    /// Runs requests and takes answers until neither is left.
    fn exchange(&mut self, now: Now, tick: bool) {
        let mut core_turn = self.number == 0;
        loop {
            self.take_mail(now);
            if self.requests.is_empty() && !core_turn {
                break;
            }
            let output = {
                let mut core = self.shared.core.lock().expect("a panic under the core's lock ends the process");
                core.deliver(self.requests.drain(..));
                if core_turn {
                    core.turn(tick);
                } else {
                    core.settle();
                }
                core.take_output()
            };
            core_turn = false;
            let mut mine = std::mem::take(&mut self.mail);
            self.shared.clone().route(output, Some(self.number), &mut mine);
            self.mail = mine;
        }
        self.shared.core.lock().expect("a panic under the core's lock ends the process").flush();
    }

    fn take_mail(&mut self, now: Now) {
        for mail in std::mem::take(&mut self.mail) {
            match mail {
                Mail::Answer(envelope) => {
                    if let Message::AccessReply(AccessReply::CatalogRows { .. })
                    | Message::SessionReply(..)
                    | Message::QueryReply(..) = &envelope.message
                    {
                        self.user_interface.handle(now, envelope, &mut self.outbox);
                    }
                }
                Mail::Client(socket) => self.add_client(socket),
                Mail::Cancel(key) => drop(self.user_interface.cancel(key, &mut self.outbox)),
                Mail::NewLife(rows) => {
                    self.user_interface.reset(&mut self.outbox);
                    self.user_interface.load_catalog((*rows).clone());
                }
            }
        }
        self.collect();
        let pending: Vec<SessionId> = self.user_interface.pending().collect();
        for session in pending {
            // A session that has its answer may go on with what it has sent meanwhile.
            self.let_interface_read(now, session);
            self.touched.push(session);
        }
    }

    /// What the user interface wants from others.
    fn collect(&mut self) {
        for outgoing in self.outbox.messages.drain(..) {
            let site = self.config.site();
            let envelope = Envelope {
                from_site: site,
                from: ServerKind::UserInterface,
                to_site: site,
                to: outgoing.to,
                epoch: EpochNumber(0),
                incarnation: Incarnation(0),
                message: outgoing.message,
            };
            match envelope.message {
                Message::Query(session, request) => self.shared.query.ask(session, request),
                _ => self.requests.push(envelope),
            }
        }
    }

    fn accept(&mut self) {
        while let Some(listeners) = &self.listeners {
            match listeners.sql.accept() {
                Ok((socket, _)) => {
                    if self.shared.clients.load(Ordering::Relaxed) >= limits::CLIENTS_MAX + limits::REFUSALS_MAX {
                        tracing::warn!(max = limits::CLIENTS_MAX, "far too many clients: a connection is dropped");
                        continue;
                    }
                    let worker = self.next_worker % self.shared.mailboxes.len();
                    self.next_worker += 1;
                    if worker == self.number {
                        self.add_client(socket);
                    } else {
                        self.shared.mailboxes[worker].post(Mail::Client(socket));
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::ConnectionAborted) => {}
                Err(error) => {
                    tracing::warn!(%error, "a client could not be accepted");
                    return;
                }
            }
        }
    }

    fn add_client(&mut self, mut socket: TcpStream) {
        let number = self.next_session;
        self.next_session += 1;
        let session = SessionId(((self.number as u64) << SESSION_BITS) | number);
        let token = Token(TOKENS_CLIENTS + number as usize);
        let both = Interest::READABLE | Interest::WRITABLE;
        if prepare(&socket).is_err() || self.poll.registry().register(&mut socket, token, both).is_err() {
            return;
        }
        if self.shared.clients.fetch_add(1, Ordering::Relaxed) < limits::CLIENTS_MAX {
            self.user_interface.open(session);
        } else {
            tracing::warn!(max = limits::CLIENTS_MAX, "too many clients: a connection is refused");
            self.user_interface.open_refused(session);
        }
        let input = BytesMut::new();
        self.clients.insert(
            session,
            Client { socket, session, input, ending: false, ended: false, readable: true, writable: true },
        );
        self.touched.push(session);
    }

    fn client_event(&mut self, token: usize, event: &mio::event::Event) {
        let session = SessionId(((self.number as u64) << SESSION_BITS) | (token - TOKENS_CLIENTS) as u64);
        if let Some(client) = self.clients.get_mut(&session) {
            client.ending |= event.is_read_closed() || event.is_error();
            client.readable |= event.is_readable() || client.ending;
            client.writable |= event.is_writable();
            self.touched.push(session);
        }
    }

    fn read_clients(&mut self, now: Now) {
        for index in 0..self.touched.len() {
            let session = self.touched[index];
            let Some(client) = self.clients.get_mut(&session) else { continue };
            let backlog = self.user_interface.output(session).map_or(0, |output| output.len());
            let wanted = client.input.is_empty() || self.user_interface.wants_input(session);
            if client.readable && wanted && backlog < limits::CLIENT_OUTPUT_BYTES_MAX {
                client.read();
            }
            self.let_interface_read(now, session);
        }
        self.collect();
    }

    fn let_interface_read(&mut self, now: Now, session: SessionId) {
        if let Some(client) = self.clients.get_mut(&session)
            && !client.input.is_empty()
        {
            self.user_interface.receive(now, session, &mut client.input, &mut self.outbox);
            while let Some(key) = self.user_interface.unrouted_cancel() {
                let others = self.shared.mailboxes.iter().enumerate().filter(|(worker, _)| *worker != self.number);
                others.for_each(|(_, mailbox)| mailbox.post(Mail::Cancel(key)));
            }
            self.collect();
        }
    }

    fn write_clients(&mut self) {
        let mut touched = std::mem::take(&mut self.touched);
        touched.sort_unstable();
        touched.dedup();
        for session in touched.drain(..) {
            let Some(client) = self.clients.get_mut(&session) else { continue };
            let gone = match self.user_interface.output(session) {
                Some(output) => !client.write(output),
                None => true,
            };
            let finished = self.user_interface.finished(session)
                && self.user_interface.output(session).is_none_or(|output| output.is_empty());
            if gone || finished || client.ended {
                self.close_client(session);
            } else if client.readable && self.user_interface.wants_input(session) {
                // More may wait in the socket than one turn reads: come back without waiting for an event.
                self.touched.push(session);
            }
        }
        if !self.touched.is_empty() {
            let _ = self.shared.mailboxes[self.number].waker.wake();
        }
        self.touched.append(&mut touched);
        self.collect();
    }

    fn close_client(&mut self, session: SessionId) {
        let Some(mut client) = self.clients.remove(&session) else { return };
        self.user_interface.close(session, &mut self.outbox);
        self.shared.query.forget(session);
        self.shared.clients.fetch_sub(1, Ordering::Relaxed);
        drop(self.poll.registry().deregister(&mut client.socket));
    }

    fn tell_status(&mut self) {
        while let Some(listeners) = &self.listeners {
            let Ok((mut socket, _)) = listeners.console.accept() else { return };
            let text = {
                let core = self.shared.core.lock().expect("a panic under the core's lock ends the process");
                status::of(&self.config, &core, self.shared.clients.load(Ordering::Relaxed)).to_json()
            };
            // A new socket takes this much at once; a console that reads nothing gets what fits.
            drop(socket.write(text.as_bytes()));
            drop(socket.shutdown(std::net::Shutdown::Write));
        }
    }
}

/// Answers leave at once; a client whose host has vanished is noticed, and its locks released.
fn prepare(socket: &TcpStream) -> std::io::Result<()> {
    socket.set_nodelay(true)?;
    sockopt::set_socket_keepalive(socket, true)?;
    sockopt::set_tcp_keepidle(socket, limits::CLIENT_KEEPALIVE)?;
    sockopt::set_tcp_keepintvl(socket, limits::CLIENT_KEEPALIVE)?;
    sockopt::set_tcp_keepcnt(socket, limits::CLIENT_KEEPALIVE_PROBES)?;
    Ok(())
}

impl Client {
    /// Reads what is there, up to a bound.
    fn read(&mut self) {
        let mut room = limits::CLIENT_READ_BYTES;
        let mut buffer = [0_u8; 16 << 10];
        while room > 0 {
            match self.socket.read(&mut buffer) {
                Ok(0) => {
                    self.ended = true;
                    self.readable = false;
                    return;
                }
                Ok(bytes) => {
                    self.input.extend_from_slice(&buffer[..bytes]);
                    room = room.saturating_sub(bytes);
                    if bytes < buffer.len() && !self.ending {
                        // Edge-triggered: a short read means that the next bytes come with an event of their own. An end that was
                        // reported already does not.
                        self.readable = false;
                        return;
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.readable = false;
                    return;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => {
                    tracing::debug!(session = self.session.0, %error, "a client is gone");
                    self.ended = true;
                    self.readable = false;
                    return;
                }
            }
        }
    }

    /// Writes what the socket takes. `false`: the client is gone.
    fn write(&mut self, output: &mut BytesMut) -> bool {
        use bytes::Buf;
        while !output.is_empty() && self.writable {
            match self.socket.write(output) {
                Ok(0) => return false,
                Ok(bytes) => output.advance(bytes),
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.writable = false,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return false,
            }
        }
        true
    }
}
