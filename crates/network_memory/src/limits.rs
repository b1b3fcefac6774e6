//! Every bound of the remote log, and how they relate. Times are in nanoseconds of a clock that never goes back.

use raidcomm::limits::{FRAME_BYTES_MAX, MILLISECOND, SECOND};

/// Bytes of one record.
pub const RECORD_BYTES_MAX: usize = 16 << 20;
/// What a record takes of a quota beside its bytes.
pub const RECORD_OVERHEAD_BYTES: u64 = 64;
/// Bytes of records after which a message takes no further one.
pub const BATCH_BYTES: usize = 1 << 20;
/// Records in one message.
pub const BATCH_RECORDS_MAX: usize = 16 << 10;
/// Bytes that are under way to one server and not acknowledged.
pub const WINDOW_BYTES: u64 = 8 << 20;
/// Servers that one log may have, members and spares.
pub const SERVERS_MAX: usize = 16;
/// Logs that one server keeps.
pub const LOGS_MAX: usize = 4_096;
/// Connections that one server has at a time.
pub const CONNECTIONS_MAX: usize = 1_024;
/// A connection over which nothing has come for so long is closed: writers say something every half [`SILENCE`].
pub const CONNECTION_SILENCE: u64 = 60 * SECOND;
/// Requests of one connection that a server answers before it looks at the others.
pub const TURN_REQUESTS_MAX: usize = 64;
/// Bytes of requests that are not whole, and of replies that were not taken, that a server holds of all its clients, beside its capacity. Beyond it only
/// the client that has connected first of those is heard. A frame more may be there of that one, and of whoever was heard last.
pub const HELD_BYTES_MAX: usize = 256 << 20;
/// A client that has not taken so many bytes of its replies is not answered further.
pub const REPLY_BYTES_MAX: usize = BATCH_BYTES;
/// Connections that a server that is awake looks at one by one; with more it asks for all at once which have something.
pub const LOOKED_AT_MAX: usize = 4;
/// Receipts that a log keeps for whoever may ask; of older ones the later stand for them.
pub const RECEIPTS_MAX: usize = 1_024;
/// Times that a writer which does not wait looks for more in one turn; what is left it finds in the next one.
pub const TURN_LOOKS_MAX: usize = 64;
/// How long a connection may take to be made, and the pause before it is tried again.
pub const CONNECT: u64 = SECOND / 2;
/// See [`CONNECT`].
pub const CONNECT_PAUSE: u64 = 100 * MILLISECOND;
/// What has happened to a log and was not asked for yet; older events are dropped.
pub const EVENTS_MAX: usize = 1_024;
/// Bytes of records that a writer keeps for servers that come back, unless it is told otherwise: all since the last truncation.
pub const RETAINED_BYTES_DEFAULT: u64 = 256 << 20;

/// For how long a server lets a writer acknowledge from its disk.
pub const LEASE: u64 = 2 * SECOND;
/// The assumption about clocks: of two hosts, neither gains nor loses more than this part of a second in a second.
pub const DRIFT_PARTS: u64 = 100;
/// By so much the writer takes its lease to be shorter: both clocks may drift, one each way.
pub const LEASE_MARGIN: u64 = LEASE / 40;
/// For so long since it was asked an answer of a server vouches for it: until then nobody who has accepted a loss can have opened the log, because
/// he holds its seal for a whole [`LEASE`] before.
pub const VOUCHED: u64 = LEASE - LEASE_MARGIN;
/// By so much the numbers of whoever accepts a loss lie above those that he knows of: nobody who may still write without his knowing counts so far.
pub const ACCEPTED_STEP: u64 = 1 << 32;
/// The highest number of an epoch, a position or a generation: nobody counts so far, and counting on from there does not overflow. A message with a
/// higher one is malformed, and an epoch with a higher one does not begin: a server that took it could never be sealed again.
pub const NUMBER_MAX: u64 = u64::MAX / 2;
/// A lease is asked for again when this much of it is left.
pub const LEASE_RENEWAL: u64 = LEASE / 2;

/// A server that has not answered for so long is not waited for any more.
pub const SILENCE: u64 = SECOND;
/// Pause between two questions to a server that does not answer.
pub const PROBE_PAUSE: u64 = 100 * MILLISECOND;
/// What has not been acknowledged for so long is sent again, unless the connection has broken before.
pub const RESEND: u64 = 300 * MILLISECOND;
/// A log that could be opened, whatever others hold, waits so long for the servers that have not answered yet. Where they could say
/// something else it waits until their connections have failed, or they have been silent for [`SILENCE`].
pub const SETTLE: u64 = 100 * MILLISECOND;
/// Pause between two new epochs for the sake of servers that came back empty; it doubles up to the longest.
pub const RENEWAL_PAUSE_MIN: u64 = 100 * MILLISECOND;
/// See [`RENEWAL_PAUSE_MIN`].
pub const RENEWAL_PAUSE_MAX: u64 = 5 * SECOND;
/// A writer that was outbid tries again after a part of this, drawn anew each time. It doubles each time up to the longest: of two that open a log at
/// the same time one must be left alone for as long as opening it takes, which reads the whole log and restores it on k servers.
pub const OUTBID_PAUSE_MIN: u64 = 200 * MILLISECOND;
/// See [`OUTBID_PAUSE_MIN`].
pub const OUTBID_PAUSE_MAX: u64 = 64 * OUTBID_PAUSE_MIN;
/// A server that was full is tried again after this.
pub const FULL_PAUSE: u64 = 500 * MILLISECOND;

