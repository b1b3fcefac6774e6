//! `raid move`: a server of a running site goes to another process of it, or to another host.

use crate::cluster_folder::ClusterFolder;
use clap::Args;
use local_cluster::ClusterDirectory;
use local_cluster::process::ProcessName;
use site::SiteConfig;
use site::layout::{ProcessPlace, ServerKind, orders, server};
use std::path::PathBuf;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  raid move access-manager --site 1 --to access-manager      into a process of its own
  raid move action-driver --site 1 --to access-manager       into the same one
  raid move access-manager --site 1 --to site                back into the site's own process
  raid move action-driver --config /etc/raid/site.toml --to site
  raid move action-driver --config /etc/raid/site.toml --to 10.0.0.7:7600   to another host, where `raid host` waits

Servers: action-driver, atomicity-controller, concurrency-controller, replication-controller, access-manager. A process is called `site`, which is
the site's own, or after the server that it was or is to be started for; it ends when its last server leaves it. The user interface has the
clients' connections and stays where the layout puts it; where it has a process of its own, the access manager in that process costs clients their
connections whenever the site begins a new life. On another host every message to the server crosses the network; the access manager cannot go there,
because its store is on this one.";

/// Move a server of a running site to another process or another host, under load
///
/// Between two messages the server's whole state goes to the other process, which usually takes milliseconds. The access manager's store is closed
/// and opened again, and what it has in memory goes along: with much of that it can take longer than a lease, and then the site leaves the
/// set of sites and comes back by itself, and its clients get errors. No acknowledged transaction is lost. It says how long the site stood still.
/// The move lasts until the site's process ends, or the server moves again: a later start follows the site's layout.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct MoveArguments {
    /// Which server.
    #[arg(value_name = "SERVER", value_parser = server)]
    server: ServerKind,
    /// Of which site of the cluster in the folder.
    #[arg(long, value_name = "N", required_unless_present = "config")]
    site: Option<u16>,
    /// To which process, or to `raid host` at HOST:PORT.
    #[arg(long, value_name = "PROCESS")]
    to: ProcessPlace,
    #[command(flatten)]
    folder: ClusterFolder,
    /// Instead of folder and number: the site's configuration file.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["site", "data"])]
    config: Option<PathBuf>,
}

/// Moves it.
pub fn run(options: &MoveArguments) -> Result<ExitCode, String> {
    let data = match (&options.config, options.site) {
        (Some(path), _) => SiteConfig::read(path).map_err(|error| error.to_string())?.data,
        (None, Some(site)) => {
            let cluster = ClusterDirectory::open(&options.folder.data).map_err(|error| error.to_string())?;
            if !cluster.has(ProcessName::Site(site)) {
                return Err(format!("{} has no site {site}", options.folder.data.display()));
            }
            cluster.folder_of(ProcessName::Site(site))
        }
        (None, None) => return Err("give --site or --config".to_owned()),
    };
    let moved = orders::move_server(&data, options.server, options.to)?;
    let pause_ms = moved.pause_us as f64 / 1e3;
    println!(
        "{} is moved from {} to {} with {} bytes of state; the site stood still for {pause_ms:.1} ms",
        moved.server, moved.from, moved.to, moved.bytes
    );
    Ok(ExitCode::SUCCESS)
}
