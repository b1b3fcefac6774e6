//! What is known when a statement is planned is computed then, as PostgreSQL does: a division of constants by zero fails
//! even where no row would ask for it, but not behind a condition that is known to be false.

use super::frame::ColumnFrame;
use super::{PlanResult, QueryPlanner, not_built};
use crate::error::ExecutionError;
use crate::expression::{Callee, CompiledExpression};
use analyzer::facts::Volatility;
use analyzer::tree::ExprId;
use analyzer::types::FunctionId;
use evaluation::call::SessionInfo;
use evaluation::{CallArguments, CallEnvironment};
use values::{Value, Zone};

/// Bytes of a value beyond which it is computed by each execution: plans are kept for long.
const FOLDED_BYTES_MAX: usize = 16 << 10;
/// `age(timestamptz, timestamptz)`: PostgreSQL calls it immutable although the session's zone counts.
const AGE_OF_INSTANTS: FunctionId = FunctionId(1199);

/// Immutable functions ask it nothing.
struct NoSession;

impl SessionInfo for NoSession {
    fn current_user(&self) -> &str {
        ""
    }
    fn session_user(&self) -> &str {
        ""
    }
    fn database(&self) -> &str {
        ""
    }
    fn version(&self) -> &str {
        ""
    }
    fn setting(&self, _name: &str) -> Option<String> {
        None
    }
    fn backend_pid(&self) -> i32 {
        0
    }
}

impl QueryPlanner<'_> {
    /// A call, or its value if that is known.
    pub fn folded(&mut self, callee: Callee, arguments: Vec<CompiledExpression>) -> PlanResult<CompiledExpression> {
        let row = self.catalog.function(callee.function);
        let immutable = row.is_some_and(|row| row.volatility == Volatility::Immutable);
        let immutable = immutable && callee.function != AGE_OF_INSTANTS;
        let known = |argument: &CompiledExpression| match argument {
            CompiledExpression::Constant(value) => Some(value.clone()),
            _ => None,
        };
        let values: Option<Vec<Value>> = arguments.iter().map(known).collect();
        self.check_pattern(callee.function, &arguments)?;
        let Some(values) = values.filter(|_| immutable) else {
            return Ok(CompiledExpression::CallArguments(Box::new(callee), arguments));
        };
        if callee.strict && values.iter().any(Value::is_null) {
            return Ok(CompiledExpression::Constant(Value::Null));
        }
        let mut random = || 0;
        let mut environment = CallEnvironment {
            transaction_time: 0,
            statement_time: 0,
            // Nothing immutable depends on it.
            zone: &Zone::UTC,
            random: &mut random,
            session: &NoSession,
            patterns: &mut self.patterns,
        };
        let mut call = CallArguments {
            arguments: &values,
            types: &callee.types,
            result: callee.result,
            environment: &mut environment,
        };
        let value = (callee.body)(&mut call).map_err(ExecutionError::from)?;
        if value.size_in_memory() > FOLDED_BYTES_MAX {
            return Ok(CompiledExpression::CallArguments(Box::new(callee), arguments));
        }
        Ok(CompiledExpression::Constant(value))
    }

    /// Refuses a regular expression that is known here and cannot be matched as PostgreSQL does.
    pub fn check_pattern(&mut self, function: FunctionId, arguments: &[CompiledExpression]) -> PlanResult<()> {
        let mut known = Vec::new();
        for argument in arguments {
            known.push(match argument {
                CompiledExpression::Constant(value) => value.as_text(),
                _ => None,
            });
        }
        match evaluation::functions::takes_pattern(function, &known, &mut self.patterns) {
            true => Ok(()),
            false => not_built("this regular expression"),
        }
    }

    /// AND, or OR: a part of the deciding truth ends it.
    pub fn connected(
        &mut self,
        parts: &[ExprId],
        decides: bool,
        level: usize,
        current: &ColumnFrame,
    ) -> PlanResult<CompiledExpression> {
        let mut compiled = Vec::with_capacity(parts.len());
        for part in parts {
            match self.compile(*part, level, current)? {
                CompiledExpression::Constant(Value::Boolean(truth)) if truth == decides => {
                    return Ok(CompiledExpression::Constant(truth.into()));
                }
                CompiledExpression::Constant(Value::Boolean(_)) => {}
                part => compiled.push(part),
            }
        }
        Ok(match (compiled.len(), decides) {
            (0, _) => CompiledExpression::Constant((!decides).into()),
            (1, _) => compiled.remove(0),
            (_, false) => CompiledExpression::And(compiled),
            (_, true) => CompiledExpression::Or(compiled),
        })
    }

    /// COALESCE: a value that is known and not null ends it.
    pub fn coalesce(
        &mut self,
        parts: &[ExprId],
        level: usize,
        current: &ColumnFrame,
    ) -> PlanResult<CompiledExpression> {
        let mut compiled = Vec::with_capacity(parts.len());
        for part in parts {
            match self.compile(*part, level, current)? {
                CompiledExpression::Constant(Value::Null) => {}
                part => {
                    let ends = matches!(part, CompiledExpression::Constant(_));
                    compiled.push(part);
                    if ends {
                        break;
                    }
                }
            }
        }
        Ok(match compiled.len() {
            0 => CompiledExpression::Constant(Value::Null),
            1 => compiled.remove(0),
            _ => CompiledExpression::Coalesce(compiled),
        })
    }

    /// CASE: what is behind a condition that is known to be false is not looked at, nor what is behind a true one.
    pub fn case(
        &mut self,
        operand: Option<ExprId>,
        arms: &[(ExprId, ExprId)],
        otherwise: ExprId,
        level: usize,
        current: &ColumnFrame,
    ) -> PlanResult<CompiledExpression> {
        let operand = operand.map(|operand| self.boxed(operand, level, current)).transpose()?;
        let known = match operand.as_deref() {
            Some(CompiledExpression::Constant(value)) => Some(value.clone()),
            _ => None,
        };
        self.case_constants.push(known);
        let compiled = self.arms(arms, otherwise, level, current);
        self.case_constants.pop();
        let (arms, otherwise) = compiled?;
        if arms.is_empty()
            && operand.as_deref().is_none_or(|operand| matches!(operand, CompiledExpression::Constant(_)))
        {
            return Ok(otherwise);
        }
        Ok(CompiledExpression::Case { operand, arms, otherwise: Box::new(otherwise) })
    }

    fn arms(
        &mut self,
        arms: &[(ExprId, ExprId)],
        otherwise: ExprId,
        level: usize,
        current: &ColumnFrame,
    ) -> PlanResult<(Vec<(CompiledExpression, CompiledExpression)>, CompiledExpression)> {
        let mut compiled = Vec::with_capacity(arms.len());
        for (when, then) in arms {
            match self.compile(*when, level, current)? {
                CompiledExpression::Constant(Value::Boolean(true)) => {
                    return Ok((compiled, self.compile(*then, level, current)?));
                }
                CompiledExpression::Constant(_) => {}
                when => compiled.push((when, self.compile(*then, level, current)?)),
            }
        }
        Ok((compiled, self.compile(otherwise, level, current)?))
    }
}
