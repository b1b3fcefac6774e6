//! Columns that `JOIN ... USING` and NATURAL JOIN merge (section 7.2.1.1 of PostgreSQL's manual): where one is named without its source, it is that
//! of the left side, of a RIGHT JOIN that of the right side, of a FULL JOIN the first that is not NULL.
//!
//! DataFusion knows of merged columns only where it needs no type of an expression, and takes any side's. So they get the names of their sources here;
//! and where a side matters, `*` becomes the columns that it stands for, and a later USING the condition that it means.
//!
//! Invariant: a name gets a source only if no other source is known to have it. What stays without, DataFusion resolves or refuses.

use super::build::{binary, call, folded, last_part, quoted};
use super::names;
use super::subqueries::outside_subqueries;
use crate::error::QueryError;
use crate::system_catalog::SystemCatalog;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Distinct, Expr, GroupByExpr, JoinConstraint, JoinOperator, ObjectName, OrderByExpr, OrderByKind,
    Query, Select, SelectItem, SetExpr, TableAlias, TableFactor, TableWithJoins, Visit, Visitor,
};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

/// What names of relations mean.
pub(super) struct Relations<'a> {
    catalog: &'a SystemCatalog,
    /// Names given by WITH, anywhere in the statement, and their columns as far as they are known.
    given: BTreeMap<String, Option<Vec<String>>>,
}

/// Merged columns, and what each of them is.
type Merged = BTreeMap<String, Expr>;

/// The columns of a source or a join, in order, and where each of them is to be had; `None`: they are not known.
type Columns = Option<Vec<(String, Expr)>>;

impl<'a> Relations<'a> {
    pub(super) fn of(statement: &impl Visit, catalog: &'a SystemCatalog) -> Relations<'a> {
        let mut relations = Relations { catalog, given: BTreeMap::new() };
        // The visitor never breaks.
        let _ = statement.visit(&mut relations);
        relations
    }

    /// The columns of a table or a system catalog; `None` for anything else.
    pub(super) fn columns_of(&self, name: &ObjectName) -> Option<Vec<String>> {
        let relation = last_part(name);
        let schema = match name.0.as_slice() {
            [_] if self.given.contains_key(&relation) => return self.given[&relation].clone(),
            [_] => None,
            [schema, _] => Some(folded(schema.as_ident()?)),
            _ => return None,
        };
        self.catalog.columns_of(schema.as_deref(), &relation)
    }

    /// The names of the columns of a query; `None` if they are not known.
    fn selected(&self, query: &Query) -> Option<Vec<String>> {
        self.of_body(&query.body)
    }

    fn of_body(&self, body: &SetExpr) -> Option<Vec<String>> {
        match body {
            SetExpr::Select(select) => {
                let mut names = Vec::with_capacity(select.projection.len());
                for item in &select.projection {
                    match item {
                        SelectItem::Wildcard(_) => {
                            for chain in &select.from {
                                names.extend(self.of_chain(chain)?);
                            }
                        }
                        other => names.push(name_of(other)?),
                    }
                }
                Some(names)
            }
            SetExpr::Query(query) => self.selected(query),
            SetExpr::SetOperation { left, .. } => self.of_body(left),
            SetExpr::Values(values) => {
                Some((1..=values.rows.first()?.content.len()).map(|number| format!("column{number}")).collect())
            }
            _ => None,
        }
    }

    /// The names of the columns of a source and what is joined to it.
    fn of_chain(&self, chain: &TableWithJoins) -> Option<Vec<String>> {
        let mut columns = Source::of(&chain.relation, self)?.all();
        for join in &chain.joins {
            let right = Source::of(&join.relation, self)?;
            let merged = columns_merged(constraint_of(&join.join_operator), &columns, &right)?;
            let merged = merged.into_iter().map(|name| (name.clone(), right.column(&name))).collect();
            columns = joined(merged, columns, right.all());
        }
        Some(columns?.into_iter().map(|(name, _)| name).collect())
    }
}

impl Visitor for Relations<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        for table in query.with.iter().flat_map(|with| &with.cte_tables) {
            let name = folded(&table.alias.name);
            let columns = renamed(self.selected(&table.query), &table.alias);
            // Of two of one name neither is known.
            let is_known = !self.given.contains_key(&name);
            self.given.insert(name, columns.filter(|_| is_known));
        }
        ControlFlow::Continue(())
    }
}

