//! A memory on a simulated disk, and a script of transactions whose every state is known.

use recoverable_memory::file_log::FileLog;
use recoverable_memory::limits::{LOG_BYTES_MIN, PAGE_BYTES};
use recoverable_memory::memory::LOG_NAME;
use recoverable_memory::recovery::recover;
use recoverable_memory::simulated::SimulatedDisk;
use recoverable_memory::{
    CommitMode, Error, Memory, OnDamage, RecoverableMemoryOptions, RecoveryReport, Region, Truncation,
};

/// The segment of the script.
pub const SEGMENT: &str = "data";
pub const SEGMENT_BYTES: u64 = 2 * PAGE_BYTES;

/// The smallest log, truncated by whoever commits: the same calls make the same writes.
pub fn small() -> RecoverableMemoryOptions {
    RecoverableMemoryOptions {
        log_bytes: LOG_BYTES_MIN,
        truncation: Truncation::Inline,
        ..RecoverableMemoryOptions::default()
    }
}

/// Numbers that look random and are the same every time (splitmix64).
pub struct Numbers(pub u64);

impl Numbers {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

/// Opens the memory on a disk, or makes it.
pub fn open(disk: &SimulatedDisk, options: RecoverableMemoryOptions) -> Result<Memory, Error> {
    let log = match FileLog::open(disk, LOG_NAME)? {
        Some(log) => log,
        None => FileLog::create(disk, LOG_NAME, options.log_bytes)?,
    };
    Memory::with_device(Box::new(log), Box::new(disk.clone()), options)
}

/// Recovers a disk, which then holds its state in the segment's file.
pub fn recover_disk(disk: &SimulatedDisk) -> Result<RecoveryReport, Error> {
    let log = FileLog::open(disk, LOG_NAME)?.expect("a log");
    recover(&log, disk, OnDamage::Refuse)
}

/// A new memory with the script's segment, mapped.
pub fn fresh(disk: &SimulatedDisk, options: RecoverableMemoryOptions) -> Result<(Memory, Region), Error> {
    let memory = open(disk, options)?;
    memory.create_segment(SEGMENT, SEGMENT_BYTES)?;
    let region = memory.map_all(SEGMENT)?;
    Ok((memory, region))
}

/// What the script did before it ended, or before its disk did.
pub struct Script {
    /// The segment after each number of commits: `states[n]` after `n`.
    pub states: Vec<Vec<u8>>,
    /// So many commits have been acknowledged as durable.
    pub durable: usize,
}

/// Runs so many transactions: of one to three ranges, some aborted, about every third flushed. It always does the same, as long as its disk
/// lets it.
pub fn run_script(disk: &SimulatedDisk, options: RecoverableMemoryOptions, transactions: u64, seed: u64) -> Script {
    let mut script = Script { states: vec![vec![0; SEGMENT_BYTES as usize]], durable: 0 };
    let Ok((memory, mut region)) = fresh(disk, options) else { return script };
    let mut numbers = Numbers(seed);
    for number in 1..=transactions {
        let result = one_transaction(&memory, &mut region, number as u8, &mut numbers, &mut script);
        if result.is_err() {
            break;
        }
    }
    script
}

fn one_transaction(
    memory: &Memory,
    region: &mut Region,
    number: u8,
    numbers: &mut Numbers,
    script: &mut Script,
) -> Result<(), Error> {
    let mut state = region.bytes().to_vec();
    let transaction = memory.begin();
    let mut enlisted = transaction.enlist(region)?;
    for _ in 0..=numbers.below(3) {
        let start = numbers.below(SEGMENT_BYTES - 64);
        let length = numbers.below(48);
        let range = start..start + length;
        enlisted.set_range(range.clone()).expect("it fits").fill(number);
        state[range.start as usize..range.end as usize].fill(number);
    }
    match numbers.below(10) {
        0 => transaction.abort(),
        choice => {
            let how = if choice < 4 { CommitMode::Flush } else { CommitMode::NoFlush };
            // From here on it may be on disk, whatever the disk says.
            script.states.push(state);
            transaction.commit(how)?;
            if how == CommitMode::Flush {
                script.durable = script.states.len() - 1;
            }
        }
    }
    Ok(())
}

/// Fails unless the disk, after recovery, holds a prefix of the script's commits with all that was durable. Returns its length.
pub fn check_prefix(disk: &SimulatedDisk, script: &Script, what: &str) -> usize {
    let found = disk.contents(SEGMENT).unwrap_or_else(|| vec![0; SEGMENT_BYTES as usize]);
    let prefix = script.states.iter().rposition(|state| *state == found);
    let Some(prefix) = prefix else { panic!("{what}: the segment holds no prefix of the commits") };
    assert!(prefix >= script.durable, "{what}: {prefix} commits are there, {} were durable", script.durable);
    prefix
}
