//! `raid snapshot`: copies of a running instance. `raid restore`: a new instance from one.

use crate::cluster_folder::ClusterFolder;
use clap::{Args, Subcommand};
use local_cluster::process::ProcessName;
use local_cluster::screen::{Screen, bytes};
use local_cluster::{ClusterDirectory, ClusterWish};
use site::layout::orders;
use site::snapshot::archive::WantedMoment;
use site::snapshot::desk::SnapshotProgress;
use site::snapshot::files::{self, Manifest};
use site::snapshot::restore::RestoredMoment;
use site::snapshot::{archive, restore, take};
use site::{OracleConfig, SiteConfig};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Where snapshots are, below a cluster's folder.
pub const FOLDER: &str = "snapshots";
/// Where a snapshot is brought together, below the new cluster's folder.
const SCRATCH: &str = "scratch";

/// How often is looked how far a snapshot is.
const LOOK_INTERVAL: Duration = Duration::from_millis(500);

const EXAMPLES: &str = "\
Examples:
  raid snapshot take nightly                      of the cluster in ./raid-data, to ./raid-data/snapshots/nightly
  raid snapshot take nightly --to /backup --rate 20
  raid snapshot take nightly --config /etc/raid/site.toml --to /backup     on the site's host
  raid snapshot list --to /backup
  raid snapshot verify nightly --to /backup --deep
  raid restore --from /backup/nightly --data ./restored --port 6000

A snapshot has all that was acknowledged before it began, and nothing that began after its end. Nothing waits for it, and nothing is aborted. Copy its
folder to another machine: on the disk of its site it is lost together with that.";

/// Take, list, show, verify and drop snapshots of a running instance: its backups
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct SnapshotArguments {
    #[command(subcommand)]
    command: SnapshotCommand,
}

/// Which snapshots.
#[derive(Args)]
struct SnapshotFolder {
    #[command(flatten)]
    folder: ClusterFolder,
    /// Where snapshots are. [default: `snapshots` in the cluster's folder]
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,
}

#[derive(Subcommand)]
enum SnapshotCommand {
    /// Take a snapshot, and return when it is on disk
    ///
    /// One site writes it: letters, digits, `_` and `-` may be in its name. It is refused while that site's copy is being repaired, and ends when
    /// less of the disk is free than a tenth, or 4 GiB if that is less. The site itself goes on in any case.
    Take {
        /// Its name.
        name: String,
        /// The site that writes it.
        #[arg(long, value_name = "N", default_value_t = 1)]
        site: u16,
        /// Instead of folder and number: the site's configuration file.
        #[arg(long, value_name = "FILE", requires = "to", conflicts_with_all = ["site", "data"])]
        config: Option<PathBuf>,
        /// Megabytes written in a second, at most.
        #[arg(long, value_name = "MB", default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..=100_000))]
        rate: u64,
        #[command(flatten)]
        place: SnapshotFolder,
    },
    /// List all snapshots in a folder
    List {
        #[command(flatten)]
        place: SnapshotFolder,
    },
    /// Show what a snapshot is
    Show {
        /// Its name.
        name: String,
        #[command(flatten)]
        place: SnapshotFolder,
    },
    /// Read all of a snapshot and compare it with its checksums
    ///
    /// What is damaged is named with its file and place, missing files are listed, and the status is 1.
    Verify {
        /// Its name.
        name: String,
        /// Restore it, too, in a folder that is removed afterwards, and print a hash of all rows: those of two sites' snapshots can be compared when nothing was
        /// written between them.
        #[arg(long)]
        deep: bool,
        #[command(flatten)]
        place: SnapshotFolder,
    },
    /// Remove a snapshot
    Drop {
        /// Its name.
        name: String,
        #[command(flatten)]
        place: SnapshotFolder,
    },
}

