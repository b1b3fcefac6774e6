//! Exact mean value analysis of a closed network with one class of customers (Reiser and Lavenberg 1980).
//!
//! An arriving customer sees what there would be without it. Invariant: customers are nowhere else than thinking or at a centre:
//! n = X(n) * (Z + sum of the times).

use crate::centres::{Centre, CentreService};

/// What happens with a number of customers.
#[derive(Clone, Debug, PartialEq)]
pub struct NetworkSolution {
    /// How many.
    pub customers: usize,
    /// Transactions per second.
    pub throughput: f64,
    /// Mean time of one, without thinking, in microseconds.
    pub response_us: f64,
    /// What of it each centre takes, in microseconds, waiting counted, in the order of the centres.
    pub times_us: Vec<f64>,
    /// The share of its servers that each centre has busy, from 0 to 1; 0 where nobody waits.
    pub busy: Vec<f64>,
}

impl NetworkSolution {
    /// The centre that is busiest; `None`: nobody waits anywhere.
    pub fn busiest(&self) -> Option<usize> {
        let places = (0..self.busy.len()).filter(|place| self.busy[*place] > 0.0);
        places.max_by(|left, right| self.busy[*left].total_cmp(&self.busy[*right]))
    }
}

/// Solutions for 1 to `customers_max` customers who think for a while between two transactions. Empty for 0, and for a network that takes no time.
pub fn solve(centres: &[Centre], think_us: f64, customers_max: usize) -> Vec<NetworkSolution> {
    let total: f64 = think_us + centres.iter().map(|centre| centre.demand_us).sum::<f64>();
    if total <= 0.0 {
        return Vec::new();
    }
    let mut solutions = Vec::with_capacity(customers_max);
    let mut queues = vec![0.0; centres.len()];
    // For centres with several servers: the chance that so many customers are there.
    let mut chances: Vec<Vec<f64>> = vec![vec![1.0]; centres.len()];
    for customers in 1..=customers_max {
        let times: Vec<f64> = centres
            .iter()
            .zip(queues.iter().zip(&chances))
            .map(|(centre, (queue, chances))| time(centre, *queue, chances, customers))
            .collect();
        let response: f64 = times.iter().sum();
        let per_us = customers as f64 / (think_us + response);
        for (place, centre) in centres.iter().enumerate() {
            queues[place] = per_us * times[place];
            if let CentreService::Several(_) = centre.service {
                advance(centre, per_us, &mut chances[place]);
            }
        }
        let busy = centres.iter().map(|centre| match centre.capacity() {
            Some(capacity) => (per_us * 1e6 / capacity).min(1.0),
            None => 0.0,
        });
        let busy = busy.collect();
        solutions.push(NetworkSolution {
            customers,
            throughput: per_us * 1e6,
            response_us: response,
            times_us: times,
            busy,
        });
    }
    solutions
}

/// The mean time at a centre for one of so many customers.
fn time(centre: &Centre, queue: f64, chances: &[f64], customers: usize) -> f64 {
    match centre.service {
        CentreService::Delay => centre.demand_us,
        CentreService::Single => centre.demand_us * (1.0 + queue),
        CentreService::Several(_) => {
            let met = chances.iter().take(customers).enumerate();
            centre.demand_us
                * met.map(|(there, chance)| (there + 1) as f64 / centre.rate(there + 1) * chance).sum::<f64>()
        }
    }
}

/// The chances with one customer more.
fn advance(centre: &Centre, per_us: f64, chances: &mut Vec<f64>) {
    let mut next = vec![0.0];
    for (there, chance) in chances.iter().enumerate() {
        next.push(centre.demand_us * per_us / centre.rate(there + 1) * chance);
    }
    // Nobody is there with what is left; rounding may have taken more.
    let someone: f64 = next.iter().sum();
    next[0] = (1.0 - someone).max(0.0);
    let all: f64 = next.iter().sum();
    next.iter_mut().for_each(|chance| *chance /= all);
    *chances = next;
}
