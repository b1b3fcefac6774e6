//! The clients: stock programs that put a load on one server or, as several processes at once, on all of a system's.

pub mod pgbench;
pub mod sysbench;

use std::process::Command;
use std::time::Duration;

use pgbench::Pgbench;
use rustix::process::Signal;
use serde::Serialize;
use sysbench::Sysbench;

use crate::databases::endpoint::Endpoint;
use crate::databases::environment::Environment;
use crate::databases::error::CompareError;
use crate::databases::limits::RUN_OVERTIME_MAX;
use crate::databases::loads::{Load, LoadClient, Script};
use crate::databases::process::Process;

/// The figures of one run.
#[derive(Clone, Debug, Default, Serialize, PartialEq)]
pub struct Figures {
    /// Transactions per second, connection time left out; failed transactions do not count.
    pub tps: f64,
    /// Average latency in milliseconds.
    pub latency_ms_average: f64,
    /// Transactions that committed.
    pub transactions: u64,
    /// Transactions that ended with a serialization or deadlock error.
    pub failed: u64,
    /// Clients that gave up, after an error of another kind. The other figures are then those of the rest.
    pub aborted_clients: u64,
}

impl Figures {
    /// Of all transactions that were begun, how many failed: 0 to 1.
    pub fn failed_share(&self) -> f64 {
        let all = self.transactions + self.failed;
        if all == 0 { 0.0 } else { self.failed as f64 / all as f64 }
    }

    /// What several processes measured side by side.
    fn sum(parts: &[Figures]) -> Figures {
        let transactions = parts.iter().map(|part| part.transactions).sum::<u64>();
        let weighted: f64 = parts.iter().map(|part| part.latency_ms_average * part.transactions as f64).sum();
        Figures {
            tps: parts.iter().map(|part| part.tps).sum(),
            latency_ms_average: if transactions == 0 { 0.0 } else { weighted / transactions as f64 },
            transactions,
            failed: parts.iter().map(|part| part.failed).sum(),
            aborted_clients: parts.iter().map(|part| part.aborted_clients).sum(),
        }
    }
}

/// A stock client program.
pub trait Client: Sync {
    /// Writes what it needs into the folder.
    fn prepare(&self, environment: &Environment) -> Result<(), CompareError>;

    /// The command that puts `clients` connections' share of a load on one server for `seconds`.
    fn command(
        &self,
        environment: &Environment,
        endpoint: &Endpoint,
        load: &Load,
        clients: usize,
        seconds: u32,
    ) -> Result<Command, CompareError>;

    /// Reads the figures from the program's output.
    ///
    /// # Errors
    /// A figure is missing or no number.
    fn parse(&self, output: &str) -> Result<Figures, CompareError>;

    /// What ran, in its own words.
    fn version(&self, environment: &Environment) -> Result<String, CompareError>;
}

/// The program of a load.
pub fn program(client: LoadClient) -> &'static dyn Client {
    match client {
        LoadClient::Pgbench(Script::TpcB) => &Pgbench(Script::TpcB),
        LoadClient::Pgbench(Script::SelectOnly) => &Pgbench(Script::SelectOnly),
        LoadClient::Pgbench(Script::Call) => &Pgbench(Script::Call),
        LoadClient::Pgbench(Script::Query) => &Pgbench(Script::Query),
        LoadClient::Sysbench => &Sysbench,
    }
}

/// Puts a load on the servers, in equal shares, one process for each, and adds up what they measured.
pub fn run(
    environment: &Environment,
    load: &Load,
    endpoints: &[Endpoint],
    seconds: u32,
) -> Result<Figures, CompareError> {
    let client = program(load.client);
    let mut processes = Vec::new();
    for (index, (endpoint, clients)) in endpoints.iter().zip(shares(load.clients, endpoints.len())).enumerate() {
        let command = client.command(environment, endpoint, load, clients, seconds)?;
        processes.push(Process::start(command, &environment.log(&format!("client_{index}")), Signal::INT)?);
    }
    let limit = Duration::from_secs(seconds.into()) + RUN_OVERTIME_MAX;
    let mut parts = Vec::new();
    for process in processes {
        // A bad status is a run in which clients gave up; its figures say so.
        let (_, output) = process.finish(&environment.interrupt, limit)?;
        parts.push(client.parse(&output)?);
    }
    Ok(Figures::sum(&parts))
}

/// `clients` over `count` servers as evenly as can be; none without clients.
fn shares(clients: usize, count: usize) -> impl Iterator<Item = usize> {
    (0..count).map(move |index| clients / count + usize::from(index < clients % count)).filter(|&share| share > 0)
}

/// The number behind `name` on the first line that begins so, blanks before it left out.
fn number<T: std::str::FromStr>(output: &str, name: &'static str) -> Result<T, CompareError> {
    let value = output.lines().find_map(|line| line.trim_start().strip_prefix(name));
    let digits = value.and_then(|value| value.trim_start_matches([' ', ':', '=']).split([' ', '/']).next());
    let parsed = digits.and_then(|digits| digits.parse().ok());
    parsed.ok_or_else(|| CompareError::Output { field: name, output: output.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A client that is lost in the division would make three sites look slow.
    #[test]
    fn shares_are_even_and_complete() {
        assert_eq!(shares(16, 3).collect::<Vec<_>>(), [6, 5, 5]);
        assert_eq!(shares(2, 3).collect::<Vec<_>>(), [1, 1]);
    }

    /// An average of averages would let a site that did nothing count as much as one that did all.
    #[test]
    fn latencies_are_weighted_by_transactions() {
        let part = |tps, latency_ms_average, transactions, failed| Figures {
            tps,
            latency_ms_average,
            transactions,
            failed,
            aborted_clients: 1,
        };
        let sum = Figures::sum(&[part(10.0, 1.0, 300, 0), part(5.0, 5.0, 100, 100)]);
        assert_eq!(sum, Figures { aborted_clients: 2, ..part(15.0, 2.0, 400, 100) });
        assert_eq!(sum.failed_share(), 0.2);
        assert_eq!(Figures::default().failed_share(), 0.0);
    }
}
