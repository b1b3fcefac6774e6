//! `raid sim`: the simulator. What it does is in `mini_raid`; here are its options.

use clap::Args;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  raid sim --runs 100                         a hundred seeds from 1
  raid sim --seed 1000 --seconds 120          as many seeds from 1000 as two minutes allow
  raid sim --seed 4711 --runs 1 --sites 3     one seed again
  raid sim --list-plants                      the clauses that can be left out, and the rule of each
  raid sim --runs 1000 --probes               and which rare branches of the servers these runs went through
  raid sim --plant NAME                       leave one out: the checkers find most of them within a minute of a core

Exit status: 0 when no run failed; with --plant, 0 when it was not found; 1 otherwise; 2 for options that make no sense.";

/// A planted bug is looked for that long unless told otherwise.
const PLANT_SECONDS: u64 = 60;

/// Run the servers in the simulated world, under faults, and check what clients saw.
///
/// Each seed is one cluster with virtual clocks, networks and disks that fail. The checkers stand outside: strict serializability, one outcome
/// for each transaction, equal copies, nothing acknowledged lost, life after the faults. A failing seed is printed with the command that
/// replays it.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct SimulateArguments {
    /// The first seed.
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// How many runs, with seeds that follow each other. [default: 1; with --seconds or --plant as many as fit]
    #[arg(long, value_name = "K")]
    runs: Option<u64>,
    /// Sites of each run. [default: 1 to 5, by the seed]
    #[arg(long, value_name = "N")]
    sites: Option<usize>,
    /// Begin no further run after so many real seconds. [default: no limit; with --plant and without --runs 60]
    #[arg(long, value_name = "T")]
    seconds: Option<u64>,
    /// Simulate so many runs at a time; what is found does not depend on it. [default: one for each core]
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
    /// Virtual seconds with faults in each run. [default: 12]
    #[arg(long, value_name = "T")]
    virtual_seconds: Option<u64>,
    /// Events after which a run stops. [default: 5000000]
    #[arg(long, value_name = "N")]
    steps: Option<u64>,
    /// Leave out this clause of a rule; the checkers must find it.
    #[arg(long, value_name = "NAME")]
    plant: Option<String>,
    /// List the clauses that can be left out.
    #[arg(long)]
    list_plants: bool,
    /// Also list rare branches of the servers, and how often these runs went through each.
    #[arg(long)]
    probes: bool,
}

/// Runs it.
pub fn run(options: SimulateArguments) -> Result<ExitCode, String> {
    let SimulateArguments { seed, runs, sites, seconds, jobs, virtual_seconds, steps, plant, list_plants, probes } =
        options;
    let seconds = seconds.or((plant.is_some() && runs.is_none()).then_some(PLANT_SECONDS));
    let runs = runs.unwrap_or(if seconds.is_some() { u64::MAX } else { 1 });
    let options = mini_raid::cli::SimulationArguments {
        seed,
        runs,
        sites,
        seconds,
        jobs,
        virtual_seconds,
        steps,
        plant,
        list_plants,
        probes,
    };
    let status = mini_raid::cli::main(&options);
    Ok(ExitCode::from(u8::try_from(status).unwrap_or(1)))
}
