//! `raid start`: a cluster in the foreground.

use crate::cluster_folder::ClusterFolder;
use clap::{Args, ValueEnum};
use local_cluster::running::RunningCluster;
use local_cluster::screen::Screen;
use local_cluster::stop;
use local_cluster::supervisor::{Supervisor, end, print_psql};
use local_cluster::{ClusterDirectory, ClusterWish};
use site::config::{Channels, MethodName};
use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Instant;

const EXAMPLES: &str = "\
Examples:
  raid start                                  three sites, data in ./raid-data, SQL at ports 5433 to 5435
  raid start --sites 5 --data /tmp/five --port 6000
  raid start                                  again: the same cluster, with its data
  raid start --no-restart                     what dies stays dead until `raid restart N`
  raid start --sites 1 --memory 10.0.0.7:7901,10.0.0.8:7901   one copy, whose commits wait for two memory servers, not for the disk

Files in the folder: raid.toml says what the cluster is; site-N/site.toml and oracle/oracle.toml configure its processes; site-N/log.txt
is what a site has to say; site-N/pid is its process. Copies of the folder are no backups while the cluster runs: `raid snapshot` makes those. Remove the folder to begin anew.";

/// Run a cluster on this machine in the foreground.
///
/// Starts an oracle and some sites, each a process of its own, and waits until every site serves. The first start makes the folder and
/// chooses everything; later starts find the cluster as it was. A process that dies is reported and started again at once, or after
/// a growing pause when it dies again and again. Ctrl-C ends all processes in order.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct StartArguments {
    #[command(flatten)]
    folder: ClusterFolder,
    /// How many sites, 1 to 16. [default: 3]
    #[arg(long, value_name = "N")]
    sites: Option<u16>,
    /// SQL port of site 1; the other sites take the ports after it. 0 takes free ones. [default: 5433]
    #[arg(long)]
    port: Option<u16>,
    /// Leave a process that dies dead.
    #[arg(long)]
    no_restart: bool,
    /// Concurrency control. [default: locking]
    #[arg(long)]
    method: Option<StartMethod>,
    /// Which servers of a site share a process. [default: merged]
    #[arg(long)]
    layout: Option<LayoutOption>,
    /// Threads that serve clients, in each site. [default: 1]
    #[arg(long, value_name = "N")]
    workers: Option<usize>,
    /// Commits with fewer current copies in memory wait for the disk. [default: 2]
    #[arg(long, value_name = "N")]
    required_copies: Option<u16>,
    /// Megabytes of rows that each site keeps in memory; further rows come from disk. [default: 512]
    ///
    /// Its process takes half as much again, twice as much while all rows are scanned, and up to 300 MB beside.
    #[arg(long, value_name = "MB")]
    memory_mb: Option<usize>,
    /// Milliseconds that a site's lease lasts, 200 to 1000. [default: 400]
    ///
    /// When a site dies, the others serve nothing for about so long. A site that pauses for five sixths of it is taken for dead, and must come
    /// back. For a cluster that exists, change `lease_ms` in site-N/site.toml and restart the sites one by one.
    #[arg(long, value_name = "MS")]
    lease_ms: Option<u64>,
    /// Memory servers (`raid memory`) that keep the sites' logs, with commas between them.
    ///
    /// A commit that would wait for the disk, because a site is alone or the last copy, waits for the memory of two of them instead.
    #[arg(long, value_name = "HOST:PORT,...", value_delimiter = ',', value_parser = crate::memory::read_server)]
    memory: Option<Vec<SocketAddr>>,
    /// By what messages go between the processes. [default: fastest]
    #[arg(long)]
    channels: Option<ChannelsName>,
    /// Encrypt what the processes say to each other, with keys in the folder's `keys`.
    ///
    /// On one machine nothing leaves it, so the default is to talk in clear; this is to try out what sites on several machines do.
    #[arg(long)]
    encrypt: bool,
}

/// By what messages go between processes.
#[derive(Clone, Copy, ValueEnum)]
enum ChannelsName {
    /// Shared memory on one host.
    Fastest,
    /// Datagrams (UDP), also on one host.
    Datagrams,
    /// TCP, also on one host.
    Streams,
}

