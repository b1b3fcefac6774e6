//! What a statement means: PostgreSQL 15's types, operators, functions and casts, how it resolves them, and the typed query tree of a statement.
//!
//! A pure library. It knows PostgreSQL's own objects as data ([`facts`]) and those of users by a trait ([`catalog`]); it reads no text and computes no value. What is
//! resolved here has PostgreSQL's type, and what is refused its SQLSTATE, words, detail, hint and place. A function that nothing implements takes part as any other.
//!
//! Reading order: [`types`], [`facts`], [`relations`], [`catalog`], [`names`]; [`coercion`], [`common_type`] and [`polymorphism`] for types that meet;
//! [`candidates`], [`operators`] and [`functions`] for what a name means; [`parameters`]; [`tree`] and [`mod@analyze`] for statements; [`reliance`]; [`error`] and [`limits`].

pub mod analyze;
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
pub mod relations;
pub mod reliance;
pub mod tree;
pub mod types;

pub use analyze::{Analyzed, Routine, RoutineForm, analyze, analyze_routine};
pub use catalog::{BuiltIns, Catalog};
pub use error::AnalysisError;
pub use types::{TypeId, Typed};
