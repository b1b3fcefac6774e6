//! Bounds of the commands.

use std::time::Duration;

/// How often `raid status --watch` looks.
pub const WATCH_INTERVAL: Duration = Duration::from_secs(1);
/// How long `raid restart` waits until the site serves.
pub const SERVE_TIME_MAX: Duration = Duration::from_secs(60);
/// How long a site may take to let `raid method` in.
pub const CONNECT_TIME_MAX: Duration = Duration::from_secs(5);
/// How long `raid method set` waits until all sites that answer run the method.
pub const METHOD_TIME_MAX: Duration = Duration::from_secs(2);
/// How often a command looks whether what it waits for has come.
pub const LOOK_INTERVAL: Duration = Duration::from_millis(20);
/// How long a memory server may take to say how it is.
pub const MEMORY_STATUS_TIME_MAX: Duration = Duration::from_secs(5);
/// How long a site or oracle may take to end when whoever started it is gone.
pub const ORPHAN_TIME_MAX: Duration = Duration::from_secs(10);

const _: () = assert!(LOOK_INTERVAL.as_nanos() < WATCH_INTERVAL.as_nanos());
