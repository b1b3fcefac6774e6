//! A statement that fires triggers, under way: its rows are found, and changed one by one between what its triggers do.
//!
//! Like a routine it says what is to be done, one thing at a time, and goes on with what came of it. Invariants: all rows are found before the first is
//! changed; a row that a trigger has given up is neither changed nor counted; triggers behind the change of rows fire once all rows are changed (PostgreSQL's
//! manual, chapter 39).

use crate::errors::sqlstate;
use crate::limits::{FIRING_STEPS_AT_ONCE, KEPT_BYTES_MAX};
use crate::session::kept::bytes_of;
use crate::sql::firing_statement::FiringStatement;
use crate::sql::transition_tables::{TransitionRows, TransitionTables};
use messages::schema::{TriggerEvent, TriggerSchema};
use plpgsql::machine::RoutineStatement;
use plpgsql::store::coerce;
use plpgsql::triggers::TriggerCall;
use plpgsql::{Effect, EffectOutcome, PlpgsqlResult, RoutineError, StatementAnswer};
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use values::key::encode_key;
use values::{Type, Value, Zone};

/// What is to be done.
pub enum FiringEffect {
    /// What a routine asks for as well.
    Effect(Effect),
    /// Rows are wanted, which the client copies.
    Hungry,
    /// This function is to run, with these transition tables: the outcome are its rows.
    Fire(String, Box<TriggerCall>, Option<TransitionTables>),
}

/// A row under way, or changed.
#[derive(Clone, Debug, Default)]
struct FiringRow {
    old: Option<Vec<Value>>,
    new: Option<Vec<Value>>,
}

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FiringStage {
    /// Triggers before the statement: the place of the next one.
    Before(usize),
    /// The next of its queries.
    Find(usize),
    /// The next of the rows that were found.
    Row,
    /// What is drawn for the row at hand: the place of the next.
    Draw(usize),
    /// Triggers before the change of the row at hand.
    BeforeRow(usize),
    /// Whether the row at hand is there already.
    Conflict,
    /// Whether the row at hand is still as it was found.
    Again,
    /// The change of the row.
    Change,
    /// Triggers behind the change of rows: the row, and the place of the next trigger.
    AfterRow(usize, usize),
    /// Triggers behind the statement.
    After(usize),
}

/// What the outcome is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FiringWait {
    Nothing,
    Rows,
    Drawn(usize),
    /// Whether a trigger fires: its number.
    Condition(usize),
    Trigger,
    Conflict,
    Again,
    Changed,
}

/// A statement that fires triggers, under way.
#[derive(Debug)]
pub struct FiringRun {
    statement: Arc<FiringStatement>,
    parameters: Vec<Value>,
    types: Vec<Option<Type>>,
    stage: FiringStage,
    wait: FiringWait,
    /// The client copies its rows.
    copies: bool,
    /// There are more of those.
    waits: bool,
    /// Rows that are still to be changed, each as its query gave it, with the types of that query.
    found: VecDeque<(Arc<[Type]>, Vec<Value>)>,
    row: FiringRow,
    /// Rows that are changed, if triggers fire behind that, or read them.
    changed: Vec<FiringRow>,
    /// Those that were asked for as transition tables: for which event, and whether as they were before it.
    transitions: Vec<(TriggerEvent, bool, Arc<TransitionRows>)>,
    /// Keys of the rows that an INSERT that may be an UPDATE has written; of others, of the rows that were found.
    keys: BTreeSet<Vec<u8>>,
    /// How many statements of routines had written when the rows were found, and by now.
    writes: (u64, u64),
    returned: Vec<Vec<Value>>,
    returned_bytes: usize,
    count: u64,
}

