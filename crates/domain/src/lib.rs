//! The servers of a site wired together: the same in the real world and in the simulated one.
//!
//! A domain holds one server of each kind, the site's log and its store, and moves messages between the servers on the caller's thread: no
//! queue between threads, no context switch (the merged layout of Raid; LRPC). It keeps the order that servers rely on:
//!
//! * all records of an outbox are in the log before any message of it is delivered, and if an append fails, no message leaves;
//! * messages inside a site are delivered in the order in which they were sent;
//! * a token of `Outbox::sync` comes back only when everything appended before it is on disk.
//!
//! `delivery` does that. What comes from outside is taken in the order of its urgency ([`inbox`]). What leaves the domain is in [`Effects`]. It knows no socket, thread or clock: time comes with every call.
//!
//! Any server may be in another process (the layouts `two-process` and `separate`), and may be moved while the site runs: see [`place`]. It is
//! then called, and its outbox is the reply (Raid's direct control passing), so that neither servers nor protocols know.

mod calls;
mod delivery;
mod host;
pub mod inbox;
mod last_words;
mod leasing;
pub mod limits;
mod moving;
pub mod place;
pub mod snapshot;
mod start;
mod watches;

pub use action_driver::{CompanionCounters, WorkCounts};
pub use atomicity_controller::CommitCounters;
pub use atomicity_controller::limits::ROUND_PACE;
pub use concurrency_controller::limits::POINTS_MAX;
pub use delivery::Turns;
pub use expert_system::{RuleBook, RuleBookError};
pub use host::ServerHost;
pub use moving::Calls;
pub use place::{CatalogRows, Lost, ProcessConnection, SERVERS, Stores};
pub use start::Start;

use commit_log::{Log, LogError, Position};
use inbox::Inbox;
use leases::Servers;
use messages::access::AccessRequest;
use messages::concurrency::Method;
use messages::method::MethodReport;
use messages::planted::Planted;
use messages::replication::SiteNotice;
use messages::server::{PROTOCOLS, Sites};
use messages::trace::{Selection, TraceEvent, Tracer};
use messages::{
    Envelope, EpochNumber, Incarnation, Item, Key, LeaseLength, Message, Now, Outbox, Row, ServerKind, SiteId,
    Timestamp,
};
use place::{ServerAnswer, ServerPlace, ServerQuestion};
use std::collections::VecDeque;
use std::sync::Arc;
use thiserror::Error;
use watches::{DiskWatch, LogGrowth};

/// Reads the clocks; called anew for every message.
pub type Clock<'a> = dyn FnMut() -> Now + 'a;

/// How a domain is set up.
#[derive(Clone, Debug)]
pub struct DomainSettings {
    /// Which site.
    pub site: SiteId,
    /// Which life of it.
    pub incarnation: Incarnation,
    /// All sites of the instance.
    pub sites: Vec<SiteId>,
    /// How long the leases are to last that it asks for.
    pub lease: LeaseLength,
    /// The concurrency-control method, as long as none is set in the catalog.
    pub method: Method,
    /// By which rules it judges its methods, and chooses one where it is told to.
    pub rules: Arc<RuleBook>,
    /// Items of a storage that a transaction commit-locks one by one, at most.
    pub points_max: usize,
    /// Rows committed ahead at a time into a storage that its transaction made itself.
    pub chunk_rows: usize,
    /// Bytes of row versions kept in memory.
    pub memory_bytes_max: usize,
    /// Bytes that may be installed and not in the store before this site's transactions wait.
    pub unposted_bytes_max: usize,
    /// Bytes of old versions kept for snapshots.
    pub old_version_bytes_max: usize,
    /// Writes remembered per storage for checking ranges that were read.
    pub recent_writes_max: usize,
    /// Rows that a transaction touches which is checked at once.
    pub touched_max: usize,
    /// How far apart rounds of commits begin while one is on its way, nanoseconds.
    pub round_pace: u64,
    /// Seeds what SQL calls random.
    pub seed: u64,
    /// The clause to leave out, in the simulator.
    pub planted: Planted,
}

