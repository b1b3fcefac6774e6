//! Files of rules: what is said of a bad one, and that any text is read or refused.

use expert_system::limits::CERTAIN;
use expert_system::rule_book::STANDARD;
use expert_system::{RuleBook, RuleBookError};
use proptest::prelude::*;

const GOOD: &str = r#"# A comment.
[[rule]]
name = "busy"
when = ["near >= 50", "length<3", " reads  >  10 ", "hot <= 0"]
method = "serial"
certainty = -400
because = "It is busy."
"#;

fn error(text: &str) -> RuleBookError {
    RuleBook::parse(text).expect_err("it is bad")
}

/// If this fails, who has made a mistake in a file is not told where and what.
#[test]
fn a_bad_file_is_refused_with_line_and_reason() {
    assert_eq!(RuleBook::parse(GOOD).expect("it is good").rules()[0].when.len(), 4);
    let cases = [
        ("near >= 50", "nearness >= 50", 4, "there is no fact \"nearness\"; there are near, reads"),
        ("near >= 50", "near == 50", 4, "is not like"),
        ("near >= 50", "near >= -1", 4, "is no whole number"),
        ("near >= 50", "near >= 99999999999999999999", 4, "is no whole number"),
        ("\"serial\"", "\"fast\"", 5, "there is no method \"fast\"; there are locking, optimistic"),
        ("-400", "1001", 6, "from -1000 to 1000"),
        ("-400", "0", 6, "or it is 0"),
        ("-400", "0.5", 6, "expected"),
        ("It is busy.", " ", 7, "the reason (because)"),
        ("\"busy\"", "\"Busy one\"", 3, "is not 1 to 64 small letters"),
        ("certainty", "certianty", 6, "unknown field `certianty`"),
        ("when = ", "whne = ", 4, "unknown field `whne`"),
        ("# A comment.", "= 3", 1, ""),
        ("because = \"It is busy.\"\n", "", 2, "missing field `because`"),
    ];
    for (old, new, line, reason) in cases {
        let error = error(&GOOD.replacen(old, new, 1));
        assert_eq!(error.line, line, "{old} {new}: {error}");
        assert!(error.reason.contains(reason), "{old} {new}: {error}");
    }
    let twice = error(&GOOD.repeat(2));
    assert_eq!((twice.line, twice.reason.as_str()), (10, "two rules are called \"busy\""));
    assert_eq!(error("").to_string(), "line 1: there is no [[rule]]");
}

/// If this fails, a file can take a site's memory or time.
#[test]
fn what_is_too_large_is_refused() {
    let many: String = (0..300).map(|place| GOOD.replace("busy\"", &format!("busy-{place}\""))).collect();
    assert!(error(&many).reason.contains("more than 256 rules"));
    let long = GOOD.replace("\"near >= 50\"", &vec!["\"near >= 50\""; 17].join(", "));
    assert!(error(&long).reason.contains("more than 16 conditions"));
    assert!(error(&"#".repeat(300_000)).reason.contains("bytes"));
}

/// A text with some of its bytes changed, taken out and doubled.
fn damaged(text: &str, damages: &[(usize, u8, u8)]) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for (place, kind, byte) in damages {
        let place = place % bytes.len().max(1);
        match kind % 4 {
            0 if !bytes.is_empty() => bytes[place] = *byte,
            1 if !bytes.is_empty() => drop(bytes.remove(place)),
            2 => bytes.insert(place, *byte),
            _ => {
                let end = (place + usize::from(*byte)).min(bytes.len());
                let piece = bytes[place.min(end)..end].to_vec();
                bytes.splice(place.min(end)..place.min(end), piece);
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

proptest! {
    /// If this fails, a damaged file ends a site's start without a word, or a rule gets in that breaks what is promised of rules.
    #[test]
    fn any_text_is_read_or_refused_with_a_line_of_it(
        standard in any::<bool>(),
        damages in proptest::collection::vec((any::<usize>(), any::<u8>(), prop_oneof![any::<u8>(), 32_u8..127]), 0..12),
    ) {
        let text = damaged(if standard { STANDARD } else { GOOD }, &damages);
        match RuleBook::parse(&text) {
            Ok(book) => {
                prop_assert!(!book.rules().is_empty());
                for rule in book.rules() {
                    prop_assert!(rule.certainty != 0 && rule.certainty.abs() <= CERTAIN);
                    prop_assert!(!rule.because.trim().is_empty());
                }
            }
            Err(error) => {
                prop_assert!((1..=text.bytes().filter(|byte| *byte == b'\n').count() + 1).contains(&error.line));
                prop_assert!(!error.reason.is_empty());
            }
        }
    }

    /// The same of what is no file of rules at all.
    #[test]
    fn any_bytes_are_refused_or_read(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        prop_assert!(RuleBook::parse(&text).is_err());
    }
}
