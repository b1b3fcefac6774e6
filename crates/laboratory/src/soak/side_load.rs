//! What goes on beside the bookings: at every site a client that reads and one that changes a row which all change, and now and then one
//! that reads for long.
//!
//! Invariant: what is counted as acknowledged was acknowledged, and a change that neither was nor was refused counts as unknown; so the hot
//! row is the sum of the former and of some of the latter. A long reader sees the same as long as it is let.

use crate::debit_credit::pace::Pace;
use crate::debit_credit::{ACCOUNTS, connect};
use crate::experiment::{ExperimentError, failed};
use crate::limits;
use local_cluster::screen::grouped;
use postgres::Client;
use seeded_random::SplitMix64;
use std::fmt;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Instant;

/// Makes the hot row.
pub fn make_table(sql: SocketAddr) -> Result<(), postgres::Error> {
    connect(sql)?.batch_execute("CREATE TABLE hot (id int PRIMARY KEY, n bigint); INSERT INTO hot VALUES (1, 0)")
}

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SideCounts {
    /// Reads answered.
    pub reads: u64,
    /// Changes of the hot row that were acknowledged.
    pub hot: u64,
    /// Changes of it of which nobody knows.
    pub hot_unknown: u64,
    /// Long readers that stayed to the end.
    pub long_readers: u64,
    /// Long readers that were sent away before.
    pub long_readers_ended: u64,
}

impl SideCounts {
    /// Adds those of another time.
    pub fn add(&mut self, other: &SideCounts) {
        self.reads += other.reads;
        self.hot += other.hot;
        self.hot_unknown += other.hot_unknown;
        self.long_readers += other.long_readers;
        self.long_readers_ended += other.long_readers_ended;
    }
}

impl fmt::Display for SideCounts {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "reads {}, changes of the hot row {} (and {} of unknown outcome), long readers {} (and {} sent away)",
            grouped(self.reads),
            grouped(self.hot),
            grouped(self.hot_unknown),
            grouped(self.long_readers),
            grouped(self.long_readers_ended)
        )
    }
}

struct Shared {
    stop: AtomicBool,
    /// Of each kind of client.
    reading: Pace,
    changing: Pace,
    found: Mutex<(SideCounts, Vec<String>)>,
}

