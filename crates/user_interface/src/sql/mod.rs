//! SQL: text to statements, statements to action programs or to requests for the query processor.
//!
//! Invariant: compiling is a pure function of the text, the parameter types, the catalog and the session's facts; what a
//! compiled statement relied on is written in it. In reading order:
//!
//! * [`parse`], [`utility`]: text to syntax; [`names`], [`types`]: identifiers, implicit casts, operators' types;
//! * [`expressions`], [`functions`]: typed expressions; [`access`]: conditions to keys and ranges;
//! * [`select`], [`insert`], [`modify`]: statements to programs; [`compile`]: which way a statement goes;
//! * [`ddl`], [`alter`]: schema changes; [`settings`]: the session's parameters.

pub mod access;
pub mod alter;
pub mod compile;
pub mod ddl;
pub mod expressions;
pub mod functions;
pub mod insert;
pub mod modify;
pub mod names;
pub mod parse;
pub mod select;
pub mod settings;
pub mod types;
pub mod utility;
