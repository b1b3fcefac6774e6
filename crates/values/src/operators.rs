//! Unary and binary operators: the type that results, and the value.
//!
//! Invariant: for operands of the given types, [`binary`] returns a value of the type that [`binary_type`] names, NULL, or
//! an error; and every operator but AND, OR and IS DISTINCT FROM yields NULL if an operand is NULL. Operands of
//! different types are promoted as PostgreSQL does; literals of unknown type have to be cast before.

use crate::arithmetic;
use crate::array::held;
use crate::compare::compare_present;
use crate::error::{ValueError, sqlstate};
use crate::network::write_shown;
use crate::pattern::like;
use crate::temporal;
use crate::text;
use crate::types::Type;
use crate::value::Value;
use crate::zone::Zone;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::fmt;

pub use crate::compare::compare;
pub use crate::pattern::literal_prefix;

/// An operator of two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum BinaryOperator {
    /// `=`
    Equal,
    /// `<>`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// `IS DISTINCT FROM`
    IsDistinctFrom,
    /// `IS NOT DISTINCT FROM`
    IsNotDistinctFrom,
    /// `AND`
    And,
    /// `OR`
    Or,
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `%`
    Modulo,
    /// `^`, of doubles
    Power,
    /// `||`
    Concatenate,
    /// `LIKE`
    Like,
    /// `NOT LIKE`
    NotLike,
    /// `ILIKE`
    ILike,
    /// `NOT ILIKE`
    NotILike,
    /// `&`, of integers
    BitAnd,
    /// `|`, of integers
    BitOr,
    /// `#`, of integers
    BitXor,
}

/// An operator of one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum UnaryOperator {
    /// `NOT`
    Not,
    /// `-`
    Negate,
    /// `+`
    Plus,
    /// `IS NULL`
    IsNull,
    /// `IS NOT NULL`
    IsNotNull,
    /// `IS TRUE`
    IsTrue,
    /// `IS NOT TRUE`
    IsNotTrue,
    /// `IS FALSE`
    IsFalse,
    /// `IS NOT FALSE`
    IsNotFalse,
}

impl BinaryOperator {
    /// As SQL writes it.
    pub fn symbol(&self) -> &'static str {
        match self {
            Self::Equal => "=",
            Self::NotEqual => "<>",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
            Self::IsDistinctFrom => "IS DISTINCT FROM",
            Self::IsNotDistinctFrom => "IS NOT DISTINCT FROM",
            Self::And => "AND",
            Self::Or => "OR",
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Modulo => "%",
            Self::Power => "^",
            Self::Concatenate => "||",
            Self::Like => "~~",
            Self::NotLike => "!~~",
            Self::ILike => "~~*",
            Self::NotILike => "!~~*",
            Self::BitAnd => "&",
            Self::BitOr => "|",
            Self::BitXor => "#",
        }
    }

    /// True for the six comparisons and the two tests of distinctness.
    pub fn is_comparison(&self) -> bool {
        matches!(
            self,
            Self::Equal
                | Self::NotEqual
                | Self::Less
                | Self::LessOrEqual
                | Self::Greater
                | Self::GreaterOrEqual
                | Self::IsDistinctFrom
                | Self::IsNotDistinctFrom
        )
    }
}

impl fmt::Display for BinaryOperator {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.symbol())
    }
}

/// True if SQL compares values of these two types without a cast.
pub fn comparable(left: Type, right: Type) -> bool {
    let is_instant = |data_type: Type| matches!(data_type, Type::Date | Type::Timestamp(_) | Type::TimestampTz(_));
    let has_order = |data_type: Type| data_type.element().unwrap_or(data_type) != Type::Json;
    (left.unmodified() == right.unmodified() && has_order(left))
        || (left.is_number() && right.is_number())
        || (left.is_string() && right.is_string())
        || (left.is_whole() && right.is_whole())
        || (left.is_network() && right.is_network())
        || (left.is_bits() && right.is_bits())
        || (is_instant(left) && is_instant(right))
        || (left.element().is_some() && held(left) == held(right) && has_order(left))
}

