//! The experiments on network memory without the rest of Raid: `cargo run --release -p memory_laboratory --example memory -- figure1 figure9`.
//!
//! Arguments: names of figures (all of them if there are none), `--quick`, `--rounds N`, `--data DIR`, `--sqlite-extension PATH`, `--output DIR`, `--list`.
//! The `raid` program has the same as `raid bench memory`.

use memory_laboratory::{Failure, Options, Outcome, Program, experiments, job, limits, run, scale};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag::register;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

const JOB: &str = "--job";

fn start(arguments: &[String]) -> Outcome<()> {
    if let [JOB, text] = arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        return job::perform(text);
    }
    let mut rounds = None;
    let mut options = Options {
        only: Vec::new(),
        scale: scale::PAPER,
        rounds: limits::ROUNDS,
        data: None,
        sqlite_extension: None,
        output: None,
    };
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let mut value = || rest.next().ok_or_else(|| Failure::Missing(format!("{argument} needs a value")));
        match argument.as_str() {
            "--list" => {
                print!("{}", experiments::list());
                return Ok(());
            }
            "--quick" => (options.scale, options.rounds) = (scale::QUICK, limits::ROUNDS_QUICK),
            "--rounds" => rounds = Some(value()?.parse().map_err(Failure::foreign)?),
            "--data" => options.data = Some(value()?.into()),
            "--sqlite-extension" => options.sqlite_extension = Some(value()?.into()),
            "--output" => options.output = Some(value()?.into()),
            name => options.only.push(name.to_owned()),
        }
    }
    options.rounds = rounds.unwrap_or(options.rounds);
    let program = Program { path: std::env::current_exe()?, arguments: vec![JOB.into()] };
    // What was started is ended, and what was made is taken away, also when somebody ends it.
    let stop = Arc::<AtomicBool>::default();
    for signal in [SIGINT, SIGTERM] {
        register(signal, Arc::clone(&stop))?;
    }
    run(&options, program, stop, |text| println!("{text}"))
}

fn main() -> ExitCode {
    match start(&std::env::args().skip(1).collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("memory: {failure}");
            ExitCode::FAILURE
        }
    }
}
