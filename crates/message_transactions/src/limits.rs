//! Bounds of message transactions, and how they relate. Times are in nanoseconds of a clock that never goes back.

use raidcomm::limits::{MILLISECOND, SECOND};
pub use raidcomm::limits::{RETRANSMIT_FIRST, RETRANSMIT_MAX, RETRANSMIT_MIN};

// Packets.

/// The version that stands in every packet.
pub const VERSION: u8 = 1;
/// Bytes of a packet: what a datagram carries over Ethernet without being cut in two.
pub const PACKET_BYTES_MAX: usize = 1_472;
/// Bytes of a message and the part of a segment that travels with it, together.
pub const PAYLOAD_BYTES_MAX: usize = 1_400;
/// Bytes of a message.
pub const MESSAGE_BYTES_MAX: usize = 1_024;
/// Bytes of bulk data in one packet; only the last packet of a transfer has fewer.
pub const CHUNK_BYTES: usize = 1_400;
/// 64-bit words of the bit vector in one packet.
pub const WANTED_WORDS_MAX: usize = 8;
/// Chunks that one packet can ask for.
pub const WANTED_CHUNKS_MAX: usize = 64 * WANTED_WORDS_MAX;

// Waiting.

/// An exchange, transfer or query without a sign of life for this long is given up: T_t of the thesis.
pub const GIVE_UP: u64 = 4 * SECOND;
/// As [`GIVE_UP`], once the kernel is known to have ended that was asked last: as long as it takes to find out whether the process is
/// elsewhere.
pub const GONE_WAIT: u64 = 250 * MILLISECOND;
/// No packet is on its way for longer.
pub const PACKET_LIFE: u64 = SECOND;
/// A sender that was silent for this long has given up, and all of its packets are gone.
pub const RETENTION: u64 = GIVE_UP + 2 * PACKET_LIFE;
/// Transmissions without a sign of life after which a hint is taken for stale.
pub const HINT_TRIES: u32 = 3;
/// How long a query of a logical identifier waits for somebody to know it.
pub const QUERY_TIME: u64 = SECOND;
/// How often a process that waits for one other makes sure that this one still exists.
pub const PROBE_INTERVAL: u64 = SECOND;

// Host identifiers.

/// Silence after an announcement that makes a host identifier one's own.
pub const CLAIM_WAIT: u64 = 100 * MILLISECOND;
/// Times that a host identifier is announced before it is taken.
pub const ANNOUNCEMENTS: u32 = 3;

// Tables.

/// Processes of a kernel.
pub const PROCESSES_MAX: usize = 16_384;
/// Senders whose messages wait, are executed, or have been replied to.
pub const ALIENS_MAX: usize = 4_096;
/// Messages that wait for one process.
pub const QUEUE_MAX: usize = 1_024;
/// Senders whose last notification one process remembers.
pub const NOTIFIERS_MAX: usize = 256;
/// Locations that a kernel remembers.
pub const HINTS_MAX: usize = 4_096;
/// Logical identifiers that are set at a kernel.
pub const NAMES_MAX: usize = 1_024;
/// Groups that have members at a kernel.
pub const GROUPS_MAX: usize = 1_024;
/// Members of a group at one kernel, and members that one gathering waits for.
pub const MEMBERS_MAX: usize = 1_024;
/// Replies to a group message that wait for their sender to take them.
pub const GROUP_REPLIES_MAX: usize = 1_024;
/// Processes that have been moved away from a kernel: it tells where they went for as long as it lives.
pub const MOVED_MAX: usize = 4_096;
/// Adopted processes whose end a kernel remembers.
pub const ENDED_MAX: usize = 4_096;

// Bulk transfer.

/// Bytes that one transfer moves.
pub const MOVE_BYTES_MAX: usize = 1 << 30;
/// Chunks under way when a transfer begins.
pub const WINDOW_FIRST: u32 = 32;
/// Least number of chunks under way.
pub const WINDOW_MIN: u32 = 32;
/// Most chunks under way.
pub const WINDOW_MAX: u32 = 256;
/// A chunk is lost when so many that were asked for after it have arrived.
pub const REORDERED_MAX: u64 = 5;

// The real world.

/// Bytes of packets that leave in one system call: at most 64 packets, and less than an IP packet can hold.
pub const TRAIN_BYTES_MAX: usize = 44 * PACKET_BYTES_MAX;
/// Bytes asked for by one read: a train that arrives as it left.
pub const READ_BYTES: usize = 64 << 10;
/// Bytes that the operating system is asked to keep for a socket that is not read.
pub const SOCKET_BYTES: usize = 4 << 20;
/// Longest wait of whoever reads the socket while something is due soon.
pub const WAIT_SHORT: u64 = 4 * MILLISECOND;
/// Longest wait of whoever reads the socket.
pub const WAIT_LONG: u64 = 256 * MILLISECOND;
/// Nobody has read the socket for at most twice this long when the keeper does.
pub const KEEPER_INTERVAL: u64 = 5 * MILLISECOND;
/// Times that a kernel introduces itself to one that may be on the same host.
pub const INTRODUCTIONS_MAX: u32 = 8;
/// Pause after the first introduction; it doubles with each.
pub const INTRODUCTION_PAUSE: u64 = 10 * MILLISECOND;
/// Other kernels that a host is told of.
pub const PEERS_MAX: usize = 1_024;

const _: () = assert!(TRAIN_BYTES_MAX <= READ_BYTES && TRAIN_BYTES_MAX / PACKET_BYTES_MAX <= 64);
const _: () = assert!(WAIT_SHORT <= RETRANSMIT_MIN && WAIT_SHORT < WAIT_LONG);
const _: () = assert!(MESSAGE_BYTES_MAX <= PAYLOAD_BYTES_MAX && PAYLOAD_BYTES_MAX < PACKET_BYTES_MAX);
const _: () = assert!(CHUNK_BYTES < PACKET_BYTES_MAX);
const _: () = assert!(2 * RETRANSMIT_FIRST < GONE_WAIT && GONE_WAIT < GIVE_UP, "everybody is asked more than once");
const _: () = assert!(10 * RETRANSMIT_MAX <= GIVE_UP, "a lossy link is not taken for a dead host");
const _: () = assert!(GIVE_UP + 2 * PACKET_LIFE <= RETENTION, "a reply outlives every copy of its request");
const _: () = assert!(RETENTION < 10 * SECOND, "what a sender left behind goes soon");
const _: () = assert!(WINDOW_MIN <= WINDOW_FIRST && WINDOW_FIRST <= WINDOW_MAX);
const _: () = assert!(WINDOW_MAX as usize <= WANTED_CHUNKS_MAX, "a window fits one bit vector");
const _: () = assert!(REORDERED_MAX <= WINDOW_MIN as u64, "a loss shows within a window");
const _: () = assert!(MOVE_BYTES_MAX.div_ceil(CHUNK_BYTES) < u32::MAX as usize, "chunks are counted in a u32");
