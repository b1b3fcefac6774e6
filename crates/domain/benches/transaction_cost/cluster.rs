//! Sites and an oracle on one thread, whose time goes on as the caller likes.
//!
//! Invariant: nothing is lost; what a site sends leaves when the turn of the site ends, and comes together with what others have sent it.

use crate::client::Door;
use crate::meter::{Meter, Step};
use access_manager::MemoryStore;
use bytes::BytesMut;
use commit_log::MemoryLog;
use domain::{Domain, DomainSettings};
use messages::access::AccessReply;
use messages::concurrency::Method;
use messages::limits::MILLISECOND;
use messages::oracle::{OracleReply, OracleRequest};
use messages::planted::Planted;
use messages::replication::SiteNotice;
use messages::server::{ORACLE_SITE, Outgoing};
use messages::{
    Envelope, EpochNumber, Incarnation, InstanceId, Message, Now, OracleLife, Outbox, Server, ServerKind, SessionId,
    SiteId,
};
use oracle::Oracle;
use std::cell::Cell;
use std::sync::Arc;
use user_interface::UserInterface;

/// What every life of everybody is here.
pub const LIFE: Incarnation = Incarnation(1);
/// Bytes of rows in memory at each site.
const MEMORY_BYTES: usize = 512 << 20;
/// Nanoseconds between two ticks, as in a site's process,
const TICK: u64 = 5 * MILLISECOND;
/// that pass with each turn of all clients,
const TURN: u64 = MILLISECOND / 10;
/// and with each message.
const MESSAGE: u64 = 20;
/// Ticks within which the sites serve.
const START_TICKS: u32 = 2_000;
/// Microseconds since 1970 when the boot clock was at 0.
const WALL_MICROS: u64 = 1_700_000_000_000_000;

struct Site {
    domain: Domain<MemoryLog>,
    store: MemoryStore,
    user_interface: UserInterface,
}

/// See the module's description.
pub struct Cluster {
    sites: Vec<Site>,
    oracle: Oracle,
    /// On their way: to whom, and the bytes.
    frames: Vec<(SiteId, Vec<u8>)>,
    outbox: Outbox,
    meter: Meter,
    boot: Cell<u64>,
    ticked_at: u64,
}

fn at(boot: &Cell<u64>) -> Now {
    boot.set(boot.get() + MESSAGE);
    Now { boot: boot.get(), wall_micros: WALL_MICROS + boot.get() / 1_000 }
}

fn envelope(from: (SiteId, ServerKind), to: (SiteId, ServerKind), message: Message) -> Envelope {
    Envelope {
        from_site: from.0,
        from: from.1,
        to_site: to.0,
        to: to.1,
        epoch: EpochNumber(0),
        incarnation: LIFE,
        message,
    }
}

/// How the servers of a site are set up.
fn settings(site: SiteId, sites: &[SiteId]) -> DomainSettings {
    DomainSettings {
        site,
        incarnation: LIFE,
        sites: sites.to_vec(),
        lease: messages::LeaseLength::DEFAULT,
        method: Method::Locking,
        points_max: domain::POINTS_MAX,
        rules: Arc::default(),
        chunk_rows: messages::limits::PRIVATE_CHUNK_ROWS,
        memory_bytes_max: MEMORY_BYTES,
        unposted_bytes_max: access_manager::unposted_bytes_max(MEMORY_BYTES),
        old_version_bytes_max: MEMORY_BYTES / access_manager::limits::OLD_VERSIONS_SHARE,
        recent_writes_max: access_manager::limits::RECENT_WRITES_MAX,
        touched_max: access_manager::limits::TOUCHED_MAX,
        round_pace: domain::ROUND_PACE,
        seed: u64::from(site.0),
        planted: Planted::none(),
    }
}

/// Clients of the first site. What they have asked is executed together when time passes, as a worker of a site runs what has come in one turn;
/// everything that was sent arrives then.
impl Door for Cluster {
    fn open(&mut self, session: SessionId) {
        self.sites[0].user_interface.open(session);
    }

    fn receive(&mut self, session: SessionId, input: &mut BytesMut) {
        let Cluster { sites, outbox, meter, boot, .. } = self;
        let user_interface = &mut sites[0].user_interface;
        meter.run(Step::Ask, || user_interface.receive(at(boot), session, input, outbox));
    }

