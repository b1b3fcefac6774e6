//! Frames: however the bytes are cut, the same frames come out, and an error is final.
#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use raidcomm::frame::{FrameDecoder, FrameError, append};
use raidcomm_fuzz::Script;

const PAYLOAD_BYTES_MAX: usize = 512;

fn decode(mut bytes: &[u8], cut: usize) -> (Vec<Bytes>, Option<FrameError>) {
    let mut decoder = FrameDecoder::new(PAYLOAD_BYTES_MAX);
    let mut frames = Vec::new();
    while !bytes.is_empty() {
        let (piece, rest) = bytes.split_at(cut.min(bytes.len()));
        decoder.feed(piece);
        bytes = rest;
        loop {
            match decoder.next_frame() {
                Ok(Some(frame)) => frames.push(frame),
                Ok(None) => break,
                Err(error) => {
                    decoder.feed(bytes);
                    assert_eq!(decoder.next_frame(), Err(error), "an error is final");
                    return (frames, Some(error));
                }
            }
        }
    }
    (frames, None)
}

fuzz_target!(|input: &[u8]| {
    let mut script = Script(input);
    let (cut, sound) = (usize::from(script.byte()) + 1, script.byte());
    // Nobody guesses a checksum: some frames are sound.
    let mut bytes = Vec::new();
    for _ in 0..sound % 4 {
        let length = usize::from(script.byte());
        append(&mut bytes, script.bytes(length));
    }
    bytes.extend_from_slice(script.0);
    let whole = decode(&bytes, bytes.len().max(1));
    assert_eq!(decode(&bytes, cut), whole, "cuts do not matter");
    assert!(whole.0.len() >= usize::from(sound % 4), "sound frames are frames");
});
