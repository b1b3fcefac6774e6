//! Bounds of clusters on one machine.

use std::time::Duration;

/// What the names of traces end in.
pub use site::trace_file::SUFFIX as TRACE_FILE_SUFFIX;
/// Folders that are looked through for traces at once.
pub const TRACE_FOLDERS_MAX: usize = 1_000;

/// Sites of one cluster.
pub const SITES_MAX: u16 = 16;
/// How often a cluster's processes, orders and states are looked at.
pub const LOOK_INTERVAL: Duration = Duration::from_millis(20);
/// How long the processes of a cluster may take until every site serves.
pub const START_TIME_MAX: Duration = Duration::from_secs(120);
/// How long a process may take to end when asked to, before it is killed.
pub const STOP_TIME_MAX: Duration = Duration::from_secs(10);
/// How long an order may wait until the cluster takes it.
pub const ORDER_TIME_MAX: Duration = Duration::from_secs(15);
/// How long an order to roll back may take: all processes end, and the data are moved.
pub const ROLLBACK_TIME_MAX: Duration = Duration::from_secs(120);
/// A process that dies sooner than this after its start is started again only after a pause.
pub const SHORT_LIFE: Duration = Duration::from_secs(10);
/// The first such pause; each further one is twice as long.
pub const RESTART_PAUSE_MIN: Duration = Duration::from_millis(200);
/// The longest such pause.
pub const RESTART_PAUSE_MAX: Duration = Duration::from_secs(10);
/// A process with less free space than this on its disk, in bytes, is not started again: its log takes room in pieces of this size.
pub const ROOM_MIN: u64 = 1 << 20;
/// A log text longer than this is put aside when its process starts.
pub const LOG_TEXT_BYTES_MAX: u64 = 16 << 20;
/// Lines of a log text that are shown when its process died.
pub const LOG_LINES_SHOWN: usize = 8;
/// Bytes of a log text that are read for them.
pub const LOG_TAIL_BYTES: u64 = 8 << 10;
/// Ports for sites and oracle are taken from here: below the range from which Linux gives ports to outgoing connections, so that no
/// connection of another program holds a site's port when it starts again.
pub const PORTS: std::ops::Range<u16> = 10_000..32_000;

/// The stores of the sites have what their logs say when a start would read no more log than this, in bytes.
pub const POSTED_BYTES: u64 = 1 << 20;

/// How often the progress line is drawn on a terminal.
pub const DRAW_INTERVAL: Duration = Duration::from_millis(200);
/// How often progress is printed where there is no terminal.
pub const PRINT_INTERVAL: Duration = Duration::from_secs(2);

const _: () = assert!(RESTART_PAUSE_MIN.as_nanos() < RESTART_PAUSE_MAX.as_nanos());
const _: () = assert!(LOOK_INTERVAL.as_nanos() < ORDER_TIME_MAX.as_nanos());
// An order to kill may find the cluster busy with stopping a process.
const _: () = assert!(STOP_TIME_MAX.as_nanos() < ORDER_TIME_MAX.as_nanos());
const _: () = assert!(ORDER_TIME_MAX.as_nanos() < ROLLBACK_TIME_MAX.as_nanos());
