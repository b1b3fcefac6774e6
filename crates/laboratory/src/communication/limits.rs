//! How much is measured, and how long is waited. Times are in milliseconds.

/// Rounds, unless the user says otherwise.
pub const ROUNDS: u32 = 5;
/// Most rounds.
pub const ROUNDS_MAX: u32 = 1_000;
/// How long one measurement of a round takes.
pub const ROUND_TIME: u64 = 100;
/// And beside a busy neighbour: many time slices of a scheduler, so that each measurement has its share of them, and those that a method
/// loses once, until it knows that it has a neighbour, weigh little.
pub const ROUND_TIME_BESIDE: u64 = 1_000;
/// Calls before a measurement.
pub const WARM_UP: u32 = 500;
/// A warm-up of slow calls ends after this long.
pub const WARM_UP_TIME: u64 = 20;
/// Calls between two looks at the clock.
pub const CALLS_PER_LOOK: u32 = 64;
/// From the start of a process until it must be ready.
pub const START_TIME: u64 = 10_000;
/// Bytes of the longest message of an experiment.
pub const BYTES_MAX: usize = 500_000;
/// Bytes that one System V or POSIX queue carries in a message, as Linux has them from the start.
pub const QUEUE_BYTES_MAX: usize = 8_192;
/// Bytes of the largest datagram over IP (RFC 768: the header's length counts itself and its IP header).
pub const DATAGRAM_BYTES_MAX: usize = 65_507;
/// Bytes that a receiver of datagrams keeps until they are taken, if it may: all fragments of the longest message, each with the kernel's own
/// bookkeeping.
pub const RECEIVE_BYTES: usize = 8 << 20;
/// A datagram that is lost is asked for again after this long.
pub const LOST_TIME: u64 = 200;
/// How often it is, before the measurement is given up.
pub const LOST_MAX: u32 = 5;
/// Sends between two looks at the clock where sending alone is measured: as many as a line has slots.
pub const BURST: u32 = 31;
/// Blocks that a pipe holds before its writers wait.
pub const PIPE_BLOCKS_MAX: usize = 4;
/// Bytes that memory of two processes has beside those of the message.
pub const HEAD_BYTES: usize = 256;

const _: () = assert!(
    WARM_UP_TIME < ROUND_TIME
        && ROUND_TIME <= ROUND_TIME_BESIDE
        && ROUND_TIME_BESIDE < START_TIME
        && START_TIME < laboratory_harness::limits::SILENCE_TIME,
    "times grow"
);
const _: () = assert!(BURST <= raidcomm::limits::SLOTS_MAX, "a burst has a slot for each of its messages");
const _: () = assert!(BYTES_MAX <= raidcomm::limits::SLOT_BYTES_MAX as usize, "a line carries the longest message");
