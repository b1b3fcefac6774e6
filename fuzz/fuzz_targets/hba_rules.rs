//! Texts of rules: an error that names a line, or rules that decide.
#![no_main]

use authentication::{Attempt, Rules};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| match Rules::parse(text) {
    Ok(rules) => {
        let address = "10.0.0.1".parse().expect("an address");
        for encrypted in [false, true] {
            let attempt = Attempt { database: "shop", role: "alice", address, same_host: false, encrypted };
            let _ = rules.find(&attempt);
        }
        let _ = rules.trusts_others();
    }
    Err(error) => assert!(error.line >= 1 && error.line <= text.lines().count()),
});
