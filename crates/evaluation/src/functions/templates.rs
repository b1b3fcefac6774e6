//! Values as text by templates, and back (PostgreSQL's documentation, section 9.8): `to_char`, `to_date`, `to_timestamp`, `to_number`.
//!
//! Names of months and days are English, and the signs of numbers those of the locale C. A template is read while it is followed, so it takes no memory.

mod dates;
mod number_patterns;
mod numbers;
mod patterns;
mod reading;
mod reading_numbers;
mod shown;

use crate::call::Implementation;

pub(super) const TABLE: &[(&str, Implementation)] = &[
    ("timestamp_to_char", shown::timestamp),
    ("timestamptz_to_char", shown::instant),
    ("interval_to_char", shown::interval),
    ("to_date", reading::date),
    ("to_timestamp", reading::timestamp),
    ("int4_to_char", numbers::integer),
    ("int8_to_char", numbers::bigint),
    ("float4_to_char", numbers::real),
    ("float8_to_char", numbers::double),
    ("numeric_to_char", numbers::numeric),
    ("numeric_to_number", reading_numbers::number),
];

/// The letters behind an ordinal number.
fn ordinal(digits: &str, is_upper: bool) -> &'static str {
    let digits = digits.as_bytes();
    let is_teen = digits.len() > 1 && digits[digits.len() - 2] == b'1';
    let ends = match digits.last() {
        Some(b'1') if !is_teen => ["st", "ST"],
        Some(b'2') if !is_teen => ["nd", "ND"],
        Some(b'3') if !is_teen => ["rd", "RD"],
        _ => ["th", "TH"],
    };
    ends[usize::from(is_upper)]
}

/// The first of some words that a text begins with.
fn first_word<'a>(words: impl IntoIterator<Item = &'a str>, text: &str) -> Option<&'a str> {
    words.into_iter().find(|word| text.starts_with(word))
}
