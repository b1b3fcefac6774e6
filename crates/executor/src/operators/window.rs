//! Windows: rows sorted by partition and order, and what each call sees from each row.

mod frames;

use super::rows::BATCH_BYTES;
use super::sort::sort_keys;
use super::sorter::{RowSorter, append_sort_key};
use crate::equality::key_of;
use crate::error::{ExecutionError, Interruption};
use crate::expression::LARGE_BYTES;
use crate::plan::{FrameEnd, FrameSpan, PlanNode, Sorting, WindowUse};
use crate::run::{ExecutionState, HeldBytes, RowValues, RunState, size_of_row};
use crate::run::{MANY, RowOperator};
use evaluation::Accumulator;
use frames::{Frames, SeenRows};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use values::Value;

/// A row with all that its window needs to know of it.
pub struct WindowRow {
    row: RowValues,
    partition: RowValues,
    pub order: RowValues,
    /// Arguments of each call; none where its FILTER does not hold.
    arguments: Vec<Option<RowValues>>,
}

/// An aggregate over a frame that only grows.
struct Growing {
    accumulator: Box<dyn Accumulator>,
    /// Up to which row it has come.
    end: usize,
    /// Its value there, once a row has asked: the same for all rows that see no more.
    value: Option<Value>,
    /// Bytes that are held for it.
    held: usize,
}

/// A window under way.
pub struct WindowOperator {
    input: Box<dyn RowOperator>,
    plan: Arc<PlanNode>,
    arrived: VecDeque<RowValues>,
    sorter: RowSorter<WindowRow>,
    /// Whether all rows have come.
    is_full: bool,
    /// They in their order.
    held: Vec<WindowRow>,
    sorted: bool,
    offsets: Option<[Value; 2]>,
    /// The partition of the next row, and what is known of it.
    partition: Range<usize>,
    frames: Option<Frames>,
    growing: Vec<Option<Growing>>,
    place: usize,
    found: Vec<RowValues>,
    /// Bytes of the rows that are found.
    found_bytes: usize,
    memory: HeldBytes,
}

/// Whether a window function is computed here, by the name of its implementation.
pub fn is_window_function(source: &str) -> bool {
    matches!(
        source.strip_prefix("window_"),
        Some(
            "row_number"
                | "rank"
                | "dense_rank"
                | "percent_rank"
                | "cume_dist"
                | "ntile"
                | "lag"
                | "lag_with_offset"
                | "lag_with_offset_and_default"
                | "lead"
                | "lead_with_offset"
                | "lead_with_offset_and_default"
                | "first_value"
                | "last_value"
                | "nth_value"
        )
    )
}

impl WindowOperator {
    pub fn new(input: Box<dyn RowOperator>, plan: Arc<PlanNode>) -> WindowOperator {
        WindowOperator {
            input,
            plan,
            arrived: VecDeque::new(),
            sorter: RowSorter::default(),
            is_full: false,
            held: Vec::new(),
            sorted: false,
            offsets: None,
            partition: 0..0,
            frames: None,
            growing: Vec::new(),
            place: 0,
            found: Vec::new(),
            found_bytes: 0,
            memory: HeldBytes::default(),
        }
    }

