//! `arrows.toml`: what each crate is and which of our crates it may import.
//!
//! Invariant: every arrow of a table that [`Architecture::parse`] accepts without complaint points down, and none leads from one
//! server to another; so a manifest that agrees with the table agrees with the design.

use std::collections::BTreeMap;

use toml::{Table, Value};

use crate::tree::{Violation, WorkTree};

/// Where the table is kept.
pub const ARROWS: &str = "crates/tidy/arrows.toml";

/// What a crate is, from the ground up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrateKind {
    /// Imports ground only.
    Ground,
    /// A server or a machine of a site; imports ground and libraries.
    Server,
    /// Imports ground and libraries.
    Library,
    /// Puts servers into a world; imports anything but programs.
    World,
    /// What a person starts.
    Program,
}

/// One row of the table.
#[derive(Debug)]
pub struct CrateRow {
    /// What the crate is.
    pub kind: CrateKind,
    /// No clock, thread, socket, file, console, unseeded randomness or randomly ordered map.
    pub pure: bool,
    /// May use `async` and tokio although it is pure.
    pub asynchronous: bool,
    /// Our crates that it may import.
    pub imports: Vec<String>,
    /// Our crates that only its tests may import.
    pub tests: Vec<String>,
}

/// The table.
#[derive(Debug, Default)]
pub struct Architecture {
    /// By name of the crate.
    pub parts: BTreeMap<String, CrateRow>,
}

impl Architecture {
    /// Reads the table of a tree; what is wrong with the table itself comes as violations.
    pub fn parse(tree: &WorkTree) -> (Architecture, Vec<Violation>) {
        let Some(text) = tree.text(ARROWS) else {
            let message = "is missing; it says which crate may import which";
            return (Architecture::default(), vec![Violation::new(ARROWS, 1, message)]);
        };
        let table: Table = match text.parse() {
            Ok(table) => table,
            Err(error) => {
                return (Architecture::default(), vec![Violation::new(ARROWS, 1, error.to_string())]);
            }
        };
        let mut architecture = Architecture::default();
        let mut violations = Vec::new();
        for (name, row) in &table {
            match parse_part(row) {
                Ok(part) => drop(architecture.parts.insert(name.clone(), part)),
                Err(message) => {
                    violations.push(Violation::new(ARROWS, line_of(text, name), format!("`{name}`: {message}")))
                }
            }
        }
        violations.extend(architecture.check_arrows(text));
        (architecture, violations)
    }

    /// Every arrow must point to a crate of the table, and downwards.
    fn check_arrows(&self, text: &str) -> Vec<Violation> {
        let mut violations = Vec::new();
        for (name, part) in &self.parts {
            for import in part.imports.iter().chain(&part.tests) {
                let complaint = match self.parts.get(import) {
                    None => "which is not in this table".to_string(),
                    Some(target) if !may_import(part.kind, target.kind) => {
                        format!("but a {:?} crate may not import a {:?} crate", part.kind, target.kind).to_lowercase()
                    }
                    Some(_) => continue,
                };
                violations.push(Violation::new(
                    ARROWS,
                    line_of(text, name),
                    format!("`{name}` lists `{import}`, {complaint}"),
                ));
            }
        }
        violations
    }
}

/// The rule of the design: arrows point down, and no server imports another.
fn may_import(from: CrateKind, to: CrateKind) -> bool {
    match from {
        CrateKind::Ground => to == CrateKind::Ground,
        CrateKind::Server | CrateKind::Library => matches!(to, CrateKind::Ground | CrateKind::Library),
        CrateKind::World => to != CrateKind::Program,
        CrateKind::Program => true,
    }
}

fn parse_part(row: &Value) -> Result<CrateRow, String> {
    let row = row.as_table().ok_or("is not a table")?;
    let known = ["kind", "pure", "asynchronous", "imports", "tests"];
    if let Some(unknown) = row.keys().find(|key| !known.contains(&key.as_str())) {
        return Err(format!("has an unknown field `{unknown}`; known are {}", known.join(", ")));
    }
    let kind = match row.get("kind").and_then(Value::as_str) {
        Some("ground") => CrateKind::Ground,
        Some("server") => CrateKind::Server,
        Some("library") => CrateKind::Library,
        Some("world") => CrateKind::World,
        Some("program") => CrateKind::Program,
        _ => return Err("needs a kind: ground, server, library, world or program".to_string()),
    };
    let switch = |key: &str| row.get(key).and_then(Value::as_bool).unwrap_or(false);
    let names = |key: &str| -> Vec<String> {
        let list = row.get(key).and_then(Value::as_array);
        list.into_iter().flatten().filter_map(|name| name.as_str().map(str::to_string)).collect()
    };
    Ok(CrateRow {
        kind,
        pure: switch("pure"),
        asynchronous: switch("asynchronous"),
        imports: names("imports"),
        tests: names("tests"),
    })
}

/// The line of a crate's row, counted from one.
pub fn line_of(text: &str, name: &str) -> usize {
    let header = format!("[{name}]");
    text.lines().position(|line| line.trim() == header).map_or(1, |line| line + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn violations(text: &str) -> Vec<String> {
        let (_, violations) = Architecture::parse(&WorkTree::of(&[(ARROWS, text)]));
        violations.iter().map(Violation::to_string).collect()
    }

    /// The rule that servers know each other's messages only would be lost by one careless line in the table.
    #[test]
    fn a_table_may_not_let_a_server_import_a_server() {
        let found = violations("[a]\nkind = 'server'\nimports = ['b']\n[b]\nkind = 'server'\n");
        assert_eq!(
            found,
            ["crates/tidy/arrows.toml:1: `a` lists `b`, but a server crate may not import a server crate"]
        );
    }

    /// Nor may a test do by the back door what the crate may not.
    #[test]
    fn arrows_point_down_in_tests_too() {
        assert_eq!(violations("[a]\nkind = 'ground'\ntests = ['b']\n[b]\nkind = 'world'\n").len(), 1);
        assert_eq!(violations("[a]\nkind = 'world'\nimports = ['b']\n[b]\nkind = 'server'\n"), Vec::<String>::new());
    }

    /// A misspelt field would silently switch its rule off.
    #[test]
    fn unknown_fields_names_and_kinds_are_refused() {
        assert!(violations("[a]\nkind = 'server'\npur = true\n")[0].contains("unknown field `pur`"));
        assert!(violations("[a]\nkind = 'servant'\n")[0].contains("needs a kind"));
        assert!(violations("[a]\nkind = 'server'\nimports = ['z']\n")[0].contains("not in this table"));
    }
}
