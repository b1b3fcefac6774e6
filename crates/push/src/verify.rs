//! The verifier: follows every path once, with what is known of each cell, and writes the code down as it goes.
//!
//! Invariants of what it lets through: the depth of the stack is known at each word and at most [`CELLS_MAX`]; a load ends within the bytes that `has-bytes`
//! has shown; a loop runs at most as often as its bound; the longest path has at most [`WORDS_WORST_MAX`] words and ends in a verdict.
//!
//! Source: Push, 1989, section IV.A: a program cannot touch foreign memory, ends in bounded time, and returns once.

use crate::bytecode::{PushBound, PushCode, PushInstruction, VerifiedHook, VerifiedProgram};
use crate::error::{PushError, PushRule};
use crate::limits::{
    BRANCHES_MAX, CELLS_MAX, CLONES_MAX, FIND_ROWS_MAX, HEADERS_BYTES, PACKET_BYTES_MAX, SLOTS_MAX, WORDS_WORST_MAX,
};
use crate::parse::LOADS;
use crate::program::{
    PushFieldType, PushHook, PushHookBody, PushOperator, PushPlace, PushPlacedWord, PushProgram, PushTable,
    PushVerdict, PushWord,
};

/// Judges a program.
///
/// # Errors
/// The first word that breaks a rule.
pub fn verify(program: &PushProgram) -> Result<VerifiedProgram, PushError> {
    let mut hooks = Vec::new();
    for body in &program.hooks {
        hooks.push(verify_hook(program, body)?);
    }
    let PushProgram { name, parameters, tables, .. } = program.clone();
    Ok(VerifiedProgram { name, parameters, tables, hooks })
}

fn verify_hook(program: &PushProgram, body: &PushHookBody) -> Result<VerifiedHook, PushError> {
    let mut walk =
        PushWalk { program, hook: body.hook, code: Vec::new(), slots: 0, names: Vec::new(), loops: Vec::new() };
    let begin = AbstractState { cells: Vec::new(), known: HEADERS_BYTES };
    let (end, bound) = walk.block(&body.words, begin)?;
    if end.is_some() {
        let word = body.words.last().map_or("", |word| word.text.as_str());
        let message = format!("a path through `on {}` ends without a verdict", body.hook.name());
        return Err(PushError::new(body.end_line, word, PushRule::Verdict, message));
    }
    if bound.words > WORDS_WORST_MAX {
        let message = format!(
            "the longest path through `on {}` has {} words, more than {WORDS_WORST_MAX}",
            body.hook.name(),
            bound.words
        );
        return Err(PushError::new(body.line, "on", PushRule::BoundedTime, message));
    }
    if bound.branches > BRANCHES_MAX {
        let message = format!(
            "the longest path through `on {}` has {} branches, more than {BRANCHES_MAX}",
            body.hook.name(),
            bound.branches
        );
        return Err(PushError::new(body.line, "on", PushRule::BoundedTime, message));
    }
    if bound.clones > CLONES_MAX {
        let message = format!(
            "the longest path through `on {}` sends {} copies, more than {CLONES_MAX}",
            body.hook.name(),
            bound.clones
        );
        return Err(PushError::new(body.line, "on", PushRule::BoundedTime, message));
    }
    Ok(VerifiedHook { hook: body.hook, code: walk.code, bound })
}

/// What is known of a cell.
#[derive(Clone, Copy, Debug)]
struct AbstractCell {
    /// It is at least this,
    low: u64,
    /// and at most this.
    high: u64,
    /// If it is not 0, the packet has so many bytes.
    shows: u64,
}

const ANY: AbstractCell = AbstractCell { low: 0, high: u64::MAX, shows: 0 };

const fn between(low: u64, high: u64) -> AbstractCell {
    AbstractCell { low, high, shows: 0 }
}

/// What is known at a word.
#[derive(Clone, Debug)]
struct AbstractState {
    cells: Vec<AbstractCell>,
    /// Bytes that the packet has.
    known: u64,
}

/// What is known behind two paths that join; an ended path adds nothing.
fn joined(one: Option<AbstractState>, other: Option<AbstractState>) -> Option<AbstractState> {
    let (mut one, other) = match (one, other) {
        (Some(one), Some(other)) => (one, other),
        (one, other) => return one.or(other),
    };
    one.known = one.known.min(other.known);
    for (cell, with) in one.cells.iter_mut().zip(&other.cells) {
        cell.low = cell.low.min(with.low);
        cell.high = cell.high.max(with.high);
        cell.shows = cell.shows.min(with.shows);
    }
    Some(one)
}

