//! What a log is opened with, and why it is not.

use crate::limits::RETAINED_BYTES_DEFAULT;
use crate::names::{LogId, RecordNumber};
use crate::writer::{AppendError, BeginError, Boot, Intent, Missing, WriterStop};
use commit_log::LogError;
use raidcomm::keys::Keys;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;
use thiserror::Error;

/// How a log is opened.
#[derive(Clone, Debug)]
pub struct LogTerms {
    /// Which log. For a new one, drawn at random ([`super::remote_log::RemoteLog::draw_log`]).
    pub log: LogId,
    /// k: so many servers must hold a record.
    pub copies: u8,
    /// n; the servers beyond are spares. Without a fall-back to this disk all servers are members.
    pub members: u8,
    /// Where they listen.
    pub servers: Vec<SocketAddr>,
    /// The folder of the local log.
    pub folder: Option<PathBuf>,
    /// Every recovery has this disk: the disk alone may be enough at any time. Otherwise only under a lease.
    pub restart_on_this_disk: bool,
    /// What is expected to be there.
    pub intent: Intent,
    /// Bytes of records since the last truncation.
    pub retained_bytes_max: u64,
    /// How long the opening may take.
    pub time: Duration,
    /// Which run of the kernel wrote to the folder if a crash has lost nothing of it: the present one of this host, unless the folder
    /// lives and dies with something else.
    pub boot: Option<Boot>,
    /// As the servers': keys of the instance, or none.
    pub keys: Option<Keys>,
}

impl LogTerms {
    /// A log that exists, on these servers and on this disk.
    pub fn new(log: LogId, copies: u8, servers: Vec<SocketAddr>, folder: Option<PathBuf>) -> LogTerms {
        LogTerms {
            log,
            copies,
            members: servers.len() as u8,
            servers,
            restart_on_this_disk: folder.is_some(),
            folder,
            intent: Intent::Open,
            retained_bytes_max: RETAINED_BYTES_DEFAULT,
            time: Duration::from_secs(10),
            boot: None,
            keys: None,
        }
    }
}

/// Why a log is not open, or a record has no receipt.
#[derive(Debug, Error)]
pub enum RemoteLogError {
    /// What the log contains cannot be known. Bring back what is missing, or accept its loss.
    #[error("the log cannot be opened yet: {0}")]
    Indeterminate(Missing),
    /// The servers did not get so far in time.
    #[error(
        "the log was not opened in time: its servers hold it, but fewer than enough of them, or the local disk is full, or somebody else opens it at the same time"
    )]
    Slow,
    /// The writer has stopped.
    #[error(transparent)]
    Stopped(#[from] WriterStop),
    /// The terms, or the local log.
    #[error(transparent)]
    Begin(#[from] BeginError),
    /// The local log.
    #[error(transparent)]
    Log(#[from] LogError),
    /// Nothing was appended.
    #[error(transparent)]
    Append(#[from] AppendError),
    /// It is not known whether it is durable: neither servers nor disk have answered in time. It is still tried.
    #[error("no receipt in time: neither k servers nor the disk have answered, or the lease was over")]
    Late,
    /// Not everything that is to be given up has a receipt.
    #[error("record {0} has no receipt yet: wait for it before truncating")]
    Unacknowledged(RecordNumber),
    /// The operating system.
    #[error(transparent)]
    System(#[from] io::Error),
}
