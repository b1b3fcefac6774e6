//! Which path leads to the rows of a relation, by conditions on its columns.

use super::Made;
use super::Planner;
use super::frame::Frame;
use super::from::Conjunct;
use crate::expression::Expression;
use crate::plan::{KeyEnd, KeyRange, KeySource};
use analyzer::tree::{EntryKind, ExprId, Node as TreeNode};
use analyzer::types::OperatorId;
use std::collections::BTreeSet;
use values::Type;

/// A path with the range of keys that is read.
pub struct ChosenPath {
    pub path: usize,
    pub range: KeyRange,
    pub rows: f64,
}

/// What a condition says of a column.
struct Bound {
    column: u32,
    strategy: i16,
    /// Any element of an array.
    elements: bool,
    other: ExprId,
}

impl Planner<'_> {
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
        frame: &Frame,
        given: &BTreeSet<u32>,
        level: usize,
    ) -> Made<Option<ChosenPath>> {
        let known = &self.tree[self.levels[level].query].range_table[entry as usize];
        let EntryKind::Relation { relation, .. } = known.kind else { return Ok(None) };
        let Some(access) = self.relations.access(relation) else { return Ok(None) };
        let bounds: Vec<Bound> =
            conjuncts.iter().filter_map(|conjunct| self.bound(entry, conjunct, given, level)).collect();
        let mut best: Option<(f64, usize, Vec<u32>)> = None;
        for (path, keys) in access.paths.iter().enumerate() {
            let is_equal = |column: &&u32| bounds.iter().any(|bound| bound.column == **column && bound.strategy == 3);
            let equal: Vec<u32> = keys.columns.iter().take_while(is_equal).copied().collect();
            let next = keys.columns.get(equal.len());
            let ranged = next.is_some_and(|next| bounds.iter().any(|bound| bound.column == *next));
            if equal.is_empty() && !ranged {
                continue;
            }
            let whole = equal.len() == keys.columns.len() && keys.unique;
            let share = 0.05_f64.powi(equal.len() as i32) * if ranged { 0.3 } else { 1.0 };
            let rows = if whole { 1.0 } else { (access.rows * share).max(1.0) };
            // A row by its own key is found at once, by another it is looked up once more.
            let cost = rows * if path == 0 { 1.0 } else { 1.5 };
            if best.as_ref().is_none_or(|(least, ..)| cost < *least) {
                best = Some((cost, path, equal));
            }
        }
        let Some((rows, path, equal)) = best else { return Ok(None) };
        let columns = access.paths[path].columns.clone();
        let mut types = Vec::new();
        for column in &columns {
            types.push(self.storage(known.columns[*column as usize].typed)?);
        }
        let mut range = KeyRange { types, ..KeyRange::default() };
        for column in &equal {
            let Some(bound) = bounds.iter().find(|bound| bound.column == *column && bound.strategy == 3) else { break };
            range.equal.push(self.key_source(bound, frame, level)?);
        }
        if let Some(next) = columns.get(equal.len()) {
            for bound in bounds.iter().filter(|bound| bound.column == *next && !bound.elements) {
                let inclusive = matches!(bound.strategy, 2 | 4);
                let side = if bound.strategy < 3 { &mut range.upper } else { &mut range.lower };
                if side.is_none() {
                    *side = Some(KeyEnd { value: self.compile(bound.other, level, frame)?, inclusive });
                }
            }
        }
        Ok(Some(ChosenPath { path, range, rows }))
    }

    fn key_source(&mut self, bound: &Bound, frame: &Frame, level: usize) -> Made<KeySource> {
        let other = self.compile(bound.other, level, frame)?;
        Ok(match (bound.elements, other) {
            (false, value) => KeySource::One(value),
            (true, Expression::Array { elements, .. }) => KeySource::Each(elements),
            (true, array) => KeySource::Elements(array),
        })
    }

    /// What a condition says of a column of the entry, if its other side is known before the row.
    fn bound(&self, entry: u32, conjunct: &Conjunct, given: &BTreeSet<u32>, level: usize) -> Option<Bound> {
        if conjunct.stays || conjunct.has_sublink {
            return None;
        }
        let (operator, arguments, elements) = match &self.tree[conjunct.condition].node {
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
            fits.then_some(Bound { column, strategy, elements, other })
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

/// Whether values of a type are looked up among keys of another as they are, or as integers.
fn same_keys(stored: Type, given: Type) -> bool {
    let text = |known: Type| matches!(known, Type::Text | Type::Varchar(_));
    let whole = |known: Type| matches!(known, Type::SmallInt | Type::Integer | Type::BigInt);
    stored.unmodified() == given.unmodified() || (text(stored) && text(given)) || (whole(stored) && whole(given))
}