    fn take_in(&mut self, run: &mut RunState<'_, '_>) -> Result<(), Interruption> {
        let plan = Arc::clone(&self.plan);
        let PlanNode::Window { partition, order, calls, frame, .. } = &*plan else { return Ok(()) };
        if self.offsets.is_none() {
            let start = offset(&frame.start, frame, "starting", run)?;
            self.offsets = Some([start, offset(&frame.end, frame, "ending", run)?]);
        }
        while !self.is_full {
            while let Some(row) = self.arrived.front() {
                run.spend()?;
                let computed = run.settled(|run| WindowValues::of(row, partition, order, calls, run))?;
                let WindowValues { partition, order: by, arguments } = computed;
                let given: usize = arguments.iter().flatten().map(|given| size_of_row(given)).sum();
                let bytes = size_of_row(row) + size_of_row(&partition) + size_of_row(&by) + given;
                let mut key = key_of(partition.iter());
                order.iter().zip(&by).for_each(|(order, value)| append_sort_key(value, order, &mut key));
                let Some(row) = self.arrived.pop_front() else { break };
                let row = WindowRow { row, partition, order: by, arguments };
                self.sorter.push(key, row, bytes, &mut self.memory, run)?;
            }
            match self.input.next(run, MANY)? {
                Some(rows) => self.arrived = rows.into(),
                None => break,
            }
        }
        if !self.is_full {
            self.sorter.end();
            self.is_full = true;
        }
        loop {
            run.spend()?;
            let Some(row) = self.sorter.pop() else { break };
            self.held.push(row);
        }
        self.sorted = true;
        Ok(())
    }

    /// Sees to it that the partition of the next row is known.
    fn enter_partition(&mut self, calls: usize, state: &mut ExecutionState) {
        if self.place < self.partition.end {
            return;
        }
        let key = |row: &WindowRow| key_of(row.partition.iter());
        let first = key(&self.held[self.place]);
        let same = self.held[self.place..].iter().take_while(|row| key(row) == first).count();
        self.partition = self.place..self.place + same;
        let orders: Vec<Vec<u8>> =
            self.held[self.partition.clone()].iter().map(|row| key_of(row.order.iter())).collect();
        self.frames = Some(Frames::new(&orders));
        self.memory.release(self.growing.iter().flatten().map(|growing| growing.held).sum(), state);
        self.growing = (0..calls).map(|_| None).collect();
    }

    /// The values of all calls for the next row.
    fn compute(&mut self, run: &mut RunState<'_, '_>) -> Result<RowValues, Interruption> {
        let plan = Arc::clone(&self.plan);
        let PlanNode::Window { frame, calls, order, .. } = &*plan else { return Ok(RowValues::new()) };
        self.enter_partition(calls.len(), run.state);
        let (Some(frames), Some(offsets)) = (&self.frames, &self.offsets) else { return Ok(RowValues::new()) };
        let rows = &self.held[self.partition.clone()];
        let place = self.place - self.partition.start;
        let seen = frames.seen(place, frame, offsets, rows, order, run)?;
        let mut values = RowValues::with_capacity(calls.len());
        for (number, call) in calls.iter().enumerate() {
            let value = match call.source {
                Some(source) => window_function(source, rows, number, place, frames, &seen)?,
                None => aggregated(call, rows, number, &seen, &mut self.growing[number], &mut self.memory, run)?,
            };
            let bytes = value.size_in_memory();
            if bytes > LARGE_BYTES {
                run.state.pass(bytes)?;
            }
            values.push(value);
        }
        Ok(values)
    }
}

/// What a row gives.
struct WindowValues {
    partition: RowValues,
    order: RowValues,
    arguments: Vec<Option<RowValues>>,
}

impl WindowValues {
    fn of(
        row: &[Value],
        partition: &[crate::expression::CompiledExpression],
        order: &[Sorting],
        calls: &[WindowUse],
        run: &mut RunState<'_, '_>,
    ) -> Result<WindowValues, Interruption> {
        let partition: RowValues = partition.iter().map(|value| value.evaluate(row, run)).collect::<Result<_, _>>()?;
        let order = sort_keys(order, row, run)?;
        let mut arguments = Vec::with_capacity(calls.len());
        for call in calls {
            let takes = match &call.filter {
                Some(filter) => filter.holds(row, run)?,
                None => true,
            };
            arguments.push(match takes {
                true => Some(call.arguments.iter().map(|v| v.evaluate(row, run)).collect::<Result<RowValues, _>>()?),
                false => None,
            });
        }
        Ok(WindowValues { partition, order, arguments })
    }
}

