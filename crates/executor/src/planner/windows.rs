//! Windows.

use super::query::Source;
use super::{Made, Planner, not_built};
use analyzer::tree::Query;

impl<'a> Planner<'a> {
    pub fn windows(&mut self, _query: &'a Query, _source: Source, _level: usize) -> Made<Source> {
        not_built("windows")
    }
}
