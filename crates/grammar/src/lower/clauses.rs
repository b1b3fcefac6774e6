//! Clauses that several statements have: targets, ORDER BY, WITH, row locks, windows.

use super::{Lower, Lowered};
use crate::ast::{
    CommonTable, Cycle, ExpressionNode, Frame, FrameBound, FrameExclusion, FrameUnit, LockStrength, LockWait,
    NamedWindow, RowLock, Search, SortDirection, SortKey, Target, WindowSpecification, With,
};
use crate::error::SyntaxError;
use crate::parse::Node;
use crate::tables::symbols as g;

impl Lower<'_, '_> {
    /// `target_list`, `opt_target_list`, `returning_clause`.
    pub(super) fn targets(&mut self, node: Node) -> Vec<Target> {
        let list = match self.tree.symbol(node) {
            g::target_list => Some(node),
            _ => self.part(node, g::target_list),
        };
        let Some(list) = list else { return Vec::new() };
        self.list(list).into_iter().map(|element| self.target(element)).collect()
    }

    fn target(&mut self, node: Node) -> Target {
        let at = self.at(node);
        let children = self.children(node);
        let value = match self.shape(node) {
            [g::STAR] => self.add(ExpressionNode::Column { names: Vec::new(), star: true }, at),
            _ => self.expr(children[0]),
        };
        let name = if children.len() > 1 { children.last().map(|name| self.name(*name)) } else { None };
        Target { value, name, at }
    }

    /// `sort_clause` and `opt_sort_clause`.
    pub(super) fn sort_keys(&mut self, node: Node) -> Lowered<Vec<SortKey>> {
        let clause = self.part(node, g::sort_clause).unwrap_or(node);
        let Some(list) = self.part(clause, g::sortby_list) else { return Ok(Vec::new()) };
        let mut keys = Vec::new();
        for key in self.list(list) {
            let children = self.children(key);
            let value = self.expr(children[0]);
            let direction = match self.part(key, g::qual_all_Op) {
                Some(operator) => SortDirection::Using(self.operator(operator)),
                None => self.direction(children[1]),
            };
            keys.push(SortKey { value, direction, nulls_first: self.nulls_first(children[children.len() - 1]) });
        }
        Ok(keys)
    }

    /// `opt_asc_desc`.
    pub(super) fn direction(&self, node: Node) -> SortDirection {
        match self.shape(node) {
            [g::ASC] => SortDirection::Ascending,
            [g::DESC] => SortDirection::Descending,
            _ => SortDirection::Default,
        }
    }

    /// `opt_nulls_order`.
    pub(super) fn nulls_first(&self, node: Node) -> Option<bool> {
        (!self.is_empty(node)).then(|| self.has(node, g::FIRST_P))
    }

    /// `with_clause`.
    pub(super) fn with(&mut self, node: Node) -> Lowered<With> {
        let list = *self.children(node).last().ok_or_else(|| self.unexpected(node))?;
        let tables = self.list(list).into_iter().map(|table| self.common_table(table)).collect::<Lowered<_>>()?;
        Ok(With { recursive: self.has(node, g::RECURSIVE), tables, at: self.at(node) })
    }

    /// `opt_with_clause`.
    pub(super) fn opt_with(&mut self, node: Node) -> Lowered<Option<With>> {
        match self.part(node, g::with_clause) {
            Some(with) => self.with(with).map(Some),
            None => Ok(None),
        }
    }

    fn common_table(&mut self, node: Node) -> Lowered<CommonTable> {
        let &[name, columns, _, materialized, _, statement, _, search, cycle] = self.children(node) else {
            return Err(self.unexpected(node));
        };
        let materialized = match self.shape(materialized) {
            [] => None,
            [g::NOT, _] => Some(false),
            _ => Some(true),
        };
        let search = match *self.children(search) {
            [_, kind, _, _, columns, _, sequence] => Some(Search {
                breadth_first: self.tree.symbol(kind) == g::BREADTH,
                columns: self.names(columns),
                sequence: self.name(sequence),
                at: self.at(search),
            }),
            _ => None,
        };
        let at = self.at(cycle);
        let cycle = match *self.children(cycle) {
            [_, columns, _, mark, _, value, _, default, _, path] => Some(Cycle {
                columns: self.names(columns),
                mark: self.name(mark),
                value: Some(self.expr(value)),
                default: Some(self.expr(default)),
                path: self.name(path),
                at,
            }),
            [_, columns, _, mark, _, path] => Some(Cycle {
                columns: self.names(columns),
                mark: self.name(mark),
                value: None,
                default: None,
                path: self.name(path),
                at,
            }),
            _ => None,
        };
        let (name, columns) = (self.name(name), self.opt_names(columns));
        Ok(CommonTable { name, columns, materialized, statement: self.statement(statement), search, cycle })
    }

