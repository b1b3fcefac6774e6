//! The embedded oracle: one process, its state in a log of its own.
//!
//! Invariant: nothing that the oracle promises leaves before it is synced (the oracle asks for that itself).

use crate::config::OracleConfig;
use crate::oracle_console::OracleCounts;
use crate::protection::Watch;
use crate::{clock, limits};
use commit_log::{Log, LogOptions, MappedLog, Position};
use messages::log_record::LogRecord;
use messages::planted::Planted;
use messages::server::ORACLE_SITE;
use messages::{Envelope, Incarnation, InstanceId, Message, OracleLife, Outbox, Server, ServerKind, SiteId};
use mio::{Events, Poll, Token, Waker};
use oracle::Oracle;
use raidcomm::streams::{Hello, Incoming, Streams};
use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const TOKEN_WAKE: Token = Token(0);
const TOKENS_STREAMS: std::ops::Range<usize> = 16..16 + raidcomm::limits::TOKENS;
/// The oracle's incarnation in the handshake: it has only one name, and whoever answers at its address is the oracle.
const INCARNATION: u32 = 1;
/// Log bytes after which older states are given up.
const TRUNCATE_BYTES: u64 = 4 << 20;

/// Runs the oracle until `stop` is set. An error is what ended it instead.
pub fn run(config: OracleConfig, stop: Arc<AtomicBool>) -> Result<(), String> {
    let mut process = OracleProcess::start(&config)?;
    process.turn()?;
    if let Some(console) = config.console {
        process.counts.serve(console, &stop)?;
    }
    let mut events = Events::with_capacity(limits::EVENTS_PER_TURN);
    let mut incoming = Vec::new();
    while !stop.load(Ordering::SeqCst) {
        match process.poll.poll(&mut events, Some(Duration::from_nanos(limits::TICK * 4))) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(format!("the oracle's event loop: {error}")),
        }
        for event in &events {
            if event.token() != TOKEN_WAKE {
                process.streams.ready(clock::boot(), event, &mut incoming);
            }
        }
        process.streams.tick(clock::boot(), &mut incoming);
        process.distrust.look(clock::boot(), &process.streams);
        for one in incoming.drain(..) {
            process.came(one)?;
        }
        process.turn()?;
    }
    process.log.sync_now().map_err(|error| error.to_string())
}

struct OracleProcess {
    poll: Poll,
    streams: Streams,
    distrust: Watch,
    log: MappedLog,
    oracle: Oracle,
    outbox: Outbox,
    syncs: VecDeque<(Position, u64)>,
    last_record: Position,
    truncated: Position,
    /// What its console tells.
    counts: Arc<OracleCounts>,
}

impl OracleProcess {
    fn start(config: &OracleConfig) -> Result<OracleProcess, String> {
        let text = |error: std::io::Error| error.to_string();
        let keys = config.protection().map_err(|error| error.to_string())?;
        let poll = Poll::new().map_err(text)?;
        let waker = Arc::new(Waker::new(poll.registry(), TOKEN_WAKE).map_err(text)?);
        let folder = config.data.join("log");
        std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let identity = commit_log::mapped::LogIdentity { instance: config.instance.into(), site: ORACLE_SITE.0.into() };
        let options = LogOptions {
            segment_bytes: TRUNCATE_BYTES,
            on_synced: Some(Box::new(move || drop(waker.wake()))),
            ..LogOptions::new(identity)
        };
        let (log, _) = MappedLog::open(&folder, options).map_err(|error| error.to_string())?;
        let sites: Vec<SiteId> = config.all_sites().into_keys().collect();
        let instance = InstanceId(config.instance);
        // The keys of the standard library's hashes are random in every process.
        let life = OracleLife(RandomState::new().hash_one(clock::wall_micros()).max(1));
        let mut oracle = Oracle::init(instance, &sites, config.required_copies, life, Planted::none());
        let mut outbox = Outbox::default();
        let mut last_record = log.first();
        for entry in log.read_from(log.first()) {
            let (position, bytes) = entry.map_err(|error| error.to_string())?;
            let record =
                LogRecord::decode(&bytes).map_err(|error| format!("the oracle's log record at {position}: {error}"))?;
            oracle.replay(&record, &mut outbox);
            last_record = position;
        }
        oracle.give_up(config.lost.iter().copied().map(SiteId));
        let hello = Hello::new(instance, ORACLE_SITE, INCARNATION);
        let mut streams = Streams::listen(poll.registry(), TOKENS_STREAMS, hello, config.listen, keys)
            .map_err(|error| error.to_string())?;
        if let Err(error) = streams.use_shared_memory() {
            tracing::warn!(%error, "no shared memory with sites of this host: messages go over streams");
        }
        for (site, address) in config.all_sites() {
            streams.set_peer(site, address).map_err(|error| error.to_string())?;
        }
        tracing::info!(address = %config.listen, "the oracle listens");
        let truncated = log.first();
        let (distrust, syncs) = (Watch::default(), VecDeque::new());
        let counts = Arc::default();
        Ok(OracleProcess { poll, streams, distrust, log, oracle, outbox, syncs, last_record, truncated, counts })
    }

