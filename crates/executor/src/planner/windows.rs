//! Windows: all calls of one window are computed together.

use super::frame::ColumnFrame;
use super::query::FromSource;
use super::{PlanResult, QueryPlanner, not_built};
use crate::expression::Callee;
use crate::plan::{FrameEnd, FrameSpan, PlanNode, Sorting, WindowUse};
use analyzer::Typed;
use analyzer::tree::{Bound, ExprId, Node as TreeNode, Query, Window};
use analyzer::types::BOOL;
use grammar::ast::{FrameExclusion, FrameUnit};
use std::sync::Arc;

impl<'a> QueryPlanner<'a> {
    pub fn windows(&mut self, query: &'a Query, source: FromSource, level: usize) -> PlanResult<FromSource> {
        let mut calls = Vec::new();
        for target in &query.targets {
            let is_window = |node: &TreeNode, depth| depth == 0 && matches!(node, TreeNode::Window(_));
            calls.extend(self.places_of(target.value, &is_window).into_iter().map(|(id, _)| id));
        }
        calls.sort_unstable();
        calls.dedup();
        let before = source.frame.clone();
        let mut source = source;
        for (number, window) in (0_u32..).zip(&query.windows) {
            let mut uses = Vec::new();
            for id in &calls {
                let TreeNode::Window(call) = &self.tree[*id].node else { continue };
                if call.window == number {
                    uses.push(self.window_use(*id, level, &before)?);
                    source.frame.computed.insert(*id, source.frame.width);
                    source.frame.width += 1;
                }
            }
            if !uses.is_empty() {
                source.node = Arc::new(self.window(query, window, source.node, uses, level, &before)?);
            }
        }
        Ok(source)
    }

    fn window(
        &mut self,
        query: &Query,
        window: &Window,
        input: Arc<PlanNode>,
        calls: Vec<WindowUse>,
        level: usize,
        before: &ColumnFrame,
    ) -> PlanResult<PlanNode> {
        let mut partition = Vec::new();
        for group in &window.partition {
            let value = query.targets[self.target_of(query, group)?].value;
            self.ordered(self.tree[value].typed.id)?;
            partition.push(self.compile(value, level, before)?);
        }
        let (mut order, mut values): (Vec<Sorting>, Vec<ExprId>) = (Vec::new(), Vec::new());
        for group in &window.order {
            let value = query.targets[self.target_of(query, group)?].value;
            let by = self.compile(value, level, before)?;
            order.push(self.sorting(group, by, value)?);
            values.push(value);
        }
        let frame = match &window.frame {
            Some(frame) => FrameSpan {
                unit: frame.unit,
                start: self.frame_end(frame.start, &values, level)?,
                end: self.frame_end(frame.end, &values, level)?,
                exclusion: frame.exclusion,
            },
            None => FrameSpan {
                unit: FrameUnit::Range,
                start: FrameEnd::UnboundedPreceding,
                end: FrameEnd::CurrentRow,
                exclusion: FrameExclusion::No,
            },
        };
        Ok(PlanNode::Window { input, partition, order, frame, calls })
    }

    fn frame_end(&mut self, bound: Bound, order: &[ExprId], level: usize) -> PlanResult<FrameEnd> {
        let (offset, function) = match bound {
            Bound::UnboundedPreceding => return Ok(FrameEnd::UnboundedPreceding),
            Bound::UnboundedFollowing => return Ok(FrameEnd::UnboundedFollowing),
            Bound::CurrentRow => return Ok(FrameEnd::CurrentRow),
            Bound::Preceding(offset, function) | Bound::Following(offset, function) => (offset, function),
        };
        let compiled = self.compile(offset, level, &ColumnFrame::empty(level))?;
        let in_range: Option<Callee> = match function {
            Some(function) => {
                let Some(by) = order.first() else { return not_built("a range without an order") };
                let boolean = Typed { id: BOOL, ..self.tree[*by].typed };
                let mut callee = self.callee(function, &[*by, *by, offset], boolean)?;
                callee.types.extend([boolean, boolean]);
                Some(callee)
            }
            None => None,
        };
        Ok(match bound {
            Bound::Preceding(..) => FrameEnd::Preceding(compiled, in_range),
            _ => FrameEnd::Following(compiled, in_range),
        })
    }

    fn window_use(&mut self, id: ExprId, level: usize, before: &ColumnFrame) -> PlanResult<WindowUse> {
        let expression = &self.tree[id];
        let TreeNode::Window(call) = &expression.node else { return not_built("what is no window") };
        let types: Vec<Typed> = call.arguments.iter().map(|argument| self.tree[*argument].typed).collect();
        let Some(row) = self.facts.function(call.function) else { return not_built("another's window function") };
        let source = (!call.aggregate).then_some(&*row.source);
        let built = match source {
            Some(source) => crate::operators::is_window_function(source),
            None => evaluation::aggregates::aggregate(call.function, &[], &types, expression.typed, &values::Zone::UTC)
                .is_some(),
        };
        if !built {
            return not_built(format!("window function {} ({})", row.name, call.function.0));
        }
        self.check_held(row, &types)?;
        Ok(WindowUse {
            function: call.function,
            source,
            arguments: self.compile_all(&call.arguments, level, before)?,
            types,
            result: expression.typed,
            filter: call.filter.map(|filter| self.compile(filter, level, before)).transpose()?,
        })
    }
}
