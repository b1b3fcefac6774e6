//! Layouts of rows: where the columns of a query's entries are.

use crate::expression::CompiledExpression;
use analyzer::tree::ExprId;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A column of an entry of the range table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EntryPlace {
    pub entry: u32,
    pub column: u32,
}

/// What a row has.
#[derive(Clone, Default)]
pub struct ColumnFrame {
    /// Of which query, counted from the outermost.
    pub level: usize,
    pub slots: BTreeMap<EntryPlace, usize>,
    /// Expressions that are computed already: aggregates, windows, sets.
    pub computed: BTreeMap<ExprId, usize>,
    pub width: usize,
    /// How many such rows there are, estimated; zero where nobody has.
    pub rows: f64,
    /// Set once rows are groups.
    pub grouped: Option<Arc<GroupedFrame>>,
}

/// What groups were made of.
pub struct GroupedFrame {
    pub before: ColumnFrame,
    /// Each at the place of its number.
    pub groups: Vec<CompiledExpression>,
    /// Where the bits of the groups that are not in the set are.
    pub set_slot: usize,
}

impl ColumnFrame {
    /// A row without columns of a query.
    pub fn empty(level: usize) -> ColumnFrame {
        ColumnFrame { level, ..ColumnFrame::default() }
    }

    /// The row of an entry that has so many columns.
    pub fn of_entry(level: usize, entry: u32, width: usize) -> ColumnFrame {
        let slots = (0..width).map(|column| (EntryPlace { entry, column: column as u32 }, column));
        ColumnFrame { level, slots: slots.collect(), width, ..ColumnFrame::default() }
    }

    /// The columns of another row behind those of this one.
    pub fn beside(&self, right: &ColumnFrame) -> ColumnFrame {
        let mut both = self.clone();
        both.slots.extend(right.slots.iter().map(|(place, slot)| (*place, slot + self.width)));
        both.width += right.width;
        both
    }
}