/// The offset of a frame's end; NULL where it has none.
fn offset(end: &FrameEnd, frame: &FrameSpan, which: &str, run: &mut RunState<'_, '_>) -> Result<Value, Interruption> {
    let (FrameEnd::Preceding(offset, _) | FrameEnd::Following(offset, _)) = end else { return Ok(Value::Null) };
    let value = offset.evaluate(&[], run)?;
    if value.is_null() {
        return Err(ExecutionError::new(
            sqlstate::NULL_VALUE_NOT_ALLOWED,
            format!("frame {which} offset must not be null"),
        )
        .into());
    }
    if frame.unit != grammar::ast::FrameUnit::Range && value.as_integer().is_some_and(|rows| rows < 0) {
        return Err(ExecutionError::new(
            sqlstate::INVALID_PRECEDING_OR_FOLLOWING_SIZE,
            format!("frame {which} offset must not be negative"),
        )
        .into());
    }
    Ok(value)
}

/// An aggregate over the rows that a row sees. As long as these only become more, it goes on where it was.
fn aggregated(
    call: &WindowUse,
    rows: &[WindowRow],
    number: usize,
    seen: &SeenRows,
    growing: &mut Option<Growing>,
    memory: &mut HeldBytes,
    run: &mut RunState<'_, '_>,
) -> Result<Value, Interruption> {
    let zone = run.environment.zone;
    let begin = || match evaluation::aggregates::aggregate(call.function, &[], &call.types, call.result, zone) {
        Some(made) => made.map_err(Interruption::from),
        None => Err(ExecutionError::new(sqlstate::FEATURE_NOT_SUPPORTED, "this aggregate is not built").into()),
    };
    if seen.range.start != 0 || !seen.without.is_empty() {
        let mut accumulator = begin()?;
        for place in seen.places() {
            run.budget = run.budget.saturating_sub(1);
            if let Some(arguments) = &rows[place].arguments[number] {
                accumulator.add(arguments)?;
            }
        }
        run.state.pass(accumulator.size())?;
        return finished(&*accumulator, run);
    }
    if let Some(shrunk) = growing.take_if(|growing| growing.end > seen.range.end) {
        memory.release(shrunk.held, run.state);
    }
    let growing = match growing {
        Some(growing) => growing,
        None => growing.insert(Growing { accumulator: begin()?, end: 0, value: None, held: 0 }),
    };
    for row in &rows[growing.end..seen.range.end] {
        run.budget = run.budget.saturating_sub(1);
        if let Some(arguments) = &row.arguments[number] {
            growing.accumulator.add(arguments)?;
            growing.value = None;
        }
        growing.end += 1;
        let size = growing.accumulator.size();
        if size > growing.held {
            memory.hold(size - growing.held, run.state)?;
            growing.held = size;
        }
    }
    if let Some(value) = &growing.value {
        return Ok(value.clone());
    }
    let value = finished(&*growing.accumulator, run)?;
    growing.value = Some(value.clone());
    Ok(value)
}

/// The value of an aggregate. To make a large one takes as long as to work on many rows.
fn finished(accumulator: &dyn Accumulator, run: &mut RunState<'_, '_>) -> Result<Value, Interruption> {
    let value = accumulator.finish()?;
    run.budget = run.budget.saturating_sub(value.size_in_memory() / LARGE_BYTES);
    Ok(value)
}

