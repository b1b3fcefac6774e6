//! Short requests as datagrams, beside a connection: a datagram takes about half of the processor's time that a piece of a stream takes.
//!
//! A datagram may be lost, come late or come twice, which the machines bear. Invariants: a request that was sent as a datagram and is not answered
//! in time goes over the connection, and after some of those in a row the connection alone is used for a while; nothing overtakes anything, because a datagram is sent only when
//! the server holds all before it, and what follows it while it is not answered goes over the connection, behind another copy of it;
//! and the connection is never silent for long, because by it either side learns of the end of the other.
//!
//! Only where everybody is believed: with keys of an instance everything goes over connections, which are encrypted.

use crate::limits::{DATAGRAM_BYTES_MAX, DATAGRAM_PAUSE, DATAGRAM_WAIT, DATAGRAMS_LOST_MAX, STREAM_PAUSE};
use crate::message::{ServerReply, ToServer, WriterRequest, encode};
use crate::names::{RecordNumber, ServerId};
use bytes::Bytes;
use raidcomm::frame::{self, HEADER_BYTES};
use rustix::fd::{AsFd, BorrowedFd};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

/// A payload, if a datagram is a whole frame.
pub(super) fn payload(datagram: &[u8]) -> Option<&[u8]> {
    let (header, payload) = datagram.split_at_checked(HEADER_BYTES)?;
    (payload.len() <= DATAGRAM_BYTES_MAX && frame::header(payload) == header).then_some(payload)
}

/// Bytes of a buffer that notices a longer datagram than any may be.
pub(super) const BUFFER_BYTES: usize = HEADER_BYTES + DATAGRAM_BYTES_MAX + 1;

/// The writer's side, for one server.
#[derive(Debug)]
pub(super) struct ServerDatagrams {
    socket: UdpSocket,
    /// What was sent last, as a frame.
    sent: Vec<u8>,
    /// When that goes over the connection, which has not had it, unless it was answered.
    due_at: Option<u64>,
    /// Behind the records of that.
    sent_end: RecordNumber,
    /// Up to here the server holds everything, as it has told over this connection or as a datagram.
    held: RecordNumber,
    /// An answer has come as a datagram, and few have been waited for in vain since: the connection is not needed beside it.
    is_working: bool,
    /// Since when none has come: until then the connection carries everything as well.
    tried_at: Option<u64>,
    /// How many were waited for in vain since one came.
    lost: u32,
    /// Not to be tried before.
    not_before: u64,
    /// When the connection was used last.
    streamed_at: u64,
}

