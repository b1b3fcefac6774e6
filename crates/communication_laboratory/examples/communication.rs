//! The experiments on communication without the rest of Raid: `cargo run --release -p communication_laboratory --example communication`.
//!
//! Arguments: names of experiments (all of them if there are none), `--place NAME`, `--rounds N`, `--output DIR`, `--list`. The `raid` program has the same as
//! `raid bench comm`.

use communication_laboratory::experiments::{ALL, list};
use communication_laboratory::harness::process::Program;
use communication_laboratory::{Failure, Options, Outcome, job, limits, methods, run};
use std::process::ExitCode;
use std::sync::Arc;

const JOB: &str = "--job";

fn start(arguments: &[String]) -> Outcome<()> {
    if let [JOB, text] = arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        return job::perform(text, &methods::all(), &ALL);
    }
    let mut options = Options { only: None, place: None, rounds: limits::ROUNDS, output: None };
    let mut names = Vec::new();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let mut value = || rest.next().ok_or_else(|| Failure::Missing(format!("{argument} needs a value")));
        match argument.as_str() {
            "--list" => {
                print!("{}", list(&ALL));
                return Ok(());
            }
            "--place" => options.place = Some(value()?.clone()),
            "--rounds" => options.rounds = value()?.parse().map_err(Failure::foreign)?,
            "--output" => options.output = Some(value()?.into()),
            name => names.push(Some(name.to_owned())),
        }
    }
    if names.is_empty() {
        names.push(None);
    }
    let program = Program { path: std::env::current_exe()?, arguments: vec![JOB.into()] };
    for only in names {
        let options = Options { only, ..options.clone() };
        run(&options, &ALL, program.clone(), Arc::default(), |text| println!("{text}"))?;
    }
    Ok(())
}

fn main() -> ExitCode {
    match start(&std::env::args().skip(1).collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("communication: {failure}");
            ExitCode::FAILURE
        }
    }
}
