//! A cluster in the foreground: reports every process that dies, starts it again, and does what orders ask.
//!
//! Invariants: a process killed by an order stays down until an order starts it; one that dies again and again is started ever less often, and one whose
//! disk is full when there is room. No disk of a process ends the supervisor.

use crate::cluster::{ClusterDirectory, ClusterError};
use crate::limits;
use crate::orders::{self, ClusterOrder};
use crate::process::{ProcessName, ending};
use crate::rollback;
use crate::running::RunningCluster;
use crate::screen::Screen;
use site::{OracleConfig, SiteConfig};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What is known about a process beside whether it runs.
#[derive(Debug, Default)]
struct ProcessWatch {
    /// Its end has been reported.
    reported: bool,
    /// When it is started again.
    again_at: Option<Instant>,
    /// The pause before that; grows while its lives are short, or it cannot be started.
    pause: Duration,
    /// Why it could not be started, as was told.
    lacks: Option<String>,
}

/// See the module's description.
#[derive(Debug)]
pub struct Supervisor {
    running: RunningCluster,
    restart: bool,
    watches: BTreeMap<ProcessName, ProcessWatch>,
}

impl Supervisor {
    /// Over a running cluster. `restart`: start what dies again.
    pub fn new(running: RunningCluster, restart: bool) -> Supervisor {
        let watches = running.cluster().names().into_iter().map(|name| (name, ProcessWatch::default())).collect();
        Supervisor { running, restart, watches }
    }

    /// Watches until `stop` is set; what happens is told in lines. Returns the cluster, still running.
    pub fn run(mut self, stop: &AtomicBool, mut tell: impl FnMut(&str)) -> Result<RunningCluster, ClusterError> {
        while !stop.load(Ordering::SeqCst) {
            for name in self.running.cluster().names() {
                if let Some(order) = orders::waiting(self.running.cluster(), name) {
                    self.carry_out(name, order, &mut tell)?;
                    orders::done(self.running.cluster(), name)?;
                }
                self.look(name, &mut tell);
            }
            std::thread::sleep(limits::LOOK_INTERVAL);
        }
        Ok(self.running)
    }

    fn carry_out(
        &mut self,
        name: ProcessName,
        order: ClusterOrder,
        tell: &mut impl FnMut(&str),
    ) -> Result<(), ClusterError> {
        if order == ClusterOrder::Rollback {
            self.roll_back(tell);
            return Ok(());
        }
        let watch = self.watches.get_mut(&name).expect("every process is watched");
        self.running.kill(name);
        *watch = ProcessWatch { reported: true, ..ProcessWatch::default() };
        match order {
            ClusterOrder::Kill => {
                let argument = name.argument();
                let folder = self.running.cluster().folder().display();
                tell(&format!(
                    "{name} was killed as ordered; `raid restart {argument} --data {folder}` starts it again"
                ));
            }
            ClusterOrder::Restart | ClusterOrder::Repair | ClusterOrder::Rollback => {
                let started = match order {
                    ClusterOrder::Repair => self.running.repair_process(name),
                    _ => self.running.start_process(name),
                };
                match started {
                    Ok(()) => {
                        watch.reported = false;
                        tell(&format!("{name} was started as ordered"));
                    }
                    Err(error) if order == ClusterOrder::Repair => tell(&format!("{name} cannot be started: {error}")),
                    Err(error) => self.put_off(name, error.to_string(), tell),
                }
            }
        }
        Ok(())
    }

    /// Ends all processes, moves the data that were prepared, and starts them again: all of them, those that were down, too.
    fn roll_back(&mut self, tell: &mut impl FnMut(&str)) {
        tell("All processes end, for a rollback");
        // Until it is over nobody is missed.
        self.watches.values_mut().for_each(|watch| *watch = ProcessWatch { reported: true, ..ProcessWatch::default() });
        self.running.end_all().iter().for_each(|complaint| tell(complaint));
        match rollback::carry_out(self.running.cluster()) {
            Ok(before) => {
                tell(&format!("The cluster is rolled back; what was there before is in {before} of each process"))
            }
            Err(error) => {
                let reason = error.to_string();
                rollback::note_failure(self.running.cluster(), &reason);
                tell(&rollback::in_words(self.running.cluster(), &reason));
            }
        }
        for name in self.running.cluster().names() {
            let watch = self.watches.get_mut(&name).expect("every process is watched");
            *watch = ProcessWatch::default();
            if let Err(error) = self.running.start_process(name) {
                self.watches.get_mut(&name).expect("every process is watched").reported = true;
                self.put_off(name, error.to_string(), tell);
            }
        }
    }

