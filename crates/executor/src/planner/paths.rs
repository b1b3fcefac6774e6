//! Which path leads to the rows of a relation, by conditions on its columns.

use super::PlanResult;
use super::QueryPlanner;
use super::frame::ColumnFrame;
use super::from::Conjunct;
use crate::access::{AccessPathKeys, TableAccess};
use crate::equality::same_keys;
use crate::expression::CompiledExpression;
use crate::plan::{KeyEnd, KeySource, RangeBounds};
use analyzer::tree::{EntryKind, ExprId, Node as TreeNode};
use analyzer::types::OperatorId;
use std::collections::BTreeSet;
use values::Type;

/// How many rows have the same value in an indexed column, where nothing is known: a share of all, and at most.
const EQUAL_SHARE: f64 = 0.05;
const EQUAL_ROWS_MAX: f64 = 10.0;

/// The share of rows within a range, and of those that a condition with a guard leaves.
const RANGE_SHARE: f64 = 0.3;
const GUARDED_SHARE: f64 = 0.1;

/// How many elements an array has, where nothing is known.
const ELEMENTS: f64 = 10.0;

/// A path with the range of keys that is read.
pub struct ChosenPath {
    pub path: usize,
    pub range: RangeBounds,
    pub rows: f64,
    /// Whether the conditions hold for exactly the rows within the range, but for NULLs behind all of them.
    pub exact: bool,
    /// Whether there may be such NULLs.
    pub nulls_behind: bool,
}

/// What a condition says of a column.
struct PathBound {
    column: u32,
    strategy: i16,
    other: BoundBy,
    /// Whether values of the other side are of the column's type.
    same_type: bool,
}

/// What a column is compared with.
enum BoundBy {
    One(ExprId),
    /// Any element of an array.
    Elements(ExprId),
    /// Any of these; nothing is said if one of the guards holds.
    Any {
        guards: Vec<ExprId>,
        others: Vec<ExprId>,
    },
}

impl PathBound {
    fn is_equality_of(&self, column: u32) -> bool {
        self.column == column && self.strategy == 3
    }

    fn is_guarded(&self) -> bool {
        matches!(&self.other, BoundBy::Any { guards, .. } if !guards.is_empty())
    }
}