/// Why a domain does not start.
#[derive(Debug, Error)]
pub enum DomainStartError {
    /// The log cannot be read.
    #[error("the log cannot be read: {0}")]
    Log(#[from] LogError),
    /// A whole, checksummed record says something else than this version of Raid understands.
    #[error("the log record at {position} is not one of this version of Raid: {reason}")]
    Record {
        /// Where.
        position: Position,
        /// The decoder's words.
        reason: String,
    },
    /// The store is of another time than the log.
    #[error(
        "log and store do not belong together: the store needs the log from {told} on, and the log goes from {first} to {appended}; one of \
         them was put back from an older copy"
    )]
    OtherStore {
        /// From where the store needs the log.
        told: Position,
        /// Where the log begins.
        first: Position,
        /// Where it ends.
        appended: Position,
    },
    /// The store cannot be read.
    #[error("{0}")]
    Store(#[from] access_manager::StoreError),
}

/// What leaves a domain.
#[derive(Debug, Default)]
pub struct Effects {
    /// To other sites and the oracle, in order.
    pub remote: Vec<Remote>,
    /// To the user interface and the query processor of this site, in order.
    pub local: Vec<Envelope>,
    /// What only the world can do.
    pub notices: Vec<SiteNotice>,
    /// Nothing was sent after that, and the domain does nothing any more. Drop it.
    pub failed: Option<DomainFailure>,
}

/// A message for other sites.
#[derive(Clone, Debug)]
pub struct Remote {
    /// For whom; at least one.
    pub sites: Sites,
    /// The receiver is the site, or [`messages::server::SEVERAL_SITES`].
    pub envelope: Envelope,
}

/// Why a domain does nothing any more.
#[derive(Debug, Error)]
pub enum DomainFailure {
    /// The disk.
    #[error("{0}")]
    Log(#[from] LogError),
    /// A server in another process. What is in the log is whole: the site begins a new life from it.
    #[error("the {kind} is lost: {lost}")]
    Server {
        /// Which.
        kind: ServerKind,
        /// How.
        lost: Lost,
    },
}

impl Effects {
    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.remote.is_empty() && self.local.is_empty() && self.notices.is_empty() && self.failed.is_none()
    }
}

/// Messages, by their protocols ([`PROTOCOLS`]).
pub type MessageCounts = [u64; PROTOCOLS.len()];

/// A checkpoint under way.
#[derive(Clone, Copy, Debug)]
enum Checkpoint {
    /// The servers have repeated what a replay needs, behind `start`; the store is being brought up to date.
    Posting { start: Position, tag: u64 },
}

/// The servers of one site.
pub struct Domain<L: Log> {
    settings: DomainSettings,
    log: L,
    /// As in [`SERVERS`].
    places: [ServerPlace; SERVERS.len()],
    /// Messages that each of them has taken, by protocol.
    taken: [MessageCounts; SERVERS.len()],
    /// What has come from outside and no server has taken yet.
    inbox: Inbox,
    /// What servers have sent each other.
    queue: VecDeque<Envelope>,
    /// Calls of servers since something was last taken in.
    inside: usize,
    outbox: Outbox,
    effects: Effects,
    syncs: VecDeque<(Position, ServerKind, u64)>,
    /// Leases with the other members.
    leases: Servers,
    /// Who drives them: the domain's own ticks, or another thread.
    leases_are_driven: bool,
    /// This life has the number of an earlier one.
    is_repeated: bool,
    disk: DiskWatch,
    buffer: Vec<u8>,
    checkpoint: Option<Checkpoint>,
    checkpointed_at: Position,
    /// The store has what stands before this.
    replays_from: Position,
    /// Nothing from here on is given up: a snapshot is being taken of it.
    held: Option<Position>,
    growth: LogGrowth,
    /// Much of what was installed is not in the store.
    post_is_urgent: bool,
    turns: Turns,
    next_tag: u64,
    tracer: Tracer,
    /// When the message that is being handled was taken (boot clock).
    now: u64,
}

