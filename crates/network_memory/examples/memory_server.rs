//! A memory server alone: `cargo run --release -p network_memory --example memory_server -- 127.0.0.1:7900 4294967296 [folder]`.
//!
//! Prints where it listens and what it has reloaded; ends at SIGTERM, and saves to the folder then.

use network_memory::host::memory_server::{MemoryServer, MemoryServerOptions};
use std::error::Error;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let listen = words.next().unwrap_or("127.0.0.1:7900".to_owned()).parse()?;
    let capacity_bytes = words.next().map_or(Ok(1 << 30), |word| word.parse())?;
    let save = words.next().map(PathBuf::from);
    let server =
        MemoryServer::start(MemoryServerOptions { listen, capacity_bytes, quota_bytes: None, save, keys: None })?;
    println!("{} {:?}", server.address()?, server.reloaded());
    Ok(server.serve()?)
}
