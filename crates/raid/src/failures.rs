//! `raid kill`, `raid restart` and `raid repair`: orders to a cluster that `raid start` runs in another terminal.

use crate::cluster_folder::ClusterFolder;
use crate::limits;
use clap::Args;
use local_cluster::ClusterDirectory;
use local_cluster::orders::{ClusterOrder, give};
use local_cluster::process::ProcessName;
use local_cluster::running::serves;
use local_cluster::screen::grouped;
use std::process::ExitCode;
use std::time::Instant;

const EXAMPLES: &str = "\
Examples:
  raid kill 2                   SIGKILL for site 2; it stays down
  raid restart 2                site 2 starts again, joins, and repairs what changed meanwhile
  raid repair 2                 as restart, but with a new copy from the other sites; the old one is set aside
  raid kill oracle              running sites do not need it
  raid kill 1 --data /tmp/five";

/// For trying failures on a cluster that `raid start` runs.
///
/// `kill` sends SIGKILL: nothing is flushed, nobody is told. The process stays down until `restart`, which also kills first one that runs.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct FailuresArguments {
    /// A site's number, or `oracle`.
    #[arg(value_name = "N")]
    name: ProcessName,
    #[command(flatten)]
    folder: ClusterFolder,
}

/// `raid kill N`.
pub fn kill(options: &FailuresArguments) -> Result<ExitCode, String> {
    order(options, ClusterOrder::Kill)?;
    println!("{} is killed; `raid restart {}` starts it again", options.name, options.name.argument());
    Ok(ExitCode::SUCCESS)
}

/// `raid restart N`.
pub fn restart(options: &FailuresArguments) -> Result<ExitCode, String> {
    start(options, ClusterOrder::Restart)
}

/// `raid repair N`.
pub fn repair(options: &FailuresArguments) -> Result<ExitCode, String> {
    match options.name {
        ProcessName::Site(_) => start(options, ClusterOrder::Repair),
        ProcessName::Oracle => Err("the oracle has no copy of the data: give a site's number".to_owned()),
    }
}

fn start(options: &FailuresArguments, wanted: ClusterOrder) -> Result<ExitCode, String> {
    let begun = Instant::now();
    let cluster = order(options, wanted)?;
    let ProcessName::Site(number) = options.name else {
        println!("{} is started", options.name);
        return Ok(ExitCode::SUCCESS);
    };
    let console = cluster.sites()[&number].console;
    loop {
        let seen = match site::status::ask(console) {
            Ok(status) if serves(&status) => {
                let stale = grouped(status.stale);
                let after_ms = begun.elapsed().as_millis();
                println!(
                    "site {number} serves after {after_ms} ms ({}), {stale} rows still to be repaired",
                    status.state
                );
                return Ok(ExitCode::SUCCESS);
            }
            Ok(status) => format!("it is {}", status.state),
            Err(error) => error,
        };
        if begun.elapsed() > limits::SERVE_TIME_MAX {
            let log = cluster.folder_of(options.name).join("log.txt");
            let waited_s = limits::SERVE_TIME_MAX.as_secs();
            return Err(format!(
                "site {number} is started, but does not serve after {waited_s} s: {seen}; see {}",
                log.display()
            ));
        }
        std::thread::sleep(limits::LOOK_INTERVAL);
    }
}

fn order(options: &FailuresArguments, order: ClusterOrder) -> Result<ClusterDirectory, String> {
    let cluster = ClusterDirectory::open(&options.folder.data).map_err(|error| error.to_string())?;
    give(&cluster, options.name, order).map_err(|error| error.to_string())?;
    Ok(cluster)
}
