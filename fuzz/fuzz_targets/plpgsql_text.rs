//! PL/pgSQL: whatever the body, it is read or refused, and places point into it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plpgsql::{RoutineHeader, parse};

fuzz_target!(|input: &[u8]| {
    let text = String::from_utf8_lossy(input);
    if let Err(error) = parse(&text, &RoutineHeader::default()) {
        assert_ne!(error.sqlstate, "XX000", "{error}");
        assert!(error.at.is_none_or(|at| at as usize <= text.len()), "{error:?}");
    }
});
