//! Many short schedules of message transactions on a simulated network that misbehaves.
//!
//! `cargo run --release -p raidcomm --example schedules -- --runs 1000000 --seed 1 --jobs 2`. With `--plant NAME` it looks for the
//! first seed that finds a planted bug; `--plant all` for each of them. A failing seed is printed with the command that replays it.

use raidcomm::transaction::planted::Planted;
use raidcomm::transaction::simulation::{Outcome, run};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// Runs between two lines of progress.
const PROGRESS: Duration = Duration::from_secs(10);

struct Arguments {
    seed: u64,
    runs: u64,
    jobs: usize,
    plant: Option<String>,
}

fn arguments() -> Result<Arguments, String> {
    let mut arguments = Arguments { seed: 1, runs: 10_000, jobs: 1, plant: None };
    let mut words = std::env::args().skip(1);
    while let Some(name) = words.next() {
        let value = words.next().ok_or(format!("{name} needs a value"))?;
        let number = value.parse::<u64>().map_err(|_| format!("{name} {value} is not a number"));
        match name.as_str() {
            "--seed" => arguments.seed = number?,
            "--runs" => arguments.runs = number?,
            "--jobs" => arguments.jobs = number?.max(1) as usize,
            "--plant" => arguments.plant = Some(value),
            _ => return Err(format!("there is no option {name}: only --seed, --runs, --jobs and --plant")),
        }
    }
    Ok(arguments)
}

/// Looks for a seed that finds the bug.
fn hunt(bug: Planted, arguments: &Arguments) -> bool {
    let begun = Instant::now();
    for seed in arguments.seed..arguments.seed + arguments.runs {
        if let Some(failure) = run(seed, Some(bug)).failure {
            let first = failure.lines().next().unwrap_or_default();
            let runs = seed + 1 - arguments.seed;
            println!("{bug:?}: found in run {runs}, after {:.2} s: {first}", begun.elapsed().as_secs_f64());
            return true;
        }
    }
    println!("{bug:?}: not found in {} runs", arguments.runs);
    false
}

/// Runs all seeds, some at a time; the first outcome that failed.
fn sweep(arguments: &Arguments) -> Option<Outcome> {
    let (next, stop) = (AtomicU64::new(arguments.seed), AtomicBool::new(false));
    let end = arguments.seed + arguments.runs;
    let (sender, outcomes) = mpsc::sync_channel(1_024);
    let begun = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..arguments.jobs {
            let (sender, next, stop) = (sender.clone(), &next, &stop);
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= end || sender.send(run(seed, None)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        let (mut runs, mut operations, mut packets, mut given_up, mut told) = (0, 0, 0, 0, begun);
        let mut failed = None;
        for outcome in outcomes {
            runs += 1;
            operations += outcome.operations;
            packets += outcome.packets;
            given_up += outcome.given_up;
            if told.elapsed() >= PROGRESS {
                told = Instant::now();
                println!("{runs} of {} schedules after {:.0} s", arguments.runs, begun.elapsed().as_secs_f64());
            }
            if outcome.failure.is_some() && failed.is_none() {
                stop.store(true, Ordering::Relaxed);
                failed = Some(outcome);
            }
        }
        println!(
            "{runs} schedules, {operations} operations ({given_up} given up with reason), {packets} packets, {:.1} s",
            begun.elapsed().as_secs_f64()
        );
        failed
    })
}

fn main() -> ExitCode {
    let arguments = match arguments() {
        Ok(arguments) => arguments,
        Err(error) => {
            eprintln!("schedules: {error}");
            return ExitCode::FAILURE;
        }
    };
    if let Some(name) = &arguments.plant {
        let bugs: Vec<Planted> = Planted::ALL.into_iter().filter(|bug| name == "all" || bug.name() == *name).collect();
        if bugs.is_empty() {
            eprintln!("schedules: no planted bug is called {name}; there are {:?}", Planted::ALL);
            return ExitCode::FAILURE;
        }
        let found = bugs.iter().filter(|&&bug| hunt(bug, &arguments)).count();
        return if found == bugs.len() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    match sweep(&arguments) {
        None => ExitCode::SUCCESS,
        Some(outcome) => {
            println!("seed {} failed: {}", outcome.seed, outcome.failure.unwrap_or_default());
            let seed = outcome.seed;
            println!("replay: cargo run --release -p raidcomm --example schedules -- --seed {seed} --runs 1");
            ExitCode::FAILURE
        }
    }
}
