//! The plan: start both systems, fill their tables, run every load on every contender in every round, and report.
//!
//! Within a round the contenders take turns, and each round begins with another one, so that neither a slowing machine nor the
//! order favours anybody.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::error::CompareError;
use crate::limits::STATEMENT_TIME_MAX;
use crate::machine::{Machine, sync_latency};
use crate::pgbench::{Client, LOADS, Load, find_programs};
use crate::postgres::{Postgres, SETTINGS};
use crate::process::{Interrupt, run as run_command};
use crate::raid::Raid;
use crate::report::{Report, Run};
use crate::scheduling::SharedGroup;
use crate::{Only, Options};

/// The name of our side in a report.
pub const RAID: &str = "raid";

/// One side of the comparison.
struct Contender {
    name: &'static str,
    client: Client,
    /// Whether reads are worth measuring: contenders that differ in how they commit are one and the same reader.
    reads: bool,
}

/// The systems that run; dropped, and thereby ended, before the group that they run in.
struct Systems {
    postgres: Option<Postgres>,
    raid: Option<Raid>,
}

impl Systems {
    fn start(
        options: &Options,
        programs: &Path,
        folder: &Path,
        interrupt: &Interrupt,
    ) -> Result<Systems, CompareError> {
        // Looked for first: an error after minutes of preparation is a poor one.
        let raid_program = if wanted(options, Only::Raid) { Some(crate::raid::find_program()?) } else { None };
        let mut systems = Systems { postgres: None, raid: None };
        if wanted(options, Only::Postgres) {
            println!("starting PostgreSQL: a primary and two synchronous standbys");
            let postgres = Postgres::start(programs, folder, options.port, interrupt)?;
            println!("filling its tables at scale {}", options.scale);
            postgres.client.initialize(options.scale, interrupt)?;
            systems.postgres = Some(postgres);
        }
        if let Some(program) = raid_program {
            println!("starting Raid: three sites");
            let raid = Raid::start(&program, programs, folder, options.port + 3, interrupt)?;
            println!("filling its tables at scale {}", options.scale);
            raid.client.initialize(options.scale, interrupt)?;
            systems.raid = Some(raid);
        }
        Ok(systems)
    }

    fn contenders(&self) -> Vec<Contender> {
        let mut contenders = Vec::new();
        if let Some(postgres) = &self.postgres {
            let with = |options| Client { session_options: Some(options), ..postgres.client.clone() };
            contenders.push(Contender { name: "postgres on", client: with("-c synchronous_commit=on"), reads: true });
            let remote_write = with("-c synchronous_commit=remote_write");
            contenders.push(Contender { name: "postgres remote_write", client: remote_write, reads: false });
        }
        if let Some(raid) = &self.raid {
            contenders.push(Contender { name: RAID, client: raid.client.clone(), reads: true });
        }
        contenders
    }

    fn check(&mut self) -> Result<(), CompareError> {
        self.postgres.as_mut().map_or(Ok(()), Postgres::check)?;
        self.raid.as_mut().map_or(Ok(()), Raid::check)
    }

    /// What ran, in the words of the systems themselves.
    fn versions(&self, folder: &Path, programs: &Path, interrupt: &Interrupt) -> Result<Vec<String>, CompareError> {
        let mut versions = Vec::new();
        let mut ask = |mut command: Command| -> Result<(), CompareError> {
            command.arg("--version");
            let output = run_command(command, &folder.join("version.log"), interrupt, STATEMENT_TIME_MAX)?;
            versions.push(output.trim().to_string());
            Ok(())
        };
        if self.postgres.is_some() {
            ask(Command::new(programs.join("postgres")))?;
        }
        ask(Command::new(programs.join("pgbench")))?;
        if self.raid.is_some() {
            ask(Command::new(crate::raid::find_program()?))?;
        }
        Ok(versions)
    }
}

fn wanted(options: &Options, side: Only) -> bool {
    options.only.is_none_or(|only| only == side)
}

/// Carries the comparison out; prints as it goes.
pub fn run(options: &Options) -> Result<(), CompareError> {
    let interrupt = Interrupt::listen()?;
    let programs = find_programs()?;
    let parent = options.data.clone().unwrap_or_else(std::env::temp_dir);
    // Servers are started in folders of their own, where a relative path would lead elsewhere.
    let parent = parent.canonicalize().map_err(CompareError::system("cannot use the folder", &parent))?;
    // Declared before the systems, so that both outlive them.
    let group = SharedGroup::enter();
    let folder = tempfile::Builder::new()
        .prefix("raid_compare_")
        .tempdir_in(&parent)
        .map_err(CompareError::system("cannot create a folder in", &parent))?;
    let machine = Machine::look(folder.path(), group.describe());
    let mut systems = Systems::start(options, &programs, folder.path(), &interrupt)?;
    let versions = systems.versions(folder.path(), &programs, &interrupt)?;
    let settings = systems.postgres.as_ref().map(|_| SETTINGS.join(", "));
    let mut report = Report::new(machine, versions, settings, options.rounds, options.seconds, options.scale);
    print!("{}", report.heading());

    let contenders = systems.contenders();
    for round in 1..=options.rounds {
        let sync_us = sync_latency(folder.path())?.as_micros() as u64;
        println!("round {round} of {}: fdatasync {sync_us} us", options.rounds);
        for load in LOADS {
            for contender in turn(&contenders, round, load) {
                let figures = contender.client.run(load, options.seconds, report.machine.cores, &interrupt);
                systems.check()?;
                let run = Run { round, load: load.name, contender: contender.name, sync_us, figures: figures? };
                println!("{run}");
                report.runs.push(run);
            }
        }
    }
    print!("\n{}", report.summary());
    if let Some(path) = &options.output {
        let text = if path.extension().is_some_and(|end| end == "json") { report.json() } else { report.markdown() };
        fs::write(path, text).map_err(CompareError::system("cannot write", path))?;
        println!("written to {}", path.display());
    }
    Ok(())
}

/// The contenders of a load, beginning with another one in each round.
fn turn(contenders: &[Contender], round: u32, load: Load) -> Vec<&Contender> {
    let mut order: Vec<&Contender> =
        contenders.iter().filter(|contender| contender.reads || !load.select_only).collect();
    if !order.is_empty() {
        let first = (round as usize - 1) % order.len();
        order.rotate_left(first);
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contender(name: &'static str, reads: bool) -> Contender {
        let client = Client { programs: "x".into(), port: 1, session_options: None, folder: "x".into() };
        Contender { name, client, reads }
    }

    /// Whoever always ran first would always find a rested disk.
    #[test]
    fn each_round_begins_with_another_contender() {
        let contenders = [contender("a", true), contender("b", false), contender("c", true)];
        let order =
            |round, load| turn(&contenders, round, load).iter().map(|contender| contender.name).collect::<String>();
        assert_eq!([1, 2, 3, 4].map(|round| order(round, LOADS[0])), ["abc", "bca", "cab", "abc"]);
        assert_eq!([1, 2].map(|round| order(round, LOADS[2])), ["ac", "ca"]);
    }
}