impl FiringRun {
    /// A statement that begins, with these parameters.
    pub fn new(statement: Arc<FiringStatement>, parameters: Vec<Value>, types: Vec<Option<Type>>) -> FiringRun {
        FiringRun {
            statement,
            parameters,
            types,
            stage: FiringStage::Before(0),
            wait: FiringWait::Nothing,
            copies: false,
            waits: false,
            found: VecDeque::new(),
            row: FiringRow::default(),
            changed: Vec::new(),
            transitions: Vec::new(),
            keys: BTreeSet::new(),
            writes: (0, 0),
            returned: Vec::new(),
            returned_bytes: 0,
            count: 0,
        }
    }

    /// One whose rows the client copies.
    pub fn of_copy(statement: Arc<FiringStatement>) -> FiringRun {
        FiringRun { copies: true, waits: true, ..FiringRun::new(statement, Vec::new(), Vec::new()) }
    }

    /// Takes rows that were copied; none: there are no more.
    pub fn feed(&mut self, rows: Vec<Vec<Value>>) {
        self.waits = !rows.is_empty();
        // As PostgreSQL counts: whatever the triggers of a view make of it.
        self.count += if self.statement.is_instead { rows.len() as u64 } else { 0 };
        let types: Arc<[Type]> = self.statement.types().into();
        self.found.extend(rows.into_iter().map(|row| (Arc::clone(&types), row)));
    }

    /// How many rows are changed.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Goes on with what came of the last effect. `writes`: how many statements of routines have written.
    pub fn go_on(&mut self, outcome: EffectOutcome, writes: u64, zone: &Zone) -> FiringEffect {
        self.writes.1 = writes;
        let taken = match outcome {
            EffectOutcome::Failed(error) => Err(error),
            EffectOutcome::Done => Ok(None),
            EffectOutcome::Answer(answer) => self.take(answer, zone),
        };
        match taken {
            Ok(None) => {}
            Ok(Some(number)) => return self.fire(number),
            Err(error) => return FiringEffect::Effect(Effect::Failed(error)),
        }
        for _ in 0..FIRING_STEPS_AT_ONCE {
            match self.next(zone) {
                Ok(None) => {}
                Ok(Some(effect)) => return effect,
                Err(error) => return FiringEffect::Effect(Effect::Failed(error)),
            }
        }
        FiringEffect::Effect(Effect::Pause)
    }

    /// What came: the number of the trigger that fires now, if its condition was asked for and holds.
    fn take(&mut self, answer: StatementAnswer, zone: &Zone) -> PlpgsqlResult<Option<usize>> {
        let StatementAnswer { columns, rows, count, .. } = answer;
        match std::mem::replace(&mut self.wait, FiringWait::Nothing) {
            FiringWait::Nothing => {}
            FiringWait::Rows => {
                let given: Arc<[Type]> = columns.into_iter().map(|(_, of)| of).collect();
                self.found.extend(rows.into_iter().map(|row| (Arc::clone(&given), row)));
            }
            FiringWait::Again => {
                if rows.first() != self.row.old.as_ref() {
                    return Err(changed_before(self.row_event()));
                }
                self.stage = FiringStage::Change;
            }
            FiringWait::Conflict => {
                let given: Vec<Type> = columns.into_iter().map(|(_, of)| of).collect();
                match rows.into_iter().next() {
                    Some(row) => self.took_conflict(row, &given, zone)?,
                    None => self.stage = FiringStage::Change,
                }
            }
            FiringWait::Drawn(place) => {
                let value = rows.into_iter().next().and_then(|mut row| row.pop());
                let (given, wanted) = (columns.first().map(|(_, of)| *of), self.statement.types()[place]);
                if let (Some(new), Some(value), Some(given)) = (&mut self.row.new, value, given) {
                    new[place] = coerce(value, given, wanted, zone)?;
                }
            }
            FiringWait::Condition(number) => {
                let holds = rows.first().and_then(|row| row.first()).and_then(Value::as_boolean);
                return Ok(holds.unwrap_or(false).then_some(number));
            }
            FiringWait::Trigger => self.took_row(rows.into_iter().next()),
            FiringWait::Changed => {
                self.count += count;
                self.keep_returned(rows)?;
                let has_after = self.statement.keeps_rows(self.row_event());
                let row = std::mem::take(&mut self.row);
                if let (Some(_), Some(new)) = (&self.statement.conflict, &row.new) {
                    self.keys.insert(self.key_of(new));
                }
                if has_after && count > 0 {
                    self.changed.push(row);
                }
            }
        }
        Ok(None)
    }

