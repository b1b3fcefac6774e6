//! What every log device has to keep, as checks that panic with what is wrong. Run them on a new kind of device:
//! `conformance::check(&|capacity| Box::new(...))`.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::device::{DeviceError, Durability, LogDevice, LogOffset};

/// Makes an empty device of a capacity.
pub type Make<'a> = &'a dyn Fn(u64) -> Box<dyn LogDevice>;

/// The capacity of the devices that are asked for, in bytes.
pub const CAPACITY: u64 = 4096;

/// Runs every check.
///
/// # Panics
/// If the device does not keep its contract.
pub fn check(make: Make<'_>) {
    what_is_appended_is_read(make(CAPACITY).as_ref());
    it_goes_round(make(CAPACITY).as_ref());
    full_changes_nothing(make(CAPACITY).as_ref());
    a_receipt_is_at_least_what_was_wanted(make(CAPACITY).as_ref());
    a_reset_forgets(make(CAPACITY).as_ref());
    threads_flush_while_one_appends(make(CAPACITY).as_ref());
}

/// An empty device that was opened, as a recovery leaves it.
fn emptied(device: &dyn LogDevice) -> LogOffset {
    let end = device.extent().expect("an extent").end;
    device.reset(end).expect("a reset");
    let extent = device.extent().expect("an extent");
    assert_eq!(
        (extent.start, extent.flushed),
        (end, end),
        "after a reset the log begins there, and nothing before it counts"
    );
    end
}

fn bytes(position: LogOffset, length: u64) -> Vec<u8> {
    (position.0..position.0 + length).map(|at| (at % 251) as u8).collect()
}

fn append(device: &dyn LogDevice, at: LogOffset, length: u64) -> LogOffset {
    let end = device.append(&bytes(at, length)).expect("there is room");
    assert_eq!(end, at.plus(length), "an append returns the end behind its bytes");
    end
}

fn expect(device: &dyn LogDevice, from: LogOffset, until: LogOffset) {
    let mut found = vec![0; until.since(from) as usize];
    device.read(from, &mut found).expect("bytes within the log are read");
    assert_eq!(found, bytes(from, until.since(from)), "bytes {from} to {until}");
}

fn what_is_appended_is_read(device: &dyn LogDevice) {
    assert_eq!(device.capacity(), CAPACITY);
    let start = emptied(device);
    let middle = append(device, start, 100);
    let end = append(device, middle, 1000);
    expect(device, start, end);
    expect(device, middle.plus(7), middle.plus(8));
    device.flush(end, Durability::Disk).expect("a flush");
    assert!(device.extent().expect("an extent").flushed >= end, "what was flushed is told");
    expect(device, start, end);
    let mut two = [0; 2];
    let beyond = device.read(LogOffset(device.extent().expect("an extent").end.0 - 1), &mut two);
    assert!(matches!(beyond, Err(DeviceError::OutOfExtent { .. })), "{beyond:?}");
}

fn it_goes_round(device: &dyn LogDevice) {
    let mut start = emptied(device);
    let mut end = start;
    for lap in 0..20 {
        while end.since(start) + 700 <= CAPACITY {
            end = append(device, end, 700 - lap);
        }
        expect(device, start, end);
        device.flush(end, Durability::Disk).expect("a flush");
        device.truncate(start.plus(1900)).expect("a truncation");
        start = start.plus(1900);
        assert_eq!(device.extent().expect("an extent").start, start);
        let before = device.read(LogOffset(start.0 - 1), &mut [0]);
        assert!(matches!(before, Err(DeviceError::OutOfExtent { .. })), "{before:?}");
    }
    expect(device, start, end);
}

fn full_changes_nothing(device: &dyn LogDevice) {
    let start = emptied(device);
    let end = append(device, start, CAPACITY - 96);
    let refused = device.append(&[1; 97]);
    assert!(matches!(refused, Err(DeviceError::Full { needed: 97, free: 96 })), "{refused:?}");
    let end = append(device, end, 96);
    expect(device, start, end);
    device.flush(end, Durability::Disk).expect("a flush");
    device.truncate(end).expect("a truncation");
    append(device, end, CAPACITY);
}

fn a_receipt_is_at_least_what_was_wanted(device: &dyn LogDevice) {
    let mut end = emptied(device);
    for wanted in [Durability::Disk, Durability::Memory { copies: 1 }, Durability::Memory { copies: 200 }] {
        end = append(device, end, 50);
        // A device may also say that it cannot.
        if let Ok(receipt) = device.flush(end, wanted) {
            assert!(receipt.meets(wanted), "{wanted:?} was wanted, the receipt says {receipt}");
        }
    }
}

fn a_reset_forgets(device: &dyn LogDevice) {
    let start = emptied(device);
    let end = append(device, start, 500);
    device.flush(end, Durability::Disk).expect("a flush");
    let again = device.extent().expect("an extent").end.max(end);
    device.reset(again).expect("a reset");
    assert!(device.read(start, &mut [0]).is_err(), "what a reset has forgotten is not read");
    assert_eq!(append(device, again, 8), again.plus(8));
}

fn threads_flush_while_one_appends(device: &dyn LogDevice) {
    let start = emptied(device);
    let done = AtomicBool::new(false);
    let (told, ends) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for end in ends {
                device.flush(end, Durability::Disk).expect("a flush");
                device.truncate(end).expect("a truncation");
            }
            done.store(true, Ordering::Release);
        });
        let mut end = start;
        let mut appended = 0;
        while appended < 200 {
            match device.append(&bytes(end, 64)) {
                Ok(next) => {
                    end = next;
                    appended += 1;
                    told.send(end).expect("the other thread listens");
                }
                Err(DeviceError::Full { .. }) => std::thread::yield_now(),
                Err(error) => panic!("{error}"),
            }
        }
        drop(told);
    });
    assert!(done.load(Ordering::Acquire));
    assert_eq!(device.extent().expect("an extent").start, start.plus(200 * 64));
}
