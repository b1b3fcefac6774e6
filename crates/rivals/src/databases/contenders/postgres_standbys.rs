//! PostgreSQL with three copies: a primary whose commits wait for two standbys. Sessions decide for what at the standbys.

use super::postgres::{self, Launcher, SETTINGS};
use super::{Contender, ON, REMOTE_WRITE, System};
use crate::databases::endpoint::{Endpoint, USER};
use crate::databases::environment::Environment;
use crate::databases::error::CompareError;
use crate::databases::limits::{PREPARE_TIME_MAX, STATEMENT_TIME_MAX};
use crate::databases::process::Process;

/// The ways to use it.
pub const CONTENDERS: [Contender; 2] = [
    Contender {
        name: REMOTE_WRITE,
        promise: "three copies: synced by the primary, handed to the operating system by both standbys (ANY 2)",
    },
    Contender { name: ON, promise: "three copies: synced by the primary and by both standbys (ANY 2)" },
];

/// The first of three ports, from the environment's first.
const PORT: u16 = 1;

const STANDBYS: [&str; 2] = ["standby1", "standby2"];

/// The running servers.
pub struct Standbys {
    /// The primary first.
    servers: Vec<Endpoint>,
    // Standbys first: what is dropped last is the primary, so that no standby complains.
    processes: Vec<Process>,
}

impl Standbys {
    /// Creates and starts all three, and waits until both standbys are synchronous.
    pub fn start(environment: &Environment) -> Result<Standbys, CompareError> {
        let launcher = Launcher::new(environment, "postgres")?;
        launcher.initialize("primary")?;
        let (host, port) = (environment.hosts.server(0), environment.port + PORT);
        let primary = postgres::endpoint(&host, port);
        let mut processes = vec![launcher.start(&host, "primary", port, &[])?];
        postgres::wait_until(environment, &primary, "SELECT 1", "1", &mut processes)?;
        let mut servers = vec![primary.clone()];
        for (index, standby) in STANDBYS.into_iter().enumerate() {
            let (host, port) = (environment.hosts.server(index + 1), port + 1 + index as u16);
            launcher.copy(&primary, &host, standby)?;
            let (address, from) = (primary.address, primary.port);
            let source = format!("primary_conninfo=host={address} port={from} user={USER} application_name={standby}");
            processes.insert(0, launcher.start(&host, standby, port, &[source])?);
            servers.push(postgres::endpoint(&host, port));
        }
        let wanted = format!("ALTER SYSTEM SET synchronous_standby_names = 'ANY 2 ({})'", STANDBYS.join(", "));
        primary.ask(environment, &[&wanted, "SELECT pg_reload_conf()"], STATEMENT_TIME_MAX)?;
        let synchronous =
            "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming' AND sync_state = 'quorum'";
        postgres::wait_until(environment, &primary, synchronous, "2", &mut processes)?;
        Ok(Standbys { servers, processes })
    }
}

impl System for Standbys {
    fn version(&self, environment: &Environment) -> Result<String, CompareError> {
        postgres::version(environment)
    }

    fn settings(&self) -> String {
        format!("ANY 2 (two standbys), {}", SETTINGS.join(", "))
    }

    fn fill(&mut self, environment: &Environment, scale: u32) -> Result<(), CompareError> {
        postgres::fill(environment, &self.servers[0], scale)
    }

    fn endpoints(&self, contender: &'static str, scale: u32) -> Vec<Endpoint> {
        let options = if contender == ON { "-c synchronous_commit=on" } else { "-c synchronous_commit=remote_write" };
        self.servers.iter().map(|server| postgres::tables(server, scale, Some(options))).collect()
    }

    fn settle(&mut self, environment: &Environment) -> Result<(), CompareError> {
        // Any change will do: its commit waits until both standbys have replayed it, and all before it.
        let change = "COMMENT ON DATABASE postgres IS 'settled'";
        let primary = &self.servers[0];
        primary.ask(environment, &["SET synchronous_commit = remote_apply", change], PREPARE_TIME_MAX).map(drop)
    }

    fn check(&mut self) -> Result<(), CompareError> {
        self.processes.iter_mut().try_for_each(Process::check_alive)
    }
}
