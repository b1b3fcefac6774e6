//! Runs the simulator: `sim [--seed S] [--runs K] [--sites N] [--seconds T] [--steps N] [--plant NAME] [--calm] [--tell]`.

use messages::limits::SECOND;
use messages::planted::{Bug, Planted};
use mini_raid::{Bounds, Sweep};

fn main() {
    let mut sweep =
        Sweep { seed: 1, runs: 1, sites: 0, planted: Planted::none(), bounds: Bounds::default(), seconds_max: None };
    let mut go_on = false;
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
            "--calm" => sweep.bounds.calm = true,
            "--tell" => sweep.bounds.tell = true,
            "--go-on" => go_on = true,
            "--plant" => {
                let wanted = arguments.next().unwrap_or_default();
                let bug = Bug::ALL.iter().find(|bug| bug.name() == wanted);
                sweep.planted = Planted::only(*bug.unwrap_or_else(|| panic!("no plant is called {wanted}")));
            }
            other => panic!("unknown option {other}"),
        }
    }
    let mut left = sweep;
    loop {
        let summary = left.run(|_, _| {});
        println!("{}", summary.text());
        let Some(outcome) = summary.failed else { break };
        let failure = outcome.failure.unwrap_or_default();
        let shown: String = failure.chars().take(if go_on { 400 } else { 6_000 }).collect();
        println!("seed {} with {} sites failed {shown}", outcome.seed, outcome.sites);
        left.runs -= outcome.seed.wrapping_sub(left.seed) + 1;
        left.seed = outcome.seed.wrapping_add(1);
        if !go_on || left.runs == 0 {
            break;
        }
    }
}
