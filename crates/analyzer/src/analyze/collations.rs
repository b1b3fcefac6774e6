//! By which collation each expression is compared: explicit before implicit, and none where two disagree (manual, 24.2.2).
//!
//! It runs over a query that is complete otherwise, from the parts of an expression to the whole.

use super::{Analyzer, Result, error_at};
use crate::error::{AnalysisError, COLLATION_MISMATCH};
use crate::tree::{ExprId, Node, Query, Target};
use crate::types::CollationId;

/// The collation that a database is made with, which any other one wins over.
const DEFAULT: CollationId = CollationId(100);
const NONE: CollationId = CollationId(0);

/// How firmly an expression has its collation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Strength {
    #[default]
    None,
    Implicit,
    Conflict,
    Explicit,
}

/// The collation of an expression, or of several together.
#[derive(Clone, Copy, Debug, Default)]
struct State {
    collation: CollationId,
    strength: Strength,
    at: Option<u32>,
    /// What it disagrees with, and where that stands.
    other: (CollationId, Option<u32>),
}

impl Analyzer<'_> {
    /// Gives all expressions of a query their collations.
    pub fn collate_query(&mut self, query: &Query) -> Result<()> {
        for Target { value, reference, .. } in &query.targets {
            let state = self.collated(*value)?;
            // What is sorted or grouped by must have one.
            if state.strength == Strength::Conflict && *reference != 0 {
                return Err(self.implicit_mismatch(&state));
            }
        }
        let skip = query.targets.len();
        for value in query.expressions().into_iter().skip(skip) {
            self.collated(value)?;
        }
        Ok(())
    }

    /// The collation of a column that two sides give; an error if they disagree, unless none will do.
    pub fn common_collation(&mut self, values: &[ExprId], none_will_do: bool) -> Result<CollationId> {
        let mut all = State::default();
        for value in values {
            let state = self.collated(*value)?;
            self.meet(&mut all, state)?;
        }
        match all.strength {
            Strength::Conflict if none_will_do => Ok(NONE),
            Strength::Conflict => Err(self.implicit_mismatch(&all)),
            _ => Ok(all.collation),
        }
    }

    fn implicit_mismatch(&self, state: &State) -> AnalysisError {
        let (one, other) = (self.collation_name(state.collation), self.collation_name(state.other.0));
        let message = format!("collation mismatch between implicit collations \"{one}\" and \"{other}\"");
        let hint = "You can choose the collation by applying the COLLATE clause to one or both expressions.";
        AnalysisError::new(COLLATION_MISMATCH, message).with_hint(hint).at_place(state.other.1)
    }

    /// The name of a collation.
    pub fn collation_name(&self, id: CollationId) -> String {
        self.catalog.collation_name(id).unwrap_or_default()
    }

    fn meet(&self, all: &mut State, new: State) -> Result<()> {
        if new.strength > all.strength {
            *all = new;
        } else if new.strength == all.strength && new.collation != all.collation {
            match new.strength {
                Strength::None | Strength::Conflict => {}
                Strength::Implicit if all.collation == DEFAULT => *all = new,
                Strength::Implicit if new.collation == DEFAULT => {}
                Strength::Implicit => {
                    all.strength = Strength::Conflict;
                    all.other = (new.collation, new.at);
                }
                Strength::Explicit => {
                    let (one, other) = (self.collation_name(all.collation), self.collation_name(new.collation));
                    let message = format!("collation mismatch between explicit collations \"{one}\" and \"{other}\"");
                    return error_at(COLLATION_MISMATCH, message, new.at);
                }
            }
        }
        Ok(())
    }

    /// Sets the collations within an expression, and tells its own.
    fn collated(&mut self, value: ExprId) -> Result<State> {
        let at = self.location(value);
        let own = self.tree[value].typed.collation;
        let implicit = |collation: CollationId| State {
            collation,
            strength: if collation == NONE { Strength::None } else { Strength::Implicit },
            at,
            other: (NONE, None),
        };
        let (alone, together) = self.parts_for_collation(value);
        for part in alone {
            self.collated(part)?;
        }
        match self.tree[value].node {
            Node::Collate { value: inner, collation } => {
                self.collated(inner)?;
                return Ok(State { collation, strength: Strength::Explicit, at, other: (NONE, None) });
            }
            Node::Column { .. }
            | Node::Constant(_)
            | Node::Parameter(_)
            | Node::SubLink { .. }
            | Node::SubLinkColumn(_)
            | Node::MultipleColumn { .. }
            | Node::SystemColumn { .. }
            | Node::WholeRow { .. }
            | Node::CaseOperand
            | Node::Element
            | Node::Row { .. }
            | Node::RowComparison { .. } => return Ok(implicit(own)),
            _ => {}
        }
        let mut all = State::default();
        for part in together {
            let state = self.collated(part)?;
            self.meet(&mut all, state)?;
        }
        let usual = self.catalog.type_row(self.tree[value].typed.id).map_or(NONE, |row| row.collation);
        if usual == NONE {
            self.tree[value].typed.collation = NONE;
            return Ok(State::default());
        }
        if all.strength == Strength::None {
            self.tree[value].typed.collation = usual;
            return Ok(implicit(usual));
        }
        let collation = if all.strength == Strength::Conflict { NONE } else { all.collation };
        self.tree[value].typed.collation = collation;
        Ok(all)
    }

    /// The parts of an expression: those that do not decide its collation, and those that do.
    fn parts_for_collation(&self, value: ExprId) -> (Vec<ExprId>, Vec<ExprId>) {
        let node = &self.tree[value].node;
        match node {
            Node::Case { operand, arms, otherwise } => (
                operand.iter().copied().chain(arms.iter().map(|(condition, _)| *condition)).collect(),
                arms.iter().map(|(_, result)| *result).chain([*otherwise]).collect(),
            ),
            Node::Row { .. } | Node::RowComparison { .. } | Node::SubLink { .. } => (node.parts(), Vec::new()),
            Node::ArrayConversion { value, element, .. } => (vec![*element], vec![*value]),
            Node::Subscript { container, upper, lower, assigned } => (
                upper.iter().chain(lower).flatten().copied().collect(),
                std::iter::once(*container).chain(*assigned).collect(),
            ),
            Node::Aggregate(call) => {
                let (junk, shown): (Vec<&Target>, Vec<&Target>) = call.arguments.iter().partition(|target| target.junk);
                let hypothetical = call.direct.iter().copied();
                (
                    junk.into_iter().map(|target| target.value).chain(call.filter).collect(),
                    hypothetical.chain(shown.into_iter().map(|target| target.value)).collect(),
                )
            }
            Node::Window(call) => (call.filter.iter().copied().collect(), call.arguments.clone()),
            Node::Collate { .. } => (Vec::new(), Vec::new()),
            _ => (Vec::new(), node.parts()),
        }
    }
}
