//! PostgreSQL alone: one copy, whose commits wait for its own disk.

use super::postgres::{self, Launcher, SETTINGS};
use super::{Contender, STANDALONE, System};
use crate::databases::endpoint::Endpoint;
use crate::databases::environment::Environment;
use crate::databases::error::CompareError;
use crate::databases::process::Process;

/// The one way to use it.
pub const CONTENDERS: [Contender; 1] = [Contender {
    name: STANDALONE,
    promise: "one copy: no standbys; synchronous_commit=on syncs its own disk (fdatasync, commits share one), \
        and the loss of that machine or disk loses everything",
}];

/// The port, from the environment's first.
const PORT: u16 = 0;

/// The running server.
pub struct Standalone {
    server: Endpoint,
    process: Process,
}

impl Standalone {
    /// Creates and starts it, and waits until it answers.
    pub fn start(environment: &Environment) -> Result<Standalone, CompareError> {
        Standalone::start_with(environment, &[])
    }

    /// The same with more settings, each as `name=value`.
    pub fn start_with(environment: &Environment, settings: &[String]) -> Result<Standalone, CompareError> {
        let launcher = Launcher::new(environment, "postgres_standalone")?;
        launcher.initialize("alone")?;
        let (host, port) = (environment.hosts.server(0), environment.port + PORT);
        let server = postgres::endpoint(&host, port);
        let mut processes = [launcher.start(&host, "alone", port, settings)?];
        postgres::wait_until(environment, &server, "SELECT 1", "1", &mut processes)?;
        let [process] = processes;
        Ok(Standalone { server, process })
    }
}

impl Standalone {
    /// Where its own database is.
    pub fn server(&self) -> &Endpoint {
        &self.server
    }
}

impl System for Standalone {
    fn version(&self, environment: &Environment) -> Result<String, CompareError> {
        postgres::version(environment)
    }

    fn settings(&self) -> String {
        SETTINGS.join(", ")
    }

    fn fill(&mut self, environment: &Environment, scale: u32) -> Result<(), CompareError> {
        postgres::fill(environment, &self.server, scale)
    }

    fn endpoints(&self, _contender: &'static str, scale: u32) -> Vec<Endpoint> {
        vec![postgres::tables(&self.server, scale, Some("-c synchronous_commit=on"))]
    }

    fn check(&mut self) -> Result<(), CompareError> {
        self.process.check_alive()
    }
}
