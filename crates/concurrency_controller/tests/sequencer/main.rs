//! Tests of the concurrency controller: what each method and commit-locks do in single cases ([`cases`], [`method_cases`]), the contract of all
//! methods and switches ([`conformance`]) under random schedules ([`model`]) with checkers of its own ([`properties`]), and the index under them
//! ([`tables`]); and what is counted of a load, and made of it ([`advice_cases`]).

mod advice_cases;
mod cases;
mod conformance;
mod method_cases;
mod model;
mod properties;
mod support;
mod tables;