impl ServerDatagrams {
    /// To a server. Whether it answers shows.
    ///
    /// # Errors
    /// The operating system refuses.
    pub(super) fn to(server: ServerId) -> io::Result<ServerDatagrams> {
        let any = match server.0 {
            SocketAddr::V4(_) => SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
            SocketAddr::V6(_) => SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)),
        };
        let socket = UdpSocket::bind(any)?;
        socket.connect(server.0)?;
        socket.set_nonblocking(true)?;
        Ok(ServerDatagrams {
            socket,
            sent: Vec::new(),
            due_at: None,
            sent_end: RecordNumber(0),
            held: RecordNumber(0),
            is_working: false,
            tried_at: None,
            lost: 0,
            not_before: 0,
            streamed_at: 0,
        })
    }

    /// Whether an answer may come this way.
    pub(super) fn may_come(&self) -> bool {
        self.is_working || self.tried_at.is_some()
    }

    /// Whether one has to come this way, and none over the connection.
    pub(super) fn is_awaited(&self) -> bool {
        self.due_at.is_some()
    }

    /// When the connection has to be used instead.
    pub(super) fn deadline(&self) -> Option<u64> {
        self.due_at
    }

    /// Sends a request as a datagram, if that may be; says what the connection has to carry.
    pub(super) fn send(&mut self, now: u64, message: &ToServer) -> Rest<'_> {
        if self.due_at.take().is_some() {
            self.streamed_at = now;
            return Rest::Both(&self.sent[HEADER_BYTES..]);
        }
        let is_due = self.is_working && self.streamed_at + STREAM_PAUSE <= now;
        let end = short_end(&message.request, self.held).filter(|_| now >= self.not_before && !is_due);
        if let Some(end) = end {
            self.sent.clear();
            let framed = frame::append_with(&mut self.sent, DATAGRAM_BYTES_MAX, |payload| encode(message, payload));
            let is_sent = framed.is_ok() && self.socket.send(&self.sent).is_ok();
            if is_sent && self.is_working {
                (self.due_at, self.sent_end) = (Some(now + DATAGRAM_WAIT), end);
                return Rest::Nothing;
            }
            if is_sent { self.tried_at = self.tried_at.or(Some(now)) } else { self.give_up(now) }
        }
        self.streamed_at = now;
        Rest::This
    }

    /// What has come, if anything has.
    pub(super) fn receive(&mut self) -> Option<Bytes> {
        let mut buffer = [0; BUFFER_BYTES];
        match self.socket.recv(&mut buffer) {
            Ok(count) => {
                let payload = payload(&buffer[..count])?;
                (self.is_working, self.tried_at, self.lost) = (true, None, 0);
                Some(Bytes::copy_from_slice(payload))
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => None,
            // Nobody listens there.
            Err(_) => {
                (self.due_at, self.tried_at) = (self.due_at.map(|_| 0), self.tried_at.map(|_| 0));
                None
            }
        }
    }

    /// The server has told something, either way.
    pub(super) fn heard(&mut self, reply: &ServerReply) {
        match reply {
            ServerReply::Appended { end, .. } => self.held = self.held.max(*end),
            // It holds another log than it did, perhaps none.
            _ => self.held = RecordNumber(0),
        }
        if !matches!(reply, ServerReply::Appended { .. }) || self.held >= self.sent_end {
            self.due_at = None;
        }
    }

    /// What has to be sent over the connection now, because no answer has come.
    pub(super) fn overdue(&mut self, now: u64) -> Option<&[u8]> {
        let is_overdue = self.due_at.take_if(|due_at| *due_at <= now).is_some();
        let is_vain = self.tried_at.is_some_and(|tried_at| tried_at + DATAGRAM_WAIT <= now);
        if is_overdue {
            self.lost += 1;
            self.streamed_at = now;
        }
        if is_vain || self.lost >= DATAGRAMS_LOST_MAX {
            self.give_up(now);
        }
        is_overdue.then(|| &self.sent[HEADER_BYTES..])
    }

    fn give_up(&mut self, now: u64) {
        (self.is_working, self.due_at, self.tried_at) = (false, None, None);
        (self.lost, self.not_before) = (0, now + DATAGRAM_PAUSE);
    }
}

impl AsFd for ServerDatagrams {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// What a connection has to carry.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Rest<'a> {
    /// The datagram is enough.
    Nothing,
    /// The request.
    This,
    /// This payload, and then the request.
    Both(&'a [u8]),
}

/// Where the records of a request end that may be a datagram: it adds some, of few bytes, to what is held.
fn short_end(request: &WriterRequest, held: RecordNumber) -> Option<RecordNumber> {
    let WriterRequest::Append { position, records, .. } = request else { return None };
    let bytes: usize = records.iter().map(|record| record.bytes.len() + RECORD_FIELDS_BYTES_MAX).sum();
    let is_short = !records.is_empty() && bytes <= DATAGRAM_BYTES_MAX - REQUEST_FIELDS_BYTES_MAX;
    (is_short && *position <= held).then(|| position.plus(records.len()))
}

/// Whether a server answers a request that came as a datagram: its sender is not known by a connection.
pub(super) fn is_answered(request: &WriterRequest) -> bool {
    matches!(request, WriterRequest::Append { .. })
}

/// What stands beside the bytes of a record at most: an epoch (20 bytes), a checksum (5), a length (3).
const RECORD_FIELDS_BYTES_MAX: usize = 28;
/// What stands beside the records of an `Append` at most: mark, log, kind, epoch, a mark of 30 bytes, a position, a number.
const REQUEST_FIELDS_BYTES_MAX: usize = 96;

const _: () = assert!(REQUEST_FIELDS_BYTES_MAX + RECORD_FIELDS_BYTES_MAX < DATAGRAM_BYTES_MAX / 2);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::CheckedRecord;
    use crate::names::{LogId, LogMark, WriterEpoch};

