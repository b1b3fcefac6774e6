//! What a domain and a process that has servers of it say to each other, as bytes.
//!
//! A request begins with the kind of the server that it is for. A reply is one byte that says whether the call was executed, and then its body or
//! the reason. Invariant: what a reply brings is checked before it is decoded: messages that are trees, such as programs, no server here
//! sends, and a deep one would overflow the stack.

use crate::place::{Lost, ServerAnswer, ServerQuestion};
use messages::log_record::LogRecord;
use messages::server::{Outgoing, Sites};
use messages::{Envelope, EpochNumber, Message, Now, Outbox, ServerKind};
use serde::{Deserialize, Serialize};

/// First byte of a reply to a call that was executed.
const EXECUTED: u8 = 1;
/// First byte of a reply that says why not.
const REFUSED: u8 = 2;
/// The variants of [`Message`] with trees in them, by their place: `SessionRequest`, `Query`. Nobody whose outbox is decoded sends them.
const TREES: [u32; 2] = [0, 2];

/// What a domain wants of a server.
#[derive(Debug, Serialize)]
pub(crate) enum ServerRequest<'a> {
    /// [`messages::Server::handle`] for each of them, in order. The body: the outbox.
    Handle(Now, &'a [Envelope]),
    /// [`messages::Server::tick`]. The body: the outbox.
    Tick(Now),
    /// [`crate::Machine::ask`]. The body: the answer.
    Ask(ServerQuestion),
    /// [`crate::Machine::checkpoint_from`].
    CheckpointFrom(u64),
    /// The server ends here; the body is its state.
    Take,
    /// The server goes on here, with the state that stands behind the request.
    Put,
}

/// The same, as the other side has it.
#[derive(Debug, Deserialize)]
pub(crate) enum ReceivedRequest {
    Handle(Now, Vec<Envelope>),
    Tick(Now),
    Ask(ServerQuestion),
    CheckpointFrom(u64),
    Take,
    Put,
}

fn unreadable(error: &postcard::Error) -> Lost {
    Lost::Process(format!("what came from the other process cannot be read: {error}"))
}

fn extend(buffer: &mut Vec<u8>, value: &impl Serialize) {
    let taken = std::mem::take(buffer);
    *buffer = postcard::to_extend(value, taken).expect("a call always encodes");
}

pub(crate) fn encode_request(kind: ServerKind, request: &ServerRequest<'_>, buffer: &mut Vec<u8>) {
    buffer.clear();
    extend(buffer, &(kind, request));
}

/// For which server, what, and what stands behind it.
pub(crate) fn decode_request(bytes: &[u8]) -> Result<(ServerKind, ReceivedRequest, &[u8]), Lost> {
    let ((kind, wanted), rest) = postcard::take_from_bytes(bytes).map_err(|error| unreadable(&error))?;
    Ok((kind, wanted, rest))
}

/// Makes the buffer a reply: its body is written by `write`, unless that fails.
pub(crate) fn encode_reply(buffer: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>) -> Result<(), Lost>) {
    buffer.clear();
    buffer.push(EXECUTED);
    if let Err(lost) = write(buffer) {
        buffer.clear();
        buffer.push(REFUSED);
        extend(buffer, &lost);
    }
}

/// The body of a reply.
pub(crate) fn body(reply: &[u8]) -> Result<&[u8], Lost> {
    match reply.split_first() {
        Some((&EXECUTED, body)) => Ok(body),
        Some((&REFUSED, lost)) => Err(postcard::from_bytes(lost).unwrap_or_else(|error| unreadable(&error))),
        _ => Err(Lost::Process("the other process has replied with nothing known".to_owned())),
    }
}

pub(crate) fn encode_answer(answer: &ServerAnswer, buffer: &mut Vec<u8>) {
    extend(buffer, answer);
}

pub(crate) fn decode_answer(body: &[u8]) -> Result<ServerAnswer, Lost> {
    postcard::from_bytes(body).map_err(|error| unreadable(&error))
}

/// Empties an outbox into a reply.
pub(crate) fn encode_outbox(outbox: &mut Outbox, buffer: &mut Vec<u8>) {
    extend(buffer, &outbox.records);
    extend(buffer, &outbox.syncs);
    extend(buffer, &outbox.messages.len());
    for outgoing in outbox.messages.drain(..) {
        extend(buffer, &(&outgoing.sites, outgoing.to, outgoing.epoch));
        extend(buffer, &outgoing.message);
    }
    outbox.records.clear();
    outbox.syncs.clear();
}

/// Fills an empty outbox from a reply.
pub(crate) fn decode_outbox(body: &[u8], outbox: &mut Outbox) -> Result<(), Lost> {
    decode_parts(body, outbox).map_err(|error| unreadable(&error))
}

