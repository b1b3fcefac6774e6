//! Clients of a phase: each does its deed again and again, and counts what commits and what fails while that is counted.

use super::phases::{Phase, Statements};
use crate::debit_credit::connect;
use crate::experiment::{ExperimentError, failed};
use local_cluster::limits::LOOK_INTERVAL;
use local_cluster::running::ClusterRunError;
use postgres::Error;
use postgres::error::SqlState;
use seeded_random::SplitMix64;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::{Duration, Instant};

/// What a group came to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Count {
    /// Commits while they were counted.
    pub commits: u64,
    /// Tries that failed meanwhile.
    pub failures: u64,
    /// What all its commits have added, counted or not.
    pub added: i64,
}

const SETTLES: u8 = 0;
const COUNTS: u8 = 1;
const ENDS: u8 = 2;

/// Runs the clients of a phase for so long, and counts what they come to after the first part of it.
///
/// # Errors
/// A client meets another error than a lost conflict, or `stop` is set.
pub fn run(
    sql: SocketAddr,
    phase: &Phase,
    clients: usize,
    (settle, counted): (Duration, Duration),
    stop: &AtomicBool,
) -> Result<Vec<Count>, ExperimentError> {
    let stage = AtomicU8::new(SETTLES);
    std::thread::scope(|scope| {
        let start = |number: usize| {
            let stage = &stage;
            let (group, _) = phase.deeds[number % phase.deeds.len()];
            (group, scope.spawn(move || work(sql, phase, number, stage)))
        };
        let running: Vec<_> = (0..clients).map(start).collect();
        let waited = wait(settle, stop).and_then(|()| {
            stage.store(COUNTS, Ordering::SeqCst);
            wait(counted, stop)
        });
        stage.store(ENDS, Ordering::SeqCst);
        let mut counts = vec![Count::default(); phase.groups.len()];
        for (group, client) in running {
            let count = client.join().expect("a client does not panic").map_err(failed(phase.name))?;
            counts[group].commits += count.commits;
            counts[group].failures += count.failures;
            counts[group].added += count.added;
        }
        waited.map(|()| counts)
    })
}

fn wait(time: Duration, stop: &AtomicBool) -> Result<(), ExperimentError> {
    let begun = Instant::now();
    while begun.elapsed() < time {
        if stop.load(Ordering::SeqCst) {
            return Err(ClusterRunError::Stopped.into());
        }
        std::thread::sleep(LOOK_INTERVAL.min(time.saturating_sub(begun.elapsed())));
    }
    Ok(())
}

fn work(sql: SocketAddr, phase: &Phase, number: usize, stage: &AtomicU8) -> Result<Count, Error> {
    let (_, deed) = phase.deeds[number % phase.deeds.len()];
    let mut client = connect(sql)?;
    let statements = Statements::of(&mut client)?;
    let mut random = SplitMix64::new(number as u64 + 1);
    let mut count = Count::default();
    loop {
        let stage = stage.load(Ordering::Relaxed);
        if stage == ENDS {
            return Ok(count);
        }
        match statements.attempt(&mut client, deed, number as i32, &mut random) {
            Ok(()) => {
                count.added += deed.adds();
                count.commits += u64::from(stage == COUNTS);
            }
            Err(error) if is_lost(&error) => count.failures += u64::from(stage == COUNTS),
            Err(error) => return Err(error),
        }
    }
}

/// Another transaction has won.
fn is_lost(error: &Error) -> bool {
    [SqlState::T_R_SERIALIZATION_FAILURE, SqlState::T_R_DEADLOCK_DETECTED]
        .iter()
        .any(|state| error.code() == Some(state))
}