    const EPOCH: WriterEpoch = WriterEpoch { number: u64::MAX / 2, writer: u64::MAX };

    /// Its numbers take as many bytes as numbers can.
    fn message(first: u64, records: usize, bytes: usize) -> ToServer {
        let position = RecordNumber(u64::MAX / 4 + first);
        let record = |index| CheckedRecord::new(LogId(u64::MAX), position.plus(index), EPOCH, vec![7; bytes].into());
        let records = (0..records).map(record).collect();
        let from = LogMark { position, epoch: EPOCH };
        ToServer::new(
            LogId(u64::MAX),
            WriterRequest::Append { epoch: EPOCH, is_established: true, from, position, records },
        )
    }

    fn held(end: u64) -> ServerReply {
        ServerReply::Appended { epoch: EPOCH, end: RecordNumber(u64::MAX / 4 + end) }
    }

    /// A server that hears and answers what it is told to, and a writer that knows it to hold all before the first record.
    fn pair() -> (UdpSocket, ServerDatagrams) {
        let server = UdpSocket::bind("127.0.0.1:0").expect("a port");
        let address = server.local_addr().expect("an address");
        let mut datagrams = ServerDatagrams::to(ServerId(address)).expect("a socket");
        datagrams.heard(&held(0));
        (server, datagrams)
    }

    /// The server answers the datagram that has come, with something.
    fn answer(server: &UdpSocket, datagrams: &mut ServerDatagrams) -> Vec<u8> {
        let mut buffer = [0; BUFFER_BYTES];
        let (count, from) = server.recv_from(&mut buffer).expect("a datagram");
        let mut reply = Vec::new();
        frame::append(&mut reply, b"a reply");
        server.send_to(&reply, from).expect("a socket");
        while datagrams.receive().is_none() {}
        payload(&buffer[..count]).expect("a whole one").to_vec()
    }

    /// One is known to work.
    fn working() -> (UdpSocket, ServerDatagrams) {
        let (server, mut datagrams) = pair();
        let request = message(0, 1, 100);
        assert_eq!(datagrams.send(1, &request), Rest::This, "not known to work: the connection has it as well");
        assert_eq!(ToServer::decode(&answer(&server, &mut datagrams)), Ok(request));
        datagrams.heard(&held(1));
        (server, datagrams)
    }

    /// If this failed, a datagram that was lost, or that nobody answers, would hold up a commit until the machine asks again.
    #[test]
    fn what_is_not_answered_goes_over_the_connection() {
        let (_server, mut datagrams) = working();
        let mut now = 3;
        for first in 1..=u64::from(DATAGRAMS_LOST_MAX) {
            let request = message(first, 1, 100);
            assert_eq!(datagrams.send(now, &request), Rest::Nothing, "it has worked");
            assert_eq!(datagrams.overdue(now + DATAGRAM_WAIT - 1), None);
            now += DATAGRAM_WAIT;
            assert_eq!(datagrams.overdue(now).map(ToServer::decode), Some(Ok(request)));
            datagrams.heard(&held(first + 1));
        }
        let request = message(u64::from(DATAGRAMS_LOST_MAX) + 1, 1, 100);
        assert_eq!(datagrams.send(now, &request), Rest::This);
        assert!(!datagrams.may_come(), "none is sent for a while");
        now += DATAGRAM_PAUSE;
        assert_eq!(datagrams.send(now, &request), Rest::This);
        assert!(datagrams.may_come(), "it is tried again");
        assert_eq!(datagrams.overdue(now + DATAGRAM_WAIT), None, "the connection has had it");
        assert!(!datagrams.may_come(), "and given up again");
    }

