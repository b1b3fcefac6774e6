//! Raid and PostgreSQL beside each other, for comparisons of what they answer: few sites, little memory, no time lost on PostgreSQL's disk.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;
use compare_queries::wire::{Connection, Endpoint as Address};
use rustix::process::Signal;
use tempfile::TempDir;

use crate::databases::clients::pgbench;
use crate::databases::contenders::{postgres_standalone::Standalone, raid};
use crate::databases::endpoint::{Endpoint, Protocol, USER};
use crate::databases::environment::{self, Environment};
use crate::databases::error::CompareError;
use crate::databases::hosts::Hosts;
use crate::databases::limits::START_TIME_MAX;
use crate::databases::process::{Interrupt, Process};

/// Megabytes of rows that a site keeps in memory: there are few.
const MEMORY_MB: u32 = 256;
/// What PostgreSQL answers with as Raid does; and no time is lost on its disk.
const POSTGRES_SETTINGS: [&str; 7] = [
    "fsync=off",
    "timezone=UTC",
    "datestyle=ISO",
    "lc_messages=C",
    "jit=off",
    "max_prepared_transactions=10",
    "wal_level=logical",
];
/// The first site's port, from the first one; PostgreSQL has that.
const PORT: u16 = 10;

/// Where both run.
#[derive(Args, Clone, Debug)]
pub struct Place {
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

/// Both, and where they keep what they write.
pub struct Beside {
    /// Folders, ports, and whether the user wants to stop.
    pub environment: Environment,
    /// PostgreSQL, if it was asked for.
    pub postgres: Option<Standalone>,
    raid: Option<Process>,
    sites: u8,
    // Last: it goes when nobody writes there any more.
    _folder: TempDir,
}

impl Beside {
    /// Starts PostgreSQL, if asked for; Raid is not there yet.
    ///
    /// # Errors
    /// It is not installed, or does not start.
    pub fn new(options: &Place, with_postgres: bool) -> Result<Beside, CompareError> {
        let folder = environment::run_folder(options.data.as_deref())?;
        let environment = Environment {
            folder: folder.path().to_path_buf(),
            postgres_programs: if with_postgres { pgbench::find_programs()? } else { PathBuf::new() },
            raid_program: options.raid.as_deref().map(environment::absolute).transpose()?,
            port: options.port,
            cores: 1,
            hosts: Hosts::loopback(),
            interrupt: Interrupt::listen()?,
        };
        let settings = POSTGRES_SETTINGS.map(str::to_string);
        let postgres = if with_postgres { Some(Standalone::start_with(&environment, &settings)?) } else { None };
        Ok(Beside { environment, postgres, raid: None, sites: options.sites, _folder: folder })
    }

    /// Starts Raid on the data below `folder`, in the place of the one that runs, and waits until its first site serves.
    ///
    /// # Errors
    /// It does not start.
    pub fn start_raid(&mut self, folder: &Path) -> Result<Address, CompareError> {
        self.stop_raid();
        let port = self.environment.port + PORT;
        let mut command = Command::new(raid::find_program(&self.environment)?);
        command.args(["start", "--sites", &self.sites.to_string(), "--port", &port.to_string()]);
        command.args(["--memory-mb", &MEMORY_MB.to_string(), "--data"]).arg(folder);
        let mut process = Process::start(command, &self.environment.log("raid"), Signal::TERM)?;
        let address = address(&Endpoint {
            address: Ipv4Addr::LOCALHOST,
            port,
            protocol: Protocol::Postgres,
            database: "regression".to_string(),
            session_options: None,
        });
        let first = Address { database: "raid".to_string(), address: address.address, user: address.user.clone() };
        let serves = self.environment.interrupt.wait(START_TIME_MAX, || {
            process.check_alive()?;
            // A site that cannot serve yet refuses what writes.
            let ready = |mut connection: Connection| {
                connection.simple("CREATE TABLE IF NOT EXISTS raid_serves (a int4)").is_done()
                    && connection.simple("DROP TABLE raid_serves").is_done()
            };
            if !Connection::open(&first).is_ok_and(ready) {
                return Ok(false);
            }
            // It may have been made in an earlier life of this data.
            let made = Connection::open(&first).map(|mut connection| connection.simple("CREATE DATABASE regression"));
            Ok(made.is_ok() && Connection::open(&address).is_ok())
        })?;
        if !serves {
            let what = format!("Raid to take statements at port {port}");
            return Err(CompareError::TimedOut { what, waited: START_TIME_MAX, output: process.last_lines() });
        }
        self.raid = Some(process);
        Ok(address)
    }

    /// Ends Raid with all its processes.
    pub fn stop_raid(&mut self) {
        self.raid = None;
    }

    /// Where PostgreSQL has a database.
    ///
    /// # Errors
    /// It was not asked for.
    pub fn postgres(&self, database: &str) -> Result<Address, CompareError> {
        let postgres =
            self.postgres.as_ref().ok_or_else(|| CompareError::Answers("PostgreSQL does not run".to_string()))?;
        Ok(Address { database: database.to_string(), ..address(postgres.server()) })
    }

    /// The end of Raid's output.
    pub fn last_lines(&self) -> String {
        self.raid.as_ref().map(Process::last_lines).unwrap_or_default()
    }
}

fn address(endpoint: &Endpoint) -> Address {
    let address = SocketAddr::from((endpoint.address, endpoint.port));
    Address { address, database: endpoint.database.clone(), user: USER.to_string() }
}
