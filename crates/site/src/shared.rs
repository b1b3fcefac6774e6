//! What all threads of a process that serves clients share: the way to the core, the workers' mailboxes, the query processor.
//!
//! The core is here, behind its lock, or in the site's own process. Invariant: what comes out of it is handed out in the order in which it came
//! out, each answer to the worker that owns the session.

use crate::clock;
use crate::config::SiteConfig;
use crate::core::{Core, CoreOutput, NewLife};
use crate::layout::door::Door;
use crate::layout::front::Front;
use crate::query_host::QueryHost;
use crate::snapshot::desk::SnapshotDesk;
use crate::status::{self, SiteCounts, Status};
use crate::worker::MovedClient;
use messages::server::PROTOCOLS;
use messages::{Envelope, Message, ServerKind, SessionId};
use mio::Waker;
use mio::net::TcpStream;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use user_interface::counters::{InterfaceCounters, InterfaceCounts};
use user_interface::{CancelKey, SentSignal};

/// Bits of a session's number that count within its worker.
pub(crate) const SESSION_BITS: u32 = 48;

/// What reaches a worker from other threads.
pub(crate) enum Mail {
    /// An answer for one of its sessions, or a change of the catalog.
    Answer(Envelope),
    /// A connection that the first worker accepted for it.
    Client(TcpStream),
    /// The site has begun a new life.
    NewLife(Arc<NewLife>),
    /// A client that another worker has served.
    Moved(Box<MovedClient>),
    /// A client of another worker wants one of this worker's sessions to cancel what it does.
    Cancel(CancelKey),
    /// A session of some worker does something to another one, which may be this worker's.
    Signal(SentSignal),
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

/// Where the core is.
pub(crate) enum Heart {
    /// In this process; clients come here, or to the process behind the door.
    Here {
        /// The core.
        core: Box<Mutex<Core>>,
        /// Where the user interface's process comes in, if it is not this one.
        door: Option<Arc<Door>>,
    },
    /// In the site's own process.
    Elsewhere(Front),
}

/// See the module's description.
pub struct SiteShared {
    heart: Heart,
    mailboxes: Vec<Mailbox>,
    /// So many of them, the first, serve short messages; the others long ones.
    short: usize,
    /// Sessions that another worker serves than the one that their number names.
    moved: Mutex<BTreeMap<SessionId, usize>>,
    /// How many there are: none, usually.
    moved_count: AtomicUsize,
    /// When the core had its turn (boot clock).
    turned_at: AtomicU64,
    query: QueryHost,
    snapshots: SnapshotDesk,
    over: Mutex<Option<String>>,
    stop: Arc<AtomicBool>,
    clients: AtomicUsize,
    /// What each worker counts.
    counters: Vec<Arc<InterfaceCounters>>,
}

fn locked(core: &Mutex<Core>) -> MutexGuard<'_, Core> {
    core.lock().expect("a panic under the core's lock ends the process")
}

impl SiteShared {
    pub(crate) fn new(heart: Heart, wakers: Vec<Arc<Waker>>, short: usize, stop: Arc<AtomicBool>) -> SiteShared {
        let counters = wakers.iter().map(|_| Arc::default()).collect();
        let mailboxes = wakers.into_iter().map(|waker| Mailbox { mail: Mutex::default(), waker }).collect();
        let (query, over, clients) = (QueryHost::new(), Mutex::default(), AtomicUsize::new(0));
        let snapshots = SnapshotDesk::default();
        let (moved, moved_count, turned_at) = (Mutex::default(), AtomicUsize::new(0), AtomicU64::new(clock::boot()));
        SiteShared {
            heart,
            mailboxes,
            short,
            moved,
            moved_count,
            turned_at,
            query,
            snapshots,
            over,
            stop,
            clients,
            counters,
        }
    }

    /// Runs requests of sessions and hands out the answers.
    pub fn submit(&self, envelopes: impl IntoIterator<Item = Envelope>) {
        match &self.heart {
            Heart::Here { core, .. } => {
                let mut core = locked(core);
                let output = self.ask(&mut core, envelopes);
                // Before anybody else takes anything out of the core.
                self.route(output, None, &mut Vec::new());
            }
            Heart::Elsewhere(front) => {
                let envelopes = envelopes.into_iter().collect();
                front.submit(None, envelopes, self.clients(), |output| self.route(output, None, &mut Vec::new()));
            }
        }
    }

    /// Runs requests of sessions that are not those of the first worker.
    pub(crate) fn ask(&self, core: &mut Core, envelopes: impl IntoIterator<Item = Envelope>) -> CoreOutput {
        core.deliver(envelopes);
        core.settle();
        core.flush();
        self.come_back(core);
        core.take_output()
    }

    /// The first worker goes on with what the servers had no time for.
    fn come_back(&self, core: &Core) {
        if core.is_behind() {
            self.wake(0);
        }
    }

