//! Rows of a relation.

use super::limit::count;
use super::rows::ProjectedRows;
use crate::access::{KeyBounds, ScanId, ScanOrder};
use crate::equality::key_of;
use crate::error::Interruption;
use crate::expression::{ELEMENTS_OF_A_ROW, order};
use crate::plan::{KeyDirection, KeyEnd, KeySource, PlanNode, RangeBounds, ScanNode};
use crate::run::RowOperator;
use crate::run::{ExecutionState, RowValues, RunState};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use values::{Type, Value};

/// How many prefixes of keys the values of several columns are combined to.
const PREFIXES_MAX: usize = 16_384;

/// A scan under way.
pub struct ScanOperator {
    plan: Arc<PlanNode>,
    reader: ScanReader,
    progress: ProjectedRows,
}

/// What reads from a path.
#[derive(Default)]
pub struct ScanReader {
    scan: Option<ScanId>,
    begun: bool,
}

impl ScanOperator {
    pub fn new(plan: Arc<PlanNode>) -> ScanOperator {
        ScanOperator { plan, reader: ScanReader::default(), progress: ProjectedRows::default() }
    }
}

impl ScanReader {
    /// The next rows of a scan, with its columns; before the first ones `ranges` says which.
    pub fn next(
        &mut self,
        scan: &ScanNode,
        run: &mut RunState<'_, '_>,
        ranges: &mut dyn FnMut(&mut RunState<'_, '_>) -> Result<Vec<KeyBounds>, Interruption>,
    ) -> Result<Option<Vec<RowValues>>, Interruption> {
        if !self.begun {
            let ranges = ranges(run)?;
            let limit = rows_needed(scan, run)?;
            self.begun = true;
            if !ranges.is_empty() {
                let (relation, columns) = (scan.relation, scan.columns.clone());
                // All rows are better read by their own key, unless their order is wanted.
                let is_whole = matches!(ranges.as_slice(), [all] if *all == whole());
                let path = if is_whole && scan.direction.is_none() { 0 } else { scan.path };
                let reverse = scan.direction == Some(KeyDirection::Descending);
                self.scan = Some(run.state.open(ScanOrder { relation, path, ranges, reverse, columns, limit }));
            }
        }
        let Some(open) = self.scan else { return Ok(None) };
        let Some(rows) = run.state.fetch(open)? else {
            self.scan = None;
            return Ok(None);
        };
        Ok(Some(rows))
    }

    pub fn close(&mut self, state: &mut ExecutionState) {
        if let Some(scan) = self.scan.take() {
            state.close(scan);
        }
    }
}

impl RowOperator for ScanOperator {
    fn next(&mut self, run: &mut RunState<'_, '_>, want: usize) -> Result<Option<Vec<RowValues>>, Interruption> {
        let plan = Arc::clone(&self.plan);
        let PlanNode::Scan(scan) = &*plan else { return Ok(None) };
        loop {
            while let Some(row) = self.progress.waiting.front() {
                if self.progress.found.len() >= want {
                    break;
                }
                run.spend()?;
                let holds = match &scan.filter {
                    Some(filter) => run.settled(|run| filter.holds(row, run))?,
                    None => true,
                };
                let row = self.progress.waiting.pop_front();
                self.progress.found.extend(row.filter(|_| holds));
            }
            if !self.progress.found.is_empty() {
                return Ok(Some(std::mem::take(&mut self.progress.found)));
            }
            let mut ranges = |run: &mut RunState<'_, '_>| ranges(&scan.range, &[], run);
            match self.reader.next(scan, run, &mut ranges)? {
                Some(rows) => self.progress.waiting = rows.into(),
                None => return Ok(None),
            }
        }
    }

    fn close(&mut self, state: &mut ExecutionState) {
        self.reader.close(state);
    }
}

/// How many rows will be needed at most.
fn rows_needed(scan: &ScanNode, run: &mut RunState<'_, '_>) -> Result<Option<usize>, Interruption> {
    let Some(needed) = &scan.needed else { return Ok(None) };
    let skipped = count(needed.offset.as_ref(), "OFFSET", run)?.unwrap_or(0);
    let limit = count(Some(&needed.limit), "LIMIT", run)?;
    Ok(limit.and_then(|limit| usize::try_from(limit.saturating_add(skipped)).ok()))
}

