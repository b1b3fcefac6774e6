//! Rules as data: if some facts hold, a method is believed in so much more, or less, for this reason.

use crate::fact::{Fact, Findings};
use crate::rule_text::{self, RuleBookError};
use messages::method::Method;
use serde::{Deserialize, Serialize};

/// How a fact is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Comparator {
    /// `<`
    Below,
    /// `<=`
    AtMost,
    /// `>=`
    AtLeast,
    /// `>`
    Above,
}

/// What must hold for a rule to fire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Condition {
    /// Of what.
    pub fact: Fact,
    /// How it is compared.
    pub operator: Comparator,
    /// With what.
    pub operand: u64,
}

impl Condition {
    /// Whether it holds.
    pub fn holds(&self, findings: &Findings) -> bool {
        let value = findings.get(self.fact);
        match self.operator {
            Comparator::Below => value < self.operand,
            Comparator::AtMost => value <= self.operand,
            Comparator::AtLeast => value >= self.operand,
            Comparator::Above => value > self.operand,
        }
    }
}

/// A rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExpertRule {
    /// What it is called; no other of its book is.
    pub name: String,
    /// What must hold, all of it. Nothing: it fires always.
    pub when: Vec<Condition>,
    /// Of which method it speaks.
    pub method: Method,
    /// For it, up to `CERTAIN`, or against it.
    pub certainty: i64,
    /// The reason, a sentence.
    pub because: String,
}

impl ExpertRule {
    /// Whether it fires.
    pub fn fires(&self, findings: &Findings) -> bool {
        self.when.iter().all(|condition| condition.holds(findings))
    }
}

/// The rules of a site.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleBook {
    rules: Vec<ExpertRule>,
}

/// The rules that a site has unless it is given others, as a file.
pub const STANDARD: &str = include_str!("../standard_rules.toml");

impl RuleBook {
    /// The rules that a site has unless it is given others.
    pub fn standard() -> RuleBook {
        RuleBook::parse(STANDARD).expect("a test reads the rules of the tree")
    }

    /// The rules of a file.
    ///
    /// # Errors
    /// Line and reason.
    pub fn parse(text: &str) -> Result<RuleBook, RuleBookError> {
        Ok(RuleBook { rules: rule_text::parse(text)? })
    }

    /// In the order of the file.
    pub fn rules(&self) -> &[ExpertRule] {
        &self.rules
    }
}

impl Default for RuleBook {
    fn default() -> RuleBook {
        RuleBook::standard()
    }
}
