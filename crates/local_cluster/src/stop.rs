//! A flag that Ctrl-C and SIGTERM set.
//!
//! Invariant: the first signal asks for an orderly end; a second one of the same command ends it at once.

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag::{register, register_conditional_shutdown};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What a shell calls a command that SIGINT ended.
const STATUS_INTERRUPTED: i32 = 130;

/// Makes the flag.
pub fn on_signal() -> Result<Arc<AtomicBool>, String> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // In this order: the shutdown acts only if an earlier signal has set the flag.
        register_conditional_shutdown(signal, STATUS_INTERRUPTED, stop.clone())
            .and_then(|_| register(signal, stop.clone()))
            .map_err(|error| format!("signals cannot be handled: {error}"))?;
    }
    Ok(stop)
}

/// For a process that ends with another one: Ctrl-C on their terminal, or SIGTERM to all that a service runs, means that one, which ends this
/// one in its time.
pub fn with_parent() -> Result<(), String> {
    for signal in [SIGINT, SIGTERM] {
        let passed_over = Arc::new(AtomicBool::new(false));
        register(signal, passed_over).map_err(|error| format!("signals cannot be handled: {error}"))?;
    }
    Ok(())
}