/// The bounds of all keys.
fn whole() -> KeyBounds {
    KeyBounds { lower_inclusive: true, upper_inclusive: true, ..KeyBounds::default() }
}

/// In the order of their keys.
pub fn ascending(found: BTreeMap<Vec<u8>, KeyBounds>) -> Vec<KeyBounds> {
    let mut found: Vec<KeyBounds> = found.into_values().collect();
    found.sort_by(|one, other| {
        let pairs = one.lower.iter().zip(&other.lower);
        pairs.map(|(one, other)| order(one, other)).find(|found| found.is_ne()).unwrap_or(Ordering::Equal)
    });
    // A prefix that was not made longer has all that begins with it.
    found.dedup_by(|next, kept| kept.lower == kept.upper && next.lower.starts_with(&kept.lower));
    found
}

/// The ranges of keys for a row: in their order, none twice.
pub fn ranges(range: &RangeBounds, row: &[Value], run: &mut RunState<'_, '_>) -> Result<Vec<KeyBounds>, Interruption> {
    let mut found = BTreeMap::new();
    for (key, bounds) in keyed_ranges(range, row, run)? {
        found.insert(key, bounds);
    }
    Ok(ascending(found))
}

/// The values that a column may have, as it holds them; none if it may have any.
fn values_of(
    source: &KeySource,
    stored: Type,
    row: &[Value],
    run: &mut RunState<'_, '_>,
) -> Result<Option<Vec<Value>>, Interruption> {
    let values: Vec<Value> = match source {
        KeySource::One(value) => vec![value.evaluate(row, run)?],
        KeySource::Each(values) => values.iter().map(|v| v.evaluate(row, run)).collect::<Result<_, _>>()?,
        KeySource::Elements(array) => array.evaluate(row, run)?.as_array().unwrap_or_default().to_vec(),
        KeySource::Every(sources) => {
            let mut common: Option<Vec<Value>> = None;
            for source in sources {
                let Some(values) = values_of(source, stored, row, run)? else { continue };
                common = Some(match common {
                    None => values,
                    Some(mut common) => {
                        let keys: BTreeSet<Vec<u8>> = values.iter().map(|one| key_of([one].into_iter())).collect();
                        common.retain(|one| keys.contains(&key_of([one].into_iter())));
                        common
                    }
                });
            }
            return Ok(common);
        }
        KeySource::Unless { guards, source } => {
            for guard in guards {
                if guard.holds(row, run)? {
                    return Ok(None);
                }
            }
            return values_of(source, stored, row, run);
        }
    };
    run.budget = run.budget.saturating_sub(values.len() / ELEMENTS_OF_A_ROW);
    Ok(Some(values.into_iter().filter_map(|value| stored_as(value, stored)).collect()))
}

/// The same with the keys by which they are sorted.
pub fn keyed_ranges(
    range: &RangeBounds,
    row: &[Value],
    run: &mut RunState<'_, '_>,
) -> Result<Vec<(Vec<u8>, KeyBounds)>, Interruption> {
    let mut prefixes: Vec<Vec<Value>> = vec![Vec::new()];
    let mut ends_count = true;
    for (source, stored) in range.equal.iter().zip(&range.types) {
        let Some(values) = values_of(source, *stored, row, run)? else {
            // Columns behind one of any value do not narrow a range.
            ends_count = false;
            break;
        };
        if prefixes.len() > 1 && prefixes.len().saturating_mul(values.len()) > PREFIXES_MAX {
            // What is read is more than needed; the filter stands beside the range.
            ends_count = false;
            break;
        }
        let longer = |prefix: &Vec<Value>| {
            let prefix = prefix.clone();
            values.clone().into_iter().map(move |value| [prefix.clone(), vec![value]].concat())
        };
        prefixes = prefixes.iter().flat_map(longer).collect();
    }
    let stored = range.types.get(range.equal.len()).copied().filter(|_| ends_count);
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
    run: &mut RunState<'_, '_>,
) -> Result<Option<Option<(Value, bool)>>, Interruption> {
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
    if let (Some(network), true) = (value.as_network(), stored.is_network()) {
        return match stored {
            Type::Inet => Some(Value::Inet(*network)),
            _ => network.is_whole().then_some(Value::Cidr(*network)),
        };
    }
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
