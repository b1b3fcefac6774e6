//! SQL types and values: codecs of rows and keys, text and binary formats, operators and functions.
//!
//! A pure library. It knows PostgreSQL's types and how they compare, print, parse and compute; it knows no table, no
//! transaction and no socket. Reading order: [`types`], [`value`].

pub mod types;
pub mod value;

pub use types::Type;
pub use value::{Interval, Value};
