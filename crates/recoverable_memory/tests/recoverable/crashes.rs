//! The power goes off: after every byte that is written, at every sync, and again while that is recovered from.

use recoverable_memory::RecoverableMemoryOptions;
use recoverable_memory::simulated::SimulatedDisk;

use crate::common::{Numbers, Script, check_prefix, fresh, recover_disk, run_script, small};

/// Enough for the log to go round several times, so that every write of a truncation is among the steps.
const TRANSACTIONS: u64 = if cfg!(miri) { 40 } else { 150 };
const SEED: u64 = 7;

/// No write to the log is longer. One to the segment may be, and is cut after some of its bytes only: what it writes is in the log.
const RECORD_BYTES_MAX: usize = 1000;

/// The log is truncated when it is half full; or only when it is full, so that its room is used again at once.
const OPTIONS: [(usize, u8); 2] = [(700, 50), (300, 100)];

fn options() -> impl Iterator<Item = RecoverableMemoryOptions> {
    OPTIONS.into_iter().map(|(spool_bytes, truncate_at_percent)| RecoverableMemoryOptions {
        spool_bytes,
        truncate_at_percent,
        ..small()
    })
}

/// Runs the script until the power goes off at a step.
fn run_until(options: RecoverableMemoryOptions, step: usize) -> (SimulatedDisk, Script) {
    let disk = SimulatedDisk::new();
    disk.stop_at(step);
    let script = run_script(&disk, options, TRANSACTIONS, SEED);
    (disk, script)
}

/// The steps of an undisturbed run, once the log and the segment are there, each with the bytes that it writes.
fn steps(options: RecoverableMemoryOptions) -> impl Iterator<Item = (usize, usize)> {
    let disk = SimulatedDisk::new();
    drop(fresh(&disk, options).unwrap());
    let first = disk.steps().len();
    let disk = SimulatedDisk::new();
    run_script(&disk, options, TRANSACTIONS, SEED);
    let steps = disk.steps();
    // A status of the log is the only write of its length; each truncation makes two.
    let truncations = steps[first..].iter().filter(|&&bytes| bytes == 36).count() / 2;
    assert!(truncations > 1 || cfg!(miri), "the log has been truncated {truncations} times");
    steps.into_iter().enumerate().skip(first)
}

/// The states in which a disk may be found: after the death of the process, and after a loss of power that kept nothing that was
/// not synced, or some of it.
fn found(disk: &SimulatedDisk, seed: u64) -> [SimulatedDisk; 4] {
    let mut numbers = Numbers(seed);
    let mut some = || numbers.below(2) == 0;
    [
        disk.after_death(),
        disk.after_power_loss(&mut || false),
        disk.after_power_loss(&mut some),
        disk.after_power_loss(&mut some),
    ]
}

/// Recovers what a crash left and looks whether that is a prefix of the commits.
fn check(disk: &SimulatedDisk, script: &Script, what: &str) {
    for (way, disk) in found(disk, disk.steps().len() as u64).into_iter().enumerate() {
        let what = format!("{what}, found in way {way}");
        recover_disk(&disk).unwrap_or_else(|error| panic!("{what}: {error}"));
        let prefix = check_prefix(&disk, script, &what);
        // A second recovery has nothing left to do.
        let again = recover_disk(&disk).unwrap();
        assert_eq!(again.records, 0, "{what}");
        assert_eq!(check_prefix(&disk, script, &what), prefix, "{what}");
    }
}

/// If this fails, a crash in the middle of a write loses a durable commit or brings back half a transaction.
#[test]
fn the_power_may_go_off_after_every_byte() {
    let mut states = 0;
    for (options, (step, length)) in options().flat_map(|options| steps(options).map(move |step| (options, step))) {
        let (disk, script) = run_until(options, step);
        for bytes in (0..=length).step_by(if length > RECORD_BYTES_MAX { 61 } else { 1 }) {
            let disk = disk.torn_after(bytes).expect("the same write");
            check(&disk, &script, &format!("step {step}, byte {bytes}"));
            states += 1;
        }
    }
    assert!(states > 2000, "{states} states were tried");
}

/// If this fails, recovery is not idempotent: a crash during it loses what the first crash had left.
#[test]
fn the_power_may_go_off_during_recovery() {
    let mut interrupted = 0;
    for (options, (step, _)) in
        options().flat_map(|options| steps(options).step_by(13).map(move |step| (options, step)))
    {
        let (disk, script) = run_until(options, step);
        let disk = disk.torn_after(20).unwrap_or(disk);
        for disk in found(&disk, step as u64) {
            for recovery_step in 0.. {
                let disk = disk.after_death();
                disk.stop_at(recovery_step);
                let result = recover_disk(&disk);
                assert_eq!(result.is_err(), disk.is_off(), "{result:?}");
                if result.is_ok() {
                    break;
                }
                interrupted += 1;
                let disk = disk.torn_after(13).unwrap_or(disk);
                check(&disk, &script, &format!("step {step}, recovery step {recovery_step}"));
            }
        }
    }
    assert!(interrupted > 200, "{interrupted} recoveries were interrupted");
}

/// If this fails, a failed sync is taken for a success later on, and acknowledged commits are gone.
#[test]
fn a_failed_sync_is_the_end() {
    for (options, (step, _)) in options().flat_map(|options| steps(options).map(move |step| (options, step))) {
        let disk = SimulatedDisk::new();
        disk.fail_sync_at(step);
        let script = run_script(&disk, options, TRANSACTIONS, SEED);
        check(&disk, &script, &format!("sync at step {step}"));
    }
}

/// If this fails, an older value wins where the log is so long that it is read in pieces.
#[test]
#[cfg(not(miri))]
fn a_long_log_is_brought_back_in_pieces() {
    use crate::common::SEGMENT;
    use recoverable_memory::CommitMode;
    let disk = SimulatedDisk::new();
    let options = RecoverableMemoryOptions { log_bytes: 16 << 20, truncate_at_percent: 100, ..small() };
    let (memory, mut region) = fresh(&disk, options).unwrap();
    memory.create_segment("large", 2 << 20).unwrap();
    let mut large = memory.map_all("large").unwrap();
    let mut fill = |number: u8, bytes: u64| {
        let transaction = memory.begin();
        transaction.enlist(&mut region).unwrap().set_range(0..u64::from(number)).unwrap().fill(number);
        transaction.enlist(&mut large).unwrap().set_range(100..100 + bytes).unwrap().fill(number);
        transaction.commit(CommitMode::Flush).unwrap();
    };
    for number in (1..=12).rev() {
        fill(number, 1 << 20);
    }
    let used = memory.query().log_bytes_used;
    assert!(used > 2 * recoverable_memory::limits::PIECE_BYTES, "{used} bytes are no more than a piece or two");
    let crashed = disk.after_death();
    assert_eq!(recover_disk(&crashed).unwrap().transactions, 12);
    let check = |disk: &SimulatedDisk| {
        let data = disk.contents(SEGMENT).unwrap();
        assert_eq!(data[..13], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0]);
        let large = disk.contents("large").unwrap();
        assert!(
            large[100..100 + (1 << 20)].iter().all(|&byte| byte == 1) && large[99] == 0 && large[100 + (1 << 20)] == 0
        );
    };
    check(&crashed);
    memory.truncate().unwrap();
    check(&disk);
}
