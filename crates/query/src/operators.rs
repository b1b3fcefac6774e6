//! Binary operators by PostgreSQL's rules: which exist for which types, what a quoted literal or a parameter beside a typed
//! operand is, and how numbers are promoted.

use crate::convert::parse_literal;
use crate::error::QueryError;
use crate::functions::any::{self, Quantifier};
use crate::functions::{arithmetic, cast, equal, operator};
use crate::planning::go_on;
use crate::types::{self, is_decimal, is_text};
use crate::vectors;
use datafusion::arrow::datatypes::{DECIMAL128_MAX_PRECISION, DECIMAL256_MAX_PRECISION, DataType, Field};
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::error::Result;
use datafusion::logical_expr::expr::{Placeholder, ScalarFunction};
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr, RawFieldAccessExpr};
use datafusion::logical_expr::{Expr, ExprSchemable, cast as native_cast};
use datafusion::sql::sqlparser::ast::BinaryOperator as Symbol;
use std::collections::BTreeMap;
use std::sync::Mutex;
use values::Type;
use values::operators::{BinaryOperator, binary_type, comparable};

/// Plans operators, and notes what they say of parameters without a type.
#[derive(Debug, Default)]
pub struct OperatorPlanner {
    noted: Mutex<BTreeMap<String, DataType>>,
}

impl OperatorPlanner {
    /// Types of parameters (`$1`) as the operators around them tell.
    pub fn noted(&self) -> BTreeMap<String, DataType> {
        self.noted.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone()
    }

    fn note(&self, name: &str, data_type: &DataType) {
        let mut noted = self.noted.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        noted.entry(name.to_owned()).or_insert_with(|| data_type.clone());
    }
}

impl ExprPlanner for OperatorPlanner {
    fn plan_binary_op(&self, expr: RawBinaryExpr, schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
        go_on()?;
        if let Some((operator, quantifier)) = any::of_symbol(&expr.op) {
            return Ok(PlannerResult::Planned(self.quantified(operator, quantifier, expr.left, expr.right, schema)?));
        }
        let Some(operator) = operator_of(&expr.op) else {
            return Ok(PlannerResult::Original(expr));
        };
        let RawBinaryExpr { op, mut left, mut right } = expr;
        // Operands whose type is not known here (an alias in HAVING) are left to DataFusion.
        let (Ok(left_field), Ok(right_field)) = (left.to_field(schema), right.to_field(schema)) else {
            return Ok(PlannerResult::Original(RawBinaryExpr { op, left, right }));
        };
        let (mut left_field, mut right_field) = (left_field.1, right_field.1);
        if operator != BinaryOperator::Concatenate {
            if let Some(typed) = self.typed_by(&left, &right, &right_field, operator, false)? {
                left = typed;
                left_field = left.to_field(schema)?.1;
            } else if let Some(typed) = self.typed_by(&right, &left, &left_field, operator, true)? {
                right = typed;
                right_field = right.to_field(schema)?.1;
            }
        }
        let operand = |expression, field: &Field| Operand {
            expression,
            data_type: field.data_type().clone(),
            exact: types::of_field(field),
        };
        plan(operator, op, operand(left, &left_field), operand(right, &right_field))
    }

