//! Every log device keeps the contract, and a memory works on each.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use recoverable_memory::device::LogExtent;
#[cfg(not(miri))]
use recoverable_memory::disk::DiskFolder;
use recoverable_memory::file_log::FileLog;
use recoverable_memory::memory_log::VolatileLog;
use recoverable_memory::simulated::SimulatedDisk;
use recoverable_memory::{
    CommitMode, DeviceError, DeviceReceipt, Durability, Error, LogDevice, LogOffset, Memory, RecoverableMemoryOptions,
    Truncation, conformance,
};

use crate::common::{SEGMENT, SEGMENT_BYTES, small};

/// If this fails, a memory on this kind of log loses or invents bytes.
#[test]
fn every_device_keeps_the_contract() {
    conformance::check(&|capacity| Box::new(FileLog::create(&SimulatedDisk::new(), "log", capacity).unwrap()));
    conformance::check(&|capacity| Box::new(VolatileLog::new(capacity, 2)));
}

/// The same on a real disk. If this fails, the simulated one is no twin.
#[test]
#[cfg(not(miri))]
fn a_log_file_on_a_real_disk_keeps_the_contract() {
    let folders = std::cell::RefCell::new(Vec::new());
    conformance::check(&|capacity| {
        let folder = tempfile::tempdir().unwrap();
        let log = FileLog::create(&DiskFolder::new(folder.path()).unwrap(), "log", capacity).unwrap();
        folders.borrow_mut().push(folder);
        Box::new(log)
    });
    let folder = tempfile::tempdir().unwrap();
    let disk = DiskFolder::new(folder.path()).unwrap();
    for capacity in [0, 4095, 4097, u64::MAX] {
        assert!(FileLog::create(&disk, "log", capacity).is_err(), "{capacity} bytes");
    }
    assert!(disk.is_empty().unwrap());
}

fn remote(log: &VolatileLog, disk: &SimulatedDisk) -> Result<Memory, Error> {
    let options = RecoverableMemoryOptions { durability: Durability::Memory { copies: 2 }, ..small() };
    Memory::with_device(Box::new(log.clone()), Box::new(disk.clone()), options)
}

/// If this fails, commits in the memory of other hosts are not there when this host comes back.
#[test]
fn a_commit_in_memory_elsewhere_survives() {
    let (log, disk) = (VolatileLog::new(4096, 2), SimulatedDisk::new());
    let memory = remote(&log, &disk).unwrap();
    memory.create_segment(SEGMENT, SEGMENT_BYTES).unwrap();
    let mut region = memory.map_all(SEGMENT).unwrap();
    // More than the log holds, so that it is truncated too.
    for number in 0..200_u8 {
        let transaction = memory.begin();
        transaction
            .enlist(&mut region)
            .unwrap()
            .set_range(u64::from(number) * 32..u64::from(number) * 32 + 32)
            .unwrap()
            .fill(number);
        let how = if number == 100 { CommitMode::Remote { copies: 3 } } else { CommitMode::Remote { copies: 2 } };
        let receipt = transaction.commit(how).unwrap();
        // Two servers are too few for three copies: the disk has it then.
        assert_eq!(receipt, if number == 100 { DeviceReceipt::Disk } else { DeviceReceipt::Memory { copies: 2 } });
    }
    let transaction = memory.begin();
    transaction.enlist(&mut region).unwrap().set_range(0..32).unwrap().fill(77);
    assert_eq!(transaction.commit(CommitMode::NoFlush).unwrap(), DeviceReceipt::Buffered);
    assert!(memory.statistics().truncations > 0);
    drop((memory, region));
    for kept in [0, 13, 1000] {
        let memory = remote(&log.after_death(kept), &disk.after_power_loss(&mut || false)).unwrap();
        let region = memory.map_all(SEGMENT).unwrap();
        for number in 0..200_u8 {
            let range = u64::from(number) * 32..u64::from(number) * 32 + 32;
            assert_eq!(region.read(range).unwrap(), [number; 32], "kept {kept}");
        }
    }
}

/// If this fails, a memory goes on after its log has failed, and acknowledges what nobody has.
#[test]
fn a_log_that_fails_ends_the_memory() {
    let (log, disk) = (VolatileLog::new(4096, 2), SimulatedDisk::new());
    let memory = remote(&log, &disk).unwrap();
    memory.create_segment(SEGMENT, SEGMENT_BYTES).unwrap();
    let mut region = memory.map_all(SEGMENT).unwrap();
    log.fail_after(0);
    let transaction = memory.begin();
    transaction.enlist(&mut region).unwrap().set_range(0..8).unwrap().fill(1);
    assert!(matches!(transaction.commit(CommitMode::Remote { copies: 2 }), Err(Error::Log(_))));
    assert!(
        matches!(memory.flush(Durability::Disk), Err(Error::Failed { reason }) if reason.contains("servers are gone"))
    );
    let transaction = memory.begin();
    assert!(matches!(transaction.enlist(&mut region), Err(Error::Failed { .. })));
    drop(transaction);
    assert!(matches!(memory.close(), Err(Error::Failed { .. })));
}

