//! `raid console`: RaidTool, the live console in the browser.

use crate::cluster_folder::ClusterFolder;
use clap::Args;
use local_cluster::stop;
use raid_tool::ToolOptions;
use raid_tool::cluster_file::ClusterFile;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

const EXPLANATION: &str = "\
Open the address that it prints. The token in it is also in `console.token` of the cluster's folder, which only you can read; remove that file to
have all browsers ask anew. What is done from the pages is written to `console.log` beside it.

The console listens on loopback only, because it does not encrypt. From another machine: ssh -L 7400:127.0.0.1:7400 HOST

It asks SQL as the role that --user names, with the password in PGPASSWORD if it is asked for one.

For sites on other hosts, list their addresses in a file:
  [sites.1]
  console = \"10.0.0.1:7501\"
  sql = \"10.0.0.1:5433\"

Examples:
  raid console                                    of the cluster in ./raid-data
  raid console --data /tmp/five --listen 127.0.0.1:7401
  raid console --config console.toml --read-only";

/// Show a cluster in the browser, and reconfigure it there
///
/// Each site is asked once a second, however many pages are open. Ctrl-C ends it; the sites do not notice.
#[derive(Args)]
#[command(after_help = EXPLANATION)]
pub struct ConsoleArguments {
    #[command(flatten)]
    folder: ClusterFolder,
    /// Instead of the folder: a file that lists the sites.
    #[arg(long, value_name = "FILE", conflicts_with = "data")]
    config: Option<PathBuf>,
    /// Where pages are served.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:7400")]
    listen: SocketAddr,
    /// Show only: nothing can be changed, and no SQL be asked.
    #[arg(long)]
    read_only: bool,
    /// The role that the console is to the sites.
    #[arg(long, value_name = "ROLE", default_value = "postgres")]
    user: String,
}

/// Serves the pages until a signal comes.
pub fn run(options: &ConsoleArguments) -> Result<ExitCode, String> {
    let cluster = match &options.config {
        Some(path) => ClusterFile::of_file(path),
        None => ClusterFile::of_folder(&options.folder.data),
    };
    let cluster = cluster.map_err(|error| error.to_string())?;
    let program = std::env::current_exe().map_err(|error| format!("this program cannot be found: {error}"))?;
    let (listen, read_only, user) = (options.listen, options.read_only, options.user.clone());
    let options = ToolOptions { cluster, listen, read_only, program, user };
    let stop = stop::on_signal()?;
    raid_tool::run(options, &stop, |address| println!("RaidTool: {}", address.link))
        .map(|()| ExitCode::SUCCESS)
        .map_err(|error| error.to_string())
}
