//! `raid site`, `raid oracle`, `raid host` and the hidden `raid server`: one server process, from its configuration file.
//!
//! Invariant: a process that was started with `--watch-stdin` ends soon after the other end of its standard input is closed, whatever ended
//! its parent; no site of a cluster in the foreground is left behind.

use crate::limits;
use crate::start::LayoutOption;
use clap::Args;
use local_cluster::stop;
use site::{OracleConfig, SiteConfig};
use std::io::{IsTerminal, Read};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tracing_subscriber::EnvFilter;

/// Environment variable with the log filter.
const LOG_VARIABLE: &str = "RAID_LOG";
/// How they look: `text`, or `json`, an object to a line.
const LOG_FORMAT_VARIABLE: &str = "RAID_LOG_FORMAT";

const LOG_HELP: &str = "\
Log lines go to standard error; the environment variable RAID_LOG says which: `warn`, `info` (the default), `debug`, or by part, such as
`info,replication_controller=debug`.";

/// Run one site in the foreground.
///
/// SIGTERM or Ctrl-C ends it in order. Killing it loses nothing: what it has acknowledged is in the other sites' memory, and in its own
/// log as far as the operating system lives.
#[derive(Args)]
#[command(after_help = LOG_HELP)]
pub struct SiteOptions {
    /// Its configuration; `raid config` explains every key.
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// Its number, which must be the one in the configuration: it tells processes apart in a list of processes.
    #[arg(long, value_name = "N")]
    id: Option<u16>,
    /// Which of its servers share a process, whatever its configuration says.
    #[arg(long)]
    layout: Option<LayoutOption>,
    /// Set this site's log and store aside and take a new copy from the other sites.
    ///
    /// For a copy that is damaged or lost. Nothing is deleted; the new copy needs its own room on the disk. Other sites must have a current
    /// copy: without them this site waits, and never passes for current.
    #[arg(long)]
    repair: bool,
    /// Do not wait for sites that are lost for good.
    ///
    /// When all sites have failed at once, those that were up last restart the instance together, because each may have commits that the
    /// others' disks have lost. With this option the site restarts it with whoever is back within two seconds. Acknowledged transactions
    /// that only the missing sites have are lost, and those sites take over this site's state when they come back. Make sure first
    /// that they do not run: a site that cannot be reached from here, but from clients, would go on by itself.
    #[arg(long)]
    alone_after_total_failure: bool,
    /// Give up what memory servers have lost of this site's log.
    ///
    /// A site whose log memory servers keep (memory = [...] in its configuration) waits for them after a loss of power, because they may have
    /// commits that its disk lacks. If their memory is lost as well, those commits are: with this option the site starts with what there is.
    /// Only for a site without others: where there are some, take a new copy from them with --repair.
    #[arg(long)]
    accept_lost_memory: bool,
    /// End when standard input is closed.
    #[arg(long, hide = true)]
    watch_stdin: bool,
}

/// Run the oracle in the foreground.
///
/// The oracle keeps the epoch and gives sites their incarnations. Running sites commit without it: it is needed when a site starts,
/// fails or comes back.
#[derive(Args)]
#[command(after_help = LOG_HELP)]
pub struct OracleOptions {
    /// Its configuration; `raid config` explains every key.
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// Do not wait for this site, which is lost for good; may be given several times.
    ///
    /// An oracle that was started anew changes nothing until all members of its epoch have confirmed it: its state may be an old copy,
    /// and a member may know of a later epoch. If the lost site alone knew of one, what was committed in that is lost. Make sure first that
    /// the site does not run.
    #[arg(long, value_name = "N")]
    lost: Vec<u16>,
    /// End when standard input is closed.
    #[arg(long, hide = true)]
    watch_stdin: bool,
}

const HOST_HELP: &str = "\
It takes the site's configuration and keys, which are copied from the site's host: of the configuration it uses the instance, the site's number, and
how it is protected. Only the site's own keys make it a host for it, and only the site can give it servers. When it ends, or cannot be
reached for 3 s, the site goes on in a new life without it; nothing acknowledged is lost. Move the servers back before you end it, and clients
notice nothing.

Examples:
  raid host --config site-1.toml --listen 10.0.0.7:7600                      on the other host
  raid move concurrency-controller --config site-1.toml --to 10.0.0.7:7600   on the site's host
  raid move concurrency-controller --config site-1.toml --to site            and back

Log lines go to standard error; RAID_LOG says which, as for `raid site`.";

/// Wait on another host for servers of a site.
///
/// `raid move` brings servers of the running site here and takes them back. It runs in the foreground, and SIGTERM or Ctrl-C ends it.
#[derive(Args)]
#[command(after_help = HOST_HELP)]
pub struct HostOptions {
    /// The site's configuration.
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// Where the site reaches it.
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: SocketAddr,
    /// End when standard input is closed.
    #[arg(long, hide = true)]
    watch_stdin: bool,
}

