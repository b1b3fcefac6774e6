//! Snapshots by schedule, and how many of them are kept.
//!
//! Time is cut into pieces of the configured length, which count from 1970. Each piece has one snapshot, named after its begin. The first site that is up in
//! the epoch takes it; when that one dies, the next epoch has another first. Invariants: an old one goes only after a new one was written and read again;
//! nothing that fails here ends the site.

use super::files::{self, Manifest};
use super::take::{self, Wish};
use crate::config::SiteConfig;
use crate::shared::SiteShared;
use crate::{clock, limits};
use domain::snapshot::taking::serving;
use messages::epoch::MemberState;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Begins the names of such snapshots: others are never removed.
pub const PREFIX: &str = "scheduled-";

/// Runs the schedule until the process ends.
pub(crate) fn serve(config: &SiteConfig, shared: &Arc<SiteShared>) -> Result<(), String> {
    let Some(every) = config.snapshot_every else { return Ok(()) };
    let (site, config, shared) = (config.id, config.clone(), shared.clone());
    let folder = config.snapshot_folder();
    shared.snapshots().note_schedule(|status| {
        (status.every_s, status.keep, status.folder) = (every.seconds(), config.snapshots_keep, folder.clone());
    });
    let run = move || {
        let mut rests_until = Instant::now();
        loop {
            std::thread::sleep(limits::SCHEDULE_LOOK);
            if shared.stops() {
                return;
            }
            let turn = whose_turn(&shared);
            shared.snapshots().note_schedule(|status| status.taken_by = turn);
            if turn != Some(config.id) || Instant::now() < rests_until {
                continue;
            }
            let outcome = look(&config, &shared, &folder, every.seconds());
            if let Err(reason) = &outcome {
                rests_until = Instant::now() + pause(every.seconds());
                tracing::error!(reason, "no snapshot by schedule; it is tried again");
            }
            match outcome {
                Ok(false) => {}
                Ok(true) => shared.snapshots().note_schedule(|status| status.failure = None),
                Err(reason) => shared.snapshots().note_schedule(|status| status.failure = Some(reason)),
            }
        }
    };
    let thread = std::thread::Builder::new().name("schedule".to_owned()).spawn(run);
    thread.map(drop).map_err(|error| format!("site {site} cannot keep its schedule of snapshots: {error}"))
}

/// How long it rests after one that failed.
fn pause(every_s: u64) -> Duration {
    Duration::from_secs(every_s / 4).clamp(limits::SCHEDULE_PAUSE_MIN, limits::SCHEDULE_PAUSE_MAX)
}

/// The first site that is up in the epoch, as far as this one serves.
fn whose_turn(shared: &SiteShared) -> Option<u16> {
    let core = shared.core()?;
    let domain = core.domain()?;
    serving(domain, clock::now()).ok()?;
    let epoch = domain.replication().epoch?;
    epoch.members.iter().find(|(_, member)| member.state == MemberState::Up).map(|(site, _)| site.0)
}

/// The name of the snapshot of the piece of time that this moment lies in.
fn name_at(now_us: u64, every_s: u64) -> String {
    let begins = now_us / 1_000_000 / every_s.max(1) * every_s.max(1);
    let plain: String = files::date(begins * 1_000_000).chars().filter(char::is_ascii_digit).collect();
    let (day, time) = plain.split_at(8);
    format!("{PREFIX}{day}T{time}Z")
}

/// Takes the snapshot of this piece of time, unless it is there, and removes what is too old. Whether it has taken one.
fn look(config: &SiteConfig, shared: &SiteShared, folder: &Path, every_s: u64) -> Result<bool, String> {
    let name = name_at(clock::wall_micros(), every_s);
    if folder.join(&name).exists() {
        // Whoever was to look whether it is whole may have died before.
        let began_us = clock::wall_micros() / 1_000_000 / every_s.max(1) * every_s.max(1) * 1_000_000;
        shared.snapshots().count(|counts| counts.last_success_us = counts.last_success_us.max(began_us));
        shared.snapshots().note_schedule(|status| status.last = Some(name));
        return Ok(false);
    }
    let wish = Wish { name: name.clone(), folder: folder.to_owned(), rate_mb: config.snapshot_rate };
    match take::take(config, shared, &wish, &|| shared.stops()) {
        Ok(_) => {}
        // A site that has the same folder was faster.
        Err(refusal) if refusal.sqlstate == take::DUPLICATE => return Ok(false),
        Err(refusal) => return Err(refusal.message),
    }
    files::verify(&folder.join(&name)).map_err(|error| error.to_string())?;
    shared.snapshots().note_schedule(|status| status.last = Some(name.clone()));
    retain(folder, &config.instance.to_string(), config.snapshots_keep)?;
    Ok(true)
}

