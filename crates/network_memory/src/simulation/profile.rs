//! What a seed makes of a run.

use seeded_random::SplitMix64;

/// See the module's description. Times are in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct LogRunProfile {
    /// Every recovery has the disk; otherwise a log may be recovered elsewhere.
    pub(super) restart_on_this_disk: bool,
    pub(super) servers: u8,
    pub(super) members: u8,
    pub(super) copies: u8,
    pub(super) hosts: usize,
    pub(super) has_disks: bool,
    pub(super) loss_percent: u64,
    pub(super) double_percent: u64,
    /// Longest time that a message takes; the shortest is a tenth.
    pub(super) latency: u64,
    pub(super) slow_percent: u64,
    pub(super) sync_time: u64,
    /// Where the disk alone counts it is synced by whoever waits.
    pub(super) syncs_here: bool,
    pub(super) acts: u64,
    /// Longest time between two acts.
    pub(super) pause: u64,
    /// Of a thousand acts, faults.
    pub(super) faults: u64,
    pub(super) quota_bytes: u64,
    pub(super) capacity_bytes: u64,
    /// Of a hundred acts, those that mend a cut network.
    pub(super) heal_percent: u64,
    /// Of a hundred times that a log is opened or goes on to another epoch, those after which the power fails.
    pub(super) strike_percent: u64,
    /// Of a hundred losses of a server, those in which its memory is lost.
    pub(super) memory_lost_percent: u64,
    /// Clocks differ by at most so many millionths.
    pub(super) drift: u64,
}

impl LogRunProfile {
    pub(super) fn of(random: &mut SplitMix64) -> LogRunProfile {
        let mut pick = |choices: &[u64]| choices[random.below(choices.len() as u64) as usize];
        let restart_on_this_disk = pick(&[0, 1]) == 1;
        let (members, copies) =
            [(2, 2), (2, 2), (3, 2), (3, 2), (3, 3), (2, 1), (4, 2)][pick(&[0, 1, 2, 3, 4, 5, 6]) as usize];
        let spares = if restart_on_this_disk { pick(&[0, 0, 1]) as u8 } else { 0 };
        let syncs_here;
        LogRunProfile {
            restart_on_this_disk,
            servers: members + spares,
            members,
            copies,
            hosts: if restart_on_this_disk { pick(&[1, 1, 2]) as usize } else { pick(&[2, 2, 3]) as usize },
            has_disks: restart_on_this_disk || pick(&[0, 1, 1, 1]) == 1,
            loss_percent: pick(&[0, 0, 0, 1, 5, 20]),
            double_percent: pick(&[0, 0, 5, 20]),
            latency: pick(&[50_000, 200_000, 2_000_000, 20_000_000]),
            slow_percent: pick(&[0, 0, 1, 10]),
            sync_time: {
                let choice = pick(&[0, 1, 2, 3, 4, 5]) as usize;
                syncs_here = choice >= 3;
                [100_000, 1_000_000, 10_000_000][choice % 3]
            },
            syncs_here,
            acts: pick(&[40, 80, 150]),
            pause: pick(&[2_000_000, 20_000_000, 100_000_000]),
            faults: pick(&[20, 60, 150]),
            quota_bytes: pick(&[u64::MAX, u64::MAX, u64::MAX, 3_000]),
            capacity_bytes: pick(&[u64::MAX, u64::MAX, u64::MAX, u64::MAX, 5_000]),
            heal_percent: pick(&[3, 15, 15]),
            strike_percent: pick(&[0, 0, 10]),
            memory_lost_percent: pick(&[10, 50, 90]),
            drift: pick(&[0, 1_000, 9_900]),
        }
    }
}
