//! The domain of a site with its log, its store and its connections, and the lives it has.
//!
//! Invariants: messages leave only after the records they rest on are in the log (the domain sees to that); one lock covers domain and
//! connections, so messages to a peer leave in the order in which the servers sent them; every life of the site has an
//! incarnation that the oracle gave it.

pub(crate) mod copying;
mod leasing;
mod lives;

use crate::config::SiteConfig;
use crate::huge_pages;
use crate::layout::ProcessPlace;
use crate::layout::door::Door;
use crate::layout::processes::{MovedServer, Processes};
use crate::layout::starting::{RunningProcess, Starter};
use crate::lease_thread::LeaseThread;
use crate::protection::{ProtectionError, Watch};
use crate::repair;
use crate::site_log::{self, SiteLog, SiteLogError};
use crate::store::StoreReader;
use crate::trace_file::TraceFile;
use crate::{channels, clock, limits};
use commit_log::{Log, Position};
use domain::{CatalogRows, Domain, DomainFailure, Effects, Remote};
use messages::oracle::OracleReply;
use messages::replication::{ReplicationMessage, SiteNotice};
use messages::server::{ORACLE_SITE, SEVERAL_SITES};
use messages::trace::Selection;
use messages::{Envelope, Incarnation, LastWords, Message, ServerKind};
use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Registry, Token};
use raidcomm::keys::Keys;
use raidcomm::streams::{Hello, INCARNATION_UNKNOWN, Incoming, Streams};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use thiserror::Error;

/// As what connections with memory servers are watched,
const TOKEN_LOG: Token = Token(0);
/// and those with other sites.
const TOKENS_STREAMS: Range<usize> = 16..16 + raidcomm::limits::TOKENS;

/// A life that has begun, as those who serve clients hear of it: everything under way is gone. What they ask from now on says that it is
/// for this one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NewLife {
    /// Which.
    pub incarnation: Incarnation,
    /// The catalog as it is now.
    pub catalog: CatalogRows,
}

