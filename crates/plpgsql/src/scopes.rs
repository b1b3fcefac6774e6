//! Which columns a place of a statement may see, as far as its text tells.
//!
//! Invariant: depth is bounded; a query that is deeper shows no columns.

use crate::limits::QUERY_LEVELS_MAX;
use crate::sql_text::{ColumnScope, ColumnSource, ScopeTable};
use grammar::ast::{
    Alias, Arena, ExpressionNode, FromId, FromItem, FromNode, QueryBody, QueryId, RelationName, Statement, StatementId,
    Step, Target,
};

/// Queries of WITH that a place sees.
#[derive(Debug, Default)]
pub(crate) struct WithScope {
    /// Those around it.
    pub parent: Option<usize>,
    /// Names and columns.
    pub tables: Vec<(String, Vec<ColumnSource>)>,
}

/// All scopes of a statement.
#[derive(Debug, Default)]
pub(crate) struct Scopes {
    /// Those of columns.
    pub columns: Vec<ColumnScope>,
    /// Those of WITH.
    pub with: Vec<WithScope>,
}

impl Scopes {
    /// A new scope of columns.
    pub fn add(&mut self, parent: Option<usize>, tables: Vec<ScopeTable>) -> Option<usize> {
        self.columns.push(ColumnScope { parent, tables });
        Some(self.columns.len() - 1)
    }

    fn with_table(&self, name: &str, with: Option<usize>) -> Option<&[ColumnSource]> {
        let mut next = with;
        while let Some(scope) = next.and_then(|number| self.with.get(number)) {
            if let Some((_, columns)) = scope.tables.iter().rev().find(|(known, _)| known == name) {
                return Some(columns);
            }
            next = scope.parent;
        }
        None
    }

    fn relation(&self, name: &RelationName, with: Option<usize>) -> Vec<ColumnSource> {
        if name.schema.is_none()
            && let Some(columns) = self.with_table(&name.name.text, with)
        {
            return columns.to_vec();
        }
        vec![ColumnSource::Relation(names_of(name), Vec::new())]
    }

    /// The table that a statement changes.
    pub fn target(&self, name: &RelationName, alias: Option<&str>) -> ScopeTable {
        ScopeTable {
            name: alias.unwrap_or(&name.name.text).to_owned(),
            columns: vec![ColumnSource::Relation(names_of(name), Vec::new())],
            is_qualified_only: false,
        }
    }

    /// The tables of an item of FROM.
    pub fn tables(&self, arena: &Arena, item: FromId, with: Option<usize>, level: usize) -> Vec<ScopeTable> {
        let item = &arena[item];
        if level > QUERY_LEVELS_MAX {
            return Vec::new();
        }
        let columns = match &item.node {
            FromNode::Join { left, right, .. } => {
                let mut tables = self.tables(arena, *left, with, level + 1);
                tables.extend(self.tables(arena, *right, with, level + 1));
                match &item.alias {
                    None => return tables,
                    Some(_) => tables.into_iter().flat_map(|table| table.columns).collect(),
                }
            }
            FromNode::Relation { name, .. } => self.relation(name, with),
            FromNode::Query(query) => self.query(arena, *query, with, level + 1),
            FromNode::Functions { functions, .. } => {
                let named = functions.iter().flat_map(|function| &function.columns);
                let named: Vec<ColumnSource> =
                    named.map(|column| ColumnSource::Name(column.name.text.clone())).collect();
                match (named.is_empty(), alias_name(item)) {
                    (true, Some(alias)) => vec![ColumnSource::Name(alias)],
                    (true, None) => {
                        let call = functions.first().map(|function| function.call);
                        call.and_then(|call| call_name(arena, call)).map(ColumnSource::Name).into_iter().collect()
                    }
                    (false, _) => named,
                }
            }
            FromNode::Other(_) => Vec::new(),
        };
        let own = match &item.node {
            FromNode::Relation { name, .. } => Some(name.name.text.clone()),
            FromNode::Functions { functions, .. } => functions.first().and_then(|one| call_name(arena, one.call)),
            _ => None,
        };
        let name = alias_name(item).or(own).unwrap_or_default();
        vec![ScopeTable { name, columns: renamed(columns, item.alias.as_ref()), is_qualified_only: false }]
    }

