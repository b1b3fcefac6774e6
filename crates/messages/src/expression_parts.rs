//! The parts of expressions.

use crate::program::Expression;

impl Expression {
    /// Calls `each` with the expression and all that it is made of, the whole before its parts.
    pub fn visit(&self, each: &mut impl FnMut(&Expression)) {
        each(self);
        match self {
            Expression::Constant(_) | Expression::Parameter(_) | Expression::Column(_) | Expression::Gathered(..) => {}
            Expression::TransactionTime
            | Expression::NextValue(_)
            | Expression::CurrentValue(..)
            | Expression::LastValue => {}
            Expression::Unary(_, operand)
            | Expression::IsNull(operand, _)
            | Expression::Cast(operand, _, _)
            | Expression::Domain(operand, _) => operand.visit(each),
            Expression::Binary(_, left, right)
            | Expression::Any(_, left, right)
            | Expression::IsDistinct(left, right, _)
            | Expression::Like(left, right, _, _) => {
                left.visit(each);
                right.visit(each);
            }
            Expression::In(operand, list, _) => {
                operand.visit(each);
                list.iter().for_each(|one| one.visit(each));
            }
            Expression::Case(branches, otherwise) => {
                for (condition, result) in branches {
                    condition.visit(each);
                    result.visit(each);
                }
                if let Some(otherwise) = otherwise {
                    otherwise.visit(each);
                }
            }
            Expression::And(list)
            | Expression::Or(list)
            | Expression::Coalesce(list)
            | Expression::Array(_, list)
            | Expression::Call(_, list) => list.iter().for_each(|one| one.visit(each)),
        }
    }

    /// Whether both are written alike, so that they have the same value over the same row.
    pub fn is_same_as(&self, other: &Expression) -> bool {
        // Values have no equality that tells 1.0 from 1.00: what encodes them does.
        std::mem::discriminant(self) == std::mem::discriminant(other)
            && postcard::to_stdvec(self).ok() == postcard::to_stdvec(other).ok()
    }
}
