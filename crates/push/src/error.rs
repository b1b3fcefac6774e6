//! What a program may be refused for: the line, the word and the rule.
//!
//! Invariant: every refusal names one place in the text, so that it can be mended without a search.

use std::fmt;

/// The rules that a program is held against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PushRule {
    /// The text has the language's form.
    Form,
    /// A word is known, where it stands.
    KnownWord,
    /// Sizes stay within the bounds.
    Bounds,
    /// The depth of the stack is known at each word, from 0 to 32 cells.
    Depth,
    /// Paths that join have the same depth.
    EqualDepth,
    /// A load stays within the bytes that are known to be there.
    KnownBytes,
    /// A loop's count has a bound: a constant, or a table's count.
    BoundedLoop,
    /// Every path ends in a verdict.
    Verdict,
    /// Nothing comes behind a verdict.
    Unreachable,
    /// A word belongs to the other hook.
    Hook,
    /// The words of the longest path, and the copies that it sends, are bounded.
    BoundedTime,
}

impl PushRule {
    /// The rule as a sentence.
    pub const fn text(self) -> &'static str {
        match self {
            PushRule::Form => "a program is `program NAME`, parameters, tables and hooks",
            PushRule::KnownWord => "every word is one of the language, a name of the program, or a number",
            PushRule::Bounds => "sizes stay within the language's bounds",
            PushRule::Depth => "the stack has from 0 to 32 cells, and each word finds what it takes",
            PushRule::EqualDepth => "paths that join have the same number of cells",
            PushRule::KnownBytes => "a load stays within the bytes that `has-bytes` has shown to be there",
            PushRule::BoundedLoop => "the count of a loop has a bound: a constant, or a table's count",
            PushRule::Verdict => "every path ends in a verdict",
            PushRule::Unreachable => "nothing comes behind a verdict",
            PushRule::Hook => "copies are sent on send; replies and deliveries are made on receive",
            PushRule::BoundedTime => "the longest path is bounded in words, branches and copies",
        }
    }
}

/// A refusal. It is shown as `line 7: what is wrong`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct PushError {
    /// The line of the text, counted from 1.
    pub line: usize,
    /// The word at fault, as it stands in the text; empty at the text's end.
    pub word: String,
    /// The rule that it breaks.
    pub rule: PushRule,
    /// What is wrong, in a sentence.
    pub message: String,
}

impl PushError {
    /// A refusal of the word at a line.
    pub fn new(line: usize, word: &str, rule: PushRule, message: impl Into<String>) -> PushError {
        PushError { line, word: word.to_owned(), rule, message: message.into() }
    }
}

impl fmt::Display for PushError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "line {}: {}", self.line, self.message)
    }
}
