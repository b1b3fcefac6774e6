//! Nanoseconds of a point read, an update and a scanned row, over a million rows in memory.
//!
//! Run: `cargo run --release -p access_manager --example point_read`

// A benchmark is a program beside the machine: it may look at a clock.
#![allow(clippy::disallowed_methods)]

#[path = "common/alone.rs"]
mod alone;

use alone::Alone;
use messages::access::AccessRequest;
use messages::{EpochNumber, History, Key, KeyRange, Row, TableId, Timestamp, Write};
use std::sync::Arc;
use std::time::Instant;

const TABLE: TableId = TableId(20);
const ROWS: u64 = 1_000_000;

struct Bench {
    alone: Alone,
    random: u64,
}

impl Bench {
    /// Xorshift: any fixed sequence will do.
    fn random_key(&mut self) -> Key {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        key(self.random % ROWS)
    }

    fn measure(&mut self, what: &str, times: u64, per_time: u64, mut work: impl FnMut(&mut Bench, u64)) {
        let start = Instant::now();
        for time in 0..times {
            work(self, time);
        }
        let nanoseconds = start.elapsed().as_nanos() as u64 / (times * per_time);
        println!("{what:<28} {nanoseconds:>6} ns");
    }
}

fn key(number: u64) -> Key {
    Key::new(&number.to_be_bytes())
}

fn install(key: Key, clock: u64) -> AccessRequest {
    let row = Some(Row::from(vec![b'x'; 100]));
    let writes = vec![Write { table: TABLE, key, row }];
    AccessRequest::Install {
        timestamp: Timestamp::snapshot(EpochNumber(1), clock),
        history: Arc::new(History { writes, ..History::default() }),
        in_steps: false,
    }
}

fn main() {
    let mut bench = Bench { alone: Alone::new(), random: 0x9e37_79b9_7f4a_7c15 };
    bench.measure("insert, in key order", ROWS, 1, |bench, time| bench.alone.send(install(key(time), time + 1)));
    println!("{:<28} {:>6} bytes", "memory per row", bench.alone.manager.tally().all as u64 / ROWS);
    bench.measure("point read, random", ROWS, 1, |bench, _| {
        let key = bench.random_key();
        let (table, snapshot) = (TABLE, None);
        bench.alone.send(AccessRequest::Read { tag: 1, table, key, snapshot });
    });
    bench.measure("point read, 1000 hot rows", ROWS, 1, |bench, time| {
        let (table, key, snapshot) = (TABLE, key(time % 1_000), None);
        bench.alone.send(AccessRequest::Read { tag: 1, table, key, snapshot });
    });
    let from = Timestamp::snapshot(EpochNumber(1), ROWS);
    bench.alone.send(AccessRequest::SnapshotsInUse { in_use: Vec::new(), from });
    bench.measure("update, random", ROWS, 1, |bench, time| {
        let key = bench.random_key();
        bench.alone.send(install(key, ROWS + time));
    });
    bench.measure("scanned row, 1000 at a time", 2_000, 1_000, |bench, _| {
        let low = bench.random_key();
        let range = Box::new(KeyRange { table: TABLE, low, high: None });
        bench.alone.send(AccessRequest::Scan { tag: 1, range, snapshot: None, limit: 1_000, reverse: false });
    });
}