/// Gives the merged columns of a query their sources, and keeps their names as those of results. Errors: 0A000 where a side matters and the columns
/// are not known.
pub(super) fn name_sources(query: &mut Query, relations: &Relations) -> Result<(), QueryError> {
    let order_by = query.order_by.as_mut().and_then(|order_by| match &mut order_by.kind {
        OrderByKind::Expressions(items) => Some(items.as_mut_slice()),
        OrderByKind::All(_) => None,
    });
    in_body(&mut query.body, order_by.unwrap_or_default(), relations)
}

fn in_body(body: &mut SetExpr, order_by: &mut [OrderByExpr], relations: &Relations) -> Result<(), QueryError> {
    match body {
        SetExpr::Select(select) => in_select(select, order_by, relations),
        SetExpr::SetOperation { left, right, .. } => {
            in_body(left, &mut [], relations)?;
            in_body(right, &mut [], relations)
        }
        // A query in parentheses is visited as one.
        _ => Ok(()),
    }
}

fn in_select(select: &mut Select, order_by: &mut [OrderByExpr], relations: &Relations) -> Result<(), QueryError> {
    let merges = |operator| matches!(constraint(operator), Some(JoinConstraint::Using(_) | JoinConstraint::Natural));
    let mut joins = select.from.iter_mut().flat_map(|chain| &mut chain.joins);
    if !joins.any(|join| merges(&mut join.join_operator)) {
        return Ok(());
    }
    // By the expressions as they are written.
    names::name_columns(select);
    let selected: BTreeSet<String> = select.projection.iter().filter_map(name_of).collect();
    let selects_all = has_wildcard(&select.projection);
    let merged = merge(select, relations)?;
    for item in &mut select.projection {
        match item {
            SelectItem::UnnamedExpr(Expr::Identifier(column)) => {
                if let Some(source) = merged.get(&folded(column)) {
                    let (expr, alias) = (source.clone(), quoted(folded(column)));
                    *item = SelectItem::ExprWithAlias { expr, alias };
                }
            }
            SelectItem::UnnamedExpr(expression) | SelectItem::ExprWithAlias { expr: expression, .. } => {
                name(expression, &merged);
            }
            _ => {}
        }
    }
    if let GroupByExpr::Expressions(expressions, _) = &mut select.group_by {
        expressions.iter_mut().for_each(|expression| name(expression, &merged));
    }
    if let Some(Distinct::On(expressions)) = &mut select.distinct {
        expressions.iter_mut().for_each(|expression| name(expression, &merged));
    }
    select.selection.iter_mut().chain(&mut select.having).for_each(|condition| name(condition, &merged));
    for item in order_by {
        // A column alone is one of the select list, if there is one of that name.
        let is_selected = match &item.expr {
            Expr::Identifier(column) => selects_all || selected.contains(&folded(column)),
            _ => false,
        };
        if !is_selected {
            name(&mut item.expr, &merged);
        }
    }
    Ok(())
}

