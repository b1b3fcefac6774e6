//! RVM's two optimisations, and what the counters say of them.

use recoverable_memory::simulated::SimulatedDisk;
use recoverable_memory::{CommitMode, Durability, RecoverableMemoryOptions};

use crate::common::{SEGMENT, fresh, recover_disk, small};

/// If this fails, the log holds bytes twice that a transaction has set twice.
#[test]
fn a_transaction_logs_each_byte_once() {
    let disk = SimulatedDisk::new();
    let (memory, mut region) = fresh(&disk, small()).unwrap();
    let before = memory.statistics();
    let transaction = memory.begin();
    let mut enlisted = transaction.enlist(&mut region).unwrap();
    // The same, overlapping, adjacent from both sides.
    for range in [100..200, 100..200, 150..250, 250..300, 50..100] {
        enlisted.set_range(range).unwrap().fill(1);
    }
    transaction.commit(CommitMode::Flush).unwrap();
    let after = memory.statistics();
    assert_eq!((after.bytes_set, after.bytes_committed), (100 + 100 + 100 + 50 + 50, 250));
    // A header, the head of one value, 250 bytes with padding.
    assert_eq!((after.records - before.records, after.log_bytes - before.log_bytes), (1, 40 + 16 + 256));
}

/// If this fails, a value that changes all the time fills the log, or the last of its changes is lost.
#[test]
fn what_is_overwritten_before_a_flush_is_not_logged() {
    let disk = SimulatedDisk::new();
    let (memory, mut region) = fresh(&disk, RecoverableMemoryOptions { spool_bytes: 1024, ..small() }).unwrap();
    let before = memory.statistics();
    for number in 0..1000_u64 {
        let transaction = memory.begin();
        let mut enlisted = transaction.enlist(&mut region).unwrap();
        enlisted.set_range(0..8).unwrap().copy_from_slice(&number.to_le_bytes());
        if number == 500 {
            enlisted.set_range(64..72).unwrap().fill(5);
        }
        transaction.commit(CommitMode::NoFlush).unwrap();
    }
    assert_eq!(memory.statistics().records, before.records, "nothing has been written yet");
    memory.flush(Durability::Disk).unwrap();
    let after = memory.statistics();
    assert_eq!(after.transactions_committed, 1000);
    assert_eq!((after.transactions_coalesced, after.records - before.records), (998, 1));
    assert_eq!(memory.query().log_flushed, memory.query().log_end);
    let disk = disk.after_power_loss(&mut || false);
    assert_eq!(recover_disk(&disk).unwrap().transactions, 2);
    let found = disk.contents(SEGMENT).unwrap();
    assert_eq!(found[..8], 999_u64.to_le_bytes());
    assert_eq!(found[64..72], [5; 8]);
}

/// If this fails, commits that wait take more memory than they may, or a commit that waits has been forgotten.
#[test]
fn the_spool_is_bounded() {
    let disk = SimulatedDisk::new();
    let (memory, mut region) = fresh(&disk, RecoverableMemoryOptions { spool_bytes: 512, ..small() }).unwrap();
    for number in 0..100_u64 {
        let transaction = memory.begin();
        let range = number * 16..number * 16 + 16;
        transaction.enlist(&mut region).unwrap().set_range(range).unwrap().fill(number as u8);
        transaction.commit(CommitMode::NoFlush).unwrap();
        assert!(memory.query().transactions_spooled <= 14);
    }
    // One that is larger than the spool.
    let transaction = memory.begin();
    transaction.enlist(&mut region).unwrap().set_range(4000..5000).unwrap().fill(1);
    transaction.commit(CommitMode::NoFlush).unwrap();
    assert_eq!(memory.query().transactions_spooled, 1);
    memory.close().unwrap();
    let found = disk.contents(SEGMENT).unwrap();
    assert!((0..1600).all(|at| found[at] == (at / 16) as u8) && found[4000..5000].iter().all(|&byte| byte == 1));
}
