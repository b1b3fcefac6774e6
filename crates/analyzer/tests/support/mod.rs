//! What the comparisons with a running PostgreSQL share.
#![allow(dead_code, reason = "each test and example takes a part of it")]

pub mod selections;
pub mod server;
pub mod throwaway;