    fn plan_field_access(
        &self,
        expr: RawFieldAccessExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawFieldAccessExpr>> {
        vectors::subscripted(expr, schema)
    }
}

/// One side of an operator.
struct Operand {
    expression: Expr,
    data_type: DataType,
    exact: Option<Type>,
}

fn operator_of(symbol: &Symbol) -> Option<BinaryOperator> {
    Some(match symbol {
        Symbol::Plus => BinaryOperator::Add,
        Symbol::Minus => BinaryOperator::Subtract,
        Symbol::Multiply => BinaryOperator::Multiply,
        Symbol::Divide => BinaryOperator::Divide,
        Symbol::Modulo => BinaryOperator::Modulo,
        Symbol::Eq => BinaryOperator::Equal,
        Symbol::NotEq => BinaryOperator::NotEqual,
        Symbol::Lt => BinaryOperator::Less,
        Symbol::LtEq => BinaryOperator::LessOrEqual,
        Symbol::Gt => BinaryOperator::Greater,
        Symbol::GtEq => BinaryOperator::GreaterOrEqual,
        Symbol::StringConcat => BinaryOperator::Concatenate,
        _ => return None,
    })
}

/// The type that a quoted literal or an untyped parameter gets beside an operand of this type: the same, but an interval
/// where a time is moved.
fn wanted_type(other: &DataType, operator: BinaryOperator) -> DataType {
    match (operator, other) {
        (BinaryOperator::Add, DataType::Date32 | DataType::Timestamp(..) | DataType::Time64(_)) => {
            types::to_arrow(Type::Interval(None))
        }
        _ => other.clone(),
    }
}

impl OperatorPlanner {
    /// `operand op ANY (array)`, or ALL. Errors: 42883, 42809 for what is no array.
    fn quantified(
        &self,
        operator: BinaryOperator,
        quantifier: Quantifier,
        mut operand: Expr,
        mut array: Expr,
        schema: &DFSchema,
    ) -> Result<Expr> {
        let typed = |expression: &Expr| -> Result<Option<Type>> {
            Ok(types::of_field(expression.to_field(schema)?.1.as_ref()).filter(|_| !is_untyped(expression)))
        };
        let field = |data_type: Type| types::field("", data_type, true);
        let element = typed(&operand)?.unwrap_or(Type::Text).unmodified();
        if is_untyped(&array) {
            array = self.typed_as(&array, &field(element.array()), operator, true)?.unwrap_or(array);
        }
        let Some(element) = typed(&array)?.and_then(|array| array.element()) else {
            let message = "op ANY/ALL (array) requires array on right side";
            return Err(QueryError::new("42809", message).into_datafusion());
        };
        operand = self.typed_as(&operand, &field(element), operator, false)?.unwrap_or(operand);
        if let Some(operand) = typed(&operand)?
            && binary_type(operator, operand, element).is_none()
        {
            return Err(operator::undefined(operator.symbol(), operand, element).into_datafusion());
        }
        Ok(any::apply(operator, quantifier, operand, array))
    }

    /// The expression with the type that its neighbour gives it, if it has none of its own.
    fn typed_by(
        &self,
        expression: &Expr,
        other: &Expr,
        other_field: &Field,
        operator: BinaryOperator,
        is_right: bool,
    ) -> Result<Option<Expr>> {
        if is_untyped(other) { Ok(None) } else { self.typed_as(expression, other_field, operator, is_right) }
    }