/// Bytes of a request or a reply that goes as a datagram: with all headers it fits into one packet of an ordinary network (1,500 bytes).
pub const DATAGRAM_BYTES_MAX: usize = 1_400;
/// A request that went as a datagram and is not answered for so long goes over the connection.
pub const DATAGRAM_WAIT: u64 = 5 * MILLISECOND;
/// After so many of those in a row no datagram is sent for [`DATAGRAM_PAUSE`].
pub const DATAGRAMS_LOST_MAX: u32 = 3;
/// See [`DATAGRAMS_LOST_MAX`].
pub const DATAGRAM_PAUSE: u64 = SECOND;
/// At least so often a request goes over the connection, so that it is not taken for dead.
pub const STREAM_PAUSE: u64 = SECOND;
/// Of so many looks of whoever is awake and waits for datagrams, one goes to the connections.
pub const LOOKS_PER_STREAM: u32 = 8;

/// What is waited for awake must come within this: several round trips within a host, or one in a fast network.
pub const SPIN: u64 = MILLISECOND / 10;
/// If giving the processor up takes so long, somebody else needs it: not another server, which answers in less, but a program that computes.
pub const SPIN_TAKEN: u64 = MILLISECOND / 4;
/// Then nothing is waited for awake for this time; for twice as long each further time, up to the longest.
pub const SPIN_PAUSE_MIN: u64 = 2 * MILLISECOND;
/// See [`SPIN_PAUSE_MIN`].
pub const SPIN_PAUSE_MAX: u64 = 256 * MILLISECOND;

/// A disk whose last sync took longer is not synced by whoever waits for it: two switches between threads are little beside that, and who only waits
/// can give up when its time is over.
pub const SYNC_HERE_MAX: u64 = 2 * MILLISECOND;

/// How long servers may take before the disk is asked too, as long as nothing has been measured.
pub const HEDGE_FIRST: u64 = 5 * MILLISECOND;
/// At least so long: less is noise of the processor.
pub const HEDGE_MIN: u64 = MILLISECOND / 5;
/// At most so long.
pub const HEDGE_MAX: u64 = 50 * MILLISECOND;
/// Round trips that are looked back on.
pub const ROUND_TRIPS_KEPT: usize = 512;
/// And after how many of them it is looked again.
pub const ROUND_TRIPS_PER_LOOK: usize = 64;

const _: () = assert!(2 * (RECORD_BYTES_MAX + BATCH_BYTES) < FRAME_BYTES_MAX, "a batch fits into a frame");
const _: () = assert!(2 * FRAME_BYTES_MAX <= HELD_BYTES_MAX && REPLY_BYTES_MAX < HELD_BYTES_MAX);
const _: () = assert!(BATCH_BYTES as u64 * 2 <= WINDOW_BYTES, "a server need not wait for the next batch");
const _: () = assert!(LEASE_MARGIN * DRIFT_PARTS >= 2 * LEASE, "two clocks may drift apart for a whole lease");
const _: () = assert!(LEASE_RENEWAL > SILENCE / 2 && LEASE_RENEWAL < LEASE && SILENCE + SETTLE < VOUCHED);
const _: () = assert!(OUTBID_PAUSE_MIN > SETTLE, "one of two is let alone now and then");
const _: () = assert!(
    OUTBID_PAUSE_MAX > 2 * (2 * LEASE + SILENCE + SETTLE),
    "who accepts a loss waits for a lease and holds one"
);
const _: () = assert!(NUMBER_MAX / ACCEPTED_STEP >= 1 << 30 && NUMBER_MAX < u64::MAX - 2 * ACCEPTED_STEP);
const _: () = assert!(CONNECTION_SILENCE > 10 * SILENCE && CONNECT < SILENCE);
const _: () =
    assert!(DATAGRAM_WAIT < RESEND && DATAGRAM_WAIT < DATAGRAM_PAUSE && STREAM_PAUSE < CONNECTION_SILENCE / 10);
const _: () = assert!(SPIN < DATAGRAM_WAIT && DATAGRAM_BYTES_MAX + 8 + 48 < 1_500);
const _: () = assert!(RESEND < SILENCE && PROBE_PAUSE < RESEND);
const _: () = assert!(HEDGE_MIN < HEDGE_FIRST && HEDGE_FIRST < HEDGE_MAX && HEDGE_MAX < RESEND);
const _: () = assert!(ROUND_TRIPS_PER_LOOK < ROUND_TRIPS_KEPT);
const _: () = assert!(SPIN < SPIN_TAKEN && SPIN_TAKEN < SPIN_PAUSE_MIN && SPIN_PAUSE_MIN < SPIN_PAUSE_MAX);