/// The type of a binary operator's result, or `None` if it does not take operands of these types.
pub fn binary_type(operator: BinaryOperator, left: Type, right: Type) -> Option<Type> {
    use BinaryOperator as Op;
    match operator {
        _ if operator.is_comparison() => comparable(left, right).then_some(Type::Boolean),
        Op::And | Op::Or => (left == Type::Boolean && right == Type::Boolean).then_some(Type::Boolean),
        Op::Like | Op::NotLike | Op::ILike | Op::NotILike => {
            (left.is_string() && right.is_string()).then_some(Type::Boolean)
        }
        Op::Concatenate => match (left, right) {
            (Type::Array(_), _) | (_, Type::Array(_)) => None,
            // Beside a literal it is that of two values, beside a text one of texts.
            (Type::Json | Type::Jsonb, _) | (_, Type::Json | Type::Jsonb) => None,
            (Type::Bytea, Type::Bytea) => Some(Type::Bytea),
            (Type::TsVector, Type::TsVector) => Some(Type::TsVector),
            (left, right) if left.is_string() || right.is_string() => Some(Type::Text),
            _ => None,
        },
        Op::BitAnd | Op::BitOr | Op::BitXor => {
            if left.is_integer() && right.is_integer() {
                arithmetic::promoted(left, right)
            } else {
                None
            }
        }
        Op::Power => match arithmetic::promoted(left, right)? {
            Type::Numeric(_) => None,
            _ => Some(Type::Double),
        },
        _ if left.is_number() && right.is_number() => {
            let promoted = arithmetic::promoted(left, right)?;
            let is_float = matches!(promoted, Type::Real | Type::Double);
            if operator == Op::Modulo && is_float { None } else { Some(promoted) }
        }
        _ => temporal::binary_type(operator, left, right),
    }
}

/// As [`binary_in`], in UTC.
pub fn binary(operator: BinaryOperator, left: &Value, right: &Value) -> Result<Value, ValueError> {
    binary_in(operator, left, right, &Zone::UTC)
}

/// Applies a binary operator in a time zone. Errors: 42883 if it does not take such operands, 22003, 22008, 22012, 22025.
pub fn binary_in(operator: BinaryOperator, left: &Value, right: &Value, zone: &Zone) -> Result<Value, ValueError> {
    use BinaryOperator as Op;
    if !zone.is_utc()
        && operator != Op::Concatenate
        && let Some((left, right)) = temporal::one_side_moved(operator, left, right, zone)?
    {
        return binary_in(operator, &left, &right, &Zone::UTC);
    }
    match operator {
        Op::And | Op::Or => return connect(operator, left, right),
        Op::IsDistinctFrom => {
            return Ok(Value::Boolean(distinct(left, right).ok_or_else(|| undefined(operator, left, right))?));
        }
        Op::IsNotDistinctFrom => {
            return Ok(Value::Boolean(!distinct(left, right).ok_or_else(|| undefined(operator, left, right))?));
        }
        _ if left.is_null() || right.is_null() => return Ok(Value::Null),
        _ => {}
    }
    let truth = match operator {
        _ if operator.is_comparison() => {
            let ordering = compare_present(left, right).ok_or_else(|| undefined(operator, left, right))?;
            satisfies(operator, ordering)
        }
        Op::Like | Op::NotLike | Op::ILike | Op::NotILike => {
            let (Value::Text(text), Value::Text(pattern)) = (left, right) else {
                return Err(undefined(operator, left, right));
            };
            let matches = like(text, pattern, matches!(operator, Op::ILike | Op::NotILike))?;
            matches != matches!(operator, Op::NotLike | Op::NotILike)
        }
        Op::Concatenate => {
            if let (Value::TsVector(left), Value::TsVector(right)) = (left, right) {
                return left.joined(right).map(Value::ts_vector).map_err(ValueError::of_search);
            }
            return concatenate(left, right, zone).ok_or_else(|| undefined(operator, left, right));
        }
        _ => {
            return match arithmetic::binary(operator, left, right)? {
                Some(value) => Ok(value),
                None => temporal::binary(operator, left, right, zone)?.ok_or_else(|| undefined(operator, left, right)),
            };
        }
    };
    Ok(Value::Boolean(truth))
}

