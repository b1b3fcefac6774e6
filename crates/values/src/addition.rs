//! Adding to numbers in rows without knowing them: what is added, whether a row can take it, and the row with the sum.
//!
//! Integers, and decimal numbers of up to `DIGITS_MAX` digits. Invariants: additions commute, to the last byte of the row: two rows to which the
//! same was added in another order are equal; what is no exact multiple of a column's last decimal is not added, because a sum of rounded
//! numbers is not the rounded sum.

use crate::row::{RowReader, with_number};
use crate::types::Type;
use crate::value::Value;
use bigdecimal::BigDecimal;
use bigdecimal::num_bigint::BigInt;
use serde::{Deserialize, Serialize};
use std::ops::{Range, RangeInclusive};

/// Most digits of a decimal number that is added to, decimals included: all of them fit an `i64`.
const DIGITS_MAX: u8 = 18;

/// What is added to one column of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Addend {
    /// Position of the column.
    pub column: u16,
    /// What is counted.
    pub unit: AddendUnit,
    /// How many of them.
    pub number: i64,
}

/// What an [`Addend`] counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AddendUnit {
    /// Ones, of an integer column.
    Whole,
    /// Decimals, of a `numeric` column.
    Decimal {
        /// How many decimals; 0 to 18.
        scale: u8,
        /// Most digits of a sum, decimals included; 1 to 18.
        digits: u8,
    },
}

/// Why nothing can be added to a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddError {
    /// It holds no number of that kind, or the row ends before it.
    NotANumber,
    /// The sum lies outside of its type.
    OutOfRange,
}

/// A number in a row, in units of which whatever is to be added to it is a multiple.
#[derive(Clone, Debug)]
pub struct Number {
    /// What it is.
    pub number: i128,
    /// What it may become.
    pub range: RangeInclusive<i128>,
    scale: Option<u8>,
    /// As the row has it, and where, tag included.
    value: Value,
    place: Range<usize>,
}

impl Addend {
    /// So many ones.
    pub fn whole(column: u16, number: i64) -> Addend {
        Addend { column, unit: AddendUnit::Whole, number }
    }

    /// This value, to be added to a column of this type. `None`: to such a column nothing is added, or not this.
    pub fn of(column: u16, column_type: Type, value: &Value) -> Option<Addend> {
        let whole = match value {
            Value::SmallInt(number) => Some(i64::from(*number)),
            Value::Integer(number) => Some(i64::from(*number)),
            Value::BigInt(number) => Some(*number),
            _ => None,
        };
        let declared = match column_type {
            Type::SmallInt | Type::Integer | Type::BigInt => {
                return Some(Addend::whole(column, whole?));
            }
            Type::Numeric(declared) => declared,
            _ => return None,
        };
        let decimal = match value {
            Value::Numeric(decimal) => BigDecimal::clone(decimal),
            _ => BigDecimal::from(whole?),
        };
        let (scale, digits) = match declared {
            Some((precision, scale)) => (i64::from(scale), precision.min(u16::from(DIGITS_MAX)) as u8),
            None => (decimal.fractional_digit_count(), DIGITS_MAX),
        };
        let unit =
            AddendUnit::Decimal { scale: u8::try_from(scale).ok().filter(|scale| *scale <= DIGITS_MAX)?, digits };
        let exact = decimal.with_scale(scale);
        let number = i64::try_from(exact.as_bigint_and_scale().0.as_ref()).ok()?;
        (exact == decimal).then_some(Addend { column, unit, number })
    }

    /// The same, subtracted. `None`: there is no such number.
    pub fn negated(self) -> Option<Addend> {
        Some(Addend { number: self.number.checked_neg()?, ..self })
    }

    /// Both, added to the same column. `None`: that is too large a number.
    pub fn and(self, other: Addend) -> Option<Addend> {
        let unit = match (self.unit, other.unit) {
            (AddendUnit::Whole, AddendUnit::Whole) => AddendUnit::Whole,
            (AddendUnit::Decimal { scale, digits }, AddendUnit::Decimal { scale: others, digits: most }) => {
                AddendUnit::Decimal { scale: scale.max(others), digits: digits.min(most) }
            }
            _ => return None,
        };
        let sum = self.count(unit.scale()).saturating_add(other.count(unit.scale()));
        Some(Addend { unit, number: sum.try_into().ok()?, ..self })
    }

    /// In decimals of this scale, which has no fewer than its own.
    fn count(self, scale: Option<u8>) -> i128 {
        scaled(self.number, self.unit.scale(), scale)
    }
}

impl AddendUnit {
    fn scale(self) -> Option<u8> {
        match self {
            AddendUnit::Whole => None,
            AddendUnit::Decimal { scale, .. } => Some(scale),
        }
    }
}

fn scaled(number: i64, from: Option<u8>, to: Option<u8>) -> i128 {
    match to.unwrap_or(0) - from.unwrap_or(0) {
        0 => i128::from(number),
        more => i128::from(number) * 10_i128.pow(more.into()),
    }
}

