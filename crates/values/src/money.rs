//! `money` as in the locale C: hundredths of a dollar in 64 bits.
//!
//! Invariant: no sum wraps; what is too large is an error (22003).

use crate::error::ValueError;
use crate::float::is_space;
use crate::numeric;
use bigdecimal::BigDecimal;
use std::io::Write;

/// Digits behind the point.
const FRACTION_DIGITS: usize = 2;
/// Hundredths of a whole.
const UNIT: i64 = 100;

/// Reads an amount as `cash_in` does: `$1,234.56`, `-$5`, `(5)`, `5-`. Errors: 22P02, 22003.
pub(crate) fn parse(input: &str) -> Result<i64, ValueError> {
    let out_of_range = || ValueError::text_out_of_range("money", input);
    let without_symbol = |text: &'_ str| -> usize {
        let begin = text.trim_start_matches(is_space);
        let begin = begin.strip_prefix('$').unwrap_or(begin);
        text.len() - begin.trim_start_matches(is_space).len()
    };
    let mut rest = &input[without_symbol(input)..];
    let mut is_negative = rest.starts_with(['-', '(']);
    rest = rest.strip_prefix(['-', '(', '+']).unwrap_or(rest);
    rest = &rest[without_symbol(rest)..];
    // Below zero there is one more.
    let mut negative = 0_i64;
    let mut decimals = None;
    let mut characters = rest.char_indices();
    let mut end = rest.len();
    for (place, character) in characters.by_ref() {
        match (character.to_digit(10), decimals) {
            (Some(digit), None | Some(0..FRACTION_DIGITS)) => {
                let more = negative.checked_mul(10).and_then(|number| number.checked_sub(i64::from(digit)));
                negative = more.ok_or_else(out_of_range)?;
                decimals = decimals.map(|count: usize| count + 1);
            }
            (None, None) if character == '.' => decimals = Some(0),
            (None, _) if character == ',' => {}
            _ => {
                end = place;
                break;
            }
        }
    }
    rest = &rest[end..];
    if rest.starts_with(|next: char| ('5'..='9').contains(&next)) {
        negative = negative.checked_sub(1).ok_or_else(out_of_range)?;
    }
    for _ in decimals.unwrap_or(0)..FRACTION_DIGITS {
        negative = negative.checked_mul(10).ok_or_else(out_of_range)?;
    }
    for character in rest.trim_start_matches(|digit: char| digit.is_ascii_digit()).chars() {
        match character {
            '-' => is_negative = true,
            ')' | '+' | '$' => {}
            other if is_space(other) => {}
            _ => return Err(ValueError::syntax("money", input)),
        }
    }
    if is_negative { Ok(negative) } else { negative.checked_neg().ok_or_else(out_of_range) }
}

/// Appends `$1,234.56` or `-$1,234.56`.
pub(crate) fn write(amount: i64, out: &mut Vec<u8>) {
    let magnitude = amount.unsigned_abs();
    let whole = (magnitude / UNIT as u64).to_string();
    out.extend_from_slice(if amount < 0 { b"-$" } else { b"$" });
    for (place, digit) in whole.bytes().enumerate() {
        if place > 0 && (whole.len() - place).is_multiple_of(3) {
            out.push(b',');
        }
        out.push(digit);
    }
    // Writing to a vector cannot fail.
    let _ = write!(out, ".{:02}", magnitude % UNIT as u64);
}

/// The amount as a number with two decimals.
pub(crate) fn to_numeric(amount: i64) -> BigDecimal {
    BigDecimal::new(amount.into(), FRACTION_DIGITS as i64)
}

/// The amount of a number, rounded half away from zero. Errors: 22003.
pub(crate) fn of_numeric(number: &BigDecimal) -> Result<i64, ValueError> {
    numeric::to_bigint(&(number * BigDecimal::from(UNIT))).ok_or_else(|| ValueError::out_of_range("bigint"))
}

/// So many wholes. Errors: 22003.
pub(crate) fn of_integer(number: i64) -> Result<i64, ValueError> {
    number.checked_mul(UNIT).ok_or_else(|| ValueError::out_of_range("bigint"))
}

/// 22003.
#[cold]
fn overflow() -> ValueError {
    ValueError::out_of_range("money")
}

/// The sum of two amounts. Errors: 22003.
pub fn sum(left: i64, right: i64) -> Result<i64, ValueError> {
    left.checked_add(right).ok_or_else(overflow)
}

/// The first amount less the second. Errors: 22003.
pub fn difference(left: i64, right: i64) -> Result<i64, ValueError> {
    left.checked_sub(right).ok_or_else(overflow)
}

/// So many times the amount. Errors: 22003.
pub fn product(amount: i64, factor: i64) -> Result<i64, ValueError> {
    amount.checked_mul(factor).ok_or_else(overflow)
}