fn decode_parts(body: &[u8], outbox: &mut Outbox) -> Result<(), postcard::Error> {
    type Header = (Sites, ServerKind, EpochNumber);
    let (records, rest): (Vec<LogRecord>, _) = postcard::take_from_bytes(body)?;
    let (syncs, rest): (Vec<u64>, _) = postcard::take_from_bytes(rest)?;
    let (count, mut rest): (usize, _) = postcard::take_from_bytes(rest)?;
    for _ in 0..count {
        let ((sites, to, epoch), message): (Header, _) = postcard::take_from_bytes(rest)?;
        let (variant, _) = postcard::take_from_bytes::<u32>(message)?;
        if TREES.contains(&variant) {
            return Err(postcard::Error::DeserializeBadEnum);
        }
        let (message, behind): (Message, _) = postcard::take_from_bytes(message)?;
        outbox.messages.push(Outgoing { sites, to, epoch, message });
        rest = behind;
    }
    if !rest.is_empty() {
        return Err(postcard::Error::DeserializeUnexpectedEnd);
    }
    outbox.records.extend(records);
    outbox.syncs.extend(syncs);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ServerHost, Stores};
    use access_manager::{MemoryStore, Store, StoreError};
    use messages::access::AccessRequest;
    use messages::session::SessionRequest;
    use messages::{Key, TableId};
    use messages::{SessionId, SiteId};

    fn outbox() -> Outbox {
        let mut outbox = Outbox::default();
        for tag in 0..5 {
            let read = AccessRequest::Read { tag, table: TableId(7), key: Key::new(b"key"), snapshot: None };
            outbox.local(ServerKind::AccessManager, Message::Access(read));
            let others = (2..2 + tag as u16).map(SiteId);
            outbox.multicast(others, ServerKind::ReplicationController, EpochNumber(7), Message::Synced(tag));
            outbox.sync(tag);
        }
        outbox.append(LogRecord::Stale { stale: Default::default() });
        outbox
    }

    /// If this fails, what a server says is cut or mixed up on its way from another process.
    #[test]
    fn an_outbox_comes_through() {
        let (mut buffer, mut decoded) = (Vec::new(), Outbox::default());
        let mut sent = outbox();
        encode_outbox(&mut sent, &mut buffer);
        assert!(sent.is_empty(), "it is used again");
        decode_outbox(&buffer, &mut decoded).expect("it was encoded just now");
        assert_eq!(format!("{decoded:?}"), format!("{:?}", outbox()));
    }

    /// If this fails, another process can end the site's by what it replies: by a deep tree, or by nonsense.
    #[test]
    fn what_no_server_sends_is_refused() {
        let (mut buffer, mut decoded) = (Vec::new(), Outbox::default());
        let mut sent = outbox();
        sent.local(ServerKind::ActionDriver, Message::SessionRequest(SessionId(1), SessionRequest::Close));
        encode_outbox(&mut sent, &mut buffer);
        assert!(decode_outbox(&buffer, &mut decoded).is_err(), "programs are trees, and no server's word");
        buffer.clear();
        encode_outbox(&mut outbox(), &mut buffer);
        let mut refused = 0;
        for place in 0..buffer.len() {
            let mut damaged = buffer.clone();
            damaged[place] ^= 0xff;
            refused += usize::from(decode_outbox(&damaged, &mut Outbox::default()).is_err());
            assert!(decode_outbox(&buffer[..place], &mut Outbox::default()).is_err(), "cut at {place}");
        }
        assert!(refused > 0, "some damage shows");
        for reply in [&[][..], &[0], &[7, 1]] {
            assert!(body(reply).is_err());
        }
    }

    struct OneStore;

    impl Stores for OneStore {
        fn open(&mut self) -> Result<Box<dyn Store>, StoreError> {
            Ok(Box::new(MemoryStore::new()))
        }

        fn close(&mut self, _: Box<dyn Store>) -> Result<(), StoreError> {
            Ok(())
        }
    }

    /// If this fails, a site that sends nonsense, or calls for a server that is elsewhere, ends the process that it calls, or believes to
    /// have been obeyed.
    #[test]
    fn a_host_refuses_what_it_cannot_execute() {
        let mut host = ServerHost::new(Box::new(OneStore));
        let (mut request, mut reply) = (Vec::new(), Vec::new());
        let now = Now { boot: 1, wall_micros: 1 };
        encode_request(ServerKind::AccessManager, &ServerRequest::Tick(now), &mut request);
        host.execute(&request, &mut reply);
        let Err(Lost::Process(reason)) = body(&reply) else { panic!("it has no access manager") };
        assert!(reason.contains("access manager"), "{reason}");
        for cut in 0..request.len() {
            host.execute(&request[..cut], &mut reply);
            assert!(body(&reply).is_err(), "cut at {cut}");
        }
        encode_request(ServerKind::ConcurrencyController, &ServerRequest::Put, &mut request);
        request.extend_from_slice(b"\xff\xff\xff\xff\xff");
        host.execute(&request, &mut reply);
        assert!(body(&reply).is_err(), "that is no state");
    }
}
