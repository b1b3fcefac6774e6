//! Checks a tree: types follow from what expressions are made of, and columns are there. For tests; a fault found here is one of the analyzer.

use super::{ExprId, Node, Query, QueryId, Tree};
use crate::catalog::Catalog;
use crate::types::{BOOL, TypeId, UNKNOWN};

impl Tree {
    /// The first thing that does not fit, told in words.
    pub fn verify(&self, catalog: &dyn Catalog, query: QueryId) -> Result<(), String> {
        let mut stack = Vec::new();
        Verifier { tree: self, catalog }.query(query, &mut stack)
    }
}

struct Verifier<'a> {
    tree: &'a Tree,
    catalog: &'a dyn Catalog,
}

impl<'a> Verifier<'a> {
    fn query(&self, query: QueryId, around: &mut Vec<&'a Query>) -> Result<(), String> {
        let query = &self.tree[query];
        around.push(query);
        for inner in query.queries() {
            self.query(inner, around)?;
        }
        for expression in query.expressions() {
            self.expression(expression, around)?;
        }
        for condition in [query.filter, query.having].into_iter().flatten() {
            self.is(condition, BOOL, "a condition")?;
        }
        for target in query.targets.iter().chain(&query.returning) {
            if self.tree[target.value].typed.id == UNKNOWN && !matches!(self.tree[target.value].node, Node::Default) {
                return Err(format!("column {} is of unknown type", target.name));
            }
        }
        around.pop();
        Ok(())
    }

    fn id(&self, of: ExprId) -> TypeId {
        self.tree[of].typed.id
    }

    fn is(&self, of: ExprId, wanted: TypeId, what: &str) -> Result<(), String> {
        let found = self.catalog.base_type(self.id(of));
        if found == wanted { Ok(()) } else { Err(format!("{what} is of type {found}, not {wanted}")) }
    }

    fn expression(&self, of: ExprId, around: &mut Vec<&'a Query>) -> Result<(), String> {
        let expression = &self.tree[of];
        for part in expression.node.parts() {
            self.expression(part, around)?;
        }
        match &expression.node {
            Node::Column { levels_up, entry, column } => {
                let depth = around.len().checked_sub(1 + *levels_up as usize);
                let query = depth.and_then(|depth| around.get(depth)).ok_or("a column of no query")?;
                let entry = query.range_table.get(*entry as usize).ok_or("a column of no entry")?;
                let column = entry.columns.get(*column as usize).ok_or("a column that its entry does not have")?;
                // A column whose type was open when it was read is converted to text where the query ends.
                // What an operation on sets yields has the type of both sides, under the number of the first one.
                let open = column.typed.id == UNKNOWN || query.set_operation.is_some();
                if column.typed.id != expression.typed.id && !open {
                    return Err(format!("column {} of {} has another type here", column.name, entry.name));
                }
            }
            Node::And(parts) | Node::Or(parts) => {
                parts.iter().try_for_each(|part| self.is(*part, BOOL, "a part of AND or OR"))?;
            }
            Node::Not(value) | Node::BooleanTest { value, .. } => self.is(*value, BOOL, "what is tested")?,
            Node::Coalesce(parts) | Node::Extreme { arguments: parts, .. } => {
                parts.iter().try_for_each(|part| self.same(*part, of))?;
            }
            Node::Case { arms, otherwise, .. } => {
                arms.iter().try_for_each(|(when, _)| self.is(*when, BOOL, "WHEN"))?;
                arms.iter().try_for_each(|(_, then)| self.same(*then, of))?;
                self.same(*otherwise, of)?;
            }
            Node::SubLink { query, .. } => self.query(*query, around)?,
            _ => {}
        }
        Ok(())
    }

    fn same(&self, part: ExprId, whole: ExprId) -> Result<(), String> {
        let (part, whole) = (self.id(part), self.id(whole));
        if part == whole { Ok(()) } else { Err(format!("a part is of type {part}, the whole of {whole}")) }
    }
}
