//! Files of a crate that import each other in a circle can only be read together; such circles may only shrink.
//!
//! An arrow leads from one file to another if its code, tests left out, names something of the other's module. Two kinds do not count: those of the
//! root of a crate, which is the crate's face and may name everything, and those from a file to the file of a folder that it lies in. Invariant: the list equals what is measured, as with sizes.

use std::collections::{BTreeMap, BTreeSet};

use crate::limits::CIRCLE_FILES_MAX;
use crate::tree::{RustFile, Violation, WorkTree};

/// The list: `files crate`, the number of files in each circle of more than [`CIRCLE_FILES_MAX`]; a crate's largest first.
pub const LIST: &str = "crates/tidy/circles.txt";

/// The files that each file names, by module path (`a::b`).
type Arrows = BTreeMap<String, BTreeSet<String>>;

/// Applies the rule.
pub fn check(tree: &WorkTree) -> Vec<Violation> {
    let listed = tree.text(LIST).unwrap_or_default();
    let mut violations = Vec::new();
    let circles = measure(tree);
    let list = list_of(&circles);
    for (index, line) in listed.lines().enumerate().filter(|(_, line)| !list.iter().any(|entry| entry == line)) {
        let message = format!("`{line}` is no longer so; run `cargo run -p tidy -- --bless`");
        violations.push(Violation::new(LIST, index + 1, message));
    }
    for (krate, circle) in &circles {
        if !listed.lines().any(|line| line == entry(krate, circle)) {
            let message = format!(
                "{} files import each other in a circle ({}); at most {CIRCLE_FILES_MAX} may: move what they share into a file of its own",
                circle.len(),
                circle.join(", ")
            );
            violations.push(Violation::new(&format!("crates/{krate}"), 1, message));
        }
    }
    violations
}

/// The list as it should be. Refuses if a circle is new or grew and growth is not allowed.
pub fn bless(tree: &WorkTree, allow_growth: bool) -> Result<String, String> {
    let total =
        |lines: &str| -> usize { lines.lines().filter_map(|line| line.split(' ').next()?.parse::<usize>().ok()).sum() };
    let list = list_of(&measure(tree));
    let lines = list.iter().map(|line| format!("{line}\n")).collect::<String>();
    if total(&lines) > total(tree.text(LIST).unwrap_or_default()) && !allow_growth {
        return Err(format!(
            "circles of files grew:\n{lines}cut them, or give --allow-growth and say why in the commit message"
        ));
    }
    Ok(lines)
}

fn list_of(circles: &[(String, Vec<String>)]) -> Vec<String> {
    circles.iter().map(|(krate, circle)| entry(krate, circle)).collect()
}

fn entry(krate: &str, circle: &[String]) -> String {
    format!("{} {krate}", circle.len())
}

/// Every circle of too many files: its crate and its modules. By crate, the largest first.
fn measure(tree: &WorkTree) -> Vec<(String, Vec<String>)> {
    let mut crates: BTreeMap<&str, Vec<RustFile>> = BTreeMap::new();
    for file in tree.rust_files() {
        crates.entry(file.krate).or_default().push(file);
    }
    let mut found = Vec::new();
    for (krate, files) in crates {
        let arrows = arrows_of(krate, &files);
        let mut circles = circles_of(&arrows);
        circles.retain(|circle| circle.len() > CIRCLE_FILES_MAX);
        circles.sort_by_key(|circle| std::cmp::Reverse(circle.len()));
        found.extend(circles.into_iter().map(|circle| (krate.to_string(), circle)));
    }
    found
}

/// The module that a file is, or nothing for roots, tests and examples.
fn module_of(krate: &str, path: &str) -> Option<String> {
    let inside = path.strip_prefix(&format!("crates/{krate}/src/"))?.strip_suffix(".rs")?;
    let inside = inside.strip_suffix("/mod").unwrap_or(inside);
    let is_root = matches!(inside, "lib" | "main") || inside.starts_with("bin/");
    (!is_root).then(|| inside.replace('/', "::"))
}

