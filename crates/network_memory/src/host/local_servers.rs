//! Memory servers within this process, for tests and trials of programs over them. They die with it: nothing is durable by them.

use super::memory_server::{MemoryServer, MemoryServerOptions, ServeError};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// Servers on the loopback interface, a thread each, until they are dropped.
#[derive(Debug)]
pub struct LocalServers {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<Result<(), ServeError>>>,
    addresses: Vec<SocketAddr>,
}

impl LocalServers {
    /// So many servers, each with so much room (bytes).
    ///
    /// # Errors
    /// As of [`MemoryServer::start`]; those that run already end.
    pub fn start(count: usize, capacity_bytes: u64) -> Result<LocalServers, ServeError> {
        let mut servers = LocalServers { stop: Arc::default(), threads: Vec::new(), addresses: Vec::new() };
        for _ in 0..count {
            let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
            let options = MemoryServerOptions { listen, capacity_bytes, quota_bytes: None, save: None, keys: None };
            let server = MemoryServer::start(options)?;
            let address = server.address().map_err(|source| ServeError::Listen { address: listen, source })?;
            servers.addresses.push(address);
            let stop = Arc::clone(&servers.stop);
            servers.threads.push(std::thread::spawn(move || server.serve_until(&stop)));
        }
        Ok(servers)
    }

    /// Where they listen.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }
}

impl Drop for LocalServers {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // Why one has ended before, whoever uses it has seen.
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}
