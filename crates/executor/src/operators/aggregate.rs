//! Groups and aggregates. Groups come in the order of their keys.

use super::sorter::{RowSorter, sort_key};
use super::{MANY, RowOperator};
use crate::equality::key_of;
use crate::error::{ExecutionError, Interruption};
use crate::plan::{Aggregation, PlanNode};
use crate::run::{HeldBytes, RowValues, RunState, size_of_row};
use evaluation::Accumulator;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use values::Value;

/// An aggregate for one group.
struct Aggregated {
    accumulator: Box<dyn Accumulator>,
    /// Rows that are to be sorted, or of which equal ones count once.
    collected: RowSorter<RowValues>,
    /// Those that were counted, where equal ones count once.
    seen: BTreeSet<Vec<u8>>,
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
    groups: BTreeMap<(usize, Vec<u8>), GroupState>,
    /// Whether all rows have come.
    is_full: bool,
    /// Values of the next group that is done.
    values: RowValues,
    found: Vec<RowValues>,
    memory: HeldBytes,
}

/// A new accumulator.
pub fn accumulator(
    of: &Aggregation,
    row: &[Value],
    run: &mut RunState<'_, '_>,
) -> Result<Box<dyn Accumulator>, Interruption> {
    let direct: RowValues = of.direct.iter().map(|value| value.evaluate(row, run)).collect::<Result<_, _>>()?;
    match evaluation::aggregates::aggregate(of.function, &direct, &of.types, of.result) {
        Some(made) => Ok(made?),
        None => Err(ExecutionError::new("0A000", "this aggregate is not built").into()),
    }
}

impl AggregateOperator {
    pub fn new(input: Box<dyn RowOperator>, plan: Arc<PlanNode>) -> AggregateOperator {
        AggregateOperator {
            input,
            plan,
            arrived: VecDeque::new(),
            groups: BTreeMap::new(),
            is_full: false,
            values: RowValues::new(),
            found: Vec::new(),
            memory: HeldBytes::default(),
        }
    }

    fn take_in(&mut self, run: &mut RunState<'_, '_>) -> Result<(), Interruption> {
        loop {
            while let Some(row) = self.arrived.front() {
                run.spend()?;
                let computed = self.compute(row, run)?;
                if let Some(row) = self.arrived.pop_front() {
                    self.add(&row, computed, run)?;
                }
            }
            match self.input.next(run, MANY)? {
                Some(rows) => self.arrived = rows.into(),
                None => return Ok(()),
            }
        }
    }

    /// What a row gives, before anything is changed: grouping values, and arguments of those aggregates that take it.
    fn compute(&self, row: &[Value], run: &mut RunState<'_, '_>) -> Result<AggregateValues, Interruption> {
        let PlanNode::Aggregate { groups, aggregates, carried, .. } = &*self.plan else {
            return Ok(AggregateValues::default());
        };
        let mut computed = AggregateValues::default();
        for group in groups {
            computed.keys.push(group.evaluate(row, run)?);
        }
        for value in carried {
            computed.carried.push(value.evaluate(row, run)?);
        }
        for aggregate in aggregates {
            let takes = match &aggregate.filter {
                Some(filter) => filter.holds(row, run)?,
                None => true,
            };
            let arguments = match takes {
                true => {
                    Some(aggregate.arguments.iter().map(|v| v.evaluate(row, run)).collect::<Result<RowValues, _>>()?)
                }
                false => None,
            };
            computed.arguments.push(arguments);
        }
        Ok(computed)
    }

