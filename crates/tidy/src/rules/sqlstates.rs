//! A SQLSTATE stands in product code under its name, not as five characters: the one table is the crate `sqlstate`.
//!
//! A literal counts as one if the table has it, or if it has a letter behind digits and the class of one that the table has. Files that still have
//! literals are listed with their number, which may only shrink.

use crate::tree::{RustFile, Violation, WorkTree};
use std::collections::BTreeSet;

/// The list: `literals file`, sorted by file.
pub const LIST: &str = "crates/tidy/sqlstates.txt";
/// The table.
const TABLE: &str = "crates/sqlstate/src/lib.rs";
/// The codes that routines may name, in the same crate.
const CONDITIONS: &str = "crates/sqlstate/src/conditions.rs";

/// Applies the rule.
pub fn check(tree: &WorkTree) -> Vec<Violation> {
    let listed = tree.text(LIST).unwrap_or_default();
    let files = measure(tree);
    let mut violations = Vec::new();
    for (path, lines) in &files {
        if lines.len() > count_in(listed, path) {
            let message = "a SQLSTATE as a literal; use its name in the crate `sqlstate`";
            violations.extend(lines.iter().map(|line| Violation::new(path, *line, message)));
        }
    }
    for (index, line) in listed.lines().enumerate() {
        let path = line.split_once(' ').map_or(line, |(_, path)| path);
        let now = files.iter().find(|(name, _)| *name == path).map_or(0, |(_, lines)| lines.len());
        if now < count_in(listed, path) {
            let message = format!("`{path}` now has {now} SQLSTATEs as literals; run `cargo run -p tidy -- --bless`");
            violations.push(Violation::new(LIST, index + 1, message));
        }
    }
    violations
}

/// The list as it should be. Refuses if a file has more literals than before and growth is not allowed.
pub fn bless(tree: &WorkTree, allow_growth: bool) -> Result<String, String> {
    let listed = tree.text(LIST).unwrap_or_default();
    let files = measure(tree);
    let grown: Vec<&str> =
        files.iter().filter(|(path, lines)| lines.len() > count_in(listed, path)).map(|(path, _)| *path).collect();
    if !grown.is_empty() && !allow_growth {
        return Err(format!("these files have more SQLSTATEs as literals than before: {}", grown.join(", ")));
    }
    Ok(files.iter().map(|(path, lines)| format!("{} {path}\n", lines.len())).collect())
}

fn count_in(list: &str, path: &str) -> usize {
    let entry = list.lines().filter_map(|line| line.split_once(' ')).find(|(_, name)| *name == path);
    entry.and_then(|(count, _)| count.parse().ok()).unwrap_or(0)
}

/// Every file with literals, and the lines of these, counted from one.
fn measure(tree: &WorkTree) -> Vec<(&str, Vec<usize>)> {
    let codes: BTreeSet<&str> = literals(tree.text(TABLE).unwrap_or_default()).collect();
    let classes: BTreeSet<&str> = codes.iter().map(|code| &code[..2]).collect();
    let is_code = |literal: &str| {
        let has_letter = literal.starts_with(|first: char| first.is_ascii_digit()) && literal.parse::<u32>().is_err();
        codes.contains(literal) || has_letter && classes.contains(&literal[..2])
    };
    let lines_of = |file: &RustFile<'_>| -> Vec<usize> {
        let lines = file.text.lines().zip(&file.source.lines).enumerate();
        let product = lines.filter(|(_, (_, source))| !source.test && source.code.contains('"'));
        let coded =
            product.flat_map(|(index, (line, _))| literals(line).filter(|it| is_code(it)).map(move |_| index + 1));
        coded.collect()
    };
    let files =
        tree.rust_files().filter(|file| ![TABLE, CONDITIONS].contains(&file.path) && file.path.contains("/src/"));
    files.map(|file| (file.path, lines_of(&file))).filter(|(_, lines)| !lines.is_empty()).collect()
}

/// The string literals of five digits and capital letters.
fn literals(text: &str) -> impl Iterator<Item = &str> {
    let is_part = |character: char| character.is_ascii_digit() || character.is_ascii_uppercase();
    text.split('"').skip(1).filter(move |piece| piece.len() == 5 && piece.chars().all(is_part))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If this fails, a code gets a second name or none, and who looks for its uses misses some.
    #[test]
    fn literals_are_counted_outside_tests() {
        let table = (TABLE, "pub const SYNTAX_ERROR: &str = \"42601\";\n");
        let text =
            "f(\"42601\");\ng(\"42P01\", \"TABLE\", \"12345\");\n// \"42601\"\n#[cfg(test)]\nfn t() { f(\"42601\") }\n";
        let tree = |list: &str| WorkTree::of(&[table, ("crates/a/src/lib.rs", text), (LIST, list)]);
        assert_eq!(measure(&tree("")), [("crates/a/src/lib.rs", vec![1, 2])]);
        assert_eq!(check(&tree("2 crates/a/src/lib.rs\n")), []);
        assert_eq!(check(&tree("1 crates/a/src/lib.rs\n")).len(), 2);
        assert_eq!(check(&tree("3 crates/a/src/lib.rs\n")).len(), 1);
        assert_eq!(bless(&tree("2 crates/a/src/lib.rs\n"), false).as_deref(), Ok("2 crates/a/src/lib.rs\n"));
        assert!(bless(&tree(""), false).is_err());
    }
}