fn arrows_of(krate: &str, files: &[RustFile]) -> Arrows {
    let modules: BTreeSet<String> = files.iter().filter_map(|file| module_of(krate, file.path)).collect();
    let mut arrows = Arrows::new();
    for file in files {
        let Some(module) = module_of(krate, file.path) else { continue };
        let named = arrows.entry(module.clone()).or_default();
        for (line, path) in file.source.paths() {
            // A module that re-exports its children does not depend on what they do.
            let code = file.source.lines[line].code.trim_start();
            if file.source.lines[line].test || code.starts_with("pub use") || code.starts_with("pub(crate) use") {
                continue;
            }
            if let Some(other) = resolve(&module, &path, &modules)
                .filter(|other| !format!("{module}::").starts_with(&format!("{other}::")))
            {
                named.insert(other);
            }
        }
    }
    arrows
}

/// The module with a file of its own that a path leads into, seen from another module.
fn resolve(from: &str, path: &str, modules: &BTreeSet<String>) -> Option<String> {
    let mut base: Vec<&str> = from.split("::").collect();
    let mut rest = path.split("::").peekable();
    match rest.peek().copied()? {
        "crate" => {
            base.clear();
            rest.next();
        }
        "self" => drop(rest.next()),
        "super" => {
            while rest.next_if_eq(&"super").is_some() {
                base.pop();
            }
        }
        // Only a child can be named without saying where it is.
        child if modules.contains(&format!("{from}::{child}")) => {}
        _ => return None,
    }
    let full: Vec<&str> = base.into_iter().chain(rest).collect();
    (1..=full.len()).rev().map(|length| full[..length].join("::")).find(|name| modules.contains(name))
}

/// The strongly connected parts of more than one module: each is reached from each of its others.
fn circles_of(arrows: &Arrows) -> Vec<Vec<String>> {
    let reach: BTreeMap<&String, BTreeSet<&String>> = arrows.keys().map(|from| (from, reached(arrows, from))).collect();
    let mut circles: Vec<Vec<String>> = Vec::new();
    for from in arrows.keys().filter(|from| reach[from].contains(from)) {
        if circles.iter().any(|circle| circle.contains(from)) {
            continue;
        }
        let mutual = reach[from].iter().filter(|to| reach.get(**to).is_some_and(|back| back.contains(from)));
        circles.push(mutual.map(|to| (*to).clone()).collect());
    }
    circles
}

fn reached<'a>(arrows: &'a Arrows, from: &String) -> BTreeSet<&'a String> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<&String> = arrows[from].iter().collect();
    while let Some(next) = open.pop() {
        if reached.insert(next) {
            open.extend(arrows.get(next).into_iter().flatten());
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(list: &str, files: &[(&str, &str)]) -> WorkTree {
        let mut tree = WorkTree::of(&[(LIST, list)]);
        for (name, text) in files {
            tree.insert(&format!("crates/k/src/{name}.rs"), text);
        }
        tree
    }

    const CIRCLE: [(&str, &str); 5] = [
        ("lib", "mod a;\nuse a::A;\n"),
        ("a", "use crate::b::{self, B};\n"),
        ("b", "use super::c::C;\n"),
        ("c", "fn f() { crate::d::g() }\n"),
        ("d", "use crate::{x, a::A};\n#[cfg(test)]\nmod tests { use crate::lib; }\n"),
    ];

    /// Were one of the ways to name a module missed, a circle would stay unseen.
    #[test]
    fn a_circle_by_every_way_of_naming_is_found() {
        let found = check(&tree("", &CIRCLE));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].message.contains("4 files") && found[0].message.contains("a, b, c, d"), "{found:?}");
        assert_eq!(check(&tree("4 k\n", &CIRCLE)), []);
    }

    /// A cut circle must be written down, or it could grow back.
    #[test]
    fn the_list_is_exact() {
        assert_eq!(check(&tree("5 k\n", &CIRCLE)).len(), 2);
        assert_eq!(check(&tree("4 k\n", &CIRCLE[..4])).len(), 1);
        assert_eq!(bless(&tree("5 k\n", &CIRCLE), false).as_deref(), Ok("4 k\n"));
        assert!(bless(&tree("", &CIRCLE), false).is_err());
    }

    /// A module and its children, tests and re-exports make no circle by themselves.
    #[test]
    fn small_circles_tests_and_faces_are_no_matter() {
        let family = [
            ("a", "pub mod b;\npub use b::B;\n#[cfg(test)]\nmod tests { use crate::c::C; }\n"),
            ("a/b", "use super::A;\nuse crate::c::C;\n"),
            ("c", "use crate::a::A;\nuse crate::d::D;\n"),
            ("d", "use std::a;\n"),
        ];
        assert_eq!(check(&tree("", &family)), []);
    }
}
