//! Bodies to programs.
//!
//! A statement is written out as operations as it is read; jumps whose targets are not known yet are patched when they are. Errors are PostgreSQL's.
//! In reading order: this file; `declarations`, `statements`, `control`, `loops`, `raise`, `returns`, `diagnostics`.

mod control;
mod declarations;
mod diagnostics;
mod loops;
mod raise;
mod returns;
mod statements;

use crate::error::{PlpgsqlResult, RoutineError, sqlstate};
use crate::lexer::{self, BodyToken, BodyTokenKind, line};
use crate::limits::{BODY_BYTES_MAX, DEPTH_MAX, OPERATIONS_MAX, VARIABLES_MAX};
use crate::names::{BlockNames, BlockScopes};
use crate::program::{
    DeclaredType, HandlerArm, Instruction, Returns, RoutineOperation, RoutineProgram, RoutineVariable,
};
use crate::references;
use crate::sql_text::RoutineText;
use crate::triggers::{self, trigger_variables};
use control::Control;
use std::borrow::Cow;
use values::Type;

/// What of a routine is known beside its body.
#[derive(Clone, Debug, Default)]
pub struct RoutineHeader {
    /// Its name, by which its parameters may be called; none: it is DO.
    pub name: Option<String>,
    /// Its parameters: their names, empty for those without one, and types.
    pub parameters: Vec<(String, Type)>,
    /// What it gives back.
    pub returns: Returns,
}

/// Reads a body.
///
/// # Errors
/// 42601 and others for what PostgreSQL refuses, 0A000 for what is not supported, 54000 and 54001 for what is too long or too deep.
pub fn parse(body: &str, header: &RoutineHeader) -> PlpgsqlResult<RoutineProgram> {
    if body.len() > BODY_BYTES_MAX {
        return Err(RoutineError::beyond(format!("a routine's body may have at most {BODY_BYTES_MAX} bytes")));
    }
    let tokens = lexer::tokens(body)?;
    let mut parser = BodyParser {
        text: body,
        tokens,
        at: 0,
        program: RoutineProgram { returns: header.returns.clone(), ..RoutineProgram::default() },
        scopes: BlockScopes::default(),
        controls: Vec::new(),
        depth: 0,
        statement: (1, ""),
    };
    parser.header(header)?;
    parser.body()?;
    Ok(parser.program)
}

/// The variable FOUND, behind the parameters.
pub(crate) const FOUND: &str = "found";

pub(crate) struct BodyParser<'a> {
    text: &'a str,
    tokens: Vec<BodyToken>,
    at: usize,
    program: RoutineProgram,
    scopes: BlockScopes,
    controls: Vec<Control>,
    depth: usize,
    /// Line and name of the statement that is written out.
    statement: (u32, &'static str),
}

