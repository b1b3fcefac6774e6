//! Groups and aggregates. Groups come in the order of their keys.

use super::sorter::{RowSorter, sort_key};
use crate::equality::{KEY_BYTES, equality_key, key_of};
use crate::error::{ExecutionError, Interruption};
use crate::hashing::KeyMap;
use crate::plan::{Aggregation, PlanNode};
use crate::run::{HeldBytes, RowValues, RunState, size_of_row};
use crate::run::{MANY, RowOperator};
use analyzer::TypeId;
use evaluation::Accumulator;
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use values::Value;

/// An aggregate for one group.
struct Aggregated {
    accumulator: Box<dyn Accumulator>,
    /// Rows that are to be sorted, or of which equal ones count once.
    collected: Option<Box<RowSorter<RowValues>>>,
    /// Those that were counted, where equal ones count once.
    seen: Option<BTreeSet<Vec<u8>>>,
    /// Bytes of the accumulator that are held.
    size: usize,
}

/// A group.
struct GroupState {
    keys: RowValues,
    aggregates: Vec<Aggregated>,
    carried: RowValues,
    set: usize,
}

/// An aggregation under way.
pub struct AggregateOperator {
    input: Box<dyn RowOperator>,
    plan: Arc<PlanNode>,
    arrived: VecDeque<RowValues>,
    /// What the row at hand gives.
    computed: AggregateValues,
    /// Which group has a key, for each set.
    places: Vec<KeyMap<usize>>,
    groups: Vec<GroupState>,
    /// Groups in the order of their keys.
    sorted: RowSorter<GroupState>,
    stage: AggregateStage,
    /// The group that is next, and those values of it that are done.
    next: Option<GroupState>,
    values: RowValues,
    found: Vec<RowValues>,
    memory: HeldBytes,
}

/// Bytes that a group needs beside its values: its place in the table and in the list of all.
const GROUP_BYTES: usize = size_of::<GroupState>() + 64;

/// Bytes that an aggregate of a group needs before any row.
const AGGREGATE_BYTES: usize = size_of::<Aggregated>() + 96;

/// How far an aggregation has come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AggregateStage {
    /// Rows come.
    Taking,
    /// All have come, and groups are sorted.
    Sorting,
    /// Groups leave.
    Leaving,
}

/// A new accumulator.
pub fn accumulator(
    of: &Aggregation,
    row: &[Value],
    run: &mut RunState<'_, '_>,
) -> Result<Box<dyn Accumulator>, Interruption> {
    let direct: RowValues = of.direct.iter().map(|value| value.evaluate(row, run)).collect::<Result<_, _>>()?;
    match evaluation::aggregates::aggregate(of.function, &direct, &of.types, of.result, run.environment.zone) {
        Some(made) => Ok(made?),
        None => Err(ExecutionError::new(sqlstate::FEATURE_NOT_SUPPORTED, "this aggregate is not built").into()),
    }
}

impl AggregateOperator {
    pub fn new(input: Box<dyn RowOperator>, plan: Arc<PlanNode>) -> AggregateOperator {
        AggregateOperator {
            input,
            plan,
            arrived: VecDeque::new(),
            computed: AggregateValues::default(),
            places: Vec::new(),
            groups: Vec::new(),
            sorted: RowSorter::default(),
            stage: AggregateStage::Taking,
            next: None,
            values: RowValues::new(),
            found: Vec::new(),
            memory: HeldBytes::default(),
        }
    }

    fn take_in(&mut self, run: &mut RunState<'_, '_>) -> Result<(), Interruption> {
        let plan = Arc::clone(&self.plan);
        let PlanNode::Aggregate { sets, .. } = &*plan else { return Ok(()) };
        self.places.resize_with(sets.len(), || run.state.hashing.map());
        loop {
            while let Some(row) = self.arrived.front() {
                run.spend()?;
                run.settled(|run| self.computed.fill(&plan, row, run))?;
                if let Some(row) = self.arrived.pop_front() {
                    self.add(&plan, &row, run)?;
                }
            }
            match self.input.next(run, MANY)? {
                Some(rows) => self.arrived = rows.into(),
                None => break,
            }
        }
        for (number, _) in sets.iter().enumerate().filter(|(_, set)| set.is_empty()) {
            if self.places[number].is_empty() {
                self.computed.fill_with_nulls(&plan);
                let group = new_group(&plan, number, &[], &self.computed, run)?;
                self.places[number].insert(Vec::new(), self.groups.len());
                self.groups.push(group);
            }
        }
        Ok(())
    }

