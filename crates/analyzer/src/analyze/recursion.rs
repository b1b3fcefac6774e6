//! WITH RECURSIVE: which query needs which, and whether those that need themselves have the form that recursion has.

use grammar::ast::{
    CommonTable, ExpressionId, ExpressionNode as Syntax, FromId, FromNode, JoinCondition, JoinKind, QueryBody, QueryId,
    SetOperator, Statement, Step, With,
};

use super::{Analyzer, Result, error_at};
use crate::error::{FEATURE_NOT_SUPPORTED, INVALID_RECURSION};

/// Where a reference stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Around {
    Allowed,
    Subquery,
    OuterJoin,
    Intersect,
    Except,
}

/// A reference to a name: what is around it, and where it stands.
struct Reference {
    around: Around,
    at: u32,
}

/// A walk through a syntax tree for references to a name.
struct Walk<'a> {
    arena: &'a grammar::ast::Arena,
    name: &'a str,
    /// How many queries around give the name another meaning.
    hidden: usize,
    found: Vec<Reference>,
}

impl<'a> Analyzer<'a> {
    /// Queries of WITH RECURSIVE, those first that others need; with each, whether it needs itself.
    pub fn recursion_order(&mut self, with: &'a With) -> Result<Vec<(&'a CommonTable, bool)>> {
        let tables: Vec<&CommonTable> = with.tables.iter().collect();
        let needs: Vec<Vec<usize>> = tables
            .iter()
            .map(|table| {
                let needed = |(_, other): &(usize, &&CommonTable)| !self.references(&other.name.text, table).is_empty();
                tables.iter().enumerate().filter(needed).map(|(index, _)| index).collect()
            })
            .collect();
        let mut order: Vec<usize> = Vec::with_capacity(tables.len());
        while order.len() < tables.len() {
            let ready = (0..tables.len()).find(|index| {
                !order.contains(index) && needs[*index].iter().all(|need| need == index || order.contains(need))
            });
            let Some(ready) = ready else {
                let stuck = (0..tables.len()).find(|index| !order.contains(index)).unwrap_or(0);
                let message = "mutual recursion between WITH items is not implemented";
                return error_at(FEATURE_NOT_SUPPORTED, message, tables[stuck].name.at);
            };
            order.push(ready);
        }
        let mut result = Vec::with_capacity(order.len());
        for index in order {
            let recursive = needs[index].contains(&index);
            if recursive {
                self.check_recursion(tables[index])?;
            }
            result.push((tables[index], recursive));
        }
        Ok(result)
    }

    fn references(&self, name: &'a str, table: &CommonTable) -> Vec<Reference> {
        let mut walk = Walk { arena: self.arena, name, hidden: 0, found: Vec::new() };
        walk.statement(&self.arena[table.statement], Around::Allowed);
        walk.found
    }

    /// A query that needs itself is a term, UNION, and a term that has the reference once, where each row counts for itself.
    fn check_recursion(&self, table: &'a CommonTable) -> Result<()> {
        let arena = self.arena;
        let name = table.name.text.as_str();
        let refuse = |message: String, at: u32| error_at(INVALID_RECURSION, message, at);
        let Statement::Query(query) = &arena[table.statement] else {
            return refuse(
                format!("recursive query \"{name}\" must not contain data-modifying statements"),
                table.name.at,
            );
        };
        let syntax = &arena[*query];
        let QueryBody::Operation { operator: SetOperator::Union, left, right, .. } = &syntax.body else {
            return refuse(
                format!(
                    "recursive query \"{name}\" does not have the form non-recursive-term UNION [ALL] recursive-term"
                ),
                table.name.at,
            );
        };
        let mut walk = Walk { arena, name, hidden: 0, found: Vec::new() };
        walk.query(*left, Around::Allowed);
        if let Some(found) = walk.found.first() {
            let message =
                format!("recursive reference to query \"{name}\" must not appear within its non-recursive term");
            return refuse(message, found.at);
        }
        // What WITH and the clauses around the union name is no term.
        walk.with(syntax.with.as_ref(), Around::Subquery);
        walk.query(*right, Around::Allowed);
        let mut allowed = 0;
        for found in &walk.found {
            let what = match found.around {
                Around::Allowed => {
                    allowed += 1;
                    if allowed < 2 {
                        continue;
                    }
                    let message = format!("recursive reference to query \"{name}\" must not appear more than once");
                    return refuse(message, found.at);
                }
                Around::Subquery => "a subquery",
                Around::OuterJoin => "an outer join",
                Around::Intersect => "INTERSECT",
                Around::Except => "EXCEPT",
            };
            let message = format!("recursive reference to query \"{name}\" must not appear within {what}");
            return refuse(message, found.at);
        }
        self.check_clauses(table, *query, (*left, *right))
    }

