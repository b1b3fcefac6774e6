//! What streams tell their owner: arrivals, reasons, errors and counters.
//!
//! Invariant: counters only grow, and nothing is decided by them.

use super::hello::HelloRefusal;
use super::secure::Distrust;
use super::tcp_info::TcpInfo;
use crate::datagrams::AssociationStatus;
use crate::frame::FrameError;
use bytes::Bytes;
use identifiers::SiteId;
use std::io;
use std::net::SocketAddr;
use thiserror::Error;

/// What came in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Incoming {
    /// One frame of a peer. Frames of one incarnation of a peer come in the order in which it sent them, none twice;
    /// some may be missing around a `Disconnected`. A frame may come before `Connected`, because the two directions
    /// are made one after the other.
    Message {
        /// The peer that sent it.
        from: SiteId,
        /// Which life of that peer.
        incarnation: u32,
        /// What it sent. Shares the receive buffer: copy out what is to be kept for long.
        payload: Bytes,
    },
    /// Both directions to this peer work.
    Connected {
        /// The peer.
        site: SiteId,
        /// Which life of that peer.
        incarnation: u32,
    },
    /// At least one direction has stopped working; what was sent and not answered may be lost. Always between two
    /// `Connected` of a peer.
    Disconnected {
        /// The peer.
        site: SiteId,
        /// What ended the connection.
        reason: DisconnectReason,
    },
}

/// What ended a connection, or an attempt to make one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum DisconnectReason {
    /// The peer's process closed the connection, or ended.
    #[error("the peer closed the connection")]
    Closed,
    /// The operating system gave the connection up, or did not make it.
    #[error("the connection failed: {0}")]
    Failed(io::ErrorKind),
    /// What came in are no frames.
    #[error("the peer sent bytes that are no frame: {0}")]
    Frame(#[from] FrameError),
    /// The peer has not proved who it is, or somebody meddles with what it sends; or it does not believe us.
    #[error("the connection is not safe: {0}")]
    Insecure(#[from] Distrust),
    /// The peer does not want us.
    #[error("the peer refused us: {0}")]
    Refused(HelloRefusal),
    /// We do not want who answered at the peer's address.
    #[error("the peer was refused: {0}")]
    Refusing(HelloRefusal),
    /// A newer connection, or a newer incarnation, of the peer has taken the place of this one.
    #[error("a newer connection or incarnation of the peer took its place")]
    Superseded,
    /// The handshake took longer than [`crate::limits::HANDSHAKE`].
    #[error("the handshake took too long")]
    Handshake,
    /// The peer sent frames on a connection that carries ours.
    #[error("the peer sent frames where it should only receive")]
    Unexpected,
    /// More connections wait for their handshake than [`crate::limits::HANDSHAKES_MAX`].
    #[error("too many connections wait for their handshake")]
    Crowded,
    /// What a peer on this host handed in as shared memory is none, or it has written there what it may not.
    #[error("the peer has broken the rules of shared memory")]
    Ring,
    /// Our own side removed the peer, or gave it another address.
    #[error("the peer was removed or moved")]
    Removed,
}

impl DisconnectReason {
    /// Whether the other side spoke the protocol and was refused.
    pub(super) fn is_refusal(self) -> bool {
        match self {
            DisconnectReason::Refusing(refusal) => refusal != HelloRefusal::Foreign,
            DisconnectReason::Insecure(distrust) => distrust.is_of_certificate(),
            _ => false,
        }
    }

    /// Whether one side does not believe the other, or only one of them encrypts: keys, configurations, clocks or somebody
    /// else must be looked at, and waiting does not help.
    pub fn is_distrust(self) -> bool {
        use HelloRefusal::{Certificate, Clear, Encrypted, Instance};
        match self {
            DisconnectReason::Insecure(_) => true,
            DisconnectReason::Refused(refusal) | DisconnectReason::Refusing(refusal) => {
                matches!(refusal, Clear | Encrypted | Certificate | Instance)
            }
            _ => false,
        }
    }

    /// The reason in few words, which stay the same: to count by.
    pub fn name(self) -> &'static str {
        match self {
            DisconnectReason::Closed => "closed",
            DisconnectReason::Failed(_) => "connection failed",
            DisconnectReason::Frame(_) => "no frames",
            DisconnectReason::Insecure(distrust) => match distrust {
                Distrust::Authority => "certificate of another authority",
                Distrust::Expired => "certificate expired",
                Distrust::NotYetValid => "certificate not valid yet",
                Distrust::Instance => "certificate of another instance",
                Distrust::Absent => "no certificate",
                Distrust::Certificate => "certificate of no use",
                Distrust::Ours(_) => "our certificate was refused",
                Distrust::Garbled => "damaged, forged, or not TLS 1.3",
            },
            DisconnectReason::Refused(refusal) | DisconnectReason::Refusing(refusal) => match refusal {
                HelloRefusal::Foreign => "foreign protocol",
                HelloRefusal::Version => "another version",
                HelloRefusal::Instance => "another instance",
                HelloRefusal::Site => "another site",
                HelloRefusal::Unknown => "unknown site",
                HelloRefusal::Ring => "no ring of shared memory",
                HelloRefusal::Stale => "older incarnation",
                HelloRefusal::Clear => "in clear",
                HelloRefusal::Encrypted => "encrypted",
                HelloRefusal::Certificate => "certificate of another site",
            },
            DisconnectReason::Superseded => "superseded",
            DisconnectReason::Handshake => "slow handshake",
            DisconnectReason::Unexpected => "unexpected frames",
            DisconnectReason::Crowded => "too many handshakes",
            DisconnectReason::Ring => "no ring of shared memory",
            DisconnectReason::Removed => "removed",
        }
    }
}

