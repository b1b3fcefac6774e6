//! Sentences of the pages for people are short; the long ones are counted, and the counts may only shrink.
//!
//! A sentence ends at a full stop, question or exclamation mark or colon with a blank behind it, and with its paragraph, list item, table cell or heading.
//! Code, links' targets and HTML count for nothing.

use crate::limits::SENTENCE_WORDS_MAX;
use crate::tree::{Violation, WorkTree};

/// The list: `sentences page`, sorted by page.
pub const LIST: &str = "crates/tidy/sentences.txt";

/// A page, and the lines of its long sentences with their numbers of words.
type LongSentences<'a> = (&'a str, Vec<(usize, usize)>);

/// Applies the rule.
pub fn check(tree: &WorkTree) -> Vec<Violation> {
    let listed = tree.text(LIST).unwrap_or_default();
    let pages = measure(tree);
    let mut violations = Vec::new();
    for (page, long) in &pages {
        let before = count_in(listed, page);
        if long.len() > before {
            violations.extend(long.iter().map(|(line, words)| {
                let message = format!("a sentence of {words} words, more than {SENTENCE_WORDS_MAX}; say it in several");
                Violation::new(page, *line, message)
            }));
        }
    }
    for (index, line) in listed.lines().enumerate() {
        let page = line.split_once(' ').map_or(line, |(_, page)| page);
        let now = pages.iter().find(|(name, _)| *name == page).map_or(0, |(_, long)| long.len());
        if now < count_in(listed, page) || line != format!("{now} {page}") && now == 0 {
            let message = format!("`{page}` now has {now} long sentences; run `cargo run -p tidy -- --bless`");
            violations.push(Violation::new(LIST, index + 1, message));
        }
    }
    violations
}

/// The list as it should be. Refuses if a page has more long sentences than before and growth is not allowed.
pub fn bless(tree: &WorkTree, allow_growth: bool) -> Result<String, String> {
    let listed = tree.text(LIST).unwrap_or_default();
    let pages = measure(tree);
    let grown: Vec<&str> =
        pages.iter().filter(|(page, long)| long.len() > count_in(listed, page)).map(|(page, _)| *page).collect();
    if !grown.is_empty() && !allow_growth {
        return Err(format!("these pages have more long sentences than before: {}", grown.join(", ")));
    }
    Ok(pages.iter().map(|(page, long)| format!("{} {page}\n", long.len())).collect())
}

fn count_in(list: &str, page: &str) -> usize {
    let entry = list.lines().filter_map(|line| line.split_once(' ')).find(|(_, name)| *name == page);
    entry.and_then(|(count, _)| count.parse().ok()).unwrap_or(0)
}

/// Every page with long sentences. What a program has written (`docs/regression.md`) quotes other texts.
fn measure(tree: &WorkTree) -> Vec<LongSentences<'_>> {
    let pages = tree.texts().filter(|(path, text)| path.ends_with(".md") && !text.contains("Written by `cargo run"));
    pages.map(|(path, text)| (path, long_sentences(text))).filter(|(_, long)| !long.is_empty()).collect()
}

/// Line, counted from one, and words of each long sentence.
fn long_sentences(text: &str) -> Vec<(usize, usize)> {
    let mut long = Vec::new();
    let (mut words, mut begin, mut fenced) = (0, 1, false);
    let mut end = |words: &mut usize, begin: usize| {
        if *words > SENTENCE_WORDS_MAX {
            long.push((begin, *words));
        }
        *words = 0;
    };
    for (index, line) in text.lines().enumerate() {
        let trimmed = line.trim_start();
        let fence = trimmed.starts_with("```");
        fenced ^= fence;
        if fence || fenced || trimmed.is_empty() || is_item(trimmed) {
            end(&mut words, begin);
        }
        if fence || fenced {
            continue;
        }
        for word in without_code(trimmed).split_whitespace() {
            if word == "|" || word.starts_with('|') {
                end(&mut words, begin);
            }
            if words == 0 {
                begin = index + 1;
            }
            words += usize::from(word.chars().any(char::is_alphanumeric));
            let closed = word.trim_end_matches([')', '"', '*', '\'']);
            if closed.ends_with(['.', '?', '!', ':', '|']) && !matches!(closed, "e.g." | "i.e." | "vs.") {
                end(&mut words, begin);
            }
        }
    }
    end(&mut words, begin);
    long
}

/// Whether a line begins a list item, a heading, a quotation or a row of a table.
fn is_item(line: &str) -> bool {
    let numbered = line.split_once(". ").is_some_and(|(number, _)| number.parse::<u32>().is_ok());
    numbered || ["* ", "- ", "+ ", "#", ">", "|"].iter().any(|mark| line.starts_with(mark))
}

/// The line with each piece of code as one word, and without links' targets.
fn without_code(line: &str) -> String {
    let mut plain = String::new();
    for (index, piece) in line.split('`').enumerate() {
        plain.push_str(if index % 2 == 1 { "code" } else { piece });
    }
    while let Some(start) = plain.find("](") {
        let length = plain[start..].find(')').unwrap_or(plain.len() - start - 1);
        plain.replace_range(start..=start + length, "");
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(count: usize) -> String {
        "word ".repeat(count)
    }

    /// A sentence over several lines is one sentence; a list is several.
    #[test]
    fn sentences_are_counted_over_lines() {
        let long = format!("{}\n{}end.\n", words(SENTENCE_WORDS_MAX / 2), words(SENTENCE_WORDS_MAX / 2));
        assert_eq!(long_sentences(&long), [(1, SENTENCE_WORDS_MAX + 1)]);
        assert_eq!(long_sentences(&long.replace('\n', "\n* ")), []);
        assert_eq!(long_sentences(&format!("{}stop. {}", words(30), words(30))), []);
    }

    /// What is shown as it is typed is no sentence.
    #[test]
    fn code_and_targets_do_not_count() {
        assert_eq!(long_sentences(&format!("`{}` is one", words(60))), []);
        assert_eq!(long_sentences(&format!("```\n{}\n```\n", words(60))), []);
        assert_eq!(long_sentences(&format!("[x]({}) is one", words(60))), []);
    }

    /// The list may only shrink.
    #[test]
    fn counts_are_exact() {
        let page = format!("{}\n", words(50));
        let tree = |list: &str| WorkTree::of(&[(LIST, list), ("README.md", page.as_str())]);
        assert_eq!(check(&tree("1 README.md\n")), []);
        assert_eq!(check(&tree("")).len(), 1);
        assert_eq!(check(&tree("2 README.md\n")).len(), 1);
        assert_eq!(check(&tree("1 README.md\n1 gone.md\n")).len(), 1);
        assert_eq!(bless(&tree("2 README.md\n"), false).as_deref(), Ok("1 README.md\n"));
        assert!(bless(&tree(""), false).is_err());
    }
}
