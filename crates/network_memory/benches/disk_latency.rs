//! What a commit costs when all memory servers are dead, beside a plain write and sync of the same bytes, in turns.
//!
//! `cargo bench -p network_memory --bench disk_latency -- [rounds] [folder]`. Both files lie in the folder, without one in a
//! temporary folder beside the program's own directory, because what is mounted at `/tmp` may be no disk. The plain file is as long as it will
//! be from the start, so that its syncs have no metadata to write, as the log's.

#[path = "common/spread.rs"]
mod spread;

use network_memory::host::local_servers::LocalServers;
use network_memory::host::remote_log::{LogTerms, RemoteLog};
use network_memory::names::RecordReceipt;
use network_memory::writer::Intent;
use spread::Spread;
use std::error::Error;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const RECORD: [u8; 128] = [0x5a; 128];
/// What stands around a record in the local log: the plain file is given as much.
const ENTRY_BYTES: usize = 128 + 56;
const PATIENCE: Duration = Duration::from_secs(30);
const SERVERS: usize = 2;

type Failure = Box<dyn Error>;

fn main() -> Result<(), Failure> {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let rounds: usize = words.first().map_or(Ok(5_000), |word| word.parse())?;
    let temporary = tempfile::tempdir_in(".")?;
    let folder = words.get(1).map_or_else(|| temporary.path().to_path_buf(), PathBuf::from);
    let mut log = with_dead_servers(&folder.join("log"))?;
    let plain = File::create(folder.join("plain"))?;
    for offset in (0..rounds + 1).map(|round| (round * ENTRY_BYTES) as u64) {
        plain.write_all_at(&[0; ENTRY_BYTES], offset)?;
    }
    plain.sync_all()?;
    let (mut syncs, mut commits) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        // Neither is always the first after the other.
        for turn in [round % 2, 1 - round % 2] {
            let begun = Instant::now();
            if turn == 0 {
                plain.write_all_at(&[0x5a; ENTRY_BYTES], (round * ENTRY_BYTES) as u64)?;
                plain.sync_data()?;
                syncs.push(begun.elapsed());
            } else {
                let (_, receipt) = log.append(&RECORD, PATIENCE)?;
                commits.push(begun.elapsed());
                assert_eq!(receipt, RecordReceipt::Disk, "no server is there");
            }
        }
        if round % 1_000 == 999 {
            log.truncate_before(log.status().acknowledged)?;
        }
    }
    let (sync, commit) = (Spread::of(syncs), Spread::of(commits));
    println!("plain write and sync of {ENTRY_BYTES} bytes: {sync}");
    println!("commit of {} bytes, {SERVERS} dead servers: {commit}", RECORD.len());
    println!(
        "ratio of the medians: {:.2}, of the 99th percentiles: {:.2}",
        commit.median / sync.median,
        commit.p99 / sync.p99
    );
    Ok(())
}

/// A log whose servers have been there, and are gone.
fn with_dead_servers(folder: &Path) -> Result<RemoteLog, Failure> {
    let servers = LocalServers::start(SERVERS, 1 << 20)?;
    let addresses = servers.addresses().to_vec();
    let terms = LogTerms::new(RemoteLog::draw_log()?, SERVERS as u8, addresses, Some(folder.to_path_buf()));
    let mut log = RemoteLog::open(LogTerms { intent: Intent::Create, ..terms })?;
    while !matches!(log.append(&RECORD, PATIENCE)?.1, RecordReceipt::Memory { .. }) {}
    drop(servers);
    while log.status().in_force != Some(RecordReceipt::Disk) {
        log.append(&RECORD, PATIENCE)?;
    }
    Ok(log)
}
