//! A client's process: recoverable memory with a load of the paper's, which does as it is told by lines on its standard input.
//!
//! Invariant: each turn begins with an empty log, and with what the turns before have left in the data.

use laboratory_harness::process::say;
use laboratory_harness::{Failure, Outcome};
use recoverable_memory::device::DeviceReceipt;
use recoverable_memory::file_log::FileLog;
use recoverable_memory::load::{AccessPattern, DebitCreditLoad, LoadSettings, LoadWork};
use recoverable_memory::memory::LOG_NAME;
use recoverable_memory::{CommitMode, Durability, LogDevice, Memory, RecoverableMemoryOptions};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::memory::device::SharedDevice;
use crate::memory::disk::Files;
use crate::memory::limits::{MEMORY_TIME, TRANSACTIONS_MAX};
use crate::memory::system::{Log, System};

/// Where transactions write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Places {
    /// One after the other.
    Sequential,
    /// Anywhere.
    Random,
    /// Mostly in a few.
    Localized,
}

impl Places {
    fn pattern(self) -> AccessPattern {
        match self {
            Places::Sequential => AccessPattern::Sequential,
            Places::Random => AccessPattern::Random,
            Places::Localized => AccessPattern::Localized,
        }
    }
}

/// What transactions write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Data {
    /// Blocks of a file.
    Blocks {
        /// Bytes of a block.
        block_bytes: u64,
        /// Bytes of the file.
        data_bytes: u64,
    },
    /// TPC-A.
    Accounts {
        /// How many.
        accounts: u64,
    },
}

impl Data {
    fn work(self) -> LoadWork {
        match self {
            Data::Blocks { block_bytes, data_bytes } => LoadWork::Blocks { block_bytes, data_bytes },
            Data::Accounts { accounts } => LoadWork::TpcA { accounts },
        }
    }

    /// Loads whose data is of one size can have the same.
    fn folder(self) -> String {
        match self {
            Data::Blocks { data_bytes, .. } => format!("data-{data_bytes}"),
            Data::Accounts { accounts } => format!("accounts-{accounts}"),
        }
    }
}

/// One turn of a load on a system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// The system.
    pub system: System,
    /// Bytes of its log.
    pub log_bytes: u64,
    /// What transactions write.
    pub data: Data,
    /// And where.
    pub places: Places,
    /// The same seed makes the same transactions.
    pub seed: u64,
}

/// What a client is told to do. It answers each with a [`Reply`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Order {
    /// Open everything, so that a transaction can begin at once.
    Prepare(Turn),
    /// Run transactions for so many milliseconds, at most [`TRANSACTIONS_MAX`].
    Go(u64),
    /// Look whether the books balance, and close everything.
    Rest,
}

/// What a client answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Reply {
    /// It has done it.
    Done,
    /// It has run transactions.
    Ran(Ran),
    /// It could not; the reason. It can be told something else.
    Failed(String),
}

/// What a client has measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ran {
    /// Transactions committed.
    pub transactions: u64,
    /// Of those, the ones whose receipt is for the disk.
    pub by_disk: u64,
    /// How long they took, in nanoseconds.
    pub nanoseconds: u64,
}

impl Ran {
    /// Transactions in a second.
    pub fn rate(&self) -> f64 {
        self.transactions as f64 * 1e9 / self.nanoseconds.max(1) as f64
    }
}

struct Prepared {
    /// Before its memory, which it must not outlive.
    load: DebitCreditLoad,
    memory: Memory,
}

struct Client {
    folder: PathBuf,
    servers: Vec<SocketAddr>,
    /// By number of servers.
    devices: BTreeMap<u8, SharedDevice>,
    prepared: Option<Prepared>,
}

/// Does what it is told until nobody tells it anything more. Files are in `folder`; of the `servers` the first k are used.
///
/// # Errors
/// Its standard input or output is broken.
pub fn serve(folder: PathBuf, servers: Vec<SocketAddr>) -> Outcome<()> {
    let mut client = Client { folder, servers, devices: BTreeMap::new(), prepared: None };
    say(&serde_json::to_string(&Reply::Done)?)?;
    for line in std::io::stdin().lines() {
        let order: Order = serde_json::from_str(&line?)?;
        let reply = client.obey(order).unwrap_or_else(|failure| {
            // A log that has failed does so for good.
            client.prepared = None;
            client.devices.clear();
            Reply::Failed(failure.to_string())
        });
        say(&serde_json::to_string(&reply)?)?;
    }
    Ok(())
}

