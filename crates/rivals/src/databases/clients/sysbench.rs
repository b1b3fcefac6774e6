//! sysbench with a TPC-B script of ours, `scripts/tpcb.lua`: one script for systems that speak different languages.

use std::fs;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use super::{Client, Figures, number};
use crate::databases::endpoint::{Endpoint, Protocol, USER};
use crate::databases::environment::{Environment, find_program};
use crate::databases::error::CompareError;
use crate::databases::limits::STATEMENT_TIME_MAX;
use crate::databases::loads::Load;

/// What the script is called in the folder.
const SCRIPT_FILE: &str = "tpcb.lua";

/// See the module's description.
#[derive(Clone, Copy, Debug)]
pub struct Sysbench;

impl Client for Sysbench {
    fn prepare(&self, environment: &Environment) -> Result<(), CompareError> {
        // Looked for first: an error after minutes of preparation is a poor one.
        find_program("sysbench", "sysbench")?;
        let path = environment.folder.join(SCRIPT_FILE);
        fs::write(&path, include_str!("../../../scripts/tpcb.lua")).map_err(CompareError::system("cannot write", &path))
    }

    fn command(
        &self,
        environment: &Environment,
        endpoint: &Endpoint,
        load: &Load,
        clients: usize,
        seconds: u32,
    ) -> Result<Command, CompareError> {
        let mut command = environment.hosts.client().command(&find_program("sysbench", "sysbench")?);
        let driver = match endpoint.protocol {
            Protocol::Postgres => "pgsql",
            Protocol::MariaDb => "mysql",
        };
        command.arg(format!("--db-driver={driver}"));
        let connection = [
            ("host", endpoint.address.to_string()),
            ("port", endpoint.port.to_string()),
            ("user", USER.to_string()),
            ("db", endpoint.database.clone()),
        ];
        command.args(connection.map(|(name, value)| format!("--{driver}-{name}={value}")));
        command.args([format!("--threads={clients}"), format!("--time={seconds}"), format!("--scale={}", load.scale)]);
        // By itself it takes the time in seconds: processes side by side would all change the same rows.
        let seed = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.subsec_nanos()).max(1);
        command.args([&format!("--rand-seed={seed}"), "--rand-type=uniform"]);
        command.arg(environment.folder.join(SCRIPT_FILE)).arg("run");
        endpoint.heed(&mut command);
        Ok(command)
    }

    fn parse(&self, output: &str) -> Result<Figures, CompareError> {
        let missing = |field| CompareError::Output { field, output: output.to_string() };
        let transactions = output.lines().find_map(|line| line.trim_start().strip_prefix("transactions:"));
        let rate = transactions.and_then(|line| line.split_once('(')?.1.split(' ').next()?.parse().ok());
        Ok(Figures {
            tps: rate.ok_or_else(|| missing("transactions"))?,
            latency_ms_average: number(output, "avg")?,
            transactions: number(output, "transactions")?,
            failed: number(output, "ignored errors")?,
            aborted_clients: output.lines().filter(|line| line.contains("`thread_run' function failed")).count() as u64,
        })
    }

    fn version(&self, environment: &Environment) -> Result<String, CompareError> {
        let mut command = Command::new(find_program("sysbench", "sysbench")?);
        command.arg("--version");
        environment.run(command, "version", STATEMENT_TIME_MAX).map(|text| text.trim().to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "\
sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)

SQL statistics:
    queries performed:
        read:                            15332
        total:                           61328
    transactions:                        15332  (5100.61 per sec.)
    queries:                             61328  (20402.44 per sec.)
    ignored errors:                      17     (5.65 per sec.)
    reconnects:                          0      (0.00 per sec.)

Latency (ms):
         min:                                    0.16
         avg:                                    3.13
         max:                                  191.17
";

    /// A figure read from the wrong line would be published.
    #[test]
    fn figures_are_read_from_the_output_of_sysbench() {
        let figures = Sysbench.parse(OUTPUT).expect("it is complete");
        let expected =
            Figures { tps: 5100.61, latency_ms_average: 3.13, transactions: 15332, failed: 17, aborted_clients: 0 };
        assert_eq!(figures, expected);
    }

    /// Output that cannot be read must be shown, not taken for zero; threads that ended must be counted.
    #[test]
    fn bad_output_is_told() {
        assert!(matches!(Sysbench.parse("FATAL: no"), Err(CompareError::Output { field: "transactions", .. })));
        let failed = format!("FATAL: `thread_run' function failed: tpcb.lua:40: SQL error\n{OUTPUT}");
        assert_eq!(Sysbench.parse(&failed).expect("it is complete").aborted_clients, 1);
    }
}
