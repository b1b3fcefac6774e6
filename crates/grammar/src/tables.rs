//! The parser's tables, which `build` makes from `postgresql15.y`.
#![allow(missing_docs, non_upper_case_globals, dead_code)]
include!(concat!(env!("OUT_DIR"), "/tables.rs"));
