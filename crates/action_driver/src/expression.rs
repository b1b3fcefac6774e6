//! Evaluates expressions over the row at hand and the parameters.
//!
//! Invariant: SQL's three-valued logic, and nothing is evaluated beyond need: AND, OR, CASE and COALESCE stop where the result is
//! settled. What an expression only hands through (constants, parameters, columns) is borrowed, not copied.

use crate::failure;
use crate::generator::Generator;
use crate::sequences::Sequences;
use messages::program::{Expression, UnaryOperator};
use messages::schema::DomainRules;
use messages::session::Failure;
use smallvec::SmallVec;
use std::borrow::Cow;
use std::cmp::Ordering;
use values::operators::{self, BinaryOperator as Operator};
use values::{Type, Value, ValueError, Zone, cast, functions};

/// Microseconds from 1970-01-01 to 2000-01-01, from which values count.
const MICROS_1970_TO_2000: i64 = 946_684_800_000_000;

/// What an expression may refer to beside the row at hand.
#[derive(Clone, Copy, Debug)]
pub struct ExpressionScope<'a> {
    /// Values of `$1..`.
    pub parameters: &'a [Value],
    /// What actions before have gathered.
    pub gathered: &'a [Value],
    /// When the transaction began: microseconds since 1970.
    pub time_micros: i64,
    /// The session's time zone.
    pub zone: &'a Zone,
    /// The source of random numbers.
    pub generator: &'a Generator,
    /// Where values of sequences come from.
    pub sequences: &'a Sequences,
}

type Evaluated<'v> = Result<Cow<'v, Value>, ValueError>;

