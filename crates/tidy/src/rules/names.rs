//! One word, one meaning: a type's name that product code defines more than once is counted, and the counts may only shrink.
//!
//! Product code is `src/` of all crates but those of the experiments, tests left out. A type is a struct, enum, union, trait or alias that begins at the
//! start of its line, so that associated types and what a function keeps to itself do not count. Invariant: the list equals what is measured.

use std::collections::BTreeMap;

use crate::source::words;
use crate::tree::{Violation, WorkTree};

/// The list: `definitions name`, sorted by name. Lines at its head that begin with `#` say why names may stay.
pub const LIST: &str = "crates/tidy/names.txt";

/// Crates that no database is made of.
const EXPERIMENTS: [&str; 5] = ["compare_queries", "laboratory", "laboratory_harness", "raid_lab", "rivals"];

/// Where each name is defined that is defined more than once: files and lines, counted from one.
type TypeDefinitions<'a> = BTreeMap<&'a str, Vec<(&'a str, usize)>>;

/// Applies the rule.
pub fn check(tree: &WorkTree) -> Vec<Violation> {
    let listed = tree.text(LIST).unwrap_or_default();
    let defined = measure(tree);
    let mut violations = Vec::new();
    for (name, places) in &defined {
        let before = count_in(listed, name);
        if places.len() > before {
            let all: Vec<&str> = places.iter().map(|(file, _)| *file).collect();
            let message = format!("`{name}` names {} types ({}); say what each is", places.len(), all.join(", "));
            let (file, line) = places[0];
            violations.push(Violation::new(file, line, message));
        }
    }
    for (index, line) in listed.lines().enumerate().filter(|(_, line)| !line.starts_with('#')) {
        let name = line.split_once(' ').map_or(line, |(_, name)| name);
        let now = defined.get(name).map_or(0, Vec::len);
        if now < count_in(listed, name) || line != format!("{now} {name}") && now == 0 {
            let message = format!("`{name}` is now shared by {now} types; run `cargo run -p tidy -- --bless`");
            violations.push(Violation::new(LIST, index + 1, message));
        }
    }
    violations
}

/// The list as it should be. Refuses if a name has more meanings than before and growth is not allowed.
pub fn bless(tree: &WorkTree, allow_growth: bool) -> Result<String, String> {
    let listed = tree.text(LIST).unwrap_or_default();
    let defined = measure(tree);
    let grown: Vec<&str> =
        defined.iter().filter(|(name, places)| places.len() > count_in(listed, name)).map(|(name, _)| *name).collect();
    if !grown.is_empty() && !allow_growth {
        return Err(format!("these names of types have more meanings than before: {}", grown.join(", ")));
    }
    let reasons = listed.lines().take_while(|line| line.starts_with('#')).map(|line| format!("{line}\n"));
    Ok(reasons.chain(defined.iter().map(|(name, places)| format!("{} {name}\n", places.len()))).collect())
}

fn count_in(list: &str, name: &str) -> usize {
    let entry = list.lines().filter_map(|line| line.split_once(' ')).find(|(_, listed)| *listed == name);
    entry.and_then(|(count, _)| count.parse().ok()).unwrap_or(0)
}

fn measure(tree: &WorkTree) -> TypeDefinitions<'_> {
    let mut defined = TypeDefinitions::new();
    for file in tree.rust_files() {
        let is_source = file.path.starts_with(&format!("crates/{}/src/", file.krate));
        if !is_source || EXPERIMENTS.contains(&file.krate) {
            continue;
        }
        for (index, line) in file.source.lines.iter().enumerate().filter(|(_, line)| !line.test) {
            if let Some(name) = defined_by(&line.code) {
                defined.entry(name).or_default().push((file.path, index + 1));
            }
        }
    }
    defined.retain(|_, places| places.len() > 1);
    defined
}

/// The type that a line of code defines, if it begins to at its start.
fn defined_by(code: &str) -> Option<&str> {
    if !code.starts_with(char::is_alphabetic) {
        return None;
    }
    let mut words = words(code)
        .map(|(_, word)| word)
        .skip_while(|word| matches!(*word, "pub" | "crate" | "super" | "unsafe" | "in" | "self"));
    matches!(words.next()?, "struct" | "enum" | "union" | "trait" | "type").then(|| words.next())?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(list: &str) -> WorkTree {
        WorkTree::of(&[
            (LIST, list),
            ("crates/a/src/lib.rs", "pub(crate) struct State;\nimpl X for Y {\n    type Error = ();\n}\n"),
            ("crates/a/src/b.rs", "enum State {}\nimpl X for Z {\n    type Error = ();\n}\n"),
            ("crates/a/src/tests.rs", "struct State;\nstruct World;\n"),
            ("crates/b/tests/world.rs", "struct World;\n"),
            ("crates/b/examples/show.rs", "struct Lines;\n"),
            ("crates/b/src/lib.rs", "struct Lines;\n#[cfg(test)]\nmod tests {\nstruct Lines;\n}\n"),
            ("crates/laboratory/src/lib.rs", "struct Lines;\n"),
        ])
    }

    /// Tests, examples and experiments stand by themselves: a name of theirs is read where it is defined.
    #[test]
    fn types_of_product_code_count() {
        assert_eq!(bless(&tree("2 State\n"), false).as_deref(), Ok("2 State\n"));
        assert_eq!(bless(&tree("# why\n3 State\n"), false).as_deref(), Ok("# why\n2 State\n"));
        assert_eq!(defined_by("pub unsafe trait Plain: Copy {"), Some("Plain"));
        assert_eq!(defined_by("    type Item = u8;"), None);
        assert_eq!(defined_by("let kind = 1;"), None);
    }

    /// The list may only shrink.
    #[test]
    fn counts_are_exact() {
        assert_eq!(check(&tree("2 State\n")), []);
        assert_eq!(check(&tree("# why\n2 State\n")), []);
        let found = check(&tree(""));
        assert_eq!(found.len(), 1);
        assert!(found[0].message.contains("crates/a/src/b.rs, crates/a/src/lib.rs"), "{}", found[0].message);
        assert_eq!(check(&tree("3 State\n")).len(), 1);
        assert_eq!(check(&tree("2 State\n2 Gone\n")).len(), 1);
        assert!(bless(&tree(""), false).is_err());
        assert_eq!(bless(&tree(""), true).as_deref(), Ok("2 State\n"));
    }
}
