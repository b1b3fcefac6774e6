//! Blocks, branches, EXIT and CONTINUE.
//!
//! Invariant: whatever leaves a block with EXCEPTION or a loop leaves it by the operations that end it.

use super::BodyParser;
use crate::error::{PlpgsqlResult, RoutineError, sqlstate};
use crate::lexer::BodyTokenKind;
use crate::names::BlockNames;
use crate::program::{DeclaredType, HandledCondition, HandlerArm, Instruction};
use sqlstate::conditions;
use std::sync::Arc;
use values::Type;

/// What is around a statement.
pub(super) enum Control {
    /// A block: its label, and the jumps that leave it. Whether it has EXCEPTION is known behind its statements only: the operations that would begin and end
    /// what it guards stand as jumps to the next one until then.
    Block { label: Option<String>, exits: Vec<usize>, unguards: Vec<usize>, is_guarding: bool },
    /// A loop: its label, the jumps that leave it and those that go on with it.
    Loop { label: Option<String>, exits: Vec<usize>, continues: Vec<usize>, number: Option<usize> },
    /// A handler.
    Handler,
}

impl BodyParser<'_> {
    /// `[DECLARE ..] BEGIN .. [EXCEPTION ..] END [label]`, without what ends it.
    pub(super) fn block(&mut self, label: Option<String>) -> PlpgsqlResult<()> {
        self.deeper()?;
        let entry = self.peek().start;
        self.statement = (super::line(self.text, entry), "");
        self.scopes.0.push(BlockNames { label: label.clone(), names: Vec::new() });
        let declared = if self.skip("declare") { self.declarations()? } else { Vec::new() };
        let begins = super::line(self.text, self.peek().start);
        self.statement = (begins, "during statement block local variable initialization");
        self.declare(declared)?;
        self.expect("begin")?;
        self.statement = (begins, "statement block");
        let guard = self.nothing_yet()?;
        let control =
            Control::Block { label: label.clone(), exits: Vec::new(), unguards: Vec::new(), is_guarding: true };
        self.controls.push(control);
        self.statements(&["end", "exception"])?;
        if self.skip("exception") {
            self.statement = (begins, "");
            self.guard(guard)?;
        }
        self.expect("end")?;
        self.end_label(label.as_deref())?;
        if let Some(Control::Block { exits, .. }) = self.controls.pop() {
            exits.into_iter().for_each(|jump| self.patch(jump));
        }
        self.scopes.0.pop();
        self.depth -= 1;
        Ok(())
    }

    /// A jump to the next operation, in whose place another may come.
    fn nothing_yet(&mut self) -> PlpgsqlResult<usize> {
        let next = self.here() + 1;
        self.emit(Instruction::Jump(next))
    }

    /// EXCEPTION of the innermost block, whose guard is to stand there.
    fn guard(&mut self, place: usize) -> PlpgsqlResult<()> {
        let Some(Control::Block { unguards, is_guarding, .. }) = self.controls.last_mut() else {
            unreachable!("a block is what ends here")
        };
        *is_guarding = false;
        let unguards = std::mem::take(unguards);
        self.program.guards.push(Vec::new());
        let number = self.program.guards.len() - 1;
        self.program.operations[place].instruction = Instruction::Guard(number);
        for unguard in unguards {
            self.program.operations[unguard].instruction = Instruction::Unguard;
        }
        self.emit(Instruction::Unguard)?;
        let over = self.emit(Instruction::Jump(0))?;
        let ends = self.handlers(number)?;
        ends.into_iter().chain([over]).for_each(|jump| self.patch(jump));
        Ok(())
    }

    /// Behind END: the label again, if any.
    fn end_label(&mut self, label: Option<&str>) -> PlpgsqlResult<()> {
        let BodyTokenKind::Word(found, _) = &self.peek().kind else { return Ok(()) };
        let (found, at) = (found.clone(), self.peek().start);
        self.advance();
        self.check_end_label(label, &found, at)
    }

    pub(super) fn check_end_label(&self, label: Option<&str>, found: &str, at: usize) -> PlpgsqlResult<()> {
        match label {
            None => {
                let message = format!("end label \"{found}\" specified for unlabeled block");
                Err(RoutineError::syntax(message, at))
            }
            Some(label) if label != found => {
                let message = format!("end label \"{found}\" differs from block's label \"{label}\"");
                Err(RoutineError::syntax(message, at))
            }
            Some(_) => Ok(()),
        }
    }

    /// WHEN .. THEN .. up to END; the jumps that leave the handlers.
    fn handlers(&mut self, guard: usize) -> PlpgsqlResult<Vec<usize>> {
        let text = || DeclaredType::Known(Type::Text);
        let variables =
            (self.variable("sqlstate", text(), true, false)?, self.variable("sqlerrm", text(), true, false)?);
        let names = vec![("sqlstate".to_owned(), variables.0, false), ("sqlerrm".to_owned(), variables.1, false)];
        self.scopes.0.push(BlockNames { label: None, names });
        let mut ends = Vec::new();
        if !self.peek().is("when") {
            return Err(self.unexpected());
        }
        while self.skip("when") {
            let mut conditions = self.condition()?;
            while self.skip("or") {
                conditions.extend(self.condition()?);
            }
            self.expect("then")?;
            let at = self.here();
            self.arms_of(guard).push(HandlerArm { conditions, at, variables });
            self.controls.push(Control::Handler);
            self.statements(&["when", "end"])?;
            self.controls.pop();
            self.emit(Instruction::Handled)?;
            ends.push(self.emit(Instruction::Jump(0))?);
        }
        self.scopes.0.pop();
        Ok(ends)
    }

    /// A condition by its name, or SQLSTATE and a code.
    fn condition(&mut self) -> PlpgsqlResult<Vec<HandledCondition>> {
        let at = self.peek().start;
        if self.skip("sqlstate") {
            let code = self.code()?;
            return Ok(vec![HandledCondition::Code(Arc::from(code))]);
        }
        let name = self.word().ok_or_else(|| self.unexpected())?;
        if name == "others" {
            return Ok(vec![HandledCondition::Others]);
        }
        let found: Vec<_> = conditions::codes(&name).map(|code| HandledCondition::Code(Arc::from(code))).collect();
        match found.is_empty() {
            false => Ok(found),
            true => {
                let message = format!("unrecognized exception condition \"{name}\"");
                Err(RoutineError::new(sqlstate::UNDEFINED_OBJECT, message).at(at))
            }
        }
    }

    /// A code as a string.
    pub(super) fn code(&mut self) -> PlpgsqlResult<String> {
        match &self.peek().kind {
            BodyTokenKind::Text(code) if conditions::is_code(code) => {
                let code = code.clone();
                self.advance();
                Ok(code)
            }
            BodyTokenKind::Text(_) => Err(self.near("invalid SQLSTATE code")),
            _ => Err(self.unexpected()),
        }
    }

    pub(super) fn if_statement(&mut self) -> PlpgsqlResult<()> {
        let mut ends = Vec::new();
        loop {
            let condition = self.expression_until(&["then"], "THEN")?;
            let otherwise = self.emit(Instruction::Unless(Box::new(condition), 0))?;
            self.expect("then")?;
            let before = self.statement;
            self.statements(&["elsif", "elseif", "else", "end"])?;
            self.statement = before;
            ends.push(self.emit(Instruction::Jump(0))?);
            self.patch(otherwise);
            if self.peek().is("elsif") || self.peek().is("elseif") {
                self.advance();
                continue;
            }
            if self.skip("else") {
                self.statements(&["end"])?;
            }
            break;
        }
        self.expect("end")?;
        self.expect("if")?;
        self.expect_mark(";")?;
        ends.into_iter().for_each(|jump| self.patch(jump));
        Ok(())
    }

    /// CASE with an operand or without.
    pub(super) fn case_statement(&mut self) -> PlpgsqlResult<()> {
        let hidden = match self.peek().is("when") {
            true => None,
            false => {
                let operand = self.expression_until(&["when"], "WHEN")?;
                let name = format!("__Case__Variable_{}__", self.program.variables.len());
                // It has the type of its value.
                let number = self.variable(&name, DeclaredType::Any, false, false)?;
                self.emit(Instruction::Assign(crate::program::AssignmentTarget::Variable(number), vec![operand]))?;
                self.scopes.0.push(BlockNames { label: None, names: vec![(name.clone(), number, false)] });
                Some(name)
            }
        };
        let mut ends = Vec::new();
        while self.skip("when") {
            let (start, end) = self.text_until(&["then"], "THEN", true)?;
            let condition = match &hidden {
                None => self.expression_of(start, end)?,
                Some(name) => {
                    let text = &self.text[start..end];
                    self.expression_of(start, end)?;
                    self.expression_text(&format!("\"{name}\" IN ({text})"), start)?
                }
            };
            let otherwise = self.emit(Instruction::Unless(Box::new(condition), 0))?;
            self.expect("then")?;
            let before = self.statement;
            self.statements(&["when", "else", "end"])?;
            self.statement = before;
            ends.push(self.emit(Instruction::Jump(0))?);
            self.patch(otherwise);
        }
        if ends.is_empty() {
            return Err(self.unexpected());
        }
        if self.skip("else") {
            self.statements(&["end"])?;
        } else {
            self.emit(Instruction::CaseNotFound)?;
        }
        if hidden.is_some() {
            self.scopes.0.pop();
        }
        self.expect("end")?;
        self.expect("case")?;
        self.expect_mark(";")?;
        ends.into_iter().for_each(|jump| self.patch(jump));
        Ok(())
    }

    /// EXIT and CONTINUE.
    pub(super) fn leave(&mut self, is_exit: bool) -> PlpgsqlResult<()> {
        let at = self.peek().start;
        let label = match &self.peek().kind {
            BodyTokenKind::Word(word, quoted) if *quoted || word != "when" => {
                let label = word.clone();
                self.advance();
                Some(label)
            }
            _ => None,
        };
        let condition = match self.skip("when") {
            true => Some(self.expression_until(&[";"], ";")?),
            false => None,
        };
        self.expect_mark(";")?;
        let target = self.control_named(label.as_deref(), is_exit, at)?;
        let skip = match condition {
            Some(condition) => Some(self.emit(Instruction::Unless(Box::new(condition), 0))?),
            None => None,
        };
        self.unwind(target)?;
        let jump = self.emit(Instruction::Jump(0))?;
        match &mut self.controls[target] {
            Control::Block { exits, .. } => exits.push(jump),
            Control::Loop { exits, .. } if is_exit => exits.push(jump),
            Control::Loop { continues, .. } => continues.push(jump),
            Control::Handler => unreachable!("it has no label"),
        }
        if let Some(skip) = skip {
            self.patch(skip);
        }
        Ok(())
    }

    fn control_named(&self, label: Option<&str>, is_exit: bool, at: usize) -> PlpgsqlResult<usize> {
        let found = self.controls.iter().rposition(|control| match (control, label) {
            (Control::Loop { .. }, None) => true,
            (Control::Loop { label: known, .. }, Some(label)) => known.as_deref() == Some(label),
            (Control::Block { label: known, .. }, Some(label)) => known.as_deref() == Some(label),
            _ => false,
        });
        match (found.map(|place| (place, &self.controls[place])), label) {
            (Some((_, Control::Block { .. })), Some(label)) if !is_exit => {
                let message = format!("block label \"{label}\" cannot be used in CONTINUE");
                Err(RoutineError::syntax(message, at))
            }
            (Some((place, _)), _) => Ok(place),
            (None, Some(label)) => {
                let message =
                    format!("there is no label \"{label}\" attached to any block or loop enclosing this statement");
                Err(RoutineError::syntax(message, at))
            }
            (None, None) => Err(RoutineError::syntax(
                match is_exit {
                    true => "EXIT cannot be used outside a loop, unless it has a label",
                    false => "CONTINUE cannot be used outside a loop",
                },
                at,
            )),
        }
    }

    /// Ends what is within the control of this place, and what that guards.
    pub(super) fn unwind(&mut self, target: usize) -> PlpgsqlResult<()> {
        for place in (target..self.controls.len()).rev() {
            match &self.controls[place] {
                Control::Handler => {
                    self.emit(Instruction::Handled)?;
                }
                Control::Loop { number: Some(number), .. } if place > target => {
                    let number = *number;
                    self.emit(Instruction::EndLoop(number))?;
                }
                Control::Block { is_guarding: true, .. } => {
                    let unguard = self.nothing_yet()?;
                    if let Control::Block { unguards, .. } = &mut self.controls[place] {
                        unguards.push(unguard);
                    }
                }
                Control::Loop { .. } | Control::Block { .. } => {}
            }
        }
        Ok(())
    }
}
