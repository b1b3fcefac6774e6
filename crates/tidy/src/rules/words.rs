//! Words that may not be committed: places of one machine, and marks of unfinished work.

use crate::source::{is_word, words};
use crate::tree::{Violation, WorkTree};

/// Parts of paths and hosts that mean something on one machine only. Cut in two, so that this file does not contain them.
const PLACES: [(&str, &str); 5] =
    [("/wor", "k/"), ("/roo", "t/"), ("index.", "crates.io"), ("static.", "crates.io"), ("host.", "internal")];

/// Marks of unfinished work, found in comments. Cut in two for the same reason.
const MARKS: [(&str, &str); 3] = [("TO", "DO"), ("FIX", "ME"), ("XX", "X")];

/// Code that may not be committed, as it stands once blanks are left out.
const CODE: [(&str, &str); 7] = [
    ("todo!", "finish it, or leave it out"),
    ("unimplemented!", "finish it, or return an error that names what is not supported"),
    ("dbg!", "remove it"),
    ("#[ignore", "a test that does not run tests nothing: make it pass, or remove it"),
    ("allow(dead_code", "remove the dead code"),
    ("allow(unused", "remove what is unused"),
    ("expect(dead_code", "remove the dead code"),
];

/// Applies the rule.
pub fn check(tree: &WorkTree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (path, text) in tree.texts().filter(|(path, _)| *path != "Cargo.lock") {
        for (index, line) in text.lines().enumerate() {
            for (head, tail) in PLACES {
                if contains_place(line, &format!("{head}{tail}")) {
                    let message = format!("`{head}{tail}` names a place that exists on one machine only; leave it out");
                    violations.push(Violation::new(path, index + 1, message));
                }
            }
        }
    }
    for file in tree.rust_files() {
        for (index, line) in file.source.lines.iter().enumerate() {
            let mut complain = |what: &str, to_do: &str| {
                violations.push(Violation::new(file.path, index + 1, format!("`{what}`: {to_do}")))
            };
            let code: String = line.code.chars().filter(|c| !c.is_whitespace()).collect();
            for (what, to_do) in CODE {
                // A module that several test programs include is not used whole by each of them.
                if what.contains("dead_code") && file.path.contains("/tests/") && file.path.ends_with("/mod.rs") {
                    continue;
                }
                let mut starts = code.match_indices(what).map(|(start, _)| start);
                if starts.any(|start| !code[..start].ends_with(is_word)) {
                    complain(what, to_do);
                }
            }
            for (head, tail) in MARKS {
                if words(&line.comment).any(|(_, word)| word.strip_prefix(head) == Some(tail)) {
                    complain(
                        &format!("{head}{tail}"),
                        "finish it; what is planned belongs into the plan, not into the code",
                    );
                }
            }
        }
    }
    violations
}

/// Whether the line contains the place at the start of a path or name: `net` + place is another word.
fn contains_place(line: &str, place: &str) -> bool {
    line.match_indices(place)
        .any(|(start, _)| !line[..start].ends_with(|c: char| is_word(c) || matches!(c, '.' | '-' | '}')))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> usize {
        check(&WorkTree::of(&[(path, text)])).len()
    }

    /// A path of the author's machine in a script or a page breaks it for everybody else.
    #[test]
    fn places_of_one_machine_are_found_in_any_text() {
        for (head, tail) in PLACES {
            assert_eq!(found("README.md", &format!("see {head}{tail}x")), 1, "{head}{tail}");
        }
        assert_eq!(found("crates/a/src/lib.rs", concat!("let x = \"/wor", "k/x\";")), 1);
        assert_eq!(found("README.md", concat!("net/wor", "k/x and ./roo", "t/x")), 0);
        assert_eq!(found("Cargo.lock", concat!("index.", "crates.io")), 0);
    }

    /// Unfinished work would ship.
    #[test]
    fn unfinished_work_is_found() {
        for text in [
            "fn f() { todo!() }",
            "fn f() { unimplemented!(\"x\") }",
            "dbg!(x);",
            "#[ignore]",
            "#[ignore = \"slow\"]",
            "#[allow(dead_code)]",
            "#![allow( unused_variables )]",
            concat!("// TO", "DO: later"),
        ] {
            assert_eq!(found("crates/a/src/lib.rs", text), 1, "{text}");
        }
        for text in ["// dbg!(x)", "let x = \"todo!\";", "mytodo!()", "#[allow(clippy::unused_self)]"] {
            assert_eq!(found("crates/a/src/lib.rs", text), 0, "{text}");
        }
    }
}
