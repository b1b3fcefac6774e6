//! Predicates of paths: true, false, or unknown, which is what errors are within them.

use super::execution::{PathExecution, PathFailure, PathFlow};
use super::tree::{PathNode, PathPredicate};
use values::error::sqlstate;
use values::json::compare;
use values::operators::BinaryOperator;
use values::{Jsonb, ValueError};

/// What a predicate is of two things.
type Judged = Result<Option<bool>, PathFailure>;

impl PathExecution<'_> {
    pub(super) fn predicate(&mut self, predicate: &PathPredicate, current: &Jsonb) -> Judged {
        Ok(match predicate {
            PathPredicate::And(left, right) => {
                let left = self.predicate(left, current)?;
                if left == Some(false) {
                    return Ok(left);
                }
                let right = self.predicate(right, current)?;
                if right == Some(true) { left } else { right }
            }
            PathPredicate::Or(left, right) => {
                let left = self.predicate(left, current)?;
                if left == Some(true) {
                    return Ok(left);
                }
                let right = self.predicate(right, current)?;
                if right == Some(false) { left } else { right }
            }
            PathPredicate::Not(of) => self.predicate(of, current)?.map(|truth| !truth),
            PathPredicate::IsUnknown(of) => Some(self.predicate(of, current)?.is_none()),
            PathPredicate::Exists(of) => self.exists(of, current)?,
            PathPredicate::Compare(operator, left, right) => {
                let Some(left) = self.known(left, current, true)? else { return Ok(None) };
                let Some(right) = self.known(right, current, true)? else { return Ok(None) };
                self.any_pair(&left, &right, |_, left, right| Ok(compared(*operator, left, right)))?
            }
            PathPredicate::StartsWith(of, initial) => {
                let Some(left) = self.known(of, current, true)? else { return Ok(None) };
                let Some(right) = self.known(initial, current, false)? else { return Ok(None) };
                self.any_pair(&left, &right, |_, whole, initial| {
                    Ok(match (whole, initial) {
                        (Jsonb::String(whole), Jsonb::String(initial)) => Some(whole.starts_with(&**initial)),
                        _ => None,
                    })
                })?
            }
            PathPredicate::LikeRegex { of, pattern, ignore_case } => {
                let Some(left) = self.known(of, current, true)? else { return Ok(None) };
                self.any_pair(&left, &[Jsonb::Null], |own, whole, _| {
                    let Jsonb::String(whole) = whole else { return Ok(None) };
                    // A dot does not stand for a line's end here, as it does elsewhere.
                    if whole.contains(['\n', '\r']) {
                        let message = "like_regex on several lines is not supported";
                        return Err(ValueError::new(sqlstate::FEATURE_NOT_SUPPORTED, message).into());
                    }
                    Ok(Some(own.patterns.translated(pattern, *ignore_case)?.regex.is_match(whole)))
                })?
            }
        })
    }

    fn exists(&mut self, of: &PathNode, current: &Jsonb) -> Judged {
        let is_strict = self.is_strict;
        let mut is_found = false;
        let followed = self.node(of, current, &mut |_| {
            is_found = true;
            Ok(if is_strict { PathFlow::On } else { PathFlow::Enough })
        });
        match followed {
            Ok(_) => Ok(Some(is_found)),
            Err(PathFailure::Suppressible(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// What an operand yields; `None` if that is an error.
    fn known(&mut self, node: &PathNode, current: &Jsonb, unwrap: bool) -> Result<Option<Vec<Jsonb>>, PathFailure> {
        match if unwrap { self.unwrapped(node, current) } else { self.list(node, current) } {
            Ok(all) => Ok(Some(all)),
            Err(PathFailure::Suppressible(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whether it is true of any pair. In a strict path one that is unknown makes all unknown.
    fn any_pair(
        &mut self,
        left: &[Jsonb],
        right: &[Jsonb],
        judge: impl Fn(&mut Self, &Jsonb, &Jsonb) -> Judged,
    ) -> Judged {
        let (mut is_found, mut is_unknown) = (false, false);
        for left in left {
            for right in right {
                match judge(self, left, right)? {
                    None if self.is_strict => return Ok(None),
                    None => is_unknown = true,
                    Some(true) if !self.is_strict => return Ok(Some(true)),
                    Some(truth) => is_found |= truth,
                }
            }
        }
        Ok(match (is_found, is_unknown) {
            (true, _) => Some(true),
            (false, true) => None,
            (false, false) => Some(false),
        })
    }
}

/// Null is comparable with all, other scalars with those of their kind.
fn compared(operator: BinaryOperator, left: &Jsonb, right: &Jsonb) -> Option<bool> {
    let is_null = |json: &Jsonb| matches!(json, Jsonb::Null);
    if left.type_name() != right.type_name() {
        let differs = operator == BinaryOperator::NotEqual;
        return (is_null(left) || is_null(right)).then_some(differs);
    }
    if !left.is_scalar() {
        return None;
    }
    let order = compare(left, right);
    Some(match operator {
        BinaryOperator::Equal => order.is_eq(),
        BinaryOperator::NotEqual => order.is_ne(),
        BinaryOperator::Less => order.is_lt(),
        BinaryOperator::LessOrEqual => order.is_le(),
        BinaryOperator::Greater => order.is_gt(),
        _ => order.is_ge(),
    })
}
