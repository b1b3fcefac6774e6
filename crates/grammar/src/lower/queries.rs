//! SELECT, VALUES, TABLE, operations on sets, and what stands around them.

use super::{Lower, Lowered};
use crate::ast::{
    Distinct, ExpressionId, ExpressionNode, FromItem, FromNode, Grouping, GroupingId, IntoTable, LockWait,
    OperatorName, Persistence, Query, QueryBody, QueryId, RowLock, Select, SetOperator, SortKey, Target, With,
};
use crate::error::{SYNTAX_ERROR, SyntaxError};
use crate::parse::Node;
use crate::tables::symbols as g;

/// LIMIT and OFFSET as they stand.
#[derive(Default)]
struct Limits {
    limit: Option<(ExpressionId, Option<u32>)>,
    offset: Option<(ExpressionId, u32)>,
    /// Whether FETCH says ONLY, which is no option, or WITH TIES.
    with_ties: bool,
}

/// What stands around a query.
struct Clauses {
    /// ORDER BY, and where its first expression is.
    sorted: Option<(Vec<SortKey>, u32)>,
    locks: Vec<RowLock>,
    limits: Limits,
    with: Option<With>,
}

impl Lower<'_, '_> {
    pub(super) fn query_node(&mut self, node: Node) -> Lowered<QueryId> {
        match self.tree.symbol(node) {
            g::select_with_parens => {
                let inner = self.children(node)[1];
                Ok(self.query(inner))
            }
            g::simple_select => self.simple_select(node),
            _ => self.select_with_options(node),
        }
    }

    fn add_query(&mut self, node: Node, body: QueryBody) -> QueryId {
        let at = self.at(node);
        self.arena.queries(empty_query(body, at))
    }

    fn simple_select(&mut self, node: Node) -> Lowered<QueryId> {
        let (shape, children) = self.parts(node);
        let body = match (shape, children) {
            ([g::SELECT, ..], _) => QueryBody::Select(Box::new(self.select(children)?)),
            ([g::values_clause], &[values]) => QueryBody::Values(self.values(values)),
            ([g::TABLE, _], &[_, relation]) => {
                let at = self.at(relation);
                let name = self.relation_expr(relation);
                let node = FromNode::Relation { name, sample: None };
                let item = self.arena.items(FromItem { node, alias: None, lateral: false, at });
                let value = self.add(ExpressionNode::Column { names: Vec::new(), star: true }, at);
                let targets = vec![Target { value, name: None, at }];
                QueryBody::Select(Box::new(Select { targets, from: vec![item], ..Select::default() }))
            }
            ([_, operator, _, _], &[left, _, quantifier, right]) => {
                let operator = match *operator {
                    g::UNION => SetOperator::Union,
                    g::INTERSECT => SetOperator::Intersect,
                    _ => SetOperator::Except,
                };
                let all = self.has(quantifier, g::ALL);
                QueryBody::Operation { operator, all, left: self.query(left), right: self.query(right) }
            }
            _ => return Err(self.unexpected(node)),
        };
        Ok(self.add_query(node, body))
    }

    fn select(&mut self, children: &[Node]) -> Lowered<Select> {
        let &[_, distinct, targets, into, from, filter, group, having, windows] = children else {
            return Err(self.unexpected(children[0]));
        };
        let distinct = match (self.shape(distinct), self.children(distinct)) {
            ([g::DISTINCT], _) => Distinct::All,
            ([g::DISTINCT, ..], &[_, _, _, list, _]) => Distinct::On(self.exprs(list)),
            _ => Distinct::No,
        };
        let mut select = Select { distinct, targets: self.targets(targets), ..Select::default() };
        if let [_, table] = *self.children(into) {
            select.into = Some(Box::new(self.table_of_into(table)?));
        }
        select.from = self.item_list(from);
        select.filter = self.part(filter, g::a_expr).map(|filter| self.expr(filter));
        if let [_, _, quantifier, list] = *self.children(group) {
            select.group_distinct = self.has(quantifier, g::DISTINCT);
            select.group = self.list(list).into_iter().map(|item| self.grouping_of(item)).collect();
        }
        select.having = self.part(having, g::a_expr).map(|having| self.expr(having));
        if let [_, list] = *self.children(windows) {
            select.windows = self.named_windows(list)?;
        }
        Ok(select)
    }

