//! Small commits of redb over two memory servers beside its default durability on the same disk, in turns.
//!
//! `cargo bench -p remote_redb --bench redb_commits -- [commits] [rounds] [folder]`. The servers are processes of their own on the loopback
//! interface. The time of a disk sync is printed with every round.

use network_memory::host::memory_server::{MemoryServer, MemoryServerOptions};
use redb::{Database, TableDefinition};
use remote_files::FilesOptions;
use remote_redb::RemoteBackend;
use std::error::Error;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

const TABLE: TableDefinition<'_, u64, u64> = TableDefinition::new("entry");
const SERVE: &str = "--serve";

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    if words.first().is_some_and(|word| word == SERVE) {
        return serve();
    }
    let commits: u64 = words.first().map_or(Ok(5_000), |word| word.parse())?;
    let rounds: usize = words.get(1).map_or(Ok(3), |word| word.parse())?;
    let temporary = tempfile::tempdir()?;
    let folder = words.get(2).map_or_else(|| temporary.path().to_path_buf(), PathBuf::from);
    let servers = [Served::start()?, Served::start()?];
    let (mut remote, mut local) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        println!("a disk sync takes {:.2} ms (median of 25)", sync_ms(&folder)?);
        let addresses = servers.iter().map(|server| server.address).collect();
        let options = FilesOptions { servers: addresses, copies: Some(2), ..FilesOptions::default() };
        let path = folder.join("remote");
        let backend = RemoteBackend::open(&path, &options, Box::new(|text| eprintln!("{text}")))?;
        let database = Database::builder().create_with_backend(backend.clone())?;
        while !backend.status().is_some_and(|status| status.to_string().contains("by: memory")) {
            std::thread::yield_now();
        }
        remote.push(rate(&database, commits)?);
        println!(
            "k = 2:              {:>8.0} commits/s; {}",
            remote[remote.len() - 1],
            backend.status().ok_or("it is open")?
        );
        drop(database);
        let database = Database::create(folder.join("local"))?;
        // Few are enough where each takes a sync.
        local.push(rate(&database, (commits / 10).max(100))?);
        println!("default durability: {:>8.0} commits/s", local[local.len() - 1]);
    }
    let median = |rates: &mut Vec<f64>| {
        rates.sort_by(f64::total_cmp);
        rates[rates.len() / 2]
    };
    let (remote, local) = (median(&mut remote), median(&mut local));
    println!("medians: {remote:.0} and {local:.0} commits/s, {:.1} times", remote / local);
    Ok(())
}

/// One-row commits in a second.
fn rate(database: &Database, commits: u64) -> Result<f64, Box<dyn Error>> {
    let begun = Instant::now();
    for number in 0..commits {
        let transaction = database.begin_write()?;
        transaction.open_table(TABLE)?.insert(number % 10_000, number)?;
        transaction.commit()?;
    }
    Ok(commits as f64 / begun.elapsed().as_secs_f64())
}

fn sync_ms(folder: &Path) -> std::io::Result<f64> {
    let file = File::create(folder.join("probe"))?;
    let mut times = Vec::new();
    for index in 0..25 {
        file.write_all_at(&[1; 4096], index * 4096)?;
        let begun = Instant::now();
        file.sync_data()?;
        times.push(begun.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);
    Ok(times[times.len() / 2])
}

fn serve() -> Result<(), Box<dyn Error>> {
    let listen = SocketAddr::from(([127, 0, 0, 1], 0));
    let options = MemoryServerOptions { listen, capacity_bytes: 1 << 30, quota_bytes: None, save: None, keys: None };
    let server = MemoryServer::start(options)?;
    writeln!(std::io::stdout(), "{}", server.address()?)?;
    Ok(server.serve()?)
}

/// A memory server's process, which ends with this value.
struct Served {
    child: Child,
    address: SocketAddr,
}

impl Served {
    fn start() -> Result<Served, Box<dyn Error>> {
        let mut command = Command::new(std::env::current_exe()?);
        let mut child = command.arg(SERVE).stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().ok_or("a pipe")?).read_line(&mut line)?;
        Ok(Served { child, address: line.trim().parse()? })
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