    /// What may not stand around a recursion.
    fn check_clauses(&self, table: &CommonTable, query: QueryId, sides: (QueryId, QueryId)) -> Result<()> {
        let arena = self.arena;
        let syntax = &arena[query];
        let clauses = [
            (syntax.order.first().map(|key| self.raw_location(key.value)), "ORDER BY"),
            (syntax.offset.map(|value| self.raw_location(value)), "OFFSET"),
            (syntax.limit.map(|value| self.raw_location(value)), "LIMIT"),
        ];
        for (at, what) in clauses {
            if at.is_some() {
                let message = format!("{what} in a recursive query is not implemented");
                return error_at(FEATURE_NOT_SUPPORTED, message, at);
            }
        }
        if table.search.is_some() || table.cycle.is_some() {
            let operation = |side: QueryId| matches!(arena[side].body, QueryBody::Operation { .. });
            if operation(sides.0) {
                let message = "with a SEARCH or CYCLE clause, the left side of the UNION must be a SELECT";
                return error_at(FEATURE_NOT_SUPPORTED, message, None);
            }
            if operation(sides.1) {
                let message = "with a SEARCH or CYCLE clause, the right side of the UNION must be a SELECT";
                return error_at(crate::error::SYNTAX_ERROR, message, None);
            }
        }
        if !syntax.locks.is_empty() {
            let message = "FOR UPDATE/SHARE in a recursive query is not implemented";
            return error_at(FEATURE_NOT_SUPPORTED, message, None);
        }
        Ok(())
    }
}

