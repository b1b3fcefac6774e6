//! The thread that takes the core's turns while the first worker does not: other sites wait for no statement that a worker is busy with.
//!
//! Usually it only looks at the clock: whoever is awake does the work, and nobody is woken for it. Invariant: it sees no byte of a client.

use super::TOKEN_CORE;
use crate::shared::SiteShared;
use crate::{clock, limits};
use mio::{Events, Poll};
use std::sync::Arc;
use std::time::Duration;

/// A poll that tells of what comes for the core.
pub(super) fn poll(shared: &SiteShared) -> std::io::Result<Option<Poll>> {
    let Some(core) = shared.core() else { return Ok(None) };
    let poll = Poll::new()?;
    core.watch(poll.registry(), TOKEN_CORE)?;
    Ok(Some(poll))
}

/// Runs until the site stops.
pub(super) fn run(shared: &Arc<SiteShared>, mut poll: Poll) {
    let mut events = Events::with_capacity(1);
    let look = Duration::from_nanos(limits::PEERS_LOOK);
    let mut ticked_at = 0;
    while !shared.stops() {
        let now = clock::boot();
        if shared.without_turn(now) < limits::PEERS_LATE {
            std::thread::sleep(look);
            continue;
        }
        let tick = now >= ticked_at + limits::TICK;
        if tick {
            ticked_at = now;
        }
        shared.take_turn(tick);
        // While the first worker is still away, whatever comes from others is looked at at once. Interrupted, or not: the next round looks.
        let _ = poll.poll(&mut events, Some(look));
    }
}
