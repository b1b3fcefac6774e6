//! The server: sessions by number, their clients' bytes in and out, messages from the other servers.
//!
//! Invariant: a session that the caller may want to look at (output to send, input to take, socket to close) is among
//! [`UserInterface::pending`]'s, once.

use crate::config::Config;
use crate::events::SessionEvent;
use crate::limits::{SESSIONS_COUNTED, STARTUP_PATIENCE};
use crate::locks::programs;
use crate::protocol::frontend::{self, Follows, Frontend};
use crate::session::catalog::SharedCatalog;
use crate::session::due;
use crate::session::login::{Encryption, Peer};
use crate::session::outlines::no_outlines;
use crate::session::startup::Started;
use crate::session::state::{CancelReason, Cycle, Phase, Session, Work};
use crate::session::turn::{Shared, Turn};
use crate::sql::effects::SentSignal;
use bytes::{Buf, BytesMut};
use messages::access::AccessReply;
use messages::advisory;
use messages::log_record::LogRecord;
use messages::replication::SiteNotice;
use messages::session::SessionReply;
use messages::{Envelope, Incarnation, Key, Message, Notification, Now, Outbox, Row, Server, SessionId, Timestamp};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a CancelRequest names: process id and secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CancelKey {
    /// Process id.
    pub process: i32,
    /// Secret.
    pub secret: i32,
}

/// A session on its way from one user interface of a site to another.
#[derive(Debug)]
pub struct Moving(Session);

/// The user interface: see the crate's page.
pub struct UserInterface {
    shared: Shared,
    sessions: BTreeMap<SessionId, Session>,
    processes: BTreeMap<i32, SessionId>,
    pending: Vec<SessionId>,
    cancels: Vec<CancelKey>,
    departed: Vec<SessionId>,
    /// Sessions that have not been let in.
    unknown: usize,
    next_process: u32,
    random: u64,
    now: Now,
    /// When sessions were counted last (boot clock).
    counted_at: u64,
}

impl UserInterface {
    /// A user interface without sessions and with an empty catalog.
    pub fn new(config: Config) -> UserInterface {
        UserInterface {
            random: config.seed,
            unknown: 0,
            now: Now { boot: 0, wall_micros: 0 },
            counted_at: 0,
            next_process: config.process_base,
            shared: Shared {
                doorkeeper: config.doorkeeper.clone(),
                counters: config.counters.clone(),
                events: Vec::new(),
                signals: Vec::new(),
                config,
                catalog: SharedCatalog::default(),
                cache: FxHashMap::default(),
                outlines: no_outlines(),
                cached: 0,
                cursor_bytes: Arc::default(),
                scratch: Vec::new(),
                life: Incarnation(0),
                epoch: None,
                leaving: BTreeMap::new(),
                takes_long: true,
            },
            sessions: BTreeMap::new(),
            processes: BTreeMap::new(),
            pending: Vec::new(),
            cancels: Vec::new(),
            departed: Vec::new(),
        }
    }

    /// A client of this host has connected.
    ///
    /// # Panics
    /// If the session exists already.
    pub fn open(&mut self, session: SessionId) {
        self.open_from(session, Peer::LOCAL);
    }

    /// A client has connected from there.
    ///
    /// # Panics
    /// If the session exists already.
    pub fn open_from(&mut self, session: SessionId, peer: Peer) {
        self.next_process = self.next_process.wrapping_add(1);
        // Drivers print it as a positive number.
        let process = (self.next_process & i32::MAX as u32) as i32;
        let secret = self.next_secret();
        self.processes.insert(process, session);
        let before = self.sessions.insert(session, Session::new(session, peer, self.shared.life, process, secret));
        assert!(before.is_none(), "{session} was opened twice");
        self.unknown += 1;
        self.shared.counters.opened();
    }

    /// A client has connected for whom there is no place: it may cancel another session's statement, and is otherwise refused as soon as it
    /// has said what it wants. Refused at once, it might never read why: the operating system forgets what was sent on a connection
    /// that is closed with input unread.
    ///
    /// # Panics
    /// If the session exists already.
    pub fn open_refused(&mut self, session: SessionId) {
        self.open(session);
        if let Some(session) = self.sessions.get_mut(&session) {
            session.is_refused = true;
        }
    }

    /// Whether a client was told to begin with encryption, once what is to be sent is sent.
    pub fn wants_encryption(&self, session: SessionId) -> bool {
        self.sessions.get(&session).is_some_and(|session| session.login.wants_encryption)
    }