/// Run servers of a site in a process of their own; `raid site` starts and calls it.
#[derive(Args)]
pub struct ServerOptions {
    /// The site's configuration.
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// The server that it is started for.
    #[arg(long, value_name = "SERVER", value_parser = site::layout::server)]
    kind: site::layout::ServerKind,
    /// The name of the socket at which it is called.
    #[arg(long, value_name = "NAME")]
    line: String,
}

/// Runs a site.
pub fn site(options: &SiteOptions) -> Result<ExitCode, String> {
    let mut config = SiteConfig::read(&options.config).map_err(|error| error.to_string())?;
    config.alone = options.alone_after_total_failure;
    config.accept_lost_memory = options.accept_lost_memory;
    config.layout = options.layout.map_or(config.layout, site::layout::Layout::from);
    if let Some(id) = options.id
        && id != config.id
    {
        let path = options.config.display();
        return Err(format!("{path} configures site {}, not site {id}: give the other file, or no --id", config.id));
    }
    let stop = prepare(options.watch_stdin)?;
    site::open_files::raise();
    if options.repair {
        site::repair::set_aside(&config).map_err(|error| format!("site {}: {error}", config.id))?;
    }
    site::site_process::run(config, stop).map(|()| ExitCode::SUCCESS)
}

/// Runs an oracle.
pub fn oracle(options: &OracleOptions) -> Result<ExitCode, String> {
    let mut config = OracleConfig::read(&options.config).map_err(|error| error.to_string())?;
    config.lost.clone_from(&options.lost);
    if let Some(unknown) = options.lost.iter().find(|site| !config.sites.contains_key(&site.to_string())) {
        return Err(format!(
            "{} lists no site {unknown}: --lost names a site of the instance",
            options.config.display()
        ));
    }
    let stop = prepare(options.watch_stdin)?;
    site::oracle_process::run(config, stop).map(|()| ExitCode::SUCCESS)
}

/// Waits for servers of a site.
pub fn host(options: &HostOptions) -> Result<ExitCode, String> {
    let config = SiteConfig::read(&options.config).map_err(|error| error.to_string())?;
    let stop = prepare(options.watch_stdin)?;
    let ready =
        |address| println!("Waits at {address} for servers of site {}: `raid move SERVER --to {address}`.", config.id);
    site::layout::other_host::run(&config, options.listen, &stop, ready).map(|()| ExitCode::SUCCESS)
}

/// Runs servers of a site.
pub fn server(options: &ServerOptions) -> Result<ExitCode, String> {
    let config = SiteConfig::read(&options.config).map_err(|error| error.to_string())?;
    log_lines()?;
    stop::with_parent()?;
    std::thread::spawn(|| end_with_stdin(&AtomicBool::new(false), Duration::ZERO));
    site::open_files::raise();
    site::layout::server_process::run(config, options.kind, &options.line).map(|()| ExitCode::SUCCESS)
}

fn prepare(watch_stdin: bool) -> Result<Arc<AtomicBool>, String> {
    log_lines()?;
    let stop = stop::on_signal()?;
    if watch_stdin {
        let stop = stop.clone();
        std::thread::spawn(move || end_with_stdin(&stop, limits::ORPHAN_TIME_MAX));
    }
    Ok(stop)
}

/// Log lines go to standard error, as the environment says.
pub fn log_lines() -> Result<(), String> {
    let filter = match std::env::var(LOG_VARIABLE) {
        Ok(text) => EnvFilter::try_new(&text).map_err(|error| format!("{LOG_VARIABLE}={text}: {error}"))?,
        Err(_) => EnvFilter::new("info,fjall=warn,lsm_tree=warn"),
    };
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal());
    match std::env::var(LOG_FORMAT_VARIABLE).as_deref() {
        Err(_) | Ok("" | "text") => lines.init(),
        Ok("json") => lines.json().flatten_event(true).init(),
        Ok(other) => return Err(format!("{LOG_FORMAT_VARIABLE}={other}: it is text or json")),
    }
    Ok(())
}

fn end_with_stdin(stop: &AtomicBool, patience: Duration) {
    let mut stdin = std::io::stdin().lock();
    let mut buffer = [0; 64];
    loop {
        match stdin.read(&mut buffer) {
            Ok(1..) => {}
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Ok(0) | Err(_) => break,
        }
    }
    stop.store(true, Ordering::SeqCst);
    // The process ends with its main thread; this thread only sees to it that it does.
    std::thread::sleep(patience);
    std::process::exit(1);
}
