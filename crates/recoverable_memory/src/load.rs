//! The papers' loads on recoverable memory: blocks of a file written one after the other or at random, and TPC-A.
//!
//! Sources: the network-memory paper, sections 3.2 to 3.4 (blocks) and 3.7 (TPC-A), whose TPC-A is that of the RVM paper, section 7.1:
//! accounts of 128 bytes and an audit trail of records of 64 bytes, each about half of the memory; a transaction adds an amount to an
//! account, its teller and its branch, and appends to the audit trail, which goes round. *Localized* is theirs too: 70 % of the transactions
//! update accounts on 5 % of the pages, 25 % on another 15 %, and 5 % on the rest.
//!
//! Invariant: after any crash the sums of accounts, tellers and branches are equal ([`DebitCreditLoad::audit`]).

use std::fs::OpenOptions;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::device::{DeviceReceipt, Durability};
use crate::error::{Error, RangeError};
use crate::limits::PAGE_BYTES;
use crate::memory::Memory;
use crate::plain::Offset;
use crate::region::Region;
use crate::transaction::{CommitMode, Enlisted, RestoreMode};

/// What a transaction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadWork {
    /// Writes a block.
    Blocks {
        /// Bytes of a block, 1 or more.
        block_bytes: u64,
        /// Bytes of the file, at least a block. Rounded up to whole pages.
        data_bytes: u64,
    },
    /// Books an amount.
    TpcA {
        /// Accounts, 1 or more.
        accounts: u64,
    },
}

/// Where in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessPattern {
    /// One place after the other, round and round.
    Sequential,
    /// Anywhere with the same probability.
    Random,
    /// Mostly in a few places, as above.
    Localized,
}

/// A load.
#[derive(Clone, Copy, Debug)]
pub struct LoadSettings {
    /// What a transaction does.
    pub work: LoadWork,
    /// Where.
    pub pattern: AccessPattern,
    /// What its commit waits for.
    pub commit: CommitMode,
    /// Whether it keeps old values.
    pub restore: bool,
    /// The same seed makes the same transactions.
    pub seed: u64,
}

/// What a run came to.
#[derive(Clone, Copy, Debug)]
pub struct LoadOutcome {
    /// Transactions committed.
    pub transactions: u64,
    /// How long they took, with the flush at the end.
    pub elapsed: Duration,
    /// How long that flush took.
    pub last_flush: Duration,
    /// What makes all of them durable.
    pub receipt: DeviceReceipt,
}

impl LoadOutcome {
    /// Transactions per second.
    pub fn rate(&self) -> f64 {
        self.transactions as f64 / self.elapsed.as_secs_f64()
    }
}