impl From<ChannelsName> for Channels {
    fn from(name: ChannelsName) -> Channels {
        match name {
            ChannelsName::Fastest => Channels::Fastest,
            ChannelsName::Datagrams => Channels::Datagrams,
            ChannelsName::Streams => Channels::Streams,
        }
    }
}

/// A concurrency-control method.
#[derive(Clone, Copy, ValueEnum)]
enum StartMethod {
    /// Two-phase read/write locking: conflicting transactions of one site wait for each other.
    Locking,
    /// Optimistic validation: nobody waits, and who loses a conflict is refused at its commit.
    Optimistic,
    /// One transaction of a site executes at a time.
    Serial,
    /// Two-phase locking of which every lock is exclusive.
    SimpleLocking,
    /// Timestamp ordering: who comes too late for its place in the order begins again.
    Timestamp,
}

impl From<StartMethod> for MethodName {
    fn from(method: StartMethod) -> MethodName {
        match method {
            StartMethod::Locking => MethodName::Locking,
            StartMethod::Optimistic => MethodName::Optimistic,
            StartMethod::Serial => MethodName::Serial,
            StartMethod::SimpleLocking => MethodName::SimpleLocking,
            StartMethod::Timestamp => MethodName::Timestamp,
        }
    }
}

/// Which servers of a site share a process.
#[derive(Clone, Copy, ValueEnum)]
pub enum LayoutOption {
    /// All: nothing is faster.
    Merged,
    /// User interface, query processor and action driver in one process, all others in another.
    TwoProcess,
    /// Every server has a process of its own.
    Separate,
}

impl From<LayoutOption> for site::layout::Layout {
    fn from(layout: LayoutOption) -> site::layout::Layout {
        match layout {
            LayoutOption::Merged => site::layout::Layout::Merged,
            LayoutOption::TwoProcess => site::layout::Layout::TwoProcess,
            LayoutOption::Separate => site::layout::Layout::Separate,
        }
    }
}

/// Runs it until a signal comes.
pub fn run(options: &StartArguments) -> Result<ExitCode, String> {
    let wish = ClusterWish {
        sites: options.sites,
        port: options.port,
        method: options.method.map(MethodName::from),
        layout: options.layout.map(site::layout::Layout::from),
        workers: options.workers,
        required_copies: options.required_copies,
        memory_mb: options.memory_mb,
        lease_ms: options.lease_ms,
        memory: options.memory.clone(),
        channels: options.channels.map(Channels::from),
        encrypt: options.encrypt.then_some(true),
    };
    let text = |error: &dyn std::error::Error| error.to_string();
    // A slip of the pen is told here, not in the sites' logs.
    site::trace_file::selection()?;
    let program = std::env::current_exe().map_err(|error| format!("this program cannot be found: {error}"))?;
    let stop = stop::on_signal()?;
    let begun = Instant::now();
    let cluster = ClusterDirectory::open_or_create(&options.folder.data, &wish).map_err(|error| text(&error))?;
    let mut screen = Screen::default();
    let count = cluster.sites().len();
    screen.line(&format!("raid: {count} sites and an oracle from {}", cluster.folder().display()));
    let mut running = RunningCluster::start(&program, cluster).map_err(|error| text(&error))?;
    match running.wait_until_up(&stop) {
        Ok(_) => {}
        Err(local_cluster::running::ClusterRunError::Stopped) => return Ok(end(running, &mut screen)),
        Err(error) => return Err(text(&error)),
    }
    screen.line(&format!("All sites serve after {:.1} s. Connect with any of", begun.elapsed().as_secs_f64()));
    print_psql(&running, &mut screen);
    let logs = running.cluster().folder().join("site-N").join("log.txt");
    screen.line(&format!("Log texts: {}. Ctrl-C ends all of them.", logs.display()));
    let supervisor = Supervisor::new(running, !options.no_restart);
    let running = supervisor.run(&stop, |line| screen.line(line)).map_err(|error| text(&error))?;
    Ok(end(running, &mut screen))
}
