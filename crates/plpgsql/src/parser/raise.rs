//! RAISE.

use super::BodyParser;
use crate::error::{PlpgsqlResult, RoutineError, sqlstate};
use crate::lexer::BodyTokenKind;
use crate::program::{Instruction, NoticeLevel, Raise, RaiseOption};
use sqlstate::conditions;

impl BodyParser<'_> {
    /// RAISE, behind that word.
    pub(super) fn raise(&mut self) -> PlpgsqlResult<()> {
        if self.skip_mark(";") {
            self.emit(Instruction::RaiseAgain)?;
            return Ok(());
        }
        let level = self.level();
        let mut raise = Raise { level, condition: None, format: None, arguments: 0, options: Vec::new() };
        let mut operands = Vec::new();
        let at = self.peek().start;
        match self.peek().kind.clone() {
            BodyTokenKind::Text(format) => {
                self.advance();
                raise.format = Some(format);
                while self.skip_mark(",") {
                    operands.push(self.expression_until(&[",", ";", "using"], ", or ; or USING")?);
                }
            }
            _ if self.peek().is("sqlstate") => {
                self.advance();
                raise.condition = Some(self.code()?);
            }
            BodyTokenKind::Word(word, _) if !self.peek().is("using") => {
                if conditions::codes(&word).next().is_none() {
                    let message = format!("unrecognized exception condition \"{word}\"");
                    return Err(RoutineError::new(sqlstate::UNDEFINED_OBJECT, message).at(at));
                }
                self.advance();
                raise.condition = Some(word);
            }
            _ if self.peek().is("using") => {}
            _ => return Err(self.unexpected()),
        }
        raise.arguments = operands.len();
        check_format(raise.format.as_deref(), operands.len(), at)?;
        if self.skip("using") {
            loop {
                raise.options.push(self.raise_option()?);
                operands.push(self.expression_until(&[",", ";"], ", or ;")?);
                if !self.skip_mark(",") {
                    break;
                }
            }
        }
        self.expect_mark(";")?;
        self.emit(Instruction::Raise(Box::new(raise), operands))?;
        Ok(())
    }

    fn level(&mut self) -> NoticeLevel {
        const LEVELS: [(&str, NoticeLevel); 6] = [
            ("debug", NoticeLevel::Debug),
            ("log", NoticeLevel::Log),
            ("info", NoticeLevel::Info),
            ("notice", NoticeLevel::Notice),
            ("warning", NoticeLevel::Warning),
            ("exception", NoticeLevel::Exception),
        ];
        let found = LEVELS.iter().find(|(word, _)| self.peek().is(word)).map(|(_, level)| *level);
        if found.is_some() {
            self.advance();
        }
        found.unwrap_or(NoticeLevel::Exception)
    }

    /// The name of an option and what stands behind it.
    fn raise_option(&mut self) -> PlpgsqlResult<RaiseOption> {
        const OPTIONS: [(&str, RaiseOption); 9] = [
            ("errcode", RaiseOption::Code),
            ("message", RaiseOption::Message),
            ("detail", RaiseOption::Detail),
            ("hint", RaiseOption::Hint),
            ("column", RaiseOption::Column),
            ("constraint", RaiseOption::Constraint),
            ("datatype", RaiseOption::DataType),
            ("table", RaiseOption::Table),
            ("schema", RaiseOption::Schema),
        ];
        let found = OPTIONS.iter().find(|(word, _)| self.peek().is(word)).map(|(_, option)| *option);
        let option = found.ok_or_else(|| self.near("unrecognized RAISE statement option"))?;
        self.advance();
        if !self.skip_mark("=") && !self.skip_mark(":=") {
            return Err(self.near("syntax error, expected \"=\""));
        }
        Ok(option)
    }
}

/// Errors: 42601 for a format with more or fewer places than there are arguments.
fn check_format(format: Option<&str>, arguments: usize, at: usize) -> PlpgsqlResult<()> {
    let Some(format) = format else { return Ok(()) };
    let places = format.replace("%%", "").matches('%').count();
    match places.cmp(&arguments) {
        std::cmp::Ordering::Equal => Ok(()),
        std::cmp::Ordering::Less => Err(RoutineError::syntax("too many parameters specified for RAISE", at)),
        std::cmp::Ordering::Greater => Err(RoutineError::syntax("too few parameters specified for RAISE", at)),
    }
}
