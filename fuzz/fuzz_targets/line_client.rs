//! The client of a line whose server writes what it wants wherever it wants.
#![no_main]

use libfuzzer_sys::fuzz_target;
use raidcomm::shared::{LineCallError, LineClient, Shape, Ticket};
use raidcomm_fuzz::{HEAD_BYTES, LINE_BYTES, Script, put};
use rustix::fd::OwnedFd;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use std::io::{IoSliceMut, Write};
use std::mem::MaybeUninit;
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::Duration;

const SHAPE: Shape = Shape { slots: 2, slot_bytes: 64 };
/// A processor that there is not, and running.
const ELSEWHERE: u32 = u32::MAX << 2;

/// Takes the memory of a client as a server does.
fn take(listener: &UnixListener) -> (OwnedFd, UnixStream) {
    let (mut socket, _) = listener.accept().expect("a client");
    let mut hello = [0; 8];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    recvmsg(&socket, &mut [IoSliceMut::new(&mut hello)], &mut ancillary, RecvFlags::CMSG_CLOEXEC).expect("a greeting");
    let memory = ancillary.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut files) => files.next(),
        _ => None,
    });
    socket.write_all(&hello).expect("it waits");
    (memory.expect("its memory"), socket)
}

fuzz_target!(|input: &[u8]| {
    let mut script = Script(input);
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("line");
    let listener = UnixListener::bind(&path).expect("it listens");
    let taking = std::thread::spawn(move || take(&listener));
    let mut client = LineClient::connect(&path, SHAPE).expect("a line");
    let (memory, _socket) = taking.join().expect("it takes the memory");
    // The server says that it is on another processor: a client that yields its own to it would wait for all that the machine has to do.
    put(&memory, 4 * LINE_BYTES, &ELSEWHERE.to_le_bytes());
    let (mut reply, mut tickets) = (Vec::new(), Vec::<Ticket>::new());
    while script.goes_on() {
        match script.byte() % 6 {
            0 => tickets.extend(client.begin(&[5; 9])),
            1 => {
                let Some(ticket) = tickets.pop() else { continue };
                match client.finish(ticket, &mut reply, Some(Duration::ZERO)) {
                    Ok(()) => assert!(reply.len() <= SHAPE.slot_bytes as usize, "it fits a slot"),
                    Err(LineCallError::TimedOut(ticket)) => tickets.push(ticket),
                    Err(_) => {}
                }
            }
            2 => {
                if let Some(ticket) = tickets.pop() {
                    client.abandon(ticket);
                }
            }
            // Posted to the client: some slots.
            3 => put(&memory, LINE_BYTES, &script.word().to_le_bytes()),
            // The state and the length of a slot.
            4 => {
                let slot = HEAD_BYTES + usize::from(script.byte() % 2) * 2 * LINE_BYTES;
                put(&memory, slot, &u32::from(script.byte() % 16).to_le_bytes());
                put(&memory, slot + 4, &script.one_of(&[0, 1, 64, 65, u32::MAX]).to_le_bytes());
            }
            _ => put(&memory, usize::from(script.short()), &script.array::<8>()),
        }
        assert!(client.free_slots() <= SHAPE.slots, "no more slots than there are");
    }
});
