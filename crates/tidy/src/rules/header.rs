//! Every Rust file starts with `//!`: what lives here and the invariant it keeps.

use crate::tree::{Violation, WorkTree};

/// Applies the rule.
pub fn check(tree: &WorkTree) -> Vec<Violation> {
    let headless = tree.rust_files().filter(|file| {
        let words = file.text.strip_prefix("//!").and_then(|rest| rest.lines().next()).map_or("", str::trim);
        words.is_empty() || words.contains("see Cargo.toml")
    });
    let message = "start with `//!` and say what lives in this file and which invariant it keeps";
    headless.map(|file| Violation::new(file.path, 1, message)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader who opens a file must be told what it is for.
    #[test]
    fn files_without_a_header_are_found() {
        let tree = WorkTree::of(&[
            ("crates/a/src/good.rs", "//! Lives here.\n"),
            ("crates/a/src/bare.rs", "use b;\n"),
            ("crates/a/src/hollow.rs", "//!\n//! Late.\n"),
            ("crates/a/src/empty.rs", ""),
        ]);
        let found: Vec<_> = check(&tree).into_iter().map(|violation| violation.file).collect();
        assert_eq!(found, ["crates/a/src/bare.rs", "crates/a/src/empty.rs", "crates/a/src/hollow.rs"]);
    }
}
