//! The start of a domain: its log is read back into its servers, a part at a time.
//!
//! Invariant: nothing but the log's records reaches a server before all of them have.

use crate::inbox::Inbox;
use crate::limits::REPLAY_PART_BYTES;
use crate::place::{SERVERS, ServerPlace};
use crate::watches::{DiskWatch, LogGrowth};
use crate::{Domain, DomainSettings, DomainStartError, Effects, Turns};
use access_manager::{AccessManager, Store};
use action_driver::ActionDriver;
use atomicity_controller::AtomicityController;
use commit_log::{Log, LogError, Position};
use concurrency_controller::ConcurrencyController;
use leases::{Keeper, Servers};
use messages::concurrency::ConcurrencyRequest;
use messages::log_record::LogRecord;
use messages::server::PROTOCOLS;
use messages::trace::Tracer;
use messages::{Message, Now, Outbox, ServerKind};
use messages::{planted, reached};
use replication_controller::ReplicationController;
use std::collections::VecDeque;
use std::sync::Arc;

/// A domain that is being started: its servers are there, and know part of what the log says.
pub struct Start<L: Log> {
    domain: Domain<L>,
    /// What is replayed next; `None`: all has been.
    next: Option<Position>,
}

impl<L: Log> Start<L> {
    /// Builds the servers.
    ///
    /// # Errors
    /// See [`DomainStartError`].
    pub fn begin(settings: DomainSettings, log: L, store: Box<dyn Store>) -> Result<Start<L>, DomainStartError> {
        let DomainSettings { site, incarnation, lease, planted, .. } = settings;
        let access = access_manager::StoreSettings {
            memory_bytes_max: settings.memory_bytes_max,
            unposted_bytes_max: settings.unposted_bytes_max,
            old_version_bytes_max: settings.old_version_bytes_max,
            recent_writes_max: settings.recent_writes_max,
            touched_max: settings.touched_max,
            planted,
        };
        let access_manager = AccessManager::open(store, access)?;
        let (told, needed) = access_manager.replay_from();
        // What installs before what reads.
        let places = [
            ServerPlace::here(ReplicationController::new(site, incarnation, &settings.sites, lease, planted)),
            ServerPlace::here(
                AtomicityController::new(site, incarnation, settings.round_pace, planted)
                    .installing_at_once(settings.touched_max),
            ),
            ServerPlace::here(
                ConcurrencyController::new(settings.method, settings.points_max, planted)
                    .with_rules(Arc::clone(&settings.rules)),
            ),
            ServerPlace::here(access_manager),
            ServerPlace::here(ActionDriver::new(planted, settings.seed).with_chunks_of(settings.chunk_rows)),
        ];
        let mut domain = Domain {
            places,
            taken: [[0; PROTOCOLS.len()]; SERVERS.len()],
            inbox: Inbox::new(planted),
            inside: 0,
            queue: VecDeque::new(),
            outbox: Outbox::default(),
            effects: Effects::default(),
            syncs: VecDeque::new(),
            disk: DiskWatch::default(),
            leases: Servers::new(Keeper::new(settings.site, settings.lease, settings.planted)),
            leases_are_driven: false,
            is_repeated: false,
            buffer: Vec::new(),
            checkpoint: None,
            checkpointed_at: log.first(),
            replays_from: log.first(),
            held: None,
            unarchived: None,
            growth: LogGrowth { looked: (log.appended(), 0), counts_from: log.first() },
            post_is_urgent: false,
            turns: Turns::Never,
            next_tag: 1,
            tracer: Tracer::default(),
            now: 0,
            settings,
            log,
        };
        let start = domain.replay_start(Position(told), needed)?;
        (domain.checkpointed_at, domain.replays_from, domain.growth.counts_from) = (start, start, start);
        Ok(Start { domain, next: Some(start) })
    }

    /// Replays a part of the log. Returns whether there is more: if there is, whoever has something else to do may do that first.
    ///
    /// # Errors
    /// See [`DomainStartError`].
    pub fn go_on(&mut self) -> Result<bool, DomainStartError> {
        if let Some(position) = self.next {
            self.next = self.domain.replay(position)?;
        }
        Ok(self.next.is_some())
    }

