//! Bounds of a site's process; times in nanoseconds of the boot clock.

pub use messages::limits::CLIENTS_MAX;
use messages::limits::{MILLISECOND, SECOND};
use std::time::Duration;

/// How often the servers are asked whether something is due.
pub const TICK: u64 = 5 * MILLISECOND;
/// Workers for long messages of clients, besides those that the configuration names. They may be busy for long, so they are more than one.
pub const LONG_WORKERS: usize = 2;
/// A session that has sent no long message for this long goes back to the worker that accepted it, with its next message.
pub const LONG_REST: u64 = SECOND;
/// How often the thread `peers` looks whether the core has had a turn,
pub const PEERS_LOOK: u64 = 5 * MILLISECOND;
/// and how long without one is too long: a first worker that has nothing to do wakes up for every tick, and may be a little late.
pub const PEERS_LATE: u64 = 2 * TICK;
/// How often the thread of leases looks what is due.
pub const LEASE_LOOK: u64 = 5 * MILLISECOND;
/// Notes that it takes before it looks again what is due.
pub const NOTES_AT_ONCE: usize = 64;
/// A peer from which no note has come for this long is spoken with by the connection as well.
pub const NOTES_HEARD: u64 = 500 * MILLISECOND;
/// It is told this often where notes are heard.
pub const LEASE_DOOR_AGAIN: u64 = 100 * MILLISECOND;
/// What keepers say by connections, and strays for the replication controller, that wait at most.
pub const LEASES_BY_CONNECTION_MAX: usize = 256;
/// Over this time is looked how much of a processor the thread of leases uses,
pub const LEASE_BUDGET_TIME: u64 = SECOND;
/// of which it may use one part in so many before it loses its priority
pub const LEASE_BUDGET_SHARE: u64 = 20;
/// for this long.
pub const LEASE_BUDGET_PAUSE: u64 = 10 * SECOND;
/// Wall time is read anew after this long, by which a step of the machine's clock is noticed later.
pub const WALL_AGE_MAX: u64 = MILLISECOND;
/// A request to the oracle for a new life is sent again after this long.
pub const INCARNATE_AGAIN: u64 = 50 * MILLISECOND;
/// How long a start leaves the processors to others before it takes them as they do.
pub const BACK_SEAT_TIME_MAX: Duration = Duration::from_secs(2);
/// How often it is looked whether something was refused for want of trust.
pub const DISTRUST_LOOK_INTERVAL: u64 = 500 * MILLISECOND;
/// What was refused for want of trust is logged at most this often.
pub const DISTRUST_LOG_INTERVAL: u64 = 30_000 * MILLISECOND;
/// How long one attempt to open the log over its memory servers takes, before it is said what is waited for.
pub const LOG_OPEN_TIME: Duration = Duration::from_secs(5);
/// How long an orderly end waits for the disk under a log that memory servers hold, and for them to forget one that is over.
pub const LOG_CLOSE_TIME: Duration = Duration::from_secs(10);
/// How long the disk may take for a log that is carried to memory servers.
pub const LOG_CARRY_TIME: Duration = Duration::from_secs(600);
/// Connections beyond those that are told that there are too many, or may cancel a statement; still more are dropped without a word.
pub const REFUSALS_MAX: usize = 64;
/// Clients of a process that have not shown who they are, divided among its workers; of more the one that has had longest to do so goes.
pub const UNKNOWN_CLIENTS_MAX: usize = 256;
/// A silent client's host is probed after this long, and then as often.
pub const CLIENT_KEEPALIVE: Duration = Duration::from_secs(5);
/// Probes without an answer after which a client's host has vanished.
pub const CLIENT_KEEPALIVE_PROBES: u32 = 3;
/// Open files that a site may need: clients, peers, log segments, and what the store keeps open.
pub const OPEN_FILES: u64 = 8_192;
/// Bytes read from one client in one turn of the event loop.
pub const CLIENT_READ_BYTES: usize = 64 << 10;
/// Bytes read from one client by one call of the operating system.
pub const CLIENT_READ_BYTES_AT_ONCE: usize = 16 << 10;
/// Bytes of output that may wait for one client before nothing more is read from it.
pub const CLIENT_OUTPUT_BYTES_MAX: usize = 16 << 20;
/// Events taken from the operating system at once.
pub const EVENTS_PER_TURN: usize = 1_024;
/// Queries that are planned at a time; more wait.
pub const PLANNERS_MAX: usize = 32;
/// Threads that wait for queries to plan even when there are none for long.
pub const PLANNERS_KEPT: usize = 2;
/// How long other such threads wait.
pub const PLANNER_IDLE_TIME: Duration = Duration::from_secs(10);
/// Processor time that planning a query may take; then it ends with 54001. On a busy machine that is a small part of the time that passes.
pub const PLANNING_TIME_MAX: Duration = Duration::from_secs(10);
/// How often that is looked at.
pub const PLANNING_LOOK: Duration = Duration::from_millis(500);
/// How much a thread that plans gives way to others, as `nice` counts it.
pub const PLANNER_NICE: i32 = 10;
/// Threads that execute queries.
pub const EXECUTORS: usize = 4;
/// All queries together may hold one part in so many of the machine's memory.
pub const QUERY_MEMORY_SHARE: usize = 4;
/// Bytes of the stack of a thread that plans or executes queries: a deep syntax tree and its plan are walked on it. Only what is used takes memory.
pub const QUERY_STACK_BYTES: usize = 2 * sql_syntax::limits::STACK_BYTES;
/// Bytes of row versions kept in memory unless the configuration says otherwise.
pub const MEMORY_BYTES_DEFAULT: usize = 512 << 20;