impl Shared {
    fn find(&self, find: impl FnOnce(&mut SideCounts, &mut Vec<String>)) {
        let mut found = self.found.lock().expect("no client panics while it counts");
        let (counts, complaints) = &mut *found;
        find(counts, complaints);
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// See the module's description.
pub struct SideLoad {
    shared: Arc<Shared>,
    sites: Vec<SocketAddr>,
    clients: Mutex<Vec<JoinHandle<()>>>,
}

impl SideLoad {
    /// At all sites; all readers together read `rate` times a second, and the hot row is changed a fifth as often.
    pub fn start(sites: &[(u16, SocketAddr)], rate: u32) -> SideLoad {
        let shared = Arc::new(Shared {
            stop: AtomicBool::new(false),
            reading: Pace::new(rate),
            changing: Pace::new(rate / 5),
            found: Mutex::default(),
        });
        let mut clients = Vec::new();
        for (number, sql) in sites.iter().copied() {
            let (reading, changing) = (shared.clone(), shared.clone());
            clients.push(std::thread::spawn(move || read(&reading, number, sql)));
            clients.push(std::thread::spawn(move || change(&changing, sql)));
        }
        let sites = sites.iter().map(|(_, sql)| *sql).collect();
        SideLoad { shared, sites, clients: Mutex::new(clients) }
    }

    /// Lets one client at each site read for long.
    pub fn begin_long_reader(&self) {
        let mut clients = self.clients.lock().expect("no thread panics with it");
        for sql in self.sites.iter().copied() {
            let shared = self.shared.clone();
            clients.push(std::thread::spawn(move || read_for_long(&shared, sql)));
        }
    }

    /// Ends it. Returns what came of it, and what was wrong.
    pub fn end(self) -> (SideCounts, Vec<String>) {
        self.shared.stop.store(true, Ordering::SeqCst);
        for client in self.clients.into_inner().expect("no thread panics with it") {
            client.join().expect("a client panicked");
        }
        std::mem::take(&mut *self.shared.found.lock().expect("all have ended"))
    }
}

/// Lets `act` have its turns, with a new connection whenever it has lost one. It says whether the connection is still good.
fn every_turn(shared: &Shared, pace: &Pace, sql: SocketAddr, mut act: impl FnMut(&mut Client) -> bool) {
    let mut session = None;
    loop {
        pace.wait_for_turn(&shared.stop);
        if shared.stopped() {
            return;
        }
        if session.is_none() {
            session = connect(sql).ok();
        }
        let is_good = session.as_mut().is_some_and(&mut act);
        if !is_good {
            session = None;
            std::thread::sleep(limits::RECONNECT_PAUSE);
        }
    }
}

fn read(shared: &Shared, number: u16, sql: SocketAddr) {
    let mut random = SplitMix64::new(u64::from(number));
    every_turn(shared, &shared.reading, sql, |client| {
        let account = 1 + random.below(u64::from(ACCOUNTS)) as i32;
        let read = client.query_one("SELECT abalance FROM pgbench_accounts WHERE aid = $1", &[&account]);
        shared.find(|counts, _| counts.reads += u64::from(read.is_ok()));
        read.is_ok() || !client.is_closed()
    });
}

fn change(shared: &Shared, sql: SocketAddr) {
    every_turn(shared, &shared.changing, sql, |client| {
        let changed = client.execute("UPDATE hot SET n = n + 1 WHERE id = 1", &[]);
        shared.find(|counts, _| match &changed {
            Ok(_) => counts.hot += 1,
            Err(error) if is_refusal(error) => {}
            Err(_) => counts.hot_unknown += 1,
        });
        changed.is_ok() || !client.is_closed()
    });
}

/// Whether the site has said that it has not committed.
fn is_refusal(error: &postgres::Error) -> bool {
    error.code().is_some_and(|code| code.code() != "08007")
}

fn read_for_long(shared: &Shared, sql: SocketAddr) {
    let until = Instant::now() + limits::LONG_READER;
    let look = |client: &mut Client| client.query_one("SELECT sum(bbalance) FROM pgbench_branches", &[]);
    let stay = || -> Result<(), postgres::Error> {
        let mut client = connect(sql)?;
        client.batch_execute("BEGIN READ ONLY")?;
        let first: i64 = look(&mut client)?.get(0);
        while Instant::now() < until && !shared.stopped() {
            std::thread::sleep(limits::LONG_READER_LOOKS);
            let now: i64 = look(&mut client)?.get(0);
            if now != first {
                let complaint = format!("a read-only transaction saw the sum {first} and then {now}");
                shared.find(|_, complaints| complaints.push(complaint));
                break;
            }
        }
        client.batch_execute("COMMIT")
    };
    let stayed = stay().is_ok();
    shared.find(|counts, _| match stayed {
        true => counts.long_readers += 1,
        false => counts.long_readers_ended += 1,
    });
}

/// Compares the hot row at every site with what clients were told. All have ended.
///
/// # Errors
/// A site does not answer.
pub fn audit_hot_row(sites: &[(u16, SocketAddr)], counts: &SideCounts) -> Result<Vec<String>, ExperimentError> {
    let mut complaints = Vec::new();
    for (site, sql) in sites {
        let row = connect(*sql)
            .and_then(|mut client| client.query_one("SELECT n FROM hot WHERE id = 1", &[]))
            .map_err(failed(format!("reading the hot row at site {site}")))?;
        complaints.extend(complaint(*site, row.get(0), counts));
    }
    Ok(complaints)
}

fn complaint(site: u16, found: i64, counts: &SideCounts) -> Option<String> {
    let (least, most) = (counts.hot as i64, (counts.hot + counts.hot_unknown) as i64);
    let told = match counts.hot_unknown {
        0 => format!("{least} changes were acknowledged"),
        unknown => format!("{least} changes were acknowledged and {unknown} are unknown"),
    };
    (!(least..=most).contains(&found)).then(|| format!("site {site}: the hot row is {found}, but {told}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A change that was lost or made twice must be found, one of unknown outcome may be there or not.
    #[test]
    fn the_hot_row_is_what_was_told() {
        let counts = SideCounts { hot: 10, hot_unknown: 2, ..SideCounts::default() };
        assert!((10..=12).all(|found| complaint(1, found, &counts).is_none()));
        for wrong in [9, 13] {
            assert!(complaint(1, wrong, &counts).is_some_and(|text| text.contains("site 1: the hot row is")));
        }
    }
}