/// Removes the oldest snapshots of the schedule of this instance, but for so many that are whole. Errors: one could not be removed, and which.
fn retain(folder: &Path, instance: &str, keep: u16) -> Result<(), String> {
    let listed = files::list(folder).map_err(|error| error.to_string())?;
    let is_ours = |name: &str, manifest: &Manifest| name.starts_with(PREFIX) && manifest.instance == instance;
    let mut whole: Vec<(u64, String)> = Vec::new();
    for (name, manifest) in listed {
        match manifest {
            Ok(manifest) if is_ours(&name, &manifest) => whole.push((manifest.taken_us, name)),
            Ok(_) => {}
            Err(error) if name.starts_with(PREFIX) => {
                tracing::warn!(name, %error, "a damaged snapshot is neither counted nor removed");
            }
            Err(_) => {}
        }
    }
    whole.sort();
    let old = whole.len().saturating_sub(keep.max(1).into());
    for (_, name) in whole.drain(..old) {
        files::remove(folder, &name).map_err(|error| format!("an old snapshot cannot be removed: {error}"))?;
        tracing::info!(name, "an old snapshot is removed");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::files::{BASE, FrameWriter, TAIL};

    fn written(folder: &Path, name: &str, instance: &str, taken_us: u64) {
        let path = folder.join(name);
        std::fs::create_dir(&path).expect("a new folder");
        let parts =
            [BASE, TAIL].map(|part| FrameWriter::create(&path, part).expect("a file").finish().expect("a disk"));
        let manifest = Manifest {
            format: Manifest::format(),
            name: name.to_owned(),
            instance: instance.to_owned(),
            site: 1,
            life: 1,
            epoch: 1,
            taken_us,
            log_from: 0,
            cut: 0,
            base_rows: 0,
            parts: parts.to_vec(),
        };
        manifest.write(&path).expect("a disk");
    }

    /// Two sites that look at the same moment must mean the same snapshot, and the next piece of time another.
    #[test]
    fn a_piece_of_time_has_one_name() {
        let at = 1_709_210_096_000_000;
        assert_eq!(name_at(at, 3_600), "scheduled-20240229T120000Z");
        assert_eq!(name_at(at + 60_000_000, 3_600), name_at(at, 3_600));
        assert_eq!(name_at(at + 3_600_000_000, 3_600), "scheduled-20240229T130000Z");
        files::check_name(&name_at(at, 1)).expect("it is a name of a snapshot");
    }

    /// A backup that somebody took by hand, that is another instance's, or that is damaged would be removed by a schedule, or the newest would be.
    #[test]
    fn the_oldest_of_the_schedule_go_and_nothing_else() {
        let place = tempfile::tempdir().expect("a temporary folder");
        let folder = place.path();
        for number in 1..=4 {
            written(folder, &format!("scheduled-{number}"), "7", number);
        }
        written(folder, "nightly", "7", 0);
        written(folder, "scheduled-other", "8", 0);
        written(folder, "scheduled-0", "7", 0);
        std::fs::write(folder.join("scheduled-0/manifest.toml"), "nonsense").expect("it can be written");
        retain(folder, "7", 2).expect("they can be removed");
        let left: Vec<String> = files::list(folder).expect("the folder").into_iter().map(|(name, _)| name).collect();
        assert_eq!(left, ["nightly", "scheduled-0", "scheduled-3", "scheduled-4", "scheduled-other"]);
    }

    /// A schedule whose disk is full must not write as fast as it can fail.
    #[test]
    fn failures_rest() {
        assert_eq!(pause(1), limits::SCHEDULE_PAUSE_MIN);
        assert_eq!(pause(86_400), limits::SCHEDULE_PAUSE_MAX);
    }
}
