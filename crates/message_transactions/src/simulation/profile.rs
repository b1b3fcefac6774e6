//! What kind of run a seed makes.

use raidcomm::limits::{MILLISECOND, SECOND};
use seeded_random::SplitMix64;

/// The kind of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelRunProfile {
    /// Kernels.
    pub nodes: usize,
    /// Servers.
    pub servers: usize,
    /// Clients.
    pub clients: usize,
    /// Operations of each client.
    pub operations: u32,
    /// Packets that are lost, of a hundred.
    pub loss_percent: u64,
    /// Packets that are doubled, of a hundred.
    pub duplicate_percent: u64,
    /// Longest delay of an ordinary packet.
    pub delay_max: u64,
    /// Packets that are delayed by up to most of a packet's life, of a hundred.
    pub straggler_percent: u64,
    /// Requests that take seconds, of a hundred.
    pub slow_percent: u64,
    /// Crashes of kernels.
    pub crashes: u32,
    /// Times that a link is cut.
    pub cuts: u32,
    /// Times that a process moves.
    pub moves: u32,
    /// Senders that a kernel can remember.
    pub aliens_max: usize,
    /// When faults stop.
    pub calm: u64,
    /// Bytes of the largest transfer.
    pub bulk_max: u64,
}

impl KernelRunProfile {
    /// The kind of run that belongs to a seed.
    pub fn of(seed: u64) -> KernelRunProfile {
        let mut random = SplitMix64::new(seed ^ 0x5eed);
        let faulty = !random.percent(20);
        let mut some = |percent: u64, bound: u64| {
            let drawn = random.below(bound.max(1)) + 1;
            if random.percent(percent) { drawn } else { 0 }
        };
        let (loss_percent, duplicate_percent) = if faulty { (some(70, 30), some(50, 30)) } else { (0, 0) };
        let straggler_percent = if faulty { some(40, 10) } else { 0 };
        let (crashes, cuts) = if faulty { (some(25, 2) as u32, some(30, 2) as u32) } else { (0, 0) };
        KernelRunProfile {
            nodes: 2 + some(60, 2) as usize,
            servers: 1 + some(80, 3) as usize,
            clients: 1 + some(90, 4) as usize,
            operations: 2 + some(90, 6) as u32,
            loss_percent,
            duplicate_percent,
            delay_max: (1 + some(40, 40)) * MILLISECOND,
            straggler_percent,
            slow_percent: some(30, 30),
            crashes,
            cuts,
            moves: some(40, 4) as u32,
            aliens_max: if some(15, 1) == 1 { 2 } else { 64 },
            calm: if faulty { 3 * SECOND } else { 0 },
            bulk_max: 1 + some(60, 120_000),
        }
    }
}