    /// The expression with the type that it gets beside an operand of this one, if it has none of its own.
    fn typed_as(
        &self,
        expression: &Expr,
        other_field: &Field,
        operator: BinaryOperator,
        is_right: bool,
    ) -> Result<Option<Expr>> {
        let mut wanted = wanted_type(other_field.data_type(), operator);
        match expression {
            Expr::Placeholder(Placeholder { id, field: None }) => {
                // A parameter holds any value of its type, not only those of the precision that its neighbour has.
                if is_decimal(&wanted) {
                    wanted = types::EXACT;
                }
                self.note(id, &wanted);
                let field = Field::new("", wanted, true);
                Ok(Some(Expr::Placeholder(Placeholder::new_with_field(id.clone(), Some(field.into())))))
            }
            Expr::Literal(ScalarValue::Null, metadata) => {
                Ok(Some(Expr::Literal(ScalarValue::try_from(&wanted)?, metadata.clone())))
            }
            Expr::Literal(ScalarValue::Utf8(Some(text)), metadata) => {
                if is_text(&wanted) {
                    // A char(n) is held without its trailing blanks.
                    let is_blank_padded = matches!(types::of_field(other_field), Some(Type::Char(_)));
                    return Ok((is_blank_padded && text.ends_with(' ')).then(|| {
                        Expr::Literal(ScalarValue::Utf8(Some(text.trim_end_matches(' ').to_owned())), metadata.clone())
                    }));
                }
                let parsed = parse_literal(text, &wanted).transpose();
                // `timestamp - '1 day'` moves the timestamp, if it is not a timestamp itself.
                let parsed = match parsed {
                    Err(_) if is_right && operator == BinaryOperator::Subtract && wanted.is_temporal() => {
                        parse_literal(text, &types::to_arrow(Type::Interval(None))).transpose()
                    }
                    other => other,
                };
                Ok(parsed?.map(|literal| Expr::Literal(literal, metadata.clone())))
            }
            _ => Ok(None),
        }
    }
}

/// Whether an expression takes its type from its neighbour.
fn is_untyped(expression: &Expr) -> bool {
    matches!(
        expression,
        Expr::Placeholder(Placeholder { field: None, .. }) | Expr::Literal(ScalarValue::Null | ScalarValue::Utf8(_), _)
    )
}

fn plan(operator: BinaryOperator, op: Symbol, left: Operand, right: Operand) -> Result<PlannerResult<RawBinaryExpr>> {
    let original = |left: Operand, right: Operand| {
        Ok(PlannerResult::Original(RawBinaryExpr { op, left: left.expression, right: right.expression }))
    };
    // Lists of lists, and what has no type yet.
    let (Some(left_type), Some(right_type)) = (left.exact, right.exact) else {
        return original(left, right);
    };
    if left.data_type == DataType::Null || right.data_type == DataType::Null {
        return original(left, right);
    }
    if operator.is_comparison() {
        if !comparable(left_type, right_type) {
            return Err(operator::undefined(operator.symbol(), left_type, right_type).into_datafusion());
        }
        // An integer beside an identifier is one.
        let as_oid = |operand: Operand, own: Type, other: Type| match other == Type::Oid && own.is_integer() {
            true => Operand { expression: cast::to(operand.expression, Type::Oid), ..operand },
            false => operand,
        };
        if left_type.is_number() && right_type.is_number() {
            let wanted = common(&left.data_type, &right.data_type);
            let (left, right) = (to_common(left, wanted), to_common(right, wanted));
            return original(left, right);
        }
        let (left, right) = (by_value(left), by_value(right));
        return original(as_oid(left, left_type, right_type), as_oid(right, right_type, left_type));
    }
    let planned = match operator {
        BinaryOperator::Concatenate if types::is_list(&left.data_type) || types::is_list(&right.data_type) => {
            let element =
                |operand: &Operand| types::list_element(&operand.data_type).unwrap_or(&operand.data_type).clone();
            let (one, other) = (element(&left), element(&right));
            let is_numeric = |element: &DataType| is_decimal(element) || *element == types::EXACT;
            if one != other && !one.is_null() && !other.is_null() && (is_numeric(&one) || is_numeric(&other)) {
                let message = "arrays of numbers of several types cannot be joined: cast them to numeric[]";
                return Err(QueryError::unsupported(message).into_datafusion());
            }
            return original(left, right);
        }
        BinaryOperator::Concatenate => match (is_text(&left.data_type), is_text(&right.data_type)) {
            (true, true) => return original(left, right),
            (false, false) => operator::apply(operator, left.expression, right.expression),
            (true, false) => {
                let right = Operand { expression: cast::to(right.expression, Type::Text), ..right };
                return original(left, right);
            }
            (false, true) => {
                let left = Operand { expression: cast::to(left.expression, Type::Text), ..left };
                return original(left, right);
            }
        },
        _ if binary_type(operator, left_type, right_type).is_none() => {
            return Err(operator::undefined(operator.symbol(), left_type, right_type).into_datafusion());
        }
        _ if left_type.is_number() && right_type.is_number() => numbers(operator, left, right),
        _ => operator::apply(operator, left.expression, right.expression),
    };
    Ok(PlannerResult::Planned(planned))
}

/// The type in which numbers of two types compare and compute, where Arrow has none that both keep all their digits in, or the library takes
/// another: floats win, as in PostgreSQL.
pub(crate) fn common(left: &DataType, right: &DataType) -> Option<Type> {
    let is_exact = |data_type: &DataType| *data_type == types::EXACT;
    let is_numeric = |data_type: &DataType| is_exact(data_type) || is_decimal(data_type);
    let ((left_digits, left_scale), (right_digits, right_scale)) = (digits(left), digits(right));
    let before = |digits: u8, scale: i8| i16::from(digits) - i16::from(scale);
    let needed =
        before(left_digits, left_scale).max(before(right_digits, right_scale)) + i16::from(left_scale.max(right_scale));
    if left.is_floating() || right.is_floating() {
        (is_numeric(left) || is_numeric(right)).then_some(Type::Double)
    } else if is_exact(left) || is_exact(right) || needed > i16::from(DECIMAL256_MAX_PRECISION) {
        Some(Type::Numeric(None))
    } else {
        None
    }
}

fn to_common(operand: Operand, wanted: Option<Type>) -> Operand {
    let Some(wanted) = wanted else { return by_value(operand) };
    let data_type = types::to_arrow(wanted);
    by_value(match operand.data_type == data_type {
        true => operand,
        false => Operand { expression: cast::to(operand.expression, wanted), data_type, exact: Some(wanted) },
    })
}

/// The operand so that what is equal is the same.
fn by_value(operand: Operand) -> Operand {
    match types::has_equals(&operand.data_type) {
        true => Operand { expression: equal::key(operand.expression), ..operand },
        false => operand,
    }
}

/// Arithmetic on numbers of any two types.
fn numbers(operator: BinaryOperator, left: Operand, right: Operand) -> Expr {
    let (left_type, right_type) = (&left.data_type, &right.data_type);
    let to = |operand: Operand, target: &DataType| {
        if operand.data_type == *target { operand.expression } else { native_cast(operand.expression, target.clone()) }
    };
    if left_type.is_floating() || right_type.is_floating() {
        let both_real = *left_type == DataType::Float32 && *right_type == DataType::Float32;
        if both_real {
            return arithmetic::apply(operator, left.expression, right.expression);
        }
        let to_double = |operand: Operand| match operand.data_type {
            DataType::Float64 => operand.expression,
            _ => cast::to(operand.expression, Type::Double),
        };
        return arithmetic::apply(operator, to_double(left), to_double(right));
    }
    let is_numeric = |data_type: &DataType| is_decimal(data_type) || *data_type == types::EXACT;
    if !is_numeric(left_type) && !is_numeric(right_type) {
        let target = match integer_width(left_type).max(integer_width(right_type)) {
            2 => DataType::Int16,
            4 => DataType::Int32,
            _ => DataType::Int64,
        };
        return arithmetic::apply(operator, to(left, &target), to(right, &target));
    }
    let (left_digits, left_scale) = digits(left_type);
    let (right_digits, right_scale) = digits(right_type);
    let needed = match operator {
        BinaryOperator::Multiply => i16::from(left_digits) + i16::from(right_digits) + 1,
        _ => {
            let scale = left_scale.max(right_scale);
            let before =
                (i16::from(left_digits) - i16::from(left_scale)).max(i16::from(right_digits) - i16::from(right_scale));
            before.max(0) + i16::from(scale) + 1
        }
    };
    let is_exact = *left_type == types::EXACT || *right_type == types::EXACT;
    if is_exact || operator == BinaryOperator::Divide || needed > i16::from(DECIMAL256_MAX_PRECISION) {
        return operator::apply(operator, left.expression, right.expression);
    }
    let wide = needed > i16::from(DECIMAL128_MAX_PRECISION)
        || matches!(left_type, DataType::Decimal256(..))
        || matches!(right_type, DataType::Decimal256(..));
    let target = |digits: u8, scale: i8| {
        if wide {
            DataType::Decimal256(digits.min(DECIMAL256_MAX_PRECISION), scale)
        } else {
            DataType::Decimal128(digits, scale)
        }
    };
    arithmetic::apply(
        operator,
        to(left, &target(left_digits, left_scale)),
        to(right, &target(right_digits, right_scale)),
    )
}

/// A call whose arguments have other types than were known when it was planned: arithmetic of what has become numeric.
pub(crate) fn of_types(call: ScalarFunction, schema: &DFSchema) -> Result<Expr> {
    let Some(operator) = arithmetic::operator_of(&call) else { return Ok(Expr::ScalarFunction(call)) };
    let found = call.args.iter().map(|argument| argument.get_type(schema)).collect::<Result<Vec<_>>>()?;
    match (found.contains(&types::EXACT), call.args.as_slice()) {
        (true, [left, right]) => Ok(operator::apply(operator, left.clone(), right.clone())),
        _ => Ok(Expr::ScalarFunction(call)),
    }
}

fn integer_width(data_type: &DataType) -> u8 {
    match data_type {
        DataType::Int8 | DataType::UInt8 | DataType::Int16 => 2,
        DataType::UInt16 | DataType::Int32 => 4,
        _ => 8,
    }
}

/// Digits and scale of an exact number's type.
fn digits(data_type: &DataType) -> (u8, i8) {
    match data_type {
        DataType::Decimal32(digits, scale)
        | DataType::Decimal64(digits, scale)
        | DataType::Decimal128(digits, scale)
        | DataType::Decimal256(digits, scale) => (*digits, *scale),
        DataType::Int8 | DataType::UInt8 | DataType::Int16 => (5, 0),
        DataType::UInt16 | DataType::Int32 => (10, 0),
        _ => (20, 0),
    }
}
