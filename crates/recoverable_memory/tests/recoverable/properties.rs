//! Any sequence of operations, against a plain model: one array for memory, one for what is durable at least.

use proptest::prelude::*;
use recoverable_memory::simulated::SimulatedDisk;
use recoverable_memory::{CommitMode, Durability, RecoverableMemoryOptions, Region};

use crate::common::{Numbers, SEGMENT, SEGMENT_BYTES, fresh, open, small};

#[derive(Clone, Debug)]
enum Operation {
    Transaction {
        ranges: Vec<(u64, u64, u8)>,
        restore: bool,
        end: End,
    },
    Flush,
    Truncate,
    /// The region is unmapped and mapped again.
    Remap,
    /// The process dies, or the power goes, and the memory is opened again.
    Crash {
        power: bool,
        seed: u64,
    },
    Close,
}

#[derive(Clone, Copy, Debug)]
enum End {
    Commit,
    CommitFlush,
    Abort,
}

fn operation() -> impl Strategy<Value = Operation> {
    let ranges = proptest::collection::vec((0..SEGMENT_BYTES - 40, 0..40_u64, any::<u8>()), 0..5);
    let end = prop_oneof![4 => Just(End::Commit), 2 => Just(End::CommitFlush), 2 => Just(End::Abort)];
    let transaction =
        (ranges, any::<bool>(), end).prop_map(|(ranges, restore, end)| Operation::Transaction { ranges, restore, end });
    prop_oneof![
        24 => transaction,
        2 => Just(Operation::Flush),
        1 => Just(Operation::Truncate),
        1 => Just(Operation::Remap),
        2 => (any::<bool>(), any::<u64>()).prop_map(|(power, seed)| Operation::Crash { power, seed }),
        1 => Just(Operation::Close),
    ]
}

/// The states that may be found after a crash: that of the last flush, and each one since.
struct Model {
    possible: Vec<Vec<u8>>,
}

impl Model {
    fn now(&self) -> &[u8] {
        self.possible.last().expect("there is always a state")
    }

    fn flushed(&mut self) {
        self.possible.drain(..self.possible.len() - 1);
    }
}

fn transact(
    memory: &recoverable_memory::Memory,
    region: &mut Region,
    model: &mut Model,
    ranges: &[(u64, u64, u8)],
    restore: bool,
    end: End,
) -> Result<(), TestCaseError> {
    let mut state = model.now().to_vec();
    let how = if matches!(end, End::CommitFlush) { CommitMode::Flush } else { CommitMode::NoFlush };
    for &(start, length, value) in ranges {
        state[start as usize..(start + length) as usize].fill(value);
    }
    if !restore && !matches!(end, End::Abort) {
        let transaction = memory.begin_no_restore();
        let mut enlisted = transaction.enlist(region).expect("the memory is well");
        for &(start, length, value) in ranges {
            enlisted.set_range(start..start + length).expect("it fits").fill(value);
        }
        transaction.commit(how).expect("the disk is well");
    } else {
        let transaction = memory.begin();
        let mut enlisted = transaction.enlist(region).expect("the memory is well");
        for &(start, length, value) in ranges {
            enlisted.set_range(start..start + length).expect("it fits").fill(value);
        }
        prop_assert_eq!(enlisted.read(0..SEGMENT_BYTES).expect("all of it"), &state[..]);
        if matches!(end, End::Abort) {
            transaction.abort();
            return Ok(());
        }
        transaction.commit(how).expect("the disk is well");
    }
    model.possible.push(state);
    if how == CommitMode::Flush {
        model.flushed();
    }
    Ok(())
}

fn run(operations: &[Operation], options: RecoverableMemoryOptions) -> Result<(), TestCaseError> {
    let mut disk = SimulatedDisk::new();
    let (mut memory, mut region) = fresh(&disk, options).expect("an empty disk");
    let mut model = Model { possible: vec![vec![0; SEGMENT_BYTES as usize]] };
    for operation in operations {
        let begin_again = match operation {
            Operation::Transaction { ranges, restore, end } => {
                transact(&memory, &mut region, &mut model, ranges, *restore, *end)?;
                false
            }
            Operation::Flush => {
                memory.flush(Durability::Disk).expect("the disk is well");
                model.flushed();
                false
            }
            Operation::Truncate => {
                memory.truncate().expect("the disk is well");
                model.flushed();
                false
            }
            Operation::Remap => {
                drop(region);
                region = memory.map_all(SEGMENT).expect("it is not mapped");
                // To map, everything was brought to the segments.
                model.flushed();
                false
            }
            Operation::Crash { power, seed } => {
                let mut numbers = Numbers(*seed);
                disk = if *power { disk.after_power_loss(&mut || numbers.below(2) == 0) } else { disk.after_death() };
                true
            }
            Operation::Close => {
                memory.truncate().expect("the disk is well");
                model.flushed();
                disk = disk.after_power_loss(&mut || false);
                true
            }
        };
        if begin_again {
            memory = open(&disk, options).expect("a crash is recovered from");
            region = memory.map_all(SEGMENT).expect("it is there");
            let found = model.possible.iter().rposition(|state| state == region.bytes());
            prop_assert!(found.is_some(), "what is found is none of {} possible states", model.possible.len());
            model.possible = vec![region.bytes().to_vec()];
        }
        prop_assert_eq!(region.bytes(), model.now());
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 2 } else { 300 },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// If this fails, some sequence of commits, aborts, truncations and crashes loses a flushed commit, keeps half of one, or shows in
    /// memory what was never written.
    #[test]
    fn any_sequence_agrees_with_the_model(
        operations in proptest::collection::vec(operation(), 0..120),
        spool_bytes in prop_oneof![Just(0_usize), Just(400), Just(100_000)],
        truncate_at_percent in 0..=100_u8,
    ) {
        run(&operations, RecoverableMemoryOptions { spool_bytes, truncate_at_percent, ..small() })?;
    }
}