/// As [`compare`], with local times and instants compared in a time zone.
pub fn compare_in(left: &Value, right: &Value, zone: &Zone) -> Ordering {
    if zone.is_utc() {
        return compare(left, right);
    }
    match temporal::one_side_moved(BinaryOperator::Equal, left, right, zone) {
        Ok(Some((left, right))) => compare(&left, &right),
        _ => compare(left, right),
    }
}

/// `operand op ANY (array)`: true if it is for any element, else NULL if it is unknown for any. Errors: as [`binary_in`]; 42809 for what is no
/// array.
pub fn any_in(operator: BinaryOperator, operand: &Value, array: &Value, zone: &Zone) -> Result<Value, ValueError> {
    if array.is_null() {
        return Ok(Value::Null);
    }
    let elements = array.as_array().ok_or_else(|| {
        ValueError::new(sqlstate::WRONG_OBJECT_TYPE, "op ANY/ALL (array) requires array on right side")
    })?;
    let mut is_unknown = false;
    for element in elements {
        match binary_in(operator, operand, element, zone)?.as_boolean() {
            Some(true) => return Ok(Value::Boolean(true)),
            Some(false) => {}
            None => is_unknown = true,
        }
    }
    Ok(if is_unknown { Value::Null } else { Value::Boolean(false) })
}

/// The comparison that is true where this one is false, so that `op ALL` is NOT of it with ANY; `None` for what is no comparison.
pub fn negated(operator: BinaryOperator) -> Option<BinaryOperator> {
    use BinaryOperator as Op;
    Some(match operator {
        Op::Equal => Op::NotEqual,
        Op::NotEqual => Op::Equal,
        Op::Less => Op::GreaterOrEqual,
        Op::LessOrEqual => Op::Greater,
        Op::Greater => Op::LessOrEqual,
        Op::GreaterOrEqual => Op::Less,
        Op::Like => Op::NotLike,
        Op::NotLike => Op::Like,
        Op::ILike => Op::NotILike,
        Op::NotILike => Op::ILike,
        _ => return None,
    })
}

/// True if two values that compare like this satisfy the comparison.
fn satisfies(operator: BinaryOperator, ordering: Ordering) -> bool {
    match operator {
        BinaryOperator::Equal => ordering.is_eq(),
        BinaryOperator::NotEqual => ordering.is_ne(),
        BinaryOperator::Less => ordering.is_lt(),
        BinaryOperator::LessOrEqual => ordering.is_le(),
        BinaryOperator::Greater => ordering.is_gt(),
        BinaryOperator::GreaterOrEqual => ordering.is_ge(),
        other => panic!("{other} is no comparison"),
    }
}

/// Whether two values differ, NULL being a value like any other; `None` if their types do not compare.
fn distinct(left: &Value, right: &Value) -> Option<bool> {
    match (left.is_null(), right.is_null()) {
        (false, false) => compare_present(left, right).map(Ordering::is_ne),
        (left, right) => Some(left != right),
    }
}

/// AND and OR in three-valued logic.
fn connect(operator: BinaryOperator, left: &Value, right: &Value) -> Result<Value, ValueError> {
    let truth = |value: &Value| match value {
        Value::Null => Ok(None),
        Value::Boolean(truth) => Ok(Some(*truth)),
        other => Err(ValueError::new(
            sqlstate::DATATYPE_MISMATCH,
            format!("argument of {operator} must be type boolean, not type {}", type_name(other)),
        )),
    };
    // FALSE decides AND, TRUE decides OR.
    let deciding = operator == BinaryOperator::Or;
    Ok(match (truth(left)?, truth(right)?) {
        (Some(left), _) if left == deciding => Value::Boolean(deciding),
        (_, Some(right)) if right == deciding => Value::Boolean(deciding),
        (Some(_), Some(_)) => Value::Boolean(!deciding),
        _ => Value::Null,
    })
}

