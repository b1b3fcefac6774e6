//! The event loop: clients' connections, and on the first worker also everything else of the process.
//!
//! A turn: take events; read what clients sent and let the user interface turn it into requests; run them all under the core's lock; let the user
//! interface turn the answers into bytes; write once to every client and every peer that has something. So messages to a peer, and log
//! syncs, are shared by all transactions of a turn, and nobody who is awake is woken.
//!
//! A message of a client that is long is for other workers: the first ones, which also look after the connections with other sites, leave it to them, with the
//! session (`moving`). When a turn of the first worker takes long all the same, the thread `peers` takes the core's turns (`peers`).
//!
//! Invariant: a session is at one worker at a time. Its number says at which, unless `shared` says another.

mod client;
mod encrypted;
mod moving;
mod peers;

pub(crate) use moving::MovedClient;

use crate::config::SiteConfig;
use crate::core::{Core, Wiring};
use crate::entrance::Entrance;
use crate::layout::Layout;
use crate::layout::door::Door;
use crate::layout::front::Front;
use crate::shared::{Heart, Mail, SESSION_BITS, SiteShared, first_worker_of};
use crate::{clock, limits};
use client::{ConnectedClient, peer_of, prepare};
use encrypted::Encrypted;
use messages::access::AccessReply;
use messages::{Envelope, EpochNumber, Incarnation, Message, Now, Outbox, Server, ServerKind, SessionId};
use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Registry, Token, Waker};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use user_interface::UserInterface;

const TOKEN_WAKE: Token = Token(0);
const TOKEN_SQL: Token = Token(1);
/// Something has come from another site, or from a memory server: the core has a poll of its own for those.
const TOKEN_CORE: Token = Token(3);
const TOKENS_CLIENTS: usize = 1 << 16;

/// The workers of a site's own process, with its core; `stop` ends them.
pub(crate) fn prepare_site(config: SiteConfig, stop: Arc<AtomicBool>) -> Result<PreparedWorkers, String> {
    // In other layouts than the merged one clients are served by another process.
    let merged = config.layout == Layout::Merged;
    let told = Arc::clone(&stop);
    PreparedWorkers::new(config, stop, |config, registry, waker| {
        let door = (!merged).then(Arc::<Door>::default);
        let on_synced: commit_log::mapped::OnSynced = Box::new(move || drop(waker.wake()));
        let wiring = Wiring { on_synced };
        let core = Core::start(config.clone(), wiring, door.clone(), &told)
            .map_err(|error| format!("site {} does not start: {error}", config.id))?;
        core.watch(registry, TOKEN_CORE).map_err(text)?;
        let listen = |address, token| listen(std::net::TcpListener::bind(address), address, token, registry);
        let sql = merged.then(|| listen(config.sql, TOKEN_SQL)).transpose()?;
        Ok((Heart::Here { core: Box::new(Mutex::new(core)), door }, sql, if merged { config.workers } else { 1 }))
    })
}

/// The workers of a process that only serves clients, and reaches the site's process through `front`.
pub(crate) fn prepare_front(
    config: SiteConfig,
    front: Front,
    sql: std::net::TcpListener,
) -> Result<PreparedWorkers, String> {
    let prepared = PreparedWorkers::new(config, Arc::default(), |config, registry, _| {
        let sql = listen(Ok(sql), config.sql, TOKEN_SQL, registry)?;
        Ok((Heart::Elsewhere(front), Some(sql), config.workers))
    })?;
    Ok(prepared)
}

fn text(error: std::io::Error) -> String {
    error.to_string()
}

fn listen(
    bound: std::io::Result<std::net::TcpListener>,
    address: SocketAddr,
    token: Token,
    registry: &Registry,
) -> Result<TcpListener, String> {
    let bound = bound.and_then(|listener| listener.set_nonblocking(true).map(|()| listener));
    let bound = bound.map_err(|error| format!("cannot listen at {address}: {error}"))?;
    let mut listener = TcpListener::from_std(bound);
    registry.register(&mut listener, token, Interest::READABLE).map_err(text)?;
    Ok(listener)
}