    /// Replays what is left of it.
    ///
    /// # Errors
    /// See [`DomainStartError`].
    pub fn finish(mut self) -> Result<Domain<L>, DomainStartError> {
        while self.go_on()? {}
        let Start { mut domain, .. } = self;
        SERVERS.iter().try_for_each(|kind| domain.machine(*kind).replay_ends())?;
        domain.follow_settings()?;
        Ok(domain)
    }
}

impl<L: Log> Domain<L> {
    /// Builds the servers and replays the log.
    ///
    /// # Errors
    /// See [`DomainStartError`].
    pub fn start(settings: DomainSettings, log: L, store: Box<dyn Store>) -> Result<Domain<L>, DomainStartError> {
        Start::begin(settings, log, store)?.finish()
    }

    /// A replay tells nobody which settings it has installed, as it does not know those that came as copies: they are looked up once it is over.
    fn follow_settings(&mut self) -> Result<(), DomainStartError> {
        if planted!(self.settings.planted, SettingFromFile) {
            return Ok(());
        }
        let rows = self.machine(ServerKind::AccessManager).setting_rows()?;
        let rows = rows.into_iter().map(|(key, _, row)| (key, row)).collect();
        let settings = Message::Concurrency(ConcurrencyRequest::Settings { rows, begins: true });
        let envelope = self.inside(ServerKind::Site, ServerKind::ConcurrencyController, settings);
        self.queue.push_back(envelope);
        self.run(&mut || Now { boot: 0, wall_micros: 0 });
        Ok(())
    }

    /// Replays a part of the log. Returns where the next one begins. All servers are here.
    fn replay(&mut self, position: Position) -> Result<Option<Position>, DomainStartError> {
        let at_start = Now { boot: 0, wall_micros: 0 };
        // A reader borrows the log, and replaying needs the servers.
        let (mut records, mut next, mut bytes) = (Vec::new(), None, 0);
        for entry in self.log.read_from(position) {
            let (at, record) = entry?;
            if bytes > REPLAY_PART_BYTES {
                next = Some(at);
                break;
            }
            bytes += record.len();
            records.push((at, record));
        }
        for (position, bytes) in records {
            let record = LogRecord::decode(&bytes)
                .map_err(|error| DomainStartError::Record { position, reason: error.to_string() })?;
            self.replay_one(at_start, &record);
        }
        Ok(next)
    }

    /// Where the last checkpoint begins of which the store has everything; the start of the log when the store does not tell: a checkpoint begins
    /// with the epoch, if there is one. What the log has given up the store has, and nothing that the log has not: otherwise one of the two was put
    /// back, and the other sites count on what is missing.
    fn replay_start(&self, told: Position, needed: bool) -> Result<Position, DomainStartError> {
        let (first, appended) = (self.log.first(), self.log.appended());
        let other = DomainStartError::OtherStore { told, first, appended };
        if (needed && told < first || told > appended) && !planted!(self.settings.planted, StoreNotChecked) {
            reached!("store-of-another-log");
            return Err(other);
        }
        if told <= first || told >= appended {
            return Ok(first);
        }
        match self.log.read_from(told).next() {
            Some(Ok((_, bytes))) => match LogRecord::decode(&bytes) {
                Ok(LogRecord::EpochSeen { .. }) => Ok(told),
                _ => Ok(first),
            },
            Some(Err(LogError::NotARecord { .. })) if !planted!(self.settings.planted, StoreNotChecked) => Err(other),
            _ => Ok(first),
        }
    }

    fn replay_one(&mut self, now: Now, record: &LogRecord) {
        for kind in SERVERS {
            let mut outbox = std::mem::take(&mut self.outbox);
            self.machine(kind).replay(record, &mut outbox);
            assert!(outbox.records.is_empty(), "a replay writes nothing to the log");
            self.outbox = outbox;
            self.collect(kind);
        }
        self.run(&mut || now);
    }
}
