//! bpf(2): the arguments of its commands as the kernel lays them out (linux/bpf.h), and the call.
//!
//! Invariant: every address in an argument is of memory that outlives the call and is as long as the argument says.

use rustix::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ffi::c_long;
use std::io;

/// Commands.
#[derive(Clone, Copy)]
pub(crate) enum BpfCommand {
    MapCreate = 0,
    MapLookup = 1,
    MapUpdate = 2,
    ProgramLoad = 5,
    TestRun = 10,
    Info = 15,
    LinkCreate = 28,
    LinkById = 30,
    NextLink = 31,
}

#[repr(C)]
#[derive(Default)]
pub(crate) struct MapCreate {
    pub kind: u32,
    pub key_bytes: u32,
    pub value_bytes: u32,
    pub entries: u32,
    pub flags: u32,
}

#[repr(C)]
#[derive(Default)]
pub(crate) struct MapElement {
    pub map: u32,
    pub padding: u32,
    pub key: u64,
    pub value: u64,
    pub flags: u64,
}

#[repr(C)]
#[derive(Default)]
pub(crate) struct ProgramLoad {
    pub kind: u32,
    pub instructions_count: u32,
    pub instructions: u64,
    pub license: u64,
    pub log_level: u32,
    pub log_bytes: u32,
    pub log: u64,
    pub kernel_version: u32,
    pub flags: u32,
    pub name: [u8; 16],
    pub device: u32,
    pub attach_type: u32,
}

#[repr(C)]
#[derive(Default)]
pub(crate) struct TestRun {
    pub program: u32,
    pub answer: u32,
    pub bytes_in: u32,
    pub bytes_out: u32,
    pub data_in: u64,
    pub data_out: u64,
    pub repeat: u32,
    pub duration_ns: u32,
    pub context: [u64; 3],
    pub flags: u32,
    pub processor: u32,
    pub batch: u32,
    pub padding: u32,
}

#[repr(C)]
#[derive(Default)]
pub(crate) struct LinkCreate {
    pub program: u32,
    pub device: u32,
    pub attach_type: u32,
    pub flags: u32,
    pub relative: u32,
    pub padding: u32,
    pub revision: u64,
}

#[repr(C)]
#[derive(Default)]
pub(crate) struct Identifier {
    pub id: u32,
    pub next: u32,
    pub flags: u32,
}

#[repr(C)]
#[derive(Default)]
pub(crate) struct Info {
    pub descriptor: u32,
    pub bytes: u32,
    pub address: u64,
}

/// The begin of what the kernel tells of a link.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(crate) struct LinkInfo {
    pub kind: u32,
    pub id: u32,
    pub program: u32,
    pub padding: u32,
    pub device: u32,
    pub attach_type: u32,
}

/// Arguments of a command.
///
/// # Safety
/// The type is the begin of the command's member of `union bpf_attr`, without padding that is not a field.
pub(crate) unsafe trait BpfArguments {}

// SAFETY: laid out as linux/bpf.h has it, with all padding named.
unsafe impl BpfArguments for MapCreate {}
// SAFETY: as above.
unsafe impl BpfArguments for MapElement {}
// SAFETY: as above.
unsafe impl BpfArguments for ProgramLoad {}
// SAFETY: as above.
unsafe impl BpfArguments for TestRun {}
// SAFETY: as above.
unsafe impl BpfArguments for LinkCreate {}
// SAFETY: as above.
unsafe impl BpfArguments for Identifier {}
// SAFETY: as above.
unsafe impl BpfArguments for Info {}

/// Calls the kernel.
///
/// # Safety
/// Every address in the arguments is of memory that is there until the call returns, as long as the command takes it to be, and writable where it writes.
pub(crate) unsafe fn bpf<A: BpfArguments>(command: BpfCommand, arguments: &mut A) -> io::Result<c_long> {
    // SAFETY: the arguments are as long as is said; what they point to is the caller's promise.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_bpf,
            command as libc::c_int,
            std::ptr::from_mut(arguments),
            size_of::<A>() as libc::c_uint,
        )
    };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(answer) }
}

/// Calls the kernel for a descriptor.
///
/// # Safety
/// As of [`bpf`]; and the command is one that answers with a new descriptor.
pub(crate) unsafe fn descriptor<A: BpfArguments>(command: BpfCommand, arguments: &mut A) -> io::Result<OwnedFd> {
    // SAFETY: as this function's caller promises.
    let answer = unsafe { bpf(command, arguments)? };
    // SAFETY: the descriptor is new, so nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(answer as i32) })
}

/// A descriptor as arguments have it.
pub(crate) fn raw(descriptor: BorrowedFd<'_>) -> u32 {
    descriptor.as_raw_fd() as u32
}

/// An address as arguments have it.
pub(crate) fn address<T>(of: *const T) -> u64 {
    of as usize as u64
}
