//! Runs the simulator: `sim [--seed S] [--runs K] [--sites N] [--seconds T] [--steps N] [--real-seconds T] [--jobs N] [--go-on]
//! [--plant NAME] [--situation NAME] [--calm] [--tell] [--probes]`.

use messages::limits::SECOND;
use messages::planted::{Bug, Planted};
use mini_raid::{Situation, Situations, Sweep};

fn main() {
    let mut sweep = Sweep { jobs: 1, ..Sweep::default() };
    let mut probes = false;
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let mut number = || arguments.next().and_then(|text| text.parse::<u64>().ok()).unwrap_or_default();
        match name.as_str() {
            "--seed" => sweep.seed = number(),
            "--runs" => sweep.runs = number(),
            "--sites" => sweep.sites = number() as usize,
            "--seconds" => sweep.bounds.time = number() * SECOND,
            "--steps" => sweep.bounds.events = number(),
            "--real-seconds" => sweep.seconds_max = Some(number()),
            "--jobs" => sweep.jobs = number() as usize,
            "--calm" => sweep.bounds.calm = true,
            "--tell" => sweep.bounds.tell = true,
            "--probes" => probes = true,
            "--go-on" => sweep.go_on = true,
            "--situation" => {
                let wanted = arguments.next().unwrap_or_default();
                let found = Situation::ALL.into_iter().find(|situation| situation.name() == wanted);
                sweep.bounds.situations = found.map_or(Situations::Never, Situations::Only);
            }
            "--plant" => {
                let wanted = arguments.next().unwrap_or_default();
                let bug = Bug::ALL.iter().find(|bug| bug.name() == wanted);
                sweep.planted = Planted::only(*bug.unwrap_or_else(|| panic!("no plant is called {wanted}")));
            }
            other => panic!("unknown option {other}"),
        }
    }
    let shown = if sweep.go_on { 400 } else { 6_000 };
    let summary = sweep.run(|_, outcome| {
        if let Some(failure) = &outcome.failure {
            let text: String = failure.chars().take(shown).collect();
            println!("seed {} with {} sites failed {text}", outcome.seed, outcome.sites);
        }
    });
    println!("{}", summary.text());
    println!("{} of {} runs failed", summary.failed.len(), summary.runs);
    if probes {
        print!("{}", mini_raid::cli::probes_text());
    }
}