/// A process whose workers can begin.
pub(crate) struct PreparedWorkers {
    config: Arc<SiteConfig>,
    entrance: Arc<Entrance>,
    /// Set by SIGHUP.
    reload: Arc<AtomicBool>,
    polls: Vec<Poll>,
    /// Where the first worker listens for clients.
    sql: Option<TcpListener>,
    shared: Arc<SiteShared>,
}

impl PreparedWorkers {
    /// `build` is given the first worker's poll and its waker, and says where the core is, what is listened at, and how many workers
    /// there are.
    fn new(
        config: SiteConfig,
        stop: Arc<AtomicBool>,
        build: impl FnOnce(&Arc<SiteConfig>, &Registry, Arc<Waker>) -> Result<(Heart, Option<TcpListener>, usize), String>,
    ) -> Result<PreparedWorkers, String> {
        let config = Arc::new(config);
        let entrance = Entrance::open(&config)?;
        let reload = Arc::<AtomicBool>::default();
        signal_hook::flag::register(signal_hook::consts::SIGHUP, reload.clone()).map_err(text)?;
        let poll = || -> Result<(Poll, Arc<Waker>), String> {
            let poll = Poll::new().map_err(text)?;
            let waker = Arc::new(Waker::new(poll.registry(), TOKEN_WAKE).map_err(text)?);
            Ok((poll, waker))
        };
        let (first, waker) = poll()?;
        let (heart, sql, workers) = build(&config, first.registry(), waker.clone())?;
        let (mut polls, mut wakers) = (vec![first], vec![waker]);
        for _ in 1..workers + limits::LONG_WORKERS {
            let (poll, waker) = poll()?;
            polls.push(poll);
            wakers.push(waker);
        }
        let serves_clients = sql.is_some();
        let shared = Arc::new(SiteShared::new(heart, wakers, workers, stop));
        if serves_clients {
            shared
                .query()
                .start(&shared, &config)
                .map_err(|error| format!("the query processor does not start: {error}"))?;
        }
        Ok(PreparedWorkers { config, entrance, reload, polls, sql, shared })
    }

    /// How the site is configured.
    pub(crate) fn config(&self) -> Arc<SiteConfig> {
        self.config.clone()
    }

    /// What its threads share.
    pub(crate) fn shared(&self) -> Arc<SiteShared> {
        self.shared.clone()
    }

    /// Runs until it is told to stop. An error is what ended it instead.
    pub(crate) fn run(self) -> Result<(), String> {
        let PreparedWorkers { config, entrance, reload, polls, sql, shared } = self;
        let mut threads = Vec::new();
        let mut polls = polls.into_iter().enumerate();
        let (_, poll) = polls.next().expect("there is at least one worker");
        for (number, poll) in polls {
            let worker = Worker::new(number, poll, None, shared.clone(), &config, &entrance);
            let name = if number < shared.short_workers() { "worker" } else { "long" };
            let thread = std::thread::Builder::new().name(name.to_owned());
            threads.push(thread.spawn(move || worker.run()).map_err(text)?);
        }
        if let Some(poll) = peers::poll(&shared).map_err(text)? {
            let shared = shared.clone();
            let thread = std::thread::Builder::new().name("peers".to_owned());
            threads.push(thread.spawn(move || peers::run(&shared, poll)).map_err(text)?);
        }
        let mut first = Worker::new(0, poll, sql, shared.clone(), &config, &entrance);
        first.reload = Some(reload);
        first.run();
        for thread in threads {
            drop(thread.join());
        }
        shared.end().map_or(Ok(()), Err)
    }
}

