//! UNION, INTERSECT and EXCEPT.

use crate::equality::{KEY_BYTES, key_of};
use crate::error::Interruption;
use crate::plan::PlanNode;
use crate::run::{HeldBytes, RowValues, RunState};
use crate::run::{MANY, RowOperator};
use grammar::ast::SetOperator;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

/// How often a row may still come.
struct Quota {
    /// Rows of the right side that are equal.
    right: usize,
    /// Whether one of the left side has come out.
    shown: bool,
}

/// An operation on sets under way.
pub struct SetOperation {
    left: Box<dyn RowOperator>,
    right: Box<dyn RowOperator>,
    plan: Arc<PlanNode>,
    quotas: BTreeMap<Vec<u8>, Quota>,
    /// Whether the side that is read first is at its end.
    first_ended: bool,
    memory: HeldBytes,
}

impl SetOperation {
    pub fn new(left: Box<dyn RowOperator>, right: Box<dyn RowOperator>, plan: Arc<PlanNode>) -> SetOperation {
        SetOperation { left, right, plan, quotas: BTreeMap::new(), first_ended: false, memory: HeldBytes::default() }
    }

    fn union(
        &mut self,
        all: bool,
        run: &mut RunState<'_, '_>,
        want: usize,
    ) -> Result<Option<Vec<RowValues>>, Interruption> {
        loop {
            let side = if self.first_ended { &mut self.right } else { &mut self.left };
            match side.next(run, want)? {
                Some(rows) if all => return Ok(Some(rows)),
                Some(rows) => {
                    let found = self.new_ones(rows, run)?;
                    if !found.is_empty() {
                        return Ok(Some(found));
                    }
                }
                None if self.first_ended => return Ok(None),
                None => self.first_ended = true,
            }
        }
    }

    fn new_ones(&mut self, rows: Vec<RowValues>, run: &mut RunState<'_, '_>) -> Result<Vec<RowValues>, Interruption> {
        let mut found = Vec::new();
        for row in rows {
            let key = key_of(row.iter());
            let bytes = key.len() + KEY_BYTES;
            if let Entry::Vacant(vacant) = self.quotas.entry(key) {
                self.memory.hold(bytes, run.state)?;
                vacant.insert(Quota { right: 0, shown: true });
                found.push(row);
            }
        }
        Ok(found)
    }

    fn count_right(&mut self, run: &mut RunState<'_, '_>) -> Result<(), Interruption> {
        while !self.first_ended {
            match self.right.next(run, MANY)? {
                Some(rows) => {
                    for row in rows {
                        let key = key_of(row.iter());
                        self.memory.hold(key.len() + KEY_BYTES, run.state)?;
                        self.quotas.entry(key).or_insert(Quota { right: 0, shown: false }).right += 1;
                    }
                }
                None => self.first_ended = true,
            }
        }
        Ok(())
    }

    /// Whether a row of the left side comes out.
    fn passes(
        &mut self,
        row: &RowValues,
        keeps_common: bool,
        all: bool,
        run: &mut RunState<'_, '_>,
    ) -> Result<bool, Interruption> {
        let key = key_of(row.iter());
        if !self.quotas.contains_key(&key) {
            if keeps_common || all {
                return Ok(!keeps_common);
            }
            self.memory.hold(key.len() + KEY_BYTES, run.state)?;
        }
        let quota = self.quotas.entry(key).or_insert(Quota { right: 0, shown: false });
        if all {
            let common = quota.right > 0;
            quota.right = quota.right.saturating_sub(1);
            return Ok(common == keeps_common);
        }
        let passes = (quota.right > 0) == keeps_common && !quota.shown;
        quota.shown |= passes;
        Ok(passes)
    }
}

impl RowOperator for SetOperation {
    fn next(&mut self, run: &mut RunState<'_, '_>, want: usize) -> Result<Option<Vec<RowValues>>, Interruption> {
        let plan = Arc::clone(&self.plan);
        let PlanNode::SetOperation { operator, all, .. } = &*plan else { return Ok(None) };
        if *operator == SetOperator::Union {
            return self.union(*all, run, want);
        }
        self.count_right(run)?;
        while let Some(rows) = self.left.next(run, want)? {
            let mut found = Vec::new();
            for row in rows {
                if self.passes(&row, *operator == SetOperator::Intersect, *all, run)? {
                    found.push(row);
                }
            }
            if !found.is_empty() {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    fn memory(&mut self) -> Option<&mut HeldBytes> {
        Some(&mut self.memory)
    }

    fn inputs(&mut self) -> Vec<&mut Box<dyn RowOperator>> {
        vec![&mut self.left, &mut self.right]
    }
}
