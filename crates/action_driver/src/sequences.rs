//! Values of sequences: blocks that the site has taken, sequences that a transaction has made or set, and what sessions were given last.
//!
//! Invariants: a block is taken by a commit of its own, of the version of the sequence's row that it was read at, so no two sites ever have the same value; it
//! is of one generation of the sequence, which whatever sets the sequence counts up, so nothing of before is given out after. What a transaction has made or set
//! itself counts in the transaction and is written with it.

use crate::failure;
use crate::limits::{SEQUENCE_BLOCK_FIRST, SEQUENCE_BLOCK_MAX, SEQUENCE_BLOCKS_MAX};
use crate::rows;
use messages::schema::{SequenceSchema, TableSchema};
use messages::session::Failure;
use messages::{Item, Row, TableId};
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use values::row::RowReader;
use values::{Value, ValueError};

/// What evaluation draws values of sequences from.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Sequences {
    /// Values that the site has taken, by the sequence's storage and its generation.
    blocks: RefCell<BTreeMap<(TableId, u32), SequenceBlock>>,
    /// Of the transaction at hand.
    own: RefCell<Vec<OwnSequence>>,
    /// Of the session at hand.
    given: RefCell<Given>,
    /// Of which sequence a block is wanted: evaluation has failed for want of it.
    wanted: RefCell<Option<Arc<TableSchema>>>,
    /// What was drawn from blocks since the last row was finished.
    drawn: RefCell<Vec<(TableId, u32, i64)>>,
}

/// Values that nobody else gives out.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SequenceBlock {
    /// The next ones, which were drawn and given back.
    returned: Vec<i64>,
    next: i64,
    left: u64,
    increment: i64,
    /// How many there were.
    size: u64,
}

/// A sequence that a transaction has made or set.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct OwnSequence {
    /// As the transaction has defined it.
    pub schema: Arc<TableSchema>,
    /// Where it stands.
    pub state: SequenceState,
    /// Where it stood before, as the transaction has read it; `None`: the transaction has made it.
    pub before: Option<SequenceState>,
    /// Whether that was undone: the transaction only counts on.
    pub is_restored: bool,
}

/// Sequences that a rollback to a savepoint leaves to a transaction, of those that it has set since. The transaction has their rows, so no block can be taken from
/// them by another commit: it goes on counting from where they stood.
pub fn undo_to(own: &mut Vec<OwnSequence>, mark: usize) {
    let undone = own.split_off(mark.min(own.len()));
    for set in undone {
        let is_known = own.iter().any(|known| known.schema.storage == set.schema.storage);
        if set.is_restored && !is_known {
            own.push(set);
            continue;
        }
        let Some(state) = set.before.filter(|_| !is_known) else { continue };
        let mut schema = TableSchema::clone(&set.schema);
        if let Some(definition) = &mut schema.sequence {
            // Setting it has counted this up.
            definition.generation = definition.generation.wrapping_sub(1);
        }
        own.push(OwnSequence { schema: Arc::new(schema), state, before: Some(state), is_restored: true });
    }
}

/// A sequence's row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SequenceState {
    /// The last value, or the first one if that was not given out.
    pub last: i64,
    /// Whether it was given out.
    pub is_called: bool,
}

/// What a session was given last.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Given {
    /// By the sequence's object identifier.
    of: BTreeMap<u32, i64>,
    last: Option<u32>,
}

/// A block to be committed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockTaking {
    /// The sequence's storage and generation.
    of: (TableId, u32),
    next: i64,
    size: u64,
    increment: i64,
}

/// The one row of a sequence.
pub fn item(sequence: &TableSchema) -> Item {
    rows::table_item(sequence, rows::table_key(sequence, &SequenceState { last: 0, is_called: false }.values()))
}

impl SequenceState {
    /// Before the first value.
    pub fn first(schema: &SequenceSchema) -> SequenceState {
        SequenceState { last: schema.start, is_called: false }
    }

    fn values(self) -> [Value; 3] {
        [Value::BigInt(self.last), Value::BigInt(0), Value::Boolean(self.is_called)]
    }

    /// As a row.
    pub fn encode(self, sequence: &TableSchema) -> Row {
        rows::encode(sequence, &self.values())
    }