/// One thread that serves clients.
struct Worker {
    number: usize,
    poll: Poll,
    /// Of the first worker: where clients come in.
    sql: Option<TcpListener>,
    shared: Arc<SiteShared>,
    config: Arc<SiteConfig>,
    entrance: Arc<Entrance>,
    /// Of the first worker: set when it is to read rules and certificates again.
    reload: Option<Arc<AtomicBool>>,
    user_interface: UserInterface,
    clients: BTreeMap<SessionId, ConnectedClient>,
    next_session: u64,
    next_worker: usize,
    outbox: Outbox,
    requests: Vec<Envelope>,
    mail: Vec<Mail>,
    /// The life that requests are for: the last one heard of.
    life: Incarnation,
    touched: Vec<SessionId>,
    /// Where clients' bytes are read to; its contents mean nothing.
    scratch: Vec<u8>,
    ticked_at: u64,
    /// When the connections with other sites need a turn.
    turn_at: u64,
}

impl Worker {
    fn new(
        number: usize,
        poll: Poll,
        sql: Option<TcpListener>,
        shared: Arc<SiteShared>,
        config: &Arc<SiteConfig>,
        entrance: &Arc<Entrance>,
    ) -> Worker {
        let takes_long = number >= shared.short_workers();
        let mut interface = user_interface::Config::new(
            config.site(),
            &format!("{:016x}", config.instance),
            env!("CARGO_PKG_VERSION"),
            (u32::from(config.id) << 20) | ((number as u32) << 14),
            clock::wall_micros() ^ ((number as u64) << 56),
        );
        interface.doorkeeper = entrance.doorkeeper();
        interface.activity = entrance.activity();
        interface.method = config.method.into();
        interface.level = config.default_transaction_isolation;
        interface.counters = shared.counters_of(number);
        interface.events = entrance.events().selection();
        let mut user_interface = UserInterface::new(interface);
        if !takes_long {
            user_interface.leave_long_messages();
        }
        Worker {
            number,
            poll,
            sql,
            shared,
            config: config.clone(),
            entrance: entrance.clone(),
            reload: None,
            user_interface,
            clients: BTreeMap::new(),
            next_session: 1,
            next_worker: 0,
            outbox: Outbox::default(),
            requests: Vec::new(),
            mail: Vec::new(),
            life: Incarnation(0),
            touched: Vec::new(),
            scratch: vec![0; limits::CLIENT_READ_BYTES_AT_ONCE],
            ticked_at: 0,
            turn_at: u64::MAX,
        }
    }

