//! Measures what an append costs: `cargo bench -p commit_log --bench append -- [folder] [seconds]`.
//!
//! Prints nanoseconds per append of 300 bytes and MB/s, first without any sync, then with a sync always under way.

use std::error::Error;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use commit_log::{Log, LogError, LogIdentity, LogOptions, MappedLog};

const RECORD: [u8; 300] = [0x5a; 300];
/// Appends between two looks at the clock.
const BATCH: u32 = 1000;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1).filter(|word| word != "--bench");
    let temporary = tempfile::tempdir()?;
    let folder = arguments.next().map_or_else(|| temporary.path().to_path_buf(), PathBuf::from);
    let seconds: f64 = arguments.next().map_or(Ok(2.0), |text| text.parse())?;
    for syncing in [false, true] {
        measure(&folder, Duration::from_secs_f64(seconds), syncing)?;
    }
    Ok(())
}

fn measure(folder: &std::path::Path, duration: Duration, syncing: bool) -> Result<(), LogError> {
    let (mut log, _) = MappedLog::open(folder, LogOptions::new(LogIdentity { instance: 1, site: 1 }))?;
    let started = Instant::now();
    let (mut appends, mut slowest) = (0_u32, Duration::ZERO);
    while started.elapsed() < duration {
        let batch = Instant::now();
        for _ in 0..BATCH {
            match log.append(&RECORD) {
                Ok(_) => appends += 1,
                Err(LogError::Behind { .. }) => log.sync_now()?,
                Err(error) => return Err(error),
            }
        }
        slowest = slowest.max(batch.elapsed());
        log.truncate_before(log.synced())?;
        if syncing {
            log.request_sync();
        }
    }
    let elapsed = started.elapsed();
    let status = log.status();
    println!(
        "{}: {:.0} ns per append of {} bytes, {:.0} MB/s, slowest {BATCH} appends {:.1} ms, {} syncs, longest {:.1} ms",
        if syncing { "syncing all the time" } else { "syncing full segments" },
        elapsed.as_nanos() as f64 / f64::from(appends),
        RECORD.len(),
        status.bytes_appended as f64 / elapsed.as_secs_f64() / 1e6,
        slowest.as_secs_f64() * 1e3,
        status.syncs,
        status.sync_latency_us_max as f64 / 1e3,
    );
    log.close()
}
