//! Types of expressions over rows.

use crate::program::{BinaryOperator, Expression, UnaryOperator};
use values::{Type, functions, operators};

impl BinaryOperator {
    /// The operator as `values` computes it.
    pub fn of_values(self) -> operators::BinaryOperator {
        use operators::BinaryOperator as Of;
        match self {
            BinaryOperator::Add => Of::Add,
            BinaryOperator::Subtract => Of::Subtract,
            BinaryOperator::Multiply => Of::Multiply,
            BinaryOperator::Divide => Of::Divide,
            BinaryOperator::Modulo => Of::Modulo,
            BinaryOperator::Power => Of::Power,
            BinaryOperator::Concat => Of::Concatenate,
            BinaryOperator::Equal => Of::Equal,
            BinaryOperator::NotEqual => Of::NotEqual,
            BinaryOperator::Less => Of::Less,
            BinaryOperator::LessOrEqual => Of::LessOrEqual,
            BinaryOperator::Greater => Of::Greater,
            BinaryOperator::GreaterOrEqual => Of::GreaterOrEqual,
        }
    }
}

impl Expression {
    /// The type of its values over a row of columns of these types; `None` for what is NULL, or of no known type.
    pub fn type_over(&self, column: &impl Fn(usize) -> Option<Type>) -> Option<Type> {
        let first = |list: &[Expression]| list.iter().find_map(|one| one.type_over(column));
        match self {
            Expression::Constant(value) => value.data_type(),
            Expression::Column(position) => column(usize::from(*position)),
            Expression::Parameter(_) => None,
            Expression::Gathered(_, gathered) => Some(*gathered),
            Expression::TransactionTime => Some(Type::TimestampTz(None)),
            Expression::Unary(UnaryOperator::Minus, operand) => operand.type_over(column),
            Expression::Binary(operator, left, right) => {
                operators::binary_type(operator.of_values(), left.type_over(column)?, right.type_over(column)?)
            }
            Expression::Array(element, _) => Some(element.array()),
            Expression::Case(branches, otherwise) => {
                let mut results = branches.iter().map(|(_, result)| result).chain(otherwise.as_deref());
                results.find_map(|result| result.type_over(column))
            }
            Expression::Coalesce(list) => first(list),
            Expression::Cast(_, target, _) => Some(*target),
            Expression::Domain(operand, _) => operand.type_over(column),
            Expression::Call(name, arguments) => {
                let types: Vec<Type> =
                    arguments.iter().map(|argument| argument.type_over(column).unwrap_or(Type::Text)).collect();
                functions::lookup(name, &types).map(|function| function.result)
            }
            Expression::NextValue(_) | Expression::CurrentValue(..) | Expression::LastValue => Some(Type::BigInt),
            Expression::Unary(UnaryOperator::Not, _)
            | Expression::And(_)
            | Expression::Or(_)
            | Expression::IsNull(..)
            | Expression::IsDistinct(..)
            | Expression::In(..)
            | Expression::Any(..)
            | Expression::Like(..) => Some(Type::Boolean),
        }
    }
}
