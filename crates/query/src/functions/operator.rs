//! Operators that Arrow has no kernel for with PostgreSQL's meaning: division of numerics, dates and times.

use super::rowwise::{self, RowImplementation};
use crate::error::QueryError;
use crate::types::{QUOTIENT, to_arrow};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::Expr;
use values::operators::{BinaryOperator, binary, binary_type};
use values::{Type, Value};

#[derive(Debug, PartialEq, Eq, Hash)]
struct Operator {
    operator: BinaryOperator,
    /// A quotient of exact numbers, whose type has room for the digits that PostgreSQL computes.
    is_quotient: bool,
}

/// The operator applied to two expressions, row by row.
pub fn apply(operator: BinaryOperator, left: Expr, right: Expr) -> Expr {
    rowwise::function(Operator { operator, is_quotient: false }).call(vec![left, right])
}

/// The quotient of two exact numbers, one of them numeric.
pub fn quotient(left: Expr, right: Expr) -> Expr {
    rowwise::function(Operator { operator: BinaryOperator::Divide, is_quotient: true }).call(vec![left, right])
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

    fn data_type(&self, result: Type, _: &[Option<&ScalarValue>]) -> DataType {
        if self.is_quotient { QUOTIENT } else { to_arrow(result) }
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