impl ExpressionScope<'_> {
    /// The value of an expression over a row.
    pub fn evaluate<'v>(&'v self, expression: &'v Expression, row: &'v [Value]) -> Result<Cow<'v, Value>, Failure> {
        self.value(expression, row).map_err(failure::of_value)
    }

    /// The values of expressions over a row.
    pub fn evaluate_all(&self, expressions: &[Expression], row: &[Value]) -> Result<Vec<Value>, Failure> {
        let values = expressions.iter().map(|expression| self.evaluate(expression, row).map(Cow::into_owned));
        values.collect()
    }

    /// Whether a row passes a filter: NULL does not.
    pub fn passes(&self, filter: Option<&Expression>, row: &[Value]) -> Result<bool, Failure> {
        match filter {
            None => Ok(true),
            Some(filter) => Ok(self.evaluate(filter, row)?.as_boolean() == Some(true)),
        }
    }

    fn value<'v>(&'v self, expression: &'v Expression, row: &'v [Value]) -> Evaluated<'v> {
        Ok(match expression {
            Expression::Constant(value) => Cow::Borrowed(value),
            Expression::Parameter(number) => Cow::Borrowed(parameter(self.parameters, *number)?),
            Expression::Column(column) => Cow::Borrowed(&row[usize::from(*column)]),
            Expression::Gathered(place, _) => Cow::Borrowed(parameter(self.gathered, *place)?),
            Expression::TransactionTime => Cow::Owned(Value::TimestampTz(self.now())),
            Expression::Unary(operator, operand) => {
                let operator = match operator {
                    UnaryOperator::Not => operators::UnaryOperator::Not,
                    UnaryOperator::Minus => operators::UnaryOperator::Negate,
                };
                Cow::Owned(operators::unary(operator, self.value(operand, row)?.as_ref())?)
            }
            Expression::Binary(operator, left, right) => {
                let left = self.value(left, row)?;
                let right = self.value(right, row)?;
                Cow::Owned(operators::binary_in(operator.of_values(), &left, &right, self.zone)?)
            }
            Expression::And(list) => Cow::Owned(self.connected(list, row, false)?),
            Expression::Or(list) => Cow::Owned(self.connected(list, row, true)?),
            Expression::IsNull(operand, negated) => {
                Cow::Owned(Value::Boolean(self.value(operand, row)?.is_null() != *negated))
            }
            Expression::IsDistinct(left, right, negated) => {
                let (left, right) = (self.value(left, row)?, self.value(right, row)?);
                let order = operators::compare_in(&left, &right, self.zone);
                Cow::Owned(Value::Boolean((order != Ordering::Equal) != *negated))
            }
            Expression::In(operand, list, negated) => Cow::Owned(self.is_in(operand, list, *negated, row)?),
            Expression::Any(operator, operand, array) => {
                let operand = self.value(operand, row)?;
                Cow::Owned(operators::any_in(
                    operator.of_values(),
                    &operand,
                    self.value(array, row)?.as_ref(),
                    self.zone,
                )?)
            }
            Expression::Array(element, list) => {
                let cast = |item| cast::assign_in(self.value(item, row)?.as_ref(), *element, self.zone);
                Cow::Owned(Value::array(*element, list.iter().map(cast).collect::<Result<_, _>>()?))
            }
            Expression::Like(operand, pattern, ignore_case, negated) => {
                let operator = like_of(*ignore_case, *negated);
                let operand = self.value(operand, row)?;
                Cow::Owned(operators::binary(operator, &operand, self.value(pattern, row)?.as_ref())?)
            }
            Expression::Case(branches, otherwise) => return self.case(branches, otherwise.as_deref(), row),
            Expression::Coalesce(list) => {
                for expression in list {
                    let value = self.value(expression, row)?;
                    if !value.is_null() {
                        return Ok(value);
                    }
                }
                Cow::Owned(Value::Null)
            }
            Expression::Cast(operand, target, explicit) => {
                let operand = self.value(operand, row)?;
                let cast = if *explicit { cast::explicit_in } else { cast::assign_in };
                Cow::Owned(cast(&operand, *target, self.zone)?)
            }
            Expression::Domain(operand, rules) => return self.in_domain(operand, rules, row),
            Expression::Call(name, arguments) => Cow::Owned(self.call(name, arguments, row)?),
            Expression::NextValue(sequence) => Cow::Owned(self.sequences.next(sequence)?),
            Expression::CurrentValue(sequence, name) => Cow::Owned(self.sequences.current(*sequence, name)?),
            Expression::LastValue => Cow::Owned(self.sequences.last()?),
        })
    }

    fn in_domain<'v>(&'v self, operand: &'v Expression, rules: &DomainRules, row: &'v [Value]) -> Evaluated<'v> {
        let value = self.value(operand, row)?;
        self.check_domain(rules, &value)?;
        Ok(value)
    }

    /// Refuses a value that is none of a domain. Errors: 23502, 23514, and those of its conditions.
    pub fn check_domain(&self, rules: &DomainRules, value: &Value) -> Result<(), ValueError> {
        if rules.not_null && value.is_null() {
            return Err(ValueError::new(sqlstate::NOT_NULL_VIOLATION, rules.null_message()));
        }
        for rule in &rules.conditions {
            if self.value(&rule.condition, std::slice::from_ref(value))?.as_boolean() == Some(false) {
                return Err(ValueError::new(sqlstate::CHECK_VIOLATION, rules.violation_message(&rule.name)));
            }
        }
        Ok(())
    }

    fn now(&self) -> i64 {
        self.time_micros - MICROS_1970_TO_2000
    }

    /// AND (`settles` = false) and OR (`settles` = true): NULL unless an operand settles it.
    fn connected(&self, list: &[Expression], row: &[Value], settles: bool) -> Result<Value, ValueError> {
        let mut unknown = false;
        for expression in list {
            match self.value(expression, row)?.as_boolean() {
                Some(truth) if truth == settles => return Ok(Value::Boolean(settles)),
                Some(_) => {}
                None => unknown = true,
            }
        }
        Ok(if unknown { Value::Null } else { Value::Boolean(!settles) })
    }

    fn is_in(
        &self,
        operand: &Expression,
        list: &[Expression],
        negated: bool,
        row: &[Value],
    ) -> Result<Value, ValueError> {
        let operand = self.value(operand, row)?;
        let mut unknown = operand.is_null() && !list.is_empty();
        if !operand.is_null() {
            for expression in list {
                let value = self.value(expression, row)?;
                match operators::binary_in(Operator::Equal, &operand, &value, self.zone)?.as_boolean() {
                    Some(true) => return Ok(Value::Boolean(!negated)),
                    Some(false) => {}
                    None => unknown = true,
                }
            }
        }
        Ok(if unknown { Value::Null } else { Value::Boolean(negated) })
    }

    fn case<'v>(
        &'v self,
        branches: &'v [(Expression, Expression)],
        otherwise: Option<&'v Expression>,
        row: &'v [Value],
    ) -> Evaluated<'v> {
        for (condition, result) in branches {
            if self.value(condition, row)?.as_boolean() == Some(true) {
                return self.value(result, row);
            }
        }
        match otherwise {
            Some(otherwise) => self.value(otherwise, row),
            None => Ok(Cow::Owned(Value::Null)),
        }
    }

    fn call(&self, name: &str, arguments: &[Expression], row: &[Value]) -> Result<Value, ValueError> {
        let mut values: SmallVec<[Value; 4]> = SmallVec::with_capacity(arguments.len());
        for argument in arguments {
            values.push(self.value(argument, row)?.into_owned());
        }
        // A NULL has no type of its own: it takes that of the first argument that has one.
        let known = values.iter().find_map(Value::data_type).unwrap_or(Type::Text);
        let types: SmallVec<[Type; 4]> = values.iter().map(|value| value.data_type().unwrap_or(known)).collect();
        let Some(function) = functions::lookup(name, &types) else {
            if values.iter().any(Value::is_null) {
                return Ok(Value::Null);
            }
            return Err(ValueError::new(
                values::error::sqlstate::UNDEFINED_FUNCTION,
                format!("function {name} does not take these arguments"),
            ));
        };
        let mut random = || self.generator.next();
        let mut environment =
            functions::Environment { statement_time: self.now(), zone: self.zone, random: &mut random };
        function.call(&values, &mut environment)
    }
}

