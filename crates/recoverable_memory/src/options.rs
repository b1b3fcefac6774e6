//! How a memory behaves. Every value is checked when it is opened.

use crate::device::Durability;
use crate::error::Error;
use crate::limits::{LOG_BYTES_DEFAULT, LOG_BYTES_MIN, SPOOL_BYTES_DEFAULT, TRUNCATE_AT_PERCENT_DEFAULT};

/// Who truncates the log when it is filled to the threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truncation {
    /// A thread, while commits go on.
    Background,
    /// The thread that commits. Then the same calls make the same writes, as a test of crashes needs it.
    Inline,
}

/// What to do about damage in the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnDamage {
    /// Stop with [`Error::Damaged`] and change nothing.
    #[default]
    Refuse,
    /// Give up the commits from the damage on, and say so in [`Recovered::cut`](crate::RecoveryReport::cut).
    Cut,
}

/// How a memory behaves.
#[derive(Clone, Copy, Debug)]
pub struct RecoverableMemoryOptions {
    /// The size of a log that is created, in bytes: a multiple of 4,096.
    pub log_bytes: u64,
    /// Committed bytes that may wait in memory to be written to the log.
    pub spool_bytes: usize,
    /// How full the log is when a truncation begins, in percent, 0 to 100.
    pub truncate_at_percent: u8,
    /// Who does it.
    pub truncation: Truncation,
    /// How durable records must be before they are brought to segments.
    pub durability: Durability,
    /// What to do about damage in the log.
    pub on_damage: OnDamage,
}

impl Default for RecoverableMemoryOptions {
    fn default() -> RecoverableMemoryOptions {
        RecoverableMemoryOptions {
            log_bytes: LOG_BYTES_DEFAULT,
            spool_bytes: SPOOL_BYTES_DEFAULT,
            truncate_at_percent: TRUNCATE_AT_PERCENT_DEFAULT,
            truncation: Truncation::Background,
            durability: Durability::Disk,
            on_damage: OnDamage::Refuse,
        }
    }
}

/// Whether a memory can be opened with these, on a log of this capacity.
pub(crate) fn check_options(options: &RecoverableMemoryOptions, capacity: u64) -> Result<(), Error> {
    let percent = u64::from(options.truncate_at_percent);
    if percent > 100 {
        return Err(Error::Option { name: "truncate_at_percent", value: percent, expected: "0 to 100" });
    }
    if capacity < LOG_BYTES_MIN {
        return Err(Error::Option { name: "log_bytes", value: capacity, expected: "4,096 or more" });
    }
    Ok(())
}
