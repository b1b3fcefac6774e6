//! Messages of SCRAM from clients that do not know the password: none is let in.
#![no_main]

use authentication::{ScramExchange, PasswordVerifier};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|messages: (bool, bool, &[u8], &[u8])| {
    let (plus, binds, first, last) = messages;
    let verifier = PasswordVerifier::mock(b"secret", "role");
    let mut exchange = ScramExchange::new(verifier, false, plus, binds.then(|| vec![7; 32]), [1; 18]);
    if exchange.first(first).is_ok() {
        assert!(exchange.last(last).is_err());
    }
});
