//! Expressions that no server need compute: constants, variables, arithmetic of whole numbers, comparisons, logic.
//!
//! Invariant: what is computed here is what the query would compute; where that is not sure, nothing is.

use crate::names::BlockScopes;
use crate::place::VariablePlace;
use grammar::Parsed;
use grammar::ast::{Arena, ExpressionId, ExpressionNode, QueryBody, Statement};
use values::operators::{BinaryOperator, UnaryOperator};
use values::{Type, Value};

/// An expression that is computed here.
#[derive(Clone, Debug)]
pub enum Simple {
    /// A constant.
    Constant(Value, Type),
    /// A variable.
    Place(VariablePlace),
    /// Two operands.
    Binary(BinaryOperator, Box<(Simple, Simple)>),
    /// The first of some records that is not NULL.
    FirstRecord(Vec<VariablePlace>),
    /// One operand.
    Unary(UnaryOperator, Box<Simple>),
}

/// Levels of an expression that is computed here.
const LEVELS_MAX: usize = 30;

impl Simple {
    /// The expression that a query computes, if it is simple.
    pub(crate) fn of(parsed: &Parsed, scopes: &BlockScopes) -> Option<Simple> {
        let Statement::Query(query) = &parsed.statement else { return None };
        let query = &parsed.arena[*query];
        let QueryBody::Select(select) = &query.body else { return None };
        let is_plain =
            query.with.is_none() && query.order.is_empty() && query.limit.is_none() && query.offset.is_none();
        let [target] = select.targets.as_slice() else { return None };
        let is_alone = select.from.is_empty() && select.filter.is_none() && select.into.is_none();
        let is_ungrouped = select.group.is_empty() && select.having.is_none() && query.locks.is_empty();
        if !is_plain || !is_alone || !is_ungrouped {
            return None;
        }
        Self::expression(&parsed.arena, target.value, scopes, 0)
    }

    fn expression(arena: &Arena, id: ExpressionId, scopes: &BlockScopes, level: usize) -> Option<Simple> {
        if level > LEVELS_MAX {
            return None;
        }
        let of = |id: ExpressionId| Self::expression(arena, id, scopes, level + 1);
        let chain = |operator, all: &[ExpressionId]| {
            let mut all = all.iter().map(|one| of(*one));
            let first = all.next()??;
            all.try_fold(first, |left, right| Some(Simple::Binary(operator, Box::new((left, right?)))))
        };
        Some(match &arena[id].node {
            ExpressionNode::Null => Simple::Constant(Value::Null, Type::Text),
            ExpressionNode::Boolean(truth) => Simple::Constant(Value::Boolean(*truth), Type::Boolean),
            ExpressionNode::Integer(number) => Simple::Constant(Value::Integer(*number), Type::Integer),
            ExpressionNode::String(text) if level == 0 => Simple::Constant(Value::text(text.as_str()), Type::Text),
            ExpressionNode::Column { names, star: false } => {
                let names: Vec<String> = names.iter().map(|name| name.text.clone()).collect();
                Simple::Place(scopes.find(&names)?)
            }
            ExpressionNode::Coalesce(all) if level == 0 => {
                let place = |one: &ExpressionId| match of(*one)? {
                    Simple::Place(place @ VariablePlace::Whole(_)) => Some(place),
                    _ => None,
                };
                Simple::FirstRecord(all.iter().map(place).collect::<Option<_>>()?)
            }
            ExpressionNode::And(all) => chain(BinaryOperator::And, all)?,
            ExpressionNode::Or(all) => chain(BinaryOperator::Or, all)?,
            ExpressionNode::Not(value) => Simple::Unary(UnaryOperator::Not, Box::new(of(*value)?)),
            ExpressionNode::IsNull { negated, value } => {
                let operator = if *negated { UnaryOperator::IsNotNull } else { UnaryOperator::IsNull };
                Simple::Unary(operator, Box::new(of(*value)?))
            }
            ExpressionNode::Operator { operator, left: Some(left), right } if operator.schema.is_empty() => {
                let operator = operator_of(&operator.symbol)?;
                Simple::Binary(operator, Box::new((of(*left)?, of(*right)?)))
            }
            ExpressionNode::Operator { operator, left: None, right } if operator.symbol == "-" => {
                Simple::Unary(UnaryOperator::Negate, Box::new(of(*right)?))
            }
            _ => return None,
        })
    }
}

fn operator_of(symbol: &str) -> Option<BinaryOperator> {
    Some(match symbol {
        "+" => BinaryOperator::Add,
        "-" => BinaryOperator::Subtract,
        "*" => BinaryOperator::Multiply,
        "/" => BinaryOperator::Divide,
        "%" => BinaryOperator::Modulo,
        "=" => BinaryOperator::Equal,
        "<>" => BinaryOperator::NotEqual,
        "<" => BinaryOperator::Less,
        "<=" => BinaryOperator::LessOrEqual,
        ">" => BinaryOperator::Greater,
        ">=" => BinaryOperator::GreaterOrEqual,
        _ => return None,
    })
}
