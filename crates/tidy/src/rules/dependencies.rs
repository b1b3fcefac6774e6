//! Dependencies stand once, in the workspace table, each with its reason; crates only refer to it.

use toml::{Table, Value};

use crate::tree::{Violation, WorkTree};

const TABLE: &str = "[workspace.dependencies]";

/// Applies the rule.
pub fn check(tree: &WorkTree) -> Vec<Violation> {
    let mut violations = check_reasons(tree.text("Cargo.toml").unwrap_or_default());
    for name in tree.crates() {
        let path = format!("crates/{name}/Cargo.toml");
        let text = tree.text(&path).unwrap_or_default();
        // A manifest that cannot be parsed is reported by the rule of arrows.
        let Ok(manifest) = text.parse::<Table>() else { continue };
        for section in ["dependencies", "build-dependencies", "dev-dependencies"] {
            for (dependency, value) in manifest.get(section).and_then(Value::as_table).into_iter().flatten() {
                if value.get("workspace").and_then(Value::as_bool) != Some(true) {
                    let line =
                        text.lines().position(|line| line.starts_with(dependency.as_str())).map_or(1, |line| line + 1);
                    let message =
                        format!("write `{dependency}.workspace = true`; versions stand once, in the root Cargo.toml");
                    violations.push(Violation::new(&path, line, message));
                }
            }
        }
    }
    violations
}

/// Every entry that is not one of our crates ends in a comment.
fn check_reasons(root: &str) -> Vec<Violation> {
    let table = root.lines().enumerate().skip_while(|(_, line)| line.trim() != TABLE).skip(1);
    let entries = table.take_while(|(_, line)| !line.starts_with('['));
    let mut violations = Vec::new();
    let mut open: Option<&str> = None;
    for (index, line) in entries {
        if line.trim().is_empty() || line.trim_start().starts_with('#') {
            continue;
        }
        let name = open.unwrap_or_else(|| line.split(['=', '.', ' ']).next().unwrap_or(line));
        let (entry, reason) = split_comment(line);
        // An entry over several lines gives its reason on the last.
        let ends = !entry.trim_end().ends_with(['[', '{', ',']);
        open = (!ends).then_some(name);
        if ends && reason.trim().is_empty() && !entry.contains("path = \"crates/") {
            let message = format!("a comment behind `{name}` says why the project depends on it");
            violations.push(Violation::new("Cargo.toml", index + 1, message));
        }
    }
    violations
}

/// An entry and the comment behind it; a `#` within quotes begins no comment.
fn split_comment(line: &str) -> (&str, &str) {
    let mut quoted = false;
    for (offset, character) in line.char_indices() {
        match character {
            '"' => quoted = !quoted,
            '#' if !quoted => return (&line[..offset], &line[offset + 1..]),
            _ => {}
        }
    }
    (line, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A dependency nobody can give a reason for stays forever.
    #[test]
    fn each_entry_needs_a_reason() {
        let root = "[workspace.dependencies]\n# Ours.\nsite = { path = \"crates/site\" }\n# A heading is no reason.\n\
                    bytes = \"1\" # buffers\nserde = { version = \"1\" }\nlong = { features = [\n  \"a\",\n] } # why\nodd = \"#1\"\n\
                    [profile.dev]\nopt-level = 1\n";
        let found: Vec<_> =
            check_reasons(root).into_iter().map(|violation| (violation.line, violation.message)).collect();
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!(found[0], (6, "a comment behind `serde` says why the project depends on it".to_string()));
        assert_eq!(found[1].0, 10);
    }

    /// Two versions of one dependency would compile twice and disagree.
    #[test]
    fn crates_refer_to_the_table() {
        let manifest = "[dependencies]\nserde.workspace = true\nbytes = \"1\"\nx = { workspace = true }\n";
        let found = check(&WorkTree::of(&[("Cargo.toml", ""), ("crates/a/Cargo.toml", manifest)]));
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].line, 3);
    }
}