    /// The columns of a query.
    pub fn query(&self, arena: &Arena, query: QueryId, with: Option<usize>, level: usize) -> Vec<ColumnSource> {
        if level > QUERY_LEVELS_MAX {
            return Vec::new();
        }
        match &arena[query].body {
            QueryBody::Select(select) => {
                let tables: Vec<ScopeTable> =
                    select.from.iter().flat_map(|item| self.tables(arena, *item, with, level + 1)).collect();
                self.targets(arena, &select.targets, &tables)
            }
            QueryBody::Values(rows) => {
                let count = rows.first().map_or(0, Vec::len);
                (1..=count).map(|number| ColumnSource::Name(format!("column{number}"))).collect()
            }
            QueryBody::Operation { left, .. } => self.query(arena, *left, with, level + 1),
        }
    }

    /// The columns of what a query of WITH returns.
    pub fn statement(&self, arena: &Arena, statement: StatementId, with: Option<usize>) -> Vec<ColumnSource> {
        let returned = |name: &RelationName, alias: Option<&str>, targets: &[Target]| {
            self.targets(arena, targets, &[self.target(name, alias)])
        };
        match &arena[statement] {
            Statement::Query(query) => self.query(arena, *query, with, 0),
            Statement::Insert(insert) => {
                returned(&insert.table, insert.alias.as_ref().map(|name| name.text.as_str()), &insert.returning)
            }
            Statement::Update(update) => {
                returned(&update.table, update.alias.as_ref().map(|name| name.text.as_str()), &update.returning)
            }
            Statement::Delete(delete) => {
                returned(&delete.table, delete.alias.as_ref().map(|name| name.text.as_str()), &delete.returning)
            }
            _ => Vec::new(),
        }
    }

    fn targets(&self, arena: &Arena, targets: &[Target], tables: &[ScopeTable]) -> Vec<ColumnSource> {
        let mut columns = Vec::new();
        for target in targets {
            if let Some(name) = &target.name {
                columns.push(ColumnSource::Name(name.text.clone()));
                continue;
            }
            match &arena[target.value].node {
                ExpressionNode::Column { names, star: true } => {
                    let of = names.last().map(|name| name.text.as_str());
                    let shown = tables.iter().filter(|table| of.is_none_or(|name| table.name == name));
                    columns.extend(shown.flat_map(|table| table.columns.clone()));
                }
                ExpressionNode::Column { names, .. } => {
                    columns.extend(names.last().map(|name| ColumnSource::Name(name.text.clone())));
                }
                ExpressionNode::Indirection { steps, .. } => {
                    let field = steps.iter().rev().find_map(|step| match step {
                        Step::Field(name) => Some(name.text.clone()),
                        _ => None,
                    });
                    columns.extend(field.map(ColumnSource::Name));
                }
                _ => columns.extend(call_name(arena, target.value).map(ColumnSource::Name)),
            }
        }
        columns
    }
}

fn names_of(name: &RelationName) -> Vec<String> {
    name.schema.iter().chain([&name.name]).map(|part| part.text.clone()).collect()
}

fn alias_name(item: &FromItem) -> Option<String> {
    item.alias.as_ref().and_then(|alias| alias.name.as_ref()).map(|name| name.text.clone())
}

fn call_name(arena: &Arena, call: grammar::ast::ExpressionId) -> Option<String> {
    match &arena[call].node {
        ExpressionNode::Call(call) => call.name.last().map(|name| name.text.clone()),
        _ => None,
    }
}

/// Columns with the names that an alias gives the first of them.
pub(crate) fn renamed(columns: Vec<ColumnSource>, alias: Option<&Alias>) -> Vec<ColumnSource> {
    let names: Vec<String> =
        alias.map_or_else(Vec::new, |alias| alias.columns.iter().map(|name| name.text.clone()).collect());
    rename(columns, names)
}

/// Columns of which the first have these names.
pub(crate) fn rename(columns: Vec<ColumnSource>, names: Vec<String>) -> Vec<ColumnSource> {
    if names.is_empty() {
        return columns;
    }
    match columns.as_slice() {
        [ColumnSource::Relation(relation, _)] => vec![ColumnSource::Relation(relation.clone(), names)],
        _ => {
            let rest = columns.into_iter().skip(names.len());
            names.into_iter().map(ColumnSource::Name).chain(rest).collect()
        }
    }
}
