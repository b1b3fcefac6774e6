//! What the query processor says of a statement before it is run.
//!
//! Invariant: a statement is described again only before anything of it was done or told.

use crate::errors::{Result, SqlError};
use crate::limits::RECOMPILATIONS_MAX;
use crate::session::state::{Execution, TextLanguage};
use crate::session::turn::Turn;
use crate::sql::parse::Parsed;
use crate::sql::prepared::{Plan, Prepared};
use std::sync::Arc;

impl Turn<'_> {
    /// The query processor described the statement.
    pub fn described(
        &mut self,
        mut execution: Box<Execution>,
        columns: &[messages::program::ResultColumn],
        parameters: &[values::Type],
    ) {
        let prepared = execution.prepared.clone();
        let done = match self.complete_description(&prepared, columns, parameters) {
            Ok(Some(described)) => {
                execution.prepared = described;
                match self.bind_constants(&mut execution) {
                    Err(_) if self.run_as_written(&execution) => Ok(()),
                    _ => execution.check_told().and_then(|()| self.enter(execution)),
                }
            }
            Ok(None) => self.describe_anew(execution),
            Err(_) if self.run_as_written(&execution) => Ok(()),
            Err(error) => Err(error),
        };
        if let Err(error) = done {
            self.fail(&error);
        }
    }

    /// The statement is not what it was described to be: it is described once more, and then begun. Nothing of it has been done or told.
    pub fn describe_anew(&mut self, mut execution: Box<Execution>) -> Result<()> {
        if execution.recompilations == RECOMPILATIONS_MAX || execution.fills.is_some() {
            return Err(SqlError::plan_changed());
        }
        execution.recompilations += 1;
        let before = execution.prepared.clone();
        execution.prepared = self.compile_anew(&before)?;
        if !before.undescribed && execution.portal.is_some() {
            execution.told.get_or_insert(before);
        }
        execution.check_told()?;
        self.enter(execution)
    }

    /// A statement with what the query processor said of it; `None`: what it mentions has changed since that was asked.
    pub fn complete_description(
        &mut self,
        prepared: &Prepared,
        columns: &[messages::program::ResultColumn],
        parameters: &[values::Type],
    ) -> Result<Option<Arc<Prepared>>> {
        if !prepared.stands(&self.catalog()) {
            return Ok(None);
        }
        let parsed: Parsed = self
            .read_one(&prepared.text, TextLanguage::of(prepared))?
            .ok_or_else(|| SqlError::syntax(&prepared.text))?;
        let described = Some((columns, parameters));
        let before = match &prepared.plan {
            Plan::Parts(parts) => parts.descriptions.as_slice(),
            _ => &[],
        };
        let compiled = self.compile_on(&parsed, &prepared.text, prepared.declared.clone(), before, described)?;
        Ok(Some(self.keep(&prepared.text, compiled)))
    }
}
