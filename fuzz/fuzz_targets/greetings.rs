//! Greetings of streams: what is read is what is written again.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|payload: &[u8]| raidcomm::streams::hello::read_and_write(payload));
