//! Three sites, each with its servers and a user interface, and an oracle, on one thread, whose time goes on as the test likes.
//!
//! Invariants: what is sent arrives in order, unless its site is dead or cut off; the same calls give the same run.

use access_manager::MemoryStore;
use bytes::{Buf, BufMut, BytesMut};
use commit_log::MemoryLog;
use domain::{Domain, DomainSettings};
use messages::access::AccessReply;
use messages::concurrency::Method;
use messages::limits::MILLISECOND;
use messages::oracle::OracleRequest;
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

const LIFE: Incarnation = Incarnation(1);
const MEMORY_BYTES: usize = 64 << 20;
/// Nanoseconds between two ticks.
const TICK: u64 = 5 * MILLISECOND;
/// Ticks within which everything has to happen that a test waits for: two minutes.
const TICKS_MAX: u32 = 24_000;

struct Site {
    /// `None`: it is dead.
    domain: Option<Domain<MemoryLog>>,
    is_cut: bool,
    interface: UserInterface,
    /// What the user interface has asked.
    asked: Outbox,
}

/// A client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Client {
    pub site: usize,
    session: SessionId,
}

/// What a text of SQL came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The first values of its rows.
    pub values: Vec<String>,
    /// The SQLSTATE of its error.
    pub error: Option<String>,
}

/// See the module's description.
pub struct World {
    sites: Vec<Site>,
    oracle: Oracle,
    frames: Vec<(SiteId, SiteId, Vec<u8>)>,
    boot: Cell<u64>,
    sessions: u64,
}

