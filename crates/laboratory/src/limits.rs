//! Bounds of loads and experiments.

use std::time::Duration;

/// How long a client waits for a connection.
pub const CONNECT_TIME_MAX: Duration = Duration::from_secs(2);
/// The first pause of a client whose transaction was refused; each further one is up to twice as long.
pub const RETRY_PAUSE_MIN: Duration = Duration::from_micros(200);
/// The longest such pause.
pub const RETRY_PAUSE_MAX: Duration = Duration::from_millis(20);
/// The pause of a client that found no site to connect to.
pub const RECONNECT_PAUSE: Duration = Duration::from_millis(20);
/// Clients of one load.
pub const CLIENTS_MAX: usize = 500;
/// How often the tables are filled anew when a site is lost meanwhile.
pub const LOAD_ATTEMPTS_MAX: usize = 6;
/// Bytes of COPY data handed over at once.
pub const COPY_BYTES: usize = 64 << 10;
/// Largest scale of the DebitCredit tables: account numbers stay below 2^31.
pub const SCALE_MAX: u32 = 20_000;
/// Findings of an audit that are named one by one; the others are only counted.
pub const FINDINGS_SHOWN: usize = 5;

/// How long a returning site may take until it serves, and until it is repaired.
pub const RETURN_TIME_MAX: Duration = Duration::from_secs(120);
/// How long the sites may take until their stores have what their logs say, after the tables were loaded.
pub const POST_TIME_MAX: Duration = Duration::from_secs(300);
/// How often a site that comes back is asked whether it answers.
pub const ASK_INTERVAL: Duration = Duration::from_millis(1);
/// How long survivors may take to commit again after a kill. The goal is 1 s; more is shown, this ends the demonstration.
pub const RESUME_TIME_MAX: Duration = Duration::from_secs(60);
/// How long clients may take to end their last transaction.
pub const CLIENTS_END_TIME_MAX: Duration = Duration::from_secs(60);
/// How often a surviving site is asked for a row, and for a change of one, while another is killed.
pub const POLL_INTERVAL: Duration = Duration::from_millis(1);
/// Answers that each poller has before a kill, at least; up to twice as many, so that kills come at any time between two renewals of a lease;
/// and after the survivors serve again.
pub const POLLS_AROUND: u64 = 200;
/// How long the rate of clients is watched before a site comes back, and after it.
pub const DIP_WATCH: Duration = Duration::from_secs(3);
/// Syncs of which the median is shown.
pub const SYNC_SAMPLES: usize = 64;

/// How often the sites are measured during a soak.
pub const SAMPLE_INTERVAL: Duration = Duration::from_secs(1);
/// In each turn of a soak a site is killed after so long,
pub const SOAK_KILL_AFTER: Duration = Duration::from_secs(10);
/// is started again after so long,
pub const SOAK_RETURN_AFTER: Duration = Duration::from_secs(20);
/// and the load ends after so long, so that the books can be closed,
pub const SOAK_LOAD: Duration = Duration::from_secs(50);
/// before the turn is over.
pub const SOAK_TURN: Duration = Duration::from_secs(60);
/// How long a long reader stays.
pub const LONG_READER: Duration = Duration::from_secs(15);
/// How often it looks whether it still sees the same.
pub const LONG_READER_LOOKS: Duration = Duration::from_millis(500);
/// So many parts of a soak's samples are put aside as warm-up, compared, and compared with that.
pub const SOAK_PARTS: usize = 3;
/// A soak is flat if the last part's median is at most so many percent of that of the part before it,
pub const FLAT_PERCENT: u64 = 120;
/// or higher by no more than this, in bytes of memory or disk,
pub const FLAT_BYTES: u64 = 8 << 20;
/// or in file descriptors or threads.
pub const FLAT_COUNT: u64 = 8;

/// While rows are loaded and read that memory cannot hold, disk is needed for so many percent of their bytes,
pub const LARGER_DISK_PERCENT: u64 = 160;
/// and so much beside, for the log and what runs out last.
pub const LARGER_DISK_BESIDE: u64 = 2 << 30;
/// How long the store may take to have what was loaded.
pub const LARGER_POST_TIME_MAX: Duration = Duration::from_secs(900);
/// How often the site's memory is measured meanwhile.
pub const LARGER_LOOK_INTERVAL: Duration = Duration::from_millis(100);
/// Most rows: their keys are of 31 bits.
pub const LARGER_ROWS_MAX: u64 = 2_000_000_000;

const _: () = assert!(RETRY_PAUSE_MIN.as_nanos() < RETRY_PAUSE_MAX.as_nanos());
const _: () = assert!(
    SOAK_KILL_AFTER.as_nanos() < SOAK_RETURN_AFTER.as_nanos()
        && SOAK_RETURN_AFTER.as_nanos() + LONG_READER.as_nanos() < SOAK_LOAD.as_nanos()
        && SOAK_LOAD.as_nanos() < SOAK_TURN.as_nanos()
);
const _: () = assert!(SCALE_MAX as u64 * 100_000 < 1 << 31);

/// Rows between which clients of the experiment on methods move something.
pub const ADAPT_ROWS: u64 = 100_000;
/// Of them, those that thinkers read, and small writers change.
pub const ADAPT_SCANNED: u64 = 3_000;
/// How long such a client thinks.
pub const ADAPT_THINK_TIME: Duration = Duration::from_millis(50);
/// How long a fixed method has before its commits are counted, in seconds.
pub const ADAPT_SETTLE_SECONDS: u64 = 1;