/// The merged columns of a select, each with its source. Makes `*` and later USINGs of them what they mean, where a side matters.
fn merge(select: &mut Select, relations: &Relations) -> Result<Merged, QueryError> {
    let mut merged = Merged::new();
    // Of those chains whose columns are known.
    let mut known = Vec::new();
    let mut knows_all = true;
    let mut ambiguous = BTreeSet::new();
    for chain in &mut select.from {
        let Some(first) = Source::of(&chain.relation, relations) else {
            knows_all = false;
            continue;
        };
        let mut columns = first.all();
        let mut in_chain = Merged::new();
        // Whether a merged column is another than that of the first source which has it.
        let mut is_other = false;
        for (place, join) in chain.joins.iter_mut().enumerate() {
            let Some(right) = Source::of(&join.relation, relations) else {
                columns = None;
                break;
            };
            let joined_by = constraint(&mut join.join_operator);
            let is_natural = matches!(joined_by, Some(JoinConstraint::Natural));
            let named = columns_merged(joined_by.as_deref(), &columns, &right);
            let count = named.as_ref().map(Vec::len);
            let mut values = Vec::new();
            let mut conditions = Vec::new();
            for column in named.unwrap_or_default() {
                let of_left = match &columns {
                    Some(columns) => only(columns, &column),
                    None => in_chain.get(&column).cloned(),
                };
                // Of the first source alone it must be.
                let of_left = of_left.or_else(|| (place == 0).then(|| first.column(&column)));
                let Some(of_left) = of_left else { continue };
                let of_right = right.column(&column);
                conditions.push(binary(of_left.clone(), BinaryOperator::Eq, of_right.clone()));
                let value = match &join.join_operator {
                    JoinOperator::Right(_) | JoinOperator::RightOuter(_) => of_right,
                    JoinOperator::FullOuter(_) => call("coalesce", vec![of_left, of_right]),
                    _ => of_left,
                };
                values.push((column, value));
            }
            let takes_right = matches!(
                join.join_operator,
                JoinOperator::Right(_) | JoinOperator::RightOuter(_) | JoinOperator::FullOuter(_)
            );
            if (is_other || takes_right && is_natural) && count != Some(values.len()) {
                return Err(unknown_columns());
            }
            let on = conditions.into_iter().reduce(|all, next| binary(all, BinaryOperator::And, next));
            match (constraint(&mut join.join_operator), on) {
                (Some(JoinConstraint::On(condition)), _) => {
                    let mut visible = in_chain.clone();
                    visible.retain(|column, _| !right.columns.iter().flatten().any(|has| has == column));
                    name(condition, &visible);
                }
                (Some(constraint), Some(on)) if is_other => *constraint = JoinConstraint::On(on),
                _ => {}
            }
            is_other |= takes_right && !values.is_empty();
            in_chain.extend(values.iter().cloned());
            columns = joined(values, columns, right.all());
        }
        if columns.is_none() && is_other && has_wildcard(&select.projection) {
            return Err(unknown_columns());
        }
        // What several chains have is ambiguous.
        for (column, source) in in_chain {
            if merged.insert(column.clone(), source).is_some() {
                ambiguous.insert(column);
            }
        }
        knows_all &= columns.is_some();
        known.extend(columns.unwrap_or_default());
    }
    let is_ambiguous = |column: &String| {
        ambiguous.contains(column) || known.iter().filter(|(name, _)| name == column).nth(1).is_some()
    };
    merged.retain(|column, _| !is_ambiguous(column));
    if has_wildcard(&select.projection) {
        // Merged columns come first, wherever the planner would put them.
        if !knows_all {
            return Err(unknown_columns());
        }
        write_out(&mut select.projection, &known);
    }
    Ok(merged)
}

fn has_wildcard(projection: &[SelectItem]) -> bool {
    projection.iter().any(|item| matches!(item, SelectItem::Wildcard(_)))
}

/// Puts columns in the place of `*`.
fn write_out(projection: &mut Vec<SelectItem>, columns: &[(String, Expr)]) {
    let item_of = |(name, source): &(String, Expr)| SelectItem::ExprWithAlias {
        expr: source.clone(),
        alias: quoted(name.clone()),
    };
    *projection = std::mem::take(projection)
        .into_iter()
        .flat_map(|item| match item {
            SelectItem::Wildcard(_) => columns.iter().map(item_of).collect(),
            other => vec![other],
        })
        .collect();
}

/// The columns of a join: the merged ones, what is left of the left side, of the right side.
fn joined(merged: Vec<(String, Expr)>, left: Columns, right: Columns) -> Columns {
    let (left, right) = left.zip(right)?;
    let names: BTreeSet<String> = merged.iter().map(|(name, _)| name.clone()).collect();
    let rest = left.into_iter().chain(right).filter(|(name, _)| !names.contains(name));
    Some(merged.into_iter().chain(rest).collect())
}

/// The column of that name, if there is one only.
fn only(columns: &[(String, Expr)], wanted: &str) -> Option<Expr> {
    let mut found = columns.iter().filter(|(name, _)| name == wanted);
    found.next().filter(|_| found.next().is_none()).map(|(_, source)| source.clone())
}

fn name_of(item: &SelectItem) -> Option<String> {
    match item {
        SelectItem::UnnamedExpr(expression) => Some(names::of_expression(expression)),
        SelectItem::ExprWithAlias { alias, .. } => Some(folded(alias)),
        _ => None,
    }
}

