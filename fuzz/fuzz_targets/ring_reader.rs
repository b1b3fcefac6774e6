//! The reader of a ring whose writer writes what it wants wherever it wants, while it is read.
#![no_main]

use bytes::BytesMut;
use libfuzzer_sys::fuzz_target;
use raidcomm::shared::ring::RingReader;
use raidcomm_fuzz::{HEAD_BYTES, LINE_BYTES, Script, files_of, put, sealed};

fuzz_target!(|input: &[u8]| {
    let mut script = Script(input);
    let contents = script.one_of(&[64, 128, 4096, 1, 0, 63, 100]);
    let memory = sealed(HEAD_BYTES + contents);
    let head = script.one_of(&[*b"RING", *b"RING", *b"RING", *b"RAID"]);
    put(&memory, 0, &head);
    put(&memory, 4, &u32::from(script.one_of(&[1_u8, 1, 1, 2])).to_le_bytes());
    let (files, own) = files_of(memory);
    let Ok(mut reader) = RingReader::open(files) else { return };
    let mut read = BytesMut::new();
    let mut written = 0_u64;
    while script.goes_on() {
        match script.byte() % 5 {
            0 => {
                let bytes_max = usize::from(script.short());
                let before = read.len();
                if let Ok(count) = reader.read(&mut read, bytes_max) {
                    assert!(count <= contents && count <= bytes_max && read.len() == before + count, "it lies inside");
                }
                read.clear();
            }
            1 => {
                written = written.wrapping_add(u64::from(script.byte()));
                put(&own, LINE_BYTES, &written.to_le_bytes());
            }
            2 => {
                written = script.count();
                put(&own, LINE_BYTES, &written.to_le_bytes());
            }
            3 => {
                reader.sleep();
                reader.wake();
            }
            _ => {
                let at = usize::from(script.short()) % (HEAD_BYTES + contents);
                put(&own, at, &script.array::<8>());
            }
        }
    }
});