    /// `OptTempTableName`.
    fn table_of_into(&mut self, node: Node) -> Lowered<IntoTable> {
        let name = self.part(node, g::qualified_name).ok_or_else(|| self.unexpected(node))?;
        let persistence = if self.has(node, g::UNLOGGED) {
            Persistence::Unlogged
        } else if self.has(node, g::TEMPORARY) || self.has(node, g::TEMP) {
            Persistence::Temporary
        } else {
            Persistence::Permanent
        };
        Ok(IntoTable { name: self.relation_name(name), persistence })
    }

    fn values(&mut self, node: Node) -> Vec<Vec<ExpressionId>> {
        let rows = self.chain(node).into_iter().filter_map(|row| self.part(row, g::expr_list)).collect::<Vec<Node>>();
        rows.into_iter().map(|list| self.exprs(list)).collect()
    }

    /// `select_no_parens`: what stands around a query becomes part of it, which must not have it already.
    fn select_with_options(&mut self, node: Node) -> Lowered<QueryId> {
        let clause = self.part(node, g::select_clause).ok_or_else(|| self.unexpected(node))?;
        let number = self.query(clause);
        let sort = self.part(node, g::sort_clause).or_else(|| {
            let sort = self.filled(node, g::opt_sort_clause)?;
            self.children(sort).first().copied()
        });
        let sorted = match sort {
            Some(sort) => Some((self.sort_keys(sort)?, self.at(self.children(sort)[2]))),
            None => None,
        };
        let locking = self.part(node, g::for_locking_clause).or_else(|| {
            let locking = self.filled(node, g::opt_for_locking_clause)?;
            self.children(locking).first().copied()
        });
        let locks = match locking {
            Some(locking) => self.locks(locking)?,
            None => Vec::new(),
        };
        let limit = self.part(node, g::select_limit).or_else(|| {
            let limit = self.filled(node, g::opt_select_limit)?;
            self.children(limit).first().copied()
        });
        let limits = match limit {
            Some(limit) => self.limits(limit)?,
            None => Limits::default(),
        };
        let with = match self.part(node, g::with_clause) {
            Some(with) => Some(self.with(with)?),
            None => None,
        };
        self.with_clauses(number, Clauses { sorted, locks, limits, with })
    }

    /// A query with clauses that it did not have.
    fn with_clauses(&mut self, number: QueryId, clauses: Clauses) -> Lowered<QueryId> {
        let Clauses { sorted, locks, limits, with } = clauses;
        // Parts lie before the whole: the query goes behind what it got.
        let hole = empty_query(QueryBody::Values(Vec::new()), self.arena[number].at);
        let mut query = std::mem::replace(&mut self.arena[number], hole);
        let refused =
            |message: &str, at: Option<u32>| Err(SyntaxError { at, ..SyntaxError::new(SYNTAX_ERROR, message, 0) });
        if let Some((order, at)) = sorted {
            if !query.order.is_empty() {
                return refused("multiple ORDER BY clauses not allowed", Some(at));
            }
            query.order = order;
        }
        query.locks.extend(locks);
        if let Some((offset, at)) = limits.offset {
            if query.offset.is_some() {
                return refused("multiple OFFSET clauses not allowed", Some(at));
            }
            query.offset = Some(offset);
        }
        if let Some((limit, at)) = limits.limit {
            if query.limit.is_some() {
                return refused("multiple LIMIT clauses not allowed", at);
            }
            query.limit = Some(limit);
        }
        if limits.with_ties {
            if query.order.is_empty() {
                return refused("WITH TIES cannot be specified without ORDER BY clause", None);
            }
            if query.locks.iter().any(|lock| lock.wait == LockWait::Skip) {
                return refused("SKIP LOCKED and WITH TIES options cannot be used together", None);
            }
            query.with_ties = true;
        }
        if let Some(with) = with {
            if query.with.is_some() {
                return refused("multiple WITH clauses not allowed", Some(with.at));
            }
            query.at = query.at.min(with.at);
            query.with = Some(with);
        }
        Ok(self.arena.queries(query))
    }

