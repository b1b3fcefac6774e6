//! `compare queries`: random statements on Raid, and on PostgreSQL beside it. What is asked and how it is judged is `compare_queries`; here both
//! systems are started.

use std::io::stdout;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use clap::Args;
use compare_queries::run::{self, Runner};
use compare_queries::wire::{Connection, Endpoint as Address};
use rustix::process::Signal;

use crate::clients::pgbench;
use crate::contenders::{postgres_standalone::Standalone, raid};
use crate::endpoint::{Endpoint, Protocol};
use crate::environment::{self, Environment};
use crate::error::CompareError;
use crate::hosts::Hosts;
use crate::limits::START_TIME_MAX;
use crate::process::{Interrupt, Process};

/// Megabytes of rows that a site keeps in memory: there are few.
const MEMORY_MB: u32 = 256;
/// What PostgreSQL answers with as Raid does; and no time is lost on its disk.
const POSTGRES_SETTINGS: [&str; 5] = ["fsync=off", "timezone=UTC", "datestyle=ISO", "lc_messages=C", "jit=off"];
/// The first site's port, from the first one; PostgreSQL has that.
const PORT: u16 = 10;

/// What to ask, and for how long.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Decides what is asked; another one in each run by default
    #[arg(long)]
    seed: Option<u64>,
    /// The number of the first case of that seed
    #[arg(long, default_value_t = 0)]
    first: u64,
    /// End after so many cases
    #[arg(long)]
    cases: Option<u64>,
    /// End after so many statements
    #[arg(long, default_value_t = 100_000)]
    queries: u64,
    /// End after so many seconds
    #[arg(long, default_value_t = 86_400)]
    seconds: u64,
    /// End after so many kinds of differences
    #[arg(long, default_value_t = 50)]
    findings: usize,
    /// Ask Raid alone: the same question in several ways
    #[arg(long)]
    without_postgres: bool,
    /// Sites of Raid; the first one is asked
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=7))]
    sites: u8,
    /// The `raid` program to ask [default: the one of the same build]
    #[arg(long, value_name = "PATH")]
    raid: Option<PathBuf>,
    /// Folder below which both keep their data [default: the system's temporary folder]
    #[arg(long)]
    data: Option<PathBuf>,
    /// First of the 20 TCP ports used
    #[arg(long, default_value_t = 25_430, value_parser = clap::value_parser!(u16).range(1024..=65_000))]
    port: u16,
}

/// Asks and tells.
///
/// # Errors
/// A system does not start or come back, or answers differ that are not listed.
pub fn run(options: &Options) -> Result<(), CompareError> {
    let folder = environment::run_folder(options.data.as_deref())?;
    let postgres_programs = match options.without_postgres {
        true => None,
        false => Some(pgbench::find_programs()?),
    };
    let environment = Environment {
        folder: folder.path().to_path_buf(),
        postgres_programs: postgres_programs.clone().unwrap_or_default(),
        raid_program: options.raid.as_deref().map(environment::absolute).transpose()?,
        port: options.port,
        cores: 1,
        hosts: Hosts::loopback(),
        interrupt: Interrupt::listen()?,
    };
    let settings = POSTGRES_SETTINGS.map(str::to_string);
    let postgres = postgres_programs.map(|_| Standalone::start_with(&environment, &settings)).transpose()?;
    let (raid, process) = start_raid(&environment, options.sites)?;
    let seed = options.seed.unwrap_or_else(fresh_seed);
    println!("seed {seed}");
    let plan = run::Options {
        seed,
        first: options.first,
        cases: options.cases,
        statements: options.queries,
        time: Duration::from_secs(options.seconds),
        findings: options.findings,
    };
    let mut out = stdout();
    let beside = postgres.as_ref().map(|postgres| address(postgres.server()));
    let runner = Runner::new(&plan, &address(&raid), beside.as_ref(), &mut out);
    let stop = || environment.interrupt.check().is_err();
    let outcomes = runner.and_then(|runner| runner.run(&stop)).map_err(|error| {
        CompareError::Answers(format!("{error}\nthe end of Raid's output:\n{}", process.last_lines()))
    })?;
    environment.interrupt.check()?;
    match outcomes.findings.len() {
        0 => Ok(()),
        count => Err(CompareError::Answers(format!("{count} kinds of differences; seed {seed}; {}", outcomes.line))),
    }
}

/// Starts so many sites, and waits until the first one answers.
fn start_raid(environment: &Environment, sites: u8) -> Result<(Endpoint, Process), CompareError> {
    let port = environment.port + PORT;
    let mut command = Command::new(raid::find_program(environment)?);
    command.args(["start", "--sites", &sites.to_string(), "--port", &port.to_string()]);
    command.args(["--memory-mb", &MEMORY_MB.to_string(), "--data"]).arg(environment.folder.join("raid"));
    let mut process = Process::start(command, &environment.log("raid"), Signal::TERM)?;
    let site = Endpoint {
        address: Ipv4Addr::LOCALHOST,
        port,
        protocol: Protocol::Postgres,
        database: "raid".to_string(),
        session_options: None,
    };
    let address = address(&site);
    let answers = environment.interrupt.wait(START_TIME_MAX, || {
        process.check_alive()?;
        // A site that cannot serve yet says so.
        let ready = |mut connection: Connection| connection.simple("DROP TABLE IF EXISTS t0").is_done();
        Ok(Connection::open(&address).is_ok_and(ready))
    })?;
    if answers {
        return Ok((site, process));
    }
    let what = format!("Raid to take statements at port {port}");
    Err(CompareError::TimedOut { what, waited: START_TIME_MAX, output: process.last_lines() })
}

fn address(endpoint: &Endpoint) -> Address {
    Address {
        address: SocketAddr::from((endpoint.address, endpoint.port)),
        database: endpoint.database.clone(),
        user: crate::endpoint::USER.to_string(),
    }
}

/// Another number in each run.
fn fresh_seed() -> u64 {
    let path = Path::new("/proc/sys/kernel/random/uuid");
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let digits: String = text.chars().filter(char::is_ascii_hexdigit).take(12).collect();
    u64::from_str_radix(&digits, 16).unwrap_or(1)
}
