//! A figure: the median of what the rounds brought, and how far they spread.

use serde::Serialize;
use std::fmt;

/// See the module's description.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// Half of the rounds were below it.
    pub median: f64,
    /// A quarter of the rounds were below it.
    pub lower_quartile: f64,
    /// Three quarters were.
    pub upper_quartile: f64,
    /// How many rounds there were.
    pub rounds: usize,
}

impl Figure {
    /// Of at least one round.
    pub fn of(mut rounds: Vec<f64>) -> Option<Figure> {
        rounds.sort_by(f64::total_cmp);
        let at = |part: usize| rounds.get((rounds.len() * part / 4).min(rounds.len().saturating_sub(1))).copied();
        Some(Figure { median: at(2)?, lower_quartile: at(1)?, upper_quartile: at(3)?, rounds: rounds.len() })
    }

    /// Half of what lies between the quartiles.
    pub fn spread(&self) -> f64 {
        (self.upper_quartile - self.lower_quartile) / 2.0
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} ±{}", short(self.median), short(self.spread()))
    }
}

/// Three digits that count, or all before the point.
pub fn short(value: f64) -> String {
    match value.abs() {
        100.0.. => format!("{value:.0}"),
        10.0.. => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If this fails, one round that was disturbed decides a figure.
    #[test]
    fn a_disturbed_round_changes_nothing() {
        let figure = Figure::of(vec![3.0, 1000.0, 2.0, 3.0, 4.0]).expect("rounds");
        assert_eq!((figure.median, figure.lower_quartile, figure.upper_quartile), (3.0, 3.0, 4.0));
        assert_eq!(figure.to_string(), "3.00 ±0.50");
        assert_eq!(Figure::of(vec![]), None);
    }
}
