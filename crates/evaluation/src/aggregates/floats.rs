//! Averages, variances and regressions of floats, by the method of Youngs and Cramer as PostgreSQL has it (`float8_accum`, `float8_regr_accum`): its rounding is part of the
//! answer.

use super::Accumulator;
use values::error::sqlstate;
use values::{Value, ValueError};

/// What is computed of single numbers.
#[derive(Clone, Copy)]
pub enum DoubleKind {
    /// `avg`.
    Average,
    /// `var_samp` and its like.
    Variance {
        /// Of a sample, else of all.
        of_sample: bool,
        /// Its square root.
        root: bool,
    },
}

/// How many, their sum, and the sum of the squares of their distances from the average.
pub struct Doubles {
    kind: DoubleKind,
    count: f64,
    sum: f64,
    squares: f64,
}

impl Doubles {
    /// Before any row.
    pub fn new(kind: DoubleKind) -> Doubles {
        Doubles { kind, count: 0.0, sum: 0.0, squares: 0.0 }
    }
}

fn double(value: &Value) -> Option<f64> {
    match value {
        Value::Double(number) => Some(*number),
        Value::Real(number) => Some(f64::from(*number)),
        _ => None,
    }
}

fn overflow() -> ValueError {
    ValueError::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, "value out of range: overflow")
}

impl Accumulator for Doubles {
    fn add(&mut self, arguments: &[Value]) -> Result<(), ValueError> {
        let Some(number) = double(&arguments[0]) else { return Ok(()) };
        let before = self.sum;
        self.count += 1.0;
        self.sum += number;
        if self.count > 1.0 {
            let distance = number * self.count - self.sum;
            self.squares += distance * distance / (self.count * (self.count - 1.0));
            if self.sum.is_infinite() || self.squares.is_infinite() {
                if !before.is_infinite() && !number.is_infinite() {
                    return Err(overflow());
                }
                self.squares = f64::NAN;
            }
        } else if !number.is_finite() {
            self.squares = f64::NAN;
        }
        Ok(())
    }

    fn finish(&self) -> Result<Value, ValueError> {
        let least = if matches!(self.kind, DoubleKind::Variance { of_sample: true, .. }) { 2.0 } else { 1.0 };
        if self.count < least {
            return Ok(Value::Null);
        }
        Ok(Value::Double(match self.kind {
            DoubleKind::Average => self.sum / self.count,
            DoubleKind::Variance { of_sample, root } => {
                let variance = self.squares / if of_sample { self.count - 1.0 } else { self.count };
                if root { variance.sqrt() } else { variance }
            }
        }))
    }
}

/// What is computed of pairs of Y and X.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum PairKind {
    /// `corr`.
    Correlation,
    /// `covar_pop`.
    CovarianceOfAll,
    /// `covar_samp`.
    CovarianceOfSample,
    /// `regr_avgx`.
    AverageOfX,
    /// `regr_avgy`.
    AverageOfY,
    /// `regr_count`.
    Count,
    /// `regr_intercept`.
    Intercept,
    /// `regr_r2`.
    Determination,
    /// `regr_slope`.
    Slope,
    /// `regr_sxx`.
    SquaresOfX,
    /// `regr_sxy`.
    Products,
    /// `regr_syy`.
    SquaresOfY,
}

/// Sums over pairs neither of which is NULL.
pub struct Pairs {
    kind: PairKind,
    count: f64,
    x: f64,
    y: f64,
    squares_x: f64,
    squares_y: f64,
    products: f64,
}

impl Pairs {
    /// Before any row.
    pub fn new(kind: PairKind) -> Pairs {
        Pairs { kind, count: 0.0, x: 0.0, y: 0.0, squares_x: 0.0, squares_y: 0.0, products: 0.0 }
    }

    /// What becomes infinite of finite numbers is an error, and else no number.
    fn check(&mut self, y: f64, x: f64, before: [f64; 2]) -> Result<(), ValueError> {
        let finite_x = before[1].is_finite() && x.is_finite();
        let finite_y = before[0].is_finite() && y.is_finite();
        let overflows = ((self.x.is_infinite() || self.squares_x.is_infinite()) && finite_x)
            || ((self.y.is_infinite() || self.squares_y.is_infinite()) && finite_y)
            || (self.products.is_infinite() && finite_x && finite_y);
        if overflows {
            return Err(overflow());
        }
        for sum in [&mut self.squares_x, &mut self.squares_y, &mut self.products] {
            if sum.is_infinite() {
                *sum = f64::NAN;
            }
        }
        Ok(())
    }

    fn value(&self) -> Option<f64> {
        let level_x = self.squares_x == 0.0;
        Some(match self.kind {
            PairKind::Count => self.count,
            _ if self.count < 1.0 => return None,
            PairKind::CovarianceOfAll => self.products / self.count,
            PairKind::CovarianceOfSample if self.count < 2.0 => return None,
            PairKind::CovarianceOfSample => self.products / (self.count - 1.0),
            PairKind::AverageOfX => self.x / self.count,
            PairKind::AverageOfY => self.y / self.count,
            PairKind::SquaresOfX => self.squares_x,
            PairKind::SquaresOfY => self.squares_y,
            PairKind::Products => self.products,
            PairKind::Correlation if level_x || self.squares_y == 0.0 => return None,
            PairKind::Correlation => self.products / (self.squares_x * self.squares_y).sqrt(),
            PairKind::Determination | PairKind::Slope | PairKind::Intercept if level_x => return None,
            PairKind::Determination if self.squares_y == 0.0 => 1.0,
            PairKind::Determination => (self.products * self.products) / (self.squares_x * self.squares_y),
            PairKind::Slope => self.products / self.squares_x,
            PairKind::Intercept => (self.y - self.x * self.products / self.squares_x) / self.count,
        })
    }
}

impl Accumulator for Pairs {
    fn add(&mut self, arguments: &[Value]) -> Result<(), ValueError> {
        let (Some(y), Some(x)) = (double(&arguments[0]), arguments.get(1).and_then(double)) else { return Ok(()) };
        let before = [self.y, self.x];
        self.count += 1.0;
        self.x += x;
        self.y += y;
        if self.kind == PairKind::Count {
            return Ok(());
        }
        if self.count > 1.0 {
            let (distance_x, distance_y) = (x * self.count - self.x, y * self.count - self.y);
            let scale = 1.0 / (self.count * (self.count - 1.0));
            self.squares_x += distance_x * distance_x * scale;
            self.squares_y += distance_y * distance_y * scale;
            self.products += distance_x * distance_y * scale;
            let sums = [self.x, self.y, self.squares_x, self.squares_y, self.products];
            if sums.iter().any(|sum| sum.is_infinite()) {
                self.check(y, x, before)?;
            }
        } else {
            if !x.is_finite() {
                (self.squares_x, self.products) = (f64::NAN, f64::NAN);
            }
            if !y.is_finite() {
                (self.squares_y, self.products) = (f64::NAN, f64::NAN);
            }
        }
        Ok(())
    }

    fn finish(&self) -> Result<Value, ValueError> {
        Ok(match self.value() {
            None => Value::Null,
            Some(count) if self.kind == PairKind::Count => Value::BigInt(count as i64),
            Some(number) => Value::Double(number),
        })
    }
}