/// Strings with anything that has a text, or two byte strings.
fn concatenate(left: &Value, right: &Value, zone: &Zone) -> Option<Value> {
    match (left, right) {
        // Whether NULL is an array or an element cannot be told from values.
        (Value::Array(_), _) | (_, Value::Array(_)) => None,
        (Value::Json(_) | Value::Jsonb(_), _) | (_, Value::Json(_) | Value::Jsonb(_)) => None,
        (Value::Bytea(left), Value::Bytea(right)) => Some(Value::bytea([left.as_ref(), right.as_ref()].concat())),
        (Value::Text(left), Value::Text(right)) => Some(Value::text([left.as_ref(), right.as_ref()].concat())),
        (Value::Text(_), _) | (_, Value::Text(_)) => {
            Some(Value::text(cast_text(left, zone)? + &cast_text(right, zone)?))
        }
        _ => None,
    }
}

/// The text of a value as a cast to `text` prints it, which spells booleans out; `None` for NULL.
pub(crate) fn cast_text(value: &Value, zone: &Zone) -> Option<String> {
    match value {
        Value::Boolean(truth) => Some(truth.to_string()),
        // With the mask, whatever its length.
        Value::Inet(network) => {
            let mut out = Vec::new();
            write_shown(network, &mut out);
            String::from_utf8(out).ok()
        }
        other => text::to_string_in(other, zone),
    }
}

/// The type of a unary operator's result, or `None` if it does not take an operand of this type.
pub fn unary_type(operator: UnaryOperator, operand: Type) -> Option<Type> {
    match operator {
        UnaryOperator::IsNull | UnaryOperator::IsNotNull => Some(Type::Boolean),
        UnaryOperator::Negate if operand.unmodified() == Type::Interval(None) => Some(Type::Interval(None)),
        UnaryOperator::Negate | UnaryOperator::Plus => operand.is_number().then(|| operand.unmodified()),
        _ => (operand == Type::Boolean).then_some(Type::Boolean),
    }
}

/// Applies a unary operator. Errors: 42883 if it does not take such an operand, 22003, 22008.
pub fn unary(operator: UnaryOperator, operand: &Value) -> Result<Value, ValueError> {
    let is = |truth: Option<bool>| match operand {
        Value::Null | Value::Boolean(_) => Ok(operand.as_boolean() == truth),
        other => Err(ValueError::new(
            sqlstate::DATATYPE_MISMATCH,
            format!("argument must be type boolean, not type {}", type_name(other)),
        )),
    };
    Ok(match (operator, operand) {
        (UnaryOperator::IsNull, _) => Value::Boolean(operand.is_null()),
        (UnaryOperator::IsNotNull, _) => Value::Boolean(!operand.is_null()),
        (UnaryOperator::IsTrue, _) => Value::Boolean(is(Some(true))?),
        (UnaryOperator::IsNotTrue, _) => Value::Boolean(!is(Some(true))?),
        (UnaryOperator::IsFalse, _) => Value::Boolean(is(Some(false))?),
        (UnaryOperator::IsNotFalse, _) => Value::Boolean(!is(Some(false))?),
        (_, Value::Null) => Value::Null,
        (UnaryOperator::Not, Value::Boolean(truth)) => Value::Boolean(!truth),
        (UnaryOperator::Negate, operand) => return arithmetic::negate(operand),
        (UnaryOperator::Plus, operand) if operand.data_type().is_some_and(|data_type| data_type.is_number()) => {
            operand.clone()
        }
        (_, operand) => {
            let symbol = if operator == UnaryOperator::Not { "NOT" } else { "+" };
            return Err(undefined_unary(symbol, operand));
        }
    })
}

fn type_name(value: &Value) -> &'static str {
    value.data_type().map_or("unknown", |data_type| data_type.base_name())
}

#[cold]
fn undefined(operator: BinaryOperator, left: &Value, right: &Value) -> ValueError {
    ValueError::new(
        sqlstate::UNDEFINED_FUNCTION,
        format!("operator does not exist: {} {operator} {}", type_name(left), type_name(right)),
    )
}

