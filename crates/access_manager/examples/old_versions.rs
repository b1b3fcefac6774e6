//! Nanoseconds of an update of one row that has many versions, because the action driver has not told for long which snapshots are in use;
//! and the bytes of them, before and after it tells that one is which is older than all of them.
//!
//! Run: `cargo run --release -p access_manager --example old_versions`

// A benchmark is a program beside the machine: it may look at a clock.
#![allow(clippy::disallowed_methods)]

#[path = "common/alone.rs"]
mod alone;

use alone::Alone;
use messages::access::AccessRequest;
use messages::{EpochNumber, History, Key, Row, TableId, Timestamp, Write};
use std::sync::Arc;
use std::time::Instant;

const UPDATES: u64 = 100;

struct Bench {
    alone: Alone,
    clock: u64,
}

impl Bench {
    fn new() -> Bench {
        Bench { alone: Alone::new(), clock: 0 }
    }

    fn update(&mut self) {
        self.clock += 1;
        let row = Some(Row::from(vec![b'x'; 100]));
        let writes = vec![Write { table: TableId(20), key: Key::new(b"hot"), row }];
        self.alone.send(AccessRequest::Install {
            timestamp: at(self.clock),
            history: Arc::new(History { writes, ..History::default() }),
            in_steps: false,
        });
    }
}

fn at(clock: u64) -> Timestamp {
    Timestamp::snapshot(EpochNumber(1), clock)
}

fn main() {
    println!("{:>10} {:>14} {:>16} {:>14}", "versions", "an update, ns", "memory, bytes", "then, bytes");
    for versions in [1, 1_000, 100_000] {
        let mut bench = Bench::new();
        bench.update();
        bench.alone.send(AccessRequest::SnapshotsInUse { in_use: vec![at(1)], from: at(1) });
        while bench.clock < versions {
            bench.update();
        }
        let start = Instant::now();
        for _ in 0..UPDATES {
            bench.update();
        }
        let nanoseconds = start.elapsed().as_nanos() as u64 / UPDATES;
        let before = bench.alone.manager.tally().all;
        bench.alone.send(AccessRequest::SnapshotsInUse { in_use: vec![at(1)], from: at(bench.clock) });
        bench.update();
        println!("{versions:>10} {nanoseconds:>14} {before:>16} {:>14}", bench.alone.manager.tally().all);
    }
}
