//! The file server of "Message Passing on a Local Network" (Zwaenepoel 1984), chapter 4: demands of a transfer of 8 kilobytes, and what they lead to.
//!
//! The elapsed times of Table 4-1 are lost in the copies that there are; those here fit its ratio of 1.70 and the text's 1.15. The model is exact where the
//! thesis approximates, and its network is a queue: the thesis's own is load-dependent.

use crate::centres::{Centre, CentreService};
use crate::mean_value::solve;

/// Milliseconds of think time between two requests.
pub const THINK_MS: f64 = 2_000.0;
/// Milliseconds of a client's own work for each request.
pub const USER_MS: f64 = 212.0;
/// Milliseconds of a request to a local disk, alone.
pub const LOCAL_ELAPSED_MS: f64 = 56.5;
/// Milliseconds of a request to the server, alone: less than the demands' sum, as some of it is done at once.
pub const REMOTE_ELAPSED_MS: f64 = 96.5;

/// What the server is made of. Demands in milliseconds of a request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FileServer {
    /// What it is called.
    pub name: &'static str,
    /// The client's processor, of which each has its own.
    pub client_ms: f64,
    /// The network.
    pub network_ms: f64,
    /// Each server's processor.
    pub processor_ms: f64,
    /// Each server's disk.
    pub disk_ms: f64,
    /// Servers that share the load.
    pub servers: usize,
}

/// Table 4-1, the remote column.
pub const BASE: FileServer = FileServer {
    name: "as measured",
    client_ms: 22.28,
    network_ms: 7.24,
    processor_ms: 40.02,
    disk_ms: 31.45,
    servers: 1,
};

/// What the thesis changes. Its server cache needs a demand that is lost.
pub const MODIFICATIONS: [FileServer; 4] = [
    BASE,
    FileServer { name: "processor twice as fast", processor_ms: 20.01, ..BASE },
    FileServer { name: "client cache, half hits", network_ms: 3.62, processor_ms: 20.01, disk_ms: 15.725, ..BASE },
    FileServer { name: "second server", processor_ms: 20.01, disk_ms: 15.725, servers: 2, ..BASE },
];

/// What a number of clients see.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeenByClients {
    /// How many they are.
    pub clients: usize,
    /// Milliseconds of a request, with the client's own work.
    pub time_ms: f64,
    /// That by the time with a local disk.
    pub ratio: f64,
    /// Shares of time that the network, a server's processor and its disk are busy.
    pub busy: [f64; 3],
}

/// For 1 to `clients_max` clients.
pub fn seen(server: &FileServer, clients_max: usize) -> Vec<SeenByClients> {
    let mut centres = vec![
        Centre::new("client", server.client_ms * 1e3, CentreService::Delay),
        Centre::new("network", server.network_ms * 1e3, CentreService::Single),
    ];
    for _ in 0..server.servers {
        centres.push(Centre::new("processor", server.processor_ms * 1e3, CentreService::Single));
        centres.push(Centre::new("disk", server.disk_ms * 1e3, CentreService::Single));
    }
    let sum = BASE.client_ms + BASE.network_ms + BASE.processor_ms + BASE.disk_ms;
    let at_once_ms = sum - REMOTE_ELAPSED_MS;
    let solutions = solve(&centres, (THINK_MS + USER_MS) * 1e3, clients_max);
    let each = solutions.iter().map(|solution| {
        let time_ms = solution.response_us / 1e3 - at_once_ms + USER_MS;
        SeenByClients {
            clients: solution.customers,
            time_ms,
            ratio: time_ms / (LOCAL_ELAPSED_MS + USER_MS),
            busy: [solution.busy[1], solution.busy[2], solution.busy[3]],
        }
    });
    each.collect()
}
