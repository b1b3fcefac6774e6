//! What processes use of a host, as the kernel counts it (proc(5)).

/// Ticks of a second in which the kernel tells processor time: `USER_HZ`, which is 100 on every processor that Raid runs on (time(7)).
const TICKS: f64 = 100.0;

/// Of one process.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct ProcessUse {
    /// Seconds of processor time in its own code,
    pub(crate) user_s: f64,
    /// and in the kernel's.
    pub(crate) system_s: f64,
    /// Bytes of it in memory.
    pub(crate) resident_bytes: u64,
}

impl ProcessUse {
    /// Of this process; `None`: it has ended.
    pub(crate) fn of(pid: u32) -> Option<ProcessUse> {
        let read = |file: &str| std::fs::read_to_string(format!("/proc/{pid}/{file}")).ok();
        let (user_s, system_s) = processor_time(&read("stat")?)?;
        Some(ProcessUse { user_s, system_s, resident_bytes: resident_bytes(&read("status")?) })
    }
}

/// The fields `utime` and `stime` of `stat`, behind the process's name, which may contain anything.
fn processor_time(stat: &str) -> Option<(f64, f64)> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace().skip(11);
    let mut seconds = || Some(fields.next()?.parse::<f64>().ok()? / TICKS);
    Some((seconds()?, seconds()?))
}

/// `VmRSS` of `status`, which is in KiB; 0: it is not told.
pub(crate) fn resident_bytes(status: &str) -> u64 {
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    resident.and_then(|text| text.trim().strip_suffix(" kB")?.parse::<u64>().ok()).unwrap_or(0) << 10
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Another field would be shown as processor time, or a process with an odd name not at all.
    #[test]
    fn processor_time_is_found_behind_any_name() {
        let stat = "7 (a) b (c)) S 1 7 7 0 -1 4194560 97 0 0 0 250 75 0 0 20 0 1 0 1234 1 1";
        assert_eq!(processor_time(stat), Some((2.5, 0.75)));
        assert_eq!(processor_time("7 (raid) S 1"), None);
        let own = ProcessUse::of(std::process::id()).expect("it runs");
        assert!(own.resident_bytes > 1 << 16 && own.user_s >= 0.0, "{own:?}");
    }
}
