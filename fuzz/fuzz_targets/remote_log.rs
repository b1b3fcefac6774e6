//! A memory server that a hostile writer speaks to, and the files and messages of anybody.
#![no_main]

use libfuzzer_sys::fuzz_target;
use network_memory::message::{ServerReply, WriterRequest, ToServer, ToWriter};
use network_memory::names::{Incarnation, LogId};
use network_memory::server::image::{load, save};
use network_memory::server::{Room, LogServer};
use raidcomm_fuzz::Script;

const ROOM: Room = Room { capacity_bytes: 10_000, quota_bytes: 5_000 };

fuzz_target!(|input: &[u8]| {
    let _ = ToWriter::decode(input);
    let _ = load(1, ROOM, &mut &input[..]);
    let mut server = LogServer::new(Incarnation(1), ROOM);
    let (mut script, mut now) = (Script(input), 1);
    while script.goes_on() {
        let length = usize::from(script.short());
        now += u64::from(script.word());
        if let Ok(message) = ToServer::decode(script.bytes(length)) {
            server.handle(now, LogId(message.log.0 % 4), message.request);
        }
        let ServerReply::Status(status) = server.handle(now, LogId(0), WriterRequest::Status) else { panic!("it says how it is") };
        assert!(status.used_bytes <= ROOM.capacity_bytes, "more is held than fits: {status:?}");
    }
    let mut image = Vec::new();
    save(&server, &mut image).expect("memory takes it");
    assert!(load(now, ROOM, &mut image.as_slice()).is_ok(), "what is saved is an image");
});