    fn add(&mut self, plan: &PlanNode, row: &[Value], run: &mut RunState<'_, '_>) -> Result<(), Interruption> {
        let PlanNode::Aggregate { sets, aggregates, .. } = plan else { return Ok(()) };
        for (number, set) in sets.iter().enumerate() {
            let computed = &mut self.computed;
            computed.key.clear();
            set.iter().for_each(|group| equality_key(&computed.keys[*group], TypeId(0), &mut computed.key));
            let place = match self.places[number].get(computed.key.as_slice()) {
                Some(place) => *place,
                None => {
                    let group = new_group(plan, number, row, computed, run)?;
                    let bytes = size_of_row(&group.keys) + size_of_row(&group.carried) + computed.key.len();
                    self.memory.hold(bytes + GROUP_BYTES + aggregates.len() * AGGREGATE_BYTES, run.state)?;
                    self.places[number].insert(computed.key.clone(), self.groups.len());
                    self.groups.push(group);
                    self.groups.len() - 1
                }
            };
            let mut arguments = computed.arguments.as_slice();
            for ((aggregate, state), takes) in
                aggregates.iter().zip(&mut self.groups[place].aggregates).zip(&computed.takes)
            {
                if *takes {
                    let (own, others) = arguments.split_at(aggregate.arguments.len());
                    arguments = others;
                    state.add(aggregate, own, &mut self.memory, run)?;
                }
            }
        }
        Ok(())
    }

    /// Brings the groups into the order of their keys.
    fn sort(&mut self, run: &mut RunState<'_, '_>) -> Result<(), Interruption> {
        let plan = Arc::clone(&self.plan);
        let PlanNode::Aggregate { sets, .. } = &*plan else { return Ok(()) };
        self.places.clear();
        while !self.groups.is_empty() {
            run.spend()?;
            let Some(group) = self.groups.pop() else { break };
            let mut key = (group.set as u64).to_be_bytes().to_vec();
            sets[group.set].iter().for_each(|number| equality_key(&group.keys[*number], TypeId(0), &mut key));
            self.sorted.push(key, group, 0, &mut self.memory, run)?;
        }
        self.sorted.end();
        Ok(())
    }

    /// The row of the next group.
    fn next_group(&mut self, run: &mut RunState<'_, '_>) -> Result<Option<RowValues>, Interruption> {
        let plan = Arc::clone(&self.plan);
        let PlanNode::Aggregate { sets, aggregates, .. } = &*plan else { return Ok(None) };
        if self.next.is_none() {
            self.next = self.sorted.pop();
        }
        let Some(group) = &mut self.next else { return Ok(None) };
        while let Some(aggregate) = aggregates.get(self.values.len()) {
            let state = &mut group.aggregates[self.values.len()];
            self.values.push(state.finish(aggregate, &mut self.memory, run)?);
        }
        let Some(group) = self.next.take() else { return Ok(None) };
        let set = &sets[group.set];
        let mut row = RowValues::with_capacity(group.keys.len() + self.values.len() + group.carried.len() + 1);
        let mut missing = 0_i64;
        for (number, key) in group.keys.into_iter().enumerate() {
            let within = set.contains(&number);
            missing |= i64::from(!within) << number.min(62);
            row.push(if within { key } else { Value::Null });
        }
        row.append(&mut self.values);
        row.push(Value::BigInt(missing));
        row.extend(group.carried);
        Ok(Some(row))
    }
}

/// What a row gives: kept from row to row, for its memory.
#[derive(Default)]
struct AggregateValues {
    keys: RowValues,
    carried: RowValues,
    /// Which aggregates take the row.
    takes: Vec<bool>,
    /// The arguments of those, one behind the other.
    arguments: RowValues,
    /// The key of its group.
    key: Vec<u8>,
}

impl AggregateValues {
    /// Computes what a row gives, before anything is changed.
    fn fill(&mut self, plan: &PlanNode, row: &[Value], run: &mut RunState<'_, '_>) -> Result<(), Interruption> {
        let PlanNode::Aggregate { groups, aggregates, carried, .. } = plan else { return Ok(()) };
        self.clear();
        for group in groups {
            self.keys.push(group.evaluate(row, run)?);
        }
        for value in carried {
            self.carried.push(value.evaluate(row, run)?);
        }
        for aggregate in aggregates {
            let takes = match &aggregate.filter {
                Some(filter) => filter.holds(row, run)?,
                None => true,
            };
            self.takes.push(takes);
            for argument in aggregate.arguments.iter().filter(|_| takes) {
                self.arguments.push(argument.evaluate(row, run)?);
            }
        }
        Ok(())
    }

