//! A process that moves, as bytes with a right head: whatever they say, they are refused or are a process that is written as it was read.
#![no_main]

use libfuzzer_sys::fuzz_target;
use message_transactions::OwnedMemory;
use message_transactions::kernel::{DecodeError, Relocated};

type Process = Relocated<u32, OwnedMemory>;

const MAGIC: &[u8] = b"MOVE";
const VERSION: u16 = 1;
const HEAD_BYTES: usize = MAGIC.len() + 2 + 8 + 4;

fuzz_target!(|body: &[u8]| {
    let mut bytes = MAGIC.to_vec();
    bytes.extend(VERSION.to_le_bytes());
    bytes.extend(((HEAD_BYTES + body.len()) as u64).to_le_bytes());
    bytes.extend(crc32fast::hash(body).to_le_bytes());
    bytes.extend(body);
    match Process::decode(7, &bytes) {
        Ok(process) => {
            let written = process.encode(7).expect("what was read lends nothing");
            let again = Process::decode(7, &written).expect("what is written is read");
            assert_eq!(again.encode(7).expect("as before"), written, "what is written is read as it was");
        }
        Err(DecodeError::Impossible(_)) => {}
        Err(other) => panic!("the head is right: {other:?}"),
    }
    let _ = Process::decode(7, body);
});
