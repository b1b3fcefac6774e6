//! Bounds of communication, and how they relate. Times are in nanoseconds of a clock that never goes back.

/// One millisecond.
pub const MILLISECOND: u64 = 1_000_000;
/// One second.
pub const SECOND: u64 = 1_000 * MILLISECOND;

// Waiting for an answer.

/// Wait for an answer before any round trip to that host has been measured.
pub const RETRANSMIT_FIRST: u64 = 50 * MILLISECOND;
/// Shortest wait for an answer before a packet is sent again.
pub const RETRANSMIT_MIN: u64 = 5 * MILLISECOND;
/// Longest wait for an answer before a packet is sent again: the wait doubles up to it.
pub const RETRANSMIT_MAX: u64 = 200 * MILLISECOND;

// Frames.

/// Bytes of one frame's payload.
pub const FRAME_BYTES_MAX: usize = 64 << 20;
/// Bytes of a frame's payload before the other side has said who it is.
pub const GREETING_BYTES_MAX: usize = 96;

// Streams.

/// Sites that one site may be connected with.
pub const PEERS_MAX: usize = 64;
/// Accepted connections that have not said who they are; one more closes the oldest of them.
pub const HANDSHAKES_MAX: usize = 64;
/// Connections accepted in one turn of the event loop.
pub const ACCEPTS_PER_TURN: usize = 64;
/// Poll tokens that the streams of a site need: the listener, the door, two sockets for datagrams, each connection and its ring.
pub const TOKENS: usize = 4 + 2 * CONNECTIONS_MAX;
/// Connections at a time: two per peer, and those in handshake. One more, because a connection is accepted before the
/// oldest handshake is closed for it.
pub const CONNECTIONS_MAX: usize = 1 + 2 * PEERS_MAX + HANDSHAKES_MAX;
/// Bytes that may wait for one peer; a frame that would make it more is dropped.
pub const QUEUED_BYTES_MAX: usize = 128 << 20;
/// Bytes asked for by one read.
pub const READ_BYTES: usize = 64 << 10;
/// Bytes read from one connection in one turn of the event loop, so that a busy peer does not starve the others.
pub const READ_BYTES_PER_TURN: usize = 4 * READ_BYTES;
/// Bytes of an output buffer that are kept when it runs empty; a larger one is given back.
pub const OUTPUT_BYTES_KEPT: usize = 1 << 20;
/// Encrypted bytes of one connection that wait for the operating system; more is encrypted when these have left.
pub const ENCRYPTED_BYTES_MAX: usize = 256 << 10;
/// From the start of a connection until both sides know each other; a connection that takes longer is closed.
pub const HANDSHAKE: u64 = SECOND;
/// Pause after the second failed attempt to connect in a row; the first is repeated at once.
pub const RECONNECT_MIN: u64 = 20 * MILLISECOND;
/// Longest pause between two attempts: the pause doubles up to it. A connection that broke sooner than this after it
/// was made counts as a failed attempt.
pub const RECONNECT_MAX: u64 = 500 * MILLISECOND;
/// A peer's host that acknowledges nothing for this long has vanished: the connection is closed. In milliseconds.
pub const UNACKNOWLEDGED_MS: u32 = 5_000;
/// A silent connection is probed after this long, and then as often. In seconds.
pub const KEEPALIVE_SECONDS: u64 = 1;
/// Probes without an answer after which the peer's host has vanished.
pub const KEEPALIVE_PROBES: u32 = 3;

// Datagrams between sites.

