//! Aggregates, GROUPING and window functions: to which query they belong, and where they may stand.

use grammar::ast::{ExpressionId, FunctionCall};

use super::levels::Place;
use super::{Analyzer, Result, error_at};
use crate::error::{AnalysisError, GROUPING_ERROR, TOO_MANY_ARGUMENTS, UNDEFINED_FUNCTION, WINDOWING_ERROR};
use crate::functions::ResolvedFunction;
use crate::names::type_name;
use crate::tree::{AggregateCall, ExprId, Node, Target};
use crate::types::{FunctionId, INT4, NO_MODIFIER, TypeId};

impl<'a> Analyzer<'a> {
    /// A call of an aggregate.
    pub fn aggregate(
        &mut self,
        call: &'a FunctionCall,
        found: &ResolvedFunction,
        arguments: Vec<ExprId>,
        around: (usize, Option<ExprId>),
        at: Option<u32>,
    ) -> Result<ExprId> {
        let (direct_count, filter) = around;
        let row = self.catalog.aggregate(found.function);
        let ordered_set = row.is_some_and(|row| row.kind != 'n');
        let mut direct = Vec::new();
        let mut arguments = arguments;
        if ordered_set {
            // A VARIADIC parameter of an ordered set stays as it was written.
            let count = direct_count.min(arguments.len());
            direct = arguments.drain(..count).collect();
            if row.is_some_and(|row| row.kind == 'h') {
                self.unify_hypothetical(&mut direct, &mut arguments)?;
            }
        }
        let mut targets: Vec<Target> = arguments
            .iter()
            .map(|value| Target { value: *value, name: String::new(), junk: false, reference: 0, column: None })
            .collect();
        let (mut order, mut distinct) = (Vec::new(), Vec::new());
        if ordered_set {
            for (index, key) in call.order.iter().enumerate().take(targets.len()) {
                let place = self.arena[key.value].at;
                self.add_sort_key(index, key, &mut targets, &mut order, Some(place))?;
            }
        } else {
            order = self.sort_clause(&call.order, &mut targets, Place::OrderBy, true)?;
            if call.distinct {
                distinct = self.distinct_clause(&mut targets, &order, true)?;
                for group in &distinct {
                    if group.sort.0 == 0 {
                        let value = targets.iter().find(|target| target.reference == group.target);
                        let value = value.map(|target| target.value);
                        let id = value.map_or(TypeId(0), |value| self.type_of(value));
                        let name = type_name(self.catalog, id);
                        let message = format!("could not identify an ordering operator for type {name}");
                        let detail = "Aggregates with DISTINCT must be able to sort their inputs.";
                        let error = AnalysisError::new(UNDEFINED_FUNCTION, message).with_detail(detail);
                        return Err(error.at_place(value.and_then(|value| self.location(value))));
                    }
                }
            }
        }
        let values: Vec<ExprId> = targets.iter().map(|target| target.value).collect();
        let levels_up = self.place_aggregate(&values, &direct, filter, at, true)?;
        let call = AggregateCall {
            function: found.function,
            levels_up,
            direct,
            arguments: targets,
            order,
            distinct,
            filter,
            star: call.star,
            variadic: found.variadic,
        };
        let typed = self.typed(found.result, NO_MODIFIER);
        Ok(self.add(Node::Aggregate(Box::new(call)), typed, at))
    }

    /// Each value of a hypothetical row is compared with what rows are ordered by, so both have one type.
    fn unify_hypothetical(&mut self, direct: &mut [ExprId], ordered: &mut [ExprId]) -> Result<()> {
        let first = direct.len().saturating_sub(ordered.len());
        for (value, sorted) in direct[first..].iter_mut().zip(ordered) {
            let common = self.common(&[*sorted, *value], "WITHIN GROUP")?;
            *value = self.made_common(*value, common, "WITHIN GROUP")?;
            *sorted = self.made_common(*sorted, common, "WITHIN GROUP")?;
        }
        Ok(())
    }