    /// A client's connection is encrypted from now on.
    pub fn encrypted(&mut self, session: SessionId, encryption: Encryption) {
        if let Some(session) = self.sessions.get_mut(&session) {
            session.login.encrypted(encryption);
        }
    }

    /// How many clients have not been let in yet.
    pub fn unknown_clients(&self) -> usize {
        self.unknown
    }

    /// The client that has waited longest to be let in.
    pub fn oldest_unknown(&self) -> Option<SessionId> {
        self.sessions.values().find(|session| session.phase == Phase::Startup).map(|session| session.id)
    }

    /// SplitMix64 (Steele, Lea and Flood, 2014): secrets that other clients do not guess by counting.
    fn next_secret(&mut self) -> i32 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) as i32
    }

    /// Takes whole messages from the input, as long as the session takes any; the rest stays. Call it again when more bytes came, and for
    /// each session that [`UserInterface::pending`] names.
    pub fn receive(&mut self, now: Now, session: SessionId, input: &mut BytesMut, outbox: &mut Outbox) {
        loop {
            let mut cancel = None;
            let taken = self.turn(now, session, outbox, |turn| take_message(turn, input, &mut cancel)).unwrap_or(0);
            if let Some(key) = cancel {
                self.cancels.push(key);
                if self.cancel_target(key).is_some() {
                    self.cancels.pop();
                    self.cancel(key, outbox);
                }
            }
            if taken == 0 {
                return;
            }
            input.advance(taken);
        }
    }

    /// Long messages are left in the input: [`UserInterface::is_about_to_be_long`] says of which sessions.
    pub fn leave_long_messages(&mut self) {
        self.shared.takes_long = false;
    }

    /// Whether a session's next message is a long one, and nothing of it is under way: whoever serves short messages hands it over then, for taking
    /// the message up may take long.
    pub fn is_about_to_be_long(&self, session: SessionId, input: &[u8]) -> bool {
        let at_rest = self.sessions.get(&session).is_some_and(Session::is_at_rest);
        at_rest && frontend::announces_long(input)
    }

    /// Whether nothing of a session is under way.
    pub fn is_at_rest(&self, session: SessionId) -> bool {
        self.sessions.get(&session).is_some_and(Session::is_at_rest)
    }

    /// Takes a session out, for another user interface of the site. It is at rest.
    pub fn take_out(&mut self, session: SessionId) -> Option<Moving> {
        let mut session = self.sessions.remove(&session)?;
        assert!(session.is_at_rest(), "a session moves while nothing of it is under way");
        self.processes.remove(&session.process);
        session.listed = false;
        Some(Moving(session))
    }

    /// Takes a session in that another user interface of the site has taken out.
    ///
    /// # Panics
    /// If the session exists already.
    pub fn take_in(&mut self, Moving(mut session): Moving) {
        // Updates of the catalog are counted by each.
        session.path.take();
        session.overlay.forget_merged();
        self.shared.catalog.enter(session.database_id);
        self.processes.insert(session.process, session.id);
        let before = self.sessions.insert(session.id, session);
        assert!(before.is_none(), "a session is in one place");
    }

    /// The client has gone.
    pub fn close(&mut self, session: SessionId, outbox: &mut Outbox) {
        let now = self.now;
        self.turn(now, session, outbox, |turn| turn.leave());
        if let Some(session) = self.sessions.remove(&session) {
            self.processes.remove(&session.process);
        }
    }

    /// Whether advisory locks of a session that has ended are still being given back: what is said to it has to come here until then.
    pub fn is_leaving(&self, session: SessionId) -> bool {
        self.shared.leaving.contains_key(&session)
    }

    /// What of its sessions was noted since the last call.
    pub fn take_events(&mut self) -> Vec<SessionEvent> {
        std::mem::take(&mut self.shared.events)
    }

    /// Sessions since the last call of which that is over.
    pub fn departed(&mut self) -> Vec<SessionId> {
        std::mem::take(&mut self.departed)
    }

    /// The bytes to send; what was sent is to be taken out from the front.
    pub fn output(&mut self, session: SessionId) -> Option<&mut BytesMut> {
        self.sessions.get_mut(&session).map(|session| &mut session.output)
    }

    /// Whether the output is not to be sent yet, because more is about to follow.
    pub fn holds_output(&self, session: SessionId) -> bool {
        self.sessions.get(&session).is_some_and(Session::holds_output)
    }

    /// Whether the session has waited for its output to be taken, and goes on when it is asked to receive, with input or without.
    pub fn has_room(&self, session: SessionId) -> bool {
        self.sessions.get(&session).is_some_and(Session::has_room)
    }

    /// Whether the socket is to be closed once the output is sent.
    pub fn finished(&self, session: SessionId) -> bool {
        self.sessions.get(&session).is_none_or(|session| session.phase == Phase::Finished)
    }

    /// The site ends: every client that has come in is told so, and hears nothing more. What sessions ask for then nobody does.
    pub fn shut_down(&mut self, now: Now, outbox: &mut Outbox) {
        self.turn_where(now, outbox, |session, _| session.phase == Phase::Ready, |turn| turn.shut_down());
    }

    /// Sessions whose clients have had long enough to take what was said last: their connections end.
    pub fn overdue(&self, now: Now) -> Vec<SessionId> {
        let is_overdue = |session: &&Session| {
            session.phase == Phase::Finished && session.deadline.is_some_and(|deadline| deadline <= now.boot)
        };
        self.sessions.values().filter(is_overdue).map(|session| session.id).collect()
    }

    /// Whether the session takes messages now: while it does not, reading its socket only fills memory.
    pub fn wants_input(&self, session: SessionId) -> bool {
        self.sessions.get(&session).is_some_and(|session| session.phase != Phase::Finished && session.takes_input())
    }

    /// Sessions to look at since the last call: output to send, or input to take again.
    pub fn pending(&mut self) -> impl Iterator<Item = SessionId> {
        for session in &self.pending {
            if let Some(session) = self.sessions.get_mut(session) {
                session.listed = false;
            }
        }
        std::mem::take(&mut self.pending).into_iter()
    }

    /// All catalog rows, at a start: what was known before is forgotten.
    pub fn load_catalog(&mut self, rows: Vec<(Key, Timestamp, Option<Row>)>) {
        self.shared.catalog.load(rows);
    }

    /// The session that a cancel key names, if it is one of this user interface's.
    pub fn cancel_target(&self, key: CancelKey) -> Option<SessionId> {
        let session = self.processes.get(&key.process)?;
        let known = self.sessions.get(session)?;
        (known.secret == key.secret && known.phase == Phase::Ready).then_some(*session)
    }

    /// A CancelRequest that came here and names no session here: another user interface of the site may have it.
    pub fn unrouted_cancel(&mut self) -> Option<CancelKey> {
        self.cancels.pop()
    }

    /// Signals that sessions have for others. Each is for every user interface of the process.
    pub fn signals(&mut self) -> impl Iterator<Item = SentSignal> {
        std::mem::take(&mut self.shared.signals).into_iter()
    }

    /// Does to a session what another one wants, if it is one of this user interface's.
    pub fn take_signal(&mut self, sent: SentSignal, outbox: &mut Outbox) {
        if let Some(session) = self.processes.get(&sent.process).copied() {
            self.turn(self.now, session, outbox, |turn| turn.take_signal(sent.signal));
        }
    }

    /// Cancels what the session with this key has under way. Whether there is such a session.
    pub fn cancel(&mut self, key: CancelKey, outbox: &mut Outbox) -> bool {
        let Some(session) = self.cancel_target(key) else {
            return false;
        };
        self.turn(self.now, session, outbox, |turn| due::cancel_statement(turn, CancelReason::Request));
        true
    }

    /// As [`UserInterface::new_life`], for a session that has come from another user interface, which had not heard of it yet.
    pub fn new_life_of(&mut self, session: SessionId, outbox: &mut Outbox) {
        self.turn(self.now, session, outbox, |turn| turn.new_life());
    }

    /// The site's servers have begun this life, with this catalog: what is asked from now on is for them, and what was asked before is answered by them
    /// or not at all.
    pub fn new_life(&mut self, life: Incarnation, catalog: Vec<(Key, Timestamp, Option<Row>)>, outbox: &mut Outbox) {
        self.shared.life = life;
        self.shared.epoch = None;
        // What is of a life that is over nobody has to give back.
        self.departed.extend(std::mem::take(&mut self.shared.leaving).into_keys());
        self.load_catalog(catalog);
        let all: Vec<SessionId> = self.sessions.keys().copied().collect();
        for session in all {
            self.new_life_of(session, outbox);
        }
    }

    /// Runs one input of a session, and lists the session for the caller if there is something to look at.
    fn turn<T>(
        &mut self,
        now: Now,
        id: SessionId,
        outbox: &mut Outbox,
        handle: impl FnOnce(&mut Turn) -> T,
    ) -> Option<T> {
        self.now = now;
        let session = self.sessions.get_mut(&id)?;
        session.is_due &= !session.output.is_empty();
        let before = session.standing();
        let mut turn = Turn { shared: &mut self.shared, session, now, outbox };
        let result = handle(&mut turn);
        turn.pump();
        if turn.session.state() != turn.session.uncounted.activity.as_ref().map(|shown| shown.state) {
            turn.show_state();
        }
        let after = session.standing();
        if before.phase == Phase::Startup && after.phase != Phase::Startup {
            self.unknown -= 1;
        }
        if after != before && !session.listed {
            session.listed = true;
            self.pending.push(id);
        }
        Some(result)
    }

    /// Transactions have committed that notify: who listens is told, at once if its client is idle; and who has been given an advisory lock.
    fn notified(&mut self, now: Now, notifications: &[Notification], outbox: &mut Outbox) {
        let (of_locks, notifications): (Vec<_>, Vec<_>) =
            notifications.iter().partition(|notification| notification.process == advisory::PROCESS);
        for owner in of_locks.into_iter().flat_map(|notification| programs::told(&notification.payload)) {
            if (owner.site, owner.incarnation) == (self.shared.config.site, self.shared.life) {
                self.turn(now, owner.session, outbox, |turn| turn.wake_locks());
            }
        }
        let mut told = Vec::new();
        for session in self.sessions.values_mut().filter(|session| session.listening.is_on()) {
            let own = session.database_id;
            let heard =
                notifications.iter().filter(|told| told.database == own && session.listening.hear(told)).count();
            if heard > 0 {
                told.push(session.id);
            }
        }
        for session in told {
            self.turn(now, session, outbox, |turn| turn.tell_idle_client());
        }
    }

    /// The action driver has answered the deputy of a session.
    fn locks_replied(&mut self, now: Now, client: SessionId, reply: SessionReply, outbox: &mut Outbox) {
        let Some(mut leaving) = self.shared.leaving.remove(&client) else {
            self.turn(now, client, outbox, |turn| turn.locks_replied(reply));
            return;
        };
        let mut scene = self.shared.lock_scene(client, leaving.process, now, outbox);
        // Nobody waits for news.
        let _ = leaving.locks.replied(reply, &mut scene);
        match leaving.locks.is_over() {
            true => {
                leaving.locks.dismiss(&mut scene);
                self.departed.push(client);
            }
            false => drop(self.shared.leaving.insert(client, leaving)),
        }
    }

    /// Tries again to give back what sessions have left.
    fn tick_leaving(&mut self, now: Now, outbox: &mut Outbox) {
        let mut all = std::mem::take(&mut self.shared.leaving);
        for (client, leaving) in all.iter_mut().filter(|(_, leaving)| leaving.locks.is_due(now)) {
            let mut scene = self.shared.lock_scene(*client, leaving.process, now, outbox);
            let _ = leaving.locks.tick(&mut scene);
        }
        self.shared.leaving = all;
    }

    /// Ends the sessions of databases that were dropped: at another site, which does not know who is here.
    fn end_homeless(&mut self, now: Now, outbox: &mut Outbox) {
        let dropped = self.shared.catalog.dropped();
        if dropped.is_empty() {
            return;
        }
        let is_homeless = |session: &&Session| dropped.contains(&session.database_id);
        let homeless: Vec<SessionId> = self.sessions.values().filter(is_homeless).map(|session| session.id).collect();
        for session in homeless {
            self.turn(now, session, outbox, |turn| turn.lose_database());
        }
        dropped.into_iter().for_each(|database| self.shared.catalog.forget(database));
    }

    /// Runs one input of every session for which `when` holds.
    fn turn_where(&mut self, now: Now, outbox: &mut Outbox, when: fn(&Session, Now) -> bool, handle: fn(&mut Turn)) {
        let due: Vec<SessionId> =
            self.sessions.values().filter(|session| when(session, now)).map(|session| session.id).collect();
        for session in due {
            self.turn(now, session, outbox, handle);
        }
    }
}

