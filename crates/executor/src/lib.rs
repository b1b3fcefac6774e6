//! Plans of typed query trees, and the operators that run them.
//!
//! A pure library. It knows no socket, no clock, no transaction and no thread: rows come through a need that whoever runs it answers, the time and random bits with
//! each execution.
