//! Measures what locks cost: `cargo run --release -p concurrency_controller --example locks -- [seconds]`.
//!
//! Prints nanoseconds per item for transactions that meet nobody, under each method: access and finish, and commit-lock and finish;
//! beside it an insert and a remove of the same keys in one ordered map, as the measure of the machine.

#![expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

use concurrency_controller::ConcurrencyController;
use concurrency_controller::limits::POINTS_MAX;
use messages::concurrency::{AccessKind, AccessTarget, AccessWait, ConcurrencyRequest, Method};
use messages::planted::Planted;
use messages::{
    Age, Envelope, EpochNumber, History, Incarnation, Item, Key, Message, Now, Outbox, Server, ServerKind, SiteId,
    TableId, TransactionId,
};
use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Items that one transaction accesses.
const ITEMS: u64 = 8;
/// Transactions under way while one is measured.
const OPEN: u64 = 64;
/// Transactions between two looks at the clock.
const BATCH: u64 = 256;

fn main() -> Result<(), Box<dyn Error>> {
    let seconds: f64 = std::env::args().nth(1).map_or(Ok(1.0), |text| text.parse())?;
    let duration = Duration::from_secs_f64(seconds);
    let map = measure(duration, &mut ordered_map());
    println!("insert and remove in an ordered map: {map:.0} ns per item");
    for method in [Method::Locking, Method::Optimistic] {
        let access = measure(duration, &mut accesses(method));
        println!("{method:?}: access and finish: {access:.0} ns per item, {:.1} times the map", access / map);
    }
    let commit = measure(duration, &mut commit_locks());
    println!("commit-lock and finish: {commit:.0} ns per item, {:.1} times the map", commit / map);
    Ok(())
}

/// Nanoseconds per item of a workload that is given the number of its transaction.
fn measure(duration: Duration, transaction: &mut dyn FnMut(u64)) -> f64 {
    let started = Instant::now();
    let mut number = 0;
    while started.elapsed() < duration {
        for _ in 0..BATCH {
            number += 1;
            transaction(number);
        }
    }
    started.elapsed().as_nanos() as f64 / (number * ITEMS) as f64
}

fn id(sequence: u64) -> TransactionId {
    TransactionId { home: SiteId(1), incarnation: Incarnation(1), sequence }
}

/// Keys spread over the storage; those of 64 transactions in a row differ.
fn key(transaction: u64, item: u64) -> Key {
    Key::new(&(transaction * ITEMS + item).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes())
}

fn ordered_map() -> impl FnMut(u64) {
    let mut map = BTreeMap::new();
    move |number| {
        for item in 0..ITEMS {
            map.insert(key(number, item), number);
        }
        if let Some(old) = number.checked_sub(OPEN) {
            for item in 0..ITEMS {
                map.remove(&key(old, item));
            }
        }
    }
}

fn ask(controller: &mut ConcurrencyController, outbox: &mut Outbox, request: ConcurrencyRequest) {
    let envelope = Envelope {
        from_site: SiteId(1),
        from: ServerKind::ActionDriver,
        to_site: SiteId(1),
        to: ServerKind::ConcurrencyController,
        epoch: EpochNumber(1),
        incarnation: Incarnation(1),
        message: Message::Concurrency(request),
    };
    let now = Now { boot: 0, wall_micros: 0 };
    controller.handle(now, envelope, outbox);
    outbox.messages.clear();
}

/// Half reads, half writes, while 64 others are open.
fn accesses(method: Method) -> impl FnMut(u64) {
    let mut controller = ConcurrencyController::new(method, POINTS_MAX, Planted::none());
    let mut outbox = Outbox::default();
    move |number| {
        let transaction = id(number);
        let age = Age { clock: number, first: transaction };
        for item in 0..ITEMS {
            let kind = if item % 2 == 0 { AccessKind::Read } else { AccessKind::Write };
            let target = AccessTarget::Item(Item { table: TableId(20), key: key(number, item) });
            let access =
                ConcurrencyRequest::Lock { transaction, age, target, kind, wait: AccessWait::Waits, precedence: false };
            ask(&mut controller, &mut outbox, access);
        }
        let transaction = id(number.saturating_sub(OPEN));
        ask(&mut controller, &mut outbox, ConcurrencyRequest::Finish { transaction, committed: true });
    }
}

fn commit_locks() -> impl FnMut(u64) {
    let mut controller = ConcurrencyController::new(Method::Locking, POINTS_MAX, Planted::none());
    let mut outbox = Outbox::default();
    move |number| {
        let transaction = id(number);
        let age = Age { clock: number, first: transaction };
        let writes = (0..ITEMS).map(|item| messages::Write { table: TableId(20), key: key(number, item), row: None });
        let history = Arc::new(History { writes: writes.collect(), ..History::default() });
        let lock = ConcurrencyRequest::CommitLock { transaction, age, history, gathered: Vec::new() };
        ask(&mut controller, &mut outbox, lock);
        let transaction = id(number.saturating_sub(OPEN));
        ask(&mut controller, &mut outbox, ConcurrencyRequest::Finish { transaction, committed: true });
    }
}