    /// Runs requests of a worker's sessions, and leaves none; what is for that worker is put into `mine`. `turn`: the core has its turn,
    /// with what is due or without.
    pub(crate) fn exchange(
        &self,
        worker: usize,
        requests: &mut Vec<Envelope>,
        turn: Option<bool>,
        mine: &mut Vec<Mail>,
    ) {
        match &self.heart {
            Heart::Here { core, .. } => {
                let mut core = locked(core);
                core.deliver(requests.drain(..));
                match turn {
                    Some(tick) => {
                        self.turned_at.store(clock::boot(), Ordering::Relaxed);
                        core.turn(tick);
                    }
                    None => core.settle(),
                }
                self.come_back(&core);
                let output = core.take_output();
                // What others have taken out before stands in the mailbox; and nobody takes anything out in between.
                self.take_mail(worker, mine);
                self.route(output, Some(worker), mine);
            }
            Heart::Elsewhere(_) if requests.is_empty() => {}
            Heart::Elsewhere(front) => {
                let (requests, clients) = (std::mem::take(requests), self.clients());
                front.submit(Some(worker), requests, clients, |output| self.route(output, Some(worker), mine));
            }
        }
    }

    /// Gives the core a turn for the thread `peers`.
    pub(crate) fn take_turn(&self, tick: bool) {
        let Heart::Here { core, .. } = &self.heart else { return };
        let mut core = locked(core);
        core.turn(tick);
        core.flush();
        self.come_back(&core);
        let output = core.take_output();
        // Before anybody else takes anything out of the core.
        self.route(output, None, &mut Vec::new());
    }

    /// Writes what waits for other sites. Says when the next turn must be at the latest.
    pub(crate) fn flush(&self) -> Option<u64> {
        match &self.heart {
            Heart::Here { core, .. } => locked(core).flush(),
            Heart::Elsewhere(_) => None,
        }
    }

    /// The core and the door of a site whose clients another process serves.
    pub(crate) fn door(&self) -> Option<(&Mutex<Core>, &Arc<Door>)> {
        match &self.heart {
            Heart::Here { core, door: Some(door) } => Some((core, door)),
            _ => None,
        }
    }

