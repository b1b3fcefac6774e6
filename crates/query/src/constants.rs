//! Constants of a statement as parameters: statements that differ in nothing else share a plan.
//!
//! Many drivers write values into the text of a statement. Invariant: the statement means the same. Only what is compared with something that is
//! no constant itself becomes a parameter, a number of the type that it has, a text of the type that follows from the other side, as PostgreSQL does it. Equal constants
//! are one parameter, so that equal expressions stay equal.

use crate::limits::{CONSTANTS_MAX, PARAMETERS_MAX};
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Statement, UnaryOperator, Value as Literal, ValueWithSpan, Visit, VisitMut, Visitor,
    VisitorMut,
};
use std::ops::ControlFlow;
use values::{Type, Value};

/// What was taken out of a statement.
pub(crate) struct Constants {
    /// Parameters that the statement had before.
    first: usize,
    found: Vec<(Literal, bool, Value)>,
}

/// Takes constants out of a query; `None` if it has none, or too many.
pub(crate) fn take_out(statement: &mut Statement) -> Option<Constants> {
    let mut parameters = Parameters(0);
    let _ = Visit::visit(statement, &mut parameters);
    let mut constants = Constants { first: parameters.0, found: Vec::new() };
    let _ = VisitMut::visit(statement, &mut constants);
    let count = constants.found.len();
    let fits = (1..=CONSTANTS_MAX).contains(&count) && constants.first + count <= PARAMETERS_MAX;
    fits.then_some(constants)
}

impl Constants {
    /// The types of all parameters as far as they are known; `given`: what the client says of its own.
    pub(crate) fn types(&self, given: &[Option<Type>]) -> Vec<Option<Type>> {
        let own = (0..self.first).map(|place| given.get(place).copied().flatten());
        let known = |value: &Value| value.data_type().filter(|known| *known != Type::Text);
        own.chain(self.found.iter().map(|(_, _, value)| known(value))).collect()
    }

    /// The values of the parameters behind the statement's own.
    pub(crate) fn values(self) -> Vec<Value> {
        self.found.into_iter().map(|(_, _, value)| value).collect()
    }

    /// Puts a parameter in the place of a constant.
    fn replace(&mut self, side: &mut Expr) {
        match side {
            Expr::Value(ValueWithSpan { value: literal, .. }) => {
                if let Some(parameter) = self.parameter(literal, false) {
                    *literal = parameter;
                }
            }
            Expr::UnaryOp { op: UnaryOperator::Minus, expr } => {
                if let Expr::Value(ValueWithSpan { value: literal @ Literal::Number(..), .. }) = &**expr
                    && let Some(parameter) = self.parameter(literal, true)
                {
                    *side = Expr::Value(parameter.into());
                }
            }
            // The type is said.
            Expr::Cast { expr, .. } => {
                if let Expr::Value(ValueWithSpan { value: literal @ Literal::SingleQuotedString(_), .. }) = &mut **expr
                    && let Some(parameter) = self.parameter(literal, false)
                {
                    *literal = parameter;
                }
            }
            _ => {}
        }
    }

    fn parameter(&mut self, literal: &Literal, is_negative: bool) -> Option<Literal> {
        let known = self.found.iter().position(|(known, negative, _)| known == literal && *negative == is_negative);
        let place = match known {
            Some(place) => place,
            None => {
                let value = value_of(literal, is_negative)?;
                self.found.push((literal.clone(), is_negative, value));
                self.found.len() - 1
            }
        };
        Some(Literal::Placeholder(format!("${}", self.first + place + 1)))
    }
}

fn value_of(literal: &Literal, is_negative: bool) -> Option<Value> {
    match literal {
        Literal::Number(text, _) => {
            let text = if is_negative { format!("-{text}") } else { text.clone() };
            // Of others the scale counts, which parameters do not tell.
            text.parse::<i32>().map(Value::Integer).or_else(|_| text.parse::<i64>().map(Value::BigInt)).ok()
        }
        // Blanks at the end count for some types and for others not.
        Literal::SingleQuotedString(text) => (!text.ends_with(' ')).then(|| Value::text(text.as_str())),
        _ => None,
    }
}

/// What a parameter would have no type beside, or nothing is gained with.
fn is_constant(side: &Expr) -> bool {
    match side {
        Expr::Value(_) | Expr::TypedString(_) | Expr::Interval(_) => true,
        Expr::Cast { expr, .. } | Expr::UnaryOp { expr, .. } | Expr::Nested(expr) => is_constant(expr),
        _ => false,
    }
}

impl VisitorMut for Constants {
    type Break = ();

    fn pre_visit_expr(&mut self, expression: &mut Expr) -> ControlFlow<()> {
        use BinaryOperator::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
        match expression {
            Expr::BinaryOp { op: Eq | NotEq | Lt | LtEq | Gt | GtEq, left, right } => {
                match (is_constant(left), is_constant(right)) {
                    (false, true) => self.replace(right),
                    (true, false) => self.replace(left),
                    _ => {}
                }
            }
            Expr::Between { expr, low, high, .. } if !is_constant(expr) => {
                self.replace(low);
                self.replace(high);
            }
            Expr::InList { expr, list, .. } if !is_constant(expr) => {
                list.iter_mut().for_each(|side| self.replace(side))
            }
            _ => {}
        }
        if self.found.len() > CONSTANTS_MAX { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// The highest number of a parameter.
struct Parameters(usize);

impl Visitor for Parameters {
    type Break = ();

    fn pre_visit_expr(&mut self, expression: &Expr) -> ControlFlow<()> {
        if let Expr::Value(ValueWithSpan { value: Literal::Placeholder(name), .. }) = expression {
            let number = name.strip_prefix('$').and_then(|digits| digits.parse().ok());
            self.0 = self.0.max(number.unwrap_or(PARAMETERS_MAX));
        }
        ControlFlow::Continue(())
    }
}
