//! Rounds, in each of which everything that is compared has its turn.
//!
//! Invariant: nothing is always the first, or always behind the same neighbour's work, and what has failed is not tried again.

use super::figure::Figure;
use crate::failure::{Failure, Outcome};
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

    /// Lets everything that is compared have its turn in every round, each round beginning with another one. What fails has no figure, and
    /// is not tried again; the reasons come with the figures.
    ///
    /// # Errors
    /// Somebody asked for an end.
    pub fn in_turns(
        &self,
        count: usize,
        mut turn: impl FnMut(usize) -> Outcome<f64>,
    ) -> Outcome<Vec<Result<Figure, Failure>>> {
        let mut rounds: Vec<Result<Vec<f64>, Failure>> = (0..count).map(|_| Ok(Vec::new())).collect();
        for round in 0..self.count as usize {
            for index in (0..count).map(|index| (index + round) % count) {
                if self.stop.load(Ordering::Relaxed) {
                    return Err(Failure::Stopped);
                }
                let Ok(figures) = &mut rounds[index] else { continue };
                match turn(index) {
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
