//! Runs a program.
//!
//! The machine says what is to be done, one thing at a time, and goes on with what came of it. Invariant: what a block with EXCEPTION guards is within a
//! savepoint, which is released or returned to once. In reading order: this file; `operations`, `answers`, `returning`, `raising`.

mod answers;
mod operations;
mod raising;
mod returning;

use crate::RoutineCatalog;
use crate::error::{PlpgsqlResult, RoutineError, sqlstate};
use crate::limits::OPERATIONS_AT_ONCE;
use crate::program::{AssignmentTarget, Instruction, NoticeLevel, RoutineProgram};
use crate::sql_text::RoutineText;
use crate::store::{RoutineOperand, VariableStore};
use crate::triggers::{self, TriggerCall};
use std::collections::VecDeque;
use std::sync::Arc;
use values::{Type, Value};

/// What is to be done.
#[derive(Debug)]
pub enum Effect {
    /// Run this statement: the outcome is an answer.
    Run(RoutineStatement),
    /// Set a savepoint.
    Savepoint,
    /// Release the newest one.
    Release,
    /// Return to the newest one, and release it.
    RollBack,
    /// Tell the client.
    Notice(NoticeLevel, Box<RoutineError>),
    /// Nothing, but others may have their turn, and the routine be stopped.
    Pause,
    /// The routine is over; the rows that it gives back: one, but of a function that returns a set.
    Done(Vec<Vec<Value>>),
    /// It is over with an error. What it has set savepoints for is not undone.
    Failed(Box<RoutineError>),
}

/// A statement to run.
#[derive(Debug)]
pub struct RoutineStatement {
    /// Its text.
    pub sql: Arc<str>,
    /// Values of its parameters.
    pub parameters: Vec<Value>,
    /// Their types.
    pub types: Vec<Option<Type>>,
    /// So many rows are enough; all are counted.
    pub rows_max: usize,
}

/// What came of an effect.
#[derive(Debug)]
pub enum EffectOutcome {
    /// It is done.
    Done,
    /// A statement has run.
    Answer(StatementAnswer),
    /// It failed.
    Failed(Box<RoutineError>),
}

/// What a statement has yielded.
#[derive(Clone, Debug, Default)]
pub struct StatementAnswer {
    /// Columns of its rows; none: it yields no rows.
    pub columns: Vec<(String, Type)>,
    /// Its rows, as many as were wanted.
    pub rows: Vec<Vec<Value>>,
    /// How many there were, or how many it has changed.
    pub count: u64,
    /// What kind of statement it was.
    pub kind: AnswerKind,
}

/// Kinds of statements, as FOUND tells them apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AnswerKind {
    /// A query.
    Query,
    /// One that changes rows.
    Change,
    /// Any other.
    #[default]
    Other,
}

/// A loop under way.
#[derive(Debug)]
enum LoopState {
    Count { next: i64, last: i64, step: i64, reverse: bool, ran: bool },
    Rows { columns: Vec<(String, Type)>, rows: VecDeque<Vec<Value>>, bytes: usize, ran: bool },
    Elements { element: Type, values: VecDeque<Value>, bytes: usize, ran: bool },
}

/// A block with EXCEPTION under way.
#[derive(Clone, Copy, Debug)]
struct OpenGuard {
    number: usize,
    /// How many errors were being handled when it began.
    errors: usize,
}

/// What the outcome is for.
#[derive(Debug)]
enum Pending {
    /// The next operation.
    Nothing,
    /// The value of the next expression.
    Operand,
    /// The statement of the operation at hand.
    Statement,
    /// A guard begins.
    Guard(usize),
    /// An error is handled once its savepoint has been returned to.
    Handling(Box<RoutineError>),
    /// It is over.
    Over,
}

/// A routine under way.
#[derive(Debug)]
pub struct RoutineMachine {
    program: Arc<RoutineProgram>,
    /// What messages call it.
    name: String,
    outputs: Vec<usize>,
    store: VariableStore,
    found: usize,
    at: usize,
    operands: Vec<RoutineOperand>,
    loops: Vec<Option<LoopState>>,
    guards: Vec<OpenGuard>,
    errors: Vec<RoutineError>,
    row_count: u64,
    /// The value of RETURN.
    result: Option<RoutineOperand>,
    /// The types of the row that a trigger gives back; none: what it gives back does not count.
    row: Option<Vec<Type>>,
    /// Rows of RETURN NEXT and RETURN QUERY, and their bytes.
    rows: Vec<Vec<Value>>,
    kept: usize,
    pending: Pending,
}

