//! Statements: which one it is, assignments, and what runs SQL.

use super::BodyParser;
use crate::error::{PlpgsqlResult, RoutineError, sqlstate};
use crate::lexer::BodyTokenKind;
use crate::place::VariablePlace;
use crate::program::{AssignmentTarget, Instruction, IntoTarget};

impl BodyParser<'_> {
    /// Statements up to one of these words, which is not taken.
    pub(super) fn statements(&mut self, until: &[&str]) -> PlpgsqlResult<()> {
        self.deeper()?;
        while !until.iter().any(|word| self.peek().is(word)) {
            self.statement()?;
        }
        self.depth -= 1;
        Ok(())
    }

    fn statement(&mut self) -> PlpgsqlResult<()> {
        if self.is_assignment() {
            return self.assignment();
        }
        self.begin_statement("");
        let label = self.label()?;
        if label.is_some() || self.peek().is("declare") || self.peek().is("begin") {
            return self.labelled(label);
        }
        let BodyTokenKind::Word(word, false) = &self.peek().kind else { return self.sql_statement() };
        let word = word.clone();
        self.begin_statement(match word.as_str() {
            "if" => "IF",
            "case" => "CASE",
            "loop" => "LOOP",
            "while" => "WHILE",
            "foreach" => "FOREACH over array",
            "exit" => "EXIT",
            "continue" => "CONTINUE",
            "return" => "RETURN",
            "raise" => "RAISE",
            "assert" => "ASSERT",
            "perform" => "PERFORM",
            "execute" => "EXECUTE",
            "get" => "GET DIAGNOSTICS",
            "call" => "CALL",
            _ => "SQL statement",
        });
        match word.as_str() {
            "loop" | "while" | "for" | "foreach" => return self.labelled(None),
            "open" | "fetch" | "move" | "close" => {
                return Err(RoutineError::unsupported("a cursor in PL/pgSQL").at(self.peek().start));
            }
            "commit" | "rollback" => {
                return Err(
                    RoutineError::unsupported(format!("{} in PL/pgSQL", word.to_uppercase())).at(self.peek().start)
                );
            }
            "if" | "case" | "exit" | "continue" | "return" | "raise" | "assert" | "perform" | "execute" | "get"
            | "null" => {
                self.advance();
            }
            _ => return self.sql_statement(),
        }
        match word.as_str() {
            "if" => self.if_statement(),
            "case" => self.case_statement(),
            "exit" => self.leave(true),
            "continue" => self.leave(false),
            "return" => self.return_statement(),
            "raise" => self.raise(),
            "assert" => self.assert(),
            "perform" => self.perform(),
            "execute" => self.execute(),
            "get" => self.diagnostics(),
            _ => self.expect_mark(";"),
        }
    }

    /// A block or loop, which may have a label.
    fn labelled(&mut self, label: Option<String>) -> PlpgsqlResult<()> {
        self.deeper()?;
        if self.peek().is("declare") || self.peek().is("begin") {
            self.block(label)?;
            self.expect_mark(";")?;
        } else {
            self.begin_statement("LOOP");
            let word = self.word().unwrap_or_default();
            match word.as_str() {
                "loop" => self.plain_loop(label)?,
                "while" => {
                    self.statement.1 = "WHILE";
                    self.while_loop(label)?;
                }
                "for" => self.for_loop(label)?,
                "foreach" => {
                    self.statement.1 = "FOREACH over array";
                    self.foreach_loop(label)?;
                }
                _ => {
                    self.at = self.at.saturating_sub(1);
                    return Err(self.unexpected());
                }
            }
        }
        self.depth -= 1;
        Ok(())
    }

    /// Whether a variable is assigned to.
    fn is_assignment(&self) -> bool {
        let BodyTokenKind::Word(..) = self.peek().kind else {
            return matches!(self.peek().kind, BodyTokenKind::Parameter(_));
        };
        let mut ahead = 1;
        while self.ahead(ahead).is_mark(".") && matches!(self.ahead(ahead + 1).kind, BodyTokenKind::Word(..)) {
            ahead += 2;
        }
        let next = self.ahead(ahead);
        next.is_mark(":=") || next.is_mark("=") || (next.is_mark("[") && ahead + 1 < self.tokens.len())
    }

    fn assignment(&mut self) -> PlpgsqlResult<()> {
        self.begin_statement("assignment");
        let at = self.peek().start;
        let names = match self.peek().kind {
            BodyTokenKind::Parameter(number) => {
                self.advance();
                vec![format!("${number}")]
            }
            _ => self.names()?,
        };
        let Some(place) = self.scopes.find(&names) else {
            return Err(RoutineError::syntax(format!("\"{}\" is not a known variable", names.join(".")), at));
        };
        let mut target = self.target_of(place, at)?;
        let mut values = Vec::new();
        if self.skip_mark("[") {
            let AssignmentTarget::Variable(number) = target else {
                return Err(RoutineError::unsupported("assignment to an element of an array in a record").at(at));
            };
            target = AssignmentTarget::Element(number);
            values.push(self.expression_until(&["]", ":"], "]")?);
            if self.peek().is_mark(":") {
                return Err(RoutineError::unsupported("assignment to a slice of an array").at(at));
            }
            self.expect_mark("]")?;
            if self.peek().is_mark("[") || self.peek().is_mark(".") {
                return Err(RoutineError::unsupported("assignment to a part of an element").at(at));
            }
        }
        if !self.skip_mark(":=") && !self.skip_mark("=") {
            return Err(self.unexpected());
        }
        values.push(self.expression_until(&[";"], ";")?);
        self.expect_mark(";")?;
        self.emit(Instruction::Assign(target, values))?;
        Ok(())
    }

    /// What a name that is assigned to stands for. Errors: 22005 for a constant.
    pub(super) fn target_of(&self, place: VariablePlace, at: usize) -> PlpgsqlResult<AssignmentTarget> {
        let (target, number) = match place {
            VariablePlace::Whole(number) | VariablePlace::Fields(number) => {
                (AssignmentTarget::Variable(number), number)
            }
            VariablePlace::Field(number, field) => (AssignmentTarget::Field(number, field), number),
        };
        let variable = &self.program.variables[number];
        if variable.is_constant {
            let message = format!("variable \"{}\" is declared CONSTANT", variable.name);
            return Err(RoutineError::new(sqlstate::ERROR_IN_ASSIGNMENT, message).at(at));
        }
        Ok(target)
    }

    /// What stands behind INTO: STRICT, and variables.
    fn target_of_into(&mut self) -> PlpgsqlResult<IntoTarget> {
        let is_strict = self.skip("strict");
        let mut targets = Vec::new();
        loop {
            let at = self.peek().start;
            let names = match &self.peek().kind {
                BodyTokenKind::Word(..) => self.names()?,
                _ => return Err(self.unexpected()),
            };
            let Some(place) = self.scopes.find(&names) else {
                return Err(RoutineError::syntax(format!("\"{}\" is not a known variable", names.join(".")), at));
            };
            targets.push(self.target_of(place, at)?);
            if !self.skip_mark(",") {
                break;
            }
        }
        let target = match targets.len() {
            1 => targets.remove(0),
            _ => AssignmentTarget::Several(targets),
        };
        Ok(IntoTarget { target, is_strict })
    }

    /// A statement of SQL, with INTO or without.
    fn sql_statement(&mut self) -> PlpgsqlResult<()> {
        let first = self.peek().clone();
        let (mut into, mut cut) = (None, None);
        let is_import = first.is("import");
        loop {
            let token = self.peek().clone();
            if token.is_mark(";") {
                break;
            }
            if token.kind == BodyTokenKind::End {
                return Err(self.unexpected());
            }
            let before = self.at.checked_sub(1).map(|at| &self.tokens[at]);
            let is_clause = !before.is_some_and(|before| before.is("insert") || before.is("merge")) && !is_import;
            if token.is("into") && token.start > first.start && is_clause {
                if into.is_some() {
                    return Err(RoutineError::syntax("INTO specified more than once", token.start));
                }
                self.advance();
                into = Some(self.target_of_into()?);
                cut = Some((token.start, self.tokens[self.at - 1].end));
                continue;
            }
            self.advance();
        }
        let end = self.tokens[self.at - 1].end.max(first.start);
        // Blanks stand where INTO stood: places stay what they were.
        let mut text = self.text[first.start..end].to_owned();
        if let Some((from, to)) = cut {
            let blanks = " ".repeat(to - from);
            text.replace_range(from - first.start..to - first.start, &blanks);
        }
        if text.trim().is_empty() {
            return Err(self.unexpected());
        }
        let statement = self.statement_text(text.trim_end().to_owned(), first.start)?;
        self.expect_mark(";")?;
        self.emit(Instruction::Execute(Box::new(statement), into))?;
        Ok(())
    }

    fn perform(&mut self) -> PlpgsqlResult<()> {
        let query = self.expression_until(&[";"], ";")?;
        self.expect_mark(";")?;
        self.emit(Instruction::Perform(Box::new(query)))?;
        Ok(())
    }

    /// EXECUTE: INTO and USING in either order.
    fn execute(&mut self) -> PlpgsqlResult<()> {
        let mut all = vec![self.expression_until(&["into", "using", ";"], "INTO or USING or ;")?];
        let mut into = None;
        loop {
            if self.peek().is("into") {
                if into.is_some() {
                    return Err(self.unexpected());
                }
                self.advance();
                into = Some(self.target_of_into()?);
            } else if self.peek().is("using") {
                if all.len() > 1 {
                    return Err(self.unexpected());
                }
                self.advance();
                all.push(self.expression_until(&[",", ";", "into"], ", or ; or INTO")?);
                while self.skip_mark(",") {
                    all.push(self.expression_until(&[",", ";", "into"], ", or ; or INTO")?);
                }
            } else {
                break;
            }
        }
        self.expect_mark(";")?;
        self.emit(Instruction::ExecuteText(all, into))?;
        Ok(())
    }

    fn assert(&mut self) -> PlpgsqlResult<()> {
        let condition = self.expression_until(&[",", ";"], ", or ;")?;
        let message = match self.skip_mark(",") {
            true => Some(Box::new(self.expression_until(&[";"], ";")?)),
            false => None,
        };
        self.expect_mark(";")?;
        let fails = self.emit(Instruction::Unless(Box::new(condition), 0))?;
        let over = self.emit(Instruction::Jump(0))?;
        self.patch(fails);
        self.emit(Instruction::AssertFails(message))?;
        self.patch(over);
        Ok(())
    }
}
