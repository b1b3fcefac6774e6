//! Which planted bugs the checkers find, and how fast: `plants [--seconds-each T] [--jobs N] [NAME ...]`.
//!
//! Each is looked for with consecutive seeds until a run fails, for so many seconds of one core.

use messages::planted::{Bug, Planted};
use mini_raid::Sweep;
use std::io::Write;

fn main() {
    let mut sweep = Sweep { runs: u64::MAX, seconds_max: Some(60), jobs: 1, ..Sweep::default() };
    let mut names = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut number = || arguments.next().and_then(|text| text.parse::<u64>().ok()).unwrap_or(1);
        match argument.as_str() {
            "--seconds-each" => sweep.seconds_max = Some(number()),
            "--jobs" => sweep.jobs = number() as usize,
            "--seed" => sweep.seed = number(),
            name => names.push(name.to_owned()),
        }
    }
    let wanted = |bug: &&Bug| names.is_empty() || names.iter().any(|name| name == bug.name());
    let (mut found, mut missed) = (0, Vec::new());
    for bug in Bug::ALL.iter().filter(wanted) {
        print!("{:34}", bug.name());
        std::io::stdout().flush().expect("standard output takes text");
        let summary = Sweep { planted: Planted::only(*bug), ..sweep }.run(|_, _| {});
        let elapsed = summary.elapsed.as_secs_f64();
        match summary.failed.first() {
            Some(outcome) => {
                found += 1;
                let failure = outcome.failure.as_deref().unwrap_or_default();
                let first: String = failure.lines().next().unwrap_or_default().chars().take(110).collect();
                println!("found after {elapsed:5.1} s, {} runs, seed {}: {first}", summary.runs, outcome.seed);
            }
            None => {
                println!("not found in {elapsed:.0} s, {} runs", summary.runs);
                missed.push(bug.name());
            }
        }
    }
    println!("{found} found, {} not: {}", missed.len(), missed.join(", "));
}
