//! `time with time zone`: a time of day and the offset of its zone.
//!
//! Invariant: the order is that of the instants on one day; of those that are equal, the one that is farther east is the lesser (PostgreSQL's `timetz_cmp_internal`).

use crate::calendar::{offset_text, write_time};
use crate::error::{ValueError, sqlstate};
use crate::limits::{MICROSECONDS_PER_DAY, MICROSECONDS_PER_SECOND, ZONE_HOURS_END};
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;

/// A time of day in a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ZonedTime {
    /// Microseconds since midnight, 0 to 86,400,000,000.
    pub time: i64,
    /// Seconds east of Greenwich.
    pub offset: i32,
}

impl ZonedTime {
    /// The time at Greenwich, in microseconds since midnight; less than 0, or more than a day, where that is on another day.
    pub fn universal(&self) -> i64 {
        self.time.saturating_sub(i64::from(self.offset) * MICROSECONDS_PER_SECOND)
    }

    /// The same time at another offset.
    pub fn at_offset(&self, offset: i32) -> ZonedTime {
        let time = self.universal().saturating_add(i64::from(offset) * MICROSECONDS_PER_SECOND);
        ZonedTime { time: time.rem_euclid(MICROSECONDS_PER_DAY), offset }
    }

    /// Later by so many microseconds; the clock goes on behind midnight.
    pub fn plus(&self, microseconds: i64) -> ZonedTime {
        let time = i128::from(self.time) + i128::from(microseconds);
        ZonedTime { time: time.rem_euclid(i128::from(MICROSECONDS_PER_DAY)) as i64, ..*self }
    }
}

impl Ord for ZonedTime {
    fn cmp(&self, other: &Self) -> Ordering {
        self.universal().cmp(&other.universal()).then(other.offset.cmp(&self.offset))
    }
}

impl PartialOrd for ZonedTime {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Appends `13:05:06.5+02`.
pub(crate) fn write(zoned: &ZonedTime, out: &mut Vec<u8>) {
    write_time(zoned.time, out);
    out.extend_from_slice(offset_text(zoned.offset).as_bytes());
}

/// Appends the microseconds, and the seconds west of Greenwich (`timetz_send`).
pub(crate) fn write_binary(zoned: &ZonedTime, out: &mut Vec<u8>) {
    out.extend_from_slice(&zoned.time.to_be_bytes());
    out.extend_from_slice(&zoned.offset.wrapping_neg().to_be_bytes());
}

/// Reads what [`write_binary`] appends. Errors: 22P03, 22008, 22009.
pub(crate) fn from_binary(bytes: &[u8]) -> Result<ZonedTime, ValueError> {
    let malformed = || ValueError::new(sqlstate::INVALID_BINARY_REPRESENTATION, "incorrect binary data format");
    let (time, west) = bytes.split_first_chunk::<8>().ok_or_else(malformed)?;
    let (time, west) = (i64::from_be_bytes(*time), i32::from_be_bytes(west.try_into().map_err(|_| malformed())?));
    if !(0..=MICROSECONDS_PER_DAY).contains(&time) {
        return Err(ValueError::datetime_out_of_range("time"));
    }
    if i64::from(west).abs() >= ZONE_HOURS_END * 3600 {
        let message = "time zone displacement out of range";
        return Err(ValueError::new(sqlstate::INVALID_TIME_ZONE_DISPLACEMENT_VALUE, message));
    }
    Ok(ZonedTime { time, offset: -west })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3600 * MICROSECONDS_PER_SECOND;

    fn zoned(hours: i64, offset: i32) -> ZonedTime {
        ZonedTime { time: hours * HOUR, offset: offset * 3600 }
    }

    /// Sorting would not be PostgreSQL's.
    #[test]
    fn the_order_is_that_at_greenwich_and_then_from_east_to_west() {
        assert!(zoned(12, 2) < zoned(10, 0));
        assert!(zoned(12, 2) < zoned(11, 0));
        assert!(zoned(1, 0) > zoned(2, 2));
        assert_eq!(zoned(12, 2).at_offset(-3 * 3600), zoned(7, -3));
        assert_eq!(zoned(1, 2).at_offset(0), zoned(23, 0));
        assert_eq!(zoned(12, 2).plus(13 * HOUR), zoned(1, 2));
        assert_eq!(zoned(12, 2).plus(-13 * HOUR), zoned(23, 2));
    }
}