impl RoutineMachine {
    /// A routine that begins.
    ///
    /// `name`: what messages call it, `inline_code_block` or `p(integer)`; `arguments`: values of its first variables, of their types; `outputs`: which of
    /// these it gives back.
    ///
    /// # Errors
    /// 42704, 42P01 and 42703 for types that are not there.
    pub fn new(
        program: Arc<RoutineProgram>,
        name: String,
        arguments: Vec<(Value, Type)>,
        outputs: Vec<usize>,
        catalog: &dyn RoutineCatalog,
    ) -> PlpgsqlResult<RoutineMachine> {
        let arguments: Vec<_> =
            arguments.into_iter().map(|(value, data_type)| Some(RoutineOperand::Scalar(value, data_type))).collect();
        RoutineMachine::begin(program, name, arguments, outputs, catalog)
    }

    /// A function of a trigger that begins: it gives back a row, or no row for NULL.
    ///
    /// # Errors
    /// Those of [`RoutineMachine::new`].
    pub fn of_trigger(
        program: Arc<RoutineProgram>,
        name: String,
        call: TriggerCall,
        catalog: &dyn RoutineCatalog,
    ) -> PlpgsqlResult<RoutineMachine> {
        let mut routine = RoutineMachine::begin(program, name, call.variables(), Vec::new(), catalog)?;
        routine.store.hold_row(triggers::NEW, &call.fields, call.new)?;
        routine.store.hold_row(triggers::OLD, &call.fields, call.old)?;
        routine.row = call.is_for_row.then(|| call.fields.iter().map(|(_, of)| *of).collect());
        Ok(routine)
    }

    /// `first`: what its first variables hold, those before FOUND; `None`: nothing yet.
    fn begin(
        program: Arc<RoutineProgram>,
        name: String,
        first: Vec<Option<RoutineOperand>>,
        outputs: Vec<usize>,
        catalog: &dyn RoutineCatalog,
    ) -> PlpgsqlResult<RoutineMachine> {
        let store = VariableStore::new(&program.variables, catalog)?;
        let loops = (0..program.loops).map(|_| None).collect();
        let mut routine = RoutineMachine {
            found: first.len(),
            program,
            name,
            outputs,
            store,
            at: 0,
            operands: Vec::new(),
            loops,
            guards: Vec::new(),
            errors: Vec::new(),
            row_count: 0,
            result: None,
            row: None,
            rows: Vec::new(),
            kept: 0,
            pending: Pending::Nothing,
        };
        for (number, operand) in first.into_iter().enumerate() {
            if let Some(operand) = operand {
                routine.store.assign(&AssignmentTarget::Variable(number), operand, catalog.zone())?;
            }
        }
        routine.set_found(false, catalog)?;
        Ok(routine)
    }

    /// Goes on with what came of the last effect; the first time with [`EffectOutcome::Done`].
    pub fn go_on(&mut self, outcome: EffectOutcome, catalog: &dyn RoutineCatalog) -> Effect {
        let pending = std::mem::replace(&mut self.pending, Pending::Nothing);
        let done = match (pending, outcome) {
            (Pending::Over, _) => return Effect::Done(Vec::new()),
            (Pending::Handling(_), EffectOutcome::Failed(error)) => return self.over(Effect::Failed(error)),
            (pending, EffectOutcome::Failed(mut error)) => {
                if let (Pending::Statement, Some(text)) = (pending, self.statement_text()) {
                    let lines = error.context.take().into_iter().chain([format!("SQL statement \"{text}\"")]);
                    error.context = Some(lines.collect::<Vec<_>>().join("\n"));
                }
                Err(error)
            }
            (Pending::Operand, EffectOutcome::Answer(answer)) => self.operand_came(answer),
            (Pending::Statement, EffectOutcome::Answer(answer)) => self.statement_answered(answer, catalog),
            (Pending::Guard(number), _) => {
                self.guards.push(OpenGuard { number, errors: self.errors.len() });
                self.at += 1;
                Ok(())
            }
            (Pending::Handling(error), _) => match self.handle(error, catalog) {
                Some(effect) => return effect,
                None => Ok(()),
            },
            (Pending::Nothing | Pending::Operand | Pending::Statement, _) => Ok(()),
        };
        if let Err(error) = done {
            return self.fail(error);
        }
        for _ in 0..OPERATIONS_AT_ONCE {
            match self.step(catalog) {
                Ok(None) => {}
                Ok(Some(effect)) => return effect,
                Err(error) => return self.fail(error),
            }
        }
        Effect::Pause
    }

