//! RETURN in all its forms.

use super::BodyParser;
use crate::error::{PlpgsqlResult, RoutineError, sqlstate};
use crate::program::{Instruction, Returns};

impl BodyParser<'_> {
    /// RETURN.
    pub(super) fn return_statement(&mut self) -> PlpgsqlResult<()> {
        let at = self.peek().start;
        if self.peek().is("next") || self.peek().is("query") {
            let is_next = self.peek().is("next");
            let what = if is_next { "NEXT" } else { "QUERY" };
            let Returns::Set { has_outputs, .. } = self.program.returns else {
                return self.wrong_return(format!("cannot use RETURN {what} in a non-SETOF function"), at);
            };
            self.advance();
            return if is_next { self.return_next(has_outputs) } else { self.return_query() };
        }
        let refused = match &self.program.returns {
            Returns::Value(_) | Returns::Row => {
                let value = self.expression_until(&[";"], ";")?;
                self.emit(Instruction::SetResult(Box::new(value)))?;
                None
            }
            Returns::Nothing if self.scopes.0.first().is_some_and(|outer| outer.label.is_some()) => {
                Some("in a procedure")
            }
            Returns::Nothing | Returns::Void => Some("in function returning void"),
            Returns::Outputs => Some("in function with OUT parameters"),
            Returns::Set { .. } => Some("in function returning set"),
        };
        if let Some(place) = refused
            && !self.peek().is_mark(";")
        {
            let refused = self.wrong_return(format!("RETURN cannot have a parameter {place}"), self.peek().start);
            return match self.program.returns {
                Returns::Set { .. } => refused.map_err(|error| error.with_hint("Use RETURN NEXT or RETURN QUERY.")),
                _ => refused,
            };
        }
        self.expect_mark(";")?;
        self.unwind(0)?;
        self.emit(Instruction::Return)?;
        Ok(())
    }

    fn wrong_return(&self, message: String, at: usize) -> PlpgsqlResult<()> {
        Err(RoutineError::new(sqlstate::DATATYPE_MISMATCH, message).at(at))
    }

    fn return_next(&mut self, has_outputs: bool) -> PlpgsqlResult<()> {
        self.statement.1 = "RETURN NEXT";
        let value = match has_outputs {
            true if self.peek().is_mark(";") => None,
            true => {
                let message = "RETURN NEXT cannot have a parameter in function with OUT parameters";
                return self.wrong_return(message.to_owned(), self.peek().start);
            }
            false => Some(Box::new(self.expression_until(&[";"], ";")?)),
        };
        self.expect_mark(";")?;
        self.emit(Instruction::ReturnNext(value))?;
        Ok(())
    }

    fn return_query(&mut self) -> PlpgsqlResult<()> {
        self.statement.1 = "RETURN QUERY";
        if self.skip("execute") {
            let mut all = vec![self.expression_until(&["using", ";"], "; or USING")?];
            if self.skip("using") {
                all.push(self.expression_until(&[",", ";"], ", or ;")?);
                while self.skip_mark(",") {
                    all.push(self.expression_until(&[",", ";"], ", or ;")?);
                }
            }
            self.expect_mark(";")?;
            self.emit(Instruction::ReturnTextQuery(all))?;
            return Ok(());
        }
        let (start, end) = self.text_until(&[";"], ";", false)?;
        let query = self.statement_of(start, end)?;
        self.expect_mark(";")?;
        self.emit(Instruction::ReturnQuery(Box::new(query)))?;
        Ok(())
    }
}
