//! Measures what a commit costs: `cargo bench -p recoverable_memory --bench commits -- [folder] [seconds]`.
//!
//! One thread, one range of 16 bytes in each transaction, at random places of 8 MiB. Prints nanoseconds for a transaction that is not
//! flushed, with and without old values, of several ranges, at few places (which are coalesced), and aborted; then
//! for one that is flushed, by one thread and by several, beside a bare sync.

use std::error::Error;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use recoverable_memory::load::sync_latencies;
use recoverable_memory::{CommitMode, Durability, Error as MemoryError, Memory, RecoverableMemoryOptions, Region};

const SEGMENT: &str = "commits";
const SEGMENT_BYTES: u64 = 8 << 20;
const RANGE_BYTES: u64 = 16;
/// Transactions between two looks at the clock.
const BATCH: u64 = 1000;
const THREADS: u64 = 8;

/// What is measured.
#[derive(Clone, Copy)]
struct Case {
    name: &'static str,
    restore: bool,
    commit: CommitMode,
    /// Places that are written to.
    places: u64,
    ranges: u64,
}

const ALL: u64 = SEGMENT_BYTES / RANGE_BYTES;
const CASES: [Case; 6] = [
    Case { name: "no flush", restore: true, commit: CommitMode::NoFlush, places: ALL, ranges: 1 },
    Case { name: "no flush, no restore", restore: false, commit: CommitMode::NoFlush, places: ALL, ranges: 1 },
    Case { name: "no flush, 8 ranges", restore: true, commit: CommitMode::NoFlush, places: ALL, ranges: 8 },
    Case { name: "no flush, 100 places", restore: true, commit: CommitMode::NoFlush, places: 100, ranges: 1 },
    Case { name: "aborted", restore: true, commit: CommitMode::NoFlush, places: 0, ranges: 1 },
    Case { name: "flush", restore: true, commit: CommitMode::Flush, places: ALL, ranges: 1 },
];

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1).filter(|word| word != "--bench");
    let temporary = tempfile::tempdir()?;
    let folder = arguments.next().map_or_else(|| temporary.path().join("commits"), PathBuf::from);
    let seconds: f64 = arguments.next().map_or(Ok(1.0), |text| text.parse())?;
    let memory = Memory::open_or_create(
        &folder,
        RecoverableMemoryOptions { log_bytes: 64 << 20, ..RecoverableMemoryOptions::default() },
    )?;
    if memory.segment_bytes(SEGMENT)?.is_none() {
        memory.create_segment(SEGMENT, SEGMENT_BYTES)?;
    }
    let mut region = memory.map_all(SEGMENT)?;
    for case in CASES {
        measure(&memory, &mut region, case, Duration::from_secs_f64(seconds))?;
    }
    measure_threads(&memory, region, Duration::from_secs_f64(seconds))?;
    let latencies = sync_latencies(&folder, 200)?;
    println!("a bare sync of a page: {:.0} us (median of {})", micros(latencies[latencies.len() / 2]), latencies.len());
    memory.close()?;
    Ok(())
}

fn measure(memory: &Memory, region: &mut Region, case: Case, duration: Duration) -> Result<(), Box<dyn Error>> {
    let before = memory.statistics();
    let (begin, processor) = (Instant::now(), processor_ns());
    let (mut transactions, mut slowest) = (0_u64, Duration::ZERO);
    let batch_size = if case.commit == CommitMode::NoFlush { BATCH } else { 1 };
    while begin.elapsed() < duration {
        let batch = Instant::now();
        for _ in 0..batch_size {
            one(memory, region, case, transactions)?;
            transactions += 1;
        }
        slowest = slowest.max(batch.elapsed());
    }
    memory.flush(Durability::Disk)?;
    let elapsed = begin.elapsed();
    let after = memory.statistics();
    println!(
        "{:<22} {:>8.0} ns a transaction, {:>5.0} ns of processor; slowest {batch_size} took {:.1} ms; {:.0} bytes of log each",
        case.name,
        elapsed.as_nanos() as f64 / transactions as f64,
        (processor_ns() - processor) as f64 / transactions as f64,
        micros(slowest) / 1e3,
        (after.log_bytes - before.log_bytes) as f64 / transactions as f64,
    );
    Ok(())
}

/// Each thread commits in a piece of its own, gives it back, and flushes; one sync serves all that wait.
fn measure_threads(memory: &Memory, mut rest: Region, duration: Duration) -> Result<(), Box<dyn Error>> {
    let mut pieces = Vec::new();
    for piece in 1..THREADS {
        let (front, back) = rest.split_at(piece * SEGMENT_BYTES / THREADS)?;
        pieces.push(front);
        rest = back;
    }
    pieces.push(rest);
    let begin = Instant::now();
    let transactions: u64 = thread::scope(|scope| {
        let start = |mut piece: Region| scope.spawn(move || flushing(memory, &mut piece, begin, duration));
        let threads: Vec<_> = pieces.into_iter().map(start).collect();
        threads.into_iter().map(|thread| thread.join().expect("no thread panics")).sum::<Result<u64, _>>()
    })?;
    println!(
        "{:<22} {:>8.0} ns a transaction, {:.1} us each of {THREADS} threads",
        format!("flush, {THREADS} threads"),
        begin.elapsed().as_nanos() as f64 / transactions as f64,
        micros(begin.elapsed()) * THREADS as f64 / transactions as f64,
    );
    Ok(())
}

fn flushing(memory: &Memory, piece: &mut Region, begin: Instant, duration: Duration) -> Result<u64, MemoryError> {
    let (first, mut transactions) = (piece.range().start, 0);
    while begin.elapsed() < duration {
        let transaction = memory.begin();
        transaction.enlist(piece)?.set_range(first..first + RANGE_BYTES).expect("it fits").fill(transactions as u8);
        transaction.commit(CommitMode::NoFlush)?;
        memory.flush(Durability::Disk)?;
        transactions += 1;
    }
    Ok(transactions)
}

fn one(memory: &Memory, region: &mut Region, case: Case, number: u64) -> Result<(), Box<dyn Error>> {
    // Multiplying by an odd number goes through all places in an order without order.
    let place =
        |range: u64| (number * 8 + range).wrapping_mul(0x9e37_79b9_7f4a_7c15) % case.places.max(1) * RANGE_BYTES;
    if case.restore {
        let transaction = memory.begin();
        let mut enlisted = transaction.enlist(region)?;
        for range in 0..case.ranges {
            enlisted.set_range(place(range)..place(range) + RANGE_BYTES)?.fill(number as u8);
        }
        if case.places == 0 {
            transaction.abort();
        } else {
            transaction.commit(case.commit)?;
        }
    } else {
        let transaction = memory.begin_no_restore();
        let mut enlisted = transaction.enlist(region)?;
        for range in 0..case.ranges {
            enlisted.set_range(place(range)..place(range) + RANGE_BYTES)?.fill(number as u8);
        }
        transaction.commit(case.commit)?;
    }
    Ok(())
}

/// Nanoseconds that this thread has been running, which others on the machine do not lengthen.
fn processor_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}
