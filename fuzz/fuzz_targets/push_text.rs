//! Push: whatever the text, it is a program or refused at one of its lines.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let text = String::from_utf8_lossy(input);
    if let Err(error) = push::load(&text, &[]) {
        assert!((1..=text.lines().count().max(1)).contains(&error.line), "{error:?}");
    }
});
