//! Calls over Raidcomm V.1 and over its long datagrams: table I of the 1989 paper.

use super::sockets::{insist, reached_at, server_of, udp_socket};
use crate::communication::limits::{BYTES_MAX, LOST_TIME};
use crate::communication::method::{Caller, Meeting, Method, Ready, reply_to};
use crate::communication::version_one::long_datagrams;
use crate::communication::version_one::raid_datagrams::{HEADER_BYTES, Header, RaidDatagrams};
use identifiers::{Address, InstanceId, ServerKind, SiteId};
use laboratory_harness::{Failure, Outcome};
use raidcomm::codec::external::{self, ExternalError, Opaque};
use std::collections::HashMap;
use std::time::Duration;

/// Bytes of a marshalled message beside those that it carries: its header, their length, and what fills the last unit.
const MARSHALLED_BYTES: usize = HEADER_BYTES + 8;

/// Long datagrams (LDG) without what stands above them.
pub struct LongDatagrams {
    /// Of a fragment.
    pub fragment_bytes: usize,
}

impl Method for LongDatagrams {
    fn name(&self) -> &'static str {
        if self.fragment_bytes == 512 { "LDG-512" } else { "LDG-8000" }
    }

    fn bytes_max(&self) -> usize {
        BYTES_MAX
    }

    fn serve(&self, meeting: &Meeting, ready: Ready<'_>) -> Outcome<()> {
        let socket = udp_socket(meeting)?;
        let address = reached_at(meeting, socket.local_addr()?);
        let mut datagrams = long_datagrams::LongDatagrams::new(socket, self.fragment_bytes);
        ready(&address)?;
        let (mut request, mut reply) = (Vec::new(), Vec::new());
        loop {
            let client = datagrams.receive(&mut request, BYTES_MAX)?;
            reply_to(&request, &mut reply, meeting.reply_bytes);
            datagrams.send(&reply, client)?;
        }
    }

    fn caller(&self, meeting: &Meeting) -> Outcome<Caller> {
        let (socket, server) = (udp_socket(meeting)?, server_of(meeting)?);
        socket.set_read_timeout(Some(Duration::from_millis(LOST_TIME)))?;
        let datagrams = std::cell::RefCell::new(long_datagrams::LongDatagrams::new(socket, self.fragment_bytes));
        Ok(Box::new(move |request, reply| {
            insist(
                || datagrams.borrow_mut().send(request, server),
                || datagrams.borrow_mut().receive(reply, BYTES_MAX).map(drop),
            )
        }))
    }
}

/// All layers of V.1.
pub struct RaidcommOne;

const FRAGMENT_BYTES: usize = 8000;

fn server_name(site: u16) -> Address {
    Address { instance: InstanceId(1), site: SiteId(site), kind: ServerKind::AtomicityController, number: 0 }
}

/// Puts a header and data into V.1's form, in place of what is in `message`.
///
/// # Errors
/// There are more bytes than a length can tell.
pub fn marshal(header: &Header, data: &[u8], message: &mut Vec<u8>) -> Result<(), ExternalError> {
    message.clear();
    external::append(&(header, Opaque(data)), message)
}

/// And takes them out.
///
/// # Errors
/// It is no message of V.1.
pub fn unmarshal(message: &[u8]) -> Result<(Header, Opaque<'_>), ExternalError> {
    external::read(message)
}

/// A header of the first message from one server to another.
pub fn first_header() -> Header {
    Header { to: server_name(1), from: server_name(2), kind: 0, transaction: 0 }
}

impl Method for RaidcommOne {
    fn name(&self) -> &'static str {
        "Raidcomm V.1"
    }

    fn bytes_max(&self) -> usize {
        BYTES_MAX
    }

    fn serve(&self, meeting: &Meeting, ready: Ready<'_>) -> Outcome<()> {
        let socket = udp_socket(meeting)?;
        let address = reached_at(meeting, socket.local_addr()?);
        let datagrams = long_datagrams::LongDatagrams::new(socket, FRAGMENT_BYTES);
        let mut raid = RaidDatagrams::new(datagrams, HashMap::new());
        ready(&address)?;
        let (mut message, mut reply, mut bytes) = (Vec::new(), Vec::new(), Vec::new());
        loop {
            let from = raid.receive(&mut message, BYTES_MAX + MARSHALLED_BYTES)?;
            // Foreign datagrams are passed over.
            let Ok((header, Opaque(request))) = unmarshal(&message) else { continue };
            reply_to(request, &mut reply, meeting.reply_bytes);
            raid.learn(header.from, from);
            let header = Header { to: header.from, from: header.to, ..header };
            marshal(&header, &reply, &mut bytes).map_err(Failure::foreign)?;
            raid.send(header.to, &bytes)?;
        }
    }

    fn caller(&self, meeting: &Meeting) -> Outcome<Caller> {
        let (socket, server) = (udp_socket(meeting)?, server_of(meeting)?);
        socket.set_read_timeout(Some(Duration::from_millis(LOST_TIME)))?;
        let datagrams = long_datagrams::LongDatagrams::new(socket, FRAGMENT_BYTES);
        let places = HashMap::from([(server_name(1), server)]);
        let raid = std::cell::RefCell::new(RaidDatagrams::new(datagrams, places));
        let (mut bytes, mut message) = (Vec::new(), Vec::new());
        let mut header = first_header();
        Ok(Box::new(move |request, reply| {
            header.transaction += 1;
            marshal(&header, request, &mut bytes).map_err(Failure::foreign)?;
            insist(
                || raid.borrow_mut().send(header.to, &bytes),
                || raid.borrow_mut().receive(&mut message, BYTES_MAX + MARSHALLED_BYTES).map(drop),
            )?;
            let (_, Opaque(data)) = unmarshal(&message).map_err(Failure::foreign)?;
            reply.clear();
            reply.extend_from_slice(data);
            Ok(())
        }))
    }
}