/// What is known of an operator's value.
fn value_of(operator: PushOperator, lower: AbstractCell, upper: AbstractCell) -> AbstractCell {
    let shows = match operator {
        // Both are true where their conjunction is; one of them where their disjunction is.
        PushOperator::And => lower.shows.max(upper.shows),
        PushOperator::Or => lower.shows.min(upper.shows),
        _ => 0,
    };
    let (low, high) = match operator {
        PushOperator::Add => match (lower.low.checked_add(upper.low), lower.high.checked_add(upper.high)) {
            (Some(low), Some(high)) => (low, high),
            _ => (0, u64::MAX),
        },
        PushOperator::Subtract if lower.low >= upper.high => (lower.low - upper.high, lower.high - upper.low),
        PushOperator::Subtract => (0, u64::MAX),
        PushOperator::And => (0, lower.high.min(upper.high)),
        PushOperator::Or | PushOperator::ExclusiveOr => {
            let bits = (lower.high | upper.high).checked_ilog2().map_or(0, |highest| u64::MAX >> (63 - highest));
            (0, bits)
        }
        PushOperator::ShiftLeft if upper.high < 64 && lower.high <= u64::MAX >> upper.high => {
            (lower.low << upper.low, lower.high << upper.high)
        }
        PushOperator::ShiftLeft => (0, u64::MAX),
        PushOperator::ShiftRight if upper.high < 64 => (lower.low >> upper.high, lower.high >> upper.low),
        PushOperator::ShiftRight => (0, lower.high),
        PushOperator::Equal | PushOperator::Differs | PushOperator::Less => (0, 1),
        PushOperator::Minimum => (lower.low.min(upper.low), lower.high.min(upper.high)),
    };
    AbstractCell { low, high, shows }
}

/// What follows of two things that are done one after the other.
fn both(one: PushBound, other: PushBound) -> PushBound {
    PushBound {
        words: one.words.saturating_add(other.words),
        branches: one.branches.saturating_add(other.branches),
        clones: one.clones.saturating_add(other.clones),
        time_ns: one.time_ns.saturating_add(other.time_ns),
    }
}

fn either(one: PushBound, other: PushBound) -> PushBound {
    PushBound {
        words: one.words.max(other.words),
        branches: one.branches.max(other.branches),
        clones: one.clones.max(other.clones),
        time_ns: one.time_ns.max(other.time_ns),
    }
}

fn repeated(one: PushBound, times: u64) -> PushBound {
    PushBound {
        words: one.words.saturating_mul(times),
        branches: one.branches.saturating_mul(times),
        clones: one.clones.saturating_mul(times),
        time_ns: one.time_ns.saturating_mul(times),
    }
}

/// What a word costs without its blocks. Times are estimates for a processor of 2 to 3 GHz.
fn cost(word: &PushWord, tables: &[PushTable]) -> PushBound {
    let branches = match word {
        PushWord::SetHeader(_) | PushWord::Find(_) => 2,
        PushWord::Verdict(_) => 5,
        PushWord::Number(_)
        | PushWord::Discard
        | PushWord::Header(_)
        | PushWord::Let(_)
        | PushWord::Named(_)
        | PushWord::Index => 0,
        _ => 1,
    };
    let mut bound = PushBound { words: 1, branches, clones: 0, time_ns: 2 };
    match word {
        PushWord::Load(_) => bound.time_ns = 15,
        PushWord::SetHeader(_) => bound.time_ns = 20,
        PushWord::Now => bound.time_ns = 30,
        PushWord::AddTo(_) | PushWord::BitSet(_) => bound.time_ns = 10,
        PushWord::Clone => (bound.clones, bound.time_ns) = (1, 400),
        PushWord::Verdict(PushVerdict::Deliver | PushVerdict::DeliverAndWake) => bound.time_ns = 500,
        PushWord::Verdict(PushVerdict::Reply) => bound.time_ns = 200,
        PushWord::Find(table) => {
            bound = repeated(bound, tables.get(*table).map_or(1, |table| table.rows));
        }
        _ => {}
    }
    bound
}

struct NamedSlot {
    name: String,
    slot: usize,
    cell: AbstractCell,
}