/// A failure of a load.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// Of the memory.
    #[error(transparent)]
    Memory(#[from] Error),
    /// A transaction is larger than the log allows.
    #[error(transparent)]
    Range(#[from] RangeError),
    /// A setting that makes no sense.
    #[error("a load of {work:?} is not possible: {expected}")]
    Settings {
        /// What was asked for.
        work: LoadWork,
        /// What is possible.
        expected: &'static str,
    },
    /// The sums of TPC-A differ, or the audit trail is not what it should be.
    #[error("the books do not balance: accounts {accounts}, tellers {tellers}, branches {branches}")]
    Unbalanced {
        /// Sum of all accounts.
        accounts: i64,
        /// Sum of all tellers.
        tellers: i64,
        /// Sum of all branches.
        branches: i64,
    },
}

/// The name of the segment of a load.
pub const SEGMENT: &str = "load";

#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
struct LoadAccount {
    balance: i64,
    filler: [u8; 120],
}

#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
struct LoadAudit {
    account: u64,
    teller: u64,
    branch: u64,
    amount: i64,
    number: u64,
    filler: [u8; 24],
}

/// How TPC-A relates its parts: tellers of a branch, and accounts of a branch.
const TELLERS: u64 = 10;
const ACCOUNTS: u64 = 100_000;

/// Where the parts of TPC-A stand in the segment.
#[derive(Clone, Copy, Debug)]
struct Bank {
    accounts: u64,
    branches: u64,
    audits: u64,
}

impl Bank {
    fn new(accounts: u64) -> Bank {
        // As many bytes of audit trail as of accounts.
        Bank { accounts, branches: accounts.div_ceil(ACCOUNTS), audits: accounts * 2 }
    }

    fn account(self, index: u64) -> Offset<LoadAccount> {
        Offset::new(index * size_of::<LoadAccount>() as u64)
    }

    fn audit(self, index: u64) -> Offset<LoadAudit> {
        Offset::new(self.account(self.accounts).bytes() + index % self.audits * size_of::<LoadAudit>() as u64)
    }

    fn branch(self, index: u64) -> Offset<i64> {
        Offset::new(self.account(self.accounts).bytes() + self.audits * size_of::<LoadAudit>() as u64 + index * 8)
    }

    fn teller(self, index: u64) -> Offset<i64> {
        Offset::new(self.branch(self.branches).bytes() + index * 8)
    }

    /// How many transactions there were, in the same transaction as what they did.
    fn booked(self) -> Offset<u64> {
        Offset::new(self.teller(self.branches * TELLERS).bytes())
    }

    fn bytes(self) -> u64 {
        self.booked().bytes() + 8
    }
}

/// A load on a memory: its segment is mapped as long as this lives.
pub struct DebitCreditLoad {
    settings: LoadSettings,
    region: Region,
    places: LoadPlaces,
    /// Transactions of TPC-A so far, those of earlier loads too; of blocks, those of this one.
    number: u64,
}

impl DebitCreditLoad {
    /// Maps the load's segment, which is made if it is not there.
    ///
    /// # Errors
    /// Of the memory; [`LoadError::Settings`], also when the segment is there for another load.
    pub fn new(memory: &Memory, settings: LoadSettings) -> Result<DebitCreditLoad, LoadError> {
        let work = settings.work;
        let impossible = |expected| LoadError::Settings { work, expected };
        let (bytes, places, place_bytes) = match work {
            LoadWork::Blocks { block_bytes, data_bytes } => {
                if block_bytes == 0 || data_bytes < block_bytes {
                    return Err(impossible("a file has a block at least, and a block a byte"));
                }
                (data_bytes, data_bytes / block_bytes, block_bytes)
            }
            LoadWork::TpcA { accounts } if (1..1 << 32).contains(&accounts) => {
                (Bank::new(accounts).bytes(), accounts, size_of::<LoadAccount>() as u64)
            }
            LoadWork::TpcA { .. } => return Err(impossible("1 to 4 thousand million accounts")),
        };
        let bytes = bytes.next_multiple_of(PAGE_BYTES);
        match memory.segment_bytes(SEGMENT)? {
            None => memory.create_segment(SEGMENT, bytes)?,
            Some(found) if found == bytes => {}
            Some(_) => return Err(impossible("the segment is there for a load of another size")),
        }
        let region = memory.map_all(SEGMENT)?;
        let number = match work {
            LoadWork::TpcA { accounts } => *region.get(Bank::new(accounts).booked())?,
            LoadWork::Blocks { .. } => 0,
        };
        let places =
            LoadPlaces { numbers: RandomNumbers(settings.seed), pattern: settings.pattern, count: places, place_bytes };
        Ok(DebitCreditLoad { settings, region, places, number })
    }

    /// Runs so many transactions and flushes at the end.
    ///
    /// # Errors
    /// Of the memory.
    pub fn run(&mut self, memory: &Memory, transactions: u64) -> Result<LoadOutcome, LoadError> {
        let begin = Instant::now();
        for _ in 0..transactions {
            self.transaction(memory)?;
        }
        let flush = Instant::now();
        let receipt = memory.flush(match self.settings.commit {
            CommitMode::Remote { copies } => Durability::Memory { copies },
            CommitMode::NoFlush | CommitMode::Flush => Durability::Disk,
        })?;
        Ok(LoadOutcome { transactions, elapsed: begin.elapsed(), last_flush: flush.elapsed(), receipt })
    }

    /// Runs one transaction.
    ///
    /// # Errors
    /// Of the memory.
    pub fn transaction(&mut self, memory: &Memory) -> Result<DeviceReceipt, LoadError> {
        let place = self.places.place(self.number);
        let amount = self.places.numbers.below(1999) as i64 - 999;
        let job = LoadJob { work: self.settings.work, place, amount, number: self.number };
        self.number += 1;
        if self.settings.restore {
            let transaction = memory.begin();
            job.run(&mut transaction.enlist(&mut self.region)?)?;
            Ok(transaction.commit(self.settings.commit)?)
        } else {
            let transaction = memory.begin_no_restore();
            job.run(&mut transaction.enlist(&mut self.region)?)?;
            Ok(transaction.commit(self.settings.commit)?)
        }
    }

    /// Transactions of TPC-A that the segment knows of, whoever made them; of blocks, those of this load.
    pub fn transactions(&self) -> u64 {
        self.number
    }

    /// Looks whether the books of TPC-A balance.
    ///
    /// # Errors
    /// [`LoadError::Unbalanced`].
    pub fn audit(&self) -> Result<(), LoadError> {
        let LoadWork::TpcA { accounts } = self.settings.work else { return Ok(()) };
        let bank = Bank::new(accounts);
        let sum = |values: &[i64]| values.iter().sum::<i64>();
        let accounts = self.region.get_slice(bank.account(0), accounts as usize)?.iter().map(|account| account.balance);
        let accounts = accounts.sum();
        let branches = sum(self.region.get_slice(bank.branch(0), bank.branches as usize)?);
        let tellers = sum(self.region.get_slice(bank.teller(0), (bank.branches * TELLERS) as usize)?);
        if accounts == branches && branches == tellers {
            return Ok(());
        }
        Err(LoadError::Unbalanced { accounts, tellers, branches })
    }
}

/// One transaction's work.
struct LoadJob {
    work: LoadWork,
    place: u64,
    amount: i64,
    number: u64,
}

impl LoadJob {
    fn run<M: RestoreMode>(&self, region: &mut Enlisted<'_, '_, M>) -> Result<(), RangeError> {
        match self.work {
            LoadWork::Blocks { block_bytes, .. } => {
                let start = self.place * block_bytes;
                region.set_range(start..start + block_bytes)?.fill(self.number as u8);
            }
            LoadWork::TpcA { accounts } => {
                let bank = Bank::new(accounts);
                let branch = self.place / ACCOUNTS;
                let teller = branch * TELLERS + self.number % TELLERS;
                let balance: Offset<i64> = Offset::new(bank.account(self.place).bytes());
                for offset in [balance, bank.teller(teller), bank.branch(branch)] {
                    *region.set(offset)? += self.amount;
                }
                let (account, amount, number) = (self.place, self.amount, self.number);
                *region.set(bank.audit(number))? =
                    LoadAudit { account, teller, branch, amount, number, filler: [0; 24] };
                *region.set(bank.booked())? = number + 1;
            }
        }
        Ok(())
    }
}

/// Which place a transaction takes.
struct LoadPlaces {
    numbers: RandomNumbers,
    pattern: AccessPattern,
    count: u64,
    place_bytes: u64,
}

impl LoadPlaces {
    fn place(&mut self, number: u64) -> u64 {
        match self.pattern {
            AccessPattern::Sequential => number % self.count,
            AccessPattern::Random => self.numbers.below(self.count),
            AccessPattern::Localized => {
                let pages = self.localized_pages();
                let page = pages.start + self.numbers.below((pages.end - pages.start).max(1));
                let in_page = (PAGE_BYTES / self.place_bytes).max(1);
                (page * in_page + self.numbers.below(in_page)).min(self.count - 1)
            }
        }
    }

    fn localized_pages(&mut self) -> Range<u64> {
        let pages = (self.count * self.place_bytes).div_ceil(PAGE_BYTES.max(self.place_bytes));
        match self.numbers.below(100) {
            0..70 => 0..pages * 5 / 100,
            70..95 => pages * 5 / 100..pages * 20 / 100,
            _ => pages * 20 / 100..pages,
        }
    }
}

/// Numbers that look random (splitmix64: G. Steele, D. Lea, C. Flood, OOPSLA 2014).
struct RandomNumbers(u64);

impl RandomNumbers {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }
}

