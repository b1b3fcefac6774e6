//! The book is whole: `docs/SUMMARY.md` lists every page below `docs/`, each once, and nothing else.

use std::collections::BTreeMap;

use super::markdown::{links, seen_from};
use crate::tree::{Violation, WorkTree};

const FOLDER: &str = "docs/";
const SUMMARY: &str = "docs/SUMMARY.md";

/// Applies the rule.
pub fn check(tree: &WorkTree) -> Vec<Violation> {
    let is_page = |path: &&str| path.starts_with(FOLDER) && path.ends_with(".md") && *path != SUMMARY;
    let summary = tree.text(SUMMARY).unwrap_or_default();
    let mut listed: BTreeMap<String, usize> = BTreeMap::new();
    let mut violations = Vec::new();
    for (index, line) in summary.lines().enumerate() {
        for target in links(line) {
            let page = seen_from(FOLDER.trim_end_matches('/'), &target.path);
            // A page that is not there is found as a dead link.
            if !is_page(&page.as_str()) {
                let message = format!("`{page}` is no page of the book: list pages below {FOLDER} only");
                violations.push(Violation::new(SUMMARY, index + 1, message));
            }
            if let Some(first) = listed.insert(page.clone(), index + 1) {
                let message = format!("`{page}` is listed in line {first} already; list it once");
                violations.push(Violation::new(SUMMARY, index + 1, message));
            }
        }
    }
    for page in tree.paths().filter(is_page).filter(|page| !listed.contains_key(*page)) {
        violations.push(Violation::new(page, 1, format!("{SUMMARY} does not list this page; nobody would find it")));
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(summary: &str) -> Vec<String> {
        let tree = WorkTree::of(&[(SUMMARY, summary), ("docs/a.md", ""), ("docs/in/b.md", ""), ("README.md", "")]);
        check(&tree).iter().map(Violation::to_string).collect()
    }

    /// A page that is not listed is in no book; one that is listed twice has two places.
    #[test]
    fn every_page_is_listed_once() {
        assert_eq!(found("* [A](a.md)\n  * [B](in/b.md)\n"), Vec::<String>::new());
        assert_eq!(found("* [A](a.md)\n").len(), 1);
        assert_eq!(found("* [A](a.md)\n* [B](in/b.md)\n* [A](a.md)\n").len(), 1);
        assert_eq!(found("* [A](a.md)\n* [B](in/b.md)\n* [R](../README.md)\n").len(), 1);
    }

    /// A checkout without a book has nothing to list.
    #[test]
    fn no_pages_need_no_summary() {
        assert_eq!(check(&WorkTree::of(&[("README.md", "")])), []);
        assert_eq!(check(&WorkTree::of(&[("docs/a.md", "")])).len(), 1);
    }
}