    /// `t.max`: an aggregate of a row.
    pub fn aggregate_of(
        &mut self,
        function: FunctionId,
        arguments: Vec<ExprId>,
        result: TypeId,
        at: Option<u32>,
    ) -> Result<ExprId> {
        let levels_up = self.place_aggregate(&arguments, &[], None, at, true)?;
        let target = |value| Target { value, name: String::new(), junk: false, reference: 0, column: None };
        let call = AggregateCall {
            function,
            levels_up,
            direct: Vec::new(),
            arguments: arguments.into_iter().map(target).collect(),
            order: Vec::new(),
            distinct: Vec::new(),
            filter: None,
            star: false,
            variadic: false,
        };
        Ok(self.plain(Node::Aggregate(Box::new(call)), result, at))
    }

    /// GROUPING.
    pub fn grouping_function(&mut self, list: &[ExpressionId], at: u32) -> Result<ExprId> {
        if list.len() > 31 {
            return error_at(TOO_MANY_ARGUMENTS, "GROUPING must have fewer than 32 arguments", at);
        }
        let mut arguments = Vec::with_capacity(list.len());
        for part in list {
            arguments.push(self.expression(*part)?);
        }
        let levels_up = self.place_aggregate(&arguments, &[], None, Some(at), false)?;
        Ok(self.plain(Node::Grouping { levels_up, arguments }, INT4, Some(at)))
    }

    /// The query that an aggregate belongs to, as levels out: the nearest among its columns. Refuses where it must not stand there.
    fn place_aggregate(
        &mut self,
        arguments: &[ExprId],
        direct: &[ExprId],
        filter: Option<ExprId>,
        at: Option<u32>,
        aggregate: bool,
    ) -> Result<u32> {
        let all: Vec<ExprId> = arguments.iter().copied().chain(filter).collect();
        let (column, inner) = self.nearest(&all)?;
        let level = match (column, inner) {
            (None, inner) => inner.unwrap_or(0),
            (Some(column), None) => column,
            (Some(column), Some(inner)) => column.min(inner),
        };
        if inner == Some(level) {
            let nested = all.iter().find_map(|part| self.aggregate_of_level(*part, level));
            let place = nested.and_then(|nested| self.location(nested));
            return error_at(GROUPING_ERROR, "aggregate function calls cannot be nested", place);
        }
        let (column, inner) = self.nearest(direct)?;
        if column.is_some_and(|column| column < level) {
            let lower = direct.iter().find_map(|part| self.tree.column_of_level(*part, column.unwrap_or(0)));
            let message = "outer-level aggregate cannot contain a lower-level variable in its direct arguments";
            return error_at(GROUPING_ERROR, message, lower.and_then(|lower| self.location(lower)));
        }
        if inner.is_some_and(|inner| inner <= level) {
            let nested = direct.iter().find_map(|part| self.aggregate_of_level(*part, inner.unwrap_or(0)));
            let place = nested.and_then(|nested| self.location(nested));
            return error_at(GROUPING_ERROR, "aggregate function calls cannot be nested", place);
        }
        let depth = self.levels.len() - 1 - level as usize;
        self.levels[depth].has_aggregates = true;
        let place = self.levels[depth].place;
        let what = if aggregate { "aggregate functions" } else { "grouping operations" };
        let refused = match place {
            Place::JoinOn | Place::JoinUsing => format!("{what} are not allowed in JOIN conditions"),
            Place::FromQuery => format!("{what} are not allowed in FROM clause of their own query level"),
            Place::FromFunction => format!("{what} are not allowed in functions in FROM"),
            Place::FrameRange | Place::FrameRows | Place::FrameGroups => {
                format!("{what} are not allowed in {}", place.name())
            }
            Place::MergeWhen => format!("{what} are not allowed in MERGE WHEN conditions"),
            Place::Index => format!("{what} are not allowed in index expressions"),
            Place::IndexPredicate => format!("{what} are not allowed in index predicates"),
            Place::Nowhere
            | Place::Having
            | Place::WindowPartition
            | Place::WindowOrder
            | Place::SelectTarget
            | Place::OrderBy
            | Place::DistinctOn => return Ok(level),
            _ => format!("{what} are not allowed in {}", place.name()),
        };
        error_at(GROUPING_ERROR, refused, at)
    }