impl Server for UserInterface {
    fn handle(&mut self, now: Now, envelope: Envelope, outbox: &mut Outbox) {
        match envelope.message {
            Message::SessionReply(session, reply) if session.is_of_locks() => {
                self.locks_replied(now, session.of_client(), reply, outbox);
            }
            Message::Site(SiteNotice::Serving { epoch }) => {
                self.shared.epoch = Some(epoch);
                self.turn_where(now, outbox, due::waits_for_lock, |turn| turn.wake_locks());
            }
            Message::SessionReply(session, reply) => {
                self.turn(now, session, outbox, |turn| match std::mem::replace(&mut turn.session.work, Work::Idle) {
                    Work::Statement(execution) => turn.statement_replied(execution, reply),
                    Work::Ending(tag, commits) => turn.ending_replied(tag, commits, reply),
                    Work::Parked(parked) => turn.resumed(*parked, reply),
                    other => turn.session.work = other,
                });
            }
            Message::QueryReply(session, reply) => {
                self.turn(now, session, outbox, |turn| turn.query_replied(reply));
            }
            Message::AccessReply(AccessReply::CatalogRows { rows }) => {
                self.shared.catalog.apply(rows);
                self.turn_where(now, outbox, due::waits_for_catalog, |turn| {
                    turn.settled();
                    due::catalog_moved(turn);
                });
                self.end_homeless(now, outbox);
            }
            Message::Notified(notifications) => self.notified(now, &notifications, outbox),
            _ => {}
        }
    }

