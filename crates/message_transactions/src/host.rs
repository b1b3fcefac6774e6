//! The kernel of this operating-system process in the real world, with calls that block or are awaited.
//!
//! No thread stands between a caller and the network: whoever waits reads the socket, for itself and all others that wait; when it has
//! what it waited for, one of the others goes on reading. Only when nobody waits does a thread in the background, the keeper, read, so
//! that a peer whose request takes long is told to keep waiting.
//!
//! Memory is lent as borrows: a call that blocks takes `&[u8]` or `&mut [u8]` and comes back when the other side can touch it no
//! more. A [`ReceivedCall`] is consumed by its reply, and with it the right to move data. What is awaited takes and returns owned memory,
//! because a future may be forgotten while others still write.
//!
//! A process that is detached from one host can be attached to another, in another process of the operating system, while messages to it are
//! under way.
//!
//! In reading order: [`transport`] (what carries packets), [`ways`] (every way, chosen by where the other kernel is), [`udp`] (the one way that
//! is always there), [`faulty`] (a transport that misbehaves, for tests), `lent` (memory), `shared` (who reads), `waiting` (futures).
//!
//! ```
//! use message_transactions::host::{BlockedRequest, Host};
//!
//! let host = Host::start_alone()?;
//! let (mut client, mut server) = (host.process()?, host.process()?);
//! let receiver = server.id();
//! let served = std::thread::spawn(move || {
//!     let call = server.receive()?;
//!     let mut text = vec![0; call.rights().bytes as usize];
//!     server.read(&call, 0, &mut text)?;
//!     server.reply(call, &text.len().to_le_bytes())
//! });
//! let reply = client.send(receiver, BlockedRequest::exactly_once(b"how long is this?").readable(b"a long story"))?;
//! assert_eq!(reply.message, 12_usize.to_le_bytes());
//! served.join().expect("the server does not panic")?;
//! # Ok::<(), message_transactions::host::HostError>(())
//! ```

pub mod faulty;
mod lent;
mod process;
mod shared;
pub mod transport;
pub mod udp;
mod waiting;
pub mod ways;

pub use process::{BlockedRequest, HostProcess, ProcessReply, ReceivedCall};
pub use waiting::{PendingReceive, PendingSend};

use super::identifier::LogicalHostId;
use super::kernel::ProcessError;
use super::kernel::{DecodeError, RelocationError};
use super::limits::{CLAIM_WAIT, KEEPER_INTERVAL};
use super::outbox::{MoveFailure, ReceiveFailure, SendFailure};
use shared::HostShared;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use thiserror::Error;
use transport::PacketTransport;
use udp::UdpDomain;
use ways::Ways;

/// Why something could not be done.
#[derive(Debug, Error)]
pub enum HostError {
    /// It was not even begun.
    #[error(transparent)]
    Call(#[from] ProcessError),
    /// A message got no reply.
    #[error(transparent)]
    Send(#[from] SendFailure),
    /// A transfer ended early.
    #[error(transparent)]
    Move(#[from] MoveFailure),
    /// The process that was waited for sent nothing.
    #[error(transparent)]
    Receive(#[from] ReceiveFailure),
    /// A process cannot move.
    #[error(transparent)]
    Relocation(#[from] RelocationError),
    /// What is to be attached is no process.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// The operating system refused something.
    #[error("the operating system refused: {0}")]
    System(#[from] io::Error),
    /// No host identifier could be had in a reasonable time.
    #[error("no host identifier was to be had: everybody complains, or time stands still")]
    Unclaimed,
}

/// The kernel of this operating-system process. Processes keep it alive.
#[derive(Debug)]
pub struct Host<T: PacketTransport = Ways> {
    shared: Arc<HostShared<T>>,
}

impl Host<Ways> {
    /// A host on the loopback interface that knows no other.
    ///
    /// # Errors
    /// As of [`Host::start`].
    pub fn start_alone() -> Result<Host, HostError> {
        Host::start(Ways::bind(SocketAddr::from(([127, 0, 0, 1], 0)), UdpDomain::Peers(Vec::new()))?)
    }
}

impl<T: PacketTransport> Host<T> {
    /// Starts a kernel on a transport, and waits until it has a host identifier.
    ///
    /// # Errors
    /// No thread could be started, or no host identifier be had.
    pub fn start(transport: T) -> Result<Host<T>, HostError> {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        // Random enough: an identifier that is in use is complained about.
        let seed = since_1970.as_nanos() as u64 ^ (u64::from(std::process::id()) << 32) ^ transport.seed();
        let host = Host { shared: HostShared::start(transport, seed)? };
        for _ in 0..1_000 {
            if host.id().is_some() {
                return Ok(host);
            }
            // The keeper reads and announces meanwhile.
            std::thread::park_timeout(Duration::from_nanos(KEEPER_INTERVAL.min(CLAIM_WAIT)));
        }
        Err(HostError::Unclaimed)
    }

    /// Its host identifier.
    pub fn id(&self) -> Option<LogicalHostId> {
        self.shared.with(|kernel, _| kernel.host())
    }

    /// What it sends and receives with.
    pub fn transport(&self) -> &T {
        self.shared.transport()
    }

    /// Makes a process: one that sends and receives, one operation at a time. It costs little: make one for each thread or task.
    ///
    /// # Errors
    /// There are too many.
    pub fn process(&self) -> Result<HostProcess<T>, HostError> {
        HostProcess::new(self.shared.clone())
    }

    /// Takes in a process that was detached from another host, and left for this one: it has its identifier, the messages that wait for
    /// it, and what it has replied to. Senders find it by what its old host says, or by asking everybody.
    ///
    /// # Errors
    /// These bytes are damaged, or no process; or it left for another host, or has been here before.
    pub fn attach(&self, bytes: &[u8]) -> Result<HostProcess<T>, HostError> {
        HostProcess::attach(self.shared.clone(), bytes)
    }
}

impl<T: PacketTransport> Drop for Host<T> {
    fn drop(&mut self) {
        self.shared.host_dropped();
    }
}

#[cfg(test)]
mod tests;