struct PushWalk<'a> {
    program: &'a PushProgram,
    hook: PushHook,
    code: Vec<PushInstruction>,
    /// Slots that are in use.
    slots: usize,
    names: Vec<NamedSlot>,
    /// Loops around this word: the slot of the index, and the largest count.
    loops: Vec<(usize, u64)>,
}

/// The state behind a path, if it goes on, and what the path cost.
type Walked = Result<(Option<AbstractState>, PushBound), PushError>;

impl PushWalk<'_> {
    fn block(&mut self, words: &[PushPlacedWord], begin: AbstractState) -> Walked {
        let (slots_before, names_before) = (self.slots, self.names.len());
        let mut state = Some(begin);
        let mut bound = PushBound::default();
        for placed in words {
            let Some(before) = state else {
                let message = format!("{} is never reached: the words before it end in a verdict", placed.text);
                return Err(refuse(placed, PushRule::Unreachable, message));
            };
            let (after, cost) = self.word(placed, before)?;
            bound = both(bound, cost);
            state = after;
        }
        self.slots = slots_before;
        self.names.truncate(names_before);
        Ok((state, bound))
    }

    fn emit(&mut self, placed: &PushPlacedWord, depth: usize, code: PushCode) -> usize {
        self.code.push(PushInstruction { code, depth, line: placed.line, text: placed.text.clone() });
        self.code.len() - 1
    }

    fn slot(&mut self, placed: &PushPlacedWord, count: usize) -> Result<usize, PushError> {
        let slot = self.slots;
        self.slots += count;
        if self.slots > SLOTS_MAX {
            let message = format!("{} is one too many: named values and loops have {SLOTS_MAX} slots", placed.text);
            return Err(refuse(placed, PushRule::Bounds, message));
        }
        Ok(slot)
    }

    fn word(&mut self, placed: &PushPlacedWord, state: AbstractState) -> Walked {
        let own = cost(&placed.word, &self.program.tables);
        match &placed.word {
            PushWord::If(then, otherwise) => self.conditional(placed, then, otherwise, state, own),
            PushWord::Times(body) => self.repetition(placed, body, state, own),
            PushWord::Verdict(verdict) => {
                let wrong = *verdict != PushVerdict::Pass && *verdict != PushVerdict::Drop;
                if wrong && self.hook == PushHook::Send {
                    let message = format!("{} is for `on receive`: this packet leaves", placed.text);
                    return Err(refuse(placed, PushRule::Hook, message));
                }
                self.emit(placed, state.cells.len(), PushCode::Verdict(*verdict));
                Ok((None, own))
            }
            _ => Ok((Some(self.plain(placed, state)?), own)),
        }
    }

    fn conditional(
        &mut self,
        placed: &PushPlacedWord,
        then: &[PushPlacedWord],
        otherwise: &[PushPlacedWord],
        mut state: AbstractState,
        own: PushBound,
    ) -> Walked {
        let jump = self.emit(placed, state.cells.len(), PushCode::JumpIfZero(0));
        let truth = pop(placed, &mut state)?;
        let mut shown = state.clone();
        shown.known = shown.known.max(truth.shows);
        let (then_end, then_bound) = self.block(then, shown)?;
        let over = match &then_end {
            Some(end) if !otherwise.is_empty() => Some(self.emit(placed, end.cells.len(), PushCode::Jump(0))),
            _ => None,
        };
        self.code[jump].code = PushCode::JumpIfZero(self.code.len());
        let (else_end, else_bound) = self.block(otherwise, state)?;
        if let Some(over) = over {
            self.code[over].code = PushCode::Jump(self.code.len());
        }
        if let (Some(one), Some(other)) = (&then_end, &else_end)
            && one.cells.len() != other.cells.len()
        {
            let message = format!(
                "if leaves {} cells where its condition holds, and {} where it does not",
                one.cells.len(),
                other.cells.len()
            );
            return Err(refuse(placed, PushRule::EqualDepth, message));
        }
        Ok((joined(then_end, else_end), both(own, either(then_bound, else_bound))))
    }

    fn repetition(
        &mut self,
        placed: &PushPlacedWord,
        body: &[PushPlacedWord],
        mut state: AbstractState,
        own: PushBound,
    ) -> Walked {
        let depth = state.cells.len();
        let count = pop(placed, &mut state)?;
        if count.high > WORDS_WORST_MAX {
            let message = match count.high {
                u64::MAX => "times has a count without a bound".to_owned(),
                high => format!("times has a count of up to {high}, more than {WORDS_WORST_MAX}"),
            };
            return Err(refuse(placed, PushRule::BoundedLoop, message));
        }
        let slots_before = self.slots;
        let slot = self.slot(placed, 2)?;
        self.emit(placed, depth, PushCode::LoopBegin(slot));
        let test = self.emit(placed, depth - 1, PushCode::LoopTest { slot, count_max: count.high, end: 0 });
        // The body may change any cell, any number of times.
        state.cells.iter_mut().for_each(|cell| *cell = ANY);
        let behind = state.clone();
        self.loops.push((slot, count.high));
        let (end, bound) = self.block(body, state)?;
        self.loops.pop();
        self.slots = slots_before;
        if let Some(end) = end {
            if end.cells.len() != behind.cells.len() {
                let message = format!(
                    "times begins with {} cells, and its `end` comes with {}",
                    behind.cells.len(),
                    end.cells.len()
                );
                return Err(refuse(placed, PushRule::EqualDepth, message));
            }
            self.emit(placed, end.cells.len(), PushCode::LoopNext { slot, test });
        }
        self.code[test].code = PushCode::LoopTest { slot, count_max: count.high, end: self.code.len() };
        // One word of each round is the test.
        let round = both(bound, PushBound { words: 1, branches: 1, clones: 0, time_ns: 2 });
        Ok((Some(behind), both(own, repeated(round, count.high))))
    }

    /// A word without blocks, which goes on.
    fn plain(&mut self, placed: &PushPlacedWord, mut state: AbstractState) -> Result<AbstractState, PushError> {
        let depth = state.cells.len();
        let state_now = &mut state;
        let code = match &placed.word {
            PushWord::Number(value) => {
                push(placed, state_now, between(*value, *value))?;
                PushCode::Number(*value)
            }
            PushWord::Operator(operator) => {
                let upper = pop(placed, state_now)?;
                let lower = pop(placed, state_now)?;
                push(placed, state_now, value_of(*operator, lower, upper))?;
                PushCode::Operator(*operator)
            }
            PushWord::Discard => {
                pop(placed, state_now)?;
                PushCode::Discard
            }
            PushWord::HasBytes => {
                let wanted = pop(placed, state_now)?;
                let shows = wanted.low.min(PACKET_BYTES_MAX);
                push(placed, state_now, AbstractCell { low: 0, high: 1, shows })?;
                PushCode::HasBytes
            }
            PushWord::Load(shape) => {
                let offset = pop(placed, state_now)?;
                check_load(placed, *shape, offset, state_now.known)?;
                push(placed, state_now, between(0, shape.value_max()))?;
                PushCode::Load(*shape)
            }
            PushWord::Header(header) => {
                let (low, high) = header.values();
                push(placed, state_now, between(low, high))?;
                PushCode::Header(*header)
            }
            PushWord::SetHeader(header) => {
                pop(placed, state_now)?;
                PushCode::SetHeader(*header)
            }
            PushWord::Now => {
                push(placed, state_now, ANY)?;
                PushCode::Now
            }
            PushWord::Clone if self.hook == PushHook::Receive => {
                let message = "clone is for `on send`: this packet has come".to_owned();
                return Err(refuse(placed, PushRule::Hook, message));
            }
            PushWord::Clone => PushCode::Clone,
            PushWord::Index | PushWord::Let(_) | PushWord::Named(_) => self.slot_word(placed, state_now)?,
            _ => self.table_word(placed, state_now)?,
        };
        self.emit(placed, depth, code);
        Ok(state)
    }

    /// Words of slots.
    fn slot_word(&mut self, placed: &PushPlacedWord, state: &mut AbstractState) -> Result<PushCode, PushError> {
        match &placed.word {
            PushWord::Let(name) => {
                let cell = pop(placed, state)?;
                let slot = self.slot(placed, 1)?;
                self.names.push(NamedSlot { name: name.clone(), slot, cell });
                Ok(PushCode::Keep(slot))
            }
            PushWord::Named(name) => {
                let named = self.names.iter().rev().find(|named| named.name == *name);
                let (slot, cell) = named
                    .map(|named| (named.slot, named.cell))
                    .ok_or_else(|| refuse(placed, PushRule::KnownWord, format!("{name} names no value here")))?;
                push(placed, state, cell)?;
                Ok(PushCode::Kept(slot))
            }
            _ => {
                let Some(&(slot, count_max)) = self.loops.last() else {
                    return Err(refuse(placed, PushRule::KnownWord, "i stands in no loop".to_owned()));
                };
                push(placed, state, between(0, count_max.saturating_sub(1)))?;
                Ok(PushCode::Kept(slot))
            }
        }
    }

    /// Words of tables.
    fn table_word(&mut self, placed: &PushPlacedWord, state: &mut AbstractState) -> Result<PushCode, PushError> {
        match placed.word {
            PushWord::Read(place) => {
                let shape = self.shape(placed, place)?;
                pop(placed, state)?;
                push(placed, state, between(0, shape.value_max()))?;
                Ok(PushCode::Read(place))
            }
            PushWord::Set(place) => {
                self.shape(placed, place)?;
                pop(placed, state)?;
                pop(placed, state)?;
                Ok(PushCode::Set(place))
            }
            PushWord::AddTo(place) | PushWord::BitSet(place) => {
                let shape = self.shape(placed, place)?;
                if shape.bytes() < 4 {
                    let message = format!("{} is of {}: one step needs u32 or u64", placed.text, shape.name());
                    return Err(refuse(placed, PushRule::Form, message));
                }
                pop(placed, state)?;
                pop(placed, state)?;
                push(placed, state, between(0, shape.value_max()))?;
                Ok(match placed.word {
                    PushWord::AddTo(_) => PushCode::AddTo(place),
                    _ => PushCode::BitSet(place),
                })
            }
            PushWord::Count(table) => {
                let rows = self.rows(placed, table)?;
                push(placed, state, between(0, rows))?;
                Ok(PushCode::Count(table))
            }
            PushWord::Find(table) => {
                let rows = self.rows(placed, table)?;
                if rows > FIND_ROWS_MAX {
                    let message = format!("{} looks through {rows} rows, more than {FIND_ROWS_MAX}", placed.text);
                    return Err(refuse(placed, PushRule::BoundedTime, message));
                }
                pop(placed, state)?;
                push(placed, state, between(0, rows))?;
                Ok(PushCode::Find(table))
            }
            _ => Err(refuse(placed, PushRule::Form, format!("{} is no word without a block", placed.text))),
        }
    }

    fn rows(&self, placed: &PushPlacedWord, table: usize) -> Result<u64, PushError> {
        let table = self.program.tables.get(table);
        table.map(|table| table.rows).ok_or_else(|| unknown_table(placed))
    }

    fn shape(&self, placed: &PushPlacedWord, place: PushPlace) -> Result<PushFieldType, PushError> {
        let field = self.program.tables.get(place.table).and_then(|table| table.fields.get(place.field));
        field.map(|field| field.shape).ok_or_else(|| unknown_table(placed))
    }
}

