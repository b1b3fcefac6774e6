//! How long to wait for others, and how much to measure.

use std::time::Duration;

/// How often a process or a port that is waited for is looked at.
pub const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A server must accept statements within this time of its start.
pub const START_TIME_MAX: Duration = Duration::from_secs(60);

/// Creating a data folder, copying it, or filling the tables may take this long.
pub const PREPARE_TIME_MAX: Duration = Duration::from_secs(600);

/// A run may exceed its own duration by this much before it is ended.
pub const RUN_OVERTIME_MAX: Duration = Duration::from_secs(60);

/// What a run takes beyond its own duration, in seconds, for an estimate: the books, and starting and ending clients.
pub const RUN_OVERHEAD_SECONDS: u32 = 2;

/// A process that is asked to stop is killed after this time.
pub const STOP_TIME_MAX: Duration = Duration::from_secs(10);

/// A single statement of our own may take this long.
pub const STATEMENT_TIME_MAX: Duration = Duration::from_secs(30);

/// How many `fdatasync` calls give the disk's latency.
pub const SYNC_SAMPLES: usize = 200;

/// Bytes appended before each of them: one page of a log.
pub const SYNC_BYTES: usize = 4096;

/// For how long systems are left alone to see what they use then.
pub const IDLE_WINDOW: Duration = Duration::from_secs(5);

/// Lines of a program's output that an error shows.
pub const OUTPUT_LINES_SHOWN: usize = 15;

const _: () =
    assert!(POLL_INTERVAL.as_millis() < STOP_TIME_MAX.as_millis(), "a process is looked at before it is killed");