impl<L: Log> Domain<L> {
    /// Bytes of the log that a start would read if the site ended now.
    pub fn bytes_to_replay(&self) -> u64 {
        self.log.appended().0 - self.replays_from.0
    }

    /// Gives up nothing of the log that there is now, nor of what comes, until [`Domain::release_log`]. Whoever copies store and log for a snapshot
    /// needs all that the store may still lack.
    pub fn hold_log(&mut self) {
        self.held = Some(self.log.first());
    }

    /// The log may be given up again. That happens at the next checkpoint.
    pub fn release_log(&mut self) {
        self.held = None;
    }

    /// The site's log.
    pub fn log(&self) -> &L {
        &self.log
    }

    /// The site's log, for the world that owns its disk.
    pub fn log_mut(&mut self) -> &mut L {
        &mut self.log
    }

    /// Gives the log back: the servers are gone, as after a crash.
    pub fn into_log(self) -> L {
        self.log
    }

    /// How the domain was set up.
    pub fn settings(&self) -> &DomainSettings {
        &self.settings
    }

    /// Why the site may not serve now; `None`: it may.
    pub fn refusal(&self, now: Now) -> Option<String> {
        match self.ask(ServerKind::ReplicationController, ServerQuestion::Refusal(now)) {
            Ok(ServerAnswer::Refusal(refusal)) => refusal,
            other => Some(format!("the replication controller does not tell: {}", wrong(other))),
        }
    }

    /// What replication looks like from here.
    pub fn replication(&self) -> replication_controller::ReplicationStatus {
        match self.ask(ServerKind::ReplicationController, ServerQuestion::Replication) {
            Ok(ServerAnswer::Replication(status)) => *status,
            _ => replication_controller::ReplicationStatus {
                state: "lost".into(),
                ..replication_controller::ReplicationStatus::default()
            },
        }
    }

    /// What commits and aborts have come to.
    pub fn commits(&self) -> atomicity_controller::CommitCounters {
        match self.ask(ServerKind::AtomicityController, ServerQuestion::Commits) {
            Ok(ServerAnswer::Commits(counters)) => counters,
            _ => atomicity_controller::CommitCounters::default(),
        }
    }

    /// Programs that have committed in the transaction of another.
    pub fn companions(&self) -> action_driver::CompanionCounters {
        match self.ask(ServerKind::ActionDriver, ServerQuestion::Companions) {
            Ok(ServerAnswer::Companions(counters)) => counters,
            _ => action_driver::CompanionCounters::default(),
        }
    }

    /// How long commits took, and what conflicts were lost.
    pub fn work_counts(&self) -> action_driver::WorkCounts {
        match self.ask(ServerKind::ActionDriver, ServerQuestion::Work) {
            Ok(ServerAnswer::Work(counts)) => *counts,
            _ => action_driver::WorkCounts::default(),
        }
    }

    /// What the access manager keeps in memory; bounded by [`DomainSettings`], but for what is still to be written to the store.
    pub fn memory(&self) -> access_manager::Tally {
        match self.ask(ServerKind::AccessManager, ServerQuestion::Memory) {
            Ok(ServerAnswer::Memory(tally)) => tally,
            _ => access_manager::Tally::default(),
        }
    }

    /// Whether this site's copy of an item is stale.
    pub fn is_stale(&self, item: &Item) -> bool {
        matches!(
            self.ask(ServerKind::AccessManager, ServerQuestion::Stale(item.clone())),
            Ok(ServerAnswer::Stale(true))
        )
    }

