//! The stand-in: a server that answers every message of the PostgreSQL protocol at once and does nothing. What pgbench reaches with
//! it is the ceiling of client and network on this machine; no database can do better.
//!
//! It is a process of its own, as servers are: this program with the command `stand-in`.

mod protocol;
mod server;

use std::net::SocketAddrV4;

use rustix::process::Signal;

pub use server::serve;

use super::{Contender, STAND_IN, System};
use crate::databases::endpoint::{Endpoint, Protocol};
use crate::databases::environment::Environment;
use crate::databases::error::CompareError;
use crate::databases::limits::START_TIME_MAX;
use crate::databases::process::Process;

/// The one way to use it.
pub const CONTENDERS: [Contender; 1] = [Contender {
    name: STAND_IN,
    promise: "nothing: it answers at once and keeps nothing, the ceiling of client and network",
}];

/// The port, from the environment's first.
const PORT: u16 = 4;

/// The running process.
pub struct StandIn {
    server: Endpoint,
    process: Process,
}

impl StandIn {
    /// Starts it and waits until it answers.
    pub fn start(environment: &Environment) -> Result<StandIn, CompareError> {
        let own = std::env::current_exe().map_err(CompareError::system("cannot find", "this program".as_ref()))?;
        let host = environment.hosts.server(0);
        let listen = SocketAddrV4::new(host.address(), environment.port + PORT);
        let mut command = host.command(&own);
        command.args(["stand-in", "--listen", &listen.to_string()]);
        let mut process = Process::start(command, &environment.log("stand_in"), Signal::TERM)?;
        let server = Endpoint {
            address: *listen.ip(),
            port: listen.port(),
            protocol: Protocol::Postgres,
            database: "scale_1".to_string(),
            session_options: None,
        };
        let count = "select count(*) from pgbench_branches";
        if server.wait_for(environment, count, "1", START_TIME_MAX, || process.check_alive())? {
            return Ok(StandIn { server, process });
        }
        let what = format!("the stand-in to answer `1` to `{count}`");
        Err(CompareError::TimedOut { what, waited: START_TIME_MAX, output: process.last_lines() })
    }
}

impl System for StandIn {
    fn version(&self, _environment: &Environment) -> Result<String, CompareError> {
        Ok(format!("stand-in {}", env!("CARGO_PKG_VERSION")))
    }

    fn settings(&self) -> String {
        "one thread".to_string()
    }

    fn fill(&mut self, _environment: &Environment, _scale: u32) -> Result<(), CompareError> {
        Ok(())
    }

    fn endpoints(&self, _contender: &'static str, scale: u32) -> Vec<Endpoint> {
        vec![Endpoint { database: format!("scale_{scale}"), ..self.server.clone() }]
    }

    fn keeps_books(&self) -> bool {
        false
    }

    fn check(&mut self) -> Result<(), CompareError> {
        self.process.check_alive()
    }
}
