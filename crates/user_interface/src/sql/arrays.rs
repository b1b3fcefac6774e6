//! ARRAY[...], and comparisons with the elements of an array.
//!
//! Invariant: the elements of an array have one type, which an operand of ANY or ALL can be compared with; an untyped operand, or array, takes it from the
//! other.

use crate::errors::{SqlError, sqlstate};
use crate::sql::expressions::{Compiler, Scope, negate};
use crate::sql::operators::{is_comparison, negated_comparison, operand_type, operator_of_syntax, symbol};
use crate::sql::types::{Compiled, Typed, beyond};
use messages::program::{BinaryOperator, Expression};
use sqlparser::ast::{self, Expr};
use values::cast::Context;
use values::{Type, Value};

impl Compiler<'_> {
    /// `operand op ANY (array)`; `all`: ALL, which is what is not so for any element.
    pub(super) fn any(
        &mut self,
        operand: &Expr,
        operator: &ast::BinaryOperator,
        array: &Expr,
        all: bool,
        scope: &Scope,
    ) -> Compiled<Typed> {
        let operator = operator_of_syntax(operator).filter(|operator| is_comparison(*operator));
        let operator = operator.ok_or_else(|| beyond("this operator with ANY or ALL"))?;
        let in_list = if all { BinaryOperator::NotEqual } else { BinaryOperator::Equal };
        if let (Expr::Array(array), true) = (array, operator == in_list) {
            return self.in_list(operand, &array.elem, all, scope);
        }
        let array = self.expression(array, scope)?;
        self.any_of_typed(operand, operator, array, all, scope)
    }

    /// `operand op ANY (array)` of an array that is compiled already; or ALL.
    pub(super) fn any_of_typed(
        &mut self,
        operand: &Expr,
        operator: BinaryOperator,
        array: Typed,
        all: bool,
        scope: &Scope,
    ) -> Compiled<Typed> {
        let operand = self.expression(operand, scope)?;
        let (operand, array) = match (operand.data_type, array.data_type) {
            (Some(_), Some(Type::Array(of))) => {
                let element = Typed { expression: Expression::Constant(Value::Null), data_type: Some(of.data_type()) };
                (self.alike(operand, element, symbol(operator))?.0, array.expression)
            }
            (None, Some(Type::Array(of))) => {
                let element = operand_type(of.data_type());
                (self.parameters.coerce(operand, element, Context::Implicit)?, array.expression)
            }
            (_, Some(_)) => {
                let message = "op ANY/ALL (array) requires array on right side";
                return Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, message).into());
            }
            (known, None) => {
                let element = operand_type(known.unwrap_or(Type::Text));
                let operand = match known {
                    Some(_) => operand.expression,
                    None => self.parameters.coerce(operand, element, Context::Implicit)?,
                };
                (operand, self.parameters.coerce(array, element.array(), Context::Implicit)?)
            }
        };
        let operator = if all { negated_comparison(operator) } else { operator };
        Ok(Typed::boolean(negate(all, Expression::Any(operator, Box::new(operand), Box::new(array)))))
    }

    /// `ARRAY[...]`.
    pub(super) fn array(&mut self, elements: &[Expr], scope: &Scope) -> Compiled<Typed> {
        if elements.is_empty() {
            return Err(SqlError::new(sqlstate::INDETERMINATE_TYPE, "cannot determine type of empty array")
                .with_hint("Explicitly cast to the desired type, for example ARRAY[]::integer[].")
                .into());
        }
        let elements = elements.iter().map(|element| self.expression(element, scope)).collect::<Compiled<Vec<_>>>()?;
        let (elements, element) = self.unify(elements, "ARRAY")?;
        if element.element().is_some() {
            return Err(SqlError::unsupported("an array of several dimensions").into());
        }
        let constants = elements.iter().map(|element| match element {
            Expression::Constant(value) => Some(value.clone()),
            _ => None,
        });
        let expression = match constants.collect::<Option<Vec<Value>>>() {
            Some(values) => Expression::Constant(Value::array(element, values)),
            None => Expression::Array(element, elements),
        };
        Ok(Typed::known(expression, element.array()))
    }
}