    fn came(&mut self, incoming: Incoming) -> Result<(), String> {
        let Incoming::Message { from, payload, .. } = incoming else { return Ok(()) };
        match Envelope::decode(&payload) {
            Ok(envelope) if envelope.from_site == from && matches!(envelope.message, Message::Oracle(_)) => {
                self.counts.requests.add(1);
                self.handle(envelope)
            }
            Ok(_) => Ok(()),
            Err(error) => {
                tracing::warn!(%from, %error, "a message that cannot be read");
                Ok(())
            }
        }
    }

    fn handle(&mut self, envelope: Envelope) -> Result<(), String> {
        self.oracle.handle(clock::now(), envelope, &mut self.outbox);
        self.collect()
    }

    fn turn(&mut self) -> Result<(), String> {
        let synced = self.log.poll_synced().map_err(|error| format!("the oracle stops: {error}"))?;
        while let Some((position, token)) = self.syncs.front().copied() {
            if position > synced {
                break;
            }
            self.syncs.pop_front();
            self.handle(Envelope {
                from_site: ORACLE_SITE,
                from: ServerKind::Site,
                to_site: ORACLE_SITE,
                to: ServerKind::Oracle,
                epoch: messages::EpochNumber(0),
                incarnation: Incarnation(INCARNATION),
                message: Message::Synced(token),
            })?;
        }
        self.oracle.tick(clock::now(), &mut self.outbox);
        self.collect()?;
        if self.last_record.0 > self.truncated.0 + TRUNCATE_BYTES && synced > self.last_record {
            self.log.truncate_before(self.last_record).map_err(|error| error.to_string())?;
            self.truncated = self.last_record;
        }
        self.streams.flush(clock::boot());
        self.counts.turned(self.oracle.epoch().map(|epoch| &**epoch), &self.log.status());
        Ok(())
    }

    /// Records first, then messages, then syncs: see `messages::server`.
    fn collect(&mut self) -> Result<(), String> {
        let mut buffer = Vec::new();
        for record in self.outbox.records.drain(..) {
            buffer.clear();
            record.encode_into(&mut buffer);
            self.last_record = self.log.append(&buffer).map_err(|error| format!("the oracle stops: {error}"))?;
        }
        for outgoing in self.outbox.messages.drain(..) {
            let mut envelope = Envelope {
                from_site: ORACLE_SITE,
                from: ServerKind::Oracle,
                to_site: ORACLE_SITE,
                to: outgoing.to,
                epoch: outgoing.epoch,
                incarnation: Incarnation(INCARNATION),
                message: outgoing.message,
            };
            for site in outgoing.sites {
                envelope.to_site = site;
                // A frame that cannot be sent is dropped: sites ask again.
                let _ = self.streams.send_with(site, |buffer| envelope.encode_into(buffer));
            }
        }
        for token in self.outbox.syncs.drain(..) {
            self.syncs.push_back((self.log.appended(), token));
            self.log.request_sync();
        }
        Ok(())
    }
}
