//! Rounds, in each of which everything that is compared has its turn.
//!
//! Invariant: nothing is always the first, or always behind the same neighbour's work, and what has failed is not tried again.

use crate::failure::{Failure, Outcome};
use crate::figure::Figure;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// See the module's description.
#[derive(Clone, Debug)]
pub struct Rounds {
    count: u32,
    stop: Arc<AtomicBool>,
}

impl Rounds {
    /// So many; `stop` ends them before the next turn.
    pub fn new(count: u32, stop: Arc<AtomicBool>) -> Rounds {
        Rounds { count, stop }
    }

    /// How many.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// As of [`Rounds::in_rounds`], for turns that are the same in every round.
    ///
    /// # Errors
    /// Somebody asked for an end.
    pub fn in_turns(
        &self,
        count: usize,
        mut turn: impl FnMut(usize) -> Outcome<f64>,
    ) -> Outcome<Vec<Result<Figure, Failure>>> {
        self.in_rounds(count, |_, index| turn(index))
    }

    /// Lets everything that is compared have its turn in every round, each round beginning with another one. What fails has no figure, and
    /// is not tried again; the reasons come with the figures. `turn` is told the round, from 0 on, and whose turn it is.
    ///
    /// # Errors
    /// Somebody asked for an end.
    pub fn in_rounds(
        &self,
        count: usize,
        mut turn: impl FnMut(u32, usize) -> Outcome<f64>,
    ) -> Outcome<Vec<Result<Figure, Failure>>> {
        let mut rounds: Vec<Result<Vec<f64>, Failure>> = (0..count).map(|_| Ok(Vec::new())).collect();
        for round in 0..self.count {
            for index in (0..count).map(|index| (index + round as usize) % count) {
                if self.stop.load(Ordering::Relaxed) {
                    return Err(Failure::Stopped);
                }
                let Ok(figures) = &mut rounds[index] else { continue };
                match turn(round, index) {
                    Ok(figure) => figures.push(figure),
                    // What ends a process by hand ends the experiment.
                    Err(_) if self.stop.load(Ordering::Relaxed) => return Err(Failure::Stopped),
                    Err(failure) => rounds[index] = Err(failure),
                }
            }
        }
        let figure = |figures| Figure::of(figures).ok_or_else(|| Failure::Missing("there was no round".to_owned()));
        Ok(rounds.into_iter().map(|figures| figures.and_then(figure)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If this fails, something is always measured behind the same neighbour, or what has failed costs time in every round.
    #[test]
    fn each_round_begins_with_another_one_and_leaves_out_what_has_failed() {
        let mut turns = Vec::new();
        let figures = Rounds::new(3, Arc::default()).in_rounds(3, |round, index| {
            turns.push((round, index));
            if index == 1 { Err(Failure::Missing("no".to_owned())) } else { Ok(f64::from(round)) }
        });
        assert_eq!(turns, [(0, 0), (0, 1), (0, 2), (1, 2), (1, 0), (2, 2), (2, 0)]);
        let figures = figures.expect("nobody has stopped it");
        assert!(figures[0].as_ref().is_ok_and(|figure| figure.rounds == 3) && figures[1].is_err());
        let stopped = Rounds::new(1, Arc::new(AtomicBool::new(true))).in_turns(1, |_| Ok(1.0));
        assert!(matches!(stopped, Err(Failure::Stopped)));
    }
}
