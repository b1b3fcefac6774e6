//! `raid-lab compare smith`: statements of Debian's sqlsmith on Raid, looked at for sites that end and errors of Raid's own.

use std::io::stdout;
use std::process::Command;
use std::time::{Duration, Instant};

use clap::Args;
use compare_queries::smith;
use compare_queries::wire::{Answer, Connection};

use crate::databases::beside::{self, Beside};
use crate::databases::environment::find_program;
use crate::databases::error::CompareError;
use crate::databases::limits::PREPARE_TIME_MAX;

/// What to ask, and for how long.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Decides what sqlsmith prints
    #[arg(long, default_value_t = 1)]
    seed: u32,
    /// How many statements
    #[arg(long, default_value_t = 5000)]
    queries: u32,
    /// End after so many seconds
    #[arg(long, default_value_t = 600)]
    seconds: u64,
    #[command(flatten)]
    beside: beside::Place,
}

/// Has statements printed, asks them and tells.
///
/// # Errors
/// A program is missing, or a site ended or lost a session.
pub fn run(options: &Options) -> Result<(), CompareError> {
    let program = find_program("sqlsmith", "sqlsmith")?;
    let mut systems = Beside::new(&options.beside, true)?;
    let mut connection = Connection::open(&systems.postgres("postgres")?).map_err(CompareError::Answers)?;
    ask(&mut connection, "CREATE DATABASE smith")?;
    let database = systems.postgres("smith")?;
    let mut connection = Connection::open(&database).map_err(CompareError::Answers)?;
    for sql in smith::TABLES.iter().chain(&smith::NARROWING) {
        ask(&mut connection, sql)?;
    }
    let (seed, count) = (options.seed, options.queries);
    let mut command = Command::new(program);
    let (host, port) = (database.address.ip(), database.address.port());
    command.arg(format!("--target=host={host} port={port} dbname=smith user={}", database.user));
    command.args([format!("--max-queries={count}"), format!("--seed={seed}")]);
    command.args(["--dry-run", "--exclude-catalog"]);
    let printed = systems.environment.run(command, "sqlsmith", PREPARE_TIME_MAX)?;
    let statements = smith::statements(&printed);
    let folder = systems.environment.folder.join("raid");
    let raid = systems.start_raid(&folder)?;
    let end = Instant::now() + Duration::from_secs(options.seconds);
    let stop = || systems.environment.interrupt.check().is_err();
    let smithed = smith::run(&raid, &statements, end, &mut stdout(), &stop).map_err(|error| {
        CompareError::Answers(format!("{error}\nthe end of Raid's output:\n{}", systems.last_lines()))
    })?;
    systems.environment.interrupt.check()?;
    for (message, sql) in &smithed.internal {
        println!("== {message}\n{sql};\n");
    }
    println!("{} statements of seed {seed}; by SQLSTATE: {:?}", smithed.asked, smithed.codes);
    match smithed.lost {
        0 => Ok(()),
        lost => Err(CompareError::Answers(format!(
            "{lost} sessions were lost; repeat with --seed {seed} --queries {count}"
        ))),
    }
}

fn ask(connection: &mut Connection, sql: &str) -> Result<(), CompareError> {
    match connection.simple(sql) {
        Answer::Done { .. } => Ok(()),
        other => Err(CompareError::Answer { statement: sql.to_string(), answer: format!("{other:?}") }),
    }
}
