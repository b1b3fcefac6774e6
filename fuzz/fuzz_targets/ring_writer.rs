//! The writer of a ring whose reader writes what it wants wherever it wants.
#![no_main]

use libfuzzer_sys::fuzz_target;
use raidcomm::shared::ring::RingWriter;
use raidcomm_fuzz::{HEAD_BYTES, LINE_BYTES, Script, put};

const BYTES: usize = 128;

fuzz_target!(|input: &[u8]| {
    let mut script = Script(input);
    let (mut writer, files) = RingWriter::create(BYTES).expect("a ring");
    let mut read = 0_u64;
    while script.goes_on() {
        match script.byte() % 4 {
            0 => {
                let bytes = [7; 512];
                let count = usize::from(script.short()) % bytes.len();
                if let Ok(moved) = writer.write(&bytes[..count]) {
                    assert!(moved <= count && moved <= BYTES, "no more than there is room for");
                }
            }
            1 => {
                read = read.wrapping_add(u64::from(script.byte()));
                put(&files.memory, 2 * LINE_BYTES, &read.to_le_bytes());
            }
            2 => {
                read = script.count();
                put(&files.memory, 2 * LINE_BYTES, &read.to_le_bytes());
            }
            _ => {
                let at = usize::from(script.short()) % (HEAD_BYTES + BYTES);
                put(&files.memory, at, &script.array::<8>());
            }
        }
    }
});