    /// Of a row. Errors: XX001.
    pub fn decode(row: &Row) -> Result<SequenceState, Failure> {
        let mut reader = RowReader::new(row).map_err(failure::of_value)?;
        let mut next = || Ok::<_, Failure>(reader.next_value().map_err(failure::of_value)?.unwrap_or(Value::Null));
        let (last, _, is_called) = (next()?, next()?, next()?);
        match (last.as_integer(), is_called.as_boolean()) {
            (Some(last), Some(is_called)) => Ok(SequenceState { last, is_called }),
            _ => Err(failure::statement(sqlstate::DATA_CORRUPTED, "the row of a sequence is damaged")),
        }
    }

    /// The next value. Errors: 2200H behind the last one.
    fn next(self, name: &str, schema: &SequenceSchema) -> Result<i64, ValueError> {
        if !self.is_called {
            return Ok(self.last);
        }
        let next = self.last.checked_add(schema.increment);
        match next.filter(|next| (schema.minimum..=schema.maximum).contains(next)) {
            Some(next) => Ok(next),
            None if schema.cycle && schema.increment > 0 => Ok(schema.minimum),
            None if schema.cycle => Ok(schema.maximum),
            None => {
                let (end, bound) = match schema.increment > 0 {
                    true => ("maximum", schema.maximum),
                    false => ("minimum", schema.minimum),
                };
                let message = format!("nextval: reached {end} value of sequence \"{name}\" ({bound})");
                Err(ValueError::new(sqlstate::SEQUENCE_GENERATOR_LIMIT_EXCEEDED, message))
            }
        }
    }
}

impl Given {
    fn note(&mut self, sequence: u32, value: i64) {
        self.of.insert(sequence, value);
        self.last = Some(sequence);
    }
}

impl SequenceBlock {
    fn draw(&mut self) -> Option<i64> {
        if let Some(value) = self.returned.pop() {
            return Some(value);
        }
        self.left = self.left.checked_sub(1)?;
        let value = self.next;
        // The block ends before its bounds.
        self.next = value.wrapping_add(self.increment);
        Some(value)
    }
}

impl Sequences {
    /// A transaction of a session goes on, or rests: what is its own changes places with this.
    pub fn exchange(&mut self, own: &mut Vec<OwnSequence>, given: &mut Given) {
        std::mem::swap(self.own.get_mut(), own);
        std::mem::swap(self.given.get_mut(), given);
    }

    /// `nextval`. Errors: 2200H; or no value is left here, and [`Sequences::take_wanted`] tells of what.
    pub fn next(&self, sequence: &Arc<TableSchema>) -> Result<Value, ValueError> {
        let schema = definition(sequence);
        let of = (sequence.storage, schema.generation);
        let mut own = self.own.borrow_mut();
        let value = match own.iter_mut().rev().find(|own| is_of(own, of)) {
            Some(own) => {
                let next = own.state.next(&sequence.name, schema)?;
                own.state = SequenceState { last: next, is_called: true };
                next
            }
            None => match self.blocks.borrow_mut().get_mut(&of).and_then(SequenceBlock::draw) {
                Some(next) => {
                    self.drawn.borrow_mut().push((of.0, of.1, next));
                    next
                }
                None => {
                    *self.wanted.borrow_mut() = Some(Arc::clone(sequence));
                    return Err(ValueError::new(
                        sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE,
                        "a block of the sequence is wanted",
                    ));
                }
            },
        };
        self.given.borrow_mut().note(sequence.oid, value);
        Ok(Value::BigInt(value))
    }

    /// `currval`. Errors: 55000 where there was none.
    pub fn current(&self, sequence: u32, name: &str) -> Result<Value, ValueError> {
        match self.given.borrow().of.get(&sequence) {
            Some(value) => Ok(Value::BigInt(*value)),
            None => {
                let message = format!("currval of sequence \"{name}\" is not yet defined in this session");
                Err(ValueError::new(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, message))
            }
        }
    }