    fn over(&mut self, effect: Effect) -> Effect {
        self.pending = Pending::Over;
        effect
    }

    fn step(&mut self, catalog: &dyn RoutineCatalog) -> PlpgsqlResult<Option<Effect>> {
        let program = Arc::clone(&self.program);
        let Some(operation) = program.operations.get(self.at) else { return Ok(Some(self.give_back(catalog.zone()))) };
        let instruction = &operation.instruction;
        if let Some(text) = instruction.operands().get(self.operands.len()) {
            if let Some(simple) = &text.simple
                && let Some(operand) = simple.compute(&self.store)?
            {
                self.operands.push(operand);
                return Ok(None);
            }
            return self.run_text(text, 2, Pending::Operand, catalog).map(Some);
        }
        let operands = std::mem::take(&mut self.operands);
        self.operate(instruction, operands, catalog)
    }

    /// Has a text run.
    fn run_text(
        &mut self,
        text: &RoutineText,
        rows_max: usize,
        pending: Pending,
        catalog: &dyn RoutineCatalog,
    ) -> PlpgsqlResult<Effect> {
        let bound = self.store.bind(text, catalog)?;
        self.pending = pending;
        Ok(Effect::Run(RoutineStatement { sql: bound.sql, parameters: bound.parameters, types: bound.types, rows_max }))
    }

    /// An error: a handler looks at it once its savepoint has been returned to.
    fn fail(&mut self, mut error: Box<RoutineError>) -> Effect {
        self.operands.clear();
        self.add_context(&mut error);
        if error.is_final || self.guards.is_empty() {
            return self.over(Effect::Failed(error));
        }
        self.pending = Pending::Handling(error);
        Effect::RollBack
    }

    /// What the innermost guard does about an error; an effect if it does nothing.
    fn handle(&mut self, error: Box<RoutineError>, catalog: &dyn RoutineCatalog) -> Option<Effect> {
        let guard = self.guards.pop()?;
        self.errors.truncate(guard.errors);
        let program = Arc::clone(&self.program);
        let covers = |condition: &crate::program::HandledCondition| condition.covers(&error.sqlstate);
        let Some(arm) = program.guards[guard.number].iter().find(|arm| arm.conditions.iter().any(covers)) else {
            return Some(match self.guards.is_empty() {
                true => self.over(Effect::Failed(error)),
                false => {
                    self.pending = Pending::Handling(error);
                    Effect::RollBack
                }
            });
        };
        let texts = [(arm.variables.0, error.sqlstate.to_string()), (arm.variables.1, error.message.clone())];
        for (number, text) in texts {
            let operand = RoutineOperand::Scalar(Value::text(text), Type::Text);
            if let Err(error) = self.store.assign(&AssignmentTarget::Variable(number), operand, catalog.zone()) {
                return Some(self.fail(error));
            }
        }
        self.errors.push(*error);
        self.at = arm.at;
        None
    }

    /// Where an error came about, for those that do not say it.
    fn add_context(&self, error: &mut RoutineError) {
        let Some(operation) = self.program.operations.get(self.at) else { return };
        let own = match operation.statement {
            "" => format!("PL/pgSQL function {}", self.name),
            during if during.starts_with("during ") => {
                format!("PL/pgSQL function {} line {} {during}", self.name, operation.line)
            }
            statement => format!("PL/pgSQL function {} line {} at {statement}", self.name, operation.line),
        };
        if !error.is_own {
            error.context = Some(error.context.take().into_iter().chain([own]).collect::<Vec<_>>().join("\n"));
        }
        error.is_own = true;
    }

    /// The text of the statement at hand, as it is written.
    fn statement_text(&self) -> Option<&str> {
        match &self.program.operations.get(self.at)?.instruction {
            Instruction::Execute(text, _) | Instruction::Perform(text) | Instruction::ReturnQuery(text) => {
                Some(&text.sql)
            }
            _ => None,
        }
    }

    fn set_found(&mut self, found: bool, catalog: &dyn RoutineCatalog) -> PlpgsqlResult<()> {
        let operand = RoutineOperand::Scalar(Value::Boolean(found), Type::Boolean);
        self.store.assign(&AssignmentTarget::Variable(self.found), operand, catalog.zone())
    }
}

/// 22004.
fn null_value(message: &str) -> Box<RoutineError> {
    RoutineError::new(sqlstate::NULL_VALUE_NOT_ALLOWED, message)
}
