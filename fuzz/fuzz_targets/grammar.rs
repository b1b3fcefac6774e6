//! SQL: whatever the text, it is parsed or refused, and places point into it.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let text = String::from_utf8_lossy(input);
    match grammar::parse(&text) {
        Ok(script) => {
            for parsed in script.statements {
                assert!(parsed.at <= parsed.end && parsed.end as usize <= text.len());
                assert!(parsed.arena.expressions.iter().all(|expression| (expression.at as usize) < text.len()));
            }
        }
        Err(error) => {
            assert_ne!(error.sqlstate, "XX000", "{error}");
            assert!(error.at.is_none_or(|at| text.is_char_boundary(at as usize)), "{error:?}");
        }
    }
});
