//! Tests of the concurrency controller: what each method and commit-locks do in single cases ([`cases`]), the contract of all methods
//! under random schedules ([`conformance`]), and the index under them ([`tables`]).

mod cases;
mod conformance;
mod support;
mod tables;
