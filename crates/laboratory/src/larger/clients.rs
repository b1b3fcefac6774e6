//! Clients that read or change rows, each on a thread of its own, one statement after the other.
//!
//! Invariant: a time is counted only of an answer that is right.

use super::rows::{CHANGE, READ, SCAN, Table, is_read, scanned};
use crate::debit_credit::connect;
use crate::experiment::{ExperimentError, failed};
use postgres::{Client, Statement};
use seeded_random::SplitMix64;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// What each statement does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Reads a row.
    Read,
    /// Changes a row.
    Change,
    /// Reads all rows.
    Scan,
}

/// Of which rows.
#[derive(Clone, Copy, Debug)]
pub struct Keys {
    table: Table,
    each_once: bool,
}

impl Keys {
    /// Any rows of these, at random, until the clients are to end.
    pub fn of(table: Table) -> Keys {
        Keys { table, each_once: false }
    }

    /// Each of these once, or all of them in one scan.
    pub fn each_once(table: Table) -> Keys {
        Keys { table, each_once: true }
    }
}

/// What clients have found.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// How long each answer took.
    pub times: Vec<Duration>,
}

#[derive(Debug, Default)]
struct Shared {
    stop: AtomicBool,
    next: AtomicU64,
    answered: AtomicU64,
}

/// See the module's description.
#[derive(Debug)]
pub struct Clients {
    shared: Arc<Shared>,
    clients: Vec<JoinHandle<Result<Found, ExperimentError>>>,
    /// Broken off by the end of the last client: nothing is ever sent.
    at_work: Receiver<Infallible>,
}

impl Clients {
    /// Sets so many to work.
    pub fn start(sql: SocketAddr, keys: Keys, clients: usize, work: Work) -> Clients {
        let shared = Arc::new(Shared::default());
        let (works, at_work) = channel();
        let start = |number: usize| {
            let (shared, works) = (shared.clone(), works.clone());
            std::thread::spawn(move || {
                let outcome = run(&shared, sql, keys, number as u64, work);
                drop(works);
                outcome
            })
        };
        let clients = (0..clients).map(start).collect();
        Clients { shared, clients, at_work }
    }

    /// Answers so far.
    pub fn answered(&self) -> u64 {
        self.shared.answered.load(Ordering::Relaxed)
    }

    /// Waits until all have ended, but no longer than `time`. Whether they have; each ends after its statement when another one has failed.
    pub fn wait_for_end(&self, time: Duration) -> bool {
        self.at_work.recv_timeout(time) == Err(RecvTimeoutError::Disconnected)
    }

    /// Lets each end its statement.
    ///
    /// # Errors
    /// What the first of them has met.
    pub fn end(mut self) -> Result<Found, ExperimentError> {
        self.shared.stop.store(true, Ordering::SeqCst);
        let mut all = Found::default();
        for client in std::mem::take(&mut self.clients) {
            all.times.extend(client.join().expect("a client panicked")?.times);
        }
        Ok(all)
    }
}

impl Drop for Clients {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
    }
}

fn run(shared: &Shared, sql: SocketAddr, keys: Keys, number: u64, work: Work) -> Result<Found, ExperimentError> {
    let outcome = work_on(shared, sql, keys, number, work);
    if outcome.is_err() {
        shared.stop.store(true, Ordering::SeqCst);
    }
    outcome
}

fn work_on(shared: &Shared, sql: SocketAddr, keys: Keys, number: u64, work: Work) -> Result<Found, ExperimentError> {
    let mut client = connect(sql).map_err(failed("connecting"))?;
    let text = match work {
        Work::Read => READ,
        Work::Change => CHANGE,
        Work::Scan => SCAN,
    };
    let statement = client.prepare(text).map_err(failed("preparing a statement"))?;
    let mut random = SplitMix64::new(number << 32);
    let mut found = Found::default();
    while !shared.stop.load(Ordering::Relaxed) {
        let row = match keys.each_once {
            true => shared.next.fetch_add(1, Ordering::Relaxed),
            false => random.below(keys.table.rows()),
        };
        if row >= keys.table.rows() || (keys.each_once && work == Work::Scan && row > 0) {
            break;
        }
        let asked = Instant::now();
        ask(&mut client, &statement, keys.table, row, work)?;
        found.times.push(asked.elapsed());
        shared.answered.fetch_add(1, Ordering::Relaxed);
    }
    Ok(found)
}

fn ask(client: &mut Client, statement: &Statement, table: Table, row: u64, work: Work) -> Result<(), ExperimentError> {
    let key = table.key(row);
    let wrong = match work {
        Work::Read => {
            let rows = client.query(statement, &[&key]).map_err(failed("a read"))?;
            (!is_read(&rows)).then(|| format!("the read of row {key} found {} rows", rows.len()))
        }
        Work::Change => {
            let changed = client.execute(statement, &[&key]).map_err(failed("an update"))?;
            (changed != 1).then(|| format!("the update of row {key} changed {changed} rows"))
        }
        Work::Scan => {
            let row = client.query_one(statement, &[]).map_err(failed("a scan"))?;
            let sums: (i64, i64) = (row.get(0), row.get(1));
            (sums != scanned(table.rows())).then(|| format!("a scan of {} rows has found {sums:?}", table.rows()))
        }
    };
    wrong.map_or(Ok(()), |wrong| Err(ExperimentError::Wrong(wrong)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    /// A phase that did not hear of its clients' end would measure its own waiting, and go on after a failure.
    #[test]
    fn the_end_of_the_clients_is_heard() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let sql = listener.local_addr().expect("it is bound");
        let clients = Clients::start(sql, Keys::of(Table::of(1)), 3, Work::Read);
        assert!(!clients.wait_for_end(Duration::ZERO), "nobody has answered them yet");
        drop(listener);
        assert!(clients.wait_for_end(Duration::from_secs(600)), "no site takes them");
        let error = clients.end().expect_err("no site takes them").to_string();
        assert!(error.starts_with("connecting failed"), "{error}");
    }
}
