//! Subqueries as values.

use grammar::ast::{ExpressionId, OperatorName as Written, QueryId as SyntaxQuery};

use super::{Analyzer, Result, error_at};
use crate::error::SYNTAX_ERROR;
use crate::tree::{ExprId, Node, QueryId, SubLinkKind};
use crate::types::{BOOL, Typed};

impl<'a> Analyzer<'a> {
    /// EXISTS.
    pub fn exists(&mut self, query: SyntaxQuery, at: u32) -> Result<ExprId> {
        let query = self.subquery(query, true)?;
        let node = Node::SubLink { kind: SubLinkKind::Exists, query, test: None };
        Ok(self.plain(node, BOOL, Some(at)))
    }

    /// `(SELECT ..)` as a value.
    pub fn value_query(&mut self, query: SyntaxQuery, at: u32) -> Result<ExprId> {
        let query = self.subquery(query, true)?;
        let typed = self.only_column(query, at)?;
        let node = Node::SubLink { kind: SubLinkKind::Value, query, test: None };
        Ok(self.add(node, typed, Some(at)))
    }

    /// `ARRAY (SELECT ..)`.
    pub fn array_query(&mut self, query: SyntaxQuery, at: u32) -> Result<ExprId> {
        let query = self.subquery(query, true)?;
        let column = self.only_column(query, at)?;
        let id = crate::common_type::promoted_array(self.catalog, column.id).ok_or_else(|| {
            let name = crate::names::type_name(self.catalog, column.id);
            let message = format!("could not find array type for data type {name}");
            crate::AnalysisError::new(crate::error::UNDEFINED_OBJECT, message)
        })?;
        let typed = self.typed(id, column.modifier);
        let node = Node::SubLink { kind: SubLinkKind::Array, query, test: None };
        Ok(self.add(node, typed, Some(at)))
    }

    fn only_column(&self, query: QueryId, at: u32) -> Result<Typed> {
        match self.query_columns(query).as_slice() {
            [(_, typed)] => Ok(*typed),
            _ => error_at(SYNTAX_ERROR, "subquery must return only one column", at),
        }
    }

    /// Names and types of the columns of a query that is complete.
    pub fn query_columns(&self, query: QueryId) -> Vec<(String, Typed)> {
        let query = &self.tree[query];
        let targets = if query.command == crate::tree::Command::Select { &query.targets } else { &query.returning };
        let shown = targets.iter().filter(|target| !target.junk);
        shown.map(|target| (target.name.clone(), self.tree[target.value].typed)).collect()
    }

    /// `a IN (SELECT ..)`.
    pub fn in_query(&mut self, negated: bool, value: ExpressionId, query: SyntaxQuery, at: u32) -> Result<ExprId> {
        let operator = Written { schema: Vec::new(), symbol: "=".to_string(), at };
        let found = self.compared_query(&operator, SubLinkKind::Any, value, query, at)?;
        Ok(if negated { self.plain(Node::Not(found), BOOL, Some(at)) } else { found })
    }

    /// `a = ANY (SELECT ..)`.
    pub fn quantified_query(
        &mut self,
        operator: &Written,
        all: bool,
        value: ExpressionId,
        query: SyntaxQuery,
        at: u32,
    ) -> Result<ExprId> {
        let kind = if all { SubLinkKind::All } else { SubLinkKind::Any };
        self.compared_query(operator, kind, value, query, at)
    }

    /// `(a, b) = (SELECT ..)`.
    pub fn row_query(
        &mut self,
        operator: &Written,
        value: ExpressionId,
        query: SyntaxQuery,
        at: u32,
    ) -> Result<ExprId> {
        self.compared_query(operator, SubLinkKind::RowComparison, value, query, at)
    }

    fn compared_query(
        &mut self,
        operator: &Written,
        kind: SubLinkKind,
        value: ExpressionId,
        query: SyntaxQuery,
        at: u32,
    ) -> Result<ExprId> {
        let query = self.subquery(query, true)?;
        let value = self.expression(value)?;
        let left = self.fields(value);
        let columns = self.query_columns(query);
        if left.len() < columns.len() {
            return error_at(SYNTAX_ERROR, "subquery has too many columns", at);
        }
        if left.len() > columns.len() {
            return error_at(SYNTAX_ERROR, "subquery has too few columns", at);
        }
        let mut right = Vec::with_capacity(columns.len());
        for (number, (_, typed)) in columns.into_iter().enumerate() {
            right.push(self.add(Node::SubLinkColumn(number as u32), typed, None));
        }
        let test = Some(self.row_comparison(operator, &left, &right, at)?);
        Ok(self.plain(Node::SubLink { kind, query, test }, BOOL, Some(at)))
    }
}