impl From<io::Error> for DisconnectReason {
    fn from(error: io::Error) -> DisconnectReason {
        DisconnectReason::Failed(error.kind())
    }
}

/// Why a frame was dropped instead of sent. A datagram's semantics: protocols above send again what must arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SendError {
    /// Set the peer first.
    #[error("{0} is not a peer")]
    UnknownPeer(SiteId),
    /// The peer cannot be reached now; it is being tried again in the background.
    #[error("{0} is not connected")]
    NotConnected(SiteId),
    /// The peer takes less than it is sent. Retry after a pause.
    #[error("too much waits to be sent to {0}")]
    QueueFull(SiteId),
    /// A retry is pointless.
    #[error("a message of {bytes} bytes is larger than a frame may be")]
    TooLarge {
        /// Bytes of the payload.
        bytes: usize,
    },
}

/// Why no keys can be derived from the connection with a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ExportError {
    /// It is not connected in this direction, or in clear. Retry once it is.
    #[error("there is no encrypted connection with {0}")]
    NotConnected(SiteId),
    /// A retry is pointless.
    #[error("{0} bytes are more than can be derived at once")]
    TooLong(usize),
}

/// Why streams cannot start, or cannot take another peer.
#[derive(Debug, Error)]
pub enum StreamsError {
    /// The address is taken, or not ours.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// Where other sites were to connect to.
        address: SocketAddr,
        /// What the operating system said.
        source: io::Error,
    },
    /// More than [`crate::limits::PEERS_MAX`] peers.
    #[error("{0} is one peer too many")]
    TooManyPeers(SiteId),
    /// The keys are not ours.
    #[error("the keys are of {0}, which is not this site")]
    Keys(SiteId),
    /// A site is no peer of its own.
    #[error("{0} is this site")]
    Local(SiteId),
    /// Frames go over connections instead.
    #[error("cannot use datagrams: {0}")]
    Datagrams(io::Error),
}

/// What has passed between this site and one peer. Frames and bytes of the handshake are not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PeerCounters {
    /// Frames given to the output buffer.
    pub frames_out: u64,
    /// Bytes taken by the operating system, headers and encryption included.
    pub bytes_out: u64,
    /// Flushes that gave them to it: one write each, unless many are encrypted.
    pub writes: u64,
    /// Frames received.
    pub frames_in: u64,
    /// Bytes received, headers and encryption included.
    pub bytes_in: u64,
    /// Reads that received them.
    pub reads: u64,
    /// Frames dropped at once: not connected, or too much waiting.
    pub frames_dropped: u64,
    /// Bytes that waited in the output buffer when its connection broke.
    pub bytes_lost: u64,
    /// How often our connection to the peer was made.
    pub connections: u64,
    /// How often it broke or could not be made.
    pub failures: u64,
    /// How often one side refused the other, for what it said or for its certificate.
    pub refusals: u64,
}

/// By what the bytes of a connection go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionChannel {
    /// Over TCP.
    Stream,
    /// Through memory that both processes have: the peer is on this host.
    SharedMemory,
    /// In datagrams of UDP: the peer is in this network.
    Datagrams,
}

/// The state of one peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerStatus {
    /// The peer.
    pub site: SiteId,
    /// Where it listens.
    pub address: SocketAddr,
    /// The newest life of it that has been seen; 0 for none.
    pub incarnation: u32,
    /// Both directions work.
    pub connected: bool,
    /// By what our frames go to it; `None`: by nothing now.
    pub channel: Option<ConnectionChannel>,
    /// Frames to it leave encrypted.
    pub encrypted: bool,
    /// Bytes that wait to be sent and, if they are, to be encrypted.
    pub bytes_queued: usize,
    /// What is known of datagrams between us, if both sides have them.
    pub datagrams: Option<AssociationStatus>,
    /// What the operating system has measured of the connection that we made.
    pub tcp: Option<TcpInfo>,
    /// What ended the last connection that ended, in either direction.
    pub last_failure: Option<DisconnectReason>,
    /// What has passed.
    pub counters: PeerCounters,
}

/// Accepted connections that became nobody's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StrangerCounters {
    /// Connections accepted, those of peers included.
    pub accepted: u64,
    /// Those that spoke the protocol and were refused, for what they said or for their certificate.
    pub refused: u64,
    /// Those that did not speak it: garbage, silence, or closed half way.
    pub broken: u64,
    /// Of both, those that were not believed ([`DisconnectReason::is_distrust`]).
    pub distrusted: u64,
    /// How often the operating system could not accept a connection that waited.
    pub accept_failures: u64,
    /// Why the last one was not believed.
    pub last_distrust: Option<DisconnectReason>,
    /// Why the last one was refused or broken.
    pub last_failure: Option<DisconnectReason>,
}