impl QueryPlanner<'_> {
    /// What an operator means to ordered keys: 1 to 5 for `<`, `<=`, `=`, `>=`, `>`.
    pub fn strategy(&self, operator: OperatorId) -> Option<i16> {
        let rows = self.facts.family_operators.iter();
        let mut own = rows.filter(|row| row.operator == operator && row.purpose == 's');
        own.find(|row| self.facts.is_btree_family(row.family)).map(|row| row.strategy)
    }

    /// The best path for conditions whose other sides are computed from a row of `frame`, which has the entries
    /// `given`. None if the relation is better read as a whole.
    pub fn best_path(
        &mut self,
        entry: u32,
        conjuncts: &[Conjunct],
        frame: &ColumnFrame,
        given: &BTreeSet<u32>,
        level: usize,
    ) -> PlanResult<Option<ChosenPath>> {
        let known = &self.tree[self.levels[level].query].range_table[entry as usize];
        let EntryKind::Relation { relation, .. } = known.kind else { return Ok(None) };
        let Some(access) = self.relations.access(relation) else { return Ok(None) };
        let bounds: Vec<PathBound> =
            conjuncts.iter().filter_map(|conjunct| self.bound(entry, conjunct, given, level)).collect();
        let Some((path, rows)) = self.cheapest(&access, &bounds) else { return Ok(None) };
        let columns = &access.paths[path].columns;
        let mut range = RangeBounds::default();
        for column in columns {
            range.types.push(self.storage(known.columns[*column as usize].typed)?);
        }
        // Every condition that says all it means has its place in the range.
        let mut said = 0;
        for column in columns {
            let mut sources = Vec::new();
            for bound in bounds.iter().filter(|bound| bound.is_equality_of(*column)) {
                sources.push(self.key_source(bound, frame, level)?);
            }
            match sources.len() {
                0 => break,
                1 => range.equal.extend(sources.pop()),
                _ => range.equal.push(KeySource::Every(sources)),
            }
            said += usize::from(matches!(range.equal.last(), Some(KeySource::One(_))));
        }
        if let Some(next) = columns.get(range.equal.len()) {
            said += self.key_ends(*next, &bounds, &mut range, frame, level)?;
        }
        // NULLs stand behind all values; only the primary key has none.
        let nulls_behind = path != 0 && range.lower.is_some() && range.upper.is_none();
        let exact = said == conjuncts.len();
        Ok(Some(ChosenPath { path, range, rows, exact, nulls_behind }))
    }

    /// How many rows are read by the best path for conditions whose other sides look at entries that are given,
    /// estimated. None if no path is better than reading all.
    pub fn rows_by_path(
        &self,
        entry: u32,
        conjuncts: &[&Conjunct],
        given: &BTreeSet<u32>,
        level: usize,
    ) -> Option<f64> {
        let known = &self.tree[self.levels[level].query].range_table[entry as usize];
        let EntryKind::Relation { relation, .. } = known.kind else { return None };
        let access = self.relations.access(relation)?;
        let bounds: Vec<PathBound> =
            conjuncts.iter().filter_map(|conjunct| self.bound(entry, conjunct, given, level)).collect();
        self.cheapest(&access, &bounds).map(|(_, rows)| rows)
    }

    /// The path that these bounds make best, and how many rows are read by it.
    fn cheapest(&self, access: &TableAccess, bounds: &[PathBound]) -> Option<(usize, f64)> {
        let mut best: Option<(f64, f64, usize)> = None;
        for (path, keys) in access.paths.iter().enumerate() {
            let Some(rows) = self.rows_by(keys, access.rows, bounds) else { continue };
            // A row by its own key is found at once, by another it is looked up once more.
            let cost = rows * if path == 0 { 1.0 } else { 1.5 };
            if best.is_none_or(|(least, ..)| cost < least) {
                best = Some((cost, rows, path));
            }
        }
        best.map(|(_, rows, path)| (path, rows))
    }

    /// How many rows are read by a path, estimated; none if the conditions say nothing of its first column.
    fn rows_by(&self, keys: &AccessPathKeys, all: f64, bounds: &[PathBound]) -> Option<f64> {
        let (mut equal, mut values, mut guarded) = (0, 1.0, false);
        for column in &keys.columns {
            let own = || bounds.iter().filter(|bound| bound.is_equality_of(*column));
            let Some(fewest) = own().map(|bound| self.values_of(bound)).reduce(f64::min) else { break };
            guarded |= own().all(PathBound::is_guarded);
            values *= fewest;
            equal += 1;
        }
        let ranged = keys.columns.get(equal).is_some_and(|next| bounds.iter().any(|bound| bound.column == *next));
        if equal == 0 && !ranged {
            return None;
        }
        let each = match equal {
            0 => all,
            _ if equal == keys.columns.len() && keys.unique => 1.0,
            _ => (all * EQUAL_SHARE.powi(equal as i32)).min(EQUAL_ROWS_MAX),
        };
        let rows = each * values * if ranged { RANGE_SHARE } else { 1.0 };
        let least = if guarded { (all * GUARDED_SHARE).max(1.0) } else { 1.0 };
        Some(rows.min(all).max(least))
    }

    /// With how many values a bound compares, estimated.
    fn values_of(&self, bound: &PathBound) -> f64 {
        match &bound.other {
            BoundBy::One(_) => 1.0,
            BoundBy::Any { others, .. } => others.len() as f64,
            BoundBy::Elements(array) => match &self.tree[*array].node {
                TreeNode::Array { elements, .. } => elements.len() as f64,
                _ => ELEMENTS,
            },
        }
    }

    /// The ends of a range of a column; how many conditions they say all of.
    fn key_ends(
        &mut self,
        column: u32,
        bounds: &[PathBound],
        range: &mut RangeBounds,
        frame: &ColumnFrame,
        level: usize,
    ) -> PlanResult<usize> {
        let mut said = 0;
        for bound in bounds.iter().filter(|bound| bound.column == column) {
            let BoundBy::One(other) = bound.other else { continue };
            let inclusive = matches!(bound.strategy, 2 | 4);
            let side = if bound.strategy < 3 { &mut range.upper } else { &mut range.lower };
            if side.is_none() {
                *side = Some(KeyEnd { value: self.compile(other, level, frame)?, inclusive });
                said += usize::from(bound.same_type);
            }
        }
        Ok(said)
    }

    fn key_source(&mut self, bound: &PathBound, frame: &ColumnFrame, level: usize) -> PlanResult<KeySource> {
        Ok(match &bound.other {
            BoundBy::One(other) => KeySource::One(self.compile(*other, level, frame)?),
            BoundBy::Elements(array) => match self.compile(*array, level, frame)? {
                CompiledExpression::Array { elements, .. } => KeySource::Each(elements),
                array => KeySource::Elements(array),
            },
            BoundBy::Any { guards, others } => {
                let source = KeySource::Each(self.compile_all(others, level, frame)?);
                match guards.is_empty() {
                    true => source,
                    false => {
                        let guards = self.compile_all(guards, level, frame)?;
                        KeySource::Unless { guards, source: Box::new(source) }
                    }
                }
            }
        })
    }

    /// What a condition says of a column of the entry, if its other side is known before the row.
    fn bound(&self, entry: u32, conjunct: &Conjunct, given: &BTreeSet<u32>, level: usize) -> Option<PathBound> {
        if conjunct.stays || conjunct.has_sublink {
            return None;
        }
        match &self.tree[conjunct.condition].node {
            TreeNode::Or(parts) => self.either(entry, parts, given, level),
            _ => self.compared(entry, conjunct.condition, given, level),
        }
    }

    /// What `guard OR column = a OR column = b` says.
    fn either(&self, entry: u32, parts: &[ExprId], given: &BTreeSet<u32>, level: usize) -> Option<PathBound> {
        let (mut guards, mut others, mut of) = (Vec::new(), Vec::new(), None);
        for part in parts {
            if self.is_guard(*part) {
                guards.push(*part);
                continue;
            }
            let bound = self.compared(entry, *part, given, level)?;
            let BoundBy::One(other) = bound.other else { return None };
            if bound.strategy != 3 || of.is_some_and(|column| column != bound.column) {
                return None;
            }
            of = Some(bound.column);
            others.push(other);
        }
        let other = BoundBy::Any { guards, others };
        of.map(|column| PathBound { column, strategy: 3, other, same_type: false })
    }

    /// Whether a condition is known before all rows, and cannot fail.
    fn is_guard(&self, condition: ExprId) -> bool {
        match &self.tree[condition].node {
            TreeNode::NullTest { value, row: false, .. } | TreeNode::BooleanTest { value, .. } => self.is_given(*value),
            TreeNode::Not(value) => self.is_guard(*value),
            TreeNode::And(parts) => parts.iter().all(|part| self.is_guard(*part)),
            _ => self.is_given(condition),
        }
    }

    fn is_given(&self, value: ExprId) -> bool {
        match &self.tree[value].node {
            TreeNode::Parameter(_) | TreeNode::Constant(_) => true,
            TreeNode::Relabel { value, .. } => self.is_given(*value),
            _ => false,
        }
    }

    /// What a comparison says of a column of the entry, if its other side is known before the row.
    fn compared(&self, entry: u32, condition: ExprId, given: &BTreeSet<u32>, level: usize) -> Option<PathBound> {
        let (operator, arguments, elements) = match &self.tree[condition].node {
            TreeNode::Operator { operator, arguments, .. } => (*operator, arguments, false),
            TreeNode::ArrayOperator { operator, arguments, all: false, .. } => (*operator, arguments, true),
            _ => return None,
        };
        let [left, right] = arguments.as_slice() else { return None };
        let strategy = self.strategy(operator)?;
        if elements && strategy != 3 {
            return None;
        }
        let sides = [(*left, *right, strategy), (*right, *left, 6 - strategy)];
        sides.into_iter().take(if elements { 1 } else { 2 }).find_map(|(own, other, strategy)| {
            let column = self.column_of(own, entry, level)?;
            let known = self.tree[self.levels[level].query].range_table[entry as usize].columns[column as usize].typed;
            let stored = evaluation::storage::storage(known)?;
            let typed = self.tree[other].typed;
            let id = if elements { self.catalog.element_type(typed.id)? } else { typed.id };
            let given_type = evaluation::storage::unmodified(id)?;
            let fits = self.entries_of(other, level).is_subset(given) && same_keys(stored, given_type);
            let is_blank_padded = matches!(stored, Type::Char(_));
            let same_type = !is_blank_padded && (stored.unmodified() == given_type.unmodified() || stored.is_string());
            let other = if elements { BoundBy::Elements(other) } else { BoundBy::One(other) };
            fits.then_some(PathBound { column, strategy, other, same_type })
        })
    }

    /// The column of an entry that an expression is, whatever it is called.
    pub fn column_of(&self, of: ExprId, entry: u32, level: usize) -> Option<u32> {
        match &self.tree[of].node {
            TreeNode::Relabel { value, .. } | TreeNode::Collate { value, .. } => self.column_of(*value, entry, level),
            TreeNode::Column { levels_up: 0, entry: of, column } => {
                match &self.tree[self.levels[level].query].range_table[*of as usize].kind {
                    EntryKind::Join { columns, .. } => self.column_of(columns[*column as usize], entry, level),
                    _ => (*of == entry).then_some(*column),
                }
            }
            _ => None,
        }
    }
}
