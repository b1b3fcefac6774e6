//! A door at which anybody of the host hands in any bytes and any files.
#![no_main]

use bytes::BytesMut;
use libfuzzer_sys::fuzz_target;
use raidcomm::shared::door::RingDoor;
use raidcomm::shared::ring::RingReader;
use raidcomm_fuzz::{HEAD_BYTES, Script, put, sealed};
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::{AsFd, OwnedFd};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketAddrUnix, sendmsg_addr};
use std::cell::RefCell;
use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::os::unix::net::UnixDatagram;

const FILES_MAX: usize = 6;

thread_local! {
    static DOOR: RefCell<RingDoor> = RefCell::new(RingDoor::open().expect("a door"));
}

fn file(script: &mut Script) -> OwnedFd {
    match script.byte() % 4 {
        0 => eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).expect("a bell"),
        1 => eventfd(0, EventfdFlags::CLOEXEC).expect("a bell"),
        2 => UnixDatagram::unbound().expect("a socket").into(),
        _ => {
            let memory = sealed(usize::from(script.short()) % (2 * HEAD_BYTES));
            put(&memory, 0, &[*b"RING", 1_u32.to_le_bytes()].concat());
            memory
        }
    }
}

fuzz_target!(|input: &[u8]| {
    let mut script = Script(input);
    DOOR.with_borrow(|door| {
        let hex: String = door.name().0.iter().map(|byte| format!("{byte:02x}")).collect();
        let address = SocketAddrUnix::new_abstract_name(format!("raidcomm {hex}").as_bytes()).expect("a name");
        let stray = UnixDatagram::unbound().expect("a socket");
        for _ in 0..script.byte() % 4 {
            let files: Vec<OwnedFd> = (0..usize::from(script.byte()) % FILES_MAX).map(|_| file(&mut script)).collect();
            let borrowed: Vec<_> = files.iter().map(AsFd::as_fd).collect();
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FILES_MAX))];
            let mut ancillary = SendAncillaryBuffer::new(&mut space);
            assert!(borrowed.is_empty() || ancillary.push(SendAncillaryMessage::ScmRights(&borrowed)), "there is room");
            let length = usize::from(script.byte() % 20);
            let bytes = script.bytes(length);
            let _ = sendmsg_addr(&stray, &address, &[IoSlice::new(bytes)], &mut ancillary, SendFlags::DONTWAIT);
        }
        while let Some(handed_in) = door.receive().expect("a door") {
            let Some(Ok(mut reader)) = handed_in.ring.map(RingReader::open) else { continue };
            let _ = reader.read(&mut BytesMut::new(), 100);
            reader.sleep();
        }
    });
});
