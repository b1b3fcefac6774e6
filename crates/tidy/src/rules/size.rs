//! Large files and functions are listed with their size, and the list may only shrink.
//!
//! Invariant: the list equals what is measured. So a new or grown entry fails, and a shrunk one must be written down, which keeps
//! it from growing back.

use std::collections::BTreeMap;

use crate::limits::{FILE_LINES_MAX, FUNCTION_LINES_MAX};
use crate::tree::{Violation, WorkTree};

/// The list: `lines path` or `lines path function`, sorted by name.
pub const LIST: &str = "crates/tidy/large.txt";

/// What is large, by name (`path` or `path function`): its lines, and where it begins, counted from one.
type Sizes = BTreeMap<String, (usize, usize)>;

/// Applies the rule.
pub fn check(tree: &WorkTree) -> Vec<Violation> {
    let (listed, mut violations) = read_list(tree);
    let measured = measure(tree);
    for (name, &(lines, begin)) in &measured {
        let path = name.split(' ').next().unwrap_or(name);
        let maximum = maximum(name);
        let message = match listed.get(name) {
            None => format!("`{name}` has {lines} lines, more than {maximum}; split it"),
            Some(&(before, _)) if lines > before => {
                format!("`{name}` grew from {before} to {lines} lines; split it (aim: {maximum})")
            }
            Some(&(before, at)) if lines < before => {
                let message =
                    format!("`{name}` now has {lines} lines, not {before}; run `cargo run -p tidy -- --bless`");
                violations.push(Violation::new(LIST, at, message));
                continue;
            }
            Some(_) => continue,
        };
        violations.push(Violation::new(path, begin, message));
    }
    for (name, &(_, at)) in listed.iter().filter(|(name, _)| !measured.contains_key(*name)) {
        let maximum = maximum(name);
        let message =
            format!("`{name}` now has at most {maximum} lines or is gone; run `cargo run -p tidy -- --bless`");
        violations.push(Violation::new(LIST, at, message));
    }
    violations
}

/// The list as it should be. Refuses, naming the entries, if one is new or grew and growth is not allowed.
pub fn bless(tree: &WorkTree, allow_growth: bool) -> Result<String, String> {
    let (listed, _) = read_list(tree);
    let measured = measure(tree);
    let grown: Vec<String> = measured
        .iter()
        .filter(|(name, (lines, _))| listed.get(*name).is_none_or(|(before, _)| lines > before))
        .map(|(name, (lines, _))| format!("  {lines} {name}"))
        .collect();
    if !grown.is_empty() && !allow_growth {
        return Err(format!(
            "these are new or grew:\n{}\nsplit them, or give --allow-growth and say why in the commit message",
            grown.join("\n")
        ));
    }
    Ok(measured.iter().map(|(name, (lines, _))| format!("{lines} {name}\n")).collect())
}

/// Everything above its bound. Test code has none: a long golden script reads better in one piece.
fn measure(tree: &WorkTree) -> Sizes {
    let mut sizes = Sizes::new();
    for file in tree.rust_files() {
        let lines = file.source.lines_before_tests();
        if lines > FILE_LINES_MAX {
            sizes.insert(file.path.to_string(), (lines, 1));
        }
        let functions = file.source.functions().into_iter().filter(|function| function.lines > FUNCTION_LINES_MAX);
        for function in functions {
            // Functions of one name in one file are told apart by their order.
            let name = format!("{} {}", file.path, function.name);
            let twins = (2..).map(|number| format!("{name}#{number}"));
            let name = std::iter::once(name.clone()).chain(twins).find(|name| !sizes.contains_key(name));
            sizes.insert(name.expect("the numbers do not end"), (function.lines, function.line + 1));
        }
    }
    sizes
}

fn maximum(name: &str) -> usize {
    if name.contains(' ') { FUNCTION_LINES_MAX } else { FILE_LINES_MAX }
}

