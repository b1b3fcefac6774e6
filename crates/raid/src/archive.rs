//! `raid archive`: what archives of logs there are, and which of their files no snapshot needs.

use clap::{Args, Subcommand};
use local_cluster::screen::bytes;
use site::snapshot::files::{self, Manifest};
use site::snapshot::retention::{self, ArchivesOfSite};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  raid archive list --archive /archive
  raid archive trim --archive /archive --snapshots /backup           tells what would be removed, and does nothing
  raid archive trim --archive /archive --snapshots /backup --yes";

/// Look at archives of logs, and remove what no snapshot needs
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct ArchiveArguments {
    #[command(subcommand)]
    command: ArchiveCommand,
}

#[derive(Subcommand)]
enum ArchiveCommand {
    /// List the archives of all sites
    List {
        /// The folder that `log_archive` names in the sites' configuration.
        #[arg(long, value_name = "DIR")]
        archive: PathBuf,
    },
    /// Remove files that no moment behind a snapshot is read from
    ///
    /// Of a site of which there is no snapshot in that folder, nothing is removed. Snapshots in other folders are not known: give the folder of the oldest
    /// that you keep.
    Trim {
        /// The folder that `log_archive` names in the sites' configuration.
        #[arg(long, value_name = "DIR")]
        archive: PathBuf,
        /// Where snapshots are.
        #[arg(long, value_name = "DIR")]
        snapshots: PathBuf,
        /// Do it.
        #[arg(long)]
        yes: bool,
    },
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// Does what is asked for.
pub fn run(options: &ArchiveArguments) -> Result<ExitCode, String> {
    match &options.command {
        ArchiveCommand::List { archive } => {
            for site in retention::list(archive).map_err(text)? {
                for extent in site.extents().map_err(text)? {
                    println!(
                        "site {} of instance {}: archive {}, the log from {} on, {} files, {}",
                        site.site,
                        site.instance,
                        extent.number,
                        extent.first,
                        extent.files,
                        bytes(extent.bytes)
                    );
                }
            }
            Ok(ExitCode::SUCCESS)
        }
        ArchiveCommand::Trim { archive, snapshots, yes } => trim(archive, snapshots, *yes),
    }
}

fn trim(archive: &Path, snapshots: &Path, yes: bool) -> Result<ExitCode, String> {
    let listed = files::list(snapshots).map_err(text)?;
    // What a snapshot needs that cannot be read is not known.
    let manifests: Vec<Manifest> = listed
        .into_iter()
        .map(|(name, manifest)| manifest.map_err(|error| format!("snapshot {name}: {error}; nothing is removed")))
        .collect::<Result<_, _>>()?;
    let mut would_remove = false;
    for site in retention::list(archive).map_err(text)? {
        would_remove |= trim_site(&site, &manifests, yes)?;
    }
    match would_remove && !yes {
        true => Err("nothing is removed: say --yes to remove these files".to_owned()),
        false => Ok(ExitCode::SUCCESS),
    }
}

/// Whether there is something to remove.
fn trim_site(site: &ArchivesOfSite, manifests: &[Manifest], yes: bool) -> Result<bool, String> {
    let folder = site.folder.display();
    if !site.has_snapshot(manifests) {
        println!("{folder}: no snapshot is of this site, so all of it stays");
        return Ok(false);
    }
    let unneeded = site.unneeded(manifests);
    match yes {
        false => unneeded.iter().for_each(|file| println!("{}", file.display())),
        true => {
            let freed: u64 = unneeded.iter().map(|file| retention::remove(file)).sum::<Result<_, _>>().map_err(text)?;
            println!("{folder}: {} files removed, {}", unneeded.len(), bytes(freed));
        }
    }
    Ok(!unneeded.is_empty())
}
