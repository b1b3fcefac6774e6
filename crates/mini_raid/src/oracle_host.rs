//! The machine of the oracle: its process, its log, and an operator who sometimes restores an old copy of it.
//!
//! Invariant: records are logged before any message of the same outbox leaves, and tokens come back once they are synced.

use crate::profile::Profile;
use commit_log::{Log, MemoryLog, Position};
use messages::log_record::LogRecord;
use messages::planted::Planted;
use messages::server::{ORACLE_SITE, Outgoing};
use messages::{
    Envelope, Epoch, EpochNumber, Incarnation, InstanceId, Message, Now, OracleLife, Outbox, Server, ServerKind, SiteId,
};
use oracle::Oracle;
use oracle::register::Register;
use std::collections::VecDeque;
use std::sync::Arc;

/// The instance that every run simulates.
const INSTANCE: InstanceId = InstanceId(1);

/// The oracle and its disk.
pub struct OracleHost {
    oracle: Option<Oracle>,
    log: MemoryLog,
    /// Copies that were made of the log, oldest first.
    copies: Vec<MemoryLog>,
    syncs: VecDeque<(Position, u64)>,
    /// Counted up at each start.
    pub start: u32,
    /// Not scheduled before this (true time).
    pub away_until: u64,
    /// Its answers are lost until then (true time).
    pub mute_until: u64,
    sites: Vec<SiteId>,
    required_copies: u16,
    planted: Planted,
}

impl OracleHost {
    /// The oracle of a new instance.
    pub fn new(sites: usize, profile: &Profile, planted: Planted) -> OracleHost {
        let mut host = OracleHost {
            oracle: None,
            log: MemoryLog::new(),
            copies: Vec::new(),
            syncs: VecDeque::new(),
            start: 0,
            away_until: 0,
            mute_until: 0,
            sites: (1..=sites as u16).map(SiteId).collect(),
            required_copies: profile.required_copies,
            planted,
        };
        host.begin();
        host
    }

    /// Whether its process runs.
    pub fn is_alive(&self) -> bool {
        self.oracle.is_some()
    }

    /// What its register holds, if its process runs.
    pub fn epoch(&self) -> Option<Arc<Epoch>> {
        self.oracle.as_ref()?.epoch().cloned()
    }

    /// Its process dies.
    pub fn kill(&mut self) {
        self.oracle = None;
        self.start += 1;
        self.syncs.clear();
        self.log.restart();
        self.away_until = 0;
    }

    /// Its process starts and replays its log.
    pub fn begin(&mut self) {
        self.start += 1;
        let life = OracleLife(self.start.into());
        let mut oracle = Oracle::init(INSTANCE, &self.sites, self.required_copies, life, self.planted);
        let mut outbox = Outbox::default();
        for entry in self.log.read_from(self.log.first()) {
            let (_, bytes) = entry.expect("a log in memory can be read");
            let record = LogRecord::decode(&bytes).expect("the oracle wrote it itself");
            oracle.replay(&record, &mut outbox);
        }
        assert!(outbox.is_empty(), "a replay of the oracle sends nothing");
        self.oracle = Some(oracle);
    }

    /// The oracle of an instance that was made from a snapshot: this epoch is its last one.
    pub fn set_up(&mut self, epoch: Arc<Epoch>) {
        self.kill();
        self.log = MemoryLog::new();
        let state = Register::restored(INSTANCE, epoch);
        let mut bytes = Vec::new();
        LogRecord::Oracle { state }.encode_into(&mut bytes);
        self.log.append(&bytes).expect("the oracle's disk is sound");
        self.log.sync_now().expect("the oracle's disk is sound");
        self.begin();
    }

    /// Somebody makes a copy of the log.
    pub fn copy(&mut self) {
        let mut copy = self.log.clone();
        copy.restart();
        self.copies.push(copy);
    }

    /// The process dies, and starts over the copy that was made `back` copies ago.
    pub fn restore(&mut self, back: usize) {
        self.kill();
        let place = self.copies.len().saturating_sub(1 + back);
        if let Some(copy) = self.copies.get(place) {
            self.log = copy.clone();
            // Copies of what is given up now are thrown away: nobody restores a history that others have contradicted.
            self.copies.truncate(place + 1);
        }
        self.begin();
    }

    /// How many copies can be restored.
    pub fn copies(&self) -> usize {
        self.copies.len()
    }

    /// Handles a message. Returns what it sends, and whether its disk has something to sync.
    pub fn handle(&mut self, now: Now, envelope: Envelope) -> (Vec<Envelope>, bool) {
        let mut outbox = Outbox::default();
        let Some(oracle) = &mut self.oracle else { return (Vec::new(), false) };
        oracle.handle(now, envelope, &mut outbox);
        self.collect(outbox)
    }

    /// The disk has synced.
    pub fn synced(&mut self, now: Now) -> (Vec<Envelope>, bool) {
        self.log.complete_sync();
        let synced = self.log.synced();
        let mut all = (Vec::new(), false);
        while let Some((position, token)) = self.syncs.front().copied() {
            if position > synced {
                break;
            }
            self.syncs.pop_front();
            let (sent, sync) = self.handle(now, envelope_of(ORACLE_SITE, ServerKind::Oracle, Message::Synced(token)));
            all.0.extend(sent);
            all.1 |= sync;
        }
        all
    }

    fn collect(&mut self, outbox: Outbox) -> (Vec<Envelope>, bool) {
        let mut buffer = Vec::new();
        for record in outbox.records {
            buffer.clear();
            record.encode_into(&mut buffer);
            self.log.append(&buffer).expect("the oracle's disk is sound");
        }
        for token in &outbox.syncs {
            self.syncs.push_back((self.log.appended(), *token));
            self.log.request_sync();
        }
        let sent = outbox.messages.into_iter().flat_map(|outgoing| {
            let Outgoing { sites, to, epoch, message } = outgoing;
            sites.into_iter().map(move |site| Envelope { epoch, ..envelope_of(site, to, message.clone()) })
        });
        (sent.collect(), !outbox.syncs.is_empty())
    }
}

fn envelope_of(site: SiteId, to: ServerKind, message: Message) -> Envelope {
    Envelope {
        from_site: ORACLE_SITE,
        from: ServerKind::Oracle,
        to_site: site,
        to,
        epoch: EpochNumber(0),
        incarnation: Incarnation(1),
        message,
    }
}