/// Gives the columns in an expression their sources; those in subqueries may be the subqueries' own.
fn name(expression: &mut Expr, sources: &Merged) {
    outside_subqueries(expression, |part| {
        if let Expr::Identifier(column) = part
            && let Some(source) = sources.get(&folded(column))
        {
            *part = source.clone();
        }
    });
}

/// A source in FROM.
struct Source {
    name: String,
    /// As far as they are known.
    columns: Option<Vec<String>>,
}

impl Source {
    /// `None` for what has no name.
    fn of(factor: &TableFactor, relations: &Relations) -> Option<Source> {
        let (alias, own_name, columns) = match factor {
            TableFactor::Table { name, alias, args: None, .. } => {
                (alias, Some(last_part(name)), relations.columns_of(name))
            }
            // A series has one column, which has the name of the source.
            TableFactor::Table { name, alias, .. } if last_part(name) == "generate_series" => {
                let column = alias.as_ref().map_or_else(|| last_part(name), |alias| folded(&alias.name));
                (alias, Some(last_part(name)), Some(vec![column]))
            }
            TableFactor::Table { name, alias, .. } => (alias, Some(last_part(name)), None),
            TableFactor::Derived { subquery, alias, .. } => (alias, None, relations.selected(subquery)),
            _ => return None,
        };
        let name = alias.as_ref().map(|alias| folded(&alias.name)).or(own_name)?;
        let columns = match alias {
            Some(alias) => renamed(columns, alias),
            None => columns,
        };
        // Of two columns of one name, only the first can be named.
        let is_unique = |columns: &Vec<String>| columns.iter().collect::<BTreeSet<_>>().len() == columns.len();
        Some(Source { name, columns: columns.filter(is_unique) })
    }

    fn column(&self, column: &str) -> Expr {
        Expr::CompoundIdentifier(vec![quoted(self.name.clone()), quoted(column)])
    }

    fn all(&self) -> Columns {
        let columns = self.columns.as_ref()?;
        Some(columns.iter().map(|column| (column.clone(), self.column(column))).collect())
    }
}

/// The columns under the names that an alias gives to the first of them.
fn renamed(columns: Option<Vec<String>>, alias: &TableAlias) -> Option<Vec<String>> {
    let mut columns = columns?;
    for (column, name) in columns.iter_mut().zip(&alias.columns) {
        *column = folded(&name.name);
    }
    Some(columns)
}

/// The columns that a join merges. What NATURAL means depends on what both sides have; `None` where that is not known.
fn columns_merged(joined_by: Option<&JoinConstraint>, left: &Columns, right: &Source) -> Option<Vec<String>> {
    match (joined_by, left, &right.columns) {
        (Some(JoinConstraint::Using(names)), ..) => Some(names.iter().map(last_part).collect()),
        (Some(JoinConstraint::Natural), Some(left), Some(right)) => {
            Some(left.iter().map(|(name, _)| name).filter(|name| right.contains(name)).cloned().collect())
        }
        (Some(JoinConstraint::Natural), ..) => None,
        _ => Some(Vec::new()),
    }
}

fn unknown_columns() -> QueryError {
    QueryError::unsupported(
        "USING, NATURAL and * over a RIGHT or FULL JOIN of merged columns need sources whose columns are known here: \
         name the columns, and join ON conditions",
    )
}

fn constraint_of(operator: &JoinOperator) -> Option<&JoinConstraint> {
    match operator {
        JoinOperator::Join(constraint)
        | JoinOperator::Inner(constraint)
        | JoinOperator::Left(constraint)
        | JoinOperator::LeftOuter(constraint)
        | JoinOperator::Right(constraint)
        | JoinOperator::RightOuter(constraint)
        | JoinOperator::FullOuter(constraint) => Some(constraint),
        _ => None,
    }
}

fn constraint(operator: &mut JoinOperator) -> Option<&mut JoinConstraint> {
    match operator {
        JoinOperator::Join(constraint)
        | JoinOperator::Inner(constraint)
        | JoinOperator::Left(constraint)
        | JoinOperator::LeftOuter(constraint)
        | JoinOperator::Right(constraint)
        | JoinOperator::RightOuter(constraint)
        | JoinOperator::FullOuter(constraint) => Some(constraint),
        _ => None,
    }
}