fn window_function(
    source: &str,
    rows: &[WindowRow],
    number: usize,
    place: usize,
    frames: &Frames,
    seen: &SeenRows,
) -> Result<Value, Interruption> {
    let argument = |row: usize, argument: usize| -> Value {
        let arguments = rows.get(row).and_then(|row| row.arguments[number].as_ref());
        arguments.and_then(|arguments| arguments.get(argument)).cloned().unwrap_or(Value::Null)
    };
    let count = rows.len();
    let peers = frames.peers(place);
    let shifted = |sign: i64| -> Value {
        let given = rows[place].arguments[number].as_ref().map_or(0, Vec::len);
        let by = if given > 1 { argument(place, 1).as_integer() } else { Some(1) };
        let Some(by) = by else { return Value::Null };
        let target = (place as i64).checked_add(by.saturating_mul(sign));
        match target.and_then(|target| usize::try_from(target).ok()).filter(|target| *target < count) {
            Some(target) => argument(target, 0),
            None if given > 2 => argument(place, 2),
            None => Value::Null,
        }
    };
    let positive = |value: Value, sqlstate, name: &str| -> Result<Option<usize>, Interruption> {
        match value.as_integer() {
            None => Ok(None),
            Some(number) if number > 0 => Ok(Some(usize::try_from(number).unwrap_or(usize::MAX))),
            Some(_) => {
                let message = format!("argument of {name} must be greater than zero");
                Err(ExecutionError::new(sqlstate, message).into())
            }
        }
    };
    Ok(match source.strip_prefix("window_").unwrap_or(source) {
        "row_number" => Value::BigInt(place as i64 + 1),
        "rank" => Value::BigInt(peers.start as i64 + 1),
        "dense_rank" => Value::BigInt(frames.group(place) as i64 + 1),
        "percent_rank" if count <= 1 => Value::Double(0.0),
        "percent_rank" => Value::Double(peers.start as f64 / (count - 1) as f64),
        "cume_dist" => Value::Double(peers.end as f64 / count as f64),
        "ntile" => match positive(argument(0, 0), sqlstate::INVALID_ARGUMENT_FOR_NTILE_FUNCTION, "ntile")? {
            Some(buckets) => Value::Integer(bucket(place, count, buckets) as i32),
            None => Value::Null,
        },
        "first_value" => seen.nth(0).map_or(Value::Null, |row| argument(row, 0)),
        "last_value" => seen.last().map_or(Value::Null, |row| argument(row, 0)),
        "nth_value" => {
            match positive(argument(place, 1), sqlstate::INVALID_ARGUMENT_FOR_NTH_VALUE_FUNCTION, "nth_value")? {
                Some(nth) => seen.nth(nth - 1).map_or(Value::Null, |row| argument(row, 0)),
                None => Value::Null,
            }
        }
        name if name.starts_with("lag") => shifted(-1),
        _ => shifted(1),
    })
}

/// The bucket of a row, from 1; the first ones have one row more where they do not come out even.
fn bucket(place: usize, count: usize, buckets: usize) -> usize {
    let (size, larger) = (count / buckets, count % buckets);
    let in_larger = larger * (size + 1);
    if place < in_larger { place / (size + 1) + 1 } else { larger + (place - in_larger) / size.max(1) + 1 }
}

impl RowOperator for WindowOperator {
    fn next(&mut self, run: &mut RunState<'_, '_>, want: usize) -> Result<Option<Vec<RowValues>>, Interruption> {
        if !self.sorted {
            self.take_in(run)?;
        }
        while self.found.len() < want && self.found_bytes <= BATCH_BYTES && self.place < self.held.len() {
            run.spend()?;
            let mut values = self.compute(run)?;
            let mut row = self.held[self.place].row.clone();
            row.append(&mut values);
            let bytes = size_of_row(&row);
            self.found.push(row);
            self.place += 1;
            self.found_bytes += bytes;
            self.memory.hold(bytes, run.state)?;
        }
        self.memory.release(std::mem::take(&mut self.found_bytes), run.state);
        Ok(Some(std::mem::take(&mut self.found)).filter(|rows| !rows.is_empty()))
    }

    fn memory(&mut self) -> Option<&mut HeldBytes> {
        Some(&mut self.memory)
    }

    fn inputs(&mut self) -> Vec<&mut Box<dyn RowOperator>> {
        vec![&mut self.input]
    }
}
