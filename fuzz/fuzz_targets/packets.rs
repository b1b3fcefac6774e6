//! Packets of kernels: what is read is what is written again, and nothing else is a packet.
#![no_main]

use libfuzzer_sys::fuzz_target;
use message_transactions::codec::{decode, encode};

fuzz_target!(|buffer: &[u8]| {
    let mut rest = buffer;
    while let Ok((header, body, bytes)) = decode(rest) {
        assert!(bytes <= rest.len(), "a packet ends within its buffer");
        let mut written = Vec::new();
        encode(&header, &body, &mut written);
        assert_eq!(decode(&written), Ok((header, body, written.len())), "what is written is read");
        rest = &rest[bytes..];
    }
});