    /// Whether no transaction executes or is being prepared here, as far as anybody else is concerned.
    pub fn is_unlocked(&self) -> bool {
        matches!(self.ask(ServerKind::ConcurrencyController, ServerQuestion::Idle), Ok(ServerAnswer::Idle(true)))
    }

    /// The method of concurrency control in force, and whether its property is true of what executes; `None`: its server is lost.
    pub fn method(&self) -> Option<(MethodReport, bool)> {
        match self.ask(ServerKind::ConcurrencyController, ServerQuestion::Method(self.settings.site)) {
            Ok(ServerAnswer::Method(report, holds)) => Some((*report, holds)),
            _ => None,
        }
    }

    /// A server that is lost is found out by whoever changes something: who only looks goes on without.
    fn ask(&self, kind: ServerKind, question: ServerQuestion) -> Result<ServerAnswer, Lost> {
        self.places[index(kind)].ask(question)
    }

    /// All rows of the catalog, for a user interface that starts. Before the access manager is given to another process.
    pub fn catalog_rows(&mut self) -> Result<Vec<(Key, Timestamp, Option<Row>)>, access_manager::StoreError> {
        self.machine(ServerKind::AccessManager).catalog_rows()
    }

    /// Traces these messages from now on.
    pub fn trace(&mut self, selection: Selection) {
        self.tracer = Tracer::new(selection);
    }

    /// What was traced since the last call.
    pub fn take_trace(&mut self) -> Vec<TraceEvent> {
        self.tracer.take()
    }

    /// A notice from the world to the replication controller.
    pub fn notify(&mut self, clock: &mut Clock<'_>, notice: SiteNotice) {
        let envelope = self.inside(ServerKind::Site, ServerKind::ReplicationController, Message::Site(notice));
        self.deliver(clock, envelope);
    }

    /// Something may be due.
    pub fn tick(&mut self, clock: &mut Clock<'_>) {
        if self.effects.failed.is_some() {
            return;
        }
        self.tick_leases(clock);
        for kind in SERVERS {
            let mut outbox = std::mem::take(&mut self.outbox);
            let now = clock();
            self.now = now.boot;
            let ticked = self.places[index(kind)].tick(now, &mut outbox);
            self.outbox = outbox;
            if !self.has(kind, ticked) {
                return;
            }
            self.collect(kind);
        }
        self.run(clock);
        self.watch_disk(clock);
        self.advance_checkpoint(clock);
    }

    /// Tells the replication controller when the disk has stalled, and when it works again.
    fn watch_disk(&mut self, clock: &mut Clock<'_>) {
        let waited_for = self.syncs.front().map(|(position, ..)| *position);
        if let Some(stalled) = self.disk.look(clock().boot, waited_for) {
            self.leases.stalled(stalled);
            self.notify(clock, SiteNotice::DiskStalled { stalled });
        }
    }

    /// Looks how far the log is synced, and delivers what waited for it.
    pub fn poll_log(&mut self, clock: &mut Clock<'_>) {
        if self.effects.failed.is_some() || (self.syncs.is_empty() && !self.log.has_failed()) {
            return;
        }
        if let Err(error) = self.log.poll_synced() {
            return self.fail(error.into());
        }
        let mut syncs = std::mem::take(&mut self.syncs);
        syncs.retain(|&(position, kind, token)| {
            let waits = position > self.reached(kind);
            if !waits {
                self.queue.push_back(self.inside(ServerKind::Site, kind, Message::Synced(token)));
            }
            waits
        });
        self.syncs = syncs;
        self.run(clock);
    }

    /// Up to where the log counts as synced for a server. The store must not be ahead of the disk: what is in the memory of other hosts alone
    /// may be given up with them, and half of a transaction would stay.
    fn reached(&self, kind: ServerKind) -> Position {
        match kind {
            ServerKind::AccessManager => self.log.on_disk(),
            _ => self.log.synced(),
        }
    }

    /// What has left the domain since the last call.
    pub fn take_effects(&mut self) -> Effects {
        std::mem::take(&mut self.effects)
    }

