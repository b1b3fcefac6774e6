//! What an application may do with regions and transactions, and what it is told when it may not. What the compiler refuses stands in
//! the documentation of `Transaction`, as examples that must not compile.

use recoverable_memory::simulated::SimulatedDisk;
use recoverable_memory::{CommitMode, Durability, Error, Offset, RangeError, Region};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::common::{SEGMENT, SEGMENT_BYTES, fresh, open, small};

/// If this fails, an aborted transaction leaves something behind.
#[test]
fn an_abort_restores_every_byte() {
    let disk = SimulatedDisk::new();
    let (memory, mut region) = fresh(&disk, small()).unwrap();
    let transaction = memory.begin();
    transaction.enlist(&mut region).unwrap().set_range(0..200).unwrap().fill(1);
    transaction.commit(CommitMode::NoFlush).unwrap();
    let before = region.bytes().to_vec();
    let transaction = memory.begin();
    let mut enlisted = transaction.enlist(&mut region).unwrap();
    enlisted.set_range(50..60).unwrap().fill(2);
    enlisted.set_range(40..70).unwrap().fill(3);
    enlisted.set_range(50..60).unwrap().fill(4);
    assert_eq!(enlisted.read(48..52).unwrap(), [3, 3, 4, 4]);
    transaction.abort();
    assert_eq!(region.bytes(), before);
    let transaction = memory.begin();
    transaction.enlist(&mut region).unwrap().set_range(SEGMENT_BYTES - 1..SEGMENT_BYTES).unwrap().fill(5);
    drop(transaction);
    assert_eq!(region.bytes(), before);
    assert_eq!((memory.statistics().transactions_aborted, memory.query().transactions_live), (2, 0));
}

/// If this fails, memory that nobody knows the state of is committed by the next transaction.
#[test]
fn a_transaction_that_cannot_be_undone_must_not_be_dropped() {
    let disk = SimulatedDisk::new();
    let (memory, mut region) = fresh(&disk, small()).unwrap();
    let harmless = memory.begin_no_restore();
    harmless.enlist(&mut region).unwrap().read(0..1).unwrap();
    drop(harmless);
    let transaction = memory.begin_no_restore();
    transaction.enlist(&mut region).unwrap().set_range(0..8).unwrap().fill(1);
    transaction.commit(CommitMode::Flush).unwrap();
    let transaction = memory.begin_no_restore();
    transaction.enlist(&mut region).unwrap().set_range(4..8).unwrap().fill(2);
    drop(transaction);
    assert!(matches!(memory.flush(Durability::Disk), Err(Error::Failed { .. })));
    drop((memory, region));
    let memory = open(&disk.after_death(), small()).unwrap();
    assert_eq!(memory.map_all(SEGMENT).unwrap().read(0..9).unwrap(), [1, 1, 1, 1, 1, 1, 1, 1, 0]);
}

/// If this fails, changes of a leaked transaction are taken for committed ones.
#[test]
fn a_leaked_transaction_ends_the_memory() {
    let disk = SimulatedDisk::new();
    let (memory, mut region) = fresh(&disk, small()).unwrap();
    let transaction = memory.begin();
    transaction.enlist(&mut region).unwrap().set_range(0..8).unwrap().fill(1);
    std::mem::forget(transaction);
    let (front, mut back) = region.split_at(4096).unwrap();
    assert_eq!(front.read(0..1).unwrap(), [1], "still memory, if not what was committed");
    let transaction = memory.begin();
    assert!(matches!(transaction.enlist(&mut back), Err(Error::Failed { .. })));
}

/// If this fails, an offset from a segment that somebody damaged is a panic, or a wild access.
#[test]
fn ranges_are_checked() {
    let disk = SimulatedDisk::new();
    let (memory, region) = fresh(&disk, small()).unwrap();
    let (front, mut back) = region.split_at(4100).unwrap();
    assert_eq!((front.range(), back.range()), (0..4100, 4100..SEGMENT_BYTES));
    assert!(matches!(front.read(4099..4101), Err(RangeError::Outside { .. })));
    #[expect(clippy::reversed_empty_ranges, reason = "that is the point")]
    let reversed = front.read(5..4);
    assert!(matches!(reversed, Err(RangeError::Outside { .. })));
    assert!(matches!(front.get(Offset::<u64>::new(4)), Err(RangeError::Misaligned { offset: 4, alignment: 8 })));
    assert!(matches!(front.get(Offset::<u64>::new(u64::MAX - 7)), Err(RangeError::Outside { .. })));
    assert!(matches!(front.get_slice(Offset::<u64>::new(8), usize::MAX), Err(RangeError::Outside { .. })));
    let transaction = memory.begin();
    let mut enlisted = transaction.enlist(&mut back).unwrap();
    assert!(matches!(enlisted.set_range(4099..4101), Err(RangeError::Outside { .. })));
    // Half of the log is the most.
    assert!(matches!(enlisted.set_range(5000..7100), Err(RangeError::LogTooSmall { bytes_max: 2048, .. })));
    enlisted.set_range(5000..6900).unwrap().fill(9);
    assert!(matches!(enlisted.set_range(7000..7100), Err(RangeError::LogTooSmall { .. })));
    // What is set already, and what overlaps it, costs nothing or little.
    enlisted.set_range(5000..6900).unwrap();
    enlisted.set_range(4990..6910).unwrap();
    transaction.commit(CommitMode::Flush).unwrap();
    assert_eq!(back.read(4999..5001).unwrap(), [0, 9]);
}

#[derive(Debug, PartialEq, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
struct Node {
    next: Offset<Node>,
    value: u64,
}

