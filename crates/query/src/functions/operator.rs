//! Operators that Arrow has no kernel for with PostgreSQL's meaning: numerics of any scale, their quotients, dates and times.

use super::rowwise::{self, RowImplementation};
use crate::error::QueryError;
use datafusion::logical_expr::Expr;
use values::operators::{BinaryOperator, UnaryOperator, binary, binary_type, unary, unary_type};
use values::{Type, Value};

#[derive(Debug, PartialEq, Eq, Hash)]
struct Operator {
    operator: BinaryOperator,
}

/// The operator applied to two expressions, row by row.
pub fn apply(operator: BinaryOperator, left: Expr, right: Expr) -> Expr {
    rowwise::function(Operator { operator }).call(vec![left, right])
}

impl RowImplementation for Operator {
    fn name(&self) -> &str {
        self.operator.symbol()
    }

    fn result(&self, arguments: &[Option<Type>]) -> Result<Type, QueryError> {
        let &[Some(left), Some(right)] = arguments else {
            return Err(QueryError::new("42883", format!("operator does not exist: {}", self.operator)));
        };
        binary_type(self.operator, left, right)
            .map(|result| result.unmodified())
            .ok_or_else(|| undefined(self.operator.symbol(), left, right))
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn call(&self, arguments: &[Value]) -> Result<Value, QueryError> {
        Ok(binary(self.operator, &arguments[0], &arguments[1])?)
    }
}

/// `42883` for an operator.
pub fn undefined(symbol: &str, left: Type, right: Type) -> QueryError {
    let message = format!("operator does not exist: {} {symbol} {}", left.base_name(), right.base_name());
    QueryError::new("42883", message)
}

/// `-operand`, checked.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Negative;

impl RowImplementation for Negative {
    fn name(&self) -> &str {
        NEGATIVE
    }

    fn result(&self, arguments: &[Option<Type>]) -> Result<Type, QueryError> {
        let [operand] = arguments else { return Err(QueryError::undefined_function(NEGATIVE)) };
        let operand = operand.unwrap_or(Type::Text);
        unary_type(UnaryOperator::Negate, operand)
            .ok_or_else(|| QueryError::new("42883", format!("operator does not exist: - {}", operand.base_name())))
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn call(&self, arguments: &[Value]) -> Result<Value, QueryError> {
        Ok(unary(UnaryOperator::Negate, &arguments[0])?)
    }
}

/// The name under which trees call [`Negative`].
pub const NEGATIVE: &str = "negative_of";
