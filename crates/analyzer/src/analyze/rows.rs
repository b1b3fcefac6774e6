//! Rows: their construction, and comparing one with another field by field.

use grammar::ast::{ExpressionId, OperatorName as Written};

use super::{Analyzer, Result, error_at};
use crate::error::{AnalysisError, DATATYPE_MISMATCH, FEATURE_NOT_SUPPORTED, SYNTAX_ERROR, TOO_MANY_COLUMNS};
use crate::facts::Facts;
use crate::limits::COLUMNS_MAX;
use crate::names::type_name;
use crate::tree::{ExprId, Node};
use crate::types::{BOOL, OperatorId, RECORD};

/// PostgreSQL's numbers of what an operator means in a family of ordered types.
const EQUAL: i16 = 3;
/// `<>` has no number there: it is the opposite of one.
const NOT_EQUAL: i16 = 6;

impl<'a> Analyzer<'a> {
    /// `ROW (a, b)`; `t.*` in it gives all columns.
    pub fn row(&mut self, fields: &'a [ExpressionId], at: u32) -> Result<ExprId> {
        let place = self.level().place;
        let fields = self.expression_list(fields, place, false)?;
        if fields.len() > COLUMNS_MAX {
            let message = format!("ROW expressions can have at most {COLUMNS_MAX} entries");
            return error_at(TOO_MANY_COLUMNS, message, at);
        }
        let names = (1..=fields.len()).map(|number| format!("f{number}")).collect();
        Ok(self.plain(Node::Row { fields, names }, RECORD, Some(at)))
    }

    /// Two rows by an operator.
    pub fn row_comparison(&mut self, operator: &Written, left: &[ExprId], right: &[ExprId], at: u32) -> Result<ExprId> {
        if left.len() != right.len() {
            return error_at(SYNTAX_ERROR, "unequal number of entries in row expressions", at);
        }
        if left.is_empty() {
            return error_at(FEATURE_NOT_SUPPORTED, "cannot compare rows of zero length", at);
        }
        let mut pairs = Vec::with_capacity(left.len());
        for (left, right) in left.iter().zip(right) {
            let pair = self.operator_named(operator, Some(*left), *right, at)?;
            let id = self.type_of(pair);
            if id != BOOL {
                let name = type_name(self.catalog, id);
                let message = format!("row comparison operator must yield type boolean, not type {name}");
                return error_at(DATATYPE_MISMATCH, message, at);
            }
            if self.yields_set(pair) {
                return error_at(DATATYPE_MISMATCH, "row comparison operator must not return a set", at);
            }
            pairs.push(pair);
        }
        if let [only] = pairs.as_slice() {
            return Ok(*only);
        }
        let strategy = self.strategy(operator, &pairs, at)?;
        if strategy == EQUAL || strategy == NOT_EQUAL {
            let node = if strategy == EQUAL { Node::And(pairs) } else { Node::Or(pairs) };
            return Ok(self.plain(node, BOOL, Some(at)));
        }
        let (mut operators, mut left, mut right) = (Vec::new(), Vec::new(), Vec::new());
        for pair in pairs {
            if let Node::Operator { operator, arguments, .. } = &self.tree[pair].node {
                operators.push(*operator);
                left.push(arguments[0]);
                right.push(arguments[1]);
            }
        }
        Ok(self.plain(Node::RowComparison { strategy, operators, left, right }, BOOL, Some(at)))
    }

    /// What the operators mean in the families of ordered types: all must mean the same.
    fn strategy(&self, operator: &Written, pairs: &[ExprId], at: u32) -> Result<i16> {
        let mut common: Option<Vec<i16>> = None;
        for pair in pairs {
            let Node::Operator { operator, .. } = self.tree[*pair].node else { continue };
            let mut found: Vec<i16> = self.interpretations(operator);
            if let Some(common) = &common {
                found.retain(|strategy| common.contains(strategy));
            }
            common = Some(found);
        }
        let strategies = common.unwrap_or_default();
        strategies.first().copied().ok_or_else(|| {
            let message = format!("could not determine interpretation of row comparison operator {}", operator.symbol);
            let hint = "Row comparison operators must be associated with btree operator families.";
            AnalysisError::new(FEATURE_NOT_SUPPORTED, message).with_hint(hint).at(at)
        })
    }

    /// What an operator means in the families of ordered types.
    fn interpretations(&self, operator: OperatorId) -> Vec<i16> {
        let facts = Facts::postgresql15();
        let ordered =
            |family: u32| !facts.operator_families.iter().any(|row| row.id == family) || facts.is_btree_family(family);
        let of = |operator: OperatorId| {
            let others = self.catalog.other_family_operators().iter();
            let rows = facts.family_operators.iter().chain(others);
            rows.filter(move |row| row.operator == operator && row.purpose == 's' && ordered(row.family))
                .map(|row| row.strategy)
        };
        let mut found: Vec<i16> = of(operator).collect();
        if found.is_empty()
            && let Some(negator) = self.catalog.operator(operator).map(|row| row.negator)
            && of(negator).any(|strategy| strategy == EQUAL)
        {
            found.push(NOT_EQUAL);
        }
        found.sort_unstable();
        found.dedup();
        found
    }
}