    /// Starts what has ended, if it can be.
    fn start_again(&mut self, name: ProcessName, tell: &mut impl FnMut(&str)) {
        let started = match full_disk(self.running.cluster(), name) {
            Some(path) => Err(format!("the disk under {} is full", path.display())),
            None => self.running.start_process(name).map_err(|error| error.to_string()),
        };
        if let Err(lacks) = started {
            return self.put_off(name, lacks, tell);
        }
        let watch = self.watches.get_mut(&name).expect("every process is watched");
        (watch.again_at, watch.reported) = (None, false);
        if watch.lacks.take().is_some() {
            tell(&format!("{name} is started again: what it waited for is there"));
        }
    }

    /// It cannot be started now: it is tried again after ever longer pauses.
    fn put_off(&mut self, name: ProcessName, lacks: String, tell: &mut impl FnMut(&str)) {
        let watch = self.watches.get_mut(&name).expect("every process is watched");
        watch.pause = next_pause(watch.pause, true);
        watch.again_at = Some(Instant::now() + watch.pause);
        if watch.lacks.as_ref() != Some(&lacks) {
            let most = limits::RESTART_PAUSE_MAX.as_secs();
            tell(&format!("{name} waits: {lacks}; this is looked at after pauses of up to {most} s"));
            watch.lacks = Some(lacks);
        }
    }

    fn look(&mut self, name: ProcessName, tell: &mut impl FnMut(&str)) {
        let watch = self.watches.get_mut(&name).expect("every process is watched");
        let Some(process) = self.running.process(name) else { return };
        let Some(status) = process.ended() else { return };
        if !watch.reported {
            watch.reported = true;
            let how = format!("{name} (process {}) {}", process.id(), ending(status));
            let lines = process.last_lines();
            let argument = name.argument();
            if !self.restart {
                let folder = self.running.cluster().folder().display();
                tell(&format!("{how}; `raid restart {argument} --data {folder}` starts it again"));
            } else {
                let short = process.age() < limits::SHORT_LIFE;
                watch.pause = next_pause(watch.pause, short);
                watch.again_at = Some(Instant::now() + watch.pause);
                match watch.pause {
                    Duration::ZERO => tell(&format!("{how}; it is started again")),
                    pause => tell(&format!("{how}; it is started again in {:.1} s", pause.as_secs_f64())),
                }
            }
            if status.code().is_some_and(|code| code != 0) && !lines.is_empty() {
                tell(&format!("its log ends with:\n{lines}"));
            }
        }
        if watch.again_at.is_some_and(|again_at| Instant::now() >= again_at) {
            self.start_again(name, tell);
        }
    }
}

/// A folder that a process writes to and that has not even room for the next piece of its log.
fn full_disk(cluster: &ClusterDirectory, name: ProcessName) -> Option<PathBuf> {
    let mut folders = vec![cluster.folder_of(name)];
    let config = cluster.config_of(name);
    folders.extend(match name {
        ProcessName::Site(_) => SiteConfig::read(&config).map(|config| config.data).ok(),
        ProcessName::Oracle => OracleConfig::read(&config).map(|config| config.data).ok(),
    });
    folders.into_iter().find(|folder| {
        let free = rustix::fs::statvfs(folder).map(|disk| disk.f_bavail.saturating_mul(disk.f_frsize));
        free.is_ok_and(|free| free < limits::ROOM_MIN)
    })
}

/// A long life is forgiven at once; a short one costs a pause, each further one twice the last.
fn next_pause(last: Duration, short: bool) -> Duration {
    match (short, last) {
        (false, _) => Duration::ZERO,
        (true, Duration::ZERO) => limits::RESTART_PAUSE_MIN,
        (true, last) => (last * 2).min(limits::RESTART_PAUSE_MAX),
    }
}

/// How to connect with each site.
pub fn print_psql(running: &RunningCluster, screen: &mut Screen) {
    for site in running.cluster().sites().keys() {
        screen.line(&format!("  {}", running.cluster().psql(*site)));
    }
}

/// Ends all processes; not all well is exit status 1.
pub fn end(running: RunningCluster, screen: &mut Screen) -> ExitCode {
    screen.line("Ending all processes.");
    let complaints = running.stop();
    for complaint in &complaints {
        screen.line(complaint);
    }
    if complaints.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A process that cannot start must not be started in a loop; one that served for long must come back at once.
    #[test]
    fn pauses_grow_with_short_lives_and_end_with_a_long_one() {
        let mut pause = Duration::ZERO;
        let mut pauses = Vec::new();
        for _ in 0..10 {
            pause = next_pause(pause, true);
            pauses.push(pause);
        }
        assert_eq!(pauses[0], limits::RESTART_PAUSE_MIN);
        assert!(pauses.windows(2).all(|pair| pair[0] <= pair[1]), "{pauses:?}");
        assert_eq!(pauses[9], limits::RESTART_PAUSE_MAX);
        assert_eq!(next_pause(pause, false), Duration::ZERO);
    }
}
