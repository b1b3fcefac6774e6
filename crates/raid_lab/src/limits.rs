//! Bounds of the commands.

use std::time::Duration;

/// How often a command looks whether what it waits for has come.
pub const LOOK_INTERVAL: Duration = Duration::from_millis(20);