/// Make a new cluster from a snapshot; `raid start` starts it
///
/// It may have any number of sites. All that the snapshot has is in it: tables, indexes, roles, settings, procedures. It is an instance of its own, and can
/// run beside the old one. When it was cut off, give the same command again: it begins from nothing.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct RestoreOptions {
    /// The snapshot's folder.
    #[arg(long, value_name = "DIR")]
    from: PathBuf,
    #[command(flatten)]
    moment: MomentOptions,
    /// The new cluster's folder.
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// How many sites, 1 to 16. [default: 3]
    #[arg(long, value_name = "N")]
    sites: Option<u16>,
    /// SQL port of site 1; the other sites take the ports after it. 0 takes free ones. [default: 5433]
    #[arg(long)]
    port: Option<u16>,
}

/// A moment behind a snapshot.
#[derive(Args)]
pub struct MomentOptions {
    /// The instance as it was at this moment behind the snapshot: a time such as '2026-11-25 12:00:00+00', in UTC where it says no zone, or `latest`
    #[arg(long, value_name = "TIME", value_parser = archive::parse_moment, requires = "archive", conflicts_with = "to_timestamp")]
    to_time: Option<WantedMoment>,
    /// The same, in microseconds since 1970: what committed up to then is in, that one included
    #[arg(long, value_name = "MICROSECONDS", requires = "archive")]
    to_timestamp: Option<u64>,
    /// The folder that `log_archive` names in the sites' configuration.
    #[arg(long, value_name = "DIR")]
    archive: Option<PathBuf>,
}

