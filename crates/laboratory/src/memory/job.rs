//! What a process of an experiment is to do; it comes as text. What it says goes to its standard output, a line each.

use laboratory_harness::process::end_with_parent;
use laboratory_harness::process::say;
use laboratory_harness::{Failure, Outcome};
use network_memory::host::memory_server::{MemoryServer, MemoryServerOptions};
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::path::PathBuf;

use crate::memory::client;
use crate::memory::limits::SERVER_BYTES;
use crate::memory::oo7::{orders, redb_store};

/// See the module's description.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Job {
    /// Keeps logs in memory; says where it listens.
    Serve {
        /// Where it is to listen; a free port for port 0.
        listen: SocketAddr,
    },
    /// Runs loads on recoverable memory; see [`crate::memory::client`].
    Client {
        /// Where its files are.
        folder: PathBuf,
        /// Its memory servers.
        servers: Vec<SocketAddr>,
    },
    /// Runs traversals of OO7 on redb; see [`crate::memory::oo7`].
    Redb(orders::Settings),
}

/// Does the job that this process was started for.
///
/// # Errors
/// The text is no job, or the job fails.
pub fn perform(text: &str) -> Outcome<()> {
    let job: Job = serde_json::from_str(text)?;
    end_with_parent()?;
    match job {
        Job::Serve { listen } => {
            let options =
                MemoryServerOptions { listen, capacity_bytes: SERVER_BYTES, quota_bytes: None, save: None, keys: None };
            let server = MemoryServer::start(options).map_err(Failure::foreign)?;
            say(&server.address()?.to_string())?;
            server.serve().map_err(Failure::foreign)
        }
        Job::Client { folder, servers } => client::serve(folder, servers),
        Job::Redb(settings) => redb_store::serve(&settings),
    }
}