/// The list with the line of each entry; malformed lines come as violations.
fn read_list(tree: &WorkTree) -> (Sizes, Vec<Violation>) {
    let mut sizes = Sizes::new();
    let mut violations = Vec::new();
    for (index, line) in tree.text(LIST).unwrap_or_default().lines().enumerate() {
        match line.split_once(' ').and_then(|(lines, name)| Some((name, lines.parse().ok()?))) {
            Some((name, lines)) => drop(sizes.insert(name.to_string(), (lines, index + 1))),
            None => violations.push(Violation::new(LIST, index + 1, "expected `lines path` or `lines path function`")),
        }
    }
    (sizes, violations)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One file of `lines` lines with one function of `lines_of_function` lines at its start.
    fn tree(list: &str, lines: usize, lines_of_function: usize) -> WorkTree {
        let body = "    a;\n".repeat(lines_of_function - 2);
        let rest = "b!();\n".repeat(lines - lines_of_function);
        WorkTree::of(&[(LIST, list), ("crates/a/src/lib.rs", &format!("fn f() {{\n{body}}}\n{rest}"))])
    }

    fn messages(tree: &WorkTree) -> Vec<String> {
        check(tree).iter().map(Violation::to_string).collect()
    }

    /// What is small enough needs no entry, to the line.
    #[test]
    fn bounds_are_exact() {
        assert_eq!(messages(&tree("", FILE_LINES_MAX, FUNCTION_LINES_MAX)), Vec::<String>::new());
        let found = messages(&tree("", FILE_LINES_MAX + 1, FUNCTION_LINES_MAX + 1));
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!(found[0], "crates/a/src/lib.rs:1: `crates/a/src/lib.rs` has 601 lines, more than 600; split it");
        assert_eq!(found[1], "crates/a/src/lib.rs:1: `crates/a/src/lib.rs f` has 71 lines, more than 70; split it");
    }

    /// The list may only shrink: growth fails, and a gain must be written down lest it be lost again.
    #[test]
    fn entries_must_be_exact() {
        assert_eq!(messages(&tree("700 crates/a/src/lib.rs\n", 700, 3)), Vec::<String>::new());
        assert!(messages(&tree("699 crates/a/src/lib.rs\n", 700, 3))[0].contains("grew from 699 to 700"));
        assert!(messages(&tree("701 crates/a/src/lib.rs\n", 700, 3))[0].contains("now has 700 lines, not 701"));
        assert!(messages(&tree("701 crates/a/src/lib.rs\n", 600, 3))[0].contains("or is gone"));
        assert!(messages(&tree("many lines\n", 600, 3))[0].contains("expected"));
    }

    /// Blessing must not become the way around the rule.
    #[test]
    fn bless_shrinks_but_does_not_grow_unless_told() {
        let shrunk = tree("701 crates/a/src/lib.rs\n99 crates/gone.rs\n", 700, 3);
        assert_eq!(bless(&shrunk, false).as_deref(), Ok("700 crates/a/src/lib.rs\n"));
        let grown = tree("699 crates/a/src/lib.rs\n", 700, 80);
        let refusal = bless(&grown, false).expect_err("it grew");
        assert!(
            refusal.contains("700 crates/a/src/lib.rs\n") && refusal.contains("80 crates/a/src/lib.rs f"),
            "{refusal}"
        );
        assert_eq!(bless(&grown, true).as_deref(), Ok("700 crates/a/src/lib.rs\n80 crates/a/src/lib.rs f\n"));
    }

    /// Two `handle` functions in one file must not hide behind one entry.
    #[test]
    fn functions_of_one_name_are_told_apart() {
        let function = format!("fn f() {{\n{}}}\n", "    a;\n".repeat(FUNCTION_LINES_MAX));
        let tree = WorkTree::of(&[("crates/a/src/lib.rs", &function.repeat(2))]);
        assert_eq!(bless(&tree, true).as_deref(), Ok("72 crates/a/src/lib.rs f\n72 crates/a/src/lib.rs f#2\n"));
    }
}