    /// If this failed, a request would come before one that was sent before it, and be dropped for the gap.
    #[test]
    fn nothing_overtakes_anything() {
        let (_server, mut datagrams) = working();
        assert_eq!(datagrams.send(2, &message(2, 1, 1)), Rest::This, "the one before is not held yet");
        datagrams.heard(&held(3));
        let (first, second) = (message(3, 1, 1), message(4, 1, 1));
        assert_eq!(datagrams.send(3, &first), Rest::Nothing);
        let Rest::Both(before) = datagrams.send(4, &second) else { panic!("the first goes before it") };
        assert_eq!(ToServer::decode(before), Ok(first));
        assert_eq!(datagrams.send(5, &message(5, 1, 1)), Rest::This, "the second is not held yet");
        datagrams.heard(&held(6));
        assert_eq!(datagrams.send(6, &message(6, 1, 1)), Rest::Nothing);
        datagrams.heard(&held(6));
        assert!(datagrams.is_awaited(), "that was another answer");
        datagrams.heard(&held(7));
        assert!(!datagrams.is_awaited());
    }

    /// If this failed, a server would close the connection of a writer that is busy, because nothing comes over it.
    #[test]
    fn the_connection_is_never_silent_for_long() {
        let (_server, mut datagrams) = working();
        assert_eq!(datagrams.send(2, &message(1, 1, 1)), Rest::Nothing);
        datagrams.heard(&held(2));
        assert_eq!(datagrams.send(2 + STREAM_PAUSE, &message(2, 1, 1)), Rest::This);
        datagrams.heard(&held(3));
        assert_eq!(datagrams.send(3 + STREAM_PAUSE, &message(3, 1, 1)), Rest::Nothing);
    }

    /// If this failed, each request to a port that nobody listens at would take the longest time.
    #[test]
    fn a_port_without_a_listener_is_noticed() {
        let (server, mut datagrams) = working();
        drop(server);
        assert_eq!(datagrams.send(2, &message(1, 1, 1)), Rest::Nothing);
        while datagrams.overdue(3).is_none() {
            assert_eq!(datagrams.receive(), None);
        }
    }

    /// If this failed, a datagram would be longer than a receiver takes, or one that only asks would go this way.
    #[test]
    fn only_short_appends_are_datagrams() {
        let is_short =
            |records, bytes| short_end(&message(0, records, bytes).request, RecordNumber(u64::MAX / 4)).is_some();
        assert!(!is_short(0, 0) && !is_short(1, DATAGRAM_BYTES_MAX));
        for records in [1, 2, 5] {
            let longest =
                (0..DATAGRAM_BYTES_MAX).rev().find(|bytes| is_short(records, *bytes)).expect("some are short");
            let (_server, mut datagrams) = pair();
            datagrams.send(1, &message(0, records, longest));
            assert!(datagrams.may_come(), "{records} records of {longest} bytes were sent");
        }
    }

    /// If this failed, what is no message, or half of one, could be taken for one.
    #[test]
    fn only_whole_frames_are_payloads() {
        let mut datagram = Vec::new();
        frame::append(&mut datagram, b"a payload");
        assert_eq!(payload(&datagram), Some(&b"a payload"[..]));
        assert_eq!(payload(&datagram[..datagram.len() - 1]), None);
        assert_eq!(payload(&datagram[..3]), None);
        datagram[HEADER_BYTES] ^= 1;
        assert_eq!(payload(&datagram), None);
    }
}
