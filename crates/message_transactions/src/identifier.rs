//! Who a message is for: processes, groups and hosts.
//!
//! Invariant: the top bit of a destination tells a group from a process in one test, and host identifiers keep it clear.

use std::fmt;

/// A logical host: one life of one kernel. 31 bits, of which none is reused on purpose.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LogicalHostId(pub(crate) u32);

/// A process. Its host part says which kernel made it, which need not be the one that has it now.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProcessId(pub(crate) u64);

/// A group of processes, wherever they are.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProcessGroupId(pub(crate) u64);

/// Where a message goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MessageDestination {
    /// To one process.
    Process(ProcessId),
    /// To all members of a group.
    Group(ProcessGroupId),
}

const GROUP_BIT: u64 = 1 << 63;

impl LogicalHostId {
    /// The host identifier in the low 31 bits.
    pub fn from_random(bits: u64) -> LogicalHostId {
        LogicalHostId(bits as u32 & (u32::MAX >> 1))
    }

    /// As a number, to be written down or sent; the top bit is clear.
    pub fn to_bits(self) -> u32 {
        self.0
    }

    /// From a number that was written down; `None` if it is none of a host.
    pub fn from_bits(bits: u32) -> Option<LogicalHostId> {
        (bits >> 31 == 0).then_some(LogicalHostId(bits))
    }

    /// The kernel itself, which is addressed like a process: it joins groups and answers whether processes exist.
    pub fn kernel_server(self) -> ProcessId {
        ProcessId::new(self, 0)
    }
}

impl ProcessId {
    /// No process: fields of packets that name nobody.
    pub(crate) const NOBODY: ProcessId = ProcessId(0);

    pub(crate) fn new(host: LogicalHostId, number: u32) -> ProcessId {
        ProcessId(u64::from(host.0) << 32 | u64::from(number))
    }

    /// The kernel that made it.
    pub fn host(self) -> LogicalHostId {
        LogicalHostId((self.0 >> 32) as u32)
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

impl ProcessGroupId {
    /// A group that is known beforehand by its number; the top bit is set in any case.
    pub const fn well_known(number: u64) -> ProcessGroupId {
        ProcessGroupId(number | GROUP_BIT)
    }

    /// As a number, to be written down or sent; the top bit is set.
    pub fn to_bits(self) -> u64 {
        self.0
    }
}

impl MessageDestination {
    /// As it stands in a packet.
    pub fn to_bits(self) -> u64 {
        match self {
            MessageDestination::Process(process) => process.0,
            MessageDestination::Group(group) => group.0,
        }
    }

    /// From a packet.
    pub fn from_bits(bits: u64) -> MessageDestination {
        if bits & GROUP_BIT == 0 {
            MessageDestination::Process(ProcessId(bits))
        } else {
            MessageDestination::Group(ProcessGroupId(bits))
        }
    }
}

impl From<ProcessId> for MessageDestination {
    fn from(process: ProcessId) -> MessageDestination {
        MessageDestination::Process(process)
    }
}

impl From<ProcessGroupId> for MessageDestination {
    fn from(group: ProcessGroupId) -> MessageDestination {
        MessageDestination::Group(group)
    }
}

impl fmt::Debug for LogicalHostId {
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

impl fmt::Debug for ProcessGroupId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "group {:016x}", self.0)
    }
}
