//! Calls between processes of two hosts: a line over a connection.
//!
//! The counterpart of the lines of [`crate::shared`]: one thread calls, one answers, one call is under way at a time. A request is one frame over
//! TCP, and so is its reply. Both ends are processes of one site: who has a site's servers, or gives them away, acts in its name. With keys of the
//! instance the connection is TLS 1.3, and each end shows the certificate of that site. In clear both are believed what they say.
//!
//! Invariants: nothing of a stranger is executed; nobody waits longer than the time that it was given; after an error a connection is of no use any
//! more, so that a late reply is never taken for that of the next call.
//!
//! * [`client`], [`server`]: the two ends;
//! * `greeting`: what they say first; `transport`: frames over a socket that is waited for, in clear or encrypted.

pub mod client;
mod greeting;
pub mod server;
#[cfg(test)]
mod tests;
mod transport;

pub use client::RemoteLineClient;
pub use greeting::GreetingRefusal;
pub use server::{Closer, RemoteLineListener, RemoteLineServer, Stranger};

use crate::frame::FrameError;
use crate::keys::Keys;
use crate::streams::{DisconnectReason, Distrust};
use identifiers::{InstanceId, SiteId};
use std::io;
use thiserror::Error;

/// Who is at both ends of a line, and what they say to each other.
#[derive(Clone, Debug)]
pub struct LineIdentity {
    /// The instance.
    pub instance: InstanceId,
    /// The site.
    pub site: SiteId,
    /// What is called, and in which version: both ends must mean the same. At most [`crate::limits::LINE_PROGRAM_BYTES_MAX`] bytes.
    pub program: &'static str,
    /// What they prove it with; without keys the line is in clear.
    pub keys: Option<Keys>,
}

/// Why there is no line, or none any more. Whether a request that was sent has been executed, nobody knows.
#[derive(Debug, Error)]
pub enum RemoteError {
    /// The operating system.
    #[error(transparent)]
    System(#[from] io::Error),
    /// The other side, or what is between, is silent.
    #[error("it is silent")]
    Silent,
    /// The other process has ended, or has closed the connection.
    #[error("it has closed the connection")]
    Closed,
    /// It closed the connection when it should have proved who it is.
    #[error("it has closed the connection before it had proved who it is: has it keys of this site, too?")]
    Unproved,
    /// Certificates, or what should be encrypted.
    #[error("{0}")]
    Distrust(#[from] Distrust),
    /// Its certificate is of the instance, but of another site.
    #[error("its certificate is not of {0}, but of another site of the instance")]
    Certificate(SiteId),
    /// One side has keys and the other has none.
    #[error("it encrypts, and there are no keys here")]
    Encrypted,
    /// What came are no frames.
    #[error("{0}")]
    Frame(#[from] FrameError),
    /// One side does not want the other.
    #[error("{0}")]
    Refused(#[from] GreetingRefusal),
    /// Nothing was sent.
    #[error("a message of {bytes} bytes is more than a frame takes")]
    TooLong {
        /// Of the message.
        bytes: usize,
    },
}

impl From<DisconnectReason> for RemoteError {
    fn from(reason: DisconnectReason) -> RemoteError {
        match reason {
            DisconnectReason::Insecure(distrust) => RemoteError::Distrust(distrust),
            DisconnectReason::Failed(kind) => RemoteError::System(kind.into()),
            DisconnectReason::Frame(error) => RemoteError::Frame(error),
            _ => RemoteError::Closed,
        }
    }
}