    fn answer(&mut self, session: SessionId, into: &mut BytesMut) {
        let user_interface = &mut self.sites[0].user_interface;
        user_interface.pending().for_each(drop);
        if let Some(output) = user_interface.output(session) {
            into.extend_from_slice(output);
            output.clear();
        }
    }

    fn pass_time(&mut self) {
        self.submit(0);
        self.deliver_frames();
        self.boot.set(self.boot.get() + TURN);
        if self.boot.get() >= self.ticked_at + TICK {
            self.ticked_at = self.boot.get();
            self.tick();
            self.deliver_frames();
        }
    }
}

impl Cluster {
    /// So many sites that serve. An error says why they do not.
    pub fn start(sites: u16) -> Result<Cluster, String> {
        let copies = sites.min(2);
        let sites: Vec<SiteId> = (1..=sites).map(SiteId).collect();
        let oracle = Oracle::init(InstanceId(1), &sites, copies, OracleLife(1), Planted::none());
        let mut cluster = Cluster {
            sites: Vec::new(),
            oracle,
            frames: Vec::new(),
            outbox: Outbox::default(),
            meter: Meter::default(),
            boot: Cell::new(TICK),
            ticked_at: 0,
        };
        for site in &sites {
            let site = cluster.site(*site, &sites)?;
            cluster.sites.push(site);
        }
        for _ in 0..START_TICKS {
            cluster.boot.set(cluster.boot.get() + TICK);
            cluster.pass_time();
            let now = at(&cluster.boot);
            if cluster.sites.iter().all(|site| site.domain.refusal(now).is_none()) {
                return Ok(cluster);
            }
        }
        Err("the sites do not serve: a server waits for something that this world does not do".into())
    }

    fn site(&mut self, site: SiteId, sites: &[SiteId]) -> Result<Site, String> {
        let request = Message::Oracle(OracleRequest::Incarnate { nonce: 1, site });
        let to = (ORACLE_SITE, ServerKind::Oracle);
        let sent = self.ask_oracle(envelope((site, ServerKind::Site), to, request));
        let is_given = |outgoing: &Outgoing| {
            matches!(outgoing.message, Message::OracleReply(OracleReply::Incarnated { incarnation: LIFE, .. }))
        };
        assert!(sent.iter().any(is_given), "the first life of a site has number 1");
        let store = MemoryStore::new();
        let mut domain = Domain::start(settings(site, sites), MemoryLog::new(), Box::new(store.clone()))
            .map_err(|error| error.to_string())?;
        let mut user_interface = UserInterface::new(user_interface::Config::new(site, "example", "0", 1, 1));
        user_interface.load_catalog(domain.catalog_rows().map_err(|error| error.to_string())?);
        for other in sites.iter().copied().filter(|other| *other != site).chain([ORACLE_SITE]) {
            let boot = &self.boot;
            domain.notify(&mut || at(boot), SiteNotice::PeerFound { site: other, incarnation: LIFE });
        }
        Ok(Site { domain, store, user_interface })
    }

    /// From now on the meter counts.
    pub fn begin_measuring(&mut self) {
        self.meter = Meter::default();
    }

    /// What was measured.
    pub fn report(&self, transactions: u64) -> String {
        self.meter.report(transactions)
    }

    /// Has every site bring to its store what its log says.
    pub fn bring_to_stores(&mut self) {
        let Cluster { sites, boot, .. } = &mut *self;
        for site in sites {
            site.domain.begin_checkpoint(&mut || at(boot));
        }
        while self.sites.iter().any(|site| site.domain.is_checkpointing()) {
            self.boot.set(self.boot.get() + TICK);
            self.pass_time();
        }
    }

    /// The last site as a crash leaves it: how it was set up, its log, and what its store does not have of that in bytes, and its store.
    pub fn into_crashed(mut self) -> (DomainSettings, MemoryLog, u64, MemoryStore) {
        let Site { domain, store, .. } = self.sites.pop().expect("there is a site");
        let mut settings = domain.settings().clone();
        settings.incarnation = Incarnation(LIFE.0 + 1);
        let bytes = domain.bytes_to_replay();
        (settings, domain.into_log(), bytes, store.reopened())
    }

    /// The servers of the first site, which go on without the others, and what its boot clock says.
    pub fn into_first(mut self) -> (Domain<MemoryLog>, u64) {
        (self.sites.swap_remove(0).domain, self.boot.get())
    }

