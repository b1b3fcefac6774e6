//! `raid rollback`: a cluster goes back to a snapshot of it, or to a moment behind one.

use crate::cluster_folder::ClusterFolder;
use crate::limits;
use crate::snapshot::{self, MomentOptions};
use clap::Args;
use local_cluster::orders::{ClusterOrder, OrderError, give, lock};
use local_cluster::process::ProcessName;
use local_cluster::running::is_up;
use local_cluster::screen::grouped;
use local_cluster::{ClusterDirectory, rollback};
use site::snapshot::archive::{WantedMoment, micros_of};
use site::snapshot::files::{self, Manifest, date};
use site::snapshot::restore::RestoredMoment;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

const EXAMPLES: &str = "\
Examples:
  raid rollback nightly                           tells what would be lost, and does nothing
  raid rollback nightly --yes                     to ./raid-data/snapshots/nightly
  raid rollback nightly --to /backup --data /srv/raid --yes
  raid rollback nightly --archive /archive --to-time '2026-11-25 11:59:30+00' --yes
                                                  to this moment, by the archive of the log of the site that took the snapshot

What was there before stays below the folder of each process, in before-rollback-*, until you remove it.";

/// Put all data of a cluster back to a snapshot of it, or to a moment behind one
///
/// For a cluster that `raid start` runs, or could. All that was committed since then is given up, at all sites, and tables, roles and settings go
/// back, too. The new data are made while the cluster serves; then all its processes end and start again. Whatever is killed meanwhile: the cluster has
/// all of the old state, or all of the new one.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct RollbackOptions {
    /// The snapshot's name.
    name: String,
    /// Do it.
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    moment: MomentOptions,
    #[command(flatten)]
    folder: ClusterFolder,
    /// Where snapshots are. [default: `snapshots` in the cluster's folder]
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// What a rollback gives up.
fn loss(manifest: &Manifest, moment: Option<&RestoredMoment>) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as u64);
    let (since, from) = match moment.map(|moment| moment.wanted) {
        None => ("the snapshot", manifest.taken_us),
        Some(WantedMoment::Clock(clock)) => ("the moment", micros_of(clock)),
        Some(WantedMoment::Latest) => return "all that is not in the archive is lost; all sessions end".to_owned(),
    };
    let minutes = now.saturating_sub(from) / 60_000_000;
    format!(
        "all that was committed since {since} is lost: from {} UTC on, until {} UTC now ({} h {} min); all sessions end",
        date(from),
        date(now),
        minutes / 60,
        minutes % 60
    )
}

/// Does it.
pub fn run(options: &RollbackOptions) -> Result<ExitCode, String> {
    let moment = options.moment.moment()?;
    let cluster = ClusterDirectory::open(&options.folder.data).map_err(text)?;
    let folder = options.to.clone().unwrap_or_else(|| options.folder.data.join(snapshot::FOLDER));
    let path = files::find(&folder, &options.name).map_err(text)?;
    let manifest = Manifest::read(&path).map_err(text)?;
    rollback::check(&cluster, &manifest).map_err(text)?;
    println!("snapshot {}: {}", manifest.name, loss(&manifest, moment.as_ref()));
    if !options.yes {
        return Err("nothing is done: say --yes to roll back".to_owned());
    }
    let begun = Instant::now();
    let prepared = rollback::prepare(&cluster, &path, moment.as_ref()).map_err(text)?;
    println!("its {} rows are ready after {} ms", grouped(prepared.rows), begun.elapsed().as_millis());
    let swapped = Instant::now();
    // Whoever holds the lock runs the cluster. Nobody: it is done here, unless a site has outlived whoever ran it.
    match lock(&cluster).map_err(text)? {
        Some(_lock) => {
            let before = rollback::carry_out(&cluster).map_err(text)?;
            println!(
                "the cluster, which does not run, is rolled back; what was there before is in {before} of each process"
            );
            Ok(ExitCode::SUCCESS)
        }
        None => match give(&cluster, ProcessName::Oracle, ClusterOrder::Rollback) {
            Ok(()) => ended(&cluster, swapped),
            Err(OrderError::NotTaken(folder)) => Err(format!(
                "the rollback was not done in time: see what `raid start` says that runs the cluster in {}",
                folder.display()
            )),
            Err(error) => Err(text(error)),
        },
    }
}

/// The order was taken: has it been done?
fn ended(cluster: &ClusterDirectory, begun: Instant) -> Result<ExitCode, String> {
    if let Some(failure) = rollback::failure(cluster) {
        return Err(failure);
    }
    loop {
        let is_up = |console| site::status::ask(console).is_ok_and(|status| is_up(&status));
        if cluster.sites().values().all(|site| is_up(site.console)) {
            println!(
                "the cluster is rolled back; all sites serve {} ms after the others ended",
                begun.elapsed().as_millis()
            );
            return Ok(ExitCode::SUCCESS);
        }
        if begun.elapsed() > limits::SERVE_TIME_MAX {
            let waited_s = limits::SERVE_TIME_MAX.as_secs();
            return Err(format!(
                "the cluster is rolled back, but does not serve after {waited_s} s: see `raid status`"
            ));
        }
        std::thread::sleep(limits::LOOK_INTERVAL);
    }
}