    /// Begins a checkpoint, unless one is under way: older log will be given up once the store has what it says.
    pub fn begin_checkpoint(&mut self, clock: &mut Clock<'_>) {
        if self.checkpoint.is_some() || self.effects.failed.is_some() {
            return;
        }
        let start = self.log.appended();
        for kind in SERVERS {
            let envelope = self.inside(ServerKind::Site, kind, Message::Checkpoint);
            self.queue.push_back(envelope);
        }
        // Whatever waited before: what the servers repeat stands before where the checkpoint's records end.
        self.run_for(clock, None);
        let tag = self.next_tag;
        self.next_tag += 1;
        self.checkpoint = Some(Checkpoint::Posting { start, tag });
        self.checkpointed_at = start;
        self.growth.counts_from = start;
        let told = self.places[index(ServerKind::AccessManager)].checkpoint_from(start.0);
        if !self.has(ServerKind::AccessManager, told) {
            return;
        }
        let post = Message::Access(AccessRequest::Post { tag });
        let envelope = self.inside(ServerKind::Site, ServerKind::AccessManager, post);
        self.deliver(clock, envelope);
    }

    /// Whether a checkpoint is under way.
    pub fn is_checkpointing(&self) -> bool {
        self.checkpoint.is_some()
    }

    fn advance_checkpoint(&mut self, clock: &mut Clock<'_>) {
        let end = self.log.appended();
        let rests = self.growth.rests(clock().boot, end);
        if rests || self.post_is_urgent || end.0 > self.checkpointed_at.0 + limits::CHECKPOINT_BYTES {
            let is_new = self.checkpoint.is_none();
            self.begin_checkpoint(clock);
            if rests && is_new {
                self.growth.counts_from = self.log.appended();
            }
        }
    }

    fn posted(&mut self, posted: u64) {
        let Some(Checkpoint::Posting { start, tag }) = self.checkpoint else { return };
        if tag == posted {
            self.checkpoint = None;
            self.replays_from = start;
            let below = self.held.map_or(start, |held| held.min(start));
            if let Err(error) = self.log.truncate_before(below) {
                self.fail(error.into());
            }
        }
    }

    fn fail(&mut self, failure: DomainFailure) {
        self.inbox.clear();
        self.queue.clear();
        self.syncs.clear();
        self.effects.failed.get_or_insert(failure);
    }

    /// Whether a server has done what it was called for; without it the domain fails.
    fn has(&mut self, kind: ServerKind, done: Result<(), Lost>) -> bool {
        if let Err(lost) = done {
            self.outbox = Outbox::default();
            self.fail(DomainFailure::Server { kind, lost });
            return false;
        }
        true
    }

    /// A server that is here, as all of them are at a start.
    fn machine(&mut self, kind: ServerKind) -> &mut dyn place::Machine {
        match &mut self.places[index(kind)] {
            ServerPlace::Here(machine) => &mut **machine,
            ServerPlace::Elsewhere(_) => unreachable!("the {kind:?} was moved before the log was replayed"),
        }
    }

    fn inside(&self, from: ServerKind, to: ServerKind, message: Message) -> Envelope {
        let site = self.settings.site;
        let incarnation = self.settings.incarnation;
        Envelope { from_site: site, from, to_site: site, to, epoch: EpochNumber(0), incarnation, message }
    }
}

fn index(kind: ServerKind) -> usize {
    match kind {
        ServerKind::ReplicationController => 0,
        ServerKind::AtomicityController => 1,
        ServerKind::ConcurrencyController => 2,
        ServerKind::AccessManager => 3,
        ServerKind::ActionDriver => 4,
        other => unreachable!("no {other:?} in a domain"),
    }
}

/// What came instead of an answer.
fn wrong(other: Result<ServerAnswer, Lost>) -> String {
    other.map_or_else(|lost| lost.to_string(), |_| "it has answered something else".to_owned())
}