    /// A row of the queries: as it was, and as it is to be, in its columns' types.
    fn split(&self, event: TriggerEvent, row: Vec<Value>, given: &[Type], zone: &Zone) -> PlpgsqlResult<FiringRow> {
        let types = self.statement.types();
        let mut row = row;
        Ok(match event {
            TriggerEvent::Insert => FiringRow { old: None, new: Some(as_stored(row, given, &types, zone)?) },
            TriggerEvent::Delete => FiringRow { old: Some(row), new: None },
            TriggerEvent::Update | TriggerEvent::Truncate => {
                let new = row.split_off(types.len());
                let given = given.get(types.len()..).unwrap_or_default();
                FiringRow { old: Some(row), new: Some(as_stored(new, given, &types, zone)?) }
            }
        })
    }

    /// A row that is there already is to be changed instead, if it is to be changed at all.
    fn took_conflict(&mut self, row: Vec<Value>, given: &[Type], zone: &Zone) -> PlpgsqlResult<()> {
        let mut row = row;
        let is_changed = row.pop().and_then(|condition| condition.as_boolean()).unwrap_or(false);
        if !is_changed {
            self.stage = FiringStage::Row;
            return Ok(());
        }
        let given = &given[..row.len()];
        self.row = self.split(TriggerEvent::Update, row, given, zone)?;
        if self.row.old.as_ref().is_some_and(|old| self.keys.contains(&self.key_of(old))) {
            let message = "ON CONFLICT DO UPDATE command cannot affect row a second time";
            let hint =
                "Ensure that no rows proposed for insertion within the same command have duplicate constrained values.";
            return Err(RoutineError::new(sqlstate::CARDINALITY_VIOLATION, message).with_hint(hint));
        }
        self.writes.0 = self.writes.1;
        self.stage = FiringStage::BeforeRow(0);
        Ok(())
    }

    fn key_of(&self, row: &[Value]) -> Vec<u8> {
        let key: Vec<Value> = self.statement.key().into_iter().map(|place| row[place].clone()).collect();
        let mut encoded = Vec::new();
        encode_key(&key, &mut encoded);
        encoded
    }

    /// What is done to the row at hand.
    fn row_event(&self) -> TriggerEvent {
        match (&self.statement.conflict, &self.row.old) {
            (Some(_), Some(_)) => TriggerEvent::Update,
            _ => self.statement.event,
        }
    }

    /// What a trigger before a change has given back: the row as it is to be, or nothing for one that stays as it is.
    fn took_row(&mut self, given: Option<Vec<Value>>) {
        let FiringStage::BeforeRow(_) = self.stage else { return };
        match given {
            Some(row) if self.row_event() != TriggerEvent::Delete => self.row.new = Some(row),
            Some(_) => {}
            None => self.stage = FiringStage::Row,
        }
    }

    /// Takes the next row that was found. One that other tables lead to several times is changed once.
    fn next_row(&mut self, zone: &Zone) -> PlpgsqlResult<()> {
        let Some((given, row)) = self.found.pop_front() else {
            self.stage = FiringStage::AfterRow(0, 0);
            return Ok(());
        };
        let row = self.split(self.statement.event, row, &given, zone)?;
        let is_instead = self.statement.is_instead;
        let key = row.old.as_ref().filter(|_| !is_instead).map(|old| self.key_of(old));
        if key.is_none_or(|key| self.keys.insert(key)) {
            (self.row, self.stage) = (row, FiringStage::Draw(0));
        }
        Ok(())
    }

