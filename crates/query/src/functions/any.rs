//! `operand op ANY (array)`, as a function. ALL is what is not so for any element, so it is NOT of the negated operator with ANY.
//!
//! A constant array is taken apart once, and equality with its elements looked up instead of compared, however many there are.

use crate::convert::{array_of, values_of};
use crate::error::{QueryError, of_value};
use datafusion::arrow::array::{Array, ArrayRef, AsArray, ListArray};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::error::Result;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility, not,
};
use datafusion::sql::sqlparser::ast::BinaryOperator as Symbol;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use values::operators::{self, BinaryOperator};
use values::{Value, Zone, key};

/// ANY or ALL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantifier {
    /// Of any element.
    Any,
    /// Of every element.
    All,
}

impl fmt::Display for Quantifier {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Quantifier::Any => "ANY",
            Quantifier::All => "ALL",
        })
    }
}

/// Operators that may stand before ANY and ALL.
const OPERATORS: [BinaryOperator; 10] = [
    BinaryOperator::Equal,
    BinaryOperator::NotEqual,
    BinaryOperator::Less,
    BinaryOperator::LessOrEqual,
    BinaryOperator::Greater,
    BinaryOperator::GreaterOrEqual,
    BinaryOperator::Like,
    BinaryOperator::NotLike,
    BinaryOperator::ILike,
    BinaryOperator::NotILike,
];

/// The symbol that stands for both in a syntax tree, until [`of_symbol`] reads it while the tree is planned. Errors: 0A000.
pub fn symbol(operator: &Symbol, quantifier: Quantifier) -> std::result::Result<Symbol, QueryError> {
    let written = operator.to_string();
    match OPERATORS.iter().find(|known| known.symbol() == written) {
        Some(known) => Ok(Symbol::Custom(format!("{known} {quantifier}"))),
        None => Err(QueryError::unsupported(format!("operator {operator} with {quantifier} is not supported"))),
    }
}

/// What such a symbol stands for.
pub fn of_symbol(symbol: &Symbol) -> Option<(BinaryOperator, Quantifier)> {
    let Symbol::Custom(written) = symbol else { return None };
    let (operator, quantifier) = written.split_once(' ')?;
    let operator = OPERATORS.into_iter().find(|known| known.symbol() == operator)?;
    Some((operator, if quantifier == "ALL" { Quantifier::All } else { Quantifier::Any }))
}

/// `operand op ANY (array)`, or ALL, of operands whose types the operator takes.
pub fn apply(operator: BinaryOperator, quantifier: Quantifier, operand: Expr, array: Expr) -> Expr {
    let call = |operator: BinaryOperator| {
        let signature = Signature::any(2, Volatility::Immutable);
        let name = format!("{operator} ANY");
        ScalarUDF::new_from_impl(Any { operator, name, signature }).call(vec![operand, array])
    };
    match quantifier {
        Quantifier::Any => call(operator),
        Quantifier::All => not(call(operators::negated(operator).expect("a comparison can be negated"))),
    }
}

/// What a filter wants to equal one of these constants.
pub fn equality(filter: &ScalarFunction) -> Option<(&Expr, Vec<ScalarValue>)> {
    let any = filter.func.inner().downcast_ref::<Any>().filter(|any| any.operator == BinaryOperator::Equal);
    let (Some(_), [column, Expr::Literal(array, _)]) = (any, filter.args.as_slice()) else { return None };
    let ScalarValue::List(list) = array else { return array.is_null().then(|| (column, Vec::new())) };
    // NULL equals nothing, as if it had no elements.
    let elements = if array.is_null() { return Some((column, Vec::new())) } else { list.value(0) };
    let constants = (0..elements.len()).map(|place| ScalarValue::try_from_array(&elements, place));
    Some((column, constants.collect::<Result<_>>().ok()?))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Any {
    operator: BinaryOperator,
    name: String,
    signature: Signature,
}

impl ScalarUDFImpl for Any {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Boolean)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [operand, array] = args.args.as_slice() else {
            return Err(QueryError::undefined_function(self.name()).into_datafusion());
        };
        let values = |argument: &ColumnarValue| match argument {
            ColumnarValue::Array(array) => values_of(array),
            ColumnarValue::Scalar(scalar) => values_of(&scalar.to_array()?),
        };
        let (operands, arrays) = (values(operand)?, values(array)?);
        let constants = match (arrays.as_slice(), operands.first()) {
            ([array], Some(operand)) if operands.len() > 1 => Constants::new(self.operator, operand, array),
            _ => None,
        };
        let all_scalar = [operand, array].iter().all(|argument| matches!(argument, ColumnarValue::Scalar(_)));
        let rows = if all_scalar { 1 } else { args.number_rows };
        let at = |values: &[Value], row: usize| if values.len() == 1 { 0 } else { row };
        let mut results = Vec::with_capacity(rows);
        for row in 0..rows {
            let operand = &operands[at(&operands, row)];
            results.push(match &constants {
                Some(constants) => constants.have(operand),
                None => {
                    let array = &arrays[at(&arrays, row)];
                    operators::any_in(self.operator, operand, array, &Zone::UTC).map_err(of_value)?
                }
            });
        }
        let results = array_of(&results, &DataType::Boolean)?;
        Ok(match all_scalar {
            true => ColumnarValue::Scalar(ScalarValue::try_from_array(&results, 0)?),
            false => ColumnarValue::Array(results),
        })
    }
}

