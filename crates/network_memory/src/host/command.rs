//! What a command that runs a memory server, or asks one how it is, needs of text: sizes with units, and a status as metrics.
//!
//! Invariant: what is printed is Prometheus' text format (<https://prometheus.io/docs/instrumenting/exposition_formats/>), one sample a line.

use crate::message::MemoryServerStatus;
use std::fmt::Write;

/// Units of sizes, and how far each shifts.
const UNITS: [(&str, u32); 5] = [("", 0), ("KiB", 10), ("MiB", 20), ("GiB", 30), ("TiB", 40)];

/// Reads a number of bytes: digits and, behind them, nothing, `KiB`, `MiB`, `GiB` or `TiB`.
///
/// # Errors
/// What is wrong with it, and what is right.
pub fn read_bytes(text: &str) -> Result<u64, String> {
    let digits = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let shift = UNITS.iter().find(|(name, _)| *name == unit.trim()).map(|(_, shift)| *shift);
    let bytes = number.parse::<u64>().ok().zip(shift).and_then(|(number, shift)| number.checked_mul(1 << shift));
    let bytes = bytes.filter(|bytes| *bytes > 0);
    bytes.ok_or_else(|| {
        format!("{text:?} is no size: say a number of bytes, or one with KiB, MiB, GiB or TiB, such as 4GiB")
    })
}

/// A status as metrics.
pub fn metrics(status: &MemoryServerStatus) -> String {
    let mut text = String::new();
    let mut family = |name: &str, kind: &str, help: &str, samples: Vec<(String, u64)>| {
        // A string takes everything.
        let _ = writeln!(text, "# HELP raid_memory_{name} {help}\n# TYPE raid_memory_{name} {kind}");
        for (labels, value) in samples {
            let _ = writeln!(text, "raid_memory_{name}{labels} {value}");
        }
    };
    let one = |value| vec![(String::new(), value)];
    family("capacity_bytes", "gauge", "Bytes that all logs may take.", one(status.capacity_bytes));
    family("used_bytes", "gauge", "Bytes that they take.", one(status.used_bytes));
    family("quota_bytes", "gauge", "Bytes that one log may take.", one(status.quota_bytes));
    family("appends_total", "counter", "Records that were appended since the start.", one(status.appends));
    family("refusals_total", "counter", "Requests that were refused since the start.", one(status.refusals));
    family("refusals_full_total", "counter", "Of them, those for want of room.", one(status.refusals_full));
    let of_logs = |value: fn(&crate::message::ServedLogStatus) -> u64| {
        status.logs.iter().map(|log| (format!("{{log=\"{:016x}\"}}", log.log.0), value(log))).collect()
    };
    family("log_bytes", "gauge", "Bytes that a log takes.", of_logs(|log| log.bytes));
    family("log_records", "gauge", "Records that are held of a log.", of_logs(|log| log.end.0 - log.from.0));
    family("log_records_total", "counter", "Records that a log has ever had.", of_logs(|log| log.end.0));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::ServedLogStatus;
    use crate::names::{LogId, RecordNumber, WriterEpoch};

    /// If this failed, a server would be given another capacity than was said.
    #[test]
    fn sizes_are_read_or_refused() {
        for (text, bytes) in [("1", 1), ("4GiB", 4 << 30), ("512 MiB", 512 << 20), ("7KiB", 7 << 10), ("2TiB", 2 << 40)]
        {
            assert_eq!(read_bytes(text), Ok(bytes));
        }
        for text in ["", "0", "4GB", "-1", "GiB", "99999999TiB", "1.5GiB"] {
            assert!(read_bytes(text).is_err_and(|error| error.contains("4GiB")), "{text}");
        }
    }

    /// If this failed, a scraper would read nothing, or a log's figures as another's.
    #[test]
    fn every_sample_stands_behind_its_help() {
        let log = ServedLogStatus {
            log: LogId(0xab),
            sealed: WriterEpoch::default(),
            active: None,
            from: RecordNumber(3),
            end: RecordNumber(10),
            bytes: 99,
        };
        let status = MemoryServerStatus {
            capacity_bytes: 1000,
            used_bytes: 99,
            quota_bytes: 500,
            appends: 10,
            refusals: 2,
            refusals_full: 1,
            logs: vec![log],
        };
        let text = metrics(&status);
        assert!(text.contains("raid_memory_log_records{log=\"00000000000000ab\"} 7\n"), "{text}");
        assert!(text.contains("# TYPE raid_memory_used_bytes gauge\nraid_memory_used_bytes 99\n"), "{text}");
        assert_eq!(text.lines().filter(|line| !line.starts_with('#')).count(), 9);
    }
}