    /// Keeps rows of RETURNING. Errors: 54000 for too many.
    fn keep_returned(&mut self, rows: Vec<Vec<Value>>) -> PlpgsqlResult<()> {
        self.returned_bytes += bytes_of(&rows);
        self.returned.extend(rows);
        if self.returned_bytes <= KEPT_BYTES_MAX {
            return Ok(());
        }
        let mebibytes = KEPT_BYTES_MAX >> 20;
        Err(RoutineError::beyond(format!("a statement that fires triggers may return at most {mebibytes} MiB of rows")))
    }

    /// The next thing to do; none: the stage has gone on. Errors: those of casts.
    fn next(&mut self, zone: &Zone) -> PlpgsqlResult<Option<FiringEffect>> {
        if self.stage == FiringStage::Row {
            if self.waits && self.found.is_empty() {
                return Ok(Some(FiringEffect::Hungry));
            }
            return self.next_row(zone).map(|()| None);
        }
        Ok(self.next_effect())
    }

    fn next_effect(&mut self) -> Option<FiringEffect> {
        match self.stage {
            FiringStage::Before(place) => {
                self.stage = FiringStage::Before(place + 1);
                match self.statement.once(true).get(place) {
                    Some(number) => Some(self.consider(*number)),
                    None => {
                        self.stage = FiringStage::Find(0);
                        None
                    }
                }
            }
            FiringStage::Find(place) => match self.statement.sources.get(place).cloned() {
                Some(sql) => {
                    (self.stage, self.wait) = (FiringStage::Find(place + 1), FiringWait::Rows);
                    let (parameters, types) = (self.parameters.clone(), self.types.clone());
                    Some(run(RoutineStatement { sql, parameters, types, rows_max: usize::MAX }))
                }
                None => {
                    self.writes.0 = self.writes.1;
                    self.stage = FiringStage::Row;
                    None
                }
            },
            FiringStage::Row => None,
            FiringStage::Draw(_)
            | FiringStage::BeforeRow(_)
            | FiringStage::Again
            | FiringStage::Conflict
            | FiringStage::Change => self.next_of_row(),
            FiringStage::AfterRow(row, place) => {
                let Some(changed) = self.changed.get(row) else {
                    (self.row, self.stage) = (FiringRow::default(), FiringStage::After(0));
                    return None;
                };
                if place == 0 {
                    self.row = changed.clone();
                }
                match self.statement.for_rows(self.row_event(), false).get(place) {
                    Some(number) => {
                        self.stage = FiringStage::AfterRow(row, place + 1);
                        Some(self.consider(*number))
                    }
                    None => {
                        self.stage = FiringStage::AfterRow(row + 1, 0);
                        None
                    }
                }
            }
            FiringStage::After(place) => {
                self.stage = FiringStage::After(place + 1);
                match self.statement.once(false).get(place) {
                    Some(number) => Some(self.consider(*number)),
                    None => Some(FiringEffect::Effect(Effect::Done(std::mem::take(&mut self.returned)))),
                }
            }
        }
    }