    fn run(mut self) {
        let mut events = Events::with_capacity(limits::EVENTS_PER_TURN);
        while !self.shared.stops() {
            let due = self.turn_at.min(self.ticked_at + limits::TICK).saturating_sub(clock::boot());
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
        // What sessions ask for now nobody does.
        self.user_interface.shut_down(clock::now(), &mut Outbox::default());
        self.touched.extend(self.clients.keys());
        self.write_clients();
        self.take_events();
        self.shared.wake_all();
    }

    fn turn(&mut self, events: &Events) {
        for event in events {
            match event.token() {
                // The turn looks.
                TOKEN_WAKE | TOKEN_CORE => {}
                TOKEN_SQL => self.accept(),
                Token(token) => self.client_event(token, event),
            }
        }
        self.shared.take_mail(self.number, &mut self.mail);
        let now = clock::now();
        let tick = now.boot >= self.ticked_at + limits::TICK;
        if tick {
            self.ticked_at = now.boot;
            self.user_interface.tick(now, &mut self.outbox);
            self.collect();
            for session in self.user_interface.overdue(now) {
                self.close_client(session);
            }
            self.reload();
        }
        self.read_clients(now);
        self.exchange(now, tick);
        self.write_clients();
        self.take_events();
        // Clients first: a process of this host that is woken may take this thread's processor, and it is about to sleep anyway.
        // The first worker turns for the connections.
        self.turn_at = self.shared.flush().filter(|_| self.number == 0).unwrap_or(u64::MAX);
    }

    /// What sessions have done that an operator wants to read.
    fn take_events(&mut self) {
        let events = self.user_interface.take_events();
        events.iter().for_each(|event| self.entrance.events().take(event));
    }

    /// Reads again how clients come in, if it was told to.
    fn reload(&self) {
        if self.reload.as_ref().is_some_and(|reload| reload.swap(false, Ordering::Relaxed)) {
            self.entrance.reload();
            if let Some(core) = self.shared.core() {
                core.processes().reload_clients();
            }
        }
    }

    /// Runs requests and takes answers until neither is left.
    fn exchange(&mut self, now: Now, tick: bool) {
        let mut core_turn = self.number == 0;
        loop {
            // What servers have answered meanwhile took time.
            let now = if self.mail.is_empty() { now } else { clock::now() };
            self.take_mail(now);
            if self.requests.is_empty() && !core_turn {
                break;
            }
            let turn = core_turn.then_some(tick);
            core_turn = false;
            self.shared.exchange(self.number, &mut self.requests, turn, &mut self.mail);
        }
    }

    fn take_mail(&mut self, now: Now) {
        for mail in std::mem::take(&mut self.mail) {
            match mail {
                Mail::Answer(envelope) => {
                    if let Message::AccessReply(AccessReply::CatalogRows { .. })
                    | Message::SessionReply(..)
                    | Message::Notified(_)
                    | Message::Site(_)
                    | Message::QueryReply(..) = &envelope.message
                    {
                        self.user_interface.handle(now, envelope, &mut self.outbox);
                    }
                }
                Mail::Client(socket) => self.add_client(socket),
                Mail::Moved(client) => self.take_in(now, *client),
                Mail::Cancel(key) => drop(self.user_interface.cancel(key, &mut self.outbox)),
                Mail::Signal(sent) => self.user_interface.take_signal(sent, &mut self.outbox),
                Mail::NewLife(life) => {
                    // What was asked until now was for the life before.
                    self.collect();
                    self.life = life.incarnation;
                    self.user_interface.new_life(life.incarnation, life.catalog.clone(), &mut self.outbox);
                }
            }
        }
        self.collect();
        for session in self.user_interface.departed() {
            self.shared.note_place(session, first_worker_of(session));
        }
        let pending: Vec<SessionId> = self.user_interface.pending().collect();
        for session in pending {
            // A session that has its answer may go on with what it has sent meanwhile.
            self.let_interface_read(now, session);
            self.touched.push(session);
        }
    }

    /// What the user interface wants from others.
    fn collect(&mut self) {
        for sent in self.user_interface.signals() {
            (0..self.shared.workers()).for_each(|worker| self.shared.post(worker, Mail::Signal(sent)));
        }
        for outgoing in self.outbox.messages.drain(..) {
            let site = self.config.site();
            let envelope = Envelope {
                from_site: site,
                from: ServerKind::UserInterface,
                to_site: site,
                to: outgoing.to,
                epoch: EpochNumber(0),
                incarnation: self.life,
                message: outgoing.message,
            };
            match envelope.message {
                Message::Query(session, within, request) => {
                    self.shared.query().ask(session, within, self.life, request);
                }
                _ => self.requests.push(envelope),
            }
        }
    }

    fn accept(&mut self) {
        while let Some(sql) = &self.sql {
            match sql.accept() {
                Ok((socket, _)) => {
                    if self.shared.clients() >= limits::CLIENTS_MAX + limits::REFUSALS_MAX {
                        tracing::warn!(max = limits::CLIENTS_MAX, "far too many clients: a connection is dropped");
                        continue;
                    }
                    let worker = self.next_worker % self.shared.short_workers();
                    self.next_worker += 1;
                    if worker == self.number {
                        self.add_client(socket);
                    } else {
                        self.shared.post(worker, Mail::Client(socket));
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
        let token = token_of(session);
        let both = Interest::READABLE | Interest::WRITABLE;
        if prepare(&socket).is_err() || self.poll.registry().register(&mut socket, token, both).is_err() {
            return;
        }
        if self.shared.client_came() < limits::CLIENTS_MAX {
            self.user_interface.open_from(session, peer_of(&socket));
            self.make_room();
        } else {
            tracing::warn!(max = limits::CLIENTS_MAX, "too many clients: a connection is refused");
            self.user_interface.open_refused(session);
        }
        self.clients.insert(session, ConnectedClient::new(socket, session));
        self.touched.push(session);
    }

    /// Clients that do not show who they are hold up nobody else.
    fn make_room(&mut self) {
        let unknown_max = (limits::UNKNOWN_CLIENTS_MAX / self.shared.short_workers().max(1)).max(1);
        if self.user_interface.unknown_clients() > unknown_max
            && let Some(oldest) = self.user_interface.oldest_unknown()
        {
            tracing::debug!(session = oldest.0, "too many clients have not shown who they are: the oldest goes");
            self.close_client(oldest);
        }
    }

    fn client_event(&mut self, token: usize, event: &mio::event::Event) {
        let session = SessionId((token - TOKENS_CLIENTS) as u64);
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
                client.read(&mut self.scratch);
                client.begin_directly(&self.entrance);
                if client.tls.is_some() {
                    self.tell_established(session);
                }
            }
            self.let_interface_read(now, session);
        }
        self.collect();
    }

    /// Tells the user interface who is at the end of a connection whose encryption has just come about.
    fn tell_established(&mut self, session: SessionId) {
        let Some(client) = self.clients.get_mut(&session) else { return };
        match client.tls.as_mut().map(Encrypted::established) {
            Some(Ok(Some(encryption))) => self.user_interface.encrypted(session, encryption),
            Some(Err(error)) => client.broken(&error),
            _ => {}
        }
    }

    fn let_interface_read(&mut self, now: Now, session: SessionId) {
        if self.goes_back(now, session) {
            return self.hand_over(session, first_worker_of(session));
        }
        if let Some(client) = self.clients.get_mut(&session)
            && (!client.input.is_empty() || self.user_interface.has_room(session))
        {
            self.user_interface.receive(now, session, &mut client.input, &mut self.outbox);
            while let Some(key) = self.user_interface.unrouted_cancel() {
                let others = (0..self.shared.workers()).filter(|worker| *worker != self.number);
                others.for_each(|worker| self.shared.post(worker, Mail::Cancel(key)));
            }
            self.collect();
            self.hand_over_long(session);
        }
    }

    fn write_clients(&mut self) {
        let mut touched = std::mem::take(&mut self.touched);
        touched.sort_unstable();
        touched.dedup();
        for session in touched.drain(..) {
            let Some(client) = self.clients.get_mut(&session) else { continue };
            let held = self.user_interface.holds_output(session);
            let mut gone = match self.user_interface.output(session) {
                Some(_) if held => false,
                Some(output) => !client.write(output),
                None => true,
            };
            if client.tls.is_none() && self.user_interface.wants_encryption(session) {
                let is_told = self.user_interface.output(session).is_none_or(|output| output.is_empty());
                gone |= is_told && !client.begin(&self.entrance);
            }
            let finished = self.user_interface.finished(session)
                && !client.holds()
                && self.user_interface.output(session).is_none_or(|output| output.is_empty());
            if gone || finished || client.ended {
                self.close_client(session);
            } else if client.readable && self.user_interface.wants_input(session)
                || self.user_interface.has_room(session)
            {
                // More may wait in the socket, or for room in the output, than one turn takes: come back without waiting for an event.
                self.touched.push(session);
            }
        }
        if !self.touched.is_empty() {
            self.shared.wake(self.number);
        }
        self.touched.append(&mut touched);
        self.collect();
    }

    fn close_client(&mut self, session: SessionId) {
        let Some(mut client) = self.clients.remove(&session) else { return };
        if let Some(tls) = &mut client.tls {
            tls.end(&mut client.socket);
        }
        self.user_interface.close(session, &mut self.outbox);
        self.shared.query().forget(session);
        if !self.user_interface.is_leaving(session) {
            self.shared.note_place(session, first_worker_of(session));
        }
        self.shared.client_went();
        drop(self.poll.registry().deregister(&mut client.socket));
    }
}

/// As what a client's connection is watched.
fn token_of(session: SessionId) -> Token {
    Token(TOKENS_CLIENTS + session.0 as usize)
}