impl Client {
    fn obey(&mut self, order: Order) -> Outcome<Reply> {
        match order {
            Order::Prepare(turn) => {
                self.prepared = None;
                self.prepared = Some(self.prepare(turn)?);
                Ok(Reply::Done)
            }
            Order::Go(milliseconds) => {
                let nothing = || Failure::Wrong("nothing was prepared".to_owned());
                self.prepared.as_mut().ok_or_else(nothing)?.run(milliseconds).map(Reply::Ran)
            }
            Order::Rest => {
                if let Some(Prepared { load, memory }) = self.prepared.take() {
                    load.audit().map_err(Failure::foreign)?;
                    drop(load);
                    memory.close().map_err(Failure::foreign)?;
                }
                Ok(Reply::Done)
            }
        }
    }

    fn prepare(&mut self, turn: Turn) -> Outcome<Prepared> {
        let folder = self.folder.join(turn.data.folder());
        fs::create_dir_all(&folder)?;
        let files = Files::new(&folder, turn.system.disk)?;
        let (device, durability, commit): (Box<dyn LogDevice>, _, _) = match turn.system.log {
            Log::Disk => {
                match fs::remove_file(folder.join(LOG_NAME)) {
                    Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
                    _ => {}
                }
                let log = FileLog::create(&files, LOG_NAME, turn.log_bytes).map_err(Failure::foreign)?;
                (Box::new(log), Durability::Disk, CommitMode::Flush)
            }
            Log::Memory { copies } => {
                let device = self.device(copies)?.emptied(turn.log_bytes).map_err(Failure::foreign)?;
                (Box::new(device), Durability::Memory { copies }, CommitMode::Remote { copies })
            }
        };
        let options =
            RecoverableMemoryOptions { log_bytes: turn.log_bytes, durability, ..RecoverableMemoryOptions::default() };
        let memory = Memory::with_device(device, Box::new(files), options).map_err(Failure::foreign)?;
        let Turn { data, places, seed, .. } = turn;
        let settings = LoadSettings { work: data.work(), pattern: places.pattern(), commit, restore: true, seed };
        let load = DebitCreditLoad::new(&memory, settings).map_err(Failure::foreign)?;
        let mut prepared = Prepared { load, memory };
        prepared.warm_up(turn.system.log)?;
        Ok(prepared)
    }

    /// The log on so many servers, which is made when it is wanted for the first time.
    fn device(&mut self, copies: u8) -> Outcome<&SharedDevice> {
        if !self.devices.contains_key(&copies) {
            let few = || Failure::Missing(format!("{copies} servers are wanted, and {} are there", self.servers.len()));
            let servers = self.servers.get(..usize::from(copies)).ok_or_else(few)?;
            let folder = self.folder.join(format!("remote-log-{copies}"));
            // What a log that has failed has left belongs to no other.
            if folder.exists() {
                fs::remove_dir_all(&folder)?;
            }
            fs::create_dir_all(&folder)?;
            let device = SharedDevice::create(servers, &folder).map_err(Failure::foreign)?;
            self.devices.insert(copies, device);
        }
        Ok(&self.devices[&copies])
    }
}

impl Prepared {
    /// Commits until commits are durable by what they are to be durable by: of a new log the first ones wait for the disk.
    fn warm_up(&mut self, log: Log) -> Outcome<()> {
        let begun = Instant::now();
        loop {
            let receipt = self.load.transaction(&self.memory).map_err(Failure::foreign)?;
            let is_right = match log {
                Log::Disk => true,
                Log::Memory { .. } => matches!(receipt, DeviceReceipt::Memory { .. }),
            };
            if is_right {
                return Ok(());
            }
            if begun.elapsed() > Duration::from_millis(MEMORY_TIME) {
                let waited =
                    format!("after {MEMORY_TIME} ms commits still wait for the disk: the memory servers are away");
                return Err(Failure::Missing(waited));
            }
        }
    }

    fn run(&mut self, milliseconds: u64) -> Outcome<Ran> {
        let mut ran = Ran::default();
        let (begun, time) = (Instant::now(), Duration::from_millis(milliseconds));
        while ran.transactions < TRANSACTIONS_MAX && begun.elapsed() < time {
            let receipt = self.load.transaction(&self.memory).map_err(Failure::foreign)?;
            ran.transactions += 1;
            ran.by_disk += u64::from(receipt == DeviceReceipt::Disk);
        }
        ran.nanoseconds = begun.elapsed().as_nanos() as u64;
        Ok(ran)
    }
}
