//! A PostgreSQL to record answers of, as the analyzer's tests have it.
#![allow(dead_code, reason = "recording takes a part of it")]

#[path = "../../../analyzer/tests/support/server.rs"]
pub mod server;
#[path = "../../../analyzer/tests/support/throwaway.rs"]
pub mod throwaway;