impl Number {
    /// The number in column `column`, to which all of `addends` are to be added. `None`: to what it holds that cannot be added, or the row is damaged.
    pub fn of<'a>(row: &[u8], column: u16, addends: impl Iterator<Item = &'a Addend>) -> Option<Number> {
        let (value, place) = RowReader::value_at(row, usize::from(column)).ok()??;
        let (number, mut scale, mut range) = match &value {
            Value::SmallInt(number) => (i64::from(*number), None, i16::MIN.into()..=i16::MAX.into()),
            Value::Integer(number) => (i64::from(*number), None, i32::MIN.into()..=i32::MAX.into()),
            Value::BigInt(number) => (*number, None, i64::MIN.into()..=i64::MAX.into()),
            Value::Numeric(decimal) => {
                let (unscaled, scale) = decimal.as_bigint_and_scale();
                let scale = u8::try_from(scale).ok().filter(|scale| *scale <= DIGITS_MAX)?;
                (i64::try_from(unscaled.as_ref()).ok()?, Some(scale), 0..=0)
            }
            _ => return None,
        };
        let (own, mut most) = (scale, DIGITS_MAX);
        for addend in addends {
            match (addend.unit, &mut scale) {
                (AddendUnit::Whole, None) => {}
                // What comes from another site may be anything.
                (AddendUnit::Decimal { scale: wanted, digits }, Some(scale)) if wanted.max(digits) <= DIGITS_MAX => {
                    *scale = wanted.max(*scale);
                    most = most.min(digits);
                }
                _ => return None,
            }
        }
        if scale.is_some() {
            let end = 10_i128.pow(most.into()) - 1;
            range = -end..=end;
        }
        Some(Number { number: scaled(number, own, scale), range, scale, value, place })
    }

    /// An addend in its units.
    pub fn count(&self, addend: &Addend) -> i128 {
        addend.count(self.scale)
    }
}

/// The row with `addends` added to its numbers; everything else stays as it is, byte for byte. Errors: the first column that cannot take it; a
/// damaged row has no numbers.
pub fn add(bytes: &[u8], addends: &[Addend]) -> Result<Vec<u8>, AddError> {
    match addends {
        [] => Ok(bytes.to_vec()),
        [first, others @ ..] => others.iter().try_fold(add_one(bytes, first)?, |row, addend| add_one(&row, addend)),
    }
}

