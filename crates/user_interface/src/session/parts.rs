//! Statements of several parts: each part's query, then what takes its rows, between the two edges of the statement.
//!
//! Invariants: a part is over before the next one begins; the client gets nothing of the statement before its last edge.

use crate::session::parts_progress::{PartStage, PartsProgress};
use crate::session::queries::cancelled;
use crate::session::state::{Execution, Step, Work};
use crate::session::turn::Turn;
use crate::sql::part_queries::kept_values;
use crate::sql::parts::{PartParameter, StatementParts};
use crate::sql::prepared::Plan;
use std::sync::Arc;
use values::{Type, Value};

impl Turn<'_> {
    /// Begins a statement of several parts.
    pub(super) fn begin_parts(&mut self, execution: &mut Execution) {
        self.stop_query();
        execution.parts = Some(Box::default());
        let program = parts_of(execution).begin.clone();
        self.execute_program(execution, program, Vec::new(), Step::PartProgram);
    }

    /// A program of it has run, or an edge.
    pub(super) fn part_executed(&mut self, mut execution: Box<Execution>, rows: Vec<Vec<Value>>, affected: u64) {
        let parts = parts_of(&execution);
        let progress = progress(&mut execution);
        match progress.stage {
            PartStage::Begin => self.begin_part(execution, 0),
            PartStage::Query(_) => unreachable!("the query processor is waited for"),
            PartStage::Taking(part, taker) => {
                let taken = progress.returned(&parts.parts[part], rows, affected);
                execution.affected += affected;
                match taken {
                    Ok(()) => self.supply_part(execution, part, taker),
                    Err(error) => {
                        self.session.work = Work::Statement(execution);
                        self.fail(&error);
                    }
                }
            }
            PartStage::End => {
                let progress = execution.parts.take().expect("it has come here");
                execution.affected = progress.affected;
                self.program_returned(execution, progress.output);
            }
        }
    }

    /// Begins a part; behind the last one the statement ends.
    fn begin_part(&mut self, mut execution: Box<Execution>, part: usize) {
        let parts = parts_of(&execution);
        let progress = progress(&mut execution);
        progress.keys.clear();
        let Some(next) = parts.parts.get(part) else {
            progress.stage = PartStage::End;
            self.execute_program(&mut execution, parts.end.clone(), Vec::new(), Step::PartProgram);
            self.session.work = Work::Statement(execution);
            return;
        };
        match (&next.query, next.takers.first()) {
            (Some(query), _) => {
                progress.stage = PartStage::Query(part);
                progress.found.clear();
                let parameters = parameters(&query.parameters, &execution);
                execution.step = Step::PartRows;
                self.run(&execution, query.sql.clone(), parameters, query.columns.clone());
            }
            (None, Some(taker)) => {
                progress.stage = PartStage::Taking(part, 0);
                self.execute_program(&mut execution, taker.program.clone(), Vec::new(), Step::PartProgram);
            }
            (None, None) => unreachable!("a part has a query or a program"),
        }
        self.session.work = Work::Statement(execution);
    }

    /// Rows of a part's query came.
    pub(super) fn part_rows_came(&mut self, mut execution: Box<Execution>, rows: Vec<Vec<Value>>, last: bool) {
        if let Some(reason) = self.session.cancelled {
            self.session.work = Work::Statement(execution);
            return self.fail(&cancelled(reason));
        }
        let parts = parts_of(&execution);
        let progress = progress(&mut execution);
        let PartStage::Query(part) = progress.stage else { unreachable!("a query was asked for rows") };
        if let Err(error) = progress.find(rows) {
            self.session.work = Work::Statement(execution);
            return self.fail(&error);
        }
        if !last {
            return self.more(execution, Step::PartRows);
        }
        if parts.parts[part].takers.is_empty() {
            let found = std::mem::take(&mut progress.found);
            progress.take(&parts.parts[part], found, 0);
            return self.begin_part(execution, part + 1);
        }
        self.begin_taking(execution, part, 0);
    }

    /// Has a program of a part take its rows of those that the query has found; behind the last program the part is over.
    fn begin_taking(&mut self, mut execution: Box<Execution>, part: usize, taker: usize) {
        let parts = parts_of(&execution);
        let Some(next) = parts.parts[part].takers.get(taker) else {
            return self.begin_part(execution, part + 1);
        };
        let progress = progress(&mut execution);
        progress.stage = PartStage::Taking(part, taker);
        if let Err(error) = progress.choose(&parts.parts[part], next) {
            self.session.work = Work::Statement(execution);
            return self.fail(&error);
        }
        self.supply_part(execution, part, taker);
    }

    fn supply_part(&mut self, mut execution: Box<Execution>, part: usize, taker: usize) {
        let progress = progress(&mut execution);
        let rows = progress.supply();
        if rows.is_empty() {
            return self.begin_taking(execution, part, taker + 1);
        }
        let program = parts_of(&execution).parts[part].takers[taker].program.clone();
        self.execute_program(&mut execution, program, rows, Step::PartProgram);
        self.session.work = Work::Statement(execution);
    }
}

fn parts_of(execution: &Execution) -> Arc<StatementParts> {
    match &execution.prepared.plan {
        Plan::Parts(parts) => Arc::clone(parts),
        _ => unreachable!("only a statement of parts comes here"),
    }
}

fn progress(execution: &mut Execution) -> &mut PartsProgress {
    execution.parts.as_mut().expect("a statement of parts has begun")
}

/// The values of a query's parameters, and their types.
fn parameters(wanted: &[PartParameter], execution: &Execution) -> (Vec<Value>, Vec<Option<Type>>) {
    let none = Vec::new();
    let kept = execution.parts.as_ref().map(|progress| &progress.kept);
    let value = |parameter: &PartParameter| match *parameter {
        PartParameter::Own(number) => {
            (execution.parameters[number].clone(), Some(execution.prepared.parameters[number]))
        }
        PartParameter::Kept(item, column, array) => {
            let rows = kept.and_then(|kept| kept.get(&item)).unwrap_or(&none);
            (kept_values(rows, column, array), Some(array))
        }
    };
    wanted.iter().map(value).unzip()
}
