//! SQL: text to statements, statements to action programs or to requests for the query processor.
//!
//! Invariant: compiling is a pure function of the text, the parameter types, the catalog and the session's facts; what a
//! compiled statement relied on is written in it. In reading order:
//!
//! * [`parse`], [`utility`], [`maintenance`], [`copy_syntax`]: text to syntax; [`words`], [`places`]: its tokens, and where they stand;
//! * [`names`], [`types`], [`operators`]: identifiers, implicit casts, operators' types;
//! * [`literals`], [`expressions`], [`arrays`], [`functions`]: typed expressions; [`access`]: conditions to keys and ranges;
//! * [`select`], [`insert`], [`modify`]: statements to programs; [`compile`]: which way a statement goes;
//! * [`definitions`], [`ddl`], [`alter`], [`roles`]: schema changes; [`procedures`]: those and their calls; [`settings`]: the session's parameters; [`system`]: those of all sites.

pub mod access;
pub mod alter;
pub mod arrays;
pub mod compile;
pub mod copy_syntax;
pub mod ddl;
pub mod definitions;
pub mod expressions;
pub mod functions;
pub mod insert;
pub mod literals;
pub mod maintenance;
pub mod modify;
pub mod names;
pub mod operators;
pub mod parse;
pub mod places;
pub mod procedures;
pub mod roles;
pub mod select;
pub mod settings;
pub mod system;
pub mod types;
pub mod utility;
pub mod words;