    fn aggregate_of_level(&self, within: ExprId, level: u32) -> Option<ExprId> {
        self.tree.find(within, &mut |expression, depth| match &expression.node {
            Node::Aggregate(call) => call.levels_up == level + depth,
            Node::Grouping { levels_up, .. } => *levels_up == level + depth,
            _ => false,
        })
    }

    /// The nearest query that a column of the expressions belongs to, and the nearest of an aggregate in them, both as levels out.
    fn nearest(&self, all: &[ExprId]) -> Result<(Option<u32>, Option<u32>)> {
        let (mut column, mut inner): (Option<u32>, Option<u32>) = (None, None);
        let lower = |slot: &mut Option<u32>, level: u32| *slot = Some(slot.map_or(level, |before| before.min(level)));
        for part in all {
            let window = self.tree.find(*part, &mut |expression, depth| {
                match &expression.node {
                    Node::Column { levels_up, .. }
                    | Node::WholeRow { levels_up, .. }
                    | Node::SystemColumn { levels_up, .. }
                        if *levels_up >= depth =>
                    {
                        lower(&mut column, levels_up - depth);
                    }
                    Node::Grouping { levels_up, .. } if *levels_up >= depth => lower(&mut inner, levels_up - depth),
                    Node::Aggregate(call) if call.levels_up >= depth => lower(&mut inner, call.levels_up - depth),
                    _ => {}
                }
                depth == 0 && matches!(expression.node, Node::Window(_))
            });
            if let Some(window) = window {
                let message = "aggregate function calls cannot contain window function calls";
                return error_at(GROUPING_ERROR, message, self.location(window));
            }
        }
        Ok((column, inner))
    }

    /// Refuses a window function where none may stand.
    pub fn place_window(&mut self, arguments: &[ExprId], at: Option<u32>) -> Result<()> {
        if let Some(nested) = arguments.iter().find_map(|part| self.tree.window_within(*part)) {
            return error_at(WINDOWING_ERROR, "window function calls cannot be nested", self.location(nested));
        }
        let place = self.level().place;
        let refused = match place {
            Place::JoinOn | Place::JoinUsing => "window functions are not allowed in JOIN conditions".to_string(),
            Place::FromFunction => "window functions are not allowed in functions in FROM".to_string(),
            Place::WindowPartition | Place::WindowOrder | Place::FrameRange | Place::FrameRows | Place::FrameGroups => {
                "window functions are not allowed in window definitions".to_string()
            }
            Place::MergeWhen => "window functions are not allowed in MERGE WHEN conditions".to_string(),
            Place::Index => "window functions are not allowed in index expressions".to_string(),
            Place::IndexPredicate => "window functions are not allowed in index predicates".to_string(),
            Place::Nowhere | Place::SelectTarget | Place::OrderBy | Place::DistinctOn => return Ok(()),
            _ => format!("window functions are not allowed in {}", place.name()),
        };
        error_at(WINDOWING_ERROR, refused, at)
    }

    /// Refuses aggregates and windows in what GROUP BY takes from the targets.
    pub fn check_grouped_target(&self, value: ExprId) -> Result<()> {
        if let Some(found) = self.tree.aggregate_within(value) {
            let message = "aggregate functions are not allowed in GROUP BY";
            return error_at(GROUPING_ERROR, message, self.location(found));
        }
        if let Some(found) = self.tree.window_within(value) {
            let message = "window functions are not allowed in GROUP BY";
            return error_at(WINDOWING_ERROR, message, self.location(found));
        }
        Ok(())
    }
}
