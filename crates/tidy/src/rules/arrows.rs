//! Manifests agree with `arrows.toml`: each crate has a row, imports only what its row allows, inherits the workspace's lints, and,
//! if pure, is linted with the bans of pure crates.

use toml::{Table, Value};

use crate::architecture::{ARROWS, Architecture, line_of};
use crate::source::words;
use crate::tree::{Violation, WorkTree};

/// The clippy configuration of pure crates; each has a `clippy.toml` that links to it.
pub const PURE_CLIPPY: &str = "crates/pure.clippy.toml";

/// Applies the rule.
pub fn check(tree: &WorkTree, architecture: &Architecture) -> Vec<Violation> {
    let mut violations = Vec::new();
    let arrows = tree.text(ARROWS).unwrap_or_default();
    for name in architecture.parts.keys() {
        if !tree.has(&format!("crates/{name}/Cargo.toml")) {
            violations.push(Violation::new(
                ARROWS,
                line_of(arrows, name),
                format!("there is no crate `{name}`; remove its row"),
            ));
        }
    }
    for name in tree.crates() {
        check_crate(tree, architecture, name, &mut violations);
    }
    violations
}

fn check_crate(tree: &WorkTree, architecture: &Architecture, name: &str, violations: &mut Vec<Violation>) {
    let path = format!("crates/{name}/Cargo.toml");
    let text = tree.text(&path).unwrap_or_default();
    let mut complain = |line: usize, message: String| violations.push(Violation::new(&path, line, message));
    let manifest: Table = match text.parse() {
        Ok(manifest) => manifest,
        Err(error) => return complain(1, error.to_string()),
    };
    let Some(part) = architecture.parts.get(name) else {
        return complain(
            1,
            format!("there is no row for `{name}` in {ARROWS}; say there what it is and what it may import"),
        );
    };
    let ours = |section: &str| -> Vec<String> {
        let table = manifest.get(section).and_then(Value::as_table);
        let names = table.into_iter().flatten().map(|(dependency, _)| dependency.clone());
        names.filter(|dependency| tree.has(&format!("crates/{dependency}/Cargo.toml"))).collect()
    };
    for section in ["dependencies", "build-dependencies", "dev-dependencies"] {
        for import in ours(section) {
            let allowed =
                part.imports.contains(&import) || section == "dev-dependencies" && part.tests.contains(&import);
            if !allowed {
                let line = dependency_line(text, section, &import);
                let message = format!(
                    "`{name}` imports `{import}`, which {ARROWS} does not allow; talk by messages, or move the shared part down"
                );
                complain(line, message);
            }
        }
    }
    for (section, allowed) in [("dependencies", &part.imports), ("dev-dependencies", &part.tests)] {
        let used = [ours(section), ours("build-dependencies")].concat();
        for unused in allowed.iter().filter(|allowed| !used.contains(allowed)) {
            let message = format!("`{name}` does not import `{unused}`; remove it from its row in {ARROWS}");
            complain(1, message);
        }
        for import in used.iter().filter(|import| !names(tree, name, section, import)) {
            let line = dependency_line(text, section, import);
            complain(line, format!("`{name}` names nothing of `{import}`; remove the dependency"));
        }
    }
    if manifest.get("lints").and_then(|lints| lints.get("workspace")).and_then(Value::as_bool) != Some(true) {
        complain(1, "add `[lints]` with `workspace = true`, so that the house's lints apply".to_string());
    }
    if part.pure && tree.text(&format!("crates/{name}/clippy.toml")) != tree.text(PURE_CLIPPY) {
        complain(1, format!("`{name}` is pure: make crates/{name}/clippy.toml a symbolic link to ../pure.clippy.toml"));
    }
}

/// Whether the crate's code names a crate of ours; for a dependency of tests only, its tests, examples and benches.
fn names(tree: &WorkTree, name: &str, section: &str, import: &str) -> bool {
    let mut files = tree.rust_files().filter(|file| file.krate == name);
    let inside = format!("crates/{name}/src/");
    files.any(|file| {
        let counts = section == "dev-dependencies" || file.path.starts_with(&inside) || file.path.ends_with("build.rs");
        counts && file.source.lines.iter().any(|line| words(&line.code).any(|(_, word)| word == import))
    })
}

