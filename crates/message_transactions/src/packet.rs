//! What kernels say to each other: one variant per packet, each with who sends it and what happens if it is lost or comes twice.
//!
//! Invariant: a packet names its exchange by sender, sequence number and hop; what does not fit what is under way is dropped.

use super::identifier::{LogicalHostId, MessageDestination, ProcessId};
use super::limits::{WANTED_CHUNKS_MAX, WANTED_WORDS_MAX};

/// Which request of a sender: the number of its exchange, and how often that was forwarded. Later ones are larger.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestIdentity {
    /// Counted from 1 by each sender.
    pub sequence: u64,
    /// 0 as sent, one more with each forwarding.
    pub hop: u32,
}

/// What stands in every packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketHeader {
    /// The kernel that sent this packet.
    pub kernel: LogicalHostId,
    /// The exchange that it belongs to.
    pub identity: RequestIdentity,
    /// The process that it comes from.
    pub source: ProcessId,
    /// Whom it is for.
    pub destination: MessageDestination,
}

/// How many replies a message asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WantedReplies {
    /// None: sent once, like a datagram.
    None,
    /// One: further ones are discarded.
    One,
    /// As many as come until the sender's next message.
    Many,
}

/// A message as it is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestPacket<'a> {
    /// Executed at most once by one incarnation of the receiver; otherwise at least once.
    pub once: bool,
    /// How many replies are wanted.
    pub replies: WantedReplies,
    /// Sent to everybody, because nobody knows where the receiver is: only its kernel answers.
    pub sought: bool,
    /// The segment may be read.
    pub read: bool,
    /// The segment may be written.
    pub write: bool,
    /// Length of the segment.
    pub segment_bytes: u64,
    /// Who forwarded it last; 0 for nobody.
    pub forwarder: ProcessId,
    /// The message.
    pub message: &'a [u8],
    /// The first bytes of the segment.
    pub data: &'a [u8],
}

/// What is said of a transfer in every packet of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Counted from 1 by the process that moves.
    pub number: u64,
    /// Where it begins in the segment.
    pub offset: u64,
    /// Bytes that it moves.
    pub total: u64,
}

/// Chunks that are asked for: a bit vector from a first chunk on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WantedChunks {
    /// The chunk of bit 0.
    pub first: u32,
    /// Bits, lowest first.
    pub words: [u64; WANTED_WORDS_MAX],
}

impl WantedChunks {
    /// Nothing, from this chunk on.
    pub fn from(first: u32) -> WantedChunks {
        WantedChunks { first, words: [0; WANTED_WORDS_MAX] }
    }

    /// Asks for a chunk. False if it lies outside this vector.
    pub fn set(&mut self, index: u32) -> bool {
        match index.checked_sub(self.first) {
            Some(bit) if (bit as usize) < WANTED_CHUNKS_MAX => {
                self.words[bit as usize / 64] |= 1 << (bit % 64);
                true
            }
            _ => false,
        }
    }

    /// The chunks asked for, in order.
    pub fn chunks(&self) -> impl Iterator<Item = u32> + '_ {
        let bits = (0..WANTED_CHUNKS_MAX as u32).filter(|bit| self.words[*bit as usize / 64] >> (bit % 64) & 1 == 1);
        bits.filter_map(|bit| self.first.checked_add(bit))
    }

    /// Words that must be sent: all up to the last that is not 0.
    pub fn used(&self) -> usize {
        self.words.iter().rposition(|&word| word != 0).map_or(0, |last| last + 1)
    }
}

/// Why bulk data is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BulkRefusal {
    /// The sender does not wait for a reply of this process.
    NotAwaitingReply,
    /// The segment may not be read, or not be written.
    NoAccess,
    /// Some of the bytes lie outside the segment.
    OutOfBounds,
}

/// What a packet says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketBody<'a> {
    /// Broadcast by a kernel that starts: may I be this host? Silence means yes, so it is sent several times.
    HostRequest {
        /// The identifier it would like.
        proposed: LogicalHostId,
        /// A random number of this life, to know one's own packet by.
        life: u64,
    },
    /// From the kernel that is this host, or wants to be, to the one that asked: it must choose another.
    HostComplaint {
        /// The identifier in question.
        proposed: LogicalHostId,
        /// The life that is complained about.
        life: u64,
    },
    /// From a sender's kernel: a message. Sent again until something comes back; one that comes twice is answered by what is kept.
    Send(RequestPacket<'a>),
    /// From a receiver's kernel: the reply. If it is lost, the message comes again and is answered from memory, or executed again.
    Reply {
        /// Where in the sender's segment the data belongs.
        offset: u64,
        /// The reply.
        message: &'a [u8],
        /// Bytes for the sender's segment.
        data: &'a [u8],
    },
    /// To the sender's kernel: the message is now for another process. Kept and sent again like a reply.
    Forward {
        /// Who it is for.
        to: ProcessId,
    },
    /// To the sender's kernel: no such process here. Never answers a broadcast or multicast.
    NoProcess {
        /// It is nowhere: this kernel made it or had it last. Otherwise the sender's hint was stale.
        certain: bool,
    },
    /// To the sender's kernel: the process went to another kernel.
    Moved {
        /// That kernel.
        to: LogicalHostId,
    },
    /// To the sender's kernel: the message has come and is not finished, or there is no buffer for it: keep waiting.
    Pending {
        /// How long it has been worked at, in nanoseconds; 0 while it waits.
        ran: u64,
    },
    /// Broadcast: who has set this logical identifier? Sent again until somebody answers.
    GetPid {
        /// The logical identifier.
        logical: u32,
    },
    /// Answers it; the first answer counts.
    GetPidReply {
        /// The logical identifier.
        logical: u32,
        /// The process that it stands for.
        process: ProcessId,
    },
    /// Broadcast by a kernel that has adopted the source of this packet. If it is lost, hints are stale for longer.
    Here,
    /// A chunk of a transfer. If it is lost it is asked for again; a second one is dropped.
    Data {
        /// To the owner of the segment (`move_to`), not from it (`move_from`).
        to_owner: bool,
        /// Whoever receives it answers at once.
        ask: bool,
        /// The transfer.
        transfer: Transfer,
        /// Which chunk.
        index: u32,
        /// Its bytes.
        data: &'a [u8],
    },
    /// From where the data goes to where it comes from: send these. If it is lost, the chunks are asked for again.
    Pull {
        /// To the owner of the segment (`move_from`), not from it (`move_to`).
        to_owner: bool,
        /// The transfer.
        transfer: Transfer,
        /// Which chunks; none means that the transfer goes on.
        wanted: WantedChunks,
    },
    /// From the owner of the segment: all of a `move_to` has come. If it is lost, the mover asks again.
    Done {
        /// The transfer.
        number: u64,
    },
    /// From the owner of the segment's kernel: this transfer cannot be.
    Refused {
        /// The transfer.
        number: u64,
        /// Why.
        reason: BulkRefusal,
    },
}
