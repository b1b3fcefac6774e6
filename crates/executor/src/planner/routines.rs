//! Calls of users' functions in SQL: the query of a function is planned within that of its call, as a subquery whose only outer row are the arguments.
//!
//! Invariant: the query of a function sees nothing of the statement that calls it but its arguments.

use super::frame::ColumnFrame;
use super::query::FromSource;
use super::{OuterPlace, PlanResult, QueryPlanner, not_built};
use crate::access::{RoutineCode, RoutineMeaning};
use crate::expression::{CompiledExpression, SubplanKind, SubplanUse};
use crate::plan::{CalledFunction, PlanNode, RoutineScan};
use analyzer::Analyzed;
use analyzer::facts::Volatility;
use analyzer::limits::DEPTH_MAX;
use analyzer::tree::ExprId;
use analyzer::types::FunctionId;
use std::sync::Arc;

/// How many functions may call each other, one within the other. A function that calls itself ends nowhere: its query is planned once for each call.
const ROUTINES_WITHIN_MAX: usize = 32;
/// How many calls may be planned: a function that calls another one twice, which calls a third one twice, and so on, has many.
const ROUTINE_CALLS_MAX: u32 = 1_000;
/// Rows that a function that returns a set is taken to yield, as PostgreSQL takes it.
const ROUTINE_ROWS: f64 = 1_000.0;

impl<'a> QueryPlanner<'a> {
    /// A parameter of the statement, or of the function whose query is planned.
    pub fn parameter(&mut self, number: usize) -> CompiledExpression {
        match self.arguments {
            Some(frame) => self.outer(OuterPlace { frame, slot: number }),
            None => CompiledExpression::Parameter(number),
        }
    }

    /// The value of a call.
    pub fn routine_value(
        &mut self,
        function: FunctionId,
        routine: &'a RoutineMeaning,
        arguments: &[ExprId],
        level: usize,
        current: &ColumnFrame,
    ) -> PlanResult<CompiledExpression> {
        let Some(row) = self.catalog.function(function) else { return not_built("a function that is not known") };
        if row.returns_set {
            return not_built(format!("the function {}, which returns a set, outside FROM", row.name));
        }
        if routine.body.width() != 1 {
            return not_built(format!("the function {}, which returns a row, outside FROM", row.name));
        }
        let strict = row.strict;
        let arguments = self.compile_all(arguments, level, current)?;
        let (plan, volatile) = self.routine_plan(function, &routine.body, arguments.len())?;
        Ok(self.call_of(function, strict, plan, volatile, arguments))
    }

    /// The default of a parameter.
    pub fn default_of_routine(
        &mut self,
        function: FunctionId,
        routine: &'a RoutineMeaning,
        parameter: usize,
    ) -> PlanResult<CompiledExpression> {
        let Some(row) = self.catalog.function(function) else { return not_built("a function that is not known") };
        let place = (parameter + routine.defaults.len()).checked_sub(row.arguments.len());
        match place.and_then(|place| routine.defaults.get(place)) {
            Some(default) => {
                let (plan, volatile) = self.routine_query(function, default, 0)?;
                Ok(self.call_of(function, false, plan, volatile, Vec::new()))
            }
            None => not_built("this default of a parameter"),
        }
    }

    fn call_of(
        &mut self,
        function: FunctionId,
        strict: bool,
        plan: Arc<PlanNode>,
        volatile: bool,
        arguments: Vec<CompiledExpression>,
    ) -> CompiledExpression {
        let number = self.subplans as usize;
        self.subplans += 1;
        let kind = SubplanKind::Call { function, strict };
        let used = SubplanUse { number, kind, plan, test: None, hashed: None, outer: arguments, volatile };
        CompiledExpression::Subplan(Box::new(used))
    }

    /// What yields the rows of a function with so many arguments; whether two runs may differ, or do something.
    fn routine_plan(
        &mut self,
        function: FunctionId,
        body: &'a RoutineCode,
        arguments: usize,
    ) -> PlanResult<(Arc<PlanNode>, bool)> {
        match body {
            RoutineCode::Query(query) => self.routine_query(function, query, arguments),
            RoutineCode::Called(width) => {
                let Some(row) = self.catalog.function(function) else {
                    return not_built("a function that is not known");
                };
                let is_volatile = row.volatility == Volatility::Volatile;
                self.volatile_calls += u32::from(is_volatile);
                let called = CalledFunction { function, name: row.name.to_string(), width: *width };
                Ok((Arc::new(PlanNode::Called(called)), is_volatile))
            }
        }
    }

    /// The rows of a function alone in FROM, if it is a user's.
    pub fn routine_rows(&mut self, call: ExprId, entry: u32, level: usize) -> PlanResult<Option<FromSource>> {
        let analyzer::tree::Node::Function { function, arguments, .. } = &self.tree[call].node else { return Ok(None) };
        let Some(routine) = self.relations.routine(*function) else { return Ok(None) };
        let Some(row) = self.catalog.function(*function) else { return not_built("a function that is not known") };
        let (strict, returns_set, name) = (row.strict, row.returns_set, row.name.to_string());
        let arguments = self.compile_all(arguments, level, &ColumnFrame::empty(level))?;
        let (body, _) = self.routine_plan(*function, &routine.body, arguments.len())?;
        let width = routine.body.width();
        let scan = RoutineScan { name, arguments, body, strict, returns_set, width };
        let frame = ColumnFrame::of_entry(level, entry, width);
        let rows = if returns_set { ROUTINE_ROWS } else { 1.0 };
        Ok(Some(FromSource { node: Arc::new(PlanNode::Routine(scan)), frame, rows }))
    }

    /// The query of a function with so many arguments, as the subquery of where it is called; whether two runs may differ.
    fn routine_query(
        &mut self,
        function: FunctionId,
        body: &'a Analyzed,
        arguments: usize,
    ) -> PlanResult<(Arc<PlanNode>, bool)> {
        self.step()?;
        if self.routines.contains(&function) {
            return not_built("a function that calls itself");
        }
        // What is evaluated goes as deep as all of them together.
        if self.routines.len() >= ROUTINES_WITHIN_MAX || self.depth + body.depth > DEPTH_MAX {
            return not_built("functions that call each other so deeply");
        }
        self.routine_calls += 1;
        if self.routine_calls > ROUTINE_CALLS_MAX {
            return not_built("a statement with so many calls of users' functions");
        }
        // Frames are found by their numbers when the plan runs, but nothing in those around is looked at.
        let nothing = ColumnFrame::empty(usize::MAX);
        let own = self.frames.len();
        let mut frames = vec![nothing.clone(); own];
        frames.push(ColumnFrame { width: arguments, ..nothing });
        let around = (
            std::mem::replace(&mut self.tree, &body.tree),
            std::mem::replace(&mut self.frames, frames),
            std::mem::take(&mut self.levels),
            std::mem::take(&mut self.wanted),
            std::mem::take(&mut self.case_constants),
            std::mem::take(&mut self.working_reads),
            self.arguments.replace(own),
        );
        let (logged, volatile) = (self.outer_log.len(), self.volatile_calls);
        self.routines.push(function);
        self.depth += body.depth;
        let planned = self.query(body.query);
        self.depth -= body.depth;
        self.routines.pop();
        self.outer_log.truncate(logged);
        (self.tree, self.frames, self.levels, self.wanted, self.case_constants, self.working_reads, self.arguments) =
            around;
        Ok((planned?, self.volatile_calls > volatile))
    }
}
