//! Two clients of one site: one changes a row, the other one reads it, each every millisecond, whatever happens.
//!
//! Invariant: only an answer counts; a refused statement is tried again as the next poll.

use super::open;
use crate::debit_credit::connect;
use crate::limits;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// What both share.
#[derive(Debug)]
struct Shared {
    sql: SocketAddr,
    begun: Instant,
    stop: AtomicBool,
    /// What the writer was told to be committed last.
    acknowledged: AtomicI64,
    writes: AtomicU64,
    reads: AtomicU64,
}

/// See the module's description.
#[derive(Debug)]
pub(super) struct Pollers {
    shared: Arc<Shared>,
    writer: JoinHandle<Vec<u64>>,
    reader: JoinHandle<Result<Vec<u64>, String>>,
}

/// Makes the row that is polled.
pub(super) fn make_table(sql: SocketAddr) -> Result<(), postgres::Error> {
    connect(sql)?.batch_execute("CREATE TABLE polled (id int PRIMARY KEY, v bigint); INSERT INTO polled VALUES (1, 0)")
}

impl Pollers {
    /// At this site, from now on.
    pub(super) fn start(sql: SocketAddr) -> Pollers {
        let shared = Arc::new(Shared {
            sql,
            begun: Instant::now(),
            stop: AtomicBool::new(false),
            acknowledged: AtomicI64::new(0),
            writes: AtomicU64::new(0),
            reads: AtomicU64::new(0),
        });
        let (writing, reading) = (shared.clone(), shared.clone());
        Pollers {
            shared,
            writer: std::thread::spawn(move || write(&writing)),
            reader: std::thread::spawn(move || read(&reading)),
        }
    }

    /// Microseconds since they began.
    pub(super) fn now_us(&self) -> u64 {
        self.shared.now_us()
    }

    /// How many answers writer and reader have had.
    pub(super) fn answers(&self) -> (u64, u64) {
        (self.shared.writes.load(Ordering::Relaxed), self.shared.reads.load(Ordering::Relaxed))
    }

    /// Ends them. Returns when answers came to the writer and to the reader, in microseconds since they began.
    ///
    /// # Errors
    /// A read was stale.
    pub(super) fn end(self) -> Result<(Vec<u64>, Vec<u64>), String> {
        self.shared.stop.store(true, Ordering::SeqCst);
        let writes = self.writer.join().expect("the writer panicked");
        Ok((writes, self.reader.join().expect("the reader panicked")?))
    }
}

impl Shared {
    fn now_us(&self) -> u64 {
        self.begun.elapsed().as_micros() as u64
    }

    /// Lets `poll` have its turn every millisecond; it is given a new connection whenever it has failed, and says whether it was answered.
    fn every_turn(&self, statement: &str, mut poll: impl FnMut(&mut postgres::Client, &postgres::Statement) -> bool) {
        let mut session = None;
        let mut turn = Instant::now();
        while !self.stop.load(Ordering::Relaxed) {
            if session.is_none() {
                session = open(self.sql, statement).ok();
            }
            if let Some((client, prepared)) = &mut session
                && !poll(client, prepared)
                && client.is_closed()
            {
                session = None;
            }
            // Turns that were missed are not made up for.
            turn = (turn + limits::POLL_INTERVAL).max(Instant::now());
            let rest: Duration = turn.saturating_duration_since(Instant::now());
            std::thread::sleep(rest);
        }
    }
}

fn write(shared: &Shared) -> Vec<u64> {
    let mut answers = Vec::new();
    // Larger than whatever earlier pollers have written, as long as clocks go on.
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let mut next = since.as_micros() as i64;
    shared.every_turn("UPDATE polled SET v = $1 WHERE id = 1", |client, statement| {
        next += 1;
        let is_answered = client.execute(statement, &[&next]).is_ok();
        if is_answered {
            shared.acknowledged.store(next, Ordering::SeqCst);
            answers.push(shared.now_us());
            shared.writes.fetch_add(1, Ordering::Relaxed);
        }
        is_answered
    });
    answers
}

fn read(shared: &Shared) -> Result<Vec<u64>, String> {
    let mut answers = Vec::new();
    let mut stale = None;
    shared.every_turn("SELECT v FROM polled WHERE id = 1", |client, statement| {
        let acknowledged = shared.acknowledged.load(Ordering::SeqCst);
        let Ok(row) = client.query_one(statement, &[]) else { return false };
        let seen: i64 = row.get(0);
        if seen < acknowledged && stale.is_none() {
            stale = Some(format!("a read gave {seen} after {acknowledged} was acknowledged"));
        }
        answers.push(shared.now_us());
        shared.reads.fetch_add(1, Ordering::Relaxed);
        true
    });
    stale.map_or(Ok(answers), Err)
}
