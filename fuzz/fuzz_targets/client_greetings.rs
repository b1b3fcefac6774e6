//! What PostgreSQL's clients say before they are let in.
#![no_main]

use libfuzzer_sys::fuzz_target;
use user_interface::protocol::frontend;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(Some((_, length))) = frontend::startup(bytes) {
        assert!(length <= bytes.len());
    }
    if let Ok(Some((body, length))) = frontend::password_message(bytes) {
        assert!(length == body.len() + 5 && length <= bytes.len());
        let _ = frontend::password(body);
        let _ = frontend::sasl_initial(body);
    }
});