    /// What no row gives.
    fn fill_with_nulls(&mut self, plan: &PlanNode) {
        let PlanNode::Aggregate { groups, carried, .. } = plan else { return };
        self.clear();
        self.keys.resize(groups.len(), Value::Null);
        self.carried.resize(carried.len(), Value::Null);
    }

    fn clear(&mut self) {
        self.keys.clear();
        self.carried.clear();
        self.takes.clear();
        self.arguments.clear();
    }
}

fn new_group(
    plan: &PlanNode,
    set: usize,
    row: &[Value],
    computed: &AggregateValues,
    run: &mut RunState<'_, '_>,
) -> Result<GroupState, Interruption> {
    let PlanNode::Aggregate { aggregates, .. } = plan else { unreachable!("only an aggregation has groups") };
    let mut states = Vec::with_capacity(aggregates.len());
    for aggregate in aggregates {
        let accumulator = accumulator(aggregate, row, run)?;
        states.push(Aggregated { accumulator, collected: None, seen: None, size: 0 });
    }
    Ok(GroupState { keys: computed.keys.clone(), aggregates: states, carried: computed.carried.clone(), set })
}

impl Aggregated {
    fn add(
        &mut self,
        aggregate: &Aggregation,
        arguments: &[Value],
        memory: &mut HeldBytes,
        run: &mut RunState<'_, '_>,
    ) -> Result<(), Interruption> {
        if aggregate.order.is_empty() && aggregate.distinct.is_empty() {
            return self.count(aggregate, arguments, memory, run);
        }
        let key = sort_key(&aggregate.order, arguments, run)?;
        if aggregate.order.is_empty() {
            // The order does not matter, so each is counted when it comes.
            return self.count_once(aggregate, arguments, memory, run);
        }
        let collected = self.collected.get_or_insert_default();
        collected.push(key, arguments.to_vec(), size_of_row(arguments), memory, run)
    }

    /// Counts what was not counted before, if equal ones count once.
    fn count_once(
        &mut self,
        aggregate: &Aggregation,
        arguments: &[Value],
        memory: &mut HeldBytes,
        run: &mut RunState<'_, '_>,
    ) -> Result<(), Interruption> {
        if !aggregate.distinct.is_empty() {
            let key = key_of(aggregate.distinct.iter().map(|place| &arguments[*place]));
            let seen = self.seen.get_or_insert_default();
            if seen.contains(&key) {
                return Ok(());
            }
            memory.hold(key.len() + KEY_BYTES, run.state)?;
            seen.insert(key);
        }
        self.count(aggregate, arguments, memory, run)
    }

    /// Counts a row, and what the accumulator keeps of it.
    fn count(
        &mut self,
        aggregate: &Aggregation,
        arguments: &[Value],
        memory: &mut HeldBytes,
        run: &mut RunState<'_, '_>,
    ) -> Result<(), Interruption> {
        self.accumulator.add(&arguments[..aggregate.types.len().min(arguments.len())])?;
        let size = self.accumulator.size();
        if size > self.size {
            memory.hold(size - self.size, run.state)?;
            self.size = size;
        }
        Ok(())
    }

    /// The value of all rows. It may stop, and is then called again.
    fn finish(
        &mut self,
        aggregate: &Aggregation,
        memory: &mut HeldBytes,
        run: &mut RunState<'_, '_>,
    ) -> Result<Value, Interruption> {
        if let Some(collected) = &mut self.collected {
            collected.end();
        }
        loop {
            run.spend()?;
            let Some(arguments) = self.collected.as_mut().and_then(|collected| collected.pop()) else { break };
            self.count_once(aggregate, &arguments, memory, run)?;
        }
        Ok(self.accumulator.finish()?)
    }
}

impl RowOperator for AggregateOperator {
    fn next(&mut self, run: &mut RunState<'_, '_>, want: usize) -> Result<Option<Vec<RowValues>>, Interruption> {
        if self.stage == AggregateStage::Taking {
            self.take_in(run)?;
            self.stage = AggregateStage::Sorting;
        }
        if self.stage == AggregateStage::Sorting {
            self.sort(run)?;
            self.stage = AggregateStage::Leaving;
        }
        while self.found.len() < want {
            let Some(row) = self.next_group(run)? else { break };
            self.found.push(row);
        }
        Ok(Some(std::mem::take(&mut self.found)).filter(|rows| !rows.is_empty()))
    }

    fn memory(&mut self) -> Option<&mut HeldBytes> {
        Some(&mut self.memory)
    }

    fn inputs(&mut self) -> Vec<&mut Box<dyn RowOperator>> {
        vec![&mut self.input]
    }
}
