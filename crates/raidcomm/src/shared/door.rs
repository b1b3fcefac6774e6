//! The door of a process: where other processes of its host hand rings in.
//!
//! It is a Unix datagram socket with a name outside of the file system, so nothing is left of it when its process ends, however that ends, and
//! it is seen only in its own network namespace: who can reach it shares this host's memory and network. A ring comes as one datagram with its
//! files and a [`DoorPass`], a number that the owner of the door has drawn and told somebody over a channel that it trusts.

use super::ring::RingFiles;
use super::shape::LineError;
use crate::unguessable::draw;
use mio::net::UnixDatagram;
use rustix::fd::{AsFd, OwnedFd};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    SocketAddrUnix,
};
use std::fs;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::SocketAddr;

/// Files of one ring.
const FILES: usize = 3;

/// Which door, of all that this host may have. Drawn, so that it cannot be taken by somebody else before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DoorName(pub [u8; 16]);

/// What shows that a ring comes from whom the owner of the door has told it. Drawn, and used once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DoorPass(pub [u8; 16]);

impl DoorName {
    fn address(self) -> io::Result<SocketAddr> {
        let mut name = b"raidcomm ".to_vec();
        self.0.iter().for_each(|byte| name.extend_from_slice(format!("{byte:02x}").as_bytes()));
        SocketAddr::from_abstract_name(name)
    }
}

impl DoorPass {
    /// A new one.
    ///
    /// # Errors
    /// The operating system has no random numbers.
    pub fn draw() -> io::Result<DoorPass> {
        draw().map(DoorPass)
    }
}

/// What tells a host from every other: two processes with the same one share memory and network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostId(pub [u8; 16]);

impl HostId {
    /// This host's: which start of its kernel, and which network namespace. `None`: the kernel does not say.
    pub fn own() -> Option<HostId> {
        let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        let boot = u128::from_str_radix(&text.trim().replace('-', ""), 16).ok()?;
        let network = fs::metadata("/proc/self/ns/net").ok()?.ino();
        Some(HostId((boot ^ u128::from(network)).to_le_bytes()))
    }
}

/// What somebody handed in.
#[derive(Debug)]
pub struct HandedIn {
    /// With this pass; `None`: it is junk.
    pub pass: Option<DoorPass>,
    /// `None`: this process could not take its files, because it has too many open, or there were none.
    pub ring: Option<RingFiles>,
}

/// See the module's description.
#[derive(Debug)]
pub struct RingDoor {
    socket: UnixDatagram,
    name: DoorName,
}

impl RingDoor {
    /// A new one; it never blocks. Register it with an event loop to learn when somebody is at it.
    ///
    /// # Errors
    /// The operating system refuses.
    pub fn open() -> io::Result<RingDoor> {
        let name = DoorName(draw()?);
        Ok(RingDoor { socket: UnixDatagram::bind_addr(&name.address()?)?, name })
    }

    /// What others have to know.
    pub fn name(&self) -> DoorName {
        self.name
    }

    /// What an event loop registers.
    pub fn source(&mut self) -> &mut UnixDatagram {
        &mut self.socket
    }

    /// Takes the next datagram. `None`: there is none.
    ///
    /// # Errors
    /// The operating system does not let us look.
    pub fn receive(&self) -> io::Result<Option<HandedIn>> {
        loop {
            let mut pass = [0; size_of::<DoorPass>()];
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FILES))];
            let mut ancillary = RecvAncillaryBuffer::new(&mut space);
            let mut parts = [IoSliceMut::new(&mut pass)];
            let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
            let received = match rustix::net::recvmsg(&self.socket, &mut parts, &mut ancillary, flags) {
                Ok(received) => received.bytes,
                Err(rustix::io::Errno::INTR) => continue,
                Err(rustix::io::Errno::AGAIN) => return Ok(None),
                Err(error) => return Err(error.into()),
            };
            let files: Vec<OwnedFd> = ancillary.drain().filter_map(files_of).flatten().collect();
            let files = <[OwnedFd; FILES]>::try_from(files).ok();
            let pass = (received == pass.len()).then_some(DoorPass(pass));
            let ring = files.map(|[memory, data, room]| RingFiles { memory, data, room });
            return Ok(Some(HandedIn { pass, ring }));
        }
    }
}

fn files_of(message: RecvAncillaryMessage<'_>) -> Option<Vec<OwnedFd>> {
    match message {
        RecvAncillaryMessage::ScmRights(files) => Some(files.collect()),
        _ => None,
    }
}

/// Hands a ring in at a door.
///
/// # Errors
/// Nobody is behind it any more, or too much waits at it. The files are closed; the reader has none of them.
pub fn hand_in(name: DoorName, pass: DoorPass, files: RingFiles) -> Result<(), LineError> {
    let socket = UnixDatagram::unbound()?;
    let passed = [files.memory.as_fd(), files.data.as_fd(), files.room.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FILES))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    assert!(ancillary.push(SendAncillaryMessage::ScmRights(&passed)), "there is room for the files");
    let address = name.address()?;
    let address = SocketAddrUnix::new_abstract_name(address.as_abstract_name().unwrap_or_default())?;
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    rustix::net::sendmsg_addr(&socket, &address, &[IoSlice::new(&pass.0)], &mut ancillary, flags)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::ring::{RingReader, RingWriter};

    #[test]
    fn a_ring_comes_in_with_its_pass_and_nothing_else_does() {
        let door = RingDoor::open().expect("a door");
        assert!(door.receive().expect("a door").is_none());
        let stray = UnixDatagram::unbound().expect("a socket");
        let address = door.name().address().expect("a name");
        // Too short, too long, and without files.
        for bytes in [0, 15, 16, 17, 100] {
            let name = SocketAddrUnix::new_abstract_name(address.as_abstract_name().expect("a name")).expect("a name");
            let mut none = SendAncillaryBuffer::default();
            rustix::net::sendmsg_addr(
                &stray,
                &name,
                &[IoSlice::new(&[1; 100][..bytes])],
                &mut none,
                SendFlags::NOSIGNAL,
            )
            .expect("it is sent");
        }
        let pass = DoorPass::draw().expect("random numbers");
        let (mut writer, files) = RingWriter::create(4096).expect("a ring");
        hand_in(door.name(), pass, files).expect("it is sent");
        for bytes in [0, 15, 16, 17, 100] {
            let junk = door.receive().expect("a door").expect("what was sent first");
            assert!(junk.ring.is_none() && (junk.pass.is_none() || bytes >= 16), "{bytes} bytes and no files");
        }
        let came = door.receive().expect("a door").expect("the ring");
        assert_eq!(came.pass, Some(pass));
        let files = came.ring.expect("its files");
        let mut reader = RingReader::open(files).expect("it is a ring");
        writer.write(b"through the door").expect("the reader has done nothing");
        let mut bytes = bytes::BytesMut::new();
        reader.read(&mut bytes, 100).expect("the writer keeps to the protocol");
        assert_eq!(bytes, &b"through the door"[..]);
        assert!(door.receive().expect("a door").is_none());
    }

    #[test]
    fn nobody_behind_a_door_is_an_error() {
        let door = RingDoor::open().expect("a door");
        let name = door.name();
        drop(door);
        let (_writer, files) = RingWriter::create(4096).expect("a ring");
        let pass = DoorPass::draw().expect("random numbers");
        assert!(hand_in(name, pass, files).is_err());
    }

    #[test]
    fn a_host_knows_itself() {
        assert_eq!(HostId::own(), HostId::own());
        assert!(HostId::own().is_some());
    }
}
