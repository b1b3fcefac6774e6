//! Statements of the simple protocol that run as their outline, which is compiled once for all constants.
//!
//! Invariant: what cannot run so, or would fail before anything is asked of the action driver, runs as it was written: errors are those of the statement
//! itself. An outline that comes for the first time is not compiled. One that is compiled is compared with its statement first.

use crate::errors::{Result, SqlError};
use crate::limits::OUTLINE_PLACES;
use crate::protocol::format::parse_parameter;
use crate::session::state::{Block, Cycle, Execution, TextLanguage, Work};
use crate::session::turn::Turn;
use crate::sql::outline::{KnownOutlines, Outline, OutlineStanding, stands_for};
use crate::sql::prepared::Prepared;
use rustc_hash::FxHasher;
use std::collections::VecDeque;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// An outline is one of SQL.
const LANGUAGE: TextLanguage = TextLanguage::PLAIN;

/// A place for each outline that is known.
pub fn no_outlines() -> KnownOutlines {
    KnownOutlines::with_room(OUTLINE_PLACES)
}

impl Turn<'_> {
    /// Runs the only statement of a text as its outline. Whether it does.
    pub fn run_outline(&mut self, text: &str) -> bool {
        let is_usual = self.session.overlay.is_empty() && self.session.block != Block::Failed;
        if !is_usual || self.session.settings.now.speaks_quel() {
            return false;
        }
        let Some(mut outline) = Outline::of(text) else { return false };
        let Some(prepared) = self.outlined(text, &outline) else { return false };
        let whole: Arc<str> = Arc::from(text);
        self.session.cycle = Cycle::Simple(whole.clone(), VecDeque::new());
        self.session.outlined = Some(whole.clone());
        let mut execution = Execution::new(prepared);
        execution.constants = Some(std::mem::take(&mut outline.constants));
        if self.start(execution).is_err() {
            self.session.outlined = None;
            self.session.work = Work::Idle;
            self.session.cycle = Cycle::Idle;
            return false;
        }
        if let Some((_, _, told)) = &mut self.session.uncounted.statement {
            *told = whole;
        }
        true
    }

    /// What an outline compiles to; `None`: it came for the first time, or does not stand for its statement.
    fn outlined(&mut self, text: &str, outline: &Outline) -> Option<Arc<Prepared>> {
        let (hash, generation) = (hash_of(&outline.text), self.shared.catalog.generation);
        match self.shared.outlines.standing(hash) {
            OutlineStanding::New => {
                self.shared.outlines.note(hash, OutlineStanding::Seen);
                return None;
            }
            OutlineStanding::Refused(with) if with == generation => return None,
            OutlineStanding::Refused(_) | OutlineStanding::Seen => {}
        }
        if let Some(known) = self.cached(&outline.text, LANGUAGE, &outline.declared) {
            return Some(known);
        }
        let compiled = self.compile_outline(text, outline).ok().flatten();
        let standing = if compiled.is_some() { OutlineStanding::Seen } else { OutlineStanding::Refused(generation) };
        self.shared.outlines.note(hash, standing);
        Some(self.keep(&outline.text, compiled?))
    }

    fn compile_outline(&mut self, text: &str, outline: &Outline) -> Result<Option<Prepared>> {
        let (Some(of_outline), Some(of_text)) =
            (self.read_one(&outline.text, LANGUAGE)?, self.read_one(text, LANGUAGE)?)
        else {
            return Ok(None);
        };
        let whole = self.compile(&of_text, text, Vec::new(), None)?;
        let compiled = self.compile(&of_outline, &outline.text, outline.declared.clone(), None)?;
        Ok(stands_for(&compiled, &whole).then_some(compiled))
    }

    /// The constants of a statement that runs as its outline become its parameters. Errors: those of reading them.
    pub fn bind_constants(&self, execution: &mut Execution) -> Result<()> {
        let Some(constants) = &execution.constants else { return Ok(()) };
        let zone = self.session.settings.now.zone();
        let types = &execution.prepared.parameters;
        if types.len() != constants.len() {
            return Err(SqlError::plan_changed());
        }
        let read = constants.iter().zip(types.iter());
        let values = read.map(|(text, data_type)| parse_parameter(Some(text.as_bytes()), *data_type, false, zone));
        execution.parameters = values.collect::<Result<_>>()?;
        Ok(())
    }

    /// A statement could not run as its outline: it runs as it was written. Nothing of it has been done. Whether it was such a statement.
    pub fn run_as_written(&mut self, execution: &Execution) -> bool {
        if execution.constants.is_none() || execution.recompilations > 0 {
            return false;
        }
        let Some(text) = self.session.outlined.take() else { return false };
        if let Some(outline) = Outline::of(&text) {
            let refused = OutlineStanding::Refused(self.shared.catalog.generation);
            self.shared.outlines.note(hash_of(&outline.text), refused);
        }
        self.session.work = Work::Idle;
        self.run_text(&text);
        true
    }

    /// An error's position in the statement as it was written, if it runs as its outline.
    pub fn position_as_written(&self, position: usize) -> Option<usize> {
        let text = self.session.outlined.as_ref()?;
        Some(Outline::of(text)?.position_in(text, position))
    }
}

fn hash_of(outline: &str) -> u64 {
    let mut hasher = FxHasher::default();
    outline.hash(&mut hasher);
    hasher.finish()
}
