//! The rules, one file each. Every rule is a function from the tree to its violations and keeps no state.

pub mod arrows;
pub mod circles;
pub mod contents;
pub mod dependencies;
pub mod header;
pub mod markdown;
pub mod messages;
pub mod names;
pub mod purity;
pub mod sentences;
pub mod size;
pub mod sqlstates;
pub mod unsafety;
pub mod words;

use crate::architecture::Architecture;
use crate::tree::{Violation, WorkTree};

/// Applies every rule; sorted by place.
pub fn check_all(tree: &WorkTree) -> Vec<Violation> {
    let (architecture, mut violations) = Architecture::parse(tree);
    violations.extend(arrows::check(tree, &architecture));
    violations.extend(circles::check(tree));
    violations.extend(contents::check(tree));
    violations.extend(dependencies::check(tree));
    violations.extend(header::check(tree));
    violations.extend(markdown::check(tree));
    violations.extend(messages::check(tree));
    violations.extend(names::check(tree));
    violations.extend(purity::check(tree, &architecture));
    violations.extend(sentences::check(tree));
    violations.extend(size::check(tree));
    violations.extend(sqlstates::check(tree));
    violations.extend(unsafety::check(tree));
    violations.extend(words::check(tree));
    violations.sort();
    violations.dedup();
    violations
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A rule that exists but is not called would look like a rule that holds.
    #[test]
    fn every_rule_is_applied() {
        let tree = WorkTree::of(&[
            (crate::architecture::ARROWS, "[a]\nkind = 'server'\npure = true\n"),
            ("Cargo.toml", "[workspace.dependencies]\nserde = '1'\n"),
            (
                "crates/a/Cargo.toml",
                "[package]\nname = 'a'\n[dependencies]\nb.workspace = true\n[lints]\nworkspace = true\n",
            ),
            ("crates/b/Cargo.toml", "[package]\nname = 'b'\n[lints]\nworkspace = true\n"),
            ("crates/a/src/lib.rs", "use std::fs;\nfn f() { unsafe { todo!() } }\n"),
            (size::LIST, "700 crates/a/src/lib.rs\n"),
            (names::LIST, "2 Gone\n"),
            (sqlstates::LIST, "1 crates/a/src/gone.rs\n"),
            ("README.md", "[x](nowhere.md)"),
            ("docs/lonely.md", ""),
        ]);
        let found = check_all(&tree).iter().map(Violation::to_string).collect::<Vec<_>>().join("\n");
        let signs = [
            "imports `b`",
            "says why",
            "//!",
            "nowhere.md",
            "does not list this page",
            "`std::fs`",
            "now has",
            "`Gone` is now",
            "SQLSTATEs as literals",
            "unsafe",
            "`todo!`",
            "no row for `b`",
        ];
        for sign in signs {
            assert!(found.contains(sign), "no violation says {sign:?}:\n{found}");
        }
    }
}