    fn tick(&mut self) {
        for place in 0..self.sites.len() {
            let Cluster { sites, outbox, meter, boot, .. } = &mut *self;
            let Site { domain, user_interface, .. } = &mut sites[place];
            meter.run(Step::Tick, || {
                domain.log_mut().complete_sync();
                domain.poll_log(&mut || at(boot));
                domain.tick(&mut || at(boot));
                user_interface.tick(at(boot), outbox);
            });
            self.settle(place);
        }
        let mut outbox = Outbox::default();
        self.oracle.tick(at(&self.boot), &mut outbox);
        self.deliver_oracle(outbox.messages);
    }

    /// What the user interface has asked is executed, and what it is told may make it ask more.
    fn submit(&mut self, place: usize) {
        let site = SiteId(place as u16 + 1);
        let from = (site, ServerKind::UserInterface);
        while !self.outbox.messages.is_empty() {
            let asked = self.outbox.messages.drain(..);
            let asked = asked.map(|outgoing| envelope(from, (site, outgoing.to), outgoing.message));
            let requests: Vec<Envelope> = asked.collect();
            let Cluster { sites, meter, boot, .. } = &mut *self;
            meter.run(Step::Execute, || sites[place].domain.deliver_all(&mut || at(boot), requests));
            self.take_effects(place);
        }
    }

    fn settle(&mut self, place: usize) {
        self.take_effects(place);
        self.submit(place);
    }

    fn take_effects(&mut self, place: usize) {
        let Cluster { sites, outbox, meter, boot, frames, .. } = self;
        let Site { domain, user_interface, .. } = &mut sites[place];
        let effects = domain.take_effects();
        if let Some(failure) = effects.failed {
            panic!("nothing can fail here: {failure}");
        }
        for remote in effects.remote {
            let mut frame = Vec::new();
            meter.run(Step::Encode, || remote.envelope.encode_into(&mut frame));
            meter.sent(remote.sites.len(), frame.len());
            frames.extend(remote.sites.iter().map(|site| (*site, frame.clone())));
        }
        for envelope in effects.local {
            let is_answer = matches!(
                envelope.message,
                Message::SessionReply(..) | Message::AccessReply(AccessReply::CatalogRows { .. })
            );
            if is_answer {
                meter.run(Step::Answer, || user_interface.handle(at(boot), envelope, outbox));
            }
        }
    }

    fn deliver_frames(&mut self) {
        while !self.frames.is_empty() {
            let mut came: Vec<Vec<Envelope>> = self.sites.iter().map(|_| Vec::new()).collect();
            for (to_site, frame) in std::mem::take(&mut self.frames) {
                let decoded = self.meter.run(Step::Decode, || Envelope::decode(&frame));
                let envelope = decoded.expect("a frame that was encoded here can be decoded");
                if to_site == ORACLE_SITE {
                    let sent = self.ask_oracle(envelope);
                    self.deliver_oracle(sent);
                } else {
                    came[usize::from(to_site.0) - 1].push(Envelope { to_site, ..envelope });
                }
            }
            for (place, envelopes) in came.into_iter().enumerate().filter(|(_, envelopes)| !envelopes.is_empty()) {
                let Cluster { sites, meter, boot, .. } = &mut *self;
                let step = if place == 0 { Step::Decide } else { Step::Participate };
                meter.run(step, || sites[place].domain.deliver_all(&mut || at(boot), envelopes));
                self.settle(place);
            }
        }
    }

    /// What the oracle says to that, with its disk at once in step.
    fn ask_oracle(&mut self, request: Envelope) -> Vec<Outgoing> {
        let (mut sent, mut requests) = (Vec::new(), vec![request]);
        while let Some(request) = requests.pop() {
            let mut outbox = Outbox::default();
            self.oracle.handle(at(&self.boot), request, &mut outbox);
            sent.append(&mut outbox.messages);
            let own = (ORACLE_SITE, ServerKind::Oracle);
            requests.extend(outbox.syncs.into_iter().map(|token| envelope(own, own, Message::Synced(token))));
        }
        sent
    }

    fn deliver_oracle(&mut self, sent: Vec<Outgoing>) {
        for Outgoing { sites, to, message, .. } in sent {
            for site in sites {
                let place = usize::from(site.0) - 1;
                let envelope = envelope((ORACLE_SITE, ServerKind::Oracle), (site, to), message.clone());
                let Cluster { sites, boot, .. } = &mut *self;
                sites[place].domain.deliver(&mut || at(boot), envelope);
                self.settle(place);
            }
        }
    }
}