/// If this fails, values and links do not mean the same after a restart.
#[test]
fn values_and_links_survive() {
    let disk = SimulatedDisk::new();
    let (memory, mut region) = fresh(&disk, small()).unwrap();
    let transaction = memory.begin_no_restore();
    let mut enlisted = transaction.enlist(&mut region).unwrap();
    for number in 0..10 {
        let next = if number == 9 { Offset::NULL } else { Offset::new((number + 1) * 64) };
        *enlisted.set(Offset::new(number * 64)).unwrap() = Node { next, value: number };
    }
    enlisted.set_slice(Offset::<u16>::new(4096), 3).unwrap().copy_from_slice(&[1, 2, 3]);
    transaction.commit(CommitMode::Flush).unwrap();
    drop((memory, region));
    let memory = open(&disk.after_death(), small()).unwrap();
    let region = memory.map_all(SEGMENT).unwrap();
    let mut at = Offset::<Node>::new(0);
    let mut values = Vec::new();
    loop {
        let node = region.get(at).unwrap();
        values.push(node.value);
        if node.next.is_null() {
            break;
        }
        at = node.next;
    }
    assert_eq!(values, (0..10).collect::<Vec<_>>());
    assert_eq!(region.get_slice(Offset::<u16>::new(4096), 3).unwrap(), [1, 2, 3]);
}

/// If this fails, the same byte is in two regions, or a region that was mapped again has lost commits that were not flushed.
#[test]
fn a_page_is_mapped_once_and_again_later() {
    let disk = SimulatedDisk::new();
    let (memory, mut region) = fresh(&disk, small()).unwrap();
    assert!(matches!(memory.map(SEGMENT, 4096..8192), Err(Error::Mapped { range, .. }) if range == (0..8192)));
    let transaction = memory.begin();
    transaction.enlist(&mut region).unwrap().set_range(4096..4100).unwrap().fill(1);
    transaction.commit(CommitMode::NoFlush).unwrap();
    let (front, back) = region.split_at(10).unwrap();
    drop(front);
    assert!(matches!(memory.map(SEGMENT, 0..4096), Err(Error::Mapped { .. })), "half of it is still there");
    drop(back);
    let back = memory.map(SEGMENT, 4096..8192).unwrap();
    let front = memory.map(SEGMENT, 0..4096).unwrap();
    assert_eq!(back.bytes()[..5], [1, 1, 1, 1, 0]);
    assert_eq!(memory.query().regions, [(SEGMENT.to_string(), 4096..8192), (SEGMENT.to_string(), 0..4096)]);
    drop(front);
    let other = open(&SimulatedDisk::new(), small()).unwrap();
    let mut back = back;
    assert!(matches!(other.begin().enlist(&mut back), Err(Error::ForeignRegion)));
}

/// If this fails, segments can be made or mapped that no one can use, or that lie outside their folder.
#[test]
fn segments_are_checked() {
    let disk = SimulatedDisk::new();
    let (memory, _region) = fresh(&disk, small()).unwrap();
    for name in ["", ".log", "a/b", "..", "ä", &"n".repeat(256)] {
        assert!(matches!(memory.create_segment(name, 4096), Err(Error::Name { .. })), "{name}");
        assert!(matches!(memory.map_all(name), Err(Error::Name { .. })), "{name}");
    }
    for bytes in [0, 1, 4097] {
        assert!(matches!(memory.create_segment("odd", bytes), Err(Error::NotPages { .. })));
    }
    assert!(matches!(memory.create_segment(SEGMENT, 4096), Err(Error::SegmentExists { .. })));
    assert!(matches!(memory.map_all("nowhere"), Err(Error::NoSegment { .. })));
    memory.create_segment("other", 8192).unwrap();
    for range in [0..1, 1..4096, 4096..12288, 4096..4096] {
        assert!(matches!(memory.map("other", range.clone()), Err(Error::NotPages { .. })), "{range:?}");
    }
    // The smallest log has room for a few names only.
    let long = |number: u8| format!("{number}{}", "n".repeat(200));
    let mut regions: Vec<Region> = Vec::new();
    let refused = (0..10).find_map(|number| {
        memory.create_segment(&long(number), 4096).unwrap();
        memory.map_all(&long(number)).map(|region| regions.push(region)).err()
    });
    assert!(matches!(refused, Some(Error::TooManySegments { bytes_max: 512, .. })), "{refused:?}");
    for region in &mut regions {
        let transaction = memory.begin();
        transaction.enlist(region).unwrap().set_range(0..1000).unwrap().fill(1);
        transaction.commit(CommitMode::Flush).unwrap();
    }
}

/// If this fails, mapping one segment after the other fills the log with lists of segments, and the next one waits for ever.
#[test]
fn lists_of_segments_do_not_fill_the_log() {
    let disk = SimulatedDisk::new();
    let memory = open(&disk, small()).unwrap();
    let mut regions: Vec<Region> = Vec::new();
    for name in ('a'..='z').map(String::from) {
        memory.create_segment(&name, 4096).unwrap();
        regions.push(memory.map_all(&name).unwrap());
    }
    let statistics = memory.statistics();
    assert!(statistics.log_bytes > small().log_bytes && statistics.truncations_forced > 0, "{statistics:?}");
    let transaction = memory.begin();
    transaction.enlist(&mut regions[25]).unwrap().set_range(0..1).unwrap().fill(26);
    transaction.commit(CommitMode::Flush).unwrap();
    let disk = disk.after_death();
    drop((memory, regions));
    assert_eq!(open(&disk, small()).unwrap().map_all("z").unwrap().read(0..2).unwrap(), [26, 0]);
}
