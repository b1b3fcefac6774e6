//! What it costs to start a site that was killed: its log is read back into the servers.
//!
//! Log and store are in memory, so that only the servers count, and what lies between the log and them. To count instructions:
//! `valgrind --tool=callgrind --toggle-collect='*replay::start*' PROGRAM --replay`.

use crate::cluster::Cluster;
use access_manager::MemoryStore;
use commit_log::{Log, MemoryLog};
use domain::{Domain, DomainSettings};
use std::error::Error;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Starts of which the quickest is told: the machine may have other things to do.
const STARTS: usize = 5;

/// Kills the last site of the cluster and starts it, again and again.
pub fn measure(cluster: Cluster) -> Result<(), Box<dyn Error>> {
    let (settings, mut log, bytes, store) = cluster.into_crashed();
    let (mut quickest, mut records) = (Duration::MAX, 0);
    let first = log.appended().0 - bytes;
    for entry in log.read_from(log.first()) {
        records += u64::from(entry?.0.0 >= first);
    }
    for _ in 0..STARTS {
        let begun = Instant::now();
        let started = start(settings.clone(), log, store.reopened())?;
        quickest = quickest.min(begun.elapsed());
        log = started.into_log();
    }
    let seconds = quickest.as_secs_f64();
    println!(
        "{records} records of {bytes} bytes in {:.1} ms: {:.1} MB/s, {:.0} ns a record",
        seconds * 1e3,
        bytes as f64 / 1e6 / seconds,
        seconds * 1e9 / records as f64
    );
    Ok(())
}

#[inline(never)]
fn start(
    settings: DomainSettings,
    log: MemoryLog,
    store: MemoryStore,
) -> Result<Domain<MemoryLog>, domain::DomainStartError> {
    black_box(Domain::start(settings, log, Box::new(store)))
}
