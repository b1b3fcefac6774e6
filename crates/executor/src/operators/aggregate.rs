//! Groups and aggregates. Groups come in the order of their keys.

use super::sort::{compare_keys, sort_keys};
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
    /// Rows that are to be sorted, or of which equal ones count once, with what they are sorted by.
    collected: Vec<(RowValues, RowValues)>,
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
    finished: Option<std::vec::IntoIter<RowValues>>,
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
            finished: None,
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

    /// The rows of all groups.
    fn finish(&mut self, run: &mut RunState<'_, '_>) -> Result<(), Interruption> {
        let plan = Arc::clone(&self.plan);
        let PlanNode::Aggregate { sets, groups, aggregates, carried, .. } = &*plan else { return Ok(()) };
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
        let mut rows = Vec::with_capacity(self.groups.len());
        for group in self.groups.values_mut() {
            let set = &sets[group.set];
            let mut row = RowValues::new();
            let mut missing = 0_i64;
            for (number, key) in group.keys.iter().enumerate() {
                let within = set.contains(&number);
                missing |= i64::from(!within) << number.min(62);
                row.push(if within { key.clone() } else { Value::Null });
            }
            for (aggregate, state) in aggregates.iter().zip(&mut group.aggregates) {
                row.push(state.finish(aggregate)?);
            }
            row.push(Value::BigInt(missing));
            row.append(&mut group.carried);
            rows.push(row);
        }
        self.groups.clear();
        self.finished = Some(rows.into_iter());
        Ok(())
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
        states.push(Aggregated { accumulator, collected: Vec::new(), size: 0 });
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
        let keys = sort_keys(&aggregate.order, arguments, run)?;
        memory.hold(size_of_row(arguments) + size_of_row(&keys), run.state)?;
        self.collected.push((keys, arguments.to_vec()));
        Ok(())
    }

    fn finish(&mut self, aggregate: &Aggregation) -> Result<Value, Interruption> {
        let mut collected = std::mem::take(&mut self.collected);
        collected.sort_by(|left, right| compare_keys(&aggregate.order, &left.0, &right.0));
        let mut seen = BTreeSet::new();
        for (_, arguments) in collected {
            let counts = aggregate.distinct.is_empty()
                || seen.insert(key_of(aggregate.distinct.iter().map(|place| &arguments[*place])));
            if counts {
                self.accumulator.add(&arguments[..aggregate.types.len().min(arguments.len())])?;
            }
        }
        Ok(self.accumulator.finish()?)
    }
}

impl RowOperator for AggregateOperator {
    fn next(&mut self, run: &mut RunState<'_, '_>, want: usize) -> Result<Option<Vec<RowValues>>, Interruption> {
        if self.finished.is_none() {
            self.take_in(run)?;
            self.finish(run)?;
        }
        let Some(finished) = &mut self.finished else { return Ok(None) };
        let rows: Vec<RowValues> = finished.take(want).collect();
        Ok(Some(rows).filter(|rows| !rows.is_empty()))
    }

    fn memory(&mut self) -> Option<&mut HeldBytes> {
        Some(&mut self.memory)
    }

    fn inputs(&mut self) -> Vec<&mut Box<dyn RowOperator>> {
        vec![&mut self.input]
    }
}