    /// The core, if it is here.
    pub(crate) fn core(&self) -> Option<MutexGuard<'_, Core>> {
        match &self.heart {
            Heart::Here { core, .. } => Some(locked(core)),
            Heart::Elsewhere(_) => None,
        }
    }

    /// The way to the site's process, if that is not this one.
    pub(crate) fn front(&self) -> Option<&Front> {
        match &self.heart {
            Heart::Elsewhere(front) => Some(front),
            Heart::Here { .. } => None,
        }
    }

    /// Ends the process if the output says so.
    pub(crate) fn note_end(&self, output: &mut CoreOutput) {
        if let Some(message) = output.over.take() {
            tracing::error!(message);
            self.over.lock().expect("no holder of this lock panics").get_or_insert(message);
            self.stop.store(true, Ordering::SeqCst);
            self.wake_all();
        }
    }

    /// Answers go to the worker that owns the session; those of worker `own` are put into `mine`.
    pub(crate) fn route(&self, mut output: CoreOutput, own: Option<usize>, mine: &mut Vec<Mail>) {
        self.note_end(&mut output);
        if let Some((_, door)) = self.door() {
            return door.push(output);
        }
        if let Some(life) = output.new_life {
            // What the life before has answered is heard before it is asked about.
            let of_life = |envelope: &Envelope| envelope.incarnation == life.incarnation;
            let (after, before) = output.local.into_iter().partition(of_life);
            output.local = after;
            self.hand_answers(before, own, mine);
            self.query.forget_all();
            let life = Arc::new(life);
            for worker in 0..self.mailboxes.len() {
                self.hand(worker, own, mine, Mail::NewLife(life.clone()));
            }
        }
        self.hand_answers(output.local, own, mine);
    }

    fn hand_answers(&self, answers: Vec<Envelope>, own: Option<usize>, mine: &mut Vec<Mail>) {
        for envelope in answers {
            match &envelope.message {
                Message::SessionReply(session, _) if envelope.to == ServerKind::Query => {
                    self.query.scanned(*session, envelope.message);
                }
                Message::SessionReply(session, _) | Message::QueryReply(session, _) => {
                    self.hand(self.worker_of(*session), own, mine, Mail::Answer(envelope));
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
        } else {
            self.post(worker, mail);
        }
    }

    /// Puts something into a worker's mailbox.
    pub(crate) fn post(&self, worker: usize, mail: Mail) {
        if let Some(mailbox) = self.mailboxes.get(worker) {
            mailbox.post(mail);
        }
    }

    /// Empties a worker's mailbox.
    pub(crate) fn take_mail(&self, worker: usize, into: &mut Vec<Mail>) {
        let mut waiting =
            std::mem::take(&mut *self.mailboxes[worker].mail.lock().expect("no holder of this lock panics"));
        into.append(&mut waiting);
    }

    /// How many workers there are.
    pub(crate) fn workers(&self) -> usize {
        self.mailboxes.len()
    }

    /// How many of them, the first ones, serve short messages.
    pub(crate) fn short_workers(&self) -> usize {
        self.short
    }

    /// The worker that serves a session.
    fn worker_of(&self, session: SessionId) -> usize {
        let session = session.of_client();
        if self.moved_count.load(Ordering::SeqCst) > 0
            && let Some(worker) = self.moved.lock().expect("no holder of this lock panics").get(&session)
        {
            return *worker;
        }
        first_worker_of(session)
    }

    /// Another worker serves this session from now on. Nothing is under way for it, so no answer is either.
    pub(crate) fn move_client(&self, worker: usize, client: MovedClient) {
        self.note_place(client.session, worker);
        self.post(worker, Mail::Moved(Box::new(client)));
    }

    /// Notes where a session is; at the worker that its number names, if it is over.
    pub(crate) fn note_place(&self, session: SessionId, worker: usize) {
        let mut moved = self.moved.lock().expect("no holder of this lock panics");
        match worker == first_worker_of(session) {
            true => drop(moved.remove(&session)),
            false => drop(moved.insert(session, worker)),
        }
        self.moved_count.store(moved.len(), Ordering::SeqCst);
    }

    /// For how long the core has had no turn, in nanoseconds.
    pub(crate) fn without_turn(&self, now: u64) -> u64 {
        now.saturating_sub(self.turned_at.load(Ordering::Relaxed))
    }

    /// An answer of the query processor.
    pub fn answer(&self, envelope: Envelope) {
        if let Message::QueryReply(session, _) = &envelope.message {
            self.hand(self.worker_of(*session), None, &mut Vec::new(), Mail::Answer(envelope));
        }
    }

    /// The door to the query processor.
    pub(crate) fn query(&self) -> &QueryHost {
        &self.query
    }

    /// Clients connected to this process.
    pub(crate) fn clients(&self) -> usize {
        self.clients.load(Ordering::Relaxed)
    }

    /// One more client. Returns how many there were.
    pub(crate) fn client_came(&self) -> usize {
        self.clients.fetch_add(1, Ordering::Relaxed)
    }

    /// One less.
    pub(crate) fn client_went(&self) {
        self.clients.fetch_sub(1, Ordering::Relaxed);
    }

    /// The state of the site whose core is here.
    pub(crate) fn status(&self, config: &SiteConfig) -> Status {
        match &self.heart {
            Heart::Here { core, .. } => self.status_of(config, &locked(core)),
            Heart::Elsewhere(_) => Status::default(),
        }
    }

    fn status_of(&self, config: &SiteConfig, core: &Core) -> Status {
        let clients = self.door().map_or_else(|| self.clients(), |(_, door)| door.clients());
        let status = status::of(config, core, clients);
        let (snapshot, schedule, snapshots) =
            (self.snapshots.progress(), self.snapshots.schedule(), self.snapshots.counts());
        Status { snapshot, schedule, snapshots, archive: self.snapshots.archive(), ..status }
    }

    /// All that is counted of the site whose core is here.
    pub(crate) fn counts(&self, config: &SiteConfig) -> SiteCounts {
        let Heart::Here { core, door } = &self.heart else { return SiteCounts::default() };
        let interface = door.as_ref().map_or_else(|| self.interface_counts(), |door| door.interface_counts());
        let core = locked(core);
        let status = self.status_of(config, &core);
        let Some(domain) = core.domain() else { return SiteCounts { status, interface, ..SiteCounts::default() } };
        let of_server = |calls: &domain::Calls| {
            let (kind, counts) = (calls.kind, calls.by_protocol);
            PROTOCOLS
                .into_iter()
                .zip(counts)
                .filter(|(_, count)| *count > 0)
                .map(move |(name, count)| (kind, name, count))
        };
        let messages = domain.calls().iter().flat_map(of_server).collect();
        SiteCounts { status, interface, work: domain.work_counts(), messages }
    }

    /// What a worker of this process counts.
    pub(crate) fn counters_of(&self, worker: usize) -> Arc<InterfaceCounters> {
        self.counters[worker].clone()
    }

    /// What all workers of this process have counted.
    pub(crate) fn interface_counts(&self) -> InterfaceCounts {
        let mut all = InterfaceCounts::default();
        self.counters.iter().for_each(|counters| all.merge(&counters.read()));
        all
    }

    /// What is known of the site's snapshots.
    pub(crate) fn snapshots(&self) -> &SnapshotDesk {
        &self.snapshots
    }

    /// Whether the workers are to end.
    pub(crate) fn stops(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    /// Wakes a worker.
    pub(crate) fn wake(&self, worker: usize) {
        let _ = self.mailboxes[worker].waker.wake();
    }

    /// Wakes all workers.
    pub(crate) fn wake_all(&self) {
        (0..self.mailboxes.len()).for_each(|worker| self.wake(worker));
    }

    /// After the workers have ended: what ended them, if it was not a request to stop.
    pub(crate) fn end(&self) -> Option<String> {
        self.query.stop();
        if let Some(mut core) = self.core() {
            core.close();
        }
        self.over.lock().expect("the workers have ended").take()
    }
}

/// The worker that accepted a session.
pub(crate) fn first_worker_of(session: SessionId) -> usize {
    (session.0 >> SESSION_BITS) as usize
}