/// The amount in so many parts, without what is left. Errors: 22012, 22003.
pub fn quotient(amount: i64, parts: i64) -> Result<i64, ValueError> {
    match parts {
        0 => Err(ValueError::division_by_zero()),
        _ => amount.checked_div(parts).ok_or_else(overflow),
    }
}

/// What was computed in doubles as an amount, rounded half to even. Errors: 22003.
pub fn of_double(computed: f64) -> Result<i64, ValueError> {
    let rounded = computed.round_ties_even();
    // 2^63 itself does not fit; what is no number fails every comparison.
    match rounded >= i64::MIN as f64 && rounded < -(i64::MIN as f64) {
        true => Ok(rounded as i64),
        false => Err(overflow()),
    }
}

/// How many of the second the first is. Errors: 22012.
pub fn ratio(dividend: i64, divisor: i64) -> Result<f64, ValueError> {
    if divisor == 0 { Err(ValueError::division_by_zero()) } else { Ok(dividend as f64 / divisor as f64) }
}

const SMALL: [&str; 20] = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
];
/// Tens, from twenty on.
const TENS: [&str; 8] = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];
/// What three digits count that have three more behind them, the largest first.
const THOUSANDS: [(&str, u64); 5] = [
    ("quadrillion", 1_000_000_000_000_000),
    ("trillion", 1_000_000_000_000),
    ("billion", 1_000_000_000),
    ("million", 1_000_000),
    ("thousand", 1_000),
];

/// A number below a thousand.
fn words_of(number: u64) -> String {
    let (hundreds, rest) = (number / 100, number % 100);
    let below_hundred = match (rest, rest % 10) {
        (0..20, _) => SMALL[rest as usize].to_owned(),
        (_, 0) => TENS[rest as usize / 10 - 2].to_owned(),
        (_, ones) => format!("{} {}", TENS[rest as usize / 10 - 2], SMALL[ones as usize]),
    };
    match (hundreds, rest) {
        (0, _) => below_hundred,
        (_, 0) => format!("{} hundred", SMALL[hundreds as usize]),
        (_, 1..20) => format!("{} hundred and {below_hundred}", SMALL[hundreds as usize]),
        _ => format!("{} hundred {below_hundred}", SMALL[hundreds as usize]),
    }
}

/// The amount in English (`cash_words`).
pub fn in_words(amount: i64) -> String {
    let magnitude = amount.unsigned_abs();
    let (whole, cents) = (magnitude / UNIT as u64, magnitude % UNIT as u64);
    let mut words = String::new();
    for (name, size) in THOUSANDS {
        let count = whole / size % 1000;
        if count > 0 {
            words += &format!("{} {name} ", words_of(count));
        }
    }
    match whole % 1000 {
        0 if words.is_empty() => words += "zero",
        0 => {}
        ones => words += &words_of(ones),
    }
    words += if whole == 1 { " dollar and " } else { " dollars and " };
    words += &words_of(cents);
    words += if cents == 1 { " cent" } else { " cents" };
    if amount < 0 {
        return format!("Minus {words}");
    }
    words[..1].to_ascii_uppercase() + &words[1..]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::sqlstate;

    fn shown(amount: i64) -> String {
        let mut out = Vec::new();
        write(amount, &mut out);
        String::from_utf8(out).unwrap()
    }

    /// Amounts would be read as other ones.
    #[test]
    fn amounts_are_read_as_postgresql_reads_them() {
        for (text, amount) in [
            ("", 0),
            ("1234.56", 123_456),
            (" $ -1,234.567 ", -123_457),
            ("(5)", -500),
            ("5-", -500),
            ("-$.5", -50),
            ("92233720368547758.07", i64::MAX),
            ("-92233720368547758.08", i64::MIN),
        ] {
            assert_eq!(parse(text), Ok(amount), "{text}");
        }
        assert_eq!(parse("92233720368547758.08").unwrap_err().sqlstate, sqlstate::NUMERIC_VALUE_OUT_OF_RANGE);
        for text in ["1.2.3", "x", "1 2"] {
            assert_eq!(parse(text).unwrap_err().sqlstate, sqlstate::INVALID_TEXT_REPRESENTATION, "{text}");
        }
        assert_eq!(shown(i64::MIN), "-$92,233,720,368,547,758.08");
        assert_eq!((shown(5), shown(100_000)), ("$0.05".to_owned(), "$1,000.00".to_owned()));
    }

    #[test]
    fn words_are_those_of_postgresql() {
        let words = "One hundred twenty three thousand four hundred fifty six dollars and seventy eight cents";
        assert_eq!(in_words(12_345_678), words);
        assert_eq!(in_words(-101), "Minus one dollar and one cent");
        assert_eq!(in_words(900_000_000_000_000_000), "Nine quadrillion  dollars and zero cents");
        assert_eq!(in_words(11_000), "One hundred and ten dollars and zero cents");
    }
}