/// How long syncs of a page take in a folder, shortest first: what a commit that waits for the disk cannot be faster than.
///
/// # Errors
/// Of the operating system.
pub fn sync_latencies(folder: &Path, syncs: usize) -> io::Result<Vec<Duration>> {
    let path = folder.join("sync-latency.probe");
    let file = OpenOptions::new().write(true).create(true).truncate(true).open(&path)?;
    let measure = |_| {
        file.write_all_at(&[0x5a; PAGE_BYTES as usize], 0)?;
        let begin = Instant::now();
        file.sync_data()?;
        Ok(begin.elapsed())
    };
    // The first one also gives the page its place on the disk.
    let latencies: io::Result<Vec<Duration>> = measure(0).and_then(|_| (0..syncs).map(measure).collect());
    std::fs::remove_file(&path)?;
    let mut latencies = latencies?;
    latencies.sort_unstable();
    Ok(latencies)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If this fails, the localized load is another one than the papers'.
    #[test]
    fn localized_accesses_have_the_papers_shares() {
        let count = 32 * 1024;
        let mut places =
            LoadPlaces { numbers: RandomNumbers(1), pattern: AccessPattern::Localized, count, place_bytes: 128 };
        let draws = 20_000;
        let mut shares = [0_u64; 3];
        for number in 0..draws {
            let percent = places.place(number) * 100 / count;
            shares[usize::from(percent >= 5) + usize::from(percent >= 20)] += 1;
        }
        for (share, percent) in shares.into_iter().zip([70, 25, 5]) {
            assert!((share * 100).abs_diff(draws * percent) < draws, "{shares:?}");
        }
    }
}