    fn add(
        &mut self,
        row: &[Value],
        computed: AggregateValues,
        run: &mut RunState<'_, '_>,
    ) -> Result<(), Interruption> {
        let plan = Arc::clone(&self.plan);
        let PlanNode::Aggregate { sets, aggregates, .. } = &*plan else { return Ok(()) };
        for (number, set) in sets.iter().enumerate() {
            let key = key_of(set.iter().map(|group| &computed.keys[*group]));
            let place = (number, key);
            if !self.groups.contains_key(&place) {
                let group = new_group(&plan, number, row, &computed, run)?;
                let bytes =
                    size_of_row(&group.keys) + size_of_row(&group.carried) + place.1.len() + aggregates.len() * 64;
                self.memory.hold(bytes, run.state)?;
                self.groups.insert(place.clone(), group);
            }
            let Some(group) = self.groups.get_mut(&place) else { continue };
            for ((aggregate, state), arguments) in aggregates.iter().zip(&mut group.aggregates).zip(&computed.arguments)
            {
                if let Some(arguments) = arguments {
                    state.add(aggregate, arguments, &mut self.memory, run)?;
                }
            }
        }
        Ok(())
    }

    /// Adds the groups that are there without a row.
    fn add_empty_groups(&mut self, run: &mut RunState<'_, '_>) -> Result<(), Interruption> {
        let plan = Arc::clone(&self.plan);
        let PlanNode::Aggregate { sets, groups, carried, .. } = &*plan else { return Ok(()) };
        for (number, _) in sets.iter().enumerate().filter(|(_, set)| set.is_empty()) {
            let place = (number, Vec::new());
            if let Entry::Vacant(vacant) = self.groups.entry(place) {
                let nothing = AggregateValues {
                    keys: vec![Value::Null; groups.len()],
                    carried: vec![Value::Null; carried.len()],
                    arguments: Vec::new(),
                };
                let group = new_group(&plan, number, &[], &nothing, run)?;
                vacant.insert(group);
            }
        }
        Ok(())
    }

    /// The row of the next group.
    fn next_group(&mut self, run: &mut RunState<'_, '_>) -> Result<Option<RowValues>, Interruption> {
        let plan = Arc::clone(&self.plan);
        let PlanNode::Aggregate { sets, aggregates, .. } = &*plan else { return Ok(None) };
        let Some(mut first) = self.groups.first_entry() else { return Ok(None) };
        let group = first.get_mut();
        while let Some(aggregate) = aggregates.get(self.values.len()) {
            let state = &mut group.aggregates[self.values.len()];
            self.values.push(state.finish(aggregate, &mut self.memory, run)?);
        }
        let group = first.remove();
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

/// What a row gives.
#[derive(Default)]
struct AggregateValues {
    keys: RowValues,
    carried: RowValues,
    arguments: Vec<Option<RowValues>>,
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
        states.push(Aggregated { accumulator, collected: RowSorter::default(), seen: BTreeSet::new(), size: 0 });
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
            self.accumulator.add(&arguments[..aggregate.types.len().min(arguments.len())])?;
            let size = self.accumulator.size();
            if size > self.size {
                memory.hold(size - self.size, run.state)?;
                self.size = size;
            }
            return Ok(());
        }
        let key = sort_key(&aggregate.order, arguments, run)?;
        if aggregate.order.is_empty() {
            // The order does not matter, so each is counted when it comes.
            return self.count_once(aggregate, arguments, memory, run);
        }
        self.collected.push(key, arguments.to_vec(), size_of_row(arguments), memory, run)
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
            if self.seen.contains(&key) {
                return Ok(());
            }
            memory.hold(key.len() + size_of::<Vec<u8>>(), run.state)?;
            self.seen.insert(key);
        }
        Ok(self.accumulator.add(&arguments[..aggregate.types.len().min(arguments.len())])?)
    }

    /// The value of all rows. It may stop, and is then called again.
    fn finish(
        &mut self,
        aggregate: &Aggregation,
        memory: &mut HeldBytes,
        run: &mut RunState<'_, '_>,
    ) -> Result<Value, Interruption> {
        self.collected.end();
        loop {
            run.spend()?;
            let Some(arguments) = self.collected.pop() else { break };
            self.count_once(aggregate, &arguments, memory, run)?;
        }
        Ok(self.accumulator.finish()?)
    }
}

impl RowOperator for AggregateOperator {
    fn next(&mut self, run: &mut RunState<'_, '_>, want: usize) -> Result<Option<Vec<RowValues>>, Interruption> {
        if !self.is_full {
            self.take_in(run)?;
            self.add_empty_groups(run)?;
            self.is_full = true;
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
