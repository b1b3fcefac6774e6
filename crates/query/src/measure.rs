//! How large the plan of a statement will be, from its syntax tree.
//!
//! What WITH names is put in wherever it is named: a few lines that name each the one before twice double the plan with each. So parts are counted before
//! anything is planned: relations, joins, set operations and subqueries.

use crate::error::QueryError;
use crate::limits::{PLAN_DEPTH_MAX, PLAN_PARTS_MAX};
use datafusion::sql::sqlparser::ast::{
    Expr, ObjectName, Query, Select, SetExpr, Statement, TableFactor, TableWithJoins, Visit, Visitor,
};
use sql_syntax::TooDeep;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// The size of a part of a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Size {
    /// Parts.
    parts: usize,
    /// Parts within each other.
    depth: usize,
}

/// Refuses a statement whose plan would be too large or too deep. Errors: 54001.
pub(crate) fn check(statement: &Statement) -> Result<(), QueryError> {
    let mut measure = Measure { open: vec![Frame::default()] };
    let _ = statement.visit(&mut measure);
    let size = measure.open.first().map(|frame| frame.size).unwrap_or_default();
    if size.depth > PLAN_DEPTH_MAX {
        return Err(TooDeep.into());
    }
    if size.parts > PLAN_PARTS_MAX {
        let message = format!("the statement is too complex: its plan would have more than {PLAN_PARTS_MAX} parts");
        return Err(QueryError::new("54001", message));
    }
    Ok(())
}

/// A query that is being looked at.
#[derive(Default)]
struct Frame {
    size: Size,
    /// Names of WITH whose queries come next, in their order, the last first.
    expected: Vec<String>,
    /// What WITH has named.
    named: BTreeMap<String, Size>,
}

struct Measure {
    open: Vec<Frame>,
}

impl Measure {
    fn here(&mut self) -> &mut Size {
        &mut self.open.last_mut().expect("the statement's own is never closed").size
    }

    /// Parts side by side within the query, each around what there is so far.
    fn add(&mut self, parts: usize, depth: usize) {
        let here = self.here();
        here.parts = here.parts.saturating_add(parts);
        here.depth = here.depth.saturating_add(depth);
    }

    /// A part within the query.
    fn contain(&mut self, part: Size) {
        let here = self.here();
        here.parts = here.parts.saturating_add(part.parts);
        here.depth = here.depth.max(part.depth.saturating_add(1));
    }
}

fn folded(name: &ObjectName) -> Option<String> {
    let [part] = name.0.as_slice() else { return None };
    part.as_ident().map(folded_ident)
}

fn folded_ident(name: &datafusion::sql::sqlparser::ast::Ident) -> String {
    if name.quote_style.is_some() { name.value.clone() } else { name.value.to_lowercase() }
}

/// Set operations of a query's body: how many, and how deep they are.
fn set_operations(body: &SetExpr) -> (usize, usize) {
    let (mut parts, mut deepest) = (0, 0);
    let mut rest = vec![(body, 0)];
    while let Some((next, depth)) = rest.pop() {
        deepest = deepest.max(depth);
        if let SetExpr::SetOperation { left, right, .. } = next {
            parts += 1;
            rest.extend([(&**left, depth + 1), (&**right, depth + 1)]);
        }
    }
    (parts, deepest)
}

fn joins(from: &[TableWithJoins]) -> usize {
    from.iter().map(|table| table.joins.len()).sum::<usize>() + from.len().saturating_sub(1)
}

impl Visitor for Measure {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        let tables = query.with.iter().flat_map(|with| &with.cte_tables);
        let mut expected: Vec<String> = tables.map(|table| folded_ident(&table.alias.name)).collect();
        expected.reverse();
        self.open.push(Frame { expected, ..Frame::default() });
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        let (parts, depth) = set_operations(&query.body);
        self.add(parts + 1, depth);
        let Some(done) = self.open.pop() else { return ControlFlow::Continue(()) };
        match self.open.last_mut() {
            Some(around) if !around.expected.is_empty() => {
                let name = around.expected.pop().unwrap_or_default();
                around.named.insert(name, done.size);
            }
            _ => self.contain(done.size),
        }
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        let joins = joins(&select.from);
        self.add(joins, joins);
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        match factor {
            TableFactor::Table { name, .. } => {
                let name = folded(name);
                let named = name.and_then(|name| self.open.iter().rev().find_map(|frame| frame.named.get(&name)));
                let size = named.copied().unwrap_or(Size { parts: 1, depth: 1 });
                self.contain(size);
            }
            TableFactor::NestedJoin { table_with_joins, .. } => {
                let joins = table_with_joins.joins.len();
                self.add(joins, joins);
            }
            _ => self.add(1, 0),
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expression: &Expr) -> ControlFlow<()> {
        // Each becomes a join around the others.
        if let Expr::Exists { .. } | Expr::InSubquery { .. } | Expr::Subquery(_) = expression {
            self.add(1, 1);
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sql_syntax::nestings::CHAINS;

    fn sqlstate(sql: &str) -> Option<String> {
        let statement = sql_syntax::statement(sql).expect("a statement");
        check(&statement).err().map(|error| error.sqlstate)
    }

    /// If this failed, a few lines would be planned for hours.
    #[test]
    fn what_doubles_is_noticed_before_it_is_planned() {
        let (_, doubling) = CHAINS.iter().find(|(name, _)| *name == "WITH that doubles").expect("it is there");
        for levels in 1..=11 {
            assert_eq!(sqlstate(&doubling(levels)), None, "{levels} levels");
        }
        for levels in [14, 16, 30, 64, 300] {
            assert_eq!(sqlstate(&doubling(levels)).as_deref(), Some("54001"), "{levels} levels");
        }
        // A name means what is nearest, and a table that has the name of nothing in WITH is one part.
        let inner = "with w as (select 1 as x) select * from (with w as (select 2 as x) select * from w a, w b) d, w";
        assert_eq!(sqlstate(inner), None);
    }

    /// If this failed, what applications write would be refused.
    #[test]
    fn what_is_long_is_not_too_large() {
        for (name, text) in CHAINS.iter().filter(|(name, _)| *name != "WITH that doubles" && *name != "dimensions") {
            assert_eq!(sqlstate(&text(200)), None, "{name}");
        }
        for name in ["UNION ALL", "UNION", "UNION ALL of tables", "AND", "OR"] {
            let (_, text) = CHAINS.iter().find(|(known, _)| *known == name).expect("it is there");
            assert_eq!(sqlstate(&text(1_000)), None, "{name}");
        }
    }
}