    fn tick(&mut self, now: Now, outbox: &mut Outbox) {
        if self.unknown > 0 {
            for session in self.sessions.values_mut().filter(|session| session.phase == Phase::Startup) {
                session.deadline.get_or_insert(now.boot + STARTUP_PATIENCE);
            }
            self.turn_where(now, outbox, due::is_silent, |turn| turn.leave());
            self.turn_where(now, outbox, due::is_login_due, |turn| turn.login_due());
        }
        if now.boot >= self.counted_at + SESSIONS_COUNTED {
            self.counted_at = now.boot;
            self.shared.counters.sessions(self.sessions.values().filter_map(Session::state));
        }
        self.turn_where(now, outbox, due::is_late, |turn| {
            turn.session.deadline = None;
            due::cancel_statement(turn, CancelReason::Timeout);
        });
        self.turn_where(now, outbox, due::has_locks_due, |turn| turn.locks_are_due());
        self.tick_leaving(now, outbox);
        self.turn_where(now, outbox, due::is_idle_too_long, |turn| turn.idle_too_long());
        self.turn_where(now, outbox, due::has_waited, |turn| {
            turn.settled();
            due::catalog_moved(turn);
            turn.wake();
        });
    }

    fn replay(&mut self, _record: &LogRecord, _outbox: &mut Outbox) {
        // Nothing of a session outlives its process.
    }
}

