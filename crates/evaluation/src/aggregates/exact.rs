//! Sums, averages and variances of exact numbers with all their digits, at PostgreSQL's scales.

use super::Accumulator;
use bigdecimal::{BigDecimal, Zero};
use values::operators::{BinaryOperator, binary};
use values::{Value, ValueError, numeric};

/// What is computed.
#[derive(Clone, Copy)]
pub enum ExactKind {
    /// `sum`.
    Sum,
    /// `avg`.
    Average,
    /// `var_samp`, `var_pop`, `stddev_samp`, `stddev_pop`.
    Variance {
        /// Of a sample, else of all.
        of_sample: bool,
        /// Its square root.
        root: bool,
    },
}

/// The numbers so far.
pub struct Exact {
    kind: ExactKind,
    count: i64,
    sum: BigDecimal,
    /// Of variances only.
    squares: BigDecimal,
    /// The greatest scale of a number.
    scale: i64,
}

impl Exact {
    /// Before any row.
    pub fn new(kind: ExactKind) -> Exact {
        Exact { kind, count: 0, sum: BigDecimal::zero(), squares: BigDecimal::zero(), scale: 0 }
    }

    /// As `numeric_stddev_internal` computes it.
    fn variance(&self, of_sample: bool, root: bool) -> Result<Value, ValueError> {
        if of_sample && self.count == 1 {
            return Ok(Value::Null);
        }
        let count = BigDecimal::from(self.count);
        let squares = (&count * &self.squares).with_scale(2 * self.scale);
        let square = (&self.sum * &self.sum).with_scale(2 * self.scale);
        let above = squares - square;
        if above <= BigDecimal::zero() {
            return Ok(Value::numeric(BigDecimal::zero()));
        }
        let below = &count * BigDecimal::from(if of_sample { self.count - 1 } else { self.count });
        let variance = numeric::divide(&above, &below)?;
        let scale = variance.fractional_digit_count();
        Ok(Value::numeric(if root { numeric::root(&variance, scale) } else { variance }))
    }
}

impl Accumulator for Exact {
    fn add(&mut self, arguments: &[Value]) -> Result<(), ValueError> {
        let number = match &arguments[0] {
            Value::Numeric(number) => number.as_ref().clone(),
            other => match other.as_integer() {
                Some(number) => BigDecimal::from(number),
                None => return Ok(()),
            },
        };
        self.count += 1;
        self.scale = self.scale.max(number.fractional_digit_count());
        if matches!(self.kind, ExactKind::Variance { .. }) {
            self.squares += &number * &number;
        }
        self.sum += number;
        Ok(())
    }

    fn finish(&self) -> Result<Value, ValueError> {
        let sum = Value::numeric(self.sum.with_scale(self.scale));
        match self.kind {
            _ if self.count == 0 => Ok(Value::Null),
            // A sum with too many digits is found out as any other.
            ExactKind::Sum => binary(BinaryOperator::Add, &sum, &Value::SmallInt(0)),
            ExactKind::Average => binary(BinaryOperator::Divide, &sum, &Value::numeric(BigDecimal::from(self.count))),
            ExactKind::Variance { of_sample, root } => self.variance(of_sample, root),
        }
    }

    fn size(&self) -> usize {
        (self.sum.digits() + self.squares.digits()) as usize / 2
    }
}
