//! The pages for readers tell the truth: links lead somewhere, to headings too, named files exist, examples say whether they are run, and
//! ARCHITECTURE.md maps every crate.

use std::collections::BTreeSet;

use crate::examples::page::{is_fence, marker_of};
use crate::limits::{MAP_WORDS_MAX, README_BYTES_MAX};
use crate::source::{is_word, words};
use crate::tree::{Violation, WorkTree};

const MAP: &str = "ARCHITECTURE.md";
const README: &str = "README.md";
const PAGES: [&str; 3] = [README, MAP, "CONTRIBUTING.md"];

/// Applies the rule.
pub fn check(tree: &WorkTree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for page in PAGES.into_iter().filter(|page| tree.text(page).is_none()) {
        violations.push(Violation::new(page, 1, "is missing; a reader starts here"));
    }
    let is_page = |path: &str| {
        PAGES.contains(&path) || path.starts_with("docs/") || path.starts_with("crates/") || path == "SECURITY.md"
    };
    for (page, text) in tree.texts().filter(|(path, _)| path.ends_with(".md") && is_page(path)) {
        let folder = page.rsplit_once('/').map_or("", |(folder, _)| folder);
        for (index, line) in text.lines().enumerate() {
            let mut complain = |message: String| violations.push(Violation::new(page, index + 1, message));
            if let Err(message) = marker_of(line) {
                complain(message);
            }
            for RelativeLink { path, heading } in links(line) {
                let path = if path.is_empty() { page.to_string() } else { seen_from(folder, &path) };
                if !tree.has(&path) {
                    complain(format!("there is no `{path}`; correct the name"));
                } else if let (Some(heading), Some(target)) = (heading, tree.text(&path))
                    && path.ends_with(".md")
                    && !headings(target).any(|known| known == heading)
                {
                    complain(format!("`{path}` has no heading `#{heading}`; correct the link"));
                }
            }
            files(line)
                .iter()
                .filter(|path| !tree.has(path))
                .for_each(|path| complain(format!("there is no `{path}`; correct the name")));
        }
    }
    if let Some(text) = tree.text(MAP) {
        violations.extend(check_map(tree, text));
        let words = text.split_whitespace().count();
        if words > MAP_WORDS_MAX {
            let message = format!("{words} words, more than {MAP_WORDS_MAX}; tell how a part works in docs/internals");
            violations.push(Violation::new(MAP, 1, message));
        }
    }
    let bytes = tree.text(README).map_or(0, str::len);
    if bytes > README_BYTES_MAX {
        let message = format!("{bytes} bytes, more than {README_BYTES_MAX}; tell more in docs/");
        violations.push(Violation::new(README, 1, message));
    }
    violations
}

/// Every crate is named; every name in a block that begins with a line `crates/` is a crate.
fn check_map(tree: &WorkTree, text: &str) -> Vec<Violation> {
    let mut violations = Vec::new();
    let named: BTreeSet<&str> = words(text).map(|(_, word)| word).collect();
    for name in tree.crates().filter(|name| !named.contains(name)) {
        violations.push(Violation::new(
            MAP,
            1,
            format!("the crate `{name}` is not on the map; describe it in a paragraph"),
        ));
    }
    let mut inside = false;
    for (index, line) in text.lines().enumerate() {
        if line.trim() == "crates/" {
            inside = true;
        } else if line.starts_with("```") {
            inside = false;
        } else if inside && line.starts_with(' ') {
            let name = line.split_whitespace().next().unwrap_or_default().trim_end_matches('/');
            // Continued descriptions are indented further than names.
            let indent = line.len() - line.trim_start().len();
            if indent <= 4 && !name.is_empty() && !tree.has(&format!("crates/{name}")) {
                violations.push(Violation::new(
                    MAP,
                    index + 1,
                    format!("the map names `{name}`, but crates/{name} does not exist"),
                ));
            }
        }
    }
    violations
}

/// A relative link.
#[derive(Debug, PartialEq, Eq)]
pub struct RelativeLink {
    /// The file as it is written; empty: the page itself.
    pub path: String,
    /// The heading in it, without the `#`.
    pub heading: Option<String>,
}

/// The relative links in a line.
pub fn links(line: &str) -> Vec<RelativeLink> {
    let targets = line.match_indices("](").filter_map(|(start, _)| line[start + 2..].split(')').next());
    let relative =
        targets.filter(|target| !target.contains("://") && !target.starts_with('<') && !target.starts_with("mailto:"));
    let link = |target: &str| {
        let (path, heading) = target.split_once('#').map_or((target, None), |(path, heading)| (path, Some(heading)));
        RelativeLink { path: path.trim_start_matches("./").to_string(), heading: heading.map(str::to_string) }
    };
    relative.map(link).collect()
}

