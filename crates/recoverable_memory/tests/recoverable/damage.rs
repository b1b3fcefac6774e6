//! The disk rots: every byte of a log that is known to have been durable is missed when it is wrong.

use recoverable_memory::file_log::FileLog;
use recoverable_memory::memory::LOG_NAME;
use recoverable_memory::recovery::recover;
use recoverable_memory::simulated::SimulatedDisk;
use recoverable_memory::{CommitMode, Error, OnDamage, RecoverableMemoryOptions};

use crate::common::{SEGMENT, fresh, open, recover_disk, run_script, small};

/// Bytes before the log's own in its file.
const HEAD_BYTES: usize = 2 * 4096;

/// If this fails, rot in the middle of the log passes for its end, and commits behind it are lost without a word; or rot where nothing
/// is known of what was there makes a log useless.
#[test]
fn every_flipped_byte_of_the_log_is_noticed_or_harmless() {
    let disk = SimulatedDisk::new();
    let script = run_script(&disk, RecoverableMemoryOptions { truncate_at_percent: 100, ..small() }, 25, 11);
    let sound = disk.after_death();
    let recovered = recover_disk(&sound.after_death()).unwrap();
    let (start, bytes) = (start(&sound), sound.contents(LOG_NAME).unwrap());
    let live = HEAD_BYTES + start..HEAD_BYTES + start + recovered.log_bytes as usize;
    let durable = live.start + last_flushed(&bytes[live.clone()]);
    assert!(recovered.records > 5 && durable > live.start + 500, "{recovered:?}");
    for at in 0..bytes.len() {
        let disk = sound.after_death();
        disk.damage(LOG_NAME, |bytes| bytes[at] ^= 1 << (at % 8));
        let before = disk.contents(SEGMENT);
        match recover_disk(&disk) {
            Err(Error::Damaged { .. }) => {
                assert!((live.start..durable).contains(&at), "byte {at} is not known to have been durable");
                assert_eq!(disk.contents(SEGMENT), before, "a refused log has changed the segment");
            }
            Err(other) => panic!("byte {at}: {other}"),
            Ok(found) => {
                assert!(!(live.start..durable).contains(&at), "byte {at} was durable");
                let found_all = found == recovered;
                assert_eq!(found_all, !live.contains(&at), "byte {at}: {found:?}");
                let found = disk.contents(SEGMENT).unwrap();
                assert!(script.states.contains(&found), "byte {at}");
            }
        }
    }
}

/// How many of these bytes the last record among them says were durable before it.
fn last_flushed(log: &[u8]) -> usize {
    let number = |at: usize| u64::from_le_bytes(log[at..at + 8].try_into().unwrap());
    let (first, mut at, mut flushed) = (number(8), 0, 0);
    while at < log.len() {
        flushed = number(at + 16) - first;
        at += 40 + (number(at + 24) as u32) as usize;
    }
    flushed as usize
}

/// Where the log begins among the bytes behind the head.
fn start(disk: &SimulatedDisk) -> usize {
    let status = disk.contents(LOG_NAME).unwrap();
    let number = |at: usize| u64::from_le_bytes(status[at..at + 8].try_into().unwrap());
    (number(24) % number(8)) as usize
}

/// If this fails, an operator who has no other copy cannot get at what stands before the damage.
#[test]
fn a_damaged_log_can_be_cut() {
    let disk = SimulatedDisk::new();
    let script = run_script(&disk, RecoverableMemoryOptions { truncate_at_percent: 100, ..small() }, 25, 11);
    let disk = disk.after_death();
    let start = start(&disk);
    disk.damage(LOG_NAME, |bytes| bytes[HEAD_BYTES + start + 900] ^= 1);
    let log = FileLog::open(&disk, LOG_NAME).unwrap().unwrap();
    assert!(matches!(recover(&log, &disk, OnDamage::Refuse), Err(Error::Damaged { .. })));
    let recovered = recover(&log, &disk, OnDamage::Cut).unwrap();
    assert!(recovered.cut.is_some() && recovered.records > 0);
    let found = disk.contents(SEGMENT).unwrap();
    assert!(script.states.contains(&found));
    drop(log);
    assert_eq!(recover_disk(&disk).unwrap().records, 0);
}

/// If this fails, a log is applied to the wrong files, or given up although its segments are elsewhere.
#[test]
fn a_log_without_its_segment_is_kept() {
    let disk = SimulatedDisk::new();
    let (memory, mut region) = fresh(&disk, small()).unwrap();
    let transaction = memory.begin();
    transaction.enlist(&mut region).unwrap().set_range(8000..8008).unwrap().fill(3);
    transaction.commit(CommitMode::Flush).unwrap();
    let disk = disk.after_death();
    let without = SimulatedDisk::new();
    let bytes = disk.contents(LOG_NAME).unwrap();
    recoverable_memory::files::FileFolder::create(&without, LOG_NAME, bytes.len() as u64, &bytes).unwrap();
    assert!(matches!(open(&without, small()), Err(Error::SegmentMissing { name }) if name == SEGMENT));
    recoverable_memory::files::FileFolder::create(&without, SEGMENT, 4096, &[]).unwrap();
    assert!(matches!(open(&without, small()), Err(Error::SegmentShort { end: 8008, .. })));
    assert_eq!(without.contents(LOG_NAME).unwrap(), bytes);
    let whole = open(&disk, small()).unwrap();
    assert_eq!(whole.recovered().transactions, 1);
    assert_eq!(whole.map_all(SEGMENT).unwrap().read(8000..8008).unwrap(), [3; 8]);
}

/// If this fails, any file in the log's place is taken for an empty log.
#[test]
fn other_files_are_no_logs() {
    for (bytes, head) in
        [(10, vec![1; 10]), (HEAD_BYTES as u64 + 4096, vec![]), (HEAD_BYTES as u64 + 4096, vec![0xff; 9000])]
    {
        let disk = SimulatedDisk::new();
        recoverable_memory::files::FileFolder::create(&disk, LOG_NAME, bytes, &head).unwrap();
        assert!(matches!(open(&disk, small()), Err(Error::Log(_))));
    }
    let disk = SimulatedDisk::new();
    drop(open(&disk, small()).unwrap());
    disk.damage(LOG_NAME, |bytes| bytes.truncate(HEAD_BYTES + 4095));
    assert!(matches!(open(&disk, small()), Err(Error::Log(_))));
}
