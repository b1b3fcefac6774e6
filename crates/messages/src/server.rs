//! The machine interface that all servers have.
//!
//! A server is a deterministic state machine: what goes in is `handle`, `tick` and `replay`, what comes out is its outbox.
//!
//! **Order.** Whoever runs a server appends all records of an outbox to the log before it delivers any message of the same outbox. If an
//! append fails, no message of it leaves.

use crate::access::{AccessReply, AccessRequest};
use crate::commit::{CommitMessage, CommitReply, CommitRequest, EpochReply, EpochRequest};
use crate::concurrency::{ConcurrencyReply, ConcurrencyRequest};
use crate::lease::{LeaseNews, LeaseOrder};
use crate::log_record::LogRecord;
use crate::notification::Notification;
use crate::oracle::{OracleReply, OracleRequest};
use crate::query::{QueryReply, QueryRequest};
use crate::replication::{ReplicationMessage, ServiceReply, ServiceRequest, SiteNotice};
use crate::session::{SessionReply, SessionRequest};
use identifiers::{EpochNumber, Incarnation, ServerKind, SessionId, SiteId};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use std::sync::Arc;

/// What time it is, read anew for every message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Now {
    /// Nanoseconds of a clock that never jumps: for leases and time-outs.
    pub boot: u64,
    /// Microseconds since 1970 of a clock that may: for timestamps only.
    pub wall_micros: u64,
}

/// The site number under which the oracle is reached.
pub const ORACLE_SITE: SiteId = SiteId(0);
/// Stands for the receiver in a message that is encoded once for several sites.
pub const SEVERAL_SITES: SiteId = SiteId(u16::MAX);

/// A message on its way. `from_site == to_site` stays within a site; otherwise epoch and incarnation are the sender's.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Envelope {
    /// Site of the sender.
    pub from_site: SiteId,
    /// Kind of the sender.
    pub from: ServerKind,
    /// Site of the receiver; on its way [`SEVERAL_SITES`], if it is for more than one.
    pub to_site: SiteId,
    /// Kind of the receiver.
    pub to: ServerKind,
    /// The sender's epoch.
    pub epoch: EpochNumber,
    /// The sender's life.
    pub incarnation: Incarnation,
    /// What is said.
    pub message: Message,
}

impl Envelope {
    /// As bytes for a channel between sites.
    pub fn encode_into(&self, buffer: &mut Vec<u8>) {
        let taken = std::mem::take(buffer);
        *buffer = postcard::to_extend(self, taken).expect("a message always encodes");
    }

    /// Back from a channel. Whatever the bytes, an error at worst: what does not cross sites is not even decoded, because programs are trees,
    /// and a deep one would overflow the stack.
    pub fn decode(bytes: &[u8]) -> Result<Envelope, postcard::Error> {
        type Header = (SiteId, ServerKind, SiteId, ServerKind, EpochNumber, Incarnation);
        let (_, message) = postcard::take_from_bytes::<Header>(bytes)?;
        let (variant, _) = postcard::take_from_bytes::<u32>(message)?;
        match CROSSING.contains(&variant) {
            true => postcard::from_bytes(bytes),
            false => Err(postcard::Error::DeserializeBadEnum),
        }
    }
}

/// Messages are moved several times on their way; up to here that is a few instructions each time. What is larger and rare is boxed.
const _: () = assert!(size_of::<Envelope>() <= 128);

/// The variants of [`Message`] that cross sites, by their place: `Commit`, `Replication`, `Oracle`, `OracleReply`.
const CROSSING: [u32; 4] = [8, 13, 16, 17];

/// Everything that one server can say to another, by protocol.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Message {
    /// User interface or query processor to action driver.
    SessionRequest(SessionId, SessionRequest),
    /// Action driver to user interface or query processor.
    SessionReply(SessionId, SessionReply),
    /// User interface to query processor, with how many queries of the session wait for functions: it is within these.
    Query(SessionId, u32, QueryRequest),
    /// Query processor to user interface.
    QueryReply(SessionId, QueryReply),
    /// To the access manager.
    Access(AccessRequest),
    /// From the access manager.
    AccessReply(AccessReply),
    /// To the concurrency controller.
    Concurrency(ConcurrencyRequest),
    /// From the concurrency controller.
    ConcurrencyReply(ConcurrencyReply),
    /// Between atomicity controllers.
    Commit(CommitMessage),
    /// Action driver to atomicity controller.
    CommitRequest(CommitRequest),
    /// Atomicity controller to action driver.
    CommitReply(CommitReply),
    /// Replication to atomicity controller.
    EpochRequest(EpochRequest),
    /// Atomicity to replication controller.
    EpochReply(EpochReply),
    /// Between replication controllers.
    Replication(ReplicationMessage),
    /// Action driver to replication controller.
    Service(ServiceRequest),
    /// Replication controller to action driver.
    ServiceReply(ServiceReply),
    /// To the oracle.
    Oracle(OracleRequest),
    /// From the oracle.
    OracleReply(OracleReply),
    /// Between the site and its replication controller.
    Site(SiteNotice),
    /// The site to a server that asked for it: everything in the log up to the moment of `Outbox::sync` is on disk.
    Synced(u64),
    /// The site to every server: append what a replay needs that is not in the store, because older log will go.
    Checkpoint,
    /// Replication controller to the keeper of leases.
    Lease(LeaseOrder),
    /// The keeper of leases to the replication controller.
    LeaseNews(Box<LeaseNews>),
    /// Atomicity controller to the user interfaces of its site: what transactions that have committed have notified of, in the order of their timestamps. It is
    /// said once in a life of the site, and neither lost nor repeated within it.
    Notified(Arc<Vec<Notification>>),
}

