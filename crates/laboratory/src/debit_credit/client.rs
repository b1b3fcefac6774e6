//! A client: books in an endless loop at its home site, or at another one while that is away.
//!
//! It treats errors as an application should. Refused for a conflict (40001, 40P01): the same transaction again, after a short random
//! pause. Refused because the site may not serve (57P03), or disconnected before COMMIT was sent: the same transaction at another site,
//! because what was never asked to commit cannot commit. Unknown (08007), or disconnected after COMMIT was sent: the transaction is
//! left alone, since it may still commit, and the client looks it up before the books are closed; until then it goes on with the next.

use super::ledger::{Fate, Ledger, mark};
use super::pace::Pace;
use super::{ACCOUNTS, BRANCHES, TELLERS, connect, explain};
use crate::limits;
use postgres::error::SqlState;
use postgres::{Client, Statement};
use seeded_random::SplitMix64;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// SQLSTATE 08007: the outcome of the commit is unknown.
const OUTCOME_UNKNOWN: SqlState = SqlState::TRANSACTION_RESOLUTION_UNKNOWN;

/// What all clients of a load share.
#[derive(Debug)]
pub struct Shared {
    /// Sites and where they listen, the homes of clients in turn.
    pub sites: Vec<(u16, SocketAddr)>,
    /// Scale of the tables.
    pub scale: u32,
    /// Time counts from here.
    pub begun: Instant,
    /// When each transaction begins; without it, after the one before.
    pub pace: Option<Pace>,
    /// Set: end after the transaction under way.
    pub stop: AtomicBool,
    /// Acknowledged so far.
    pub acknowledged: AtomicU64,
    /// Refused for a conflict and tried again.
    pub conflicts: AtomicU64,
    /// Sent elsewhere: the site would not serve, or was gone.
    pub moved: AtomicU64,
    /// Left with an unknown outcome.
    pub unknown: AtomicU64,
}

/// An acknowledged commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Commit {
    /// When the answer came, microseconds from the beginning of the load.
    pub at_us: u64,
    /// Which site gave it.
    pub site: u16,
}

/// What a client has to show at the end.
#[derive(Debug)]
pub struct Account {
    /// What it was told.
    pub ledger: Ledger,
    /// Its commits, in order.
    pub commits: Vec<Commit>,
    /// Errors that no application should have to expect, the first few in words.
    pub surprises: Vec<String>,
    /// How many of them there were.
    pub surprise_count: u64,
}

/// One transaction's numbers.
#[derive(Clone, Copy, Debug)]
struct Booking {
    account: i32,
    teller: i32,
    branch: i32,
    delta: i32,
}

/// How an attempt ended.
enum Attempt {
    Committed,
    Conflict,
    Elsewhere,
    Unknown,
    Surprise(String),
}

struct Session {
    client: Client,
    site: u16,
    statements: Statements,
}

struct Statements {
    update_account: Statement,
    select_account: Statement,
    update_teller: Statement,
    update_branch: Statement,
    insert_history: Statement,
}

impl Statements {
    fn prepare(client: &mut Client) -> Result<Statements, postgres::Error> {
        Ok(Statements {
            update_account: client.prepare("UPDATE pgbench_accounts SET abalance = abalance + $1 WHERE aid = $2")?,
            select_account: client.prepare("SELECT abalance FROM pgbench_accounts WHERE aid = $1")?,
            update_teller: client.prepare("UPDATE pgbench_tellers SET tbalance = tbalance + $1 WHERE tid = $2")?,
            update_branch: client.prepare("UPDATE pgbench_branches SET bbalance = bbalance + $1 WHERE bid = $2")?,
            insert_history: client.prepare(
                "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime, filler) \
                 VALUES ($1, $2, $3, $4, CURRENT_TIMESTAMP, $5)",
            )?,
        })
    }
}

struct Worker<'a> {
    shared: &'a Shared,
    random: SplitMix64,
    /// Index of the site that is tried next.
    next_site: usize,
    home: usize,
    session: Option<Session>,
    account: Account,
}

/// Books until told to stop.
pub fn run(shared: &Shared, number: u32) -> Account {
    let home = number as usize % shared.sites.len();
    let account =
        Account { ledger: Ledger::new(number), commits: Vec::new(), surprises: Vec::new(), surprise_count: 0 };
    let random = SplitMix64::new(u64::from(number) << 32 | u64::from(std::process::id()));
    let mut worker = Worker { shared, random, next_site: home, home, session: None, account };
    while !worker.stopped() {
        if let Some(pace) = &shared.pace {
            pace.wait_for_turn(&shared.stop);
        }
        worker.one_transaction();
    }
    worker.account
}