fn unknown_table(placed: &PushPlacedWord) -> PushError {
    refuse(placed, PushRule::KnownWord, format!("{} is of no table of the program", placed.text))
}

fn refuse(placed: &PushPlacedWord, rule: PushRule, message: String) -> PushError {
    PushError::new(placed.line, &placed.text, rule, message)
}

fn pop(placed: &PushPlacedWord, state: &mut AbstractState) -> Result<AbstractCell, PushError> {
    state
        .cells
        .pop()
        .ok_or_else(|| refuse(placed, PushRule::Depth, format!("{} finds too few cells on the stack", placed.text)))
}

fn push(placed: &PushPlacedWord, state: &mut AbstractState, cell: AbstractCell) -> Result<(), PushError> {
    if state.cells.len() == CELLS_MAX {
        let message = format!("{} finds the stack full: it has {CELLS_MAX} cells", placed.text);
        return Err(refuse(placed, PushRule::Depth, message));
    }
    state.cells.push(cell);
    Ok(())
}

fn check_load(
    placed: &PushPlacedWord,
    shape: PushFieldType,
    offset: AbstractCell,
    known: u64,
) -> Result<(), PushError> {
    let name = LOADS.into_iter().find(|(_, load)| *load == shape).map_or("load", |(name, _)| name);
    let end = offset.high.saturating_add(shape.bytes() as u64);
    if end <= known {
        return Ok(());
    }
    let there = format!("only {known} are known to be there");
    let message = match (offset.low == offset.high, offset.high) {
        (true, at) => format!("{name} {at} reads to byte {end}, {there}"),
        (false, u64::MAX) => format!("{name} reads at a place without a bound, {there}"),
        (false, _) => format!("{name} at {} to {} reads to byte {end}, {there}", offset.low, offset.high),
    };
    Err(refuse(placed, PushRule::KnownBytes, message))
}
