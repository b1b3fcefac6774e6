//! The books: what clients were told must be what the tables hold. pgbench's history is emptied before each run that writes, and
//! counted after it; in the end the sums of accounts, tellers and branches must be the same, at every server, as all that was booked.

use std::collections::BTreeMap;

use crate::databases::clients::Figures;
use crate::databases::endpoint::{Endpoint, Protocol};
use crate::databases::environment::Environment;
use crate::databases::error::CompareError;
use crate::databases::limits::START_TIME_MAX;

/// Accounts that one statement of the audit adds up.
const ACCOUNTS_AT_ONCE: u32 = 100_000;

/// Sums of what has been booked, by system and scale.
#[derive(Debug, Default)]
pub struct Books {
    booked: BTreeMap<(usize, u32), i64>,
    /// Whether the sums have been looked at; the runs' own books always are.
    pub audited: bool,
    /// What does not balance, in words.
    pub findings: Vec<String>,
}

impl Books {
    /// Before a run: what pgbench does of itself before its own.
    pub fn open(&self, environment: &Environment, server: &Endpoint) -> Result<(), CompareError> {
        let statements: &[&str] = match server.protocol {
            Protocol::Postgres => {
                &["VACUUM pgbench_branches", "VACUUM pgbench_tellers", "TRUNCATE TABLE pgbench_history"]
            }
            Protocol::MariaDb => &["TRUNCATE TABLE pgbench_history"],
        };
        server.insist(environment, statements, START_TIME_MAX).map(drop)
    }

    /// After a run by `name` on the tables of a system and scale.
    pub fn close(
        &mut self,
        environment: &Environment,
        server: &Endpoint,
        place: (usize, u32),
        figures: &Figures,
        name: &str,
    ) -> Result<(), CompareError> {
        let history = "SELECT count(*), coalesce(sum(delta), 0) FROM pgbench_history";
        let row = numbers(environment, server, history)?;
        let [rows, sum] = row[..] else { return Err(unreadable(history, &row)) };
        self.findings.extend(unbooked(name, figures, rows));
        *self.booked.entry(place).or_default() += sum;
        Ok(())
    }

    /// After all runs: the sums at every server of a system.
    pub fn audit(
        &mut self,
        environment: &Environment,
        servers: &[Endpoint],
        place: (usize, u32),
        name: &str,
    ) -> Result<(), CompareError> {
        let Some(&expected) = self.booked.get(&place) else { return Ok(()) };
        for (index, server) in servers.iter().enumerate() {
            let mut accounts = 0;
            for branch in 0..place.1 {
                let (first, last) = (branch * ACCOUNTS_AT_ONCE + 1, (branch + 1) * ACCOUNTS_AT_ONCE);
                let statement =
                    format!("SELECT sum(abalance) FROM pgbench_accounts WHERE aid BETWEEN {first} AND {last}");
                accounts += numbers(environment, server, &statement)?.iter().sum::<i64>();
            }
            let tellers = numbers(environment, server, "SELECT sum(tbalance) FROM pgbench_tellers")?.iter().sum();
            let branches = numbers(environment, server, "SELECT sum(bbalance) FROM pgbench_branches")?.iter().sum();
            let name = format!("{name}, scale {}, server {}", place.1, index + 1);
            self.findings.extend(unbalanced(&name, expected, [accounts, tellers, branches]));
        }
        Ok(())
    }
}

/// What is wrong with a history of so many rows after a run.
fn unbooked(name: &str, figures: &Figures, rows: i64) -> Option<String> {
    let reported = figures.transactions;
    let wrong = u64::try_from(rows) != Ok(reported);
    wrong.then(|| format!("{name}: {reported} transactions reported, {rows} booked"))
}

/// What is wrong with the sums of accounts, tellers and branches when so much has been booked.
fn unbalanced(name: &str, booked: i64, sums: [i64; 3]) -> Option<String> {
    let [accounts, tellers, branches] = sums;
    let wrong = sums != [booked; 3];
    wrong.then(|| format!("{name}: booked {booked}, accounts {accounts}, tellers {tellers}, branches {branches}"))
}

/// A row of whole numbers.
fn numbers(environment: &Environment, server: &Endpoint, statement: &str) -> Result<Vec<i64>, CompareError> {
    let statements: &[&str] = match server.protocol {
        Protocol::Postgres => &[statement],
        // Otherwise a node answers with what it has applied so far.
        Protocol::MariaDb => &["SET SESSION wsrep_sync_wait = 1", statement],
    };
    let row = server.insist(environment, statements, START_TIME_MAX)?;
    row.iter().map(|field| field.parse().map_err(|_| unreadable(statement, &row))).collect()
}

fn unreadable(statement: &str, row: &[impl std::fmt::Debug]) -> CompareError {
    CompareError::Answer { statement: statement.to_string(), answer: format!("{row:?}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A lost transaction, or one that was booked twice, must not be published as a fast one.
    #[test]
    fn a_history_of_another_length_is_found() {
        let figures = Figures { transactions: 7, ..Figures::default() };
        assert_eq!(unbooked("x", &figures, 7), None);
        for rows in [6, 8, -1] {
            assert!(unbooked("x", &figures, rows).is_some_and(|words| words.contains("7 transactions reported")));
        }
    }

    /// One table that differs is enough, and so are three that agree on another sum than was booked.
    #[test]
    fn sums_that_differ_are_found() {
        assert_eq!(unbalanced("x", -5, [-5; 3]), None);
        for sums in [[-4, -5, -5], [-5, -4, -5], [-5, -5, -4], [0; 3]] {
            assert!(unbalanced("x", -5, sums).is_some(), "{sums:?}");
        }
    }
}