impl Walk<'_> {
    fn statement(&mut self, statement: &Statement, around: Around) {
        let (with, items, expressions, query) = match statement {
            Statement::Query(query) => return self.query(*query, around),
            Statement::Insert(insert) => (insert.with.as_ref(), &[][..], Vec::new(), insert.source),
            Statement::Update(update) => {
                let set = update.set.iter().map(|assignment| assignment.value).collect();
                (update.with.as_ref(), update.from.as_slice(), set, None)
            }
            Statement::Delete(delete) => (delete.with.as_ref(), delete.using.as_slice(), Vec::new(), None),
            _ => return,
        };
        self.with(with, around);
        items.iter().for_each(|item| self.item(*item, around));
        expressions.into_iter().for_each(|value| self.expression(value));
        if let Some(query) = query {
            self.query(query, around);
        }
    }

    fn with(&mut self, with: Option<&With>, around: Around) {
        let Some(with) = with else { return };
        for table in &with.tables {
            let statement = &self.arena[table.statement];
            self.statement(statement, around);
        }
    }

    fn query(&mut self, query: QueryId, around: Around) {
        let arena = self.arena;
        let syntax = &arena[query];
        self.with(syntax.with.as_ref(), around);
        let hides = syntax.with.iter().flat_map(|with| &with.tables).any(|table| table.name.text == self.name);
        if hides {
            self.hidden += 1;
        }
        match &syntax.body {
            QueryBody::Operation { operator, all, left, right } => {
                let (one, other) = match (operator, all) {
                    (SetOperator::Intersect, true) => (Around::Intersect, Around::Intersect),
                    (SetOperator::Except, true) => (Around::Except, Around::Except),
                    (SetOperator::Except, false) => (around, Around::Except),
                    _ => (around, around),
                };
                self.query(*left, one);
                self.query(*right, other);
            }
            QueryBody::Values(rows) => rows.iter().flatten().for_each(|value| self.expression(*value)),
            QueryBody::Select(select) => {
                select.targets.iter().for_each(|target| self.expression(target.value));
                select.from.iter().for_each(|item| self.item(*item, around));
                select.filter.iter().chain(&select.having).for_each(|value| self.expression(*value));
            }
        }
        syntax.order.iter().for_each(|key| self.expression(key.value));
        syntax.limit.iter().chain(&syntax.offset).for_each(|value| self.expression(*value));
        if hides {
            self.hidden -= 1;
        }
    }

    fn item(&mut self, item: FromId, around: Around) {
        let arena = self.arena;
        match &arena[item].node {
            FromNode::Relation { name, .. } => {
                if name.schema.is_none() && name.name.text == self.name && self.hidden == 0 {
                    self.found.push(Reference { around, at: name.name.at });
                }
            }
            FromNode::Query(query) => self.query(*query, around),
            FromNode::Functions { functions, .. } => {
                functions.iter().for_each(|function| self.expression(function.call));
            }
            FromNode::Join { kind, left, right, condition } => {
                let outer = |yes: bool| if yes && around == Around::Allowed { Around::OuterJoin } else { around };
                self.item(*left, outer(matches!(kind, JoinKind::Right | JoinKind::Full)));
                self.item(*right, outer(matches!(kind, JoinKind::Left | JoinKind::Full)));
                if let JoinCondition::On(condition) = condition {
                    self.expression(*condition);
                }
            }
            FromNode::Other(_) => {}
        }
    }

    /// What an expression is made of; its queries are subqueries.
    fn expression(&mut self, number: ExpressionId) {
        let arena = self.arena;
        let mut parts: Vec<ExpressionId> = Vec::new();
        match &arena[number].node {
            Syntax::Exists(query) | Syntax::Subquery(query) | Syntax::ArrayQuery(query) => {
                self.query(*query, Around::Subquery);
            }
            Syntax::InQuery { value, query, .. } | Syntax::QuantifiedQuery { left: value, query, .. } => {
                parts.push(*value);
                self.query(*query, Around::Subquery);
            }
            Syntax::Operator { left, right, .. } => parts.extend(left.iter().chain([right])),
            Syntax::Quantified { left, array, .. } => parts.extend([left, array]),
            Syntax::Like { value, pattern, escape, .. } => parts.extend([value, pattern].into_iter().chain(escape)),
            Syntax::Between { value, low, high, .. } => parts.extend([value, low, high]),
            Syntax::In { value, list, .. } => parts.extend([value].into_iter().chain(list)),
            Syntax::Distinct { left, right, .. } | Syntax::NullIf(left, right) => parts.extend([left, right]),
            Syntax::And(list)
            | Syntax::Or(list)
            | Syntax::Coalesce(list)
            | Syntax::Greatest(list)
            | Syntax::Least(list)
            | Syntax::Array(list)
            | Syntax::Grouping(list)
            | Syntax::Row { fields: list, .. } => parts.extend(list),
            Syntax::Not(value)
            | Syntax::IsNull { value, .. }
            | Syntax::IsBoolean { value, .. }
            | Syntax::Cast { value, .. }
            | Syntax::Collate { value, .. } => parts.push(*value),
            Syntax::Indirection { of, steps } => {
                parts.push(*of);
                for step in steps {
                    match step {
                        Step::Subscript(value) => parts.push(*value),
                        Step::Slice(low, high) => parts.extend(low.iter().chain(high)),
                        _ => {}
                    }
                }
            }
            Syntax::Call(call) => {
                parts.extend(call.arguments.iter().map(|argument| argument.value));
                parts.extend(call.order.iter().map(|key| key.value).chain(call.filter));
            }
            Syntax::Case { operand, arms, otherwise } => {
                parts.extend(operand.iter().chain(otherwise));
                parts.extend(arms.iter().flat_map(|arm| [arm.condition, arm.result]));
            }
            _ => {}
        }
        parts.into_iter().for_each(|part| self.expression(part));
    }
}
