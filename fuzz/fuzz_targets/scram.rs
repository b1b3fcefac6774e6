//! Messages of SCRAM from clients that do not know the password: none is let in.
#![no_main]

use authentication::{Exchange, Verifier};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|messages: (bool, bool, &[u8], &[u8])| {
    let (plus, binds, first, last) = messages;
    let verifier = Verifier::mock(b"secret", "role");
    let mut exchange = Exchange::new(verifier, false, plus, binds.then(|| vec![7; 32]), [1; 18]);
    if exchange.first(first).is_ok() {
        assert!(exchange.last(last).is_err());
    }
});