#[cold]
pub(crate) fn undefined_unary(symbol: &str, operand: &Value) -> ValueError {
    ValueError::new(sqlstate::UNDEFINED_FUNCTION, format!("operator does not exist: {symbol} {}", type_name(operand)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate;
    use proptest::prelude::*;

    const BINARY: [BinaryOperator; 24] = [
        BinaryOperator::Equal,
        BinaryOperator::NotEqual,
        BinaryOperator::Less,
        BinaryOperator::LessOrEqual,
        BinaryOperator::Greater,
        BinaryOperator::GreaterOrEqual,
        BinaryOperator::IsDistinctFrom,
        BinaryOperator::IsNotDistinctFrom,
        BinaryOperator::And,
        BinaryOperator::Or,
        BinaryOperator::Add,
        BinaryOperator::Subtract,
        BinaryOperator::Multiply,
        BinaryOperator::Divide,
        BinaryOperator::Modulo,
        BinaryOperator::Power,
        BinaryOperator::Concatenate,
        BinaryOperator::Like,
        BinaryOperator::NotLike,
        BinaryOperator::ILike,
        BinaryOperator::NotILike,
        BinaryOperator::BitAnd,
        BinaryOperator::BitOr,
        BinaryOperator::BitXor,
    ];
    const UNARY: [UnaryOperator; 9] = [
        UnaryOperator::Not,
        UnaryOperator::Negate,
        UnaryOperator::Plus,
        UnaryOperator::IsNull,
        UnaryOperator::IsNotNull,
        UnaryOperator::IsTrue,
        UnaryOperator::IsNotTrue,
        UnaryOperator::IsFalse,
        UnaryOperator::IsNotFalse,
    ];

    /// A type, a value of it or NULL.
    fn typed() -> impl Strategy<Value = (Type, Value)> {
        generate::data_type().prop_flat_map(|data_type| (Just(data_type), generate::nullable(data_type)))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        /// A client was told the type before the value was computed, and no operands may stop a site.
        #[test]
        fn results_have_the_announced_type((left_type, left) in typed(), (right_type, right) in typed()) {
            for operator in BINARY {
                let result = binary(operator, &left, &right);
                let undefined = matches!(&result, Err(error) if matches!(error.sqlstate, "42883" | "42804"));
                match binary_type(operator, left_type, right_type) {
                    None => prop_assert!(
                        undefined || left.is_null() || right.is_null(),
                        "{} {} {} is undefined: {:?}", left_type, operator, right_type, result
                    ),
                    Some(announced) => {
                        prop_assert!(!undefined, "{:?}", result);
                        if let Some(found) = result.ok().and_then(|value| value.data_type()) {
                            prop_assert_eq!(found, announced, "{} {} {}", left_type, operator, right_type);
                        }
                    }
                }
            }
            for operator in UNARY {
                let result = unary(operator, &left);
                if let (Some(announced), Ok(value)) = (unary_type(operator, left_type), result) {
                    prop_assert!(value.data_type().is_none_or(|found| found == announced), "{:?} {}", operator, left_type);
                }
            }
        }

        /// Sorting relies on it.
        #[test]
        fn comparison_is_a_total_order(
            values in generate::data_type().prop_flat_map(|t| prop::collection::vec(generate::nullable(t), 3))
        ) {
            let [a, b, c] = values.as_slice() else { unreachable!("three values") };
            prop_assert_eq!(compare(a, b), compare(b, a).reverse());
            prop_assert_eq!(compare(a, a), Ordering::Equal);
            if compare(a, b).is_le() && compare(b, c).is_le() {
                prop_assert!(compare(a, c).is_le(), "{:?}", values);
            }
        }
    }

    /// Filters rely on the third truth value.
    #[test]
    fn tests_of_truth_take_null() {
        let truth = |operator, operand| unary(operator, operand).unwrap();
        assert_eq!(truth(UnaryOperator::IsTrue, &Value::Null), Value::Boolean(false));
        assert_eq!(truth(UnaryOperator::IsNotTrue, &Value::Null), Value::Boolean(true));
        assert_eq!(truth(UnaryOperator::IsFalse, &Value::Null), Value::Boolean(false));
        assert_eq!(truth(UnaryOperator::IsNotFalse, &Value::Null), Value::Boolean(true));
        assert_eq!(truth(UnaryOperator::Not, &Value::Null), Value::Null);
        assert_eq!(truth(UnaryOperator::Not, &Value::Boolean(true)), Value::Boolean(false));
    }
}