/// Handles the message at the head of the input; returns how many bytes it took, 0: none.
fn take_message(turn: &mut Turn, input: &[u8], cancel: &mut Option<CancelKey>) -> usize {
    match turn.session.phase {
        Phase::Finished => return input.len(),
        Phase::Startup => {
            return match turn.before_session(input) {
                Ok(Started::Incomplete) => 0,
                Ok(Started::Taken(length)) => length,
                Ok(Started::Cancel(length, process, secret)) => {
                    *cancel = Some(CancelKey { process, secret });
                    length
                }
                Err(error) => {
                    turn.fatal(&error);
                    input.len()
                }
            };
        }
        Phase::Ready => {}
    }
    turn.output_taken();
    if !turn.session.takes_input() || leaves_long(turn, input) {
        return 0;
    }
    let frame = match frontend::frame(input) {
        Ok(Some(frame)) => frame,
        Ok(None) => return 0,
        Err(error) => {
            turn.fatal(&error);
            return input.len();
        }
    };
    // An Execute is taken together with what follows it, for a Sync there makes it a transaction of its own.
    let follows = Follows::of(&input[frame.length..]);
    if frame.kind == b'E' && follows == Follows::Nothing {
        return 0;
    }
    if turn.session.skip_to_sync && !matches!(frame.kind, b'S' | b'X') {
        return frame.length;
    }
    match frontend::decode(&frame) {
        Ok(Frontend::Terminate) => turn.leave(),
        Ok(message) if matches!(turn.session.work, Work::Statement(_)) => turn.copy_message(&message, follows),
        Ok(Frontend::Query(text)) => turn.simple_query(text),
        // Left over from a COPY that failed.
        Ok(Frontend::CopyData(_) | Frontend::CopyDone | Frontend::CopyFail(_)) => {}
        Ok(message) => turn.extended(message, follows),
        Err(error) => {
            turn.session.cycle = match frame.kind {
                b'Q' => Cycle::Simple("".into(), Default::default()),
                _ => Cycle::Extended,
            };
            turn.fail(&error);
        }
    }
    frame.length
}

/// Whether the message that begins here is for another user interface.
fn leaves_long(turn: &Turn, input: &[u8]) -> bool {
    !turn.shared.takes_long && frontend::announces_long(input) && turn.session.is_at_rest()
}
