//! Many short schedules of the remote log in a simulated world that misbehaves.
//!
//! `cargo run --release -p network_memory --example log_schedules -- --runs 100000 --seed 1 --jobs 2`. With `--plant NAME` it looks for the
//! first seed that finds a planted bug; `--plant all` for each of them but the rare ones, which have tests of their own. A failing seed is printed with the command that replays it.

use network_memory::planted::PlantedInLog;
use network_memory::simulation::{LogRunOutcome, run};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// Between two lines of progress.
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
fn hunt(planted: PlantedInLog, arguments: &Arguments) -> bool {
    let (begun, name) = (Instant::now(), planted.name());
    for seed in arguments.seed..arguments.seed + arguments.runs {
        if let Some(failure) = run(seed, Some(planted)).failure {
            let (runs, first) = (seed + 1 - arguments.seed, failure.lines().next().unwrap_or_default());
            println!("{name}: found in run {runs}, after {:.2} s: {first}", begun.elapsed().as_secs_f64());
            return true;
        }
    }
    println!("{name}: not found in {} runs", arguments.runs);
    false
}

/// Runs all seeds, some at a time; the first outcome that failed.
fn sweep(arguments: &Arguments) -> Option<LogRunOutcome> {
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
        let (mut runs, mut told, mut failed) = (0_u64, begun, None);
        let (mut acknowledged, mut opened, mut indeterminate) = (0, 0, 0);
        for outcome in outcomes {
            runs += 1;
            acknowledged += outcome.acknowledged;
            opened += outcome.opened;
            indeterminate += outcome.indeterminate;
            if told.elapsed() >= PROGRESS {
                told = Instant::now();
                println!("{runs} of {} schedules after {:.0} s", arguments.runs, begun.elapsed().as_secs_f64());
            }
            if outcome.failure.is_some() && failed.is_none() {
                stop.store(true, Ordering::Relaxed);
                failed = Some(outcome);
            }
        }
        let seconds = begun.elapsed().as_secs_f64();
        println!(
            "{runs} schedules, {acknowledged} receipts, {opened} times opened, {indeterminate} times not, {seconds:.1} s"
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
        let is_meant = |planted: &PlantedInLog| name == "all" && !planted.is_rare() || planted.name() == *name;
        let bugs: Vec<PlantedInLog> = PlantedInLog::ALL.into_iter().filter(is_meant).collect();
        if bugs.is_empty() {
            let names = PlantedInLog::ALL.map(PlantedInLog::name).join(", ");
            eprintln!("schedules: no planted bug is called {name}; there are {names}");
            return ExitCode::FAILURE;
        }
        let found = bugs.iter().filter(|planted| hunt(**planted, &arguments)).count();
        return if found == bugs.len() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    match sweep(&arguments) {
        None => ExitCode::SUCCESS,
        Some(outcome) => {
            println!("seed {} failed: {}", outcome.seed, outcome.failure.unwrap_or_default());
            let seed = outcome.seed;
            println!("replay: cargo run --release -p network_memory --example log_schedules -- --seed {seed} --runs 1");
            ExitCode::FAILURE
        }
    }
}
