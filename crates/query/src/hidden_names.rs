//! Names of columns that differ in a part which clients do not see.

/// Begins the part of a column's name that nobody sees.
const HIDDEN: char = '\u{1f}';

/// The part of a column's name that the client sees.
pub fn shown(name: &str) -> &str {
    name.split(HIDDEN).next().unwrap_or_default()
}

/// A name that the client sees as this one, and that differs from it by a number.
pub fn hidden(name: &str, number: usize) -> String {
    format!("{name}{HIDDEN}{number}")
}
