//! Values of expressions that no server need compute.
//!
//! Invariant: what is computed here is what the query would compute; where that is not sure, nothing is.

use crate::error::PlpgsqlResult;
use crate::place::VariablePlace;
use crate::simple::Simple;
use crate::store::{RoutineOperand, VariableStore};
use values::operators::{BinaryOperator, UnaryOperator, binary, binary_type, unary, unary_type};
use values::{Type, Value};

impl Simple {
    /// Its value; `None`: it is not as simple as it looks.
    pub(crate) fn compute(&self, store: &VariableStore) -> PlpgsqlResult<Option<RoutineOperand>> {
        match self {
            Simple::Place(VariablePlace::Whole(number)) => Ok(store.whole(*number)),
            Simple::FirstRecord(places) => Ok(first_record(places, store)),
            _ => Ok(self.scalar(store)?.map(|(value, data_type)| RoutineOperand::Scalar(value, data_type))),
        }
    }

    fn scalar(&self, store: &VariableStore) -> PlpgsqlResult<Option<(Value, Type)>> {
        match self {
            Simple::Constant(value, data_type) => Ok(Some((value.clone(), *data_type))),
            Simple::Place(place) => store.scalar(place),
            Simple::FirstRecord(_) => Ok(None),
            Simple::Binary(operator, operands) => {
                let (left, right) = &**operands;
                let Some((left, left_type)) = left.scalar(store)? else { return Ok(None) };
                // What decides alone does so here, too: the other side may have no value.
                let decides = match operator {
                    BinaryOperator::And => Some(false),
                    BinaryOperator::Or => Some(true),
                    _ => None,
                };
                if let (Some(decides), Value::Boolean(truth)) = (decides, &left)
                    && decides == *truth
                {
                    return Ok(Some((left, Type::Boolean)));
                }
                let Some((right, right_type)) = right.scalar(store)? else { return Ok(None) };
                if !are_simple(*operator, left_type, right_type) {
                    return Ok(None);
                }
                let Some(result) = binary_type(*operator, left_type, right_type) else { return Ok(None) };
                Ok(Some((binary(*operator, &left, &right)?, result)))
            }
            Simple::Unary(operator, operand) => {
                let Some((value, data_type)) = operand.scalar(store)? else { return Ok(None) };
                let is_null_test = matches!(operator, UnaryOperator::IsNull | UnaryOperator::IsNotNull);
                if !(is_null_test || data_type == Type::Boolean || is_exact(data_type)) {
                    return Ok(None);
                }
                let Some(result) = unary_type(*operator, data_type) else { return Ok(None) };
                Ok(Some((unary(*operator, &value)?, result)))
            }
        }
    }
}

/// `coalesce(new, old)`; `None` if something of it is no record, or nothing yet.
fn first_record(places: &[VariablePlace], store: &VariableStore) -> Option<RoutineOperand> {
    let mut last = None;
    for place in places {
        let VariablePlace::Whole(number) = place else { return None };
        if !store.is_record(*number) {
            return None;
        }
        match store.whole(*number)? {
            RoutineOperand::Record(fields) => return Some(RoutineOperand::Record(fields)),
            null => last = Some(null),
        }
    }
    last
}

fn is_exact(data_type: Type) -> bool {
    data_type.is_integer()
}

fn are_simple(operator: BinaryOperator, left: Type, right: Type) -> bool {
    match operator {
        BinaryOperator::And | BinaryOperator::Or => left == Type::Boolean && right == Type::Boolean,
        _ => is_exact(left) && is_exact(right),
    }
}
