//! Joins by equal keys; without keys every row of one side meets every row of the other.
//!
//! The right side is held. By key, it is read for so many rows of the left side at once.

use super::scan::{ScanReader, ascending, keyed_ranges};
use crate::access::KeyBounds;
use crate::equality::equality_key;
use crate::error::Interruption;
use crate::expression::CompiledExpression;
use crate::hashing::KeyMap;
use crate::plan::{JoinType, PlanNode};
use crate::run::{ExecutionState, HeldBytes, RowValues, RunState, size_of_row};
use crate::run::{MANY, RowOperator};
use analyzer::TypeId;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use values::Value;

/// How many rows of the left side are looked up together.
const PROBES: usize = 128;

/// Where a row of the left side stands.
#[derive(Default)]
struct HashProbe {
    begun: bool,
    /// The next of its partners.
    next: Option<usize>,
    matched: bool,
}

/// The key of a row; false if a part of it is NULL, which is equal to nothing.
fn fill_key(
    key: &mut Vec<u8>,
    of: &[CompiledExpression],
    row: &[Value],
    run: &mut RunState<'_, '_>,
) -> Result<bool, Interruption> {
    key.clear();
    for part in of {
        let value = part.evaluate(row, run)?;
        if value.is_null() {
            return Ok(false);
        }
        equality_key(&value, TypeId(0), key);
    }
    Ok(true)
}

/// A join under way.
pub struct Join {
    left: Box<dyn RowOperator>,
    /// None if it is read by key.
    right: Option<Box<dyn RowOperator>>,
    plan: Arc<PlanNode>,
    /// Rows of the left side that are to be joined.
    probes: VecDeque<RowValues>,
    left_ended: bool,
    lookup: Option<ScanReader>,
    held: Vec<RowValues>,
    memory: HeldBytes,
    /// Rows that were read by key and have not met the filter. One that waits for a subquery goes on where it was: rows before it are not asked again.
    scanned: VecDeque<RowValues>,
    /// Where rows are read by key, and for so many rows of the left side that is known.
    bounds: BTreeMap<Vec<u8>, KeyBounds>,
    bounded: usize,
    /// Rows of the right side whose keys are still to be computed.
    arrived: VecDeque<RowValues>,
    /// The first and the last row of each key, once there is one.
    table: Option<KeyMap<(usize, usize)>>,
    /// The next row with the key of each.
    next_of_key: Vec<Option<usize>>,
    /// Of the row at hand.
    key: Vec<u8>,
    matched: Vec<bool>,
    built: bool,
    current: HashProbe,
    unmatched: usize,
    found: Vec<RowValues>,
}

impl Join {
    pub fn new(left: Box<dyn RowOperator>, right: Option<Box<dyn RowOperator>>, plan: Arc<PlanNode>) -> Join {
        Join {
            left,
            right,
            plan,
            probes: VecDeque::new(),
            left_ended: false,
            lookup: None,
            held: Vec::new(),
            memory: HeldBytes::default(),
            scanned: VecDeque::new(),
            bounds: BTreeMap::new(),
            bounded: 0,
            arrived: VecDeque::new(),
            table: None,
            next_of_key: Vec::new(),
            key: Vec::new(),
            matched: Vec::new(),
            built: false,
            current: HashProbe::default(),
            unmatched: 0,
            found: Vec::new(),
        }
    }

    /// Takes in rows of the right side.
    fn take_in(&mut self, run: &mut RunState<'_, '_>) -> Result<(), Interruption> {
        let plan = Arc::clone(&self.plan);
        let PlanNode::Join { right_keys, .. } = &*plan else { return Ok(()) };
        while let Some(row) = self.arrived.front() {
            run.spend()?;
            let has_key = fill_key(&mut self.key, right_keys, row, run)?;
            let place = self.held.len();
            let mut bytes = size_of_row(row) + size_of::<Option<usize>>();
            self.next_of_key.push(None);
            if has_key {
                let table = self.table.get_or_insert_with(|| run.state.hashing.map());
                match table.get_mut(self.key.as_slice()) {
                    Some((_, last)) => self.next_of_key[std::mem::replace(last, place)] = Some(place),
                    None => {
                        bytes += self.key.len() + size_of::<(Vec<u8>, (usize, usize))>();
                        table.insert(self.key.clone(), (place, place));
                    }
                }
            }
            self.held.extend(self.arrived.pop_front());
            self.matched.push(false);
            self.memory.hold(bytes, run.state)?;
        }
        Ok(())
    }

    /// Reads the whole right side.
    fn build(&mut self, run: &mut RunState<'_, '_>) -> Result<(), Interruption> {
        while !self.built {
            self.take_in(run)?;
            let Some(right) = &mut self.right else { return Ok(()) };
            match right.next(run, MANY)? {
                Some(rows) => self.arrived = rows.into(),
                None => self.built = true,
            }
        }
        Ok(())
    }