fn add_one(row: &[u8], addend: &Addend) -> Result<Vec<u8>, AddError> {
    let found = Number::of(row, addend.column, [addend].into_iter()).ok_or(AddError::NotANumber)?;
    let sum = found.number + found.count(addend);
    if !found.range.contains(&sum) {
        return Err(AddError::OutOfRange);
    }
    let sum = match found.value {
        Value::SmallInt(_) => Value::SmallInt(sum as i16),
        Value::Integer(_) => Value::Integer(sum as i32),
        Value::BigInt(_) => Value::BigInt(sum as i64),
        _ => Value::numeric(BigDecimal::new(BigInt::from(sum), found.scale.unwrap_or(0).into())),
    };
    Ok(with_number(row, found.place, &sum))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate;
    use crate::numeric;
    use crate::row::encode_row;
    use proptest::prelude::*;

    fn encoded(values: &[Value]) -> Vec<u8> {
        let mut bytes = Vec::new();
        encode_row(values, &mut bytes);
        bytes
    }

    fn decimal(text: &str) -> Value {
        Value::numeric(numeric::parse(text).expect("a number"))
    }

    const MONEY: Type = Type::Numeric(Some((7, 2)));
    const ANY: Type = Type::Numeric(None);

    proptest! {
        /// A damaged disk must not stop a site.
        #[test]
        fn arbitrary_bytes_do_not_panic(bytes: Vec<u8>, column in 0usize..20, number: i64, scale: u8, digits: u8) {
            let _ = add(&bytes, &[Addend::whole(column as u16, number)]);
            let _ = add(&bytes, &[Addend { unit: AddendUnit::Decimal { scale, digits }, ..Addend::whole(column as u16, number) }]);
        }

        /// A sum in another column, or another row than an UPDATE would have written, is wrong data at every site.
        #[test]
        fn adding_is_what_an_update_would_write(values in generate::row(), at in any::<prop::sample::Index>(), addend: i64) {
            let index = at.index(values.len().max(1));
            let mut sums = values.clone();
            let fits = match sums.get_mut(index) {
                Some(Value::SmallInt(number)) => {
                    let sum = i64::from(*number).checked_add(addend).and_then(|sum| sum.try_into().ok());
                    sum.map(|sum| *number = sum).ok_or(AddError::OutOfRange)
                }
                Some(Value::Integer(number)) => {
                    let sum = i64::from(*number).checked_add(addend).and_then(|sum| sum.try_into().ok());
                    sum.map(|sum| *number = sum).ok_or(AddError::OutOfRange)
                }
                Some(Value::BigInt(number)) => {
                    number.checked_add(addend).map(|sum| *number = sum).ok_or(AddError::OutOfRange)
                }
                _ => Err(AddError::NotANumber),
            };
            let expected = fits.map(|()| encoded(&sums));
            prop_assert_eq!(add(&encoded(&values), &[Addend::whole(index as u16, addend)]), expected);
        }

        /// Sites add in other orders, and add what others have already added up; their rows must be equal, as must be what they print.
        #[test]
        fn decimals_commute(
            start in (-9_999_999i64..=9_999_999, 0i64..6),
            addends in prop::collection::vec((-9_999_999i64..=9_999_999, 0i64..6), 1..6),
        ) {
            let value = |(number, scale): (i64, i64)| BigDecimal::new(BigInt::from(number), scale);
            let row = |number: BigDecimal| encoded(&[Value::Null, Value::numeric(number)]);
            let parts: Vec<Addend> = addends
                .iter()
                .map(|addend| Addend::of(1, ANY, &Value::numeric(value(*addend))).expect("few digits"))
                .collect();
            let expected = row(addends.iter().fold(value(start), |sum, addend| sum + value(*addend)));
            let start = row(value(start));
            prop_assert_eq!(add(&start, &parts), Ok(expected.clone()));
            let backwards: Vec<Addend> = parts.iter().rev().copied().collect();
            prop_assert_eq!(add(&start, &backwards), Ok(expected.clone()));
            let all = parts.iter().copied().reduce(|one, other| one.and(other).expect("few digits")).expect("one at least");
            prop_assert_eq!(add(&start, &[all]), Ok(expected));
        }
    }

    /// If this fails, a sum is rounded where PostgreSQL rounds it in another way, or an increment is let in that cannot be added.
    #[test]
    fn what_is_not_exact_is_not_added() {
        let number = |column_type, text: &str| {
            Addend::of(0, column_type, &decimal(text)).map(|addend| (addend.number, addend.unit.scale()))
        };
        assert_eq!(number(MONEY, "1.5"), Some((150, Some(2))));
        assert_eq!(number(MONEY, "-2.500"), Some((-250, Some(2))));
        assert_eq!(number(MONEY, "0.005"), None, "PostgreSQL rounds the sum, not this");
        assert_eq!(number(ANY, "0.0050"), Some((50, Some(4))));
        assert_eq!(number(ANY, "1e20"), None);
        assert_eq!(number(ANY, "0.0000000000000000001"), None);
        assert_eq!(number(Type::Numeric(Some((9, -2))), "100"), None);
        assert_eq!(Addend::of(0, MONEY, &Value::Integer(3)).map(|addend| addend.number), Some(300));
        assert_eq!(Addend::of(0, Type::BigInt, &decimal("1")), None);
        assert_eq!(Addend::of(0, Type::Double, &Value::Integer(1)), None);
        assert_eq!(Addend::of(0, MONEY, &Value::Null), None);
    }

    /// If this fails, a column holds more digits than it was declared with, or a sum more than a row has room for.
    #[test]
    fn sums_stay_within_their_type() {
        let row = encoded(&[decimal("99999.98")]);
        let money = |text: &str| Addend::of(0, MONEY, &decimal(text)).expect("exact");
        assert_eq!(add(&row, &[money("0.01")]), Ok(encoded(&[decimal("99999.99")])));
        assert_eq!(add(&row, &[money("0.02")]), Err(AddError::OutOfRange));
        assert_eq!(add(&encoded(&[decimal("-99999.99")]), &[money("-0.01")]), Err(AddError::OutOfRange));
        let any = |text: &str| Addend::of(0, ANY, &decimal(text)).expect("exact");
        let large = encoded(&[decimal("999999999999999999")]);
        assert_eq!(add(&large, &[any("1")]), Err(AddError::OutOfRange));
        assert_eq!(add(&large, &[any("0.0")]), Err(AddError::OutOfRange), "one digit more");
        assert_eq!(add(&large, &[any("-9")]), Ok(encoded(&[decimal("999999999999999990")])));
        assert_eq!(add(&encoded(&[decimal("1e30")]), &[any("1")]), Err(AddError::NotANumber));
        assert_eq!(add(&encoded(&[Value::Integer(1)]), &[any("1")]), Err(AddError::NotANumber));
        assert_eq!(add(&row, &[Addend::whole(0, 1)]), Err(AddError::NotANumber));
        assert_eq!(any("999999999999999999").and(any("0.000000000000000001")), None);
        assert_eq!(Addend::whole(0, i64::MAX).and(Addend::whole(0, 1)), None);
        assert_eq!(Addend::whole(0, 1).and(any("1")), None);
        assert_eq!(Addend::whole(0, i64::MIN).negated(), None);
    }
}
