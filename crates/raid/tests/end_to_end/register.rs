//! One row that clients at all sites count up and read all the time: what they see shows whether the sites act as one.
//!
//! Every increment returns the new value. So no value may be returned twice (two sides that both wrote would), no read or increment
//! may show less than what was acknowledged before it began (a stale copy would), and at the end the value lies between the increments
//! that were acknowledged and those that may have happened.

use crate::harness::{PATIENCE, World};
use laboratory::debit_credit::{connect, explain};
use postgres::{Client, Statement};
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Between two statements of a client: the sites shall be busy, not the machine.
const PAUSE: Duration = Duration::from_millis(2);

/// See the module's description.
pub struct Register {
    shared: Arc<Shared>,
    clients: Vec<JoinHandle<()>>,
}

struct Shared {
    stop: AtomicBool,
    /// The largest value that an acknowledged increment returned.
    acknowledged: AtomicI64,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    values: BTreeSet<i64>,
    /// When increments were acknowledged, by site.
    writes: BTreeMap<u16, Vec<Instant>>,
    /// When reads were answered, by site.
    reads: BTreeMap<u16, Vec<Instant>>,
    /// Increments that may have happened.
    unknown: i64,
    /// The last refusal of each site.
    refusals: BTreeMap<u16, String>,
    wrong: Vec<String>,
}

impl Register {
    /// Makes the row and starts a writer and a reader at every site.
    pub fn start(world: &World) -> Register {
        let mut client = world.connect(1);
        let made = client
            .batch_execute("CREATE TABLE register (k int PRIMARY KEY, v bigint); INSERT INTO register VALUES (1, 0)");
        made.unwrap_or_else(|error| panic!("{}\n{}", explain(&error), world.logs()));
        let shared =
            Arc::new(Shared { stop: AtomicBool::new(false), acknowledged: AtomicI64::new(0), seen: Mutex::default() });
        let mut clients = Vec::new();
        for (site, sql) in world.addresses() {
            for writes in [true, false] {
                let shared = shared.clone();
                clients.push(std::thread::spawn(move || shared.run(site, sql, writes)));
            }
        }
        let register = Register { shared, clients };
        for site in 1..=3 {
            register.wait_for_both(world, site, 10);
        }
        register
    }

    /// Waits until a site has answered so many more increments and reads.
    pub fn wait_for_both(&self, world: &World, site: u16, more: usize) {
        let begun = Instant::now();
        while self.writes_since(site, begun) < more || self.reads_since(site, begun) < more {
            assert!(
                begun.elapsed() < PATIENCE,
                "site {site} has not answered {more} more increments and reads; refusals: {:?}\n{}",
                self.refusals(),
                world.logs()
            );
            std::thread::sleep(PAUSE);
        }
    }

    /// Increments that a site has acknowledged since then.
    pub fn writes_since(&self, site: u16, since: Instant) -> usize {
        count_since(&self.shared.seen().writes, site, since)
    }

    /// Reads that a site has answered since then.
    pub fn reads_since(&self, site: u16, since: Instant) -> usize {
        count_since(&self.shared.seen().reads, site, since)
    }

    /// The longest time since then without an acknowledged increment at any of these sites.
    pub fn longest_gap(&self, sites: &[u16], since: Instant) -> Duration {
        let seen = self.shared.seen();
        let times = sites.iter().filter_map(|site| seen.writes.get(site)).flatten().filter(|at| **at >= since);
        let mut times: Vec<Instant> = times.copied().chain([since]).collect();
        times.sort_unstable();
        times.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or_else(|| since.elapsed())
    }

    /// The last refusal of each site.
    pub fn refusals(&self) -> BTreeMap<u16, String> {
        self.shared.seen().refusals.clone()
    }

    /// Ends the clients and holds what they saw against what every site has now. The sites must be repaired.
    pub fn check(mut self, world: &World) {
        self.shared.stop.store(true, Ordering::SeqCst);
        let deadline = Instant::now() + PATIENCE;
        for client in std::mem::take(&mut self.clients) {
            while !client.is_finished() {
                assert!(Instant::now() < deadline, "a client hangs\n{}", world.logs());
                std::thread::sleep(PAUSE);
            }
            client.join().expect("a client panicked");
        }
        let seen = self.shared.seen();
        assert_eq!(seen.wrong, Vec::<String>::new(), "{}", world.logs());
        let acknowledged = seen.values.len() as i64;
        for site in 1..=3 {
            let row = world.connect(site).query_one("SELECT v FROM register WHERE k = 1", &[]);
            let value: i64 = row.unwrap_or_else(|error| panic!("site {site}: {}", explain(&error))).get(0);
            let possible = acknowledged..=acknowledged + seen.unknown;
            assert!(possible.contains(&value), "site {site} has {value}, not one of {possible:?}\n{}", world.logs());
        }
    }
}

impl Drop for Register {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
    }
}

fn count_since(times: &BTreeMap<u16, Vec<Instant>>, site: u16, since: Instant) -> usize {
    times.get(&site).map_or(0, |times| times.len() - times.partition_point(|at| *at < since))
}

impl Shared {
    fn seen(&self) -> std::sync::MutexGuard<'_, Seen> {
        self.seen.lock().expect("no holder of this lock panics")
    }

    /// A client: one statement again and again, on a new connection whenever the old one is gone.
    fn run(&self, site: u16, sql: SocketAddr, writes: bool) {
        let text = match writes {
            true => "UPDATE register SET v = v + 1 WHERE k = 1 RETURNING v",
            false => "SELECT v FROM register WHERE k = 1",
        };
        let mut session: Option<(Client, Statement)> = None;
        while !self.stop.load(Ordering::SeqCst) {
            std::thread::sleep(PAUSE);
            let Some((client, statement)) = &mut session else {
                session = connect(sql).and_then(|mut client| client.prepare(text).map(|made| (client, made))).ok();
                continue;
            };
            let floor = self.acknowledged.load(Ordering::SeqCst);
            match client.query_one(&*statement, &[]) {
                Ok(row) => self.note(site, writes, floor, row.get(0)),
                Err(error) => {
                    self.note_error(site, writes, &error);
                    if error.as_db_error().is_none() {
                        session = None;
                    }
                }
            }
        }
    }

    fn note(&self, site: u16, writes: bool, floor: i64, value: i64) {
        if writes {
            self.acknowledged.fetch_max(value, Ordering::SeqCst);
        }
        let mut seen = self.seen();
        let times = if writes { &mut seen.writes } else { &mut seen.reads };
        times.entry(site).or_default().push(Instant::now());
        if value < floor + i64::from(writes) {
            seen.wrong.push(format!("site {site} answered {value} when {floor} had been acknowledged"));
        }
        if writes && !seen.values.insert(value) {
            seen.wrong.push(format!("site {site} counted up to {value}, which another increment had done"));
        }
    }

    fn note_error(&self, site: u16, writes: bool, error: &postgres::Error) {
        let mut seen = self.seen();
        let code = error.code().map(|code| code.code().to_owned()).unwrap_or_default();
        match &*code {
            // Refused: it did not happen.
            "40001" | "40P01" | "57P03" | "57P01" => {}
            "" | "08007" => seen.unknown += i64::from(writes),
            _ => seen.wrong.push(format!("site {site} said {}", explain(error))),
        }
        seen.refusals.insert(site, explain(error));
    }
}
