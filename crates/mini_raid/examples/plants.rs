//! Which planted bugs the checkers find, and how fast: `plants [--runs-each K] [NAME ...]`.
//!
//! Each is looked for with consecutive seeds until a run fails; 1,000 runs take about a minute of a core.

use messages::planted::{Bug, Planted};
use mini_raid::{Bounds, Sweep};
use std::io::Write;

fn main() {
    let mut runs = 1_000;
    let mut names = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--runs-each" => runs = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(runs),
            name => names.push(name.to_owned()),
        }
    }
    let wanted = |bug: &&Bug| names.is_empty() || names.iter().any(|name| name == bug.name());
    let (mut found, mut missed) = (0, Vec::new());
    for bug in Bug::ALL.iter().filter(wanted) {
        print!("{:34}", bug.name());
        std::io::stdout().flush().expect("standard output takes text");
        let sweep = Sweep {
            seed: 1,
            runs,
            sites: 0,
            planted: Planted::only(*bug),
            bounds: Bounds::default(),
            seconds_max: None,
        };
        let summary = sweep.run(|_, _| {});
        let elapsed = summary.elapsed.as_secs_f64();
        match summary.failed {
            Some(outcome) => {
                found += 1;
                let failure = outcome.failure.unwrap_or_default();
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
