//! `raid memory`: a memory server, and what one says of itself.

use clap::Args;
use console::{ConsoleSource, Health};
use messages::{InstanceId, SiteId};
use network_memory::host::command::{metrics, read_bytes};
use network_memory::host::log_folder::read_servers;
use network_memory::host::memory_server::{MemoryServer, MemoryServerOptions, Reloaded, read_status};
use site::protection::{WantedProtection, keys};
use std::io::Write;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::process::ExitCode;

use crate::limits::MEMORY_STATUS_TIME_MAX;

const HELP: &str = "\
Without --keys, whoever reaches the address can write and read every log: connections are in clear, and nobody proves who they are. Let it listen
where only your own hosts are. With keys (`raid keys`, of any site of the instance) clients must have keys of the same instance, as its sites do.

A program that has k servers counts on each of them to fail by itself: run them on hosts with power supplies of their own. A server that is killed has
lost what it held, and is given it again by each program that is running. SIGTERM, SIGINT and SIGPWR end it in order; with --save it then
writes its memory to the folder, and goes on with it at the next start. Never put an older copy of that folder back.

Examples:
  raid memory --listen 10.0.0.7:7901 --capacity 4GiB --save /var/lib/raid-memory
  raid memory --listen 10.0.0.7:7901 --capacity 4GiB --quota 512MiB     at most so much for each log
  raid memory --listen 10.0.0.7:7901 --capacity 4GiB --console 127.0.0.1:7950     with metrics at http://127.0.0.1:7950/metrics
  raid memory --show 10.0.0.7:7901                                     how it is, as metrics in Prometheus' text format

Log lines go to standard error; the environment variable RAID_LOG says which, as for `raid site`.";

/// Keep logs of other programs in memory.
///
/// A commit that k such servers hold is durable without a disk. SQLite (with its extension), redb, recoverable memory and any program that
/// uses the library network_memory can use it. Runs in the foreground.
#[derive(Args)]
#[command(after_help = HELP)]
pub struct MemoryArguments {
    /// Where programs reach it.
    #[arg(long, value_name = "ADDRESS:PORT", required_unless_present = "show")]
    listen: Option<SocketAddr>,
    /// How much memory all logs may take, such as 512MiB or 4GiB; 64 bytes count for each record beside its own.
    #[arg(long, value_name = "SIZE", value_parser = read_bytes, required_unless_present = "show")]
    capacity: Option<u64>,
    /// How much one log may take, instead of the capacity.
    #[arg(long, value_name = "SIZE", value_parser = read_bytes, conflicts_with = "show")]
    quota: Option<u64>,
    /// Save the memory in this folder, which must exist, at an orderly end, and go on with it at the next start.
    #[arg(long, value_name = "DIR", conflicts_with = "show")]
    save: Option<PathBuf>,
    /// The folder with keys of an instance, which clients must have as well; needs --instance and --id.
    #[arg(long, value_name = "DIR", requires_all = ["instance", "id"])]
    keys: Option<PathBuf>,
    /// The instance that the keys are of, as in a site's configuration.
    #[arg(long, value_name = "NUMBER", requires = "keys")]
    instance: Option<u64>,
    /// The site that the keys are of. Several servers may use the same.
    #[arg(long, value_name = "N", requires = "keys")]
    id: Option<u16>,
    /// Where HTTP is told /metrics, /health/live and /health/ready.
    #[arg(long, value_name = "ADDRESS:PORT", conflicts_with = "show")]
    console: Option<SocketAddr>,
    /// Instead of running one, print how the server at this address is.
    #[arg(long, value_name = "ADDRESS:PORT", conflicts_with_all = ["listen", "capacity"])]
    show: Option<SocketAddr>,
}

/// The address of a memory server; a host name is looked up.
pub fn read_server(text: &str) -> Result<SocketAddr, String> {
    let mut found = read_servers(text).map_err(|(name, reason)| format!("{name}: {reason}"))?;
    found.pop().ok_or_else(|| "say HOST:PORT".to_owned())
}