const _: () =
    assert!(WALL_AGE_MAX / 1_000 < messages::limits::CLOCK_JUMP_MICROS_MAX, "a clock that is noticed late is believed");
const _: () = assert!(DISTRUST_LOOK_INTERVAL < DISTRUST_LOG_INTERVAL, "what is new is told soon, what goes on seldom");
/// Bytes of a trace of messages that are kept before they are written,
pub const TRACE_BUFFER_BYTES: usize = 256 << 10;
/// and bytes after which it ends.
pub const TRACE_BYTES_MAX: u64 = 2 << 30;
/// Bytes of one piece of what two processes of a site say to each other.
pub const LINE_BYTES: u32 = 1 << 20;
/// Bytes of room that is kept for replies; what was larger is given back.
pub const LINE_BYTES_KEPT: usize = 4 << 20;
/// A server's process that has not answered for this long is lost.
pub const CALL_TIME_MAX: Duration = Duration::from_secs(30);
/// A process on another host that has not answered for this long is lost: either it, or what is between, does not work, and the site is missed.
pub const HOST_SILENCE_MAX: Duration = Duration::from_secs(3);
/// How long it may take until a site and a process on another host know each other, and how long each write between them may wait later.
pub const HOST_GREETING_MAX: Duration = Duration::from_secs(1);
/// Connections to a process that waits for servers, which have not said who they are; one more is closed.
pub const HOST_STRANGERS_MAX: usize = 16;
/// How often such a process looks whether it is to end.
pub const HOST_LOOK: Duration = Duration::from_millis(200);
/// How long a server's process may take from its start until it can be called; then it is ended.
pub const PROCESS_START_MAX: Duration = Duration::from_secs(10);
/// How long a server's process may take to end when the site's has ended its line; then it is killed.
pub const PROCESS_END_MAX: Duration = Duration::from_secs(5);
/// How often is looked whether a process has ended, or what it held is free.
pub const PROCESS_LOOK: Duration = Duration::from_millis(1);
/// Losses of servers within [`LOSSES_TIME`] after which the site stops instead of beginning another life.
pub const LOSSES_MAX: usize = 10;
/// See [`LOSSES_MAX`].
pub const LOSSES_TIME: u64 = 60 * SECOND;
/// How long the user interface's process waits at the door before it asks again.
pub const DOOR_WAIT: Duration = Duration::from_millis(500);
/// How often that process tells what its workers have counted.
pub const COUNTS_TOLD: u64 = 250 * MILLISECOND;
/// Without a turn for this long, the site's servers hang: whoever looks after processes is told so.
pub const LOOP_SILENCE_MAX: Duration = Duration::from_secs(10);
/// Outputs of the site's servers that may wait for the user interface's process, and in it for one before them. A session has one request under
/// way, so that more mean that the process does not take them: it ends, and the site begins a new life with another.
pub const OUTPUTS_WAITING_MAX: usize = 1 << 16;
/// How long the process before may take to let go of the store.
pub const STORE_FREE_MAX: Duration = Duration::from_secs(3);
/// How long a store that changes hands may take to write what is under way.
pub const STORE_CLOSE_MAX: Duration = Duration::from_secs(10);
/// How often is looked whether it has.
pub const STORE_CLOSE_LOOK: Duration = Duration::from_millis(1);
/// How long a move waits for a checkpoint, after which less is to be moved.
pub const PREPARE_TIME_MAX: Duration = Duration::from_secs(20);
/// How often is looked whether it is done.
pub const PREPARE_LOOK: Duration = Duration::from_millis(5);
/// How long whoever gives an order may take to say it.
pub const ORDER_TIME_MAX: Duration = Duration::from_secs(1);
/// Bytes of an order.
pub const ORDER_BYTES_MAX: u64 = 8_192;
/// A snapshot leaves free one part of so many of the disk that it is written to,
pub const SNAPSHOT_FREE_SHARE: u64 = 10;
/// and needs no more than so many bytes of it: a tenth of a large disk is more than sites need to go on.
pub const SNAPSHOT_FREE_MAX: u64 = 4 << 30;
/// Bytes of log that are kept for a snapshot; with more it is given up.
pub const SNAPSHOT_LOG_MAX: u64 = 1 << 30;
/// Bytes of log that a snapshot reads at once, while the site stands still.
pub const SNAPSHOT_LOG_CHUNK: usize = 256 << 10;
/// How long a snapshot waits for a site that changes its epoch to serve again, after which it begins anew.
pub const SNAPSHOT_SERVES_MAX: Duration = Duration::from_secs(15);
/// How often a snapshot is begun anew, because the site has begun a new life, or did not serve.
pub const SNAPSHOT_TRIES_MAX: u32 = 5;
/// How long it rests before.
pub const SNAPSHOT_PAUSE: Duration = Duration::from_secs(2);
/// How often is looked whether a snapshot of the schedule is due.
pub const SCHEDULE_LOOK: Duration = Duration::from_millis(500);
/// How long the schedule rests after a snapshot that could not be taken, at least
pub const SCHEDULE_PAUSE_MIN: Duration = Duration::from_secs(5);
/// and at most; between them a quarter of the time between two.
pub const SCHEDULE_PAUSE_MAX: Duration = Duration::from_secs(600);
/// How long a snapshot waits for the outcomes of what is open at its cut.
pub const SNAPSHOT_OPEN_MAX: Duration = Duration::from_secs(30);

