//! Bounds of a console.

use std::time::Duration;

/// Bytes of a request.
pub const REQUEST_BYTES_MAX: usize = 8 << 10;
/// Headers of a request.
pub const HEADERS_MAX: usize = 64;
/// Connections at a time. One more takes the place of the one that has waited longest for its client to say something.
pub const CONNECTIONS_MAX: usize = 32;
/// How long a connection lasts until its client has said what it wants, and again until it has taken the answer.
pub const CONNECTION_TIME_MAX: Duration = Duration::from_secs(5);
/// How often is looked for connections that have lasted too long, and whether the process ends.
pub const LOOK: Duration = Duration::from_millis(200);
/// Bytes read from a connection at once.
pub const READ_BYTES: usize = 4 << 10;

const _: () = assert!(READ_BYTES <= REQUEST_BYTES_MAX && LOOK.as_nanos() < CONNECTION_TIME_MAX.as_nanos());