    /// `lastval`. Errors: 55000 where there was none.
    pub fn last(&self) -> Result<Value, ValueError> {
        let given = self.given.borrow();
        let value = given.last.and_then(|last| given.of.get(&last));
        value.map(|value| Value::BigInt(*value)).ok_or_else(|| {
            ValueError::new(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, "lastval is not yet defined in this session")
        })
    }

    /// Whether evaluation has lacked a block since it was last asked what of.
    pub fn is_wanting(&self) -> bool {
        self.wanted.borrow().is_some()
    }

    /// Of which sequence evaluation has lacked a block. What it had drawn meanwhile goes back.
    pub fn take_wanted(&self) -> Option<Arc<TableSchema>> {
        let wanted = self.wanted.borrow_mut().take()?;
        let mut blocks = self.blocks.borrow_mut();
        for (storage, generation, value) in self.drawn.borrow_mut().drain(..).rev() {
            if let Some(block) = blocks.get_mut(&(storage, generation)) {
                block.returned.push(value);
            }
        }
        Some(wanted)
    }

    /// What was drawn is used.
    pub fn settle(&mut self) {
        self.drawn.get_mut().clear();
    }

    /// What it takes to have a block of a sequence whose row says this: the row to be written. `None`: there is a block already. Errors: 2200H.
    pub fn begin_taking(
        &self,
        sequence: &TableSchema,
        state: SequenceState,
    ) -> Result<Option<(BlockTaking, Row)>, Failure> {
        let schema = definition(sequence);
        let of = (sequence.storage, schema.generation);
        let before = self.blocks.borrow().get(&of).map(|block| (block.left + block.returned.len() as u64, block.size));
        let size = match before {
            Some((left, _)) if left > 0 => return Ok(None),
            Some((_, size)) => (size * 2).min(SEQUENCE_BLOCK_MAX),
            None => SEQUENCE_BLOCK_FIRST,
        };
        let next = state.next(&sequence.name, schema).map_err(failure::of_value)?;
        let bound = if schema.increment > 0 { schema.maximum } else { schema.minimum };
        let more = (i128::from(bound) - i128::from(next)) / i128::from(schema.increment);
        let wanted = size.max(schema.cache.unsigned_abs());
        let size = u64::try_from(more).unwrap_or(u64::MAX).saturating_add(1).min(wanted);
        let last = i128::from(next) + i128::from(schema.increment) * i128::from(size - 1);
        let last = i64::try_from(last).expect("a block ends within the bounds");
        let row = SequenceState { last, is_called: true }.encode(sequence);
        Ok(Some((BlockTaking { of, next, size, increment: schema.increment }, row)))
    }

    /// The block's commit is there.
    pub fn taken(&mut self, taking: &BlockTaking) {
        let BlockTaking { of, next, size, increment } = *taking;
        let blocks = self.blocks.get_mut();
        // Another session of the site cannot have taken one meanwhile: one of the two commits has lost.
        blocks.retain(|other, _| other.0 != of.0 || other.1 >= of.1);
        if blocks.len() >= SEQUENCE_BLOCKS_MAX {
            blocks.pop_first();
        }
        blocks.insert(of, SequenceBlock { returned: Vec::new(), next, left: size, increment, size });
    }

    /// The sequence as the transaction at hand has it, if it has made or set it.
    pub fn own_state(&self, storage: TableId) -> Option<SequenceState> {
        self.own.borrow().iter().rev().find(|own| own.schema.storage == storage).map(|own| own.state)
    }

    /// The transaction at hand makes or sets a sequence that stood there before. For `currval`: the value that it was set to and was given out.
    pub fn set_own(&self, schema: &Arc<TableSchema>, before: Option<SequenceState>, state: SequenceState, told: bool) {
        if told && state.is_called {
            self.given.borrow_mut().of.insert(schema.oid, state.last);
        }
        self.own.borrow_mut().push(OwnSequence { schema: Arc::clone(schema), state, before, is_restored: false });
    }
}

fn is_of(own: &OwnSequence, of: (TableId, u32)) -> bool {
    (own.schema.storage, definition(&own.schema).generation) == of
}

/// What makes it a sequence.
pub fn definition(sequence: &TableSchema) -> &SequenceSchema {
    sequence.sequence.as_deref().expect("only sequences have values")
}
