//! The rules of message transactions, one test for each, named after it: what the thesis' kernel keeps, this one keeps.
//!
//! Numbers are those of the list of rules that the tests were written from; 29, on how measurements are told, is kept by the examples.

mod bulk;
mod fuzz;
mod groups;
mod net;
mod transactions;