    /// The next thing to do for the row at hand; none: the stage has gone on.
    fn next_of_row(&mut self) -> Option<FiringEffect> {
        match self.stage {
            FiringStage::Draw(place) => match self.statement.draws.get(place).cloned() {
                Some((column, sql)) => {
                    (self.stage, self.wait) = (FiringStage::Draw(place + 1), FiringWait::Drawn(column));
                    Some(run(RoutineStatement { sql, parameters: Vec::new(), types: Vec::new(), rows_max: 1 }))
                }
                None => {
                    self.stage = FiringStage::BeforeRow(0);
                    None
                }
            },
            FiringStage::BeforeRow(place) => {
                self.stage = FiringStage::BeforeRow(place + 1);
                match self.statement.for_rows(self.row_event(), true).get(place) {
                    Some(number) => Some(self.consider(*number)),
                    None => {
                        let may_be_there = self.statement.conflict.is_some() && self.row.new.is_some();
                        let is_disturbed = self.writes.0 != self.writes.1 && self.statement.again.is_some();
                        self.stage = match self.row.old {
                            Some(_) if is_disturbed => FiringStage::Again,
                            None if may_be_there => FiringStage::Conflict,
                            _ => FiringStage::Change,
                        };
                        None
                    }
                }
            }
            FiringStage::Again => {
                let (again, old) = (self.statement.again.as_ref()?, self.row.old.as_ref()?);
                let (key, of) = (self.statement.key(), self.statement.types());
                let parameters = key.iter().map(|place| old[*place].clone()).collect();
                let types = key.iter().map(|place| Some(of[*place].unmodified())).collect();
                self.wait = FiringWait::Again;
                Some(run(RoutineStatement { sql: Arc::clone(again), parameters, types, rows_max: 1 }))
            }
            FiringStage::Conflict => {
                let (conflict, new) = (self.statement.conflict.as_ref()?, self.row.new.as_ref()?);
                let (mut parameters, mut types) = (self.parameters.clone(), self.types.clone());
                parameters.extend(new.iter().cloned());
                types.extend(self.statement.types().iter().map(|of| Some(of.unmodified())));
                self.wait = FiringWait::Conflict;
                let sql = Arc::clone(&conflict.find);
                Some(run(RoutineStatement { sql, parameters, types, rows_max: 1 }))
            }
            FiringStage::Change if self.row.old.is_none() && self.row.new.is_none() => {
                self.stage = FiringStage::Row;
                None
            }
            FiringStage::Change => match self.change() {
                Some(change) => {
                    self.wait = FiringWait::Changed;
                    Some(run(change))
                }
                None => {
                    self.count += u64::from(!self.copies);
                    self.row = FiringRow::default();
                    None
                }
            },
            _ => None,
        }
    }

    /// The statement that changes the row at hand, or the query of what is given back of it; none: nothing is.
    fn change(&self) -> Option<RoutineStatement> {
        let (types, key) = (self.statement.types(), self.statement.key());
        let (mut parameters, mut known) = (Vec::new(), Vec::new());
        let is_instead = self.statement.is_instead;
        let given = self.row.new.as_ref().or(self.row.old.as_ref().filter(|_| is_instead));
        if let Some(given) = given {
            parameters.extend(given.iter().cloned());
            known.extend(types.iter().map(|of| Some(of.unmodified())));
        }
        if let Some(old) = self.row.old.as_ref().filter(|_| !is_instead) {
            parameters.extend(key.iter().map(|place| old[*place].clone()));
            known.extend(key.iter().map(|place| Some(types[*place].unmodified())));
        }
        let sql = match (&self.statement.conflict, self.row_event()) {
            (Some(conflict), TriggerEvent::Update) => &conflict.change,
            _ => self.statement.change.as_ref()?,
        };
        Some(RoutineStatement { sql: Arc::clone(sql), parameters, types: known, rows_max: usize::MAX })
    }

    /// A trigger fires, or its condition is asked for first.
    fn consider(&mut self, number: usize) -> FiringEffect {
        let trigger = &self.statement.triggers[number].1;
        let Some(condition) = &trigger.condition else { return self.fire(number) };
        let (mut parameters, mut types) = (Vec::new(), Vec::new());
        let mut tables = Vec::new();
        for (name, row) in [("old", &self.row.old), ("new", &self.row.new)] {
            let Some(row) = row else { continue };
            let mut cells = Vec::new();
            for ((value, of), column) in row.iter().zip(self.statement.types()).zip(&self.statement.columns) {
                parameters.push(value.clone());
                types.push(Some(of.unmodified()));
                let column = crate::sql::names::quote(&self.statement.table.columns[*column].name);
                cells.push(format!("${} AS {column}", parameters.len()));
            }
            tables.push(format!("(SELECT {}) AS {name}", cells.join(", ")));
        }
        let from = if tables.is_empty() { String::new() } else { format!(" FROM {}", tables.join(", ")) };
        self.wait = FiringWait::Condition(number);
        let sql = Arc::from(format!("SELECT ({condition}){from}"));
        run(RoutineStatement { sql, parameters, types, rows_max: 1 })
    }

