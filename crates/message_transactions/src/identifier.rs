//! Who a message is for: processes, groups and hosts.
//!
//! Invariant: the top bit of a destination tells a group from a process in one test, and host identifiers keep it clear.

use std::fmt;

/// A logical host: one life of one kernel. 31 bits, of which none is reused on purpose.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostId(pub(crate) u32);

/// A process. Its host part says which kernel made it, which need not be the one that has it now.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProcessId(pub(crate) u64);

/// A group of processes, wherever they are.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupId(pub(crate) u64);

/// Where a message goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Destination {
    /// To one process.
    Process(ProcessId),
    /// To all members of a group.
    Group(GroupId),
}

const GROUP_BIT: u64 = 1 << 63;

impl HostId {
    /// The host identifier in the low 31 bits.
    pub fn from_random(bits: u64) -> HostId {
        HostId(bits as u32 & (u32::MAX >> 1))
    }

    /// As a number, to be written down or sent; the top bit is clear.
    pub fn to_bits(self) -> u32 {
        self.0
    }

    /// From a number that was written down; `None` if it is none of a host.
    pub fn from_bits(bits: u32) -> Option<HostId> {
        (bits >> 31 == 0).then_some(HostId(bits))
    }

    /// The kernel itself, which is addressed like a process: it joins groups and answers whether processes exist.
    pub fn kernel_server(self) -> ProcessId {
        ProcessId::new(self, 0)
    }
}

impl ProcessId {
    /// No process: fields of packets that name nobody.
    pub(crate) const NOBODY: ProcessId = ProcessId(0);

    pub(crate) fn new(host: HostId, number: u32) -> ProcessId {
        ProcessId(u64::from(host.0) << 32 | u64::from(number))
    }

    /// The kernel that made it.
    pub fn host(self) -> HostId {
        HostId((self.0 >> 32) as u32)
    }

    /// Its number there; 0 is the kernel itself.
    pub fn number(self) -> u32 {
        self.0 as u32
    }

    /// As a number, to be written down or sent; the top bit is clear.
    pub fn to_bits(self) -> u64 {
        self.0
    }

    /// From a number that was written down; `None` if it names a group.
    pub fn from_bits(bits: u64) -> Option<ProcessId> {
        (bits & GROUP_BIT == 0).then_some(ProcessId(bits))
    }
}

impl GroupId {
    /// A group that is known beforehand by its number; the top bit is set in any case.
    pub const fn well_known(number: u64) -> GroupId {
        GroupId(number | GROUP_BIT)
    }

    /// As a number, to be written down or sent; the top bit is set.
    pub fn to_bits(self) -> u64 {
        self.0
    }
}

impl Destination {
    /// As it stands in a packet.
    pub fn to_bits(self) -> u64 {
        match self {
            Destination::Process(process) => process.0,
            Destination::Group(group) => group.0,
        }
    }

    /// From a packet.
    pub fn from_bits(bits: u64) -> Destination {
        if bits & GROUP_BIT == 0 { Destination::Process(ProcessId(bits)) } else { Destination::Group(GroupId(bits)) }
    }
}

impl From<ProcessId> for Destination {
    fn from(process: ProcessId) -> Destination {
        Destination::Process(process)
    }
}

impl From<GroupId> for Destination {
    fn from(group: GroupId) -> Destination {
        Destination::Group(group)
    }
}

impl fmt::Debug for HostId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "host {:08x}", self.0)
    }
}

impl fmt::Debug for ProcessId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for ProcessId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {:08x}.{}", self.host().0, self.number())
    }
}

impl fmt::Debug for GroupId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "group {:016x}", self.0)
    }
}
