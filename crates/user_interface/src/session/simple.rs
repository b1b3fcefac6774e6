//! The simple query protocol: one text, any number of statements, one ReadyForQuery.
//!
//! Invariant: the statements of one text are one transaction, unless the text says otherwise; the last one alone needs none around it.

use crate::errors::{Result, SqlError, sqlstate};
use crate::protocol::backend;
use crate::session::control::inside_block;
use crate::session::state::{Again, Block, Confirmed, Cycle, Execution, Work};
use crate::session::turn::Turn;
use crate::sql::parse::Parsed;
use std::collections::VecDeque;
use std::sync::Arc;

impl Turn<'_> {
    /// A Query message.
    pub fn simple_query(&mut self, text: &str) {
        self.session.deadline = None;
        self.session.portals.remove("");
        self.session.doubts = 0;
        self.session.places = None;
        self.session.outlined = None;
        if !self.run_outline(text) {
            self.run_text(text);
        }
    }

    /// Runs the statements of a text as they are written.
    pub fn run_text(&mut self, text: &str) {
        match self.read(text) {
            Ok(statements) if statements.is_empty() => {
                backend::empty_query(&mut self.session.output);
                self.end_cycle(None);
            }
            Ok(statements) => {
                self.session.cycle = Cycle::Simple(Arc::from(text), VecDeque::from(statements));
                self.next_simple();
            }
            Err(error) => {
                self.session.cycle = Cycle::Simple(Arc::from(text), VecDeque::new());
                self.fail(&error);
            }
        }
    }

    /// Runs the next statement of the text, or ends the cycle.
    pub fn next_simple(&mut self) {
        let Cycle::Simple(text, statements) = &mut self.session.cycle else {
            return;
        };
        let text = text.clone();
        let Some(parsed) = statements.pop_front() else {
            self.end_cycle(None);
            return;
        };
        let last = statements.is_empty();
        if let Err(error) = self.run_simple(&text, &parsed, last) {
            let mut mentioned = self.mentioned(&parsed.statement);
            mentioned.extend(self.own_rights());
            let relied = self.relied(mentioned);
            self.doubt(Confirmed::Error(error), relied, Again::Simple(parsed));
        }
    }

    fn run_simple(&mut self, text: &str, parsed: &Parsed, last: bool) -> Result<()> {
        self.check_block(&parsed.statement)?;
        self.session.places = parsed.quel.clone();
        let whole = if parsed.quel.is_some() { &parsed.text } else { text };
        let prepared = self.compile(parsed, whole, Vec::new(), None)?;
        if !prepared.parameters.is_empty() {
            return Err(SqlError::new(sqlstate::UNDEFINED_PARAMETER, "there is no parameter $1"));
        }
        // Whatever came of the others: a text of several statements is a block to such a one.
        if let Some(name) = prepared.outside_blocks
            && self.read(text).map_or(true, |all| all.len() > 1)
        {
            return Err(inside_block(name));
        }
        let execution = Execution::new(Arc::new(prepared));
        if self.session.block == Block::None && !last {
            self.begin_implicit();
        }
        self.start(execution)
    }

    /// The statements that follow are one transaction until the cycle ends.
    pub fn begin_implicit(&mut self) {
        assert!(matches!(self.session.work, Work::Idle), "a block begins between statements");
        self.session.block = Block::Implicit;
        self.session.implicit_failed = false;
        self.session.level = self.session.settings.now.default_level();
        self.session.began_micros = self.micros();
    }
}
