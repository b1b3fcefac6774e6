//! What PostgreSQL 15 knows of types, operators, functions and casts, and how it resolves them: the ground of the analyzer.
//!
//! A pure library. It knows PostgreSQL's own objects as data ([`facts`]) and those of users by a trait ([`catalog`]); it knows no text, no table and no value. What is
//! resolved here has PostgreSQL's type, and what is refused its SQLSTATE, words, detail and hint. A function that nothing implements takes part as any other.
//!
//! Reading order: [`types`], [`facts`], [`catalog`], [`names`]; [`coercion`], [`common_type`] and [`polymorphism`] for types that meet;
//! [`candidates`], [`operators`] and [`functions`] for what a name means; [`parameters`]; [`error`] and [`limits`].

pub mod candidates;
pub mod catalog;
pub mod coercion;
pub mod common_type;
pub mod error;
pub mod facts;
pub mod functions;
pub mod limits;
pub mod names;
pub mod operators;
pub mod parameters;
pub mod polymorphism;
pub mod types;

pub use catalog::{BuiltIns, Catalog};
pub use error::AnalysisError;
pub use types::{TypeId, Typed};
