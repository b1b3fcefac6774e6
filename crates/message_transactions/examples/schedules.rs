//! Many short schedules of a protocol machine on a simulated network that misbehaves.
//!
//! `cargo run --release -p message_transactions --example schedules -- --machine datagrams --runs 1000000 --seed 1 --jobs 2`. The machines are
//! `transactions` (messages that are replied to) and `datagrams` (frames between sites). With `--plant NAME` it looks for the first
//! seed that finds a planted bug; `--plant all` for each of them. A failing seed is printed with the command that replays it.

use message_transactions as transactions;
use raidcomm::datagrams;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// Runs between two lines of progress.
const PROGRESS: Duration = Duration::from_secs(10);

/// How a schedule went.
struct Outcome {
    seed: u64,
    failure: Option<String>,
    /// What was done, by name.
    counts: [(&'static str, u64); 3],
}

/// A machine, its schedules and its planted bugs.
struct Machine {
    name: &'static str,
    plants: fn() -> Vec<String>,
    /// The schedule of a seed, with the planted bug that has this place in the list.
    run: fn(u64, Option<usize>) -> Outcome,
}

const MACHINES: [Machine; 2] = [
    Machine {
        name: "transactions",
        plants: || {
            transactions::planted::PlantedInKernel::ALL
                .into_iter()
                .map(transactions::planted::PlantedInKernel::name)
                .collect()
        },
        run: |seed, plant| {
            let run = transactions::simulation::run(
                seed,
                plant.map(|place| transactions::planted::PlantedInKernel::ALL[place]),
            );
            let counts =
                [("operations", run.operations), ("given up with reason", run.given_up), ("packets", run.packets)];
            Outcome { seed, failure: run.failure, counts }
        },
    },
    Machine {
        name: "datagrams",
        plants: || {
            datagrams::planted::PlantedInDatagrams::ALL
                .into_iter()
                .map(datagrams::planted::PlantedInDatagrams::name)
                .collect()
        },
        run: |seed, plant| {
            let run =
                datagrams::simulation::run(seed, plant.map(|place| datagrams::planted::PlantedInDatagrams::ALL[place]));
            let counts = [("frames", run.frames), ("datagrams", run.datagrams), ("of them again", run.again)];
            Outcome { seed, failure: run.failure, counts }
        },
    },
];

struct Arguments {
    machine: &'static Machine,
    seed: u64,
    runs: u64,
    jobs: usize,
    plant: Option<String>,
}

fn arguments() -> Result<Arguments, String> {
    let mut arguments = Arguments { machine: &MACHINES[0], seed: 1, runs: 10_000, jobs: 1, plant: None };
    let mut words = std::env::args().skip(1);
    while let Some(name) = words.next() {
        let value = words.next().ok_or(format!("{name} needs a value"))?;
        let number = value.parse::<u64>().map_err(|_| format!("{name} {value} is not a number"));
        match name.as_str() {
            "--machine" => {
                let known = MACHINES.iter().find(|machine| machine.name == value);
                arguments.machine =
                    known.ok_or(format!("there is no machine {value}: only transactions and datagrams"))?;
            }
            "--seed" => arguments.seed = number?,
            "--runs" => arguments.runs = number?,
            "--jobs" => arguments.jobs = number?.max(1) as usize,
            "--plant" => arguments.plant = Some(value),
            _ => return Err(format!("there is no option {name}: only --machine, --seed, --runs, --jobs and --plant")),
        }
    }
    Ok(arguments)
}

/// Looks for a seed that finds the bug at this place of the list.
fn hunt(place: usize, name: &str, arguments: &Arguments) -> bool {
    let begun = Instant::now();
    for seed in arguments.seed..arguments.seed + arguments.runs {
        if let Some(failure) = (arguments.machine.run)(seed, Some(place)).failure {
            let first = failure.lines().next().unwrap_or_default();
            let runs = seed + 1 - arguments.seed;
            println!("{name}: found in run {runs}, after {:.2} s: {first}", begun.elapsed().as_secs_f64());
            return true;
        }
    }
    println!("{name}: not found in {} runs", arguments.runs);
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
                    if seed >= end || sender.send((arguments.machine.run)(seed, None)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        let (mut runs, mut told, mut totals, mut failed) = (0_u64, begun, [("", 0_u64); 3], None);
        for outcome in outcomes {
            runs += 1;
            for (total, (name, count)) in totals.iter_mut().zip(outcome.counts) {
                *total = (name, total.1 + count);
            }
            if told.elapsed() >= PROGRESS {
                told = Instant::now();
                println!("{runs} of {} schedules after {:.0} s", arguments.runs, begun.elapsed().as_secs_f64());
            }
            if outcome.failure.is_some() && failed.is_none() {
                stop.store(true, Ordering::Relaxed);
                failed = Some(outcome);
            }
        }
        let totals = totals.map(|(name, count)| format!("{count} {name}")).join(", ");
        println!("{runs} schedules of {}, {totals}, {:.1} s", arguments.machine.name, begun.elapsed().as_secs_f64());
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
        let plants = (arguments.machine.plants)();
        let bugs: Vec<(usize, &String)> =
            plants.iter().enumerate().filter(|(_, plant)| name == "all" || *plant == name).collect();
        if bugs.is_empty() {
            eprintln!("schedules: no planted bug is called {name}; there are {}", plants.join(", "));
            return ExitCode::FAILURE;
        }
        let found = bugs.iter().filter(|(place, name)| hunt(*place, name, &arguments)).count();
        return if found == bugs.len() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    match sweep(&arguments) {
        None => ExitCode::SUCCESS,
        Some(outcome) => {
            println!("seed {} failed: {}", outcome.seed, outcome.failure.unwrap_or_default());
            let (seed, machine) = (outcome.seed, arguments.machine.name);
            println!(
                "replay: cargo run --release -p message_transactions --example schedules -- --machine {machine} --seed {seed} --runs 1"
            );
            ExitCode::FAILURE
        }
    }
}