    /// `for_locking_clause`.
    pub(super) fn locks(&mut self, node: Node) -> Lowered<Vec<RowLock>> {
        let Some(items) = self.part(node, g::for_locking_items) else { return Ok(Vec::new()) };
        self.list(items).into_iter().map(|item| self.lock(item)).collect()
    }

    fn lock(&mut self, node: Node) -> Lowered<RowLock> {
        let &[strength, tables, wait] = self.children(node) else { return Err(self.unexpected(node)) };
        let strength = match self.shape(strength) {
            [_, g::UPDATE] => LockStrength::Update,
            [_, g::NO, ..] => LockStrength::NoKeyUpdate,
            [_, g::SHARE] => LockStrength::Share,
            _ => LockStrength::KeyShare,
        };
        let wait = match self.shape(wait) {
            [g::NOWAIT] => LockWait::Fail,
            [g::SKIP, ..] => LockWait::Skip,
            _ => LockWait::Wait,
        };
        let tables = match *self.children(tables) {
            [_, list] => self.relation_names(list),
            _ => Vec::new(),
        };
        Ok(RowLock { strength, tables, wait })
    }

    /// `window_definition_list`.
    pub(super) fn named_windows(&mut self, list: Node) -> Lowered<Vec<NamedWindow>> {
        let mut windows = Vec::new();
        for definition in self.list(list) {
            let children = self.children(definition);
            windows.push(NamedWindow { name: self.name(children[0]), window: self.window(children[2])? });
        }
        Ok(windows)
    }

    /// `window_specification`.
    pub(super) fn window(&mut self, node: Node) -> Lowered<WindowSpecification> {
        let &[_, base, partition, order, frame, _] = self.children(node) else { return Err(self.unexpected(node)) };
        let base = (!self.is_empty(base)).then(|| self.name(base));
        let partition = self.part(partition, g::expr_list).map(|list| self.exprs(list)).unwrap_or_default();
        let order = self.sort_keys(order)?;
        let frame = if self.is_empty(frame) { None } else { Some(self.frame(frame)?) };
        Ok(WindowSpecification { base, partition, order, frame, at: self.at(node) })
    }

    fn frame(&mut self, node: Node) -> Lowered<Frame> {
        let &[unit, extent, exclusion] = self.children(node) else { return Err(self.unexpected(node)) };
        let unit = match self.tree.symbol(unit) {
            g::RANGE => FrameUnit::Range,
            g::ROWS => FrameUnit::Rows,
            _ => FrameUnit::Groups,
        };
        let exclusion = match self.shape(exclusion) {
            [_, g::CURRENT_P, _] => FrameExclusion::CurrentRow,
            [_, g::GROUP_P] => FrameExclusion::Group,
            [_, g::TIES] => FrameExclusion::Ties,
            _ => FrameExclusion::No,
        };
        let (start, end) = match *self.children(extent) {
            [start] => (self.bound_of(start)?, None),
            [_, start, _, end] => (self.bound_of(start)?, Some((self.bound_of(end)?, end))),
            _ => return Err(self.unexpected(extent)),
        };
        let start_node = self.part(extent, g::frame_bound).ok_or_else(|| self.unexpected(extent))?;
        let refused = |message, node| Err(SyntaxError::new(sqlstate::WINDOWING_ERROR, message, self.at(node)));
        match (start, end) {
            (FrameBound::UnboundedFollowing, _) => refused("frame start cannot be UNBOUNDED FOLLOWING", start_node),
            (FrameBound::Following(_), None) => {
                refused("frame starting from following row cannot end with current row", start_node)
            }
            (_, Some((FrameBound::UnboundedPreceding, end))) => refused("frame end cannot be UNBOUNDED PRECEDING", end),
            (FrameBound::CurrentRow, Some((FrameBound::Preceding(_), end))) => {
                refused("frame starting from current row cannot have preceding rows", end)
            }
            (FrameBound::Following(_), Some((FrameBound::Preceding(_) | FrameBound::CurrentRow, end))) => {
                refused("frame starting from following row cannot have preceding rows", end)
            }
            _ => Ok(Frame { unit, start, end: end.map(|(end, _)| end), exclusion }),
        }
    }

    fn bound_of(&mut self, node: Node) -> Lowered<FrameBound> {
        Ok(match (self.shape(node), self.children(node)) {
            ([g::UNBOUNDED, g::PRECEDING], _) => FrameBound::UnboundedPreceding,
            ([g::UNBOUNDED, _], _) => FrameBound::UnboundedFollowing,
            ([g::CURRENT_P, _], _) => FrameBound::CurrentRow,
            ([_, g::PRECEDING], &[value, _]) => FrameBound::Preceding(self.expr(value)),
            ([_, g::FOLLOWING], &[value, _]) => FrameBound::Following(self.expr(value)),
            _ => return Err(self.unexpected(node)),
        })
    }
}
