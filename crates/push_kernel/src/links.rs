//! Links between programs and devices.
//!
//! Invariant: a link is there as long as its value, or the process, whichever ends first.

use crate::call::{self, BpfCommand};
use crate::failure::KernelFailure;
use push::PushHook;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use std::io;

const ATTACH_INGRESS: u32 = 46;
const ATTACH_EGRESS: u32 = 47;
/// `BPF_LINK_TYPE_TCX`
const KIND_TCX: u32 = 11;

/// A program at a device.
#[derive(Debug)]
pub struct DeviceLink {
    descriptor: OwnedFd,
}

impl DeviceLink {
    /// Attaches a program to a device of this thread's network namespace, behind those that are there.
    pub(crate) fn new(program: BorrowedFd<'_>, hook: PushHook, device: u32) -> Result<DeviceLink, KernelFailure> {
        let attach_type = match hook {
            PushHook::Send => ATTACH_EGRESS,
            PushHook::Receive => ATTACH_INGRESS,
        };
        let mut arguments = call::LinkCreate { program: call::raw(program), device, attach_type, ..Default::default() };
        // SAFETY: the arguments have no address.
        let made = unsafe { call::descriptor(BpfCommand::LinkCreate, &mut arguments) };
        match made {
            Ok(descriptor) => Ok(DeviceLink { descriptor }),
            // A kernel before 6.6 does not know the place.
            Err(why) if why.raw_os_error() == Some(libc::EINVAL) => {
                Err(KernelFailure::Unknown { doing: "attach a program to a device" })
            }
            Err(why) => Err(KernelFailure::of("attach a program to a device", why)),
        }
    }

    /// Its number in the kernel.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn id(&self) -> Result<u32, KernelFailure> {
        info(self.descriptor.as_fd()).map(|info| info.id).map_err(|why| KernelFailure::of("look at a link", why))
    }
}

fn info(link: BorrowedFd<'_>) -> io::Result<call::LinkInfo> {
    // The kernel fills in more for some kinds, if there is room.
    let mut told = [call::LinkInfo::default(); 4];
    let mut arguments = call::Info {
        descriptor: call::raw(link),
        bytes: size_of_val(&told) as u32,
        address: call::address(told.as_mut_ptr()),
    };
    // SAFETY: there is as much room as is said, and any bytes are values of it.
    unsafe { call::bpf(BpfCommand::Info, &mut arguments)? };
    Ok(told[0])
}

/// A link of a program at a device, whoever made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListedLink {
    /// Its number.
    pub id: u32,
    /// The number of its program.
    pub program: u32,
    /// The device's number in its own network namespace; 0 if that is gone.
    pub device: u32,
    /// Where the program stands.
    pub hook: PushHook,
}

/// All links of programs at devices that this kernel has, of all processes and network namespaces.
///
/// # Errors
/// We have not the rights (CAP_SYS_ADMIN).
pub fn all() -> Result<Vec<ListedLink>, KernelFailure> {
    let mut links = Vec::new();
    let mut last = 0;
    loop {
        let mut arguments = call::Identifier { id: last, ..Default::default() };
        // SAFETY: the arguments have no address.
        match unsafe { call::bpf(BpfCommand::NextLink, &mut arguments) } {
            Ok(_) => last = arguments.next,
            Err(end) if end.raw_os_error() == Some(libc::ENOENT) => return Ok(links),
            Err(why) => return Err(KernelFailure::of("list links", why)),
        }
        let mut arguments = call::Identifier { id: last, ..Default::default() };
        // SAFETY: the arguments have no address.
        let opened = unsafe { call::descriptor(BpfCommand::LinkById, &mut arguments) };
        // It may have gone meanwhile.
        let Ok(told) = opened.and_then(|link| info(link.as_fd())) else { continue };
        let hook = if told.attach_type == ATTACH_EGRESS { PushHook::Send } else { PushHook::Receive };
        if told.kind == KIND_TCX {
            links.push(ListedLink { id: told.id, program: told.program, device: told.device, hook });
        }
    }
}
