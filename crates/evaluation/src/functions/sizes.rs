//! Sizes in bytes as people write them (PostgreSQL's documentation, table 9.96): `pg_size_pretty`, `pg_size_bytes`.

use crate::call::{CallArguments, FunctionResult, Implementation};
use bigdecimal::num_bigint::BigInt;
use bigdecimal::{BigDecimal, Signed, ToPrimitive};
use values::error::sqlstate;
use values::{Value, ValueError, numeric, text};

/// Each is 1024 of the one before it.
const UNITS: [&str; 6] = ["bytes", "kB", "MB", "GB", "TB", "PB"];
/// So many of a unit are shown as bytes still; of larger units nearly twice as many, halved.
const SHOWN_MAX: i64 = 10 * 1024;
/// Digits of an exponent's number at most (`NUMERIC_MAX_PRECISION`).
const EXPONENT_MAX: i64 = 1000;

pub(super) const TABLE: &[(&str, Implementation)] = &[
    ("pg_size_pretty", |call| Ok(Value::text(pretty(&BigDecimal::from(call.integer(0)))))),
    ("pg_size_pretty_numeric", |call| Ok(Value::text(pretty(call.numeric(0))))),
    ("pg_size_bytes", bytes),
];

fn pretty(size: &BigDecimal) -> String {
    if size.abs() < SHOWN_MAX {
        return format!("{} {}", size.to_plain_string(), UNITS[0]);
    }
    // In halves of a unit, so that they can be rounded.
    let mut halves: BigInt = numeric::truncate(size, 0).into_bigint_and_scale().0 / 512;
    let mut place = 1;
    while place + 1 < UNITS.len() && halves.abs() >= BigInt::from(2 * SHOWN_MAX - 1) {
        halves /= 1024;
        place += 1;
    }
    let more = if halves.is_negative() { -1 } else { 1 };
    let rounded: BigInt = (halves + more) / 2;
    format!("{rounded} {}", UNITS[place])
}

/// Errors: 22023 for what is no size, 22003.
fn bytes(call: &mut CallArguments<'_, '_>) -> FunctionResult {
    let source = call.text(0);
    let invalid = || ValueError::new(sqlstate::INVALID_PARAMETER_VALUE, format!("invalid size: \"{source}\""));
    let is_blank = |found: char| matches!(found, ' ' | '\t' | '\n' | '\r' | '\x0b' | '\x0c');
    let begin = source.trim_start_matches(is_blank);
    let digits_of = |text: &str| text.find(|found: char| !found.is_ascii_digit()).unwrap_or(text.len());
    let mut end = usize::from(begin.starts_with(['+', '-']));
    let whole = digits_of(&begin[end..]);
    end += whole;
    let mut has_digits = whole > 0;
    if begin[end..].starts_with('.') {
        let fraction = digits_of(&begin[end + 1..]);
        has_digits |= fraction > 0;
        end += 1 + fraction;
    }
    if !has_digits {
        return Err(invalid());
    }
    // An E without a number behind it begins a unit.
    if begin[end..].starts_with(['e', 'E']) {
        let behind = begin[end + 1..].trim_start_matches(is_blank);
        let blanks = begin.len() - end - 1 - behind.len();
        let sign = usize::from(behind.starts_with(['+', '-']));
        let digits = digits_of(&behind[sign..]);
        if digits > 0 {
            let exponent = behind[..sign + digits].parse::<i64>().unwrap_or(i64::MAX);
            if exponent.abs() > EXPONENT_MAX || blanks > 0 {
                return Err(invalid());
            }
            end += 1 + sign + digits;
        }
    }
    let number = text::parse(&begin[..end], values::Type::Numeric(None))?;
    let Value::Numeric(number) = number else { return Err(invalid()) };
    let unit = begin[end..].trim_matches(is_blank);
    let place = match unit {
        "" => 0,
        unit => UNITS
            .iter()
            .position(|known| known.eq_ignore_ascii_case(unit))
            .ok_or_else(|| invalid().with_detail(format!("Invalid size unit: \"{unit}\".")))?,
    };
    let size = number.as_ref() * BigDecimal::from(1024_i64.pow(place as u32));
    let whole = numeric::round(&size, 0).to_i64();
    let beyond = || ValueError::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, "bigint out of range");
    whole.map(Value::BigInt).ok_or_else(beyond)
}