fn parameter(parameters: &[Value], number: u16) -> Result<&Value, ValueError> {
    parameters.get(usize::from(number)).ok_or_else(|| {
        ValueError::new(
            values::error::sqlstate::SYNTAX_ERROR,
            format!("there is no parameter ${}", u32::from(number) + 1),
        )
    })
}

fn like_of(ignore_case: bool, negated: bool) -> Operator {
    match (ignore_case, negated) {
        (false, false) => Operator::Like,
        (false, true) => Operator::NotLike,
        (true, false) => Operator::ILike,
        (true, true) => Operator::NotILike,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use messages::program::BinaryOperator;
    use messages::schema::DomainCondition;
    use std::sync::Arc;

    const UNKNOWN: Option<bool> = None;

    fn truth(value: Option<bool>) -> Expression {
        Expression::Constant(value.map_or(Value::Null, Value::Boolean))
    }

    fn evaluate(expression: &Expression) -> Result<Value, Failure> {
        let generator = Generator::new(3);
        let scope = ExpressionScope {
            parameters: &[Value::Integer(7)],
            gathered: &[],
            time_micros: MICROS_1970_TO_2000 + 5,
            zone: &Zone::UTC,
            generator: &generator,
            sequences: &Sequences::default(),
        };
        scope.evaluate(expression, &[Value::text("row")]).map(Cow::into_owned)
    }

    /// A program that took the server's own zone, or UTC, would store other days than its session means.
    #[test]
    fn local_times_are_those_of_the_scope() {
        let (generator, sequences) = (Generator::new(3), Sequences::default());
        let day = |zone: &Zone| {
            let time_micros = MICROS_1970_TO_2000 + 20 * 3_600 * 1_000_000;
            let scope = ExpressionScope {
                parameters: &[],
                gathered: &[],
                time_micros,
                zone,
                generator: &generator,
                sequences: &sequences,
            };
            let today = Expression::Cast(Box::new(Expression::TransactionTime), Type::Date, true);
            scope.evaluate(&today, &[]).map(Cow::into_owned)
        };
        assert_eq!(day(&Zone::UTC), Ok(Value::Date(0)));
        assert_eq!(day(&Zone::of_name("Asia/Tokyo").unwrap()), Ok(Value::Date(1)));
    }

    /// A division by zero, which fails when it is evaluated.
    fn failing() -> Expression {
        let one = || Box::new(Expression::Constant(1.into()));
        let zero = Expression::Binary(BinaryOperator::Subtract, one(), one());
        Expression::Binary(BinaryOperator::Divide, one(), Box::new(zero))
    }

    /// A filter that took NULL for false under NOT would return rows that it should not.
    #[test]
    fn and_or_and_in_know_three_values() {
        let values = [Some(false), UNKNOWN, Some(true)];
        for left in values {
            for right in values {
                let list = || vec![truth(left), truth(right)];
                let rank = |value: Option<bool>| values.iter().position(|other| *other == value).unwrap();
                let and = values[rank(left).min(rank(right))];
                let or = values[rank(left).max(rank(right))];
                assert_eq!(evaluate(&Expression::And(list())).unwrap().as_boolean(), and);
                assert_eq!(evaluate(&Expression::Or(list())).unwrap().as_boolean(), or);
            }
        }
        let is_in = |operand: Option<i32>, list: &[Option<i32>], negated| {
            let constant = |value: &Option<i32>| Expression::Constant(value.map_or(Value::Null, Value::Integer));
            let list = list.iter().map(constant).collect();
            let expression = Expression::In(Box::new(constant(&operand)), list, negated);
            evaluate(&expression).unwrap().as_boolean()
        };
        assert_eq!(is_in(Some(1), &[None, Some(1)], false), Some(true));
        assert_eq!(is_in(Some(1), &[None, Some(2)], false), UNKNOWN);
        assert_eq!(is_in(Some(1), &[None, Some(2)], true), UNKNOWN);
        assert_eq!(is_in(Some(1), &[Some(2)], true), Some(true));
        assert_eq!(is_in(None, &[Some(2)], true), UNKNOWN);
    }

    /// A guard such as `x <> 0 AND 1 / x > 2` would fail for the rows that it guards against.
    #[test]
    fn nothing_is_evaluated_beyond_need() {
        assert!(evaluate(&failing()).is_err());
        let guarded = [
            Expression::And(vec![truth(Some(false)), failing()]),
            Expression::Or(vec![truth(Some(true)), failing()]),
            Expression::Coalesce(vec![truth(Some(true)), failing()]),
            Expression::Case(
                vec![(truth(UNKNOWN), failing()), (truth(Some(true)), truth(Some(true)))],
                Some(Box::new(failing())),
            ),
        ];
        for expression in guarded {
            assert!(evaluate(&expression).is_ok(), "{expression:?}");
        }
    }

    /// A value would be stored that its domain refuses, or another condition be told than the first that it does not satisfy.
    #[test]
    fn a_domain_refuses_null_then_looks_at_its_conditions_in_order() {
        let greater = |name: &str, than: i32| {
            let than = Box::new(Expression::Constant(than.into()));
            let condition = Expression::Binary(BinaryOperator::Greater, Box::new(Expression::Column(0)), than);
            DomainCondition { name: name.to_owned(), text: String::new(), condition }
        };
        let rules = |not_null| {
            let conditions = vec![greater("above_two", 2), greater("above_one", 1)];
            Arc::new(DomainRules { oid: 7, name: "d".to_owned(), not_null, conditions, default: None })
        };
        let in_domain = |value: Value, not_null| {
            let expression = Expression::Domain(Box::new(Expression::Constant(value)), rules(not_null));
            evaluate(&expression).map_err(|failure| match failure {
                Failure::Statement(wrong) => format!("{} {}", wrong.sqlstate, wrong.message),
                other => format!("{other:?}"),
            })
        };
        assert_eq!(in_domain(3.into(), true), Ok(3.into()));
        assert_eq!(in_domain(Value::Null, false), Ok(Value::Null));
        assert_eq!(in_domain(Value::Null, true), Err("23502 domain d does not allow null values".to_owned()));
        let violated = "23514 value for domain d violates check constraint \"above_two\"";
        assert_eq!(in_domain(1.into(), true), Err(violated.to_owned()));
    }

    /// What surrounds a row must reach expressions: parameters, the transaction's time, functions with NULL among their arguments.
    #[test]
    fn parameters_times_and_functions() {
        let call = |name: &str, arguments: Vec<Expression>| evaluate(&Expression::Call(name.into(), arguments));
        assert_eq!(evaluate(&Expression::Parameter(0)).unwrap(), Value::Integer(7));
        assert!(evaluate(&Expression::Parameter(1)).is_err());
        assert_eq!(evaluate(&Expression::TransactionTime).unwrap(), Value::TimestampTz(5));
        assert_eq!(call("now", vec![]).unwrap(), Value::TimestampTz(5));
        assert_eq!(call("upper", vec![Expression::Column(0)]).unwrap(), Value::text("ROW"));
        let null = || Expression::Constant(Value::Null);
        assert_eq!(call("upper", vec![null()]).unwrap(), Value::Null);
        assert_eq!(call("substring", vec![null(), Expression::Parameter(0)]).unwrap(), Value::Null);
        let nullif = call("nullif", vec![Expression::Parameter(0), null()]);
        assert_eq!(nullif.unwrap(), Value::Integer(7));
        assert_ne!(call("random", vec![]).unwrap(), Value::Null);
    }
}
