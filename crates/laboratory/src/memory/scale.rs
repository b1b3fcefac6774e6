//! How much of the paper's experiments is run: its own points, or fewer of them.

use crate::memory::disk::Disk;
use crate::memory::oo7::design::Parameters;

/// See the module's description.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// Milliseconds of one turn.
    pub turn_time: u64,
    /// Bytes of the data file of figures 1 to 8.
    pub data_bytes: u64,
    /// Bytes of a transaction, figures 1 and 4.
    pub block_bytes: &'static [u64],
    /// Bytes of the log, figures 2 and 3.
    pub log_bytes: &'static [u64],
    /// Clients at a time, figures 5 to 8.
    pub clients: &'static [usize],
    /// Accounts of TPC-A, in units of 1,024, figures 9 to 11.
    pub accounts: &'static [u64],
    /// Disks, figures 1 to 4 and 9 to 12.
    pub disks: &'static [Disk],
    /// And where several clients have one, figures 5 to 8.
    pub shared_disks: &'static [Disk],
    /// The database of OO7, figure 12.
    pub design: Parameters,
}

/// Block sizes that the paper's text speaks of: 32 bytes (sections 3.4 and 3.5), 128 and 512 (3.3), 2 Kbytes (3.5), 10 Kbytes (3.2).
const BLOCKS: &[u64] = &[32, 128, 512, 2 << 10, 10 << 10];
/// From "a few Kbytes" over 32 Kbytes, from where on the paper's figures are "almost constant" (section 3.3), to the size of all others.
const LOGS: &[u64] = &[4 << 10, 8 << 10, 16 << 10, 32 << 10, 128 << 10, 8 << 20];

/// The paper's own points.
pub const PAPER: Scale = Scale {
    turn_time: 120,
    data_bytes: 100 << 20,
    block_bytes: BLOCKS,
    log_bytes: LOGS,
    clients: &[1, 2, 3, 4],
    accounts: &[32, 128, 512, 1024],
    disks: &[Disk::This, Disk::Model(1), Disk::Model(4), Disk::Model(10)],
    shared_disks: &[Disk::This, Disk::Model(4), Disk::Model(10)],
    design: Parameters::SMALL,
};

/// The same points, for a shorter time and on fewer disks.
pub const QUICK: Scale = Scale {
    turn_time: 50,
    disks: &[Disk::This, Disk::Model(4)],
    shared_disks: &[Disk::This, Disk::Model(4)],
    design: Parameters::TINY,
    ..PAPER
};

/// Enough to see that every experiment works.
pub const SMALLEST: Scale = Scale {
    turn_time: 20,
    data_bytes: 1 << 20,
    block_bytes: &[32, 10 << 10],
    log_bytes: &[4 << 10, 32 << 10],
    clients: &[1, 2],
    accounts: &[1, 4],
    disks: &[Disk::This, Disk::Model(4)],
    shared_disks: &[Disk::Model(4)],
    design: Parameters::SMALLEST,
};
