//! Whether a figure is flat: the first third of its samples is warm-up, the median of the last third is compared with that of the second.

use crate::limits::{FLAT_BYTES, FLAT_COUNT, FLAT_PERCENT, SOAK_PARTS};
use local_cluster::screen::{bytes, grouped};
use std::fmt;

/// What a figure counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bytes.
    Bytes,
    /// Things.
    Count,
}

impl Unit {
    /// By so much a figure may grow whatever it was.
    fn allowance(self) -> u64 {
        match self {
            Unit::Bytes => FLAT_BYTES,
            Unit::Count => FLAT_COUNT,
        }
    }

    fn text(self, figure: u64) -> String {
        match self {
            Unit::Bytes => bytes(figure),
            Unit::Count => grouped(figure),
        }
    }
}

/// On one figure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    what: String,
    unit: Unit,
    /// Medians of the parts, the warm-up first.
    medians: [u64; SOAK_PARTS],
}

/// The rule, in words.
pub fn rule() -> String {
    format!(
        "Flat is what has, in the last third, a median of at most {}.{:02} times that of the second third, or of {} or {FLAT_COUNT} more; \
         the first third is warm-up:",
        FLAT_PERCENT / 100,
        FLAT_PERCENT % 100,
        bytes(FLAT_BYTES)
    )
}

impl Verdict {
    /// On figures in the order in which they were taken.
    pub fn on(what: String, unit: Unit, figures: &[u64]) -> Verdict {
        let part = |number: usize| {
            let (from, to) = (figures.len() * number / SOAK_PARTS, figures.len() * (number + 1) / SOAK_PARTS);
            let mut sorted = figures[from..to].to_vec();
            sorted.sort_unstable();
            sorted.get(sorted.len() / 2).copied().unwrap_or_default()
        };
        Verdict { what, unit, medians: std::array::from_fn(part) }
    }

    /// Whether it has not grown.
    pub fn is_flat(&self) -> bool {
        let [.., before, last] = self.medians;
        last <= before * FLAT_PERCENT / 100 || last <= before + self.unit.allowance()
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let medians = self.medians.map(|median| format!("{:>12}", self.unit.text(median)));
        let judged = if self.is_flat() { "flat" } else { "NOT FLAT" };
        write!(out, "  {:32}{}   {judged}", self.what, medians.concat())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_flat(unit: Unit, figure: impl Fn(u64) -> u64) -> bool {
        Verdict::on("x".to_owned(), unit, &(0..300).map(figure).collect::<Vec<_>>()).is_flat()
    }

    /// A leak must be found although every kill lets memory fall; what merely swings, or has grown in the warm-up, is no leak.
    #[test]
    fn growth_is_told_from_swings() {
        let megabyte = 1_000_000;
        assert!(is_flat(Unit::Bytes, |second| 100 * megabyte + second % 60 * megabyte), "a saw");
        assert!(is_flat(Unit::Bytes, |second| 200 * megabyte * second.min(100) / 100), "a warm-up");
        assert!(!is_flat(Unit::Bytes, |second| 100 * megabyte + second * megabyte), "a leak");
        assert!(
            !is_flat(Unit::Bytes, |second| 100 * megabyte + (second + second % 60) * megabyte),
            "a leak under a saw"
        );
        assert!(is_flat(Unit::Bytes, |second| second * 10_000), "too little to matter");
        assert!(is_flat(Unit::Count, |second| 30 + second / 100) && !is_flat(Unit::Count, |second| 30 + second / 4));
        assert!(Verdict::on("x".to_owned(), Unit::Count, &[]).is_flat(), "nothing has not grown");
    }
}