impl Worker<'_> {
    fn stopped(&self) -> bool {
        self.shared.stop.load(Ordering::Relaxed)
    }

    /// Tries one transaction until its fate is known, or cannot be known now.
    fn one_transaction(&mut self) {
        let booking = self.draw();
        let mark = mark(self.account.ledger.client(), self.account.ledger.next());
        let mut pause = limits::RETRY_PAUSE_MIN;
        let fate = loop {
            if self.stopped() {
                // Never asked to commit, or refused: at the audit it must not be there.
                break Fate::Refused;
            }
            let Some(session) = self.session() else { continue };
            let site = session.site;
            match attempt(session, booking, &mark) {
                Attempt::Committed => {
                    let at_us = self.shared.begun.elapsed().as_micros() as u64;
                    self.account.commits.push(Commit { at_us, site });
                    self.shared.acknowledged.fetch_add(1, Ordering::Relaxed);
                    break Fate::Acknowledged;
                }
                Attempt::Conflict => {
                    self.shared.conflicts.fetch_add(1, Ordering::Relaxed);
                    self.pause_up_to(pause);
                    pause = (pause * 2).min(limits::RETRY_PAUSE_MAX);
                }
                Attempt::Elsewhere => self.leave_site(),
                Attempt::Unknown => {
                    self.shared.unknown.fetch_add(1, Ordering::Relaxed);
                    self.leave_site();
                    break Fate::Unknown;
                }
                Attempt::Surprise(text) => {
                    self.account.surprise_count += 1;
                    if self.account.surprises.len() < limits::FINDINGS_SHOWN {
                        self.account.surprises.push(text);
                    }
                    self.leave_site();
                    self.pause_up_to(limits::RETRY_PAUSE_MAX);
                }
            }
        };
        self.account.ledger.note(fate, booking.delta);
    }

    fn draw(&mut self) -> Booking {
        let scale = self.shared.scale;
        // The numbers of a table's rows begin with 1.
        let mut row = |rows: u32| 1 + self.random.below(u64::from(rows * scale)) as i32;
        Booking {
            account: row(ACCOUNTS),
            teller: row(TELLERS),
            branch: row(BRANCHES),
            delta: self.random.below(10_001) as i32 - 5_000,
        }
    }

    fn pause_up_to(&mut self, longest: Duration) {
        let micros = self.random.draw() % (longest.as_micros() as u64).max(1);
        std::thread::sleep(Duration::from_micros(micros));
    }

    /// The connection, a new one if there is none.
    fn session(&mut self) -> Option<&mut Session> {
        if self.session.is_none() {
            let (site, sql) = self.shared.sites[self.next_site];
            let opened = connect(sql).and_then(|mut client| {
                let statements = Statements::prepare(&mut client)?;
                Ok(Session { client, site, statements })
            });
            match opened {
                Ok(session) => self.session = Some(session),
                Err(_) => {
                    self.next_site = (self.next_site + 1) % self.shared.sites.len();
                    if self.next_site == self.home {
                        std::thread::sleep(limits::RECONNECT_PAUSE);
                    }
                }
            }
        }
        self.session.as_mut()
    }

    fn leave_site(&mut self) {
        self.shared.moved.fetch_add(1, Ordering::Relaxed);
        self.session = None;
        self.next_site = (self.next_site + 1) % self.shared.sites.len();
    }
}

fn attempt(session: &mut Session, booking: Booking, mark: &str) -> Attempt {
    match book(session, booking, mark)
        .and_then(|()| session.client.batch_execute("COMMIT").map_err(|error| (true, error)))
    {
        Ok(()) => Attempt::Committed,
        Err((asked_to_commit, error)) => {
            let attempt = judge(asked_to_commit, error.code(), || explain(&error));
            if matches!(attempt, Attempt::Conflict) && session.client.batch_execute("ROLLBACK").is_err() {
                // The transaction is aborted already; only the connection is of no more use.
                return Attempt::Elsewhere;
            }
            attempt
        }
    }
}

/// Everything before COMMIT. The error says that COMMIT was not sent.
fn book(session: &mut Session, booking: Booking, mark: &str) -> Result<(), (bool, postgres::Error)> {
    let Booking { account, teller, branch, delta } = booking;
    let Session { client, statements, .. } = session;
    let mut all = || {
        client.batch_execute("BEGIN")?;
        client.execute(&statements.update_account, &[&delta, &account])?;
        client.query_one(&statements.select_account, &[&account])?;
        client.execute(&statements.update_teller, &[&delta, &teller])?;
        client.execute(&statements.update_branch, &[&delta, &branch])?;
        client.execute(&statements.insert_history, &[&teller, &branch, &account, &delta, &mark]).map(drop)
    };
    all().map_err(|error| (false, error))
}

/// What an error means. Without an SQLSTATE the connection is gone.
fn judge(asked_to_commit: bool, code: Option<&SqlState>, explain: impl FnOnce() -> String) -> Attempt {
    let Some(code) = code else {
        return if asked_to_commit { Attempt::Unknown } else { Attempt::Elsewhere };
    };
    if *code == OUTCOME_UNKNOWN {
        return Attempt::Unknown;
    }
    match code.code().get(..2) {
        Some("40") => Attempt::Conflict,
        Some("08" | "57") => Attempt::Elsewhere,
        _ => Attempt::Surprise(explain()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(asked_to_commit: bool, code: Option<&str>) -> &'static str {
        match judge(asked_to_commit, code.map(SqlState::from_code).as_ref(), String::new) {
            Attempt::Committed => "committed",
            Attempt::Conflict => "again",
            Attempt::Elsewhere => "elsewhere",
            Attempt::Unknown => "unknown",
            Attempt::Surprise(_) => "surprise",
        }
    }

    /// Trying again what may have committed would double it; giving up what was refused would only look like a loss.
    #[test]
    fn only_what_cannot_commit_is_tried_again() {
        assert_eq!(judged(true, None), "unknown");
        assert_eq!(judged(true, Some("08007")), "unknown");
        assert_eq!(judged(false, Some("08007")), "unknown");
        assert_eq!(judged(false, None), "elsewhere");
        for code in ["40001", "40P01"] {
            assert_eq!((judged(false, Some(code)), judged(true, Some(code))), ("again", "again"));
        }
        for code in ["57P03", "57P01", "08006"] {
            assert_eq!(judged(false, Some(code)), "elsewhere");
        }
        for code in ["XX000", "42P01", "0A000", "22003"] {
            assert_eq!(judged(false, Some(code)), "surprise");
        }
    }
}