impl MomentOptions {
    /// Errors: an archive without a moment.
    pub fn moment(&self) -> Result<Option<RestoredMoment>, String> {
        let wanted = self.to_time.or(self.to_timestamp.map(WantedMoment::of_micros));
        match (wanted, &self.archive) {
            (Some(wanted), Some(archive)) => Ok(Some(RestoredMoment { wanted, archive: archive.clone() })),
            (None, Some(_)) => {
                Err("--archive is for a moment behind the snapshot: say --to-time or --to-timestamp".to_owned())
            }
            (_, None) => Ok(None),
        }
    }
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

impl SnapshotFolder {
    fn folder(&self) -> PathBuf {
        self.to.clone().unwrap_or_else(|| self.folder.data.join(FOLDER))
    }
}

/// Does what is asked for.
pub fn run(options: &SnapshotArguments) -> Result<ExitCode, String> {
    match &options.command {
        SnapshotCommand::Take { name, site, config, rate, place } => {
            take(name, *site, config.as_deref(), *rate, place)?
        }
        SnapshotCommand::List { place } => {
            for (name, manifest) in files::list(&place.folder()).map_err(text)? {
                match manifest {
                    Ok(manifest) => {
                        println!("{name}  {} bytes, site {}, {}", manifest.bytes(), manifest.site, taken(&manifest))
                    }
                    Err(error) => println!("{name}  {error}"),
                }
            }
        }
        SnapshotCommand::Show { name, place } => {
            let manifest = Manifest::read(&files::find(&place.folder(), name).map_err(text)?).map_err(text)?;
            println!("snapshot {} of instance {}, {}", manifest.name, manifest.instance, taken(&manifest));
            println!("written by site {} in its life {}, epoch {}", manifest.site, manifest.life, manifest.epoch);
            println!("the log from {} to the cut at {}", manifest.log_from, manifest.cut);
            manifest.parts.iter().for_each(|part| println!("{}  {} bytes", part.file, part.bytes));
        }
        SnapshotCommand::Verify { name, deep, place } => verify(name, *deep, place)?,
        SnapshotCommand::Drop { name, place } => {
            files::remove(&place.folder(), name).map_err(text)?;
            println!("snapshot {name} is removed");
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn taken(manifest: &Manifest) -> String {
    format!("taken {}", manifest.taken_at())
}

fn take(name: &str, site: u16, config: Option<&Path>, rate_mb: u64, place: &SnapshotFolder) -> Result<(), String> {
    let data = match config {
        Some(path) => SiteConfig::read(path).map_err(text)?.data,
        None => {
            let cluster = ClusterDirectory::open(&place.folder.data).map_err(text)?;
            if !cluster.has(ProcessName::Site(site)) {
                return Err(format!("{} has no site {site}", place.folder.data.display()));
            }
            SiteConfig::read(&cluster.config_of(ProcessName::Site(site))).map_err(text)?.data
        }
    };
    // The site has another working folder.
    let folder = std::path::absolute(place.folder()).map_err(text)?;
    let wish = take::Wish { name: name.to_owned(), folder, rate_mb };
    let taken = show_progress(&data, || orders::take_snapshot(&data, &wish).map_err(text))?;
    println!(
        "snapshot {name} is permanent: {} with {} bytes after {} ms",
        taken.folder.display(),
        taken.bytes,
        taken.took_ms
    );
    Ok(())
}

/// Shows on a terminal how far the snapshot is, until it has ended.
fn show_progress<T>(data: &Path, take: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    if !std::io::stdout().is_terminal() {
        return take();
    }
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watch = scope.spawn(|| {
            let mut screen = Screen::default();
            while !ended.load(Ordering::SeqCst) {
                if let Ok(Some(progress)) = orders::snapshot_progress(data) {
                    screen.progress(|| progress_line(&progress));
                }
                std::thread::park_timeout(LOOK_INTERVAL);
            }
            screen.line("");
        });
        let taken = take();
        ended.store(true, Ordering::SeqCst);
        watch.thread().unpark();
        taken
    })
}

/// How far a snapshot is.
pub fn progress_line(progress: &SnapshotProgress) -> String {
    let left = progress.seconds_left.map_or(String::new(), |seconds| format!(", about {seconds} s left"));
    let SnapshotProgress { name, phase, .. } = progress;
    format!("{name}: {phase}, {} of about {}{left}", bytes(progress.bytes), bytes(progress.bytes_expected))
}

fn verify(name: &str, deep: bool, place: &SnapshotFolder) -> Result<(), String> {
    let path = files::find(&place.folder(), name).map_err(text)?;
    let manifest = files::verify(&path).map_err(text)?;
    println!("snapshot {name} is whole: {} bytes", manifest.bytes());
    if deep {
        let scratch = std::env::temp_dir().join(format!("raid-verify-{}", std::process::id()));
        let looked = restore::look_into(&path, &scratch);
        // What is left of it is the system's to clear.
        let _ = std::fs::remove_dir_all(&scratch);
        let contents = looked.map_err(text)?;
        println!(
            "it restores: {} rows in {} tables and indexes, hash {:032x}",
            contents.rows, contents.storages, contents.hash
        );
    }
    Ok(())
}

/// Makes a new cluster.
pub fn restore(options: &RestoreOptions) -> Result<ExitCode, String> {
    let moment = options.moment.moment()?;
    // Before anything is made of it.
    let manifest = files::verify(&options.from).map_err(text)?;
    let restoring = ClusterDirectory::begin_restore(&options.data).map_err(text)?;
    let wish = ClusterWish { sites: options.sites, port: options.port, ..ClusterWish::default() };
    let cluster = restoring.cluster(&wish).map_err(text)?;
    let site = |number: &u16| SiteConfig::read(&cluster.config_of(ProcessName::Site(*number))).map_err(text);
    let sites: Vec<SiteConfig> = cluster.sites().keys().map(site).collect::<Result<_, _>>()?;
    let oracle = OracleConfig::read(&cluster.config_of(ProcessName::Oracle)).map_err(text)?;
    let scratch = cluster.folder().join(SCRATCH);
    let contents = restore::restore(&options.from, moment.as_ref(), &scratch, &sites, &oracle).map_err(text)?;
    restoring.finish().map_err(text)?;
    println!(
        "snapshot {} is restored: {} rows in {} tables and indexes, {} sites in {}; `raid start --data {}` starts them",
        manifest.name,
        contents.rows,
        contents.storages,
        sites.len(),
        cluster.folder().display(),
        options.data.display()
    );
    Ok(ExitCode::SUCCESS)
}
