//! One group of processes for all contenders and the client.
//!
//! Linux gives each session its own share of the processor (`kernel.sched_autogroup_enabled`). PostgreSQL opens a session per
//! backend, Raid does not; sixteen shares against one would decide the comparison. Inside a cgroup with a cpu controller there are
//! no autogroups (sched(7)), so all parties move into one, if we may; otherwise the report says so.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::databases::error::CompareError;
use crate::databases::process::{Interrupt, processor_time_of};

const AUTOGROUP: &str = "/proc/sys/kernel/sched_autogroup_enabled";

/// Membership of this process, and of all that it starts, in a group of its own. Left when dropped, so it must be dropped last.
pub struct SharedGroup {
    /// The group and the one that we came from.
    group: Option<(PathBuf, PathBuf)>,
    autogroup: bool,
}

impl SharedGroup {
    /// Moves this process into a new group; does nothing where that is not allowed.
    pub fn enter() -> SharedGroup {
        let autogroup = fs::read_to_string(AUTOGROUP).is_ok_and(|text| text.trim() == "1");
        let home = cpu_cgroup(&fs::read_to_string("/proc/self/cgroup").unwrap_or_default());
        let group = home.and_then(|home| {
            let group = home.join(format!("raid_compare_{}", std::process::id()));
            fs::create_dir(&group).ok()?;
            // Version 2 hands the controller down only when told; version 1 always has it.
            let controls = home.join("cgroup.subtree_control");
            let controlled = !controls.exists() || fs::write(&controls, "+cpu").is_ok();
            if controlled && fs::write(group.join("cgroup.procs"), "0").is_ok() {
                Some((group, home))
            } else {
                let _ = fs::remove_dir(&group);
                None
            }
        });
        SharedGroup { group, autogroup }
    }

    /// Of one core, how much all parties use over `window` while they are left alone; None where nobody counts it.
    ///
    /// # Errors
    /// The user wants to stop.
    pub fn idle_share(&self, interrupt: &Interrupt, window: Duration) -> Result<Option<f64>, CompareError> {
        let (begin, before) = (Instant::now(), self.used());
        interrupt.wait(window, || Ok(false))?;
        let used = self.used().zip(before).map(|(after, before)| after.saturating_sub(before));
        Ok(used.map(|used| used.as_secs_f64() / begin.elapsed().as_secs_f64()))
    }

    /// Processor time so far of the group's threads that still run.
    fn used(&self) -> Option<Duration> {
        let (group, _) = self.group.as_ref()?;
        // By version 2 and by version 1.
        let read = |name| fs::read_to_string(group.join(name)).ok();
        let threads = read("cgroup.threads").or_else(|| read("tasks"))?;
        Some(threads.lines().filter_map(|thread| processor_time_of(&Path::new("/proc").join(thread))).sum())
    }

    /// For the report.
    pub fn describe(&self) -> &'static str {
        match (&self.group, self.autogroup) {
            (Some(_), _) => "all processes in one cgroup",
            (None, false) => "no autogroups",
            (None, true) => {
                "AUTOGROUPS ON: the processor is shared between sessions, not processes; run as root to avoid it"
            }
        }
    }
}

impl Drop for SharedGroup {
    fn drop(&mut self) {
        if let Some((group, home)) = &self.group {
            let _ = fs::write(home.join("cgroup.procs"), "0");
            let _ = fs::remove_dir(group);
        }
    }
}

/// The folder of the cgroup with this process's cpu controller, from `/proc/self/cgroup` (cgroups(7)).
fn cpu_cgroup(membership: &str) -> Option<PathBuf> {
    let entries = membership.lines().filter_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        Some((fields.next()?, fields.next()?))
    });
    let mut version2 = None;
    for (controllers, path) in entries {
        let path = path.trim_start_matches('/');
        if controllers.split(',').any(|controller| controller == "cpu") {
            return Some(Path::new("/sys/fs/cgroup").join(controllers).join(path));
        }
        if controllers.is_empty() {
            version2 = Some(Path::new("/sys/fs/cgroup").join(path));
        }
    }
    version2
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The wrong folder would leave the parties in autogroups without a word.
    #[test]
    fn the_cpu_controller_is_found_in_both_versions() {
        let first = "9:name=systemd:/\n2:cpu,cpuacct:/x\n0::/\n";
        assert_eq!(cpu_cgroup(first), Some(PathBuf::from("/sys/fs/cgroup/cpu,cpuacct/x")));
        assert_eq!(cpu_cgroup("0::/user.slice\n"), Some(PathBuf::from("/sys/fs/cgroup/user.slice")));
        assert_eq!(cpu_cgroup(""), None);
    }
}
