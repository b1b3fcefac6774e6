//! DECLARE: variables, their types and first values, and other names for them.

use super::{BodyParser, may_be_row};
use crate::error::{PlpgsqlResult, RoutineError, sqlstate};
use crate::lexer::BodyTokenKind;
use crate::place::VariablePlace;
use crate::program::{DeclaredType, Instruction};
use crate::sql_text::RoutineText;

impl BodyParser<'_> {
    /// The declarations up to BEGIN; the variables get their first values in this order.
    pub(super) fn declarations(&mut self) -> PlpgsqlResult<Vec<(usize, Option<RoutineText>)>> {
        let mut declared = Vec::new();
        loop {
            // A second DECLARE changes nothing.
            if self.skip("declare") {
                continue;
            }
            if self.peek().is("begin") {
                return Ok(declared);
            }
            if self.peek().is_mark("<<") {
                return Err(RoutineError::syntax(
                    "block label must be placed before DECLARE, not after",
                    self.peek().start,
                ));
            }
            self.declaration(&mut declared)?;
        }
    }

    fn declaration(&mut self, declared: &mut Vec<(usize, Option<RoutineText>)>) -> PlpgsqlResult<()> {
        let at = self.peek().start;
        let innermost = self.scopes.0.last();
        if let BodyTokenKind::Word(word, _) = &self.peek().kind
            && innermost.is_some_and(|scope| scope.names.iter().any(|(known, ..)| known == word))
        {
            return Err(self.near("duplicate declaration"));
        }
        let name = self.new_name()?;
        if self.skip("alias") {
            self.expect("for")?;
            return self.alias(name);
        }
        let is_constant = self.skip("constant");
        if self.peek().is("cursor") || self.peek().is("refcursor") || self.peek().is("scroll") || self.peek().is("no") {
            return Err(RoutineError::unsupported("a cursor in PL/pgSQL").at(self.peek().start));
        }
        let data_type = self.declared_type()?;
        if self.skip("collate") {
            return Err(RoutineError::unsupported("COLLATE of a variable").at(self.peek().start));
        }
        let is_not_null = self.skip("not");
        if is_not_null {
            self.expect("null")?;
        }
        let default = match self.peek().is_mark(";") {
            true => None,
            false => {
                if !self.skip_mark(":=") && !self.skip_mark("=") && !self.skip("default") {
                    return Err(self.unexpected());
                }
                Some(self.expression_until(&[";"], ";")?)
            }
        };
        self.expect_mark(";")?;
        if is_not_null && default.is_none() {
            let message = format!("variable \"{name}\" must have a default value, since it's declared NOT NULL");
            return Err(RoutineError::new(sqlstate::NULL_VALUE_NOT_ALLOWED, message).at(at));
        }
        let is_row = may_be_row(&data_type);
        let number = self.variable(&name, data_type, is_constant, is_not_null)?;
        self.scopes.innermost().names.push((name, number, is_row));
        declared.push((number, default));
        Ok(())
    }

    /// Another name for a variable.
    fn alias(&mut self, name: String) -> PlpgsqlResult<()> {
        let at = self.peek().start;
        let names = match self.peek().kind {
            BodyTokenKind::Parameter(number) => {
                self.advance();
                vec![format!("${number}")]
            }
            _ => self.names()?,
        };
        let Some(VariablePlace::Whole(number)) = self.scopes.find(&names) else {
            let message = format!("variable \"{}\" does not exist", names.join("."));
            return Err(RoutineError::new(sqlstate::UNDEFINED_OBJECT, message).at(at));
        };
        let is_row = may_be_row(&self.program.variables[number].declared);
        self.scopes.innermost().names.push((name, number, is_row));
        self.expect_mark(";")
    }

    /// A type, up to what ends it.
    pub(super) fn declared_type(&mut self) -> PlpgsqlResult<DeclaredType> {
        let start = self.peek().start;
        if self.peek().is("record") && !self.ahead(1).is_mark(".") && !self.ahead(1).is_mark("%") {
            self.advance();
            return Ok(DeclaredType::Record);
        }
        if matches!(self.peek().kind, BodyTokenKind::Word(..)) {
            let before = self.at;
            let names = self.names()?;
            if self.peek().is_mark("%") && (self.ahead(1).is("type") || self.ahead(1).is("rowtype")) {
                self.advance();
                let is_type = self.skip("type");
                if !is_type {
                    self.advance();
                }
                if self.peek().is_mark("[") || self.peek().is("array") {
                    return Err(RoutineError::unsupported("an array of %TYPE").at(self.peek().start));
                }
                return self.like(names, is_type, start);
            }
            self.at = before;
        }
        let (mut end, mut depth) = (start, 0usize);
        loop {
            let token = self.peek();
            let is_word = |words: &[&str]| words.iter().any(|word| token.is(word));
            let ends = token.is_mark(";") || token.is_mark(":=") || token.is_mark("=");
            if depth == 0 && (ends || is_word(&["not", "default", "collate"])) {
                break;
            }
            match token.kind {
                BodyTokenKind::Mark("(" | "[") => depth += 1,
                BodyTokenKind::Mark(")" | "]") => {
                    depth = depth.checked_sub(1).ok_or_else(|| self.near("mismatched parentheses"))?;
                }
                BodyTokenKind::End => {
                    return Err(match depth {
                        0 => self.near("incomplete data type declaration"),
                        _ => self.near("mismatched parentheses"),
                    });
                }
                _ => {}
            }
            end = self.advance().end;
        }
        if end == start {
            return Err(self.near("missing data type declaration"));
        }
        Ok(DeclaredType::Named(self.text[start..end].to_owned()))
    }

    /// `names%TYPE` and `names%ROWTYPE`.
    fn like(&mut self, names: Vec<String>, is_type: bool, at: usize) -> PlpgsqlResult<DeclaredType> {
        if !is_type {
            return Ok(DeclaredType::OfTable(names));
        }
        if let Some(VariablePlace::Whole(number)) = self.scopes.find(&names) {
            return Ok(DeclaredType::OfVariable(number));
        }
        if names.len() < 2 {
            let message = "syntax error at or near \"%\"";
            return Err(RoutineError::syntax(message, at));
        }
        Ok(DeclaredType::OfColumn(names))
    }

    /// Writes out that variables get their first values.
    pub(super) fn declare(&mut self, declared: Vec<(usize, Option<RoutineText>)>) -> PlpgsqlResult<()> {
        for (number, default) in declared {
            self.emit(Instruction::Declare(number, default.map(Box::new)))?;
        }
        Ok(())
    }
}