    fn limits(&mut self, node: Node) -> Lowered<Limits> {
        let mut limits = Limits::default();
        for &clause in self.children(node) {
            let (shape, children) = self.parts(clause);
            match (shape, children) {
                ([g::LIMIT, _], &[_, value]) => {
                    let at = self.at(value);
                    let limit = match self.part(value, g::a_expr) {
                        Some(value) => self.expr(value),
                        None => self.add(ExpressionNode::Null, at),
                    };
                    limits.limit = Some((limit, Some(at)));
                }
                ([g::LIMIT, ..], _) => {
                    let error = self.error(clause, "LIMIT #,# syntax is not supported");
                    return Err(error.with_hint("Use separate LIMIT and OFFSET clauses."));
                }
                ([g::OFFSET, ..], &[_, value, ..]) => {
                    let offset = match self.part(value, g::a_expr) {
                        Some(value) => self.expr(value),
                        None => self.fetched(value)?,
                    };
                    limits.offset = Some((offset, self.at(value)));
                }
                _ => {
                    limits.with_ties = self.has(clause, g::TIES);
                    limits.limit = Some(match self.part(clause, g::select_fetch_first_value) {
                        Some(value) => (self.fetched(value)?, Some(self.at(value))),
                        None => (self.add(ExpressionNode::Integer(1), self.at(clause)), None),
                    });
                }
            }
        }
        Ok(limits)
    }

    /// `select_fetch_first_value`.
    fn fetched(&mut self, node: Node) -> Lowered<ExpressionId> {
        let at = self.at(node);
        match (self.shape(node), self.children(node)) {
            ([g::c_expr], &[value]) => Ok(self.expr(value)),
            (&[sign, _], &[_, number]) => {
                let is_float = self.has(number, g::FCONST);
                let text = self.string(number);
                let digits = self.integer(number);
                let (number, negated) = if is_float {
                    (ExpressionNode::Number(text.clone()), ExpressionNode::Number(format!("-{text}")))
                } else {
                    (ExpressionNode::Integer(digits), ExpressionNode::Integer(-digits))
                };
                if sign == g::MINUS {
                    return Ok(self.add(negated, at));
                }
                let right = self.add(number, at + 1);
                let operator = OperatorName { schema: Vec::new(), symbol: "+".to_string(), at };
                Ok(self.add(ExpressionNode::Operator { operator, left: None, right }, at))
            }
            _ => Err(self.unexpected(node)),
        }
    }

    pub(super) fn grouping(&mut self, node: Node) -> Lowered<GroupingId> {
        let item = self.children(node)[0];
        let at = self.at(node);
        let grouping = match (self.tree.symbol(item), self.children(item)) {
            (g::a_expr, _) => Grouping::Expression(self.expr(item)),
            (g::empty_grouping_set, _) => Grouping::Empty(at),
            (g::rollup_clause, &[_, _, list, _]) => Grouping::Rollup(self.exprs(list), at),
            (g::cube_clause, &[_, _, list, _]) => Grouping::Cube(self.exprs(list), at),
            (g::grouping_sets_clause, &[_, _, _, list, _]) => {
                Grouping::Sets(self.list(list).into_iter().map(|item| self.grouping_of(item)).collect(), at)
            }
            _ => return Err(self.unexpected(node)),
        };
        Ok(self.arena.groupings(grouping))
    }
}

fn empty_query(body: QueryBody, at: u32) -> Query {
    Query { with: None, body, order: Vec::new(), limit: None, with_ties: false, offset: None, locks: Vec::new(), at }
}