/// Datagrams of one kind that one site may have been sent beyond the first that it has not acknowledged.
pub const DATAGRAMS_AHEAD_MAX: usize = 1_024;
/// Bytes of a frame that goes by datagrams; a longer one goes over the connection.
pub const DATAGRAM_FRAME_BYTES_MAX: usize = 32 << 10;
/// Sizes that are tried, in bytes: Ethernet with jumbo frames, Ethernet, and what every network of IPv6 carries (RFC 8200, section 5);
/// each less what the headers of IPv6 and UDP take.
pub const DATAGRAM_BYTES: [u16; 3] = [9_000 - 48, 1_500 - 48, 1_280 - 48];
/// Bytes of a datagram that an owner may ask for, at least.
pub const DATAGRAM_BYTES_MIN: u16 = 512;
/// And at most: what UDP carries on one host.
pub const DATAGRAM_BYTES_MAX: u16 = 65_000;
/// Datagrams after which what has come is acknowledged at once.
pub const ACKNOWLEDGE_AFTER: u32 = 16;
/// Longest time after which it is, if nothing else is to be sent.
pub const ACKNOWLEDGE_DELAY: u64 = 2 * MILLISECOND;
/// Shortest time after which a datagram is taken for lost because nothing has been acknowledged, beside [`ACKNOWLEDGE_DELAY`].
pub const DATAGRAM_WAIT_MIN: u64 = 2 * MILLISECOND;
/// Longest such time, after many in vain.
pub const DATAGRAM_WAIT_MAX: u64 = 50 * MILLISECOND;
/// Datagrams that are sent again when nothing has been acknowledged for so long.
pub const DATAGRAMS_REPEATED: usize = 2;
/// A datagram that comes so much later than one that was sent after it may have been overtaken, not lost.
pub const REORDERING_MIN: u64 = MILLISECOND / 4;
/// Bytes that may be under way to a site before anything is known of the way.
pub const WINDOW_BYTES_FIRST: usize = 256 << 10;
/// Fewest and most bytes that may be under way to a site.
pub const WINDOW_BYTES_MIN: usize = 64 << 10;
/// See [`WINDOW_BYTES_MIN`].
pub const WINDOW_BYTES_MAX: usize = 1 << 20;
/// Bytes by which it grows in a round trip after something was lost.
pub const WINDOW_GROWTH: usize = 1_500;
/// Bytes that a socket for datagrams asks the operating system to hold in each direction.
pub const DATAGRAM_SOCKET_BYTES: usize = 4 << 20;
/// Datagrams are not used when none has been acknowledged for so long, until one is.
pub const DATAGRAM_SILENCE: u64 = 200 * MILLISECOND;
/// Nor when one of them has not been acknowledged for so long, while others are: those of its length do not arrive any more.
pub const DATAGRAM_AGE_MAX: u64 = 5 * DATAGRAM_SILENCE;
/// Bytes of datagrams of one sequence that have come before others and wait for them.
pub const EARLY_BYTES_MAX: usize = 4 << 20;
/// Probes of whether larger datagrams arrive, after it is known that smaller ones do.
pub const PROBES_OF_LARGER: u32 = 4;
/// Pause after the first probe of whether datagrams arrive; it doubles up to [`PROBE_PAUSE_MAX`].
pub const PROBE_PAUSE_MIN: u64 = 50 * MILLISECOND;
/// Longest pause between probes.
pub const PROBE_PAUSE_MAX: u64 = 5 * SECOND;
/// How often a site sends to the address of its group to see who hears that.
pub const GROUP_PROBE_PAUSE: u64 = SECOND;
/// Who has not heard it for so long is sent what is for the group by itself.
pub const GROUP_HEARD: u64 = 3 * GROUP_PROBE_PAUSE;
/// Datagrams that one turn of the event loop reads, so that they do not starve everything else.
pub const DATAGRAMS_PER_TURN: usize = 4_096;

// Lines of shared memory.

