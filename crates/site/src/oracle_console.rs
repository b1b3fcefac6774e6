//! The console of an oracle: its metrics and its health, if its configuration says where.
//!
//! Invariant: the oracle writes what it tells after each of its turns, and never waits for whoever reads it.

use crate::{clock, limits};
use commit_log::LogStatus;
use console::{ConsoleSource, Exposition, Health};
use messages::epoch::{Epoch, MemberState};
use metrics::EventCounter;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// What an oracle tells.
#[derive(Debug, Default)]
pub(crate) struct OracleCounts {
    pub(crate) requests: EventCounter,
    turned_at: EventCounter,
    epoch: EventCounter,
    up: EventCounter,
    recovering: EventCounter,
    log_bytes: EventCounter,
    log_syncs: EventCounter,
    log_sync_us: EventCounter,
}

impl OracleCounts {
    /// The oracle had a turn.
    pub(crate) fn turned(&self, epoch: Option<&Epoch>, log: &LogStatus) {
        self.turned_at.set(clock::boot());
        let members =
            |state| epoch.map_or(0, |epoch| epoch.members.values().filter(|member| member.state == state).count());
        self.epoch.set(epoch.map_or(0, |epoch| epoch.number.0));
        self.up.set(members(MemberState::Up) as u64);
        self.recovering.set(members(MemberState::Recovering) as u64);
        self.log_bytes.set(log.bytes_appended);
        self.log_syncs.set(log.syncs);
        self.log_sync_us.set(log.sync_latency_us_total);
    }

    /// Serves a console until `stop` is set.
    ///
    /// # Errors
    /// The address is taken, or not ours.
    pub(crate) fn serve(self: &Arc<Self>, address: SocketAddr, stop: &Arc<AtomicBool>) -> Result<(), String> {
        let text = |error: std::io::Error| format!("the oracle's console at {address}: {error}");
        let listener = TcpListener::bind(address).map_err(text)?;
        let (counts, stop) = (OracleConsole(self.clone()), stop.clone());
        let run = move || {
            if let Err(error) = console::serve(listener, &counts, &|| stop.load(Ordering::SeqCst)) {
                tracing::error!(%error, "the console ends: nobody is told how the oracle is");
            }
        };
        std::thread::Builder::new().name("console".to_owned()).spawn(run).map(drop).map_err(text)
    }
}

struct OracleConsole(Arc<OracleCounts>);

impl ConsoleSource for OracleConsole {
    fn status(&self) -> Option<String> {
        None
    }

    fn metrics(&self) -> String {
        let OracleCounts { requests, epoch, up, recovering, log_bytes, log_syncs, log_sync_us, .. } = &*self.0;
        let mut to = Exposition::default();
        let number = |counter: &EventCounter| counter.get() as f64;
        to.gauge("raid_oracle_epoch", "The number of the epoch in the register.", number(epoch));
        let members = [("up", up), ("recovering", recovering)];
        let members = members.map(|(state, count)| (vec![("state", state.to_owned())], number(count)));
        to.gauges("raid_oracle_epoch_members", "Members of that epoch, by state.", members);
        to.counter("raid_oracle_requests_total", "Requests of sites.", number(requests));
        to.counter("raid_oracle_log_appended_bytes_total", "Bytes appended to the oracle's log.", number(log_bytes));
        to.counter("raid_oracle_log_syncs_total", "Syncs of that log.", number(log_syncs));
        to.counter("raid_oracle_log_sync_seconds_total", "How long they took together.", number(log_sync_us) / 1e6);
        to.text()
    }

    fn live(&self) -> Health {
        let silence = Duration::from_nanos(clock::boot().saturating_sub(self.0.turned_at.get()));
        match silence > limits::LOOP_SILENCE_MAX {
            true => Err(format!("the oracle has had no turn for {} s", silence.as_secs())),
            false => Ok("the oracle lives".to_owned()),
        }
    }

    fn ready(&self) -> Health {
        self.live()
    }
}
