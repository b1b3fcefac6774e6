//! The name of a column of a result that is not given one.

use grammar::ast::{ExpressionId, ExpressionNode as Syntax, QueryBody, QueryId, SqlValue, Step};

use super::Analyzer;
use crate::tree::{ExprId, Node};

/// What a column is called that nothing gives a name.
const NO_NAME: &str = "?column?";
/// Stands for the name of the column behind a subquery's star.
const STAR: &str = "*";

impl Analyzer<'_> {
    /// The name that an expression gives its column.
    pub fn column_name(&self, number: ExpressionId) -> String {
        self.figure(number).map_or_else(|| NO_NAME.to_string(), |(name, _)| name)
    }

    /// The same, once the expression is analyzed: a subquery's star has become columns with names.
    pub fn column_name_of(&self, number: ExpressionId, value: ExprId) -> String {
        let name = self.column_name(number);
        if name != STAR {
            return name;
        }
        let link = self.tree.find(value, &mut |expression, _| matches!(expression.node, Node::SubLink { .. }));
        match link.map(|link| &self.tree[link].node) {
            Some(Node::SubLink { query, .. }) => {
                self.tree[*query].targets.first().map_or_else(|| NO_NAME.to_string(), |target| target.name.clone())
            }
            _ => NO_NAME.to_string(),
        }
    }

    /// The name, and whether it is better than what a cast's type would give.
    fn figure(&self, number: ExpressionId) -> Option<(String, bool)> {
        let strong = |name: &str| Some((name.to_string(), true));
        match &self.arena[number].node {
            Syntax::Column { names, .. } => strong(&names.last()?.text),
            Syntax::Indirection { of, steps } => {
                let fields = steps.iter().rev().find_map(|step| match step {
                    Step::Field(name) => Some(name.text.as_str()),
                    _ => None,
                });
                match fields {
                    Some(name) => strong(name),
                    None => self.figure(*of),
                }
            }
            Syntax::Call(call) => strong(&call.name.last()?.text),
            Syntax::NullIf(..) => strong("nullif"),
            Syntax::Cast { value, to } => match self.figure(*value) {
                Some(found @ (_, true)) => Some(found),
                weaker => to.names.last().map(|name| (name.text.clone(), false)).or(weaker),
            },
            Syntax::Collate { value, .. } => self.figure(*value),
            Syntax::Grouping(_) => strong("grouping"),
            Syntax::Exists(_) => strong("exists"),
            Syntax::Array(_) | Syntax::ArrayQuery(_) => strong("array"),
            Syntax::Subquery(query) => self.query_name(*query),
            Syntax::Case { otherwise, .. } => {
                let inner = otherwise.and_then(|otherwise| self.figure(otherwise));
                match inner {
                    Some(found @ (_, true)) => Some(found),
                    _ => Some(("case".to_string(), false)),
                }
            }
            Syntax::Row { .. } => strong("row"),
            Syntax::Coalesce(_) => strong("coalesce"),
            Syntax::Greatest(_) => strong("greatest"),
            Syntax::Least(_) => strong("least"),
            Syntax::SqlValue { value, .. } => strong(match value {
                SqlValue::CurrentDate => "current_date",
                SqlValue::CurrentTime => "current_time",
                SqlValue::CurrentTimestamp => "current_timestamp",
                SqlValue::LocalTime => "localtime",
                SqlValue::LocalTimestamp => "localtimestamp",
                SqlValue::CurrentRole => "current_role",
                SqlValue::CurrentUser => "current_user",
                SqlValue::SessionUser => "session_user",
                SqlValue::User => "user",
                SqlValue::CurrentCatalog => "current_catalog",
                SqlValue::CurrentSchema => "current_schema",
            }),
            _ => None,
        }
    }

    /// A subquery as a value has the name of its only column.
    fn query_name(&self, query: QueryId) -> Option<(String, bool)> {
        match &self.arena[query].body {
            QueryBody::Select(select) => {
                let target = select.targets.first()?;
                match &target.name {
                    Some(name) => Some((name.text.clone(), true)),
                    None => {
                        if matches!(self.arena[target.value].node, Syntax::Column { star: true, .. }) {
                            // The columns behind a star have names of their own.
                            return Some((STAR.to_string(), true));
                        }
                        Some((self.column_name(target.value), true))
                    }
                }
            }
            QueryBody::Values(_) => Some(("column1".to_string(), true)),
            QueryBody::Operation { left, .. } => self.query_name(*left),
        }
    }
}