/// Slots of a line: calls that one client may have under way at once. One bit of a word is left.
pub const SLOTS_MAX: u32 = 31;
/// Bytes of a slot.
pub const SLOT_BYTES_MAX: u32 = 64 << 20;
/// Bytes of all slots of a line: the side that is given a line maps no more.
pub const LINE_BYTES_MAX: u64 = 256 << 20;
/// Bytes of a ring: the side that is given one maps no more.
pub const RING_BYTES_MAX: u64 = 16 << 20;
/// Bytes of the ring between two sites, in each direction.
pub const RING_BYTES: usize = 256 << 10;
/// Bytes of the name of what is called over a line between two hosts.
pub const LINE_PROGRAM_BYTES_MAX: usize = 64;
/// How long one side of a line waits for the other's part of the greeting.
pub const GREETING_TIME: u64 = SECOND;
/// Shortest spin for the other side, when spins have been in vain.
pub const SPIN_MIN: u64 = 1_000;
/// Longest spin: about what it costs to sleep and be woken on another processor.
pub const SPIN_MAX: u64 = 50_000;
/// A sleep that was shorter than this was not worth it.
pub const SPIN_WORTH: u64 = 2 * SPIN_MAX;
/// How long a side yields a processor that it shares with the other side before it sleeps.
pub const YIELD_TIME: u64 = 20_000;
/// A yield that takes longer than this went to a third process.
pub const YIELD_LONG: u64 = 100_000;
/// What a wait gains by a yield instead of a sleep, at least.
pub const YIELD_GAIN: u64 = 1_000;
/// Most that gains make up for: one turn of a process that computes.
pub const YIELD_CREDIT_MAX: u64 = 4_000_000;
/// What a wait may lose by having tried to yield: a quarter of what yielding instead of sleeping gains when there is no third process.
pub const YIELD_LOSS: u64 = 250;
/// Most waits without a try to yield: a third process that has gone is noticed within so many.
pub const WITHOUT_YIELD_MAX: u64 = 20_000;

// The directory.

/// Addresses that a directory knows.
pub const PLACES_MAX: usize = 4_096;
/// Groups that a directory knows.
pub const GROUPS_MAX: usize = 1_024;

const _: () = assert!(RETRANSMIT_MIN < RETRANSMIT_FIRST && RETRANSMIT_FIRST < RETRANSMIT_MAX, "waits grow");
const _: () = assert!(FRAME_BYTES_MAX < u32::MAX as usize, "a frame's length is a u32");
const _: () = assert!(2 * FRAME_BYTES_MAX <= QUEUED_BYTES_MAX, "the largest frame fits behind another one");
const _: () = assert!(ENCRYPTED_BYTES_MAX < QUEUED_BYTES_MAX, "most of what waits is not encrypted yet");
const _: () = assert!(SLOTS_MAX < u32::BITS && SPIN_MIN < SPIN_MAX && YIELD_TIME < YIELD_LONG);
const _: () = assert!(RING_BYTES.is_power_of_two() && RING_BYTES as u64 <= RING_BYTES_MAX);
const _: () = assert!(DATAGRAM_FRAME_BYTES_MAX < DATAGRAMS_AHEAD_MAX * DATAGRAM_BYTES_MIN as usize / 2);
const _: () = assert!(DATAGRAM_FRAME_BYTES_MAX < QUEUED_BYTES_MAX && DATAGRAMS_AHEAD_MAX.is_multiple_of(64));
const _: () = assert!(WINDOW_BYTES_MIN >= DATAGRAM_BYTES[0] as usize && WINDOW_BYTES_FIRST <= WINDOW_BYTES_MAX);
const _: () = assert!(REORDERING_MIN < DATAGRAM_WAIT_MIN && 4 * DATAGRAM_WAIT_MAX <= DATAGRAM_SILENCE);
const _: () = assert!(DATAGRAM_WAIT_MIN + ACKNOWLEDGE_DELAY < DATAGRAM_WAIT_MAX && EARLY_BYTES_MAX > WINDOW_BYTES_MAX);
const _: () = assert!(PROBE_PAUSE_MIN < PROBE_PAUSE_MAX && GROUP_PROBE_PAUSE < GROUP_HEARD);
const _: () = assert!(READ_BYTES <= READ_BYTES_PER_TURN, "a turn reads at least once");
const _: () = assert!(RECONNECT_MIN < RECONNECT_MAX && RECONNECT_MAX < HANDSHAKE, "pauses are shorter than attempts");