    /// Reads what belongs to the next rows of the left side.
    fn look_up(&mut self, run: &mut RunState<'_, '_>) -> Result<(), Interruption> {
        let plan = Arc::clone(&self.plan);
        let PlanNode::Join { right, .. } = &*plan else { return Ok(()) };
        let PlanNode::Scan(scan) = &**right else { return Ok(()) };
        while !self.built {
            self.take_scanned(scan.filter.as_ref(), run)?;
            while let Some(row) = self.probes.get(self.bounded) {
                self.bounds.extend(keyed_ranges(&scan.range, row, run)?);
                self.bounded += 1;
            }
            let bounds = &self.bounds;
            let mut ranges = |_: &mut RunState<'_, '_>| Ok(ascending(bounds.clone()));
            match self.lookup.get_or_insert_default().next(scan, run, &mut ranges)? {
                Some(rows) => self.scanned = rows.into(),
                None => self.built = true,
            }
        }
        Ok(())
    }

    fn take_scanned(
        &mut self,
        filter: Option<&CompiledExpression>,
        run: &mut RunState<'_, '_>,
    ) -> Result<(), Interruption> {
        while let Some(row) = self.scanned.front() {
            let holds = match filter {
                Some(filter) => run.settled(|run| filter.holds(row, run))?,
                None => true,
            };
            self.arrived.extend(self.scanned.pop_front().filter(|_| holds));
        }
        self.take_in(run)
    }

    /// Sees to it that a row of the left side is there; false at the end.
    fn refill(&mut self, run: &mut RunState<'_, '_>, want: usize) -> Result<bool, Interruption> {
        let by_key = self.right.is_none();
        while self.probes.is_empty() {
            if self.left_ended {
                return Ok(false);
            }
            match self.left.next(run, if by_key { want.min(PROBES) } else { want })? {
                Some(rows) => self.probes = rows.into(),
                None => {
                    self.left_ended = true;
                    return Ok(false);
                }
            }
            if by_key {
                self.memory.release_all(run.state);
                self.held.clear();
                self.table = None;
                self.next_of_key.clear();
                self.matched.clear();
                self.lookup = None;
                self.bounds.clear();
                (self.bounded, self.built) = (0, false);
            }
        }
        if by_key {
            self.look_up(run)?;
        }
        Ok(true)
    }

    /// Joins the first of the left rows with all its partners.
    fn probe(&mut self, run: &mut RunState<'_, '_>, want: usize) -> Result<(), Interruption> {
        let plan = Arc::clone(&self.plan);
        let PlanNode::Join { kind, left_keys, condition, right_width, .. } = &*plan else { return Ok(()) };
        let Some(left) = self.probes.front() else { return Ok(()) };
        if !self.current.begun {
            let has_key = fill_key(&mut self.key, left_keys, left, run)?;
            let partners = self.table.as_ref().filter(|_| has_key).and_then(|table| table.get(self.key.as_slice()));
            self.current = HashProbe { begun: true, next: partners.map(|(first, _)| *first), matched: false };
        }
        while let Some(partner) = self.current.next {
            if self.found.len() >= want {
                return Ok(());
            }
            run.spend()?;
            let row = [left.as_slice(), self.held[partner].as_slice()].concat();
            let holds = match condition {
                Some(condition) => run.settled(|run| condition.holds(&row, run))?,
                None => true,
            };
            self.current.next = self.next_of_key[partner];
            if !holds {
                continue;
            }
            self.current.matched = true;
            self.matched[partner] = true;
            self.found.push(row);
        }
        if matches!(kind, JoinType::Left | JoinType::Full) && !self.current.matched {
            self.found.push([left.as_slice(), &vec![Value::Null; *right_width]].concat());
        }
        self.probes.pop_front();
        self.current = HashProbe::default();
        Ok(())
    }

    /// Rows of the right side that no row of the left side belongs to.
    fn add_unmatched(&mut self, want: usize) {
        let PlanNode::Join { kind: JoinType::Right | JoinType::Full, left_width, .. } = &*self.plan else { return };
        while self.unmatched < self.held.len() && self.found.len() < want {
            if !self.matched[self.unmatched] {
                let row = [vec![Value::Null; *left_width].as_slice(), &self.held[self.unmatched]].concat();
                self.found.push(row);
            }
            self.unmatched += 1;
        }
    }
}

impl RowOperator for Join {
    fn next(&mut self, run: &mut RunState<'_, '_>, want: usize) -> Result<Option<Vec<RowValues>>, Interruption> {
        if self.right.is_some() {
            self.build(run)?;
        }
        while self.found.len() < want {
            if self.refill(run, want)? {
                self.probe(run, want)?;
                continue;
            }
            self.add_unmatched(want);
            break;
        }
        Ok(Some(std::mem::take(&mut self.found)).filter(|rows| !rows.is_empty()))
    }

    fn inputs(&mut self) -> Vec<&mut Box<dyn RowOperator>> {
        std::iter::once(&mut self.left).chain(&mut self.right).collect()
    }

    fn close(&mut self, state: &mut ExecutionState) {
        self.memory.release_all(state);
        if let Some(lookup) = &mut self.lookup {
            lookup.close(state);
        }
        self.inputs().into_iter().for_each(|input| input.close(state));
    }
}