const _: () = assert!(
    OUTPUTS_WAITING_MAX > 16 * (CLIENTS_MAX + REFUSALS_MAX),
    "every client may have its answer several times over"
);
const _: () = assert!(UNKNOWN_CLIENTS_MAX < CLIENTS_MAX, "strangers leave places for clients");
const _: () = assert!(LINE_BYTES <= raidcomm::limits::SLOT_BYTES_MAX && LINE_BYTES > 1);
const _: () = assert!(
    PROCESS_END_MAX.as_nanos() < PROCESS_START_MAX.as_nanos(),
    "a process may have to wait for the port of the one before it"
);
const _: () = assert!(HOST_GREETING_MAX.as_nanos() < HOST_SILENCE_MAX.as_nanos());
const _: () = assert!(
    HOST_SILENCE_MAX.as_nanos() < CALL_TIME_MAX.as_nanos(),
    "the network fails more often than a process hangs"
);
const _: () = assert!(TICK < PEERS_LATE && PEERS_LOOK + PEERS_LATE < messages::LeaseLength::MIN.renewal());
const _: () = assert!(STORE_CLOSE_MAX.as_nanos() < CALL_TIME_MAX.as_nanos(), "a store is closed within one call");
const _: () =
    assert!(OPEN_FILES as usize > 4 * (CLIENTS_MAX + REFUSALS_MAX), "clients leave room for the store's files");
/// How often is looked whether there is log for the archive.
pub const ARCHIVE_LOOK: Duration = Duration::from_millis(250);
/// How often the archive notes that the site serves, while nothing is logged.
pub const ARCHIVE_MARKS: Duration = Duration::from_secs(1);
/// How long the archive rests after an error.
pub const ARCHIVE_PAUSE: Duration = Duration::from_secs(5);
/// Bytes of a file of the archive, beyond which another one begins.
pub const ARCHIVE_FILE_BYTES: u64 = 64 << 20;
/// Events of sessions that wait for the audit log; beyond, they are counted and lost.
pub const AUDIT_EVENTS_MAX: usize = 10_000;
/// Bytes of a file of the audit log, beyond which another one begins.
pub const AUDIT_FILE_BYTES: u64 = 16 << 20;
/// So many files of the audit log are kept.
pub const AUDIT_FILES: u32 = 8;
/// How often is told that the audit log cannot be written.
pub const AUDIT_COMPLAINTS: Duration = Duration::from_secs(60);

/// What all queries of the site together may hold.
pub fn query_memory_bytes() -> usize {
    let told = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let total = told.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kibibytes = total.and_then(|total| total.trim().trim_end_matches(" kB").parse::<usize>().ok());
    let share = kibibytes.map_or(0, |kibibytes| (kibibytes << 10) / QUERY_MEMORY_SHARE);
    share.max(query::limits::STATEMENT_MEMORY_MAX)
}
