//! The table: a key, a number, and text that cannot be compressed.

use crate::experiment::{ExperimentError, failed};
use crate::limits;
use postgres::{Client, Row};
use seeded_random::SplitMix64;
use std::fmt::{self, Write as _};
use std::io::Write as _;
use std::ops::Range;
use std::str::FromStr;

/// Bytes of a row, about: what it says, without what any database adds.
pub const ROW_BYTES: u64 = 1_000;
/// Letters of a row's text.
const TEXT_LETTERS: usize = 984;
/// Rows that are loaded in one transaction, which must stay below what one may write.
pub const ROWS_AT_ONCE: u64 = 20_000;
/// Reads one row.
pub const READ: &str = "SELECT n, payload FROM larger WHERE k = $1";
/// Changes one row.
pub const CHANGE: &str = "UPDATE larger SET n = n + 1 WHERE k = $1";
/// Reads all of them.
pub const SCAN: &str = "SELECT count(*), sum(length(payload)) FROM larger";

/// What letters are taken from: 64 of them, 6 bits each.
const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Part of a table: every so many-th of its rows. Invariant: its percentage divides 100, so that there is such a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    percent: u64,
}

impl Share {
    /// All percentages of which there are shares.
    fn percentages() -> impl Iterator<Item = u64> {
        (1..=100).filter(|percent| 100_u64.is_multiple_of(*percent))
    }

    /// The rows of it, of so many; the first row is one of them.
    pub fn of(self, rows: u64) -> Table {
        let step = 100 / self.percent;
        Table { rows: rows.div_ceil(step), step }
    }
}

impl Default for Share {
    /// Every twentieth row.
    fn default() -> Share {
        Share { percent: 5 }
    }
}

impl FromStr for Share {
    type Err = String;

    /// From a percentage.
    fn from_str(text: &str) -> Result<Share, String> {
        let read = text.parse().ok().and_then(|number: u64| Share::percentages().find(|percent| *percent == number));
        read.map(|percent| Share { percent }).ok_or_else(|| {
            let percentages: Vec<String> = Share::percentages().map(|percent| percent.to_string()).collect();
            format!("these rows are every so many-th of all, so only {} are possible", percentages.join(", "))
        })
    }
}

impl fmt::Display for Share {
    /// As a percentage, without the sign.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.percent)
    }
}

/// Every `step`-th key below a bound, from 0 on.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    rows: u64,
    step: u64,
}

impl Table {
    /// So many rows.
    pub fn of(rows: u64) -> Table {
        Table { rows, step: 1 }
    }

    /// How many rows it has.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The key of a row, numbered from 0.
    pub fn key(&self, number: u64) -> i32 {
        i32::try_from(number * self.step).expect("the number of rows was checked when it was read")
    }

    /// Makes it, empty.
    pub(super) fn make(&self, client: &mut Client) -> Result<(), postgres::Error> {
        client.batch_execute("CREATE TABLE larger (k int PRIMARY KEY, n int NOT NULL, payload text NOT NULL)")
    }

    /// Loads some rows in a transaction of their own.
    pub(super) fn copy(&self, client: &mut Client, numbers: Range<u64>) -> Result<(), ExperimentError> {
        let mut copy = client.copy_in("COPY larger (k, n, payload) FROM STDIN").map_err(failed("COPY"))?;
        let mut text = String::with_capacity(limits::COPY_BYTES + 2 * ROW_BYTES as usize);
        for number in numbers {
            let key = self.key(number);
            write!(text, "{key}\t0\t").expect("a string takes any text");
            push_text(&mut text, key);
            text.push('\n');
            if text.len() >= limits::COPY_BYTES {
                copy.write_all(text.as_bytes()).map_err(ExperimentError::Copy)?;
                text.clear();
            }
        }
        copy.write_all(text.as_bytes()).map_err(ExperimentError::Copy)?;
        copy.finish().map_err(failed("COPY")).map(drop)
    }
}

/// The text of a row, always the same for a key.
fn push_text(text: &mut String, key: i32) {
    let mut random = SplitMix64::new((key as u64) << 20);
    let mut left = TEXT_LETTERS;
    while left > 0 {
        let mut bits = random.draw();
        for _ in 0..left.min(10) {
            text.push(char::from(LETTERS[(bits & 63) as usize]));
            bits >>= 6;
        }
        left -= left.min(10);
    }
}

/// Whether this is the text of a row, by length.
fn is_text(text: &str) -> bool {
    text.len() == TEXT_LETTERS
}

/// Whether this is what [`READ`] answers.
pub(super) fn is_read(rows: &[Row]) -> bool {
    matches!(rows, [row] if is_text(row.get(1)))
}

/// What [`SCAN`] answers of so many rows.
pub(super) fn scanned(rows: u64) -> (i64, i64) {
    (rows as i64, (rows * TEXT_LETTERS as u64) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Text that repeats would be compressed, and the table be smaller than it is said to be.
    #[test]
    fn texts_are_long_and_of_their_own() {
        let text = |key| {
            let mut text = String::new();
            push_text(&mut text, key);
            text
        };
        assert!(is_text(&text(7)) && text(7) == text(7));
        assert!(text(7)[..20] != text(8)[..20] && text(7)[..20] != text(7)[20..40]);
    }

    /// A working set that named rows which are not there would find nothing.
    #[test]
    fn the_working_set_is_part_of_the_table() {
        let (all, part) = (Table::of(1_010), Share::default().of(1_010));
        assert_eq!((all.rows(), part.rows()), (1_010, 51));
        assert!((0..part.rows()).all(|number| (part.key(number) as u64) < all.rows()));
    }

    /// A share that is taken for another one would make the report tell of a working set that was not measured.
    #[test]
    fn a_share_is_as_large_as_it_says() {
        for percent in [1, 2, 4, 5, 10, 20, 25, 50, 100] {
            let share: Share = percent.to_string().parse().expect("it divides 100");
            assert_eq!((share.of(10_000).rows(), share.to_string()), (percent * 100, percent.to_string()));
        }
        for text in ["0", "3", "40", "99", "101", "200", "-5", "5.0", "5%", ""] {
            let error = text.parse::<Share>().expect_err("no step makes that");
            assert!(error.contains("only 1, 2, 4, 5, 10, 20, 25, 50, 100 are possible"), "{text:?}: {error}");
        }
    }
}
