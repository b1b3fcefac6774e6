//! Reading a file of rules: TOML, and what is said of one that is bad.
//!
//! Invariant: whatever the text, it is read or refused with a line and a reason; and a book that is read has names that differ, certainties within
//! bounds, and reasons that say something.

use crate::fact::Fact;
use crate::limits::{
    BOOK_BYTES_MAX, CERTAIN, CONDITIONS_MAX, NAME_BYTES_MAX, OPERAND_MAX, RULES_MAX, SENTENCE_BYTES_MAX,
};
use crate::rule_book::{Comparator, Condition, ExpertRule};
use messages::method::Method;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::fmt;
use toml::Spanned;

/// What is wrong with a file of rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleBookError {
    /// In which line, counted from 1.
    pub line: usize,
    /// What, and what to do.
    pub reason: String,
}

impl fmt::Display for RuleBookError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "line {}: {}", self.line, self.reason)
    }
}

impl std::error::Error for RuleBookError {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BookText {
    #[serde(default)]
    rule: Vec<Spanned<RuleText>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleText {
    name: Spanned<String>,
    when: Vec<Spanned<String>>,
    method: Spanned<String>,
    certainty: Spanned<i64>,
    because: Spanned<String>,
}

/// Where in the text something stands.
struct RuleSource<'a>(&'a str);

impl RuleSource<'_> {
    fn error(&self, at: usize, reason: impl Into<String>) -> RuleBookError {
        let before = self.0.as_bytes().get(..at).unwrap_or(self.0.as_bytes());
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        RuleBookError { line, reason: reason.into() }
    }

    fn rule(&self, rule: RuleText) -> Result<ExpertRule, RuleBookError> {
        let name = rule.name.get_ref();
        let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if name.is_empty() || name.len() > NAME_BYTES_MAX || !name.bytes().all(is_plain) {
            let reason =
                format!("the name {name:?} of a rule is not 1 to {NAME_BYTES_MAX} small letters, digits and hyphens");
            return Err(self.error(rule.name.span().start, reason));
        }
        let Some(method) = Method::of_name(rule.method.get_ref()) else {
            let reason = format!(
                "{name}: there is no method {:?}; there are {}",
                rule.method.get_ref(),
                Method::ALL.map(Method::name).join(", ")
            );
            return Err(self.error(rule.method.span().start, reason));
        };
        let certainty = *rule.certainty.get_ref();
        if certainty == 0 || !(-CERTAIN..=CERTAIN).contains(&certainty) {
            let reason = format!("{name}: the certainty {certainty} is not from -{CERTAIN} to {CERTAIN}, or it is 0");
            return Err(self.error(rule.certainty.span().start, reason));
        }
        let because = rule.because.get_ref();
        if because.trim().is_empty() || because.len() > SENTENCE_BYTES_MAX || because.contains(char::is_control) {
            let reason =
                format!("{name}: the reason (because) is no sentence of at most {SENTENCE_BYTES_MAX} bytes in a line");
            return Err(self.error(rule.because.span().start, reason));
        }
        if let Some(beyond) = rule.when.get(CONDITIONS_MAX) {
            let reason = format!("{name}: there are more than {CONDITIONS_MAX} conditions");
            return Err(self.error(beyond.span().start, reason));
        }
        let read = |text: &Spanned<String>| {
            condition(text.get_ref()).map_err(|reason| self.error(text.span().start, format!("{name}: {reason}")))
        };
        let when = rule.when.iter().map(read).collect::<Result<_, _>>()?;
        Ok(ExpertRule { name: name.clone(), when, method, certainty, because: because.clone() })
    }
}

/// The rules of a text.
///
/// # Errors
/// See [`RuleBookError`].
pub fn parse(text: &str) -> Result<Vec<ExpertRule>, RuleBookError> {
    let place = RuleSource(text);
    if text.len() > BOOK_BYTES_MAX {
        return Err(place.error(0, format!("the file has more than {BOOK_BYTES_MAX} bytes")));
    }
    let book: BookText = toml::from_str(text).map_err(|error| {
        let at = error.span().map_or(text.len(), |span| span.start);
        place.error(at, error.message().replace('\n', " "))
    })?;
    if let Some(beyond) = book.rule.get(RULES_MAX) {
        return Err(place.error(beyond.span().start, format!("there are more than {RULES_MAX} rules")));
    }
    if book.rule.is_empty() {
        return Err(place.error(text.len(), "there is no [[rule]]"));
    }
    let mut names = BTreeSet::new();
    let mut rules = Vec::new();
    for rule in book.rule {
        let at = rule.get_ref().name.span().start;
        let rule = place.rule(rule.into_inner())?;
        if !names.insert(rule.name.clone()) {
            return Err(place.error(at, format!("two rules are called {:?}", rule.name)));
        }
        rules.push(rule);
    }
    Ok(rules)
}

/// `near >= 50`.
fn condition(text: &str) -> Result<Condition, String> {
    let wrong = || format!("the condition {text:?} is not like \"near >= 50\", with <, <=, >= or >");
    let at = text.find(['<', '>']).ok_or_else(wrong)?;
    let (name, rest) = text.split_at(at);
    let operators =
        [("<=", Comparator::AtMost), (">=", Comparator::AtLeast), ("<", Comparator::Below), (">", Comparator::Above)];
    let (operand, operator) = operators
        .into_iter()
        .find_map(|(sign, operator)| Some((rest.strip_prefix(sign)?, operator)))
        .ok_or_else(wrong)?;
    let name = name.trim();
    let Some(fact) = Fact::of_name(name) else {
        return Err(format!("there is no fact {name:?}; there are {}", Fact::ALL.map(Fact::name).join(", ")));
    };
    let operand = operand.trim();
    let is_number = !operand.is_empty() && operand.bytes().all(|byte| byte.is_ascii_digit());
    let operand: Option<u64> = operand.parse().ok().filter(|number| is_number && *number <= OPERAND_MAX);
    let operand = operand.ok_or_else(|| format!("{:?} in {text:?} is no whole number up to {OPERAND_MAX}", rest))?;
    Ok(Condition { fact, operator, operand })
}
