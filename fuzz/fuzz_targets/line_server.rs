//! The server of a line whose client passes any memory, and writes what it wants wherever it wants.
#![no_main]

use libfuzzer_sys::fuzz_target;
use raidcomm::shared::{TakenCall, LineListener, LineServeError, LineServer};
use raidcomm_fuzz::{HEAD_BYTES, LINE_BYTES, Script, put, sealed};
use rustix::fd::{AsFd, OwnedFd};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::os::unix::net::UnixStream;
use std::time::Duration;

const SLOT_BYTES: usize = 64;
/// A processor that there is not, and running.
const ELSEWHERE: u32 = u32::MAX << 2;

/// Memory that may be that of a line.
fn memory(script: &mut Script) -> OwnedFd {
    let slots = script.one_of(&[1_u32, 2, 31, 0, 32, u32::MAX]);
    let slot_bytes = script.one_of(&[SLOT_BYTES as u32, SLOT_BYTES as u32, 0, u32::MAX]);
    let memory = sealed(HEAD_BYTES + slots.min(64) as usize * (LINE_BYTES + SLOT_BYTES));
    let head = [*b"RAID", 1_u32.to_le_bytes(), slots.to_le_bytes(), slot_bytes.to_le_bytes()].concat();
    put(&memory, 0, &head);
    // The client says that it is on another processor: a server that yields its own to it would wait for all that the machine has to do.
    put(&memory, 3 * LINE_BYTES, &ELSEWHERE.to_le_bytes());
    memory
}

fn accept(memory: &OwnedFd) -> Option<(LineServer, UnixStream)> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("line");
    let listener = LineListener::bind(&path).expect("it listens");
    let client = UnixStream::connect(&path).expect("it listens");
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let files = [memory.as_fd()];
    assert!(ancillary.push(SendAncillaryMessage::ScmRights(&files)), "there is room for one file");
    sendmsg(&client, &[IoSlice::new(b"RAIDCOMM")], &mut ancillary, SendFlags::NOSIGNAL).expect("it is sent");
    Some((listener.accept().ok()?, client))
}

fuzz_target!(|input: &[u8]| {
    let mut script = Script(input);
    let memory = memory(&mut script);
    let Some((mut server, _client)) = accept(&memory) else { return };
    let (mut request, mut calls) = (Vec::new(), Vec::<TakenCall>::new());
    while script.goes_on() {
        match script.byte() % 5 {
            0 => match server.receive(&mut request, Some(Duration::ZERO)) {
                Ok(call) => {
                    assert!(request.len() <= SLOT_BYTES, "it fits a slot");
                    calls.push(call);
                }
                Err(LineServeError::TimedOut | LineServeError::Broken | LineServeError::Gone) => {}
                Err(error) => panic!("a request is not that: {error}"),
            },
            1 => {
                if let Some(call) = calls.pop() {
                    let _ = server.reply(call, &[8; SLOT_BYTES]);
                }
            }
            // Posted to the server: some slots.
            2 => put(&memory, 2 * LINE_BYTES, &script.word().to_le_bytes()),
            // The state and the length of a slot.
            3 => {
                let slot = HEAD_BYTES + usize::from(script.byte() % 32) * (LINE_BYTES + SLOT_BYTES);
                put(&memory, slot, &u32::from(script.byte() % 8).to_le_bytes());
                put(&memory, slot + 4, &script.one_of(&[0, 1, 64, 65, u32::MAX]).to_le_bytes());
            }
            _ => put(&memory, usize::from(script.short()), &script.array::<8>()),
        }
    }
});