    fn fire(&mut self, number: usize) -> FiringEffect {
        self.wait = FiringWait::Trigger;
        let statement = Arc::clone(&self.statement);
        let (event, trigger) = &statement.triggers[number];
        let names = [(true, &trigger.transitions.old), (false, &trigger.transitions.new)];
        let names = names.into_iter().filter_map(|(is_old, name)| Some((is_old, name.clone()?)));
        let tables: Vec<_> = names.map(|(is_old, name)| (name, self.transition(*event, is_old))).collect();
        let tables = (!tables.is_empty()).then_some(TransitionTables { tables });
        FiringEffect::Fire(trigger.function.0.clone(), Box::new(self.call(*event, trigger)), tables)
    }

    /// The rows that an event has changed.
    fn transition(&mut self, event: TriggerEvent, is_old: bool) -> Arc<TransitionRows> {
        let known = self.transitions.iter().find(|(of, old, _)| (*of, *old) == (event, is_old));
        if let Some((.., rows)) = known {
            return Arc::clone(rows);
        }
        let statement = &self.statement;
        let is_of_event = |row: &&FiringRow| match (&statement.conflict, event) {
            (None, _) => true,
            (Some(_), event) => row.old.is_some() == (event == TriggerEvent::Update),
        };
        let rows = self.changed.iter().filter(is_of_event);
        let rows = rows.filter_map(|row| if is_old { row.old.as_deref() } else { row.new.as_deref() });
        let made = Arc::new(TransitionRows::new(statement.fields(), rows));
        self.transitions.push((event, is_old, Arc::clone(&made)));
        made
    }

    fn call(&self, event: TriggerEvent, trigger: &TriggerSchema) -> TriggerCall {
        let table = &self.statement.table;
        let row = |row: &Option<Vec<Value>>| row.clone().filter(|_| trigger.is_for_rows);
        let named = if event == TriggerEvent::Update { self.statement.named.as_slice() } else { &[] };
        TriggerCall {
            fields: self.statement.fields(),
            is_for_row: trigger.is_for_rows,
            new: row(&self.row.new),
            old: row(&self.row.old),
            name: trigger.name.clone(),
            when: trigger.timing.word(),
            operation: event.word(),
            named: named.iter().map(|column| table.columns[*column].name.clone()).collect(),
            relation: table.oid,
            table: messages::namespace::bare(&table.name).to_owned(),
            schema: self.statement.schema.clone(),
            arguments: trigger.arguments.clone(),
        }
    }
}

/// Values of a query, of these types, as those of columns. Errors: those of assignment casts.
fn as_stored(row: Vec<Value>, given: &[Type], types: &[Type], zone: &Zone) -> PlpgsqlResult<Vec<Value>> {
    let values = row.into_iter().zip(given).zip(types);
    values.map(|((value, given), wanted)| coerce(value, *given, *wanted, zone)).collect()
}

/// 27000: a trigger has changed the row that it fires for, or one that comes later.
fn changed_before(event: TriggerEvent) -> Box<RoutineError> {
    let done = if event == TriggerEvent::Delete { "deleted" } else { "updated" };
    let message = format!("tuple to be {done} was already modified by an operation triggered by the current command");
    let hint = "Consider using an AFTER trigger instead of a BEFORE trigger to propagate changes to other rows.";
    RoutineError::new(sqlstate::TRIGGERED_DATA_CHANGE_VIOLATION, message).with_hint(hint)
}

fn run(statement: RoutineStatement) -> FiringEffect {
    FiringEffect::Effect(Effect::Run(statement))
}