impl BodyParser<'_> {
    fn header(&mut self, header: &RoutineHeader) -> PlpgsqlResult<()> {
        self.scopes.0.push(BlockNames { label: header.name.clone(), names: Vec::new() });
        if header.returns == Returns::Row {
            for (name, declared) in trigger_variables() {
                let is_record = matches!(declared, DeclaredType::Record);
                let number = self.variable(name, declared, false, false)?;
                self.scopes.innermost().names.push((name.to_owned(), number, is_record));
            }
        }
        for (position, (name, data_type)) in header.parameters.iter().enumerate() {
            let declared = DeclaredType::Known(*data_type);
            let number = self.variable(name, declared, false, false)?;
            let innermost = self.scopes.innermost();
            innermost.names.push((format!("${}", position + 1), number, false));
            if !name.is_empty() {
                innermost.names.push((name.clone(), number, false));
            }
        }
        let number = self.variable(FOUND, DeclaredType::Known(Type::Boolean), false, false)?;
        self.scopes.innermost().names.push((FOUND.to_owned(), number, false));
        Ok(())
    }

    fn body(&mut self) -> PlpgsqlResult<()> {
        self.options()?;
        let label = self.label()?;
        if !self.peek().is("declare") && !self.peek().is("begin") {
            return Err(self.unexpected());
        }
        self.block(label)?;
        self.skip_mark(";");
        if self.peek().kind != BodyTokenKind::End {
            return Err(self.unexpected());
        }
        self.statement = (1, "");
        self.emit(match self.program.returns {
            Returns::Value(_) | Returns::Row => Instruction::NothingReturned,
            _ => Instruction::Return,
        })?;
        Ok(())
    }

    /// `#variable_conflict` and its like.
    fn options(&mut self) -> PlpgsqlResult<()> {
        while self.skip_mark("#") {
            let option = self.word().ok_or_else(|| self.unexpected())?;
            let value = self.word().ok_or_else(|| self.unexpected())?;
            match (option.as_str(), value.as_str()) {
                ("variable_conflict", "error") | ("print_strict_params", "off") => {}
                ("variable_conflict", "use_variable" | "use_column") => {
                    return Err(RoutineError::unsupported(format!("#variable_conflict {value}")));
                }
                ("print_strict_params", "on") => {
                    return Err(RoutineError::unsupported("#print_strict_params"));
                }
                ("dump", _) => return Err(RoutineError::unsupported("#option dump")),
                _ => return Err(self.unexpected()),
            }
        }
        Ok(())
    }

    // Tokens.

    fn peek(&self) -> &BodyToken {
        self.ahead(0)
    }

    fn ahead(&self, count: usize) -> &BodyToken {
        let last = self.tokens.len() - 1;
        &self.tokens[(self.at + count).min(last)]
    }

    fn advance(&mut self) -> BodyToken {
        let token = self.peek().clone();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    fn skip(&mut self, word: &str) -> bool {
        let found = self.peek().is(word);
        if found {
            self.advance();
        }
        found
    }

    fn skip_mark(&mut self, mark: &str) -> bool {
        let found = self.peek().is_mark(mark);
        if found {
            self.advance();
        }
        found
    }

    fn expect(&mut self, word: &str) -> PlpgsqlResult<()> {
        if self.skip(word) { Ok(()) } else { Err(self.unexpected()) }
    }

    fn expect_mark(&mut self, mark: &str) -> PlpgsqlResult<()> {
        if self.skip_mark(mark) { Ok(()) } else { Err(self.unexpected()) }
    }

    /// The next token if it is a name, whatever else it may be.
    fn word(&mut self) -> Option<String> {
        let BodyTokenKind::Word(word, _) = &self.peek().kind else { return None };
        let word = word.clone();
        self.advance();
        Some(word)
    }

    /// A name that something new may have. Errors: 42601 for a word that is reserved.
    fn new_name(&mut self) -> PlpgsqlResult<String> {
        match &self.peek().kind {
            BodyTokenKind::Word(word, quoted) if *quoted || !is_reserved(word) => {
                let word = word.clone();
                self.advance();
                Ok(word)
            }
            _ => Err(self.unexpected()),
        }
    }

    /// Names with points between them, as many as there are.
    fn names(&mut self) -> PlpgsqlResult<Vec<String>> {
        let mut names = vec![self.word().ok_or_else(|| self.unexpected())?];
        while self.peek().is_mark(".") && matches!(self.ahead(1).kind, BodyTokenKind::Word(..)) {
            self.advance();
            names.extend(self.word());
        }
        Ok(names)
    }

    /// `<<name>>`.
    fn label(&mut self) -> PlpgsqlResult<Option<String>> {
        if !self.skip_mark("<<") {
            return Ok(None);
        }
        let name = self.word().ok_or_else(|| self.unexpected())?;
        self.expect_mark(">>")?;
        Ok(Some(name))
    }

    // Errors.

    /// `syntax error at or near ..` at the next token.
    fn unexpected(&self) -> Box<RoutineError> {
        self.near("syntax error")
    }

    /// A message at the next token.
    fn near(&self, message: &str) -> Box<RoutineError> {
        let token = self.peek();
        match &self.text[token.start..token.end] {
            "" => RoutineError::syntax(format!("{message} at end of input"), token.start),
            near => RoutineError::syntax(format!("{message} at or near \"{near}\""), token.start),
        }
    }

    // Texts of SQL.

    /// The text up to one of these words or marks, which is not taken. Errors: 42601 if it is not there; `expected`: what is named then.
    fn text_until(&mut self, until: &[&str], expected: &str, is_expression: bool) -> PlpgsqlResult<(usize, usize)> {
        let start = self.peek().start;
        let (mut end, mut depth) = (start, 0usize);
        loop {
            let token = self.peek();
            let ends = depth == 0 && until.iter().any(|word| token.is(word) || token.is_mark(word));
            if ends {
                break;
            }
            match &token.kind {
                BodyTokenKind::Mark("(" | "[") => depth += 1,
                BodyTokenKind::Mark(")" | "]") => {
                    depth = depth.checked_sub(1).ok_or_else(|| self.near("mismatched parentheses"))?;
                }
                BodyTokenKind::End | BodyTokenKind::Mark(";") => {
                    if depth > 0 {
                        return Err(self.near("mismatched parentheses"));
                    }
                    let what = if is_expression { "expression" } else { "statement" };
                    let message = format!("missing \"{expected}\" at end of SQL {what}");
                    return Err(RoutineError::syntax(message, token.start));
                }
                _ => {}
            }
            end = self.advance().end;
        }
        if end == start {
            return Err(self.near(if is_expression { "missing expression" } else { "missing SQL statement" }));
        }
        Ok((start, end))
    }

    /// An expression up to one of these words or marks.
    fn expression_until(&mut self, until: &[&str], expected: &str) -> PlpgsqlResult<RoutineText> {
        let (start, end) = self.text_until(until, expected, true)?;
        self.expression_of(start, end)
    }

    /// The text of the body between these places as an expression.
    fn expression_of(&self, start: usize, end: usize) -> PlpgsqlResult<RoutineText> {
        self.expression_text(&self.text[start..end], start)
    }

    /// A text, which stands there, as an expression.
    fn expression_text(&self, text: &str, start: usize) -> PlpgsqlResult<RoutineText> {
        const BEFORE: &str = "SELECT ";
        let text = self.counted_from_one(text);
        let read = text.and_then(|text| references::read(format!("{BEFORE}{text}"), &self.scopes, true));
        read.map_err(|error| Self::moved(error, start, BEFORE.len()))
    }

    /// The text of the body between these places as a statement.
    fn statement_of(&self, start: usize, end: usize) -> PlpgsqlResult<RoutineText> {
        self.statement_text(self.text[start..end].to_owned(), start)
    }

    fn statement_text(&self, text: String, start: usize) -> PlpgsqlResult<RoutineText> {
        let text = self.counted_from_one(&text).map(Cow::into_owned);
        let read = text.and_then(|text| references::read(text, &self.scopes, false));
        read.map_err(|error| Self::moved(error, start, 0))
    }

    fn counted_from_one<'b>(&self, text: &'b str) -> PlpgsqlResult<Cow<'b, str>> {
        match self.program.returns {
            Returns::Row => triggers::arguments_from_one(text),
            _ => Ok(Cow::Borrowed(text)),
        }
    }

    /// An error of a text of SQL as one of the body.
    fn moved(mut error: Box<RoutineError>, start: usize, before: usize) -> Box<RoutineError> {
        let at = error.at.map_or(0, |at| (at as usize).saturating_sub(before));
        error.at = Some((start + at) as u32);
        error
    }

    // Operations.

    /// Begins a statement, at the next token.
    fn begin_statement(&mut self, name: &'static str) {
        self.statement = (line(self.text, self.peek().start), name);
    }

    /// Writes an operation out; its number. Errors: 54000 for too many.
    fn emit(&mut self, instruction: Instruction) -> PlpgsqlResult<usize> {
        if self.program.operations.len() >= OPERATIONS_MAX {
            return Err(RoutineError::beyond(format!("a routine may have at most {OPERATIONS_MAX} operations")));
        }
        let (line, statement) = self.statement;
        self.program.operations.push(RoutineOperation { line, statement, instruction });
        Ok(self.program.operations.len() - 1)
    }

    /// The number of the next operation.
    fn here(&self) -> usize {
        self.program.operations.len()
    }

    /// Has a jump go to the next operation.
    fn patch(&mut self, jump: usize) {
        let here = self.here();
        if let Some(target) = self.program.operations[jump].instruction.target() {
            *target = here;
        }
    }

    /// A new variable, which has no name in any block yet. Errors: 54000 for too many.
    fn variable(
        &mut self,
        name: &str,
        declared: DeclaredType,
        is_constant: bool,
        is_not_null: bool,
    ) -> PlpgsqlResult<usize> {
        if self.program.variables.len() >= VARIABLES_MAX {
            return Err(RoutineError::beyond(format!("a routine may have at most {VARIABLES_MAX} variables")));
        }
        self.program.variables.push(RoutineVariable { name: name.to_owned(), declared, is_constant, is_not_null });
        Ok(self.program.variables.len() - 1)
    }

    /// Goes one level deeper. Errors: 54001.
    fn deeper(&mut self) -> PlpgsqlResult<()> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(RoutineError::new(sqlstate::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded"));
        }
        Ok(())
    }

    fn arms_of(&mut self, guard: usize) -> &mut Vec<HandlerArm> {
        &mut self.program.guards[guard]
    }
}

/// Words that are no names unless they are quoted (PostgreSQL's `pl_reserved_kwlist.h`).
pub(crate) fn is_reserved(word: &str) -> bool {
    const RESERVED: &[&str] = &[
        "all", "begin", "by", "case", "declare", "else", "end", "execute", "for", "foreach", "from", "if", "in",
        "into", "loop", "not", "null", "or", "strict", "then", "to", "using", "when", "while",
    ];
    RESERVED.contains(&word)
}

/// Whether a variable of this type may turn out to be a row.
pub(crate) fn may_be_row(declared: &DeclaredType) -> bool {
    match declared {
        DeclaredType::Record | DeclaredType::OfTable(_) | DeclaredType::OfVariable(_) => true,
        DeclaredType::Named(name) => name.parse::<Type>().is_err(),
        DeclaredType::Known(_) | DeclaredType::OfColumn(_) | DeclaredType::Any => false,
    }
}