/// How a device breaks its contract.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    PanicInAppend,
    AnotherEnd,
    LessThanWanted,
}

/// A device that breaks its contract once it is told to.
struct Faulty {
    log: VolatileLog,
    fault: Fault,
    now: Arc<AtomicBool>,
}

impl Faulty {
    fn is(&self, fault: Fault) -> bool {
        self.fault == fault && self.now.load(Ordering::Relaxed)
    }
}

impl LogDevice for Faulty {
    fn capacity(&self) -> u64 {
        self.log.capacity()
    }
    fn extent(&self) -> Result<LogExtent, DeviceError> {
        self.log.extent()
    }
    fn append(&self, bytes: &[u8]) -> Result<LogOffset, DeviceError> {
        assert!(!self.is(Fault::PanicInAppend), "the planted panic");
        let end = self.log.append(bytes)?;
        Ok(if self.is(Fault::AnotherEnd) { end.plus(8) } else { end })
    }
    fn flush(&self, upto: LogOffset, wanted: Durability) -> Result<DeviceReceipt, DeviceError> {
        let receipt = self.log.flush(upto, wanted)?;
        Ok(if self.is(Fault::LessThanWanted) { DeviceReceipt::Memory { copies: 1 } } else { receipt })
    }
    fn read(&self, from: LogOffset, buffer: &mut [u8]) -> Result<(), DeviceError> {
        self.log.read(from, buffer)
    }
    fn truncate(&self, upto: LogOffset) -> Result<(), DeviceError> {
        self.log.truncate(upto)
    }
    fn reset(&self, at: LogOffset) -> Result<(), DeviceError> {
        self.log.reset(at)
    }
}

/// If this fails, a device that does not keep its word is believed.
#[test]
fn a_device_that_breaks_its_contract_ends_the_memory() {
    for fault in [Fault::PanicInAppend, Fault::AnotherEnd, Fault::LessThanWanted] {
        let (disk, now) = (SimulatedDisk::new(), Arc::new(AtomicBool::new(false)));
        let device = Faulty { log: VolatileLog::new(4096, 2), fault, now: Arc::clone(&now) };
        let memory = Memory::with_device(Box::new(device), Box::new(disk), small()).unwrap();
        memory.create_segment(SEGMENT, SEGMENT_BYTES).unwrap();
        let mut region = memory.map_all(SEGMENT).unwrap();
        let transaction = memory.begin();
        transaction.enlist(&mut region).unwrap().set_range(0..8).unwrap().fill(1);
        transaction.commit(CommitMode::NoFlush).unwrap();
        now.store(true, Ordering::Relaxed);
        let flush = || memory.flush(Durability::Memory { copies: 2 });
        let result = catch_unwind(AssertUnwindSafe(flush));
        assert!(!matches!(result, Ok(Ok(_))), "{fault:?}: {result:?}");
        now.store(false, Ordering::Relaxed);
        assert!(matches!(flush(), Err(Error::Failed { .. })), "{fault:?}");
        assert!(matches!(memory.begin().enlist(&mut region).err(), Some(Error::Failed { .. })), "{fault:?}");
    }
}

/// If this fails, two processes, or two memories of one, write to one log.
#[test]
#[cfg(not(miri))]
fn a_memory_is_open_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new");
    assert!(matches!(Memory::open(&path, RecoverableMemoryOptions::default()), Err(Error::NoLog { .. })));
    let memory = Memory::open_or_create(&path, small()).unwrap();
    assert!(matches!(Memory::open(&path, RecoverableMemoryOptions::default()), Err(Error::Log(_))));
    assert!(matches!(Memory::create(&path, RecoverableMemoryOptions::default()), Err(Error::Log(_))));
    memory.create_segment("data", 4096).unwrap();
    memory.close().unwrap();
    // Another size of log, by the book.
    std::fs::remove_file(path.join(recoverable_memory::memory::LOG_NAME)).unwrap();
    assert!(matches!(Memory::open_or_create(&path, small()), Err(Error::NoLog { .. })));
    let memory = Memory::create(&path, RecoverableMemoryOptions { log_bytes: 8192, ..small() }).unwrap();
    assert_eq!(memory.query().log_bytes_capacity, 8192);
    assert!(memory.map_all("data").is_ok());
}

/// If this fails, options out of range are found out by a panic or never.
#[test]
fn options_are_checked() {
    let disk = SimulatedDisk::new();
    let with = |log: VolatileLog, options| Memory::with_device(Box::new(log), Box::new(disk.clone()), options);
    let too_full = RecoverableMemoryOptions { truncate_at_percent: 101, truncation: Truncation::Inline, ..small() };
    assert!(matches!(with(VolatileLog::new(4096, 1), too_full), Err(Error::Option { value: 101, .. })));
    assert!(matches!(with(VolatileLog::new(100, 1), small()), Err(Error::Option { value: 100, .. })));
}