/// The elements of an array by their keys, which are equal where values are.
struct Constants {
    keys: BTreeSet<Vec<u8>>,
    is_empty: bool,
    has_null: bool,
}

impl Constants {
    /// `None` where keys do not tell what the operator wants to know: only of the same types, or of integers, do equal values have equal keys.
    fn new(operator: BinaryOperator, operand: &Value, array: &Value) -> Option<Constants> {
        let Value::Array(elements) = array else { return None };
        let operand = operand.data_type()?;
        let alike = operand == elements.element() || (operand.is_whole() && elements.element().is_whole());
        if operator != BinaryOperator::Equal || !alike {
            return None;
        }
        let (nulls, present): (Vec<&Value>, Vec<&Value>) = elements.values().iter().partition(|value| value.is_null());
        let keys = present.into_iter().map(encoded).collect();
        Some(Constants { keys, is_empty: elements.values().is_empty(), has_null: !nulls.is_empty() })
    }

    fn have(&self, operand: &Value) -> Value {
        if self.is_empty {
            Value::Boolean(false)
        } else if operand.is_null() {
            Value::Null
        } else if self.keys.contains(&encoded(operand)) {
            Value::Boolean(true)
        } else if self.has_null {
            Value::Null
        } else {
            Value::Boolean(false)
        }
    }
}

fn encoded(value: &Value) -> Vec<u8> {
    let mut bytes = Vec::new();
    key::append(value, &mut bytes);
    bytes
}

/// The name under which trees call what makes `ARRAY(subquery)` of no rows an array without elements.
pub const ARRAY_OF_ROWS: &str = "array_of_rows";

/// That function.
#[derive(Debug, PartialEq, Eq, Hash)]
struct ArrayOfRows {
    signature: Signature,
}

/// The function of that name.
pub fn of_name(name: &str) -> Option<ScalarUDF> {
    let signature = || Signature::any(1, Volatility::Immutable);
    (name == ARRAY_OF_ROWS).then(|| ScalarUDF::new_from_impl(ArrayOfRows { signature: signature() }))
}

impl ScalarUDFImpl for ArrayOfRows {
    fn name(&self) -> &str {
        ARRAY_OF_ROWS
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        Ok(arguments[0].clone())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let filled = |array: &ArrayRef| -> Result<ArrayRef> {
            let Some(lists) = array.as_list_opt::<i32>() else { return Ok(Arc::clone(array)) };
            let (field, offsets, elements, _) = lists.clone().into_parts();
            // A list that is NULL may have elements that nobody sees.
            let is_sound = (0..lists.len()).all(|place| lists.is_valid(place) || lists.value_length(place) == 0);
            match is_sound {
                true => Ok(Arc::new(ListArray::new(field, offsets, elements, None))),
                false => Err(QueryError::new("XX000", "an array that is NULL has elements").into_datafusion()),
            }
        };
        match args.args.as_slice() {
            [ColumnarValue::Array(array)] => Ok(ColumnarValue::Array(filled(array)?)),
            [ColumnarValue::Scalar(scalar)] => {
                Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&filled(&scalar.to_array()?)?, 0)?))
            }
            _ => Err(QueryError::undefined_function(ARRAY_OF_ROWS).into_datafusion()),
        }
    }
}
