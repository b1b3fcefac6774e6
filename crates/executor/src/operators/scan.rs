//! Rows of a relation.

use super::Operator;
use super::rows::Progress;
use crate::access::{KeyBounds, ScanId, ScanOrder};
use crate::equality::key_of;
use crate::error::Stop;
use crate::plan::{KeyEnd, KeyRange, KeySource, Node, ScanNode};
use crate::run::{Row, Run, State};
use std::collections::BTreeMap;
use std::sync::Arc;
use values::{Type, Value};

/// A scan under way.
pub struct Scan {
    plan: Arc<Node>,
    reader: Reader,
    progress: Progress,
}

/// What reads from a path.
#[derive(Default)]
pub struct Reader {
    scan: Option<ScanId>,
    begun: bool,
}

impl Scan {
    pub fn new(plan: Arc<Node>) -> Scan {
        Scan { plan, reader: Reader::default(), progress: Progress::default() }
    }
}

impl Reader {
    /// The next rows of a scan, with its columns; before the first ones `ranges` says which.
    pub fn next(
        &mut self,
        scan: &ScanNode,
        run: &mut Run<'_, '_>,
        limit: Option<usize>,
        ranges: &mut dyn FnMut(&mut Run<'_, '_>) -> Result<Vec<KeyBounds>, Stop>,
    ) -> Result<Option<Vec<Row>>, Stop> {
        if !self.begun {
            let ranges = ranges(run)?;
            self.begun = true;
            if !ranges.is_empty() {
                let (relation, path, columns) = (scan.relation, scan.path, scan.columns.clone());
                self.scan = Some(run.state.open(ScanOrder { relation, path, ranges, reverse: false, columns, limit }));
            }
        }
        let Some(open) = self.scan else { return Ok(None) };
        let Some(rows) = run.state.fetch(open)? else {
            self.scan = None;
            return Ok(None);
        };
        let narrow = |mut row: Row| -> Row {
            let take = |column: &u32| {
                row.get_mut(*column as usize).map_or(Value::Null, |at| std::mem::replace(at, Value::Null))
            };
            scan.columns.iter().map(take).collect()
        };
        Ok(Some(rows.into_iter().map(narrow).collect()))
    }

    pub fn close(&mut self, state: &mut State) {
        if let Some(scan) = self.scan.take() {
            state.close(scan);
        }
    }
}

impl Operator for Scan {
    fn next(&mut self, run: &mut Run<'_, '_>, want: usize) -> Result<Option<Vec<Row>>, Stop> {
        let plan = Arc::clone(&self.plan);
        let Node::Scan(scan) = &*plan else { return Ok(None) };
        loop {
            while let Some(row) = self.progress.waiting.front() {
                if self.progress.found.len() >= want {
                    break;
                }
                run.spend()?;
                let holds = match &scan.filter {
                    Some(filter) => filter.holds(row, run)?,
                    None => true,
                };
                let row = self.progress.waiting.pop_front();
                self.progress.found.extend(row.filter(|_| holds));
            }
            if !self.progress.found.is_empty() {
                return Ok(Some(std::mem::take(&mut self.progress.found)));
            }
            let mut ranges = |run: &mut Run<'_, '_>| ranges(&scan.range, &[], run);
            match self.reader.next(scan, run, None, &mut ranges)? {
                Some(rows) => self.progress.waiting = rows.into(),
                None => return Ok(None),
            }
        }
    }

    fn close(&mut self, state: &mut State) {
        self.reader.close(state);
    }
}

/// The ranges of keys for a row: in their order, none twice.
pub fn ranges(range: &KeyRange, row: &[Value], run: &mut Run<'_, '_>) -> Result<Vec<KeyBounds>, Stop> {
    let mut found = BTreeMap::new();
    for (key, bounds) in keyed_ranges(range, row, run)? {
        found.insert(key, bounds);
    }
    Ok(found.into_values().collect())
}

/// The same with the keys by which they are sorted.
pub fn keyed_ranges(range: &KeyRange, row: &[Value], run: &mut Run<'_, '_>) -> Result<Vec<(Vec<u8>, KeyBounds)>, Stop> {
    let mut prefixes: Vec<Vec<Value>> = vec![Vec::new()];
    for (source, stored) in range.equal.iter().zip(&range.types) {
        let values = match source {
            KeySource::One(value) => vec![value.evaluate(row, run)?],
            KeySource::Each(values) => values.iter().map(|v| v.evaluate(row, run)).collect::<Result<_, _>>()?,
            KeySource::Elements(array) => array.evaluate(row, run)?.as_array().unwrap_or_default().to_vec(),
        };
        let values: Vec<Value> = values.into_iter().filter_map(|value| stored_as(value, *stored)).collect();
        let longer = |prefix: &Vec<Value>| {
            let prefix = prefix.clone();
            values.clone().into_iter().map(move |value| [prefix.clone(), vec![value]].concat())
        };
        prefixes = prefixes.iter().flat_map(longer).collect();
    }
    let stored = range.types.get(range.equal.len()).copied();
    let (Some(lower), Some(upper)) = (end(&range.lower, stored, row, run)?, end(&range.upper, stored, row, run)?)
    else {
        return Ok(Vec::new());
    };
    let bounded = |prefix: Vec<Value>| {
        let side = |end: &Option<(Value, bool)>| match end {
            Some((value, inclusive)) => ([prefix.clone(), vec![value.clone()]].concat(), *inclusive),
            None => (prefix.clone(), true),
        };
        let ((lower, lower_inclusive), (upper, upper_inclusive)) = (side(&lower), side(&upper));
        (key_of(prefix.iter()), KeyBounds { lower, lower_inclusive, upper, upper_inclusive })
    };
    Ok(prefixes.into_iter().map(bounded).collect())
}

/// The value of a range's end; `Some(None)` if it does not bound, `None` if nothing can be within.
fn end(
    end: &Option<KeyEnd>,
    stored: Option<Type>,
    row: &[Value],
    run: &mut Run<'_, '_>,
) -> Result<Option<Option<(Value, bool)>>, Stop> {
    let (Some(end), Some(stored)) = (end, stored) else { return Ok(Some(None)) };
    let value = end.value.evaluate(row, run)?;
    if value.is_null() {
        return Ok(None);
    }
    // A bound that the column's type cannot hold does not bound; the filter stands beside the range.
    Ok(Some(stored_as(value, stored).map(|value| (value, end.inclusive))))
}

/// A value as a column of a type holds it; none for NULL and what it cannot hold, which nothing there is equal to.
fn stored_as(value: Value, stored: Type) -> Option<Value> {
    let Some(number) = value.as_integer().filter(|_| stored.is_integer()) else {
        return Some(value).filter(|value| !value.is_null());
    };
    match stored {
        Type::SmallInt => number.try_into().ok().map(Value::SmallInt),
        Type::Integer => number.try_into().ok().map(Value::Integer),
        Type::BigInt => Some(Value::BigInt(number)),
        _ => Some(value),
    }
}