/// The protocols, by the names of [`Message`]'s variants, in their order.
pub const PROTOCOLS: [&str; 24] = [
    "SessionRequest",
    "SessionReply",
    "Query",
    "QueryReply",
    "Access",
    "AccessReply",
    "Concurrency",
    "ConcurrencyReply",
    "Commit",
    "CommitRequest",
    "CommitReply",
    "EpochRequest",
    "EpochReply",
    "Replication",
    "Service",
    "ServiceReply",
    "Oracle",
    "OracleReply",
    "Site",
    "Synced",
    "Checkpoint",
    "Lease",
    "LeaseNews",
    "Notified",
];

impl Message {
    /// Its place in [`PROTOCOLS`].
    pub fn protocol(&self) -> usize {
        match self {
            Message::SessionRequest(..) => 0,
            Message::SessionReply(..) => 1,
            Message::Query(..) => 2,
            Message::QueryReply(..) => 3,
            Message::Access(..) => 4,
            Message::AccessReply(..) => 5,
            Message::Concurrency(..) => 6,
            Message::ConcurrencyReply(..) => 7,
            Message::Commit(..) => 8,
            Message::CommitRequest(..) => 9,
            Message::CommitReply(..) => 10,
            Message::EpochRequest(..) => 11,
            Message::EpochReply(..) => 12,
            Message::Replication(..) => 13,
            Message::Service(..) => 14,
            Message::ServiceReply(..) => 15,
            Message::Oracle(..) => 16,
            Message::OracleReply(..) => 17,
            Message::Site(..) => 18,
            Message::Synced(..) => 19,
            Message::Checkpoint => 20,
            Message::Lease(..) => 21,
            Message::LeaseNews(..) => 22,
            Message::Notified(..) => 23,
        }
    }
}

/// Where a server puts what comes out of it.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Outbox {
    /// Log records, in order, appended before any message leaves.
    pub records: Vec<LogRecord>,
    /// Messages, in order.
    pub messages: Vec<Outgoing>,
    /// Sync tokens: the site answers each with [`Message::Synced`] once everything appended so far, `records` included, is on
    /// disk.
    pub syncs: Vec<u64>,
}

/// Sites that a message is for.
pub type Sites = SmallVec<[SiteId; 6]>;

/// A message as a server hands it out; whoever runs the server knows the rest of the envelope.
#[derive(Debug, Serialize, Deserialize)]
pub struct Outgoing {
    /// To which sites; none: the server's own.
    pub sites: Sites,
    /// To which kind of server.
    pub to: ServerKind,
    /// The sender's epoch, when it goes to another site.
    pub epoch: EpochNumber,
    /// What is said.
    pub message: Message,
}

impl Outbox {
    /// To a server of the own site.
    pub fn local(&mut self, to: ServerKind, message: Message) {
        self.messages.push(Outgoing { sites: Sites::new(), to, epoch: EpochNumber(0), message });
    }

    /// To a server of another site.
    pub fn remote(&mut self, site: SiteId, to: ServerKind, epoch: EpochNumber, message: Message) {
        self.multicast([site], to, epoch, message);
    }

    /// To the same server of each of several other sites, of none if there are none.
    pub fn multicast(
        &mut self,
        sites: impl IntoIterator<Item = SiteId>,
        to: ServerKind,
        epoch: EpochNumber,
        message: Message,
    ) {
        let sites: Sites = sites.into_iter().collect();
        if !sites.is_empty() {
            self.messages.push(Outgoing { sites, to, epoch, message });
        }
    }

    /// Into the log.
    pub fn append(&mut self, record: LogRecord) {
        self.records.push(record);
    }

    /// Asks to be told ([`Message::Synced`] with this token) when everything appended so far is on disk.
    pub fn sync(&mut self, token: u64) {
        self.syncs.push(token);
    }

    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty() && self.messages.is_empty() && self.syncs.is_empty()
    }
}

/// A server of a site: a deterministic state machine.
pub trait Server {
    /// Takes one message. `envelope` came from a server of the own site, or from another site as it is: nothing in it is trusted.
    fn handle(&mut self, now: Now, envelope: Envelope, outbox: &mut Outbox);

    /// Something may be due. Called at least every [`crate::limits::MILLISECOND`] times ten while anything is under way.
    fn tick(&mut self, now: Now, outbox: &mut Outbox);

    /// Takes a record of the own log, at a start, oldest first, before anything else. May send to servers of the own site.
    fn replay(&mut self, record: &LogRecord, outbox: &mut Outbox);
}