/// Why a site does not start.
#[derive(Debug, Error)]
pub enum StartError {
    /// The operating system refuses something.
    #[error("{what}: {source}")]
    System {
        /// What was tried.
        what: String,
        /// What the operating system says.
        source: std::io::Error,
    },
    /// The log.
    #[error(transparent)]
    Log(#[from] SiteLogError),
    /// The store.
    #[error(transparent)]
    Store(#[from] access_manager::StoreError),
    /// The log goes on from a store that is not there.
    #[error(
        "the store in {folder} is empty, but the log begins only at position {first}: what stood before it was in the store; put the store \
             back, or {}",
        repair::ADVICE
    )]
    StoreMissing {
        /// Where it should be.
        folder: PathBuf,
        /// Where the log begins.
        first: Position,
    },
    /// The connections.
    #[error(transparent)]
    Streams(#[from] raidcomm::streams::StreamsError),
    /// The keys.
    #[error(transparent)]
    Protection(#[from] ProtectionError),
    /// The servers.
    #[error("{0}{advice}", advice = advice(is_damage(.0)))]
    Domain(#[from] domain::DomainStartError),
}

fn is_damage(error: &domain::DomainStartError) -> bool {
    use domain::DomainStartError::{Log, OtherStore};
    matches!(error, Log(commit_log::LogError::Corrupt { .. }) | OtherStore { .. })
}

/// Behind the words for damage: what to do about it.
pub(crate) fn advice(damaged: bool) -> String {
    if damaged { format!("; {}", repair::ADVICE) } else { String::new() }
}

/// What a core tells others.
pub(crate) struct Wiring {
    /// Called whenever the log has synced something.
    pub(crate) on_synced: commit_log::mapped::OnSynced,
}

/// What the site is doing.
enum Life {
    /// It waits for the oracle to give it a new incarnation.
    Asking { log: Box<SiteLog>, nonce: u64, asked_at: u64 },
    /// Its servers run.
    Running(Box<Domain<SiteLog>>),
    /// It must not go on.
    Over,
}

/// What came out of the core for the rest of the process.
#[derive(Default)]
pub struct CoreOutput {
    /// Outputs with anything in them are counted from 1, anew for each process that serves clients; 0: there is nothing in it.
    pub number: u64,
    /// To user interfaces and the query processor.
    pub local: Vec<Envelope>,
    /// A life has begun, before anything in `local`.
    pub new_life: Option<NewLife>,
    /// The process must end, with this message.
    pub over: Option<String>,
}

/// See the module's description.
pub struct Core {
    config: Arc<SiteConfig>,
    /// Where its connections are watched, by whoever gives it a turn.
    poll: Poll,
    events: Events,
    keys: Option<Keys>,
    streams: Option<Streams>,
    leases: LeaseThread,
    distrust: Watch,
    life: Life,
    /// Lives that have begun in this process.
    lives: u64,
    /// For those who copy the store.
    store: Option<StoreReader>,
    /// What lives have left open, for the next one.
    last_words: LastWords,
    /// What sessions have asked since a life has ended, and until when that may wait for the next one (boot clock).
    held: Vec<Envelope>,
    held_until: u64,
    processes: Processes,
    /// When servers were lost lately (boot clock).
    losses: VecDeque<u64>,
    output: CoreOutput,
    outputs: u64,
    trace: TraceFile,
    incoming: Vec<Incoming>,
    /// A message for several sites, encoded once.
    frame: Vec<u8>,
    /// Messages of other sites that came in this turn and are not delivered yet.
    of_peers: Vec<Envelope>,
    nonce_seed: u64,
    /// The operator's word, until the site has served.
    alone: bool,
    dropped: u64,
    /// The data, which no other process may use meanwhile.
    _taken: File,
}

impl Core {
    /// Opens the log and asks the oracle for a life. Gives up when `stop` is set meanwhile.
    pub(crate) fn start(
        config: Arc<SiteConfig>,
        wiring: Wiring,
        door: Option<Arc<Door>>,
        stop: &AtomicBool,
    ) -> Result<Core, StartError> {
        let Wiring { on_synced } = wiring;
        let system = |source| StartError::System { what: "a poll of connections".to_owned(), source };
        let poll = Poll::new().map_err(system)?;
        let keys = config.protection()?;
        std::fs::create_dir_all(&config.data)
            .map_err(|source| StartError::System { what: format!("{}", config.data.display()), source })?;
        let taken = site_log::take(&config.data)?;
        let log = SiteLog::open(&config, keys.as_ref(), on_synced, stop)?;
        if let Some(watcher) = log.watcher() {
            let registered =
                poll.registry().register(&mut SourceFd(&watcher.as_raw_fd()), TOKEN_LOG, Interest::READABLE);
            let what = "the connections with memory servers".to_owned();
            registered.map_err(|source| StartError::System { what, source })?;
        }
        let processes = Processes::new(config.clone(), door).map_err(|source| StartError::System {
            what: format!("{}", config.data.join(crate::layout::FOLDER).display()),
            source,
        })?;
        let leases = LeaseThread::start(config.instance(), config.site(), config.listen.ip());
        let leases =
            leases.map_err(|source| StartError::System { what: "the thread that keeps leases".to_owned(), source })?;
        let nonce_seed = clock::wall_micros() ^ (u64::from(std::process::id()) << 40);
        let life = Life::Asking { log: Box::new(log), nonce: nonce_seed, asked_at: 0 };
        let mut core = Core {
            alone: config.alone,
            config,
            poll,
            events: Events::with_capacity(limits::EVENTS_PER_TURN),
            keys,
            streams: None,
            leases,
            distrust: Watch::default(),
            life,
            lives: 0,
            store: None,
            last_words: LastWords::default(),
            held: Vec::new(),
            held_until: 0,
            processes,
            losses: VecDeque::new(),
            output: CoreOutput::default(),
            outputs: 0,
            trace: TraceFile::default(),
            incoming: Vec::new(),
            frame: Vec::new(),
            of_peers: Vec::new(),
            nonce_seed,
            _taken: taken,
            dropped: 0,
        };
        core.listen(INCARNATION_UNKNOWN)?;
        Ok(core)
    }

    /// Opens the connections for a life. Before it has one, only the oracle is a peer.
    fn listen(&mut self, incarnation: u32) -> Result<(), StartError> {
        self.streams = None;
        let hello = Hello::new(self.config.instance(), self.config.site(), incarnation);
        self.distrust = Watch::default();
        let (tokens, keys) = (TOKENS_STREAMS, self.keys.clone());
        let mut streams = channels::open(self.poll.registry(), tokens, hello, &self.config, keys)?;
        streams.set_peer(ORACLE_SITE, self.config.oracle)?;
        if incarnation != INCARNATION_UNKNOWN {
            for (site, address) in self.config.peer_sites() {
                streams.set_peer(site, address)?;
            }
        }
        self.streams = Some(streams);
        Ok(())
    }

    /// The servers, while they run.
    pub fn domain(&self) -> Option<&Domain<SiteLog>> {
        match &self.life {
            Life::Running(domain) => Some(domain),
            _ => None,
        }
    }

    /// How many connections of strangers were closed for each reason, in this life.
    pub fn strangers(&self) -> BTreeMap<String, u64> {
        let reasons = self.streams.iter().flat_map(Streams::stranger_reasons);
        reasons.map(|(&reason, &count)| (reason.to_owned(), count)).collect()
    }

    /// The processes of the servers.
    pub(crate) fn processes(&self) -> &Processes {
        &self.processes
    }

    /// Before a server is moved: whether it is time. What the store has need not be moved with the access manager, so a checkpoint
    /// brings it everything first, while transactions go on.
    pub(crate) fn prepare_move(&mut self, kind: ServerKind, begins: bool) -> bool {
        let Life::Running(domain) = &mut self.life else { return true };
        if begins && kind == ServerKind::AccessManager {
            domain.begin_checkpoint(&mut clock::now);
        }
        !domain.is_checkpointing()
    }

    /// Whether a server can be moved there at all; an error says what to do instead.
    pub(crate) fn may_move(&self, kind: ServerKind, to: ProcessPlace) -> Result<(), String> {
        self.processes.may_move(kind, to)
    }

    /// What starts the process that a server shall be moved to, if it does not run.
    pub(crate) fn starter_for(&mut self, to: ProcessPlace) -> Option<Starter> {
        self.processes.starter_for(to)
    }

    /// Moves a server to another process of this site, which may have been started for that, between two messages. Errors: it stays where
    /// it is, or is lost, and the site begins a new life.
    pub(crate) fn move_server(
        &mut self,
        kind: ServerKind,
        to: ProcessPlace,
        started: Option<RunningProcess>,
    ) -> Result<MovedServer, String> {
        let Life::Running(domain) = &mut self.life else {
            return Err("the site has no servers now: it waits for the oracle to give it a new incarnation".to_owned());
        };
        let moved = self.processes.move_server(domain, kind, to, started)?;
        tracing::info!(server = %kind, from = %moved.from, %to, bytes = moved.bytes, pause = ?moved.pause, "a server is moved");
        Ok(moved)
    }

    /// State of the connections.
    pub fn peers(&self) -> Vec<raidcomm::streams::PeerStatus> {
        self.streams.as_ref().map(Streams::status).unwrap_or_default()
    }

    /// Tells a poll when something has come for the core.
    pub(crate) fn watch(&self, registry: &Registry, token: Token) -> std::io::Result<()> {
        registry.register(&mut SourceFd(&self.poll.as_raw_fd()), token, Interest::READABLE)
    }

    /// Takes what has happened to connections.
    fn look_at_connections(&mut self) {
        let looked = self.poll.poll(&mut self.events, Some(Duration::ZERO));
        let Some(streams) = &mut self.streams else { return };
        if looked.is_ok() {
            let now = clock::boot();
            // What is not theirs is the log's, whose turn looks.
            for event in &self.events {
                let _ = streams.ready(now, event, &mut self.incoming);
            }
        }
    }

    /// Delivers messages of this site's sessions.
    pub fn deliver(&mut self, envelopes: impl IntoIterator<Item = Envelope>) {
        match &mut self.life {
            Life::Running(domain) => domain.deliver_all(&mut clock::now, envelopes),
            // Nobody does it any more. The session hears of the next life, and asks that again.
            Life::Asking { .. } if clock::boot() < self.held_until => {
                let ends = |envelope: &Envelope| {
                    use messages::session::SessionRequest::{Cancel, Close};
                    matches!(envelope.message, Message::SessionRequest(_, Cancel | Close))
                };
                self.held.extend(envelopes.into_iter().filter(|envelope| !ends(envelope)));
            }
            Life::Asking { .. } | Life::Over => envelopes.into_iter().for_each(|envelope| self.refuse(envelope)),
        }
    }

    /// Whether the servers have messages that there was no time for: the next turn goes on with them.
    pub(crate) fn is_behind(&self) -> bool {
        self.domain().is_some_and(Domain::is_behind)
    }

    /// A session asked something while the site has no servers.
    fn refuse(&mut self, envelope: Envelope) {
        if let Message::SessionRequest(session, request) = envelope.message {
            use messages::session::{Failure, SessionReply, SessionRequest};
            use SessionRequest::{Cancel, Close, ForgetSequences, ForsakeTemporary};
            if matches!(request, Close | Cancel | ForgetSequences | ForsakeTemporary { .. }) {
                return;
            }
            let reason = "this site is starting: it waits for the oracle to give it a new incarnation".to_owned();
            let reply = match request {
                SessionRequest::Rollback => SessionReply::RolledBack,
                _ => SessionReply::Failed(Failure::Unavailable { reason }),
            };
            self.output.local.push(Envelope {
                from: ServerKind::ActionDriver,
                to: envelope.from,
                message: Message::SessionReply(session, reply),
                ..envelope
            });
        }
    }

    /// Once in a turn of the first worker: what came from other sites, what is synced, what is due.
    pub fn turn(&mut self, tick: bool) {
        self.look_at_connections();
        let mut incoming = std::mem::take(&mut self.incoming);
        if let Some(streams) = &mut self.streams {
            streams.tick(clock::boot(), &mut incoming);
            if tick {
                self.distrust.look(clock::boot(), streams);
            }
        }
        for one in incoming.drain(..) {
            self.came(one);
        }
        self.incoming = incoming;
        self.turn_leases();
        self.deliver_peers();
        match &mut self.life {
            Life::Running(domain) => {
                domain.go_on(&mut clock::now);
                domain.poll_log(&mut clock::now);
                if tick {
                    domain.tick(&mut clock::now);
                    if let Some(reason) = self.processes.check() {
                        self.settle();
                        return self.lost(&reason);
                    }
                }
            }
            Life::Asking { .. } if !self.held.is_empty() && clock::boot() >= self.held_until => {
                let held = std::mem::take(&mut self.held);
                held.into_iter().for_each(|envelope| self.refuse(envelope));
            }
            Life::Asking { log, .. } => match log.poll_synced() {
                Ok(_) => self.ask_for_life(),
                Err(error) => self.end(format!("site {} stops: {error}", self.config.id)),
            },
            Life::Over => {}
        }
        self.settle();
    }

    fn came(&mut self, incoming: Incoming) {
        match incoming {
            Incoming::Message { from, incarnation, payload } => match Envelope::decode(&payload) {
                Ok(envelope)
                    if envelope.from_site == from
                        && [self.config.site(), SEVERAL_SITES].contains(&envelope.to_site)
                        && envelope.incarnation.0 == incarnation =>
                {
                    self.peer_message(Envelope { to_site: self.config.site(), ..envelope });
                }
                Ok(_) => self.dropped += 1,
                Err(error) => {
                    self.dropped += 1;
                    tracing::warn!(%from, %error, "a message that cannot be read");
                }
            },
            Incoming::Connected { site, incarnation } => {
                tracing::info!(%site, incarnation, "connected");
                if let Life::Asking { asked_at, .. } = &mut self.life {
                    *asked_at = 0;
                }
                self.deliver_peers();
                self.notify(SiteNotice::PeerFound { site, incarnation: Incarnation(incarnation) });
            }
            Incoming::Disconnected { site, reason } => {
                tracing::info!(%site, %reason, "disconnected");
                self.deliver_peers();
                self.notify(SiteNotice::PeerLost { site });
            }
        }
    }

    fn peer_message(&mut self, envelope: Envelope) {
        match (&mut self.life, &envelope.message) {
            (
                Life::Asking { nonce, .. },
                Message::OracleReply(OracleReply::Incarnated { nonce: echoed, incarnation }),
            ) if nonce == echoed && envelope.from_site == ORACLE_SITE => {
                let incarnation = *incarnation;
                self.begin_life(incarnation);
            }
            (Life::Running(_), &Message::Replication(ReplicationMessage::LeaseDoor { port, answers })) => {
                self.lease_door(envelope.from_site, port, answers);
            }
            (Life::Running(_), message) if may_cross(message) => self.of_peers.push(envelope),
            (Life::Running(_), _) => self.dropped += 1,
            _ => {}
        }
    }

    /// Gives the servers what other sites have said since the last time.
    fn deliver_peers(&mut self) {
        match &mut self.life {
            Life::Running(domain) => domain.deliver_all(&mut clock::now, self.of_peers.drain(..)),
            // They were for the life before.
            Life::Asking { .. } | Life::Over => self.of_peers.clear(),
        }
    }

    fn notify(&mut self, notice: SiteNotice) {
        if let Life::Running(domain) = &mut self.life {
            domain.notify(&mut clock::now, notice);
        }
    }

    /// Hands what the servers said to the connections, and does what they ask of the world.
    pub fn settle(&mut self) {
        let Life::Running(domain) = &mut self.life else { return };
        let Effects { remote, local, notices, failed } = domain.take_effects();
        if self.trace.is_open() {
            self.trace.write(domain.take_trace());
            if !self.trace.is_open() {
                domain.trace(Selection::None);
            }
        }
        for remote in remote {
            self.send(&remote);
        }
        self.output.local.extend(local);
        for notice in notices {
            match notice {
                SiteNotice::Serving { epoch } => {
                    let members: Vec<String> =
                        epoch.members.iter().map(|(site, member)| format!("{} {:?}", site.0, member.state)).collect();
                    tracing::info!(epoch = epoch.number.0, members = members.join(", "), "serving");
                    huge_pages::allow(true);
                    self.alone = false;
                }
                SiteNotice::StartAgain { reason, .. } => return self.start_again(&reason),
                SiteNotice::Halt { reason } => return self.end(format!("site {} stops: {reason}", self.config.id)),
                SiteNotice::PeerLost { .. }
                | SiteNotice::PeerFound { .. }
                | SiteNotice::DiskStalled { .. }
                | SiteNotice::RestartAlone => {}
            }
        }
        match failed {
            Some(DomainFailure::Log(error)) => {
                self.end(format!("site {} stops and gives up its leases: {error}", self.config.id));
            }
            // Nothing is sent any more, leases least of all: the others go on without this life.
            Some(ref failure @ DomainFailure::Server { kind, ref lost }) => {
                self.processes.lost(kind);
                self.server_lost(lost, &failure.to_string());
            }
            None => {}
        }
    }

    fn send(&mut self, Remote { sites, envelope }: &Remote) {
        let Some(streams) = &mut self.streams else { return };
        // A frame that cannot be sent is dropped: the servers send again what must arrive.
        if let [site] = **sites {
            let _ = streams.send_with(site, |buffer| envelope.encode_into(buffer));
        } else {
            self.frame.clear();
            envelope.encode_into(&mut self.frame);
            let _ = streams.multicast(sites, &self.frame);
        }
    }

    /// Writes what waits for other sites and for memory servers: once in a turn, so that all transactions of a turn share the system calls. Says
    /// when the next turn must be at the latest (boot clock): a lost datagram is not to wait for the next tick.
    pub fn flush(&mut self) -> Option<u64> {
        let log_due = match &mut self.life {
            Life::Running(domain) => domain.log_mut().turn(),
            Life::Asking { log, .. } => log.turn(),
            Life::Over => None,
        };
        let log_due = log_due.map(|due| clock::boot() + due.as_nanos() as u64);
        let streams_due = self.streams.as_mut().and_then(|streams| {
            streams.flush(clock::boot());
            streams.next_deadline()
        });
        log_due.into_iter().chain(streams_due).min()
    }

    /// What came out since the last call.
    pub fn take_output(&mut self) -> CoreOutput {
        let mut output = std::mem::take(&mut self.output);
        if !output.local.is_empty() || output.new_life.is_some() {
            self.outputs += 1;
            output.number = self.outputs;
        }
        output
    }

    /// Syncs the log and ends, after a request to stop.
    pub fn close(&mut self) {
        self.streams = None;
        self.trace.flush();
        let synced = match std::mem::replace(&mut self.life, Life::Over) {
            Life::Running(domain) => domain.into_log().close(),
            // The life before may have written what it did not come to sync.
            Life::Asking { log, .. } => log.close(),
            Life::Over => Ok(()),
        };
        if let Err(error) = synced {
            tracing::error!(%error, "the log could not be synced at the end");
        }
        self.processes.end(false);
    }
}

/// Whether a message may come from another site at all: everything else is between servers of one site.
fn may_cross(message: &Message) -> bool {
    matches!(message, Message::Commit(_) | Message::Replication(_) | Message::OracleReply(_))
}