/// The line, counted from one, on which a section of a manifest names a dependency.
fn dependency_line(text: &str, section: &str, dependency: &str) -> usize {
    let header = format!("[{section}]");
    let names = |line: &str| {
        line.strip_prefix(dependency).is_some_and(|rest| rest.starts_with(['.', ' ', '=']))
            || line.trim() == format!("[{section}.{dependency}]")
    };
    let mut inside = false;
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with('[') {
            inside = line.trim() == header;
        }
        if (inside || line.starts_with('[')) && names(line) {
            return index + 1;
        }
    }
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "[a]\nkind = 'server'\nimports = ['c']\ntests = ['d']\n[b]\nkind = 'server'\n[c]\nkind = 'ground'\n[d]\nkind = 'ground'\n";
    const PLAIN: &str = "[package]\nname = 'x'\n[lints]\nworkspace = true\n";

    fn check_with(manifest_of_a: &str) -> Vec<String> {
        let tree = WorkTree::of(&[
            (ARROWS, TABLE),
            ("crates/a/Cargo.toml", manifest_of_a),
            ("crates/b/Cargo.toml", PLAIN),
            ("crates/c/Cargo.toml", PLAIN),
            ("crates/d/Cargo.toml", PLAIN),
            ("crates/a/src/lib.rs", "use {b, c, d};"),
        ]);
        let (architecture, violations) = Architecture::parse(&tree);
        assert_eq!(violations, []);
        check(&tree, &architecture).iter().map(Violation::to_string).collect()
    }

    /// A server that can call another server's code can no longer be moved to another process.
    #[test]
    fn a_server_that_imports_a_server_is_found() {
        let found = check_with(
            "[lints]\nworkspace = true\n[dependencies]\nbytes.workspace = true\nc.workspace = true\nb.workspace = true\n[dev-dependencies]\nd.workspace = true\n",
        );
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("crates/a/Cargo.toml:6: `a` imports `b`"), "{found:?}");
    }

    /// What tests may import, the crate itself may not.
    #[test]
    fn test_imports_are_for_tests_only() {
        let rest = "[lints]\nworkspace = true\n[dependencies]\nc.workspace = true\n";
        assert_eq!(check_with(&format!("{rest}[dev-dependencies]\nd.workspace = true\n")), Vec::<String>::new());
        let found = check_with(&format!("{rest}d.workspace = true\n"));
        assert!(found[0].contains("imports `d`") && found[1].contains("does not import `d`"), "{found:?}");
    }

    /// What is allowed and unused would be taken for needed, and let somebody use it unseen.
    #[test]
    fn unused_arrows_and_dependencies_are_found() {
        let found = check_with("[lints]\nworkspace = true\n[dependencies]\nc.workspace = true\n");
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("does not import `d`"), "{found:?}");
        let unnamed = WorkTree::of(&[
            (ARROWS, "[a]\nkind = 'server'\nimports = ['c']\n[c]\nkind = 'ground'\n"),
            ("crates/a/Cargo.toml", "[lints]\nworkspace = true\n[dependencies]\nc.workspace = true\n"),
            ("crates/a/src/lib.rs", "// c is not named here: only in this comment's first word\nuse other;"),
            ("crates/c/Cargo.toml", PLAIN),
        ]);
        let (architecture, _) = Architecture::parse(&unnamed);
        let found = check(&unnamed, &architecture);
        assert!(found[0].to_string().starts_with("crates/a/Cargo.toml:4: `a` names nothing of `c`"), "{found:?}");
    }

    /// A crate without the table's row, lints or bans would be judged by nobody.
    #[test]
    fn rows_lints_and_pure_bans_are_required() {
        assert!(check_with("[package]\n").iter().any(|found| found.contains("[lints]")));
        let pure = [
            (ARROWS, "[a]\nkind = 'server'\npure = true\n[gone]\nkind = 'server'\n"),
            (PURE_CLIPPY, "x"),
            ("crates/a/Cargo.toml", PLAIN),
        ];
        let mut tree = WorkTree::of(&pure);
        let (architecture, _) = Architecture::parse(&tree);
        let found = check(&tree, &architecture);
        assert!(found[0].message.contains("no crate `gone`"), "{found:?}");
        assert!(found[1].message.contains("symbolic link"), "{found:?}");
        tree.insert("crates/a/clippy.toml", "x");
        tree.insert("crates/new/Cargo.toml", PLAIN);
        let found = check(&tree, &architecture);
        assert!(found[1].message.contains("no row for `new`"), "{found:?}");
        assert_eq!(found.len(), 2);
    }
}
