//! Clients that read or change rows, each on a thread of its own, one statement after the other.
//!
//! Invariant: a time is counted only of an answer that is right.

use super::rows::{CHANGE, READ, SCAN, Table, is_read, scanned};
use crate::debit_credit::connect;
use crate::experiment::{ExperimentError, failed};
use postgres::{Client, Statement};
use raidcomm::transaction::random::Random;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
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
}

impl Clients {
    /// Sets so many to work.
    pub fn start(sql: SocketAddr, keys: Keys, clients: usize, work: Work) -> Clients {
        let shared = Arc::new(Shared::default());
        let start = |number: usize| {
            let shared = shared.clone();
            std::thread::spawn(move || run(&shared, sql, keys, number as u64, work))
        };
        let clients = (0..clients).map(start).collect();
        Clients { shared, clients }
    }

    /// Answers so far.
    pub fn answered(&self) -> u64 {
        self.shared.answered.load(Ordering::Relaxed)
    }

    /// Whether all have ended, or one that has failed.
    pub fn have_ended(&self) -> bool {
        self.clients.iter().all(JoinHandle::is_finished) || self.shared.stop.load(Ordering::SeqCst)
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
    let mut random = Random::new(number << 32);
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