/// A relative target, seen from the root.
pub fn seen_from(folder: &str, target: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty() && !target.is_empty()).collect();
    for part in target.split('/') {
        match part {
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// By what links name the headings of a page: in lower case, blanks as hyphens, without other signs.
fn headings(text: &str) -> impl Iterator<Item = String> {
    let mut is_code = false;
    let lines = text.lines().filter(move |line| {
        is_code ^= is_fence(line);
        !is_code && line.starts_with('#')
    });
    lines.map(|line| {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        let kept = title.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    })
}

/// Paths such as `crates/site/src/lib.rs` in a line, in links or in the text.
fn files(line: &str) -> Vec<String> {
    let starts =
        line.match_indices("crates/").filter(|&(start, _)| !line[..start].ends_with(|c| is_word(c) || c == '/'));
    let paths = starts.map(|(start, _)| {
        let path = &line[start..];
        let end = path.find(|c| !is_word(c) && !matches!(c, '/' | '.' | '-')).unwrap_or(path.len());
        // A pattern such as `crates/<name>` or `crates/*/src` stops at the last folder before it.
        let whole = path[end..].chars().next().is_none_or(|c| !matches!(c, '<' | '*' | '{'));
        let path = if whole { &path[..end] } else { &path[..path[..end].rfind('/').unwrap_or(0)] };
        path.trim_end_matches(['.', '/']).to_string()
    });
    paths.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_pages(readme: &str, architecture: &str) -> Vec<String> {
        let tree = WorkTree::of(&[
            ("README.md", readme),
            (MAP, architecture),
            ("CONTRIBUTING.md", ""),
            ("papers/README.md", ""),
            ("crates/site/Cargo.toml", ""),
            ("crates/site/src/lib.rs", ""),
        ]);
        check(&tree).iter().map(Violation::to_string).collect()
    }

    /// A reader who follows a dead link stops trusting the page.
    #[test]
    fn dead_links_and_files_are_found() {
        let good = "# D\n[a](papers/README.md) [b](https://x.org/y) [c](#d) [e](./papers) `crates/site/src/lib.rs`, crates/site. \
                    `crates/<name>/src/*.rs` ([f](crates/site/src/lib.rs))";
        assert_eq!(check_pages(good, "site"), Vec::<String>::new());
        assert_eq!(check_pages("\n[a](gone.md)", "site"), ["README.md:2: there is no `gone.md`; correct the name"]);
        assert_eq!(check_pages("`crates/site/src/gone.rs`", "site").len(), 1);
    }

    /// Pages in a folder name what lies beside them, and above.
    #[test]
    fn links_of_pages_in_folders_are_relative() {
        let tree = |text: &str| {
            WorkTree::of(&[
                ("README.md", ""),
                (MAP, ""),
                ("CONTRIBUTING.md", ""),
                ("docs/a.md", text),
                ("docs/b.md", ""),
            ])
        };
        assert_eq!(check(&tree("# Top\n[b](b.md) [r](../README.md) [a](#top)")), []);
        assert_eq!(check(&tree("[b](docs/b.md)")).len(), 1);
    }

    /// A link to a heading that was renamed leads to the top of a page, and the reader searches.
    #[test]
    fn links_to_headings_are_followed() {
        let tree = |text: &str| {
            let page = "```\n# no heading\n```\n## What it is, and `why`\n";
            WorkTree::of(&[
                ("README.md", ""),
                (MAP, ""),
                ("CONTRIBUTING.md", ""),
                ("docs/a.md", text),
                ("docs/b.md", page),
            ])
        };
        assert_eq!(check(&tree("[b](b.md#what-it-is-and-why)")), []);
        assert_eq!(check(&tree("[b](b.md#no-heading)")).len(), 1);
        assert_eq!(check(&tree("[a](#gone)")).len(), 1);
    }

    /// An example whose mark is misspelt would be run by nobody.
    #[test]
    fn marks_of_examples_are_known() {
        let tree = |text: &str| WorkTree::of(&[("README.md", text), (MAP, ""), ("CONTRIBUTING.md", "")]);
        assert_eq!(check(&tree("```console run\n```\n```console\n```\n```sh\n```\n")), []);
        assert_eq!(check(&tree("```console runs\n```\n")).len(), 1);
    }

    /// A crate that the map leaves out is found by nobody; one that is only planned misleads.
    #[test]
    fn the_map_names_exactly_the_crates_there_are() {
        let map = "```\ncrates/\n  site      the real world;\n            loops\n  laundry   clean clothes\n```\n";
        assert_eq!(
            check_pages("", map),
            ["ARCHITECTURE.md:5: the map names `laundry`, but crates/laundry does not exist"]
        );
        assert!(check_pages("", "sites")[0].contains("`site` is not on the map"));
    }

    /// A first page that grows is read by nobody.
    #[test]
    fn first_pages_stay_short() {
        let tree = |readme: &str, map: &str| WorkTree::of(&[(README, readme), (MAP, map), ("CONTRIBUTING.md", "")]);
        assert_eq!(check(&tree(&"x".repeat(README_BYTES_MAX), &"w ".repeat(MAP_WORDS_MAX))), []);
        assert_eq!(check(&tree(&"x".repeat(README_BYTES_MAX + 1), "")).len(), 1);
        assert_eq!(check(&tree("", &"w ".repeat(MAP_WORDS_MAX + 1))).len(), 1);
    }

    /// Without its first pages a project cannot be entered.
    #[test]
    fn missing_pages_are_found() {
        assert_eq!(check(&WorkTree::of(&[])).len(), PAGES.len());
    }
}
