//! Operators of programs and of `values`: which is which, and what an untyped operand becomes.
//!
//! Invariant: a program's operator computes what `values` computes for the operator of the same symbol.

use crate::errors::{SqlError, sqlstate};
use crate::sql::types::Typed;
use messages::program::BinaryOperator;
use sqlparser::ast;
use values::{Type, operators};

/// What a literal of unknown type becomes beside an operand of a known one: the same type, where the operator takes that.
pub(super) fn unknown_operand(operator: BinaryOperator, known: Type, unknown_is_left: bool) -> Type {
    let known = known.unmodified();
    let pair = |unknown: Type| {
        if unknown_is_left {
            operators::binary_type(operator_of_values(operator), unknown, known)
        } else {
            operators::binary_type(operator_of_values(operator), known, unknown)
        }
    };
    if operator == BinaryOperator::Concat && !matches!(known, Type::Bytea | Type::TsVector) {
        return Type::Text;
    }
    [known, Type::Interval(None), Type::Double].into_iter().find(|unknown| pair(*unknown).is_some()).unwrap_or(known)
}

/// What an untyped operand becomes beside one of a type that it is compared with: that type, or the one whose comparison it has.
pub(super) fn operand_type(known: Type) -> Type {
    if known == Type::Cidr { Type::Inet } else { known.unmodified() }
}

/// Whether a program compares values of these types. Of two that are not the same, the query processor casts one.
pub(super) fn is_compared_by_programs(left: Type, right: Type) -> bool {
    let of_queries = left.is_of_queries() || right.is_of_queries();
    let of_addresses = left.is_address() && right.is_address();
    left.unmodified() == right.unmodified() || !(of_queries || of_addresses)
}

/// The operators of a type that no program has, but for comparisons, as a feature; `None` if it has those that there are.
pub(super) fn operator_of_queries(operator: BinaryOperator, sides: [Option<Type>; 2]) -> Option<&'static str> {
    let is_vector = |known: &Option<Type>| known.is_none_or(|known| known == Type::TsVector);
    let joins = operator == BinaryOperator::Concat && sides.iter().all(is_vector);
    sides.into_iter().flatten().find_map(|known| match known.is_text_search() {
        true => (!joins).then_some("an operator of full text search"),
        false => operators_of_queries(known),
    })
}

/// The same by the type of one side.
fn operators_of_queries(known: Type) -> Option<&'static str> {
    match known {
        Type::Json | Type::Jsonb => Some("an operator of JSON"),
        Type::Bit(_) | Type::VarBit(_) => Some("an operator of bit strings"),
        Type::TimeTz(_) => Some("an operator of times with a zone"),
        Type::Money => Some("an operator of money"),
        known if known.is_address() => Some("an operator of addresses"),
        known if known.is_range() => Some("an operator of ranges"),
        _ => None,
    }
}

/// The operator that a program has for this symbol.
pub(super) fn operator_of_syntax(operator: &ast::BinaryOperator) -> Option<BinaryOperator> {
    use ast::BinaryOperator as Op;
    Some(match operator {
        Op::Plus => BinaryOperator::Add,
        Op::Minus => BinaryOperator::Subtract,
        Op::Multiply => BinaryOperator::Multiply,
        Op::Divide => BinaryOperator::Divide,
        Op::Modulo => BinaryOperator::Modulo,
        Op::PGExp => BinaryOperator::Power,
        Op::StringConcat => BinaryOperator::Concat,
        Op::Eq => BinaryOperator::Equal,
        Op::NotEq => BinaryOperator::NotEqual,
        Op::Lt => BinaryOperator::Less,
        Op::LtEq => BinaryOperator::LessOrEqual,
        Op::Gt => BinaryOperator::Greater,
        Op::GtEq => BinaryOperator::GreaterOrEqual,
        _ => return None,
    })
}

/// The comparison that is true where this one is false.
///
/// # Panics
/// If it is no comparison.
pub(super) fn negated_comparison(operator: BinaryOperator) -> BinaryOperator {
    match operator {
        BinaryOperator::Equal => BinaryOperator::NotEqual,
        BinaryOperator::NotEqual => BinaryOperator::Equal,
        BinaryOperator::Less => BinaryOperator::GreaterOrEqual,
        BinaryOperator::LessOrEqual => BinaryOperator::Greater,
        BinaryOperator::Greater => BinaryOperator::LessOrEqual,
        BinaryOperator::GreaterOrEqual => BinaryOperator::Less,
        other => panic!("{} is no comparison", symbol(other)),
    }
}

pub(super) fn is_comparison(operator: BinaryOperator) -> bool {
    operator_of_values(operator).is_comparison()
}

/// The operator as `values` computes it.
pub fn operator_of_values(operator: BinaryOperator) -> operators::BinaryOperator {
    operator.of_values()
}

pub(super) fn symbol(operator: BinaryOperator) -> &'static str {
    operator_of_values(operator).symbol()
}

pub(super) fn no_operator(symbol: &str, left: &Typed, right: &Typed) -> Box<SqlError> {
    SqlError::new(
        sqlstate::UNDEFINED_FUNCTION,
        format!("operator does not exist: {} {symbol} {}", left.type_name(), right.type_name()),
    )
    .with_hint("No operator matches the given name and argument types. You might need to add explicit type casts.")
}