fn at(boot: &Cell<u64>) -> Now {
    boot.set(boot.get() + 20);
    Now { boot: boot.get(), wall_micros: 1_700_000_000_000_000 + boot.get() / 1_000 }
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

fn settings(site: SiteId, sites: &[SiteId], method: Method) -> DomainSettings {
    DomainSettings {
        site,
        incarnation: LIFE,
        sites: sites.to_vec(),
        lease: messages::LeaseLength::DEFAULT,
        method,
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

impl World {
    /// Three sites that serve, with this method of concurrency control.
    pub fn start(method: Method) -> World {
        let sites: Vec<SiteId> = (1..=3).map(SiteId).collect();
        let oracle = Oracle::init(InstanceId(1), &sites, 2, OracleLife(1), Planted::none());
        let mut world = World { sites: Vec::new(), oracle, frames: Vec::new(), boot: Cell::new(TICK), sessions: 0 };
        for site in &sites {
            let site = world.begin(*site, &sites, method);
            world.sites.push(site);
        }
        world.until("the sites serve", |world| (0..3).all(|site| world.serves(site)));
        world
    }

    fn begin(&mut self, site: SiteId, sites: &[SiteId], method: Method) -> Site {
        let incarnate = Message::Oracle(OracleRequest::Incarnate { nonce: 1, site });
        self.ask_oracle(envelope((site, ServerKind::Site), (ORACLE_SITE, ServerKind::Oracle), incarnate));
        let log = MemoryLog::new();
        let mut domain =
            Domain::start(settings(site, sites, method), log, Box::new(MemoryStore::new())).expect("it starts");
        let config = user_interface::Config::new(site, "example", "0", 1_000 * u32::from(site.0), 1);
        let mut interface = UserInterface::new(config);
        let mut asked = Outbox::default();
        interface.new_life(LIFE, domain.catalog_rows().expect("a catalog"), &mut asked);
        for other in sites.iter().copied().filter(|other| *other != site).chain([ORACLE_SITE]) {
            let boot = &self.boot;
            domain.notify(&mut || at(boot), SiteNotice::PeerFound { site: other, incarnation: LIFE });
        }
        Site { domain: Some(domain), is_cut: false, interface, asked }
    }

    /// Whether a site answers its clients.
    pub fn serves(&self, site: usize) -> bool {
        let now = at(&self.boot);
        self.sites[site].domain.as_ref().is_some_and(|domain| domain.refusal(now).is_none())
    }

    /// A client comes in.
    pub fn connect(&mut self, site: usize) -> Client {
        self.sessions += 1;
        let client = Client { site, session: SessionId(self.sessions) };
        self.sites[site].interface.open(client.session);
        let mut startup = BytesMut::new();
        let parameters = b"user\0raid\0database\0raid\0\0";
        startup.put_u32(8 + parameters.len() as u32);
        startup.put_u32(3 << 16);
        startup.put_slice(parameters);
        self.give(client, startup);
        assert_eq!(self.wait(client).error, None);
        client
    }

    /// A client goes.
    pub fn leave(&mut self, client: Client) {
        let Site { interface, asked, .. } = &mut self.sites[client.site];
        interface.close(client.session, asked);
    }

    fn give(&mut self, client: Client, mut bytes: BytesMut) {
        let now = at(&self.boot);
        let Site { interface, asked, .. } = &mut self.sites[client.site];
        interface.receive(now, client.session, &mut bytes, asked);
        assert!(bytes.is_empty(), "a client asks once it is answered");
    }

    /// A client asks. What is under way for it has been answered.
    pub fn send(&mut self, client: Client, sql: &str) {
        let mut message = BytesMut::new();
        message.put_u8(b'Q');
        message.put_u32(5 + sql.len() as u32);
        message.put_slice(sql.as_bytes());
        message.put_u8(0);
        self.give(client, message);
    }

    /// The answer, if it is there.
    pub fn answer(&mut self, client: Client) -> Option<Answer> {
        let interface = &mut self.sites[client.site].interface;
        if interface.holds_output(client.session) {
            return None;
        }
        let is_over = interface.finished(client.session);
        let output = interface.output(client.session)?;
        let (answer, is_whole) = read(output);
        if !is_whole && !is_over {
            return None;
        }
        output.clear();
        Some(answer)
    }

    /// Waits for the answer.
    pub fn wait(&mut self, client: Client) -> Answer {
        let mut answer = None;
        self.until(&format!("{client:?} is answered"), |world| {
            answer = world.answer(client);
            answer.is_some()
        });
        answer.expect("it was waited for")
    }

    /// Asks and waits.
    pub fn ask(&mut self, client: Client, sql: &str) -> Answer {
        self.send(client, sql);
        self.wait(client)
    }

    /// Lets time pass until something is so.
    pub fn until(&mut self, what: &str, mut is_so: impl FnMut(&mut World) -> bool) {
        for _ in 0..TICKS_MAX {
            if is_so(self) {
                return;
            }
            self.pass_time();
        }
        panic!("never: {what}");
    }

    /// A site dies. The others' connections to it break.
    pub fn kill(&mut self, dead: usize) {
        self.sites[dead].domain = None;
        self.lose(dead);
    }

    /// A site and the others, the oracle too, hear nothing of each other any more.
    pub fn cut(&mut self, site: usize) {
        self.sites[site].is_cut = true;
        self.lose(site);
    }

    fn lose(&mut self, lost: usize) {
        for site in (0..3).filter(|site| *site != lost) {
            let World { sites, boot, .. } = &mut *self;
            if let Some(domain) = &mut sites[site].domain {
                domain.notify(&mut || at(boot), SiteNotice::PeerLost { site: SiteId(lost as u16 + 1) });
            }
            self.settle(site);
        }
    }

    /// A tick of everybody, and all that comes of it.
    pub fn pass_time(&mut self) {
        self.boot.set(self.boot.get() + TICK);
        for place in 0..self.sites.len() {
            let World { sites, boot, .. } = &mut *self;
            let Site { domain: Some(domain), interface, asked, .. } = &mut sites[place] else { continue };
            domain.log_mut().complete_sync();
            domain.poll_log(&mut || at(boot));
            domain.tick(&mut || at(boot));
            interface.tick(at(boot), asked);
            self.settle(place);
        }
        let mut outbox = Outbox::default();
        self.oracle.tick(at(&self.boot), &mut outbox);
        self.deliver_oracle(outbox.messages);
        self.deliver_frames();
    }

    /// What the user interface asks is done, and what it is told may make it ask more.
    fn settle(&mut self, place: usize) {
        let site = SiteId(place as u16 + 1);
        loop {
            self.take_effects(place);
            // Sessions that go on with what they have: nobody has sent more than that.
            self.sites[place].interface.pending().for_each(drop);
            let World { sites, boot, .. } = &mut *self;
            let Site { domain, asked, .. } = &mut sites[place];
            let Some(domain) = domain else { return };
            if asked.messages.is_empty() {
                return;
            }
            let from = (site, ServerKind::UserInterface);
            let requests = asked.messages.drain(..);
            let requests = requests.map(|outgoing| envelope(from, (site, outgoing.to), outgoing.message));
            let requests: Vec<Envelope> = requests.collect();
            domain.deliver_all(&mut || at(boot), requests);
        }
    }

    fn take_effects(&mut self, place: usize) {
        let World { sites, boot, frames, .. } = self;
        let Site { domain: Some(domain), interface, asked, .. } = &mut sites[place] else { return };
        let effects = domain.take_effects();
        let site = SiteId(place as u16 + 1);
        for remote in effects.remote {
            let mut frame = Vec::new();
            remote.envelope.encode_into(&mut frame);
            frames.extend(remote.sites.iter().map(|to| (site, *to, frame.clone())));
        }
        for envelope in effects.local {
            let is_answer = matches!(
                envelope.message,
                Message::SessionReply(..)
                    | Message::Notified(_)
                    | Message::AccessReply(AccessReply::CatalogRows { .. })
            );
            if is_answer {
                interface.handle(at(boot), envelope, asked);
            }
        }
        for notice in effects.notices {
            if let SiteNotice::Serving { .. } = notice {
                let from = (site, ServerKind::Site);
                let told = envelope(from, (site, ServerKind::UserInterface), Message::Site(notice));
                interface.handle(at(boot), told, asked);
            }
        }
    }

    fn hears(&self, site: SiteId) -> bool {
        let place = usize::from(site.0).checked_sub(1).filter(|place| *place < self.sites.len());
        place.is_none_or(|place| !self.sites[place].is_cut)
    }

    fn deliver_frames(&mut self) {
        (0..self.sites.len()).for_each(|place| self.settle(place));
        while !self.frames.is_empty() {
            for (from, to, frame) in std::mem::take(&mut self.frames) {
                if !self.hears(from) || !self.hears(to) {
                    continue;
                }
                let envelope = Envelope::decode(&frame).expect("a frame that was encoded here can be decoded");
                if to == ORACLE_SITE {
                    let sent = self.ask_oracle(envelope);
                    self.deliver_oracle(sent);
                    continue;
                }
                let World { sites, boot, .. } = &mut *self;
                let place = usize::from(to.0) - 1;
                if let Some(domain) = &mut sites[place].domain {
                    domain.deliver(&mut || at(boot), Envelope { to_site: to, ..envelope });
                }
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
        for Outgoing { sites: to_sites, to, message, .. } in sent {
            let heard: Vec<SiteId> = to_sites.into_iter().filter(|site| self.hears(*site)).collect();
            for site in heard {
                let told = envelope((ORACLE_SITE, ServerKind::Oracle), (site, to), message.clone());
                let place = usize::from(site.0) - 1;
                let World { sites, boot, .. } = &mut *self;
                if let Some(domain) = &mut sites[place].domain {
                    domain.deliver(&mut || at(boot), told);
                }
                self.settle(place);
            }
        }
    }
}

/// What is in a client's bytes, and whether they end with ReadyForQuery.
fn read(bytes: &[u8]) -> (Answer, bool) {
    let (mut rest, mut answer, mut is_whole) = (bytes, Answer::default(), false);
    while rest.len() >= 5 {
        let kind = rest.get_u8();
        let length = rest.get_u32() as usize - 4;
        let (mut body, behind) = rest.split_at(length);
        rest = behind;
        is_whole = kind == b'Z';
        match kind {
            b'D' => {
                body.advance(2);
                let length = body.get_i32();
                let value = usize::try_from(length).ok().and_then(|length| body.get(..length));
                answer.values.push(String::from_utf8_lossy(value.unwrap_or(b"NULL")).into_owned());
            }
            b'E' => {
                let field = body.split(|byte| *byte == 0).find(|field| field.first() == Some(&b'C'));
                answer.error = field.map(|field| String::from_utf8_lossy(&field[1..]).into_owned());
            }
            _ => {}
        }
    }
    (answer, is_whole)
}
