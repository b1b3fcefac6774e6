//! Places in which values of variables stand.

/// A place where a value of a variable stands in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VariablePlace {
    /// All of it.
    Whole(usize),
    /// A field of a record.
    Field(usize, String),
    /// `r.*`: all fields of a record.
    Fields(usize),
}
