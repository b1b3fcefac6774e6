//! LOOP, WHILE, FOR and FOREACH.

use super::{BodyParser, control::Control};
use crate::error::{PlpgsqlResult, RoutineError, sqlstate};
use crate::lexer::BodyTokenKind;
use crate::names::BlockNames;
use crate::program::{AssignmentTarget, DeclaredType, Instruction};
use values::Type;

impl BodyParser<'_> {
    /// LOOP, behind that word.
    pub(super) fn plain_loop(&mut self, label: Option<String>) -> PlpgsqlResult<()> {
        let again = self.here();
        self.loop_body(label, None, again, Vec::new())
    }

    /// WHILE.
    pub(super) fn while_loop(&mut self, label: Option<String>) -> PlpgsqlResult<()> {
        let again = self.here();
        let condition = self.expression_until(&["loop"], "LOOP")?;
        let exit = self.emit(Instruction::Unless(Box::new(condition), 0))?;
        self.expect("loop")?;
        self.loop_body(label, None, again, vec![exit])
    }

    /// Statements up to END LOOP, and all that leaves them or goes on with them. `again`: where the next round begins.
    fn loop_body(
        &mut self,
        label: Option<String>,
        number: Option<usize>,
        again: usize,
        exits: Vec<usize>,
    ) -> PlpgsqlResult<()> {
        let own = self.statement;
        self.controls.push(Control::Loop { label: label.clone(), exits, continues: Vec::new(), number });
        self.statements(&["end"])?;
        self.expect("end")?;
        self.expect("loop")?;
        if let BodyTokenKind::Word(found, _) = &self.peek().kind {
            let (found, at) = (found.clone(), self.peek().start);
            self.advance();
            self.check_end_label(label.as_deref(), &found, at)?;
        }
        self.expect_mark(";")?;
        self.statement = own;
        let Some(Control::Loop { exits, continues, .. }) = self.controls.pop() else {
            unreachable!("what a loop has begun it ends")
        };
        self.emit(Instruction::Jump(again))?;
        for jump in continues {
            if let Some(target) = self.program.operations[jump].instruction.target() {
                *target = again;
            }
        }
        exits.into_iter().for_each(|jump| self.patch(jump));
        if let Some(number) = number {
            self.emit(Instruction::EndLoop(number))?;
        }
        Ok(())
    }

    fn next_loop(&mut self) -> usize {
        self.program.loops += 1;
        self.program.loops - 1
    }

    /// FOR, behind that word.
    pub(super) fn for_loop(&mut self, label: Option<String>) -> PlpgsqlResult<()> {
        let at = self.peek().start;
        let mut names = vec![self.names()?];
        while self.skip_mark(",") {
            names.push(self.names()?);
        }
        self.expect("in")?;
        self.statement.1 = "FOR over EXECUTE statement";
        if self.skip("execute") {
            let target = self.loop_target(&names, at)?;
            let mut all = vec![self.expression_until(&["loop", "using"], "LOOP or USING")?];
            if self.skip("using") {
                all.push(self.expression_until(&[",", "loop"], "LOOP")?);
                while self.skip_mark(",") {
                    all.push(self.expression_until(&[",", "loop"], "LOOP")?);
                }
            }
            let number = self.next_loop();
            self.emit(Instruction::BeginTextRows(number, all))?;
            return self.rows_loop(label, number, target);
        }
        let reverse = self.skip("reverse");
        let (start, end) = self.text_until(&["..", "loop"], "LOOP", true)?;
        if self.skip_mark("..") {
            return self.count_loop(label, &names, at, reverse, (start, end));
        }
        if reverse {
            return Err(RoutineError::syntax("cannot specify REVERSE in query FOR loop", start));
        }
        self.statement.1 = "FOR over SELECT rows";
        let target = self.loop_target(&names, at)?;
        let query = self.statement_of(start, end)?;
        let number = self.next_loop();
        self.emit(Instruction::BeginRows(number, Box::new(query)))?;
        self.rows_loop(label, number, target)
    }

    fn rows_loop(&mut self, label: Option<String>, number: usize, target: AssignmentTarget) -> PlpgsqlResult<()> {
        self.expect("loop")?;
        let again = self.here();
        let exit = self.emit(Instruction::NextRow(number, target, 0))?;
        self.loop_body(label, Some(number), again, vec![exit])
    }

    /// What gets the rows of a loop. Errors: 42601.
    fn loop_target(&mut self, names: &[Vec<String>], at: usize) -> PlpgsqlResult<AssignmentTarget> {
        let mut targets = Vec::new();
        for name in names {
            let Some(place) = self.scopes.find(name) else {
                let message = match names.len() {
                    1 => "loop variable of loop over rows must be a record variable or list of scalar variables".into(),
                    _ => format!("\"{}\" is not a known variable", name.join(".")),
                };
                return Err(RoutineError::syntax(message, at));
            };
            targets.push(self.target_of(place, at)?);
        }
        Ok(match targets.len() {
            1 => targets.remove(0),
            _ => AssignmentTarget::Several(targets),
        })
    }

    /// FOR over whole numbers, behind the two points.
    fn count_loop(
        &mut self,
        label: Option<String>,
        names: &[Vec<String>],
        at: usize,
        reverse: bool,
        (start, end): (usize, usize),
    ) -> PlpgsqlResult<()> {
        self.statement.1 = "FOR with integer loop variable";
        let [name] = names else {
            return Err(RoutineError::syntax("integer FOR loop must have only one target variable", at));
        };
        let [name] = name.as_slice() else {
            return Err(RoutineError::syntax("integer FOR loop must have only one target variable", at));
        };
        let mut bounds = vec![self.expression_of(start, end)?];
        bounds.push(self.expression_until(&["loop", "by"], "LOOP")?);
        if self.skip("by") {
            bounds.push(self.expression_until(&["loop"], "LOOP")?);
        }
        self.expect("loop")?;
        let variable = self.variable(name, DeclaredType::Known(Type::Integer), false, false)?;
        self.scopes.0.push(BlockNames { label: label.clone(), names: vec![(name.clone(), variable, false)] });
        let number = self.next_loop();
        self.emit(Instruction::BeginCount { number, bounds, reverse })?;
        let again = self.here();
        let exit = self.emit(Instruction::NextCount(number, variable, 0))?;
        self.loop_body(label, Some(number), again, vec![exit])?;
        self.scopes.0.pop();
        Ok(())
    }

    /// FOREACH, behind that word.
    pub(super) fn foreach_loop(&mut self, label: Option<String>) -> PlpgsqlResult<()> {
        let at = self.peek().start;
        let names = self.names()?;
        let Some(place) = self.scopes.find(&names) else {
            let message = format!("\"{}\" is not a known variable", names.join("."));
            return Err(RoutineError::syntax(message, at));
        };
        let target = self.target_of(place, at)?;
        if self.peek().is("slice") {
            return Err(RoutineError::unsupported("SLICE of FOREACH").at(self.peek().start));
        }
        if self.peek().is_mark(",") {
            return Err(RoutineError::new(
                sqlstate::FEATURE_NOT_SUPPORTED,
                "FOREACH with several targets is not supported",
            )
            .at(at));
        }
        self.expect("in")?;
        self.expect("array")?;
        let array = self.expression_until(&["loop"], "LOOP")?;
        self.expect("loop")?;
        let number = self.next_loop();
        self.emit(Instruction::BeginElements(number, Box::new(array)))?;
        let again = self.here();
        let exit = self.emit(Instruction::NextElement(number, target, 0))?;
        self.loop_body(label, Some(number), again, vec![exit])
    }
}
