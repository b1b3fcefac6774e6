//! Several threads: each with regions of its own, all with one log, which is truncated meanwhile.

use std::sync::Mutex;

use recoverable_memory::simulated::SimulatedDisk;
use recoverable_memory::{CommitMode, Durability, Memory, Offset, RecoverableMemoryOptions, Region, Truncation};

use crate::common::{SEGMENT, open, recover_disk, small};

const THREADS: u64 = 4;
/// Each thread counts in its own half page, up to here.
const COUNT: u64 = if cfg!(miri) { 5 } else { 300 };

fn background() -> RecoverableMemoryOptions {
    RecoverableMemoryOptions { truncation: Truncation::Background, spool_bytes: 512, ..small() }
}

/// One piece of half a page for each thread.
fn split(memory: &Memory) -> Vec<Region> {
    let mut rest = memory.map_all(SEGMENT).unwrap();
    let mut pieces = Vec::new();
    for thread in 1..THREADS {
        let (piece, behind) = rest.split_at(thread * 2048).unwrap();
        pieces.push(piece);
        rest = behind;
    }
    pieces.push(rest);
    pieces
}

fn count(memory: &Memory, region: &mut Region, number: u64) {
    let first = region.range().start;
    let transaction = memory.begin();
    let mut enlisted = transaction.enlist(region).unwrap();
    // Both are always equal.
    *enlisted.set(Offset::<u64>::new(first)).unwrap() += 1;
    *enlisted.set(Offset::<u64>::new(first + 1024)).unwrap() += 1;
    match number % 4 {
        0 => transaction.commit(CommitMode::Flush).map(drop).unwrap(),
        _ => transaction.commit(CommitMode::NoFlush).map(drop).unwrap(),
    }
    if number.is_multiple_of(7) {
        memory.flush(Durability::Disk).unwrap();
    }
}

/// If this fails, threads disturb each other's commits, or a truncation in the background does.
#[test]
fn every_threads_commits_are_there() {
    let disk = SimulatedDisk::new();
    let memory = open(&disk, background()).unwrap();
    memory.create_segment(SEGMENT, THREADS * 2048).unwrap();
    std::thread::scope(|scope| {
        for mut region in split(&memory) {
            let memory = &memory;
            scope.spawn(move || (1..=COUNT).for_each(|number| count(memory, &mut region, number)));
        }
    });
    let statistics = memory.statistics();
    assert_eq!(statistics.transactions_committed, THREADS * COUNT);
    assert!(cfg!(miri) || statistics.truncations > 5, "{statistics:?}");
    memory.flush(Durability::Disk).unwrap();
    let disk = disk.after_power_loss(&mut || false);
    drop(memory);
    recover_disk(&disk).unwrap();
    let found = disk.contents(SEGMENT).unwrap();
    for at in (0..(THREADS * 2048) as usize).step_by(1024) {
        assert_eq!(u64::from_le_bytes(found[at..at + 8].try_into().unwrap()), COUNT, "offset {at}");
    }
}

/// If this fails, a loss of power while threads commit keeps half of a transaction, or less than was flushed.
#[test]
fn a_loss_of_power_finds_whole_transactions() {
    for round in 0..if cfg!(miri) { 1 } else { 100 } {
        let disk = SimulatedDisk::new();
        let memory = open(&disk, background()).unwrap();
        memory.create_segment(SEGMENT, THREADS * 2048).unwrap();
        let flushed = Mutex::new([0; THREADS as usize]);
        disk.stop_at(disk.steps().len() + 20 + round * 3);
        std::thread::scope(|scope| {
            for (thread, mut region) in split(&memory).into_iter().enumerate() {
                let (memory, flushed) = (&memory, &flushed);
                scope.spawn(move || {
                    for number in 1..=COUNT {
                        let first = region.range().start;
                        let transaction = memory.begin();
                        let Ok(mut enlisted) = transaction.enlist(&mut region) else { return };
                        *enlisted.set(Offset::<u64>::new(first)).unwrap() = number;
                        *enlisted.set(Offset::<u64>::new(first + 1024)).unwrap() = number;
                        let how = if number % 3 == 0 { CommitMode::Flush } else { CommitMode::NoFlush };
                        if transaction.commit(how).is_err() {
                            return;
                        }
                        if how == CommitMode::Flush {
                            flushed.lock().unwrap()[thread] = number;
                        }
                    }
                });
            }
        });
        let mut numbers = crate::common::Numbers(round as u64);
        let torn = disk.torn_after(round * 5).unwrap_or(disk);
        let found = torn.after_power_loss(&mut || numbers.below(2) == 0);
        drop(memory);
        recover_disk(&found).unwrap();
        let found = found.contents(SEGMENT).unwrap();
        for (thread, &flushed) in flushed.lock().unwrap().iter().enumerate() {
            let value = |at: usize| u64::from_le_bytes(found[at..at + 8].try_into().unwrap());
            let (left, right) = (value(thread * 2048), value(thread * 2048 + 1024));
            assert_eq!(left, right, "round {round}, thread {thread}");
            assert!(left >= flushed, "round {round}, thread {thread}: {left} is there, {flushed} was flushed");
        }
    }
}

/// The same on a real disk, with truncation in the background all the time. If this fails, it is only the simulated one that is right.
#[test]
#[cfg(not(miri))]
fn on_a_real_disk_too() {
    let folder = tempfile::tempdir().unwrap();
    let memory = Memory::create(folder.path(), background()).unwrap();
    memory.create_segment(SEGMENT, THREADS * 2048).unwrap();
    std::thread::scope(|scope| {
        for mut region in split(&memory) {
            let memory = &memory;
            scope.spawn(move || (1..=COUNT).for_each(|number| count(memory, &mut region, number)));
        }
    });
    memory.flush(Durability::Disk).unwrap();
    drop(memory);
    let memory = Memory::open(folder.path(), background()).unwrap();
    for region in split(&memory) {
        let first = region.range().start;
        assert_eq!(*region.get(Offset::<u64>::new(first)).unwrap(), COUNT);
    }
}
