//! The console of a site: what it tells to whoever connects, on a thread of its own.
//!
//! Invariant: whether the site lives is told without the core's lock, so that whoever holds it for ever is found out.

use crate::config::SiteConfig;
use crate::shared::SiteShared;
use crate::status::{RECOVERING, Status};
use crate::{clock, limits, measures};
use console::{ConsoleSource, Health};
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

/// Serves the console until the site ends.
///
/// # Errors
/// There is no thread for it.
pub(crate) fn serve(config: &Arc<SiteConfig>, shared: &Arc<SiteShared>, listener: TcpListener) -> Result<(), String> {
    let site = SiteConsole { config: config.clone(), shared: shared.clone(), began_us: clock::wall_micros() };
    let run = move || {
        if let Err(error) = console::serve(listener, &site, &|| site.shared.stops()) {
            tracing::error!(%error, "the console ends: nobody is told how the site is");
        }
    };
    let thread = std::thread::Builder::new().name("console".to_owned()).spawn(run);
    thread.map(drop).map_err(|error| format!("no thread for the console: {error}"))
}

struct SiteConsole {
    config: Arc<SiteConfig>,
    shared: Arc<SiteShared>,
    /// When the process began: microseconds since 1970.
    began_us: u64,
}

impl ConsoleSource for SiteConsole {
    fn status(&self) -> Option<String> {
        Some(self.shared.status(&self.config).to_json())
    }

    fn metrics(&self) -> String {
        let counts = self.shared.counts(&self.config);
        let ready = readiness(&counts.status).is_ok();
        measures::exposition(&self.config, &counts, ready, self.began_us).text()
    }

    fn live(&self) -> Health {
        let silence = Duration::from_nanos(self.shared.without_turn(clock::boot()));
        match silence > limits::LOOP_SILENCE_MAX {
            true => Err(format!("the site's servers have had no turn for {} s", silence.as_secs())),
            false => Ok(format!("site {} lives", self.config.id)),
        }
    }

    fn ready(&self) -> Health {
        readiness(&self.shared.status(&self.config))
    }
}

/// Whether clients are to be sent to a site that is so.
fn readiness(status: &Status) -> Health {
    let site = status.site;
    match &status.refusal {
        Some(reason) => Err(format!("site {site} is {}: {reason}", status.state)),
        None if status.epoch == 0 => Err(format!("site {site} is {}: it knows no epoch", status.state)),
        None if status.state == RECOVERING => {
            Err(format!("site {site} is recovering: {} rows of its copy are stale", status.stale))
        }
        None => Ok(format!("site {site} serves in epoch {}", status.epoch)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(state: &str, epoch: u64, refusal: Option<&str>) -> Status {
        let refusal = refusal.map(ToOwned::to_owned);
        Status { site: 3, state: state.to_owned(), epoch, refusal, stale: 7, ..Status::default() }
    }

    /// Clients would be sent to a site that refuses them, or kept from one that serves.
    #[test]
    fn a_site_is_ready_while_it_serves() {
        assert_eq!(readiness(&status("up", 4, None)), Ok("site 3 serves in epoch 4".to_owned()));
        let not = |status: Status| readiness(&status).expect_err("it is not ready");
        assert_eq!(not(status("sealed", 4, Some("no leases"))), "site 3 is sealed: no leases");
        assert_eq!(not(status("up", 0, None)), "site 3 is up: it knows no epoch");
        assert_eq!(not(status(RECOVERING, 4, None)), "site 3 is recovering: 7 rows of its copy are stale");
    }
}