/// Runs a memory server until it is told to end, or asks one.
pub fn run(options: &MemoryArguments) -> Result<ExitCode, String> {
    let keys = match (&options.keys, options.instance, options.id) {
        (Some(folder), Some(instance), Some(id)) => {
            let wanted = WantedProtection { keys: Some(folder), clear: false };
            keys(wanted, InstanceId(instance), SiteId(id), []).map_err(|error| error.to_string())?
        }
        _ => None,
    };
    if let Some(address) = options.show {
        let status = read_status(address, keys.as_ref(), MEMORY_STATUS_TIME_MAX);
        let status = status.map_err(|error| format!("memory server {address}: {error}"))?;
        // A reader who has seen enough is no error.
        let _ = std::io::stdout().write_all(metrics(&status).as_bytes());
        return Ok(ExitCode::SUCCESS);
    }
    let (Some(listen), Some(capacity_bytes)) = (options.listen, options.capacity) else {
        return Err("say where it listens and how much memory it has: --listen and --capacity".to_owned());
    };
    crate::server::log_lines()?;
    let own_keys = keys.clone();
    let server =
        MemoryServerOptions { listen, capacity_bytes, quota_bytes: options.quota, save: options.save.clone(), keys };
    let server = MemoryServer::start(server).map_err(|error| error.to_string())?;
    let address = server.address().map_err(|error| error.to_string())?;
    let begun = match server.reloaded() {
        Reloaded::Nothing => "empty".to_owned(),
        Reloaded::Image => "with what it had saved".to_owned(),
        Reloaded::Old => {
            "empty: what lay in its folder is older than what it has served since, and is set aside".to_owned()
        }
        Reloaded::Damaged(reason) => format!("empty: what was saved is set aside, because it is damaged ({reason})"),
    };
    if let Some(console) = options.console {
        let own = reachable(address);
        let ask = move || {
            let status = read_status(own, own_keys.as_ref(), MEMORY_STATUS_TIME_MAX);
            status.map(|status| metrics(&status)).map_err(|error| format!("memory server {own}: {error}"))
        };
        MemoryConsole(ask).serve(console)?;
    }
    // Whoever has started it may not listen.
    let _ = writeln!(std::io::stdout(), "Memory server at {address}, {begun}. Ctrl-C ends it.");
    server.serve().map(|()| ExitCode::SUCCESS).map_err(|error| error.to_string())
}

/// What a memory server tells by HTTP: it asks itself, as anybody else does.
struct MemoryConsole<Ask>(Ask);

impl<Ask: Fn() -> Result<String, String> + Send + 'static> MemoryConsole<Ask> {
    fn serve(self, console: SocketAddr) -> Result<(), String> {
        let text = |error: std::io::Error| format!("the console at {console}: {error}");
        let listener = TcpListener::bind(console).map_err(text)?;
        let run = move || {
            // It ends with the process.
            drop(console::serve(listener, &self, &|| false));
        };
        std::thread::Builder::new().name("console".to_owned()).spawn(run).map(drop).map_err(text)
    }
}

impl<Ask: Fn() -> Result<String, String>> ConsoleSource for MemoryConsole<Ask> {
    fn status(&self) -> Option<String> {
        None
    }

    fn metrics(&self) -> String {
        (self.0)().unwrap_or_default()
    }

    fn live(&self) -> Health {
        (self.0)().map(|_| "the memory server answers".to_owned())
    }

    fn ready(&self) -> Health {
        self.live()
    }
}

/// An address at which this host reaches itself.
fn reachable(listened: SocketAddr) -> SocketAddr {
    match listened {
        SocketAddr::V4(address) if address.ip().is_unspecified() => (Ipv4Addr::LOCALHOST, address.port()).into(),
        SocketAddr::V6(address) if address.ip().is_unspecified() => (Ipv6Addr::LOCALHOST, address.port()).into(),
        address => address,
    }
}
