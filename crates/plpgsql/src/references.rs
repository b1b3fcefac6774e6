//! Names of variables in texts of SQL.
//!
//! Invariant: the walk is a loop, whatever the depth of the tree, and visits each node once.

use crate::error::{PlpgsqlResult, RoutineError};
use crate::lexer;
use crate::names::BlockScopes;
use crate::place::VariablePlace;
use crate::scopes::{Scopes, WithScope, rename};
use crate::simple::Simple;
use crate::sql_text::{RoutineText, VariableReference};
use grammar::ast::{
    Arena, Assignment, ColumnTarget, ExpressionId, ExpressionNode, FrameBound, FromId, FromNode, Grouping, GroupingId,
    JoinCondition, MergeAction, Over, QualifiedName, Query, QueryBody, QueryId, RowFilter, SortKey, Statement, Step,
    TableSource, Target, WindowSpecification, With,
};

/// Reads a text. Errors: those of its syntax, at bytes of the text.
pub(crate) fn read(sql: String, names: &BlockScopes, is_expression: bool) -> PlpgsqlResult<RoutineText> {
    let mut script = grammar::parse(&sql).map_err(|error| {
        let mut told = RoutineError::new(error.sqlstate, error.message);
        told.detail = error.detail.map(str::to_owned);
        told.hint = error.hint.map(str::to_owned);
        told.at = error.at;
        told
    })?;
    let Some(parsed) = script.statements.pop() else { return Ok(RoutineText { sql, ..RoutineText::default() }) };
    let simple = if is_expression { Simple::of(&parsed, names) } else { None };
    let mut walk = ReferenceWalk {
        sql: &sql,
        names,
        arena: &parsed.arena,
        scopes: Scopes::default(),
        todo: Vec::new(),
        found: Vec::new(),
    };
    walk.statement(&parsed.statement, TextPlace::default());
    walk.run();
    let (scopes, mut references) = (walk.scopes, walk.found);
    references.sort_by_key(|reference| reference.start);
    references.dedup_by_key(|reference| reference.start);
    Ok(RoutineText { references, scopes: scopes.columns, simple, sql })
}

/// What a place of a text sees.
#[derive(Clone, Copy, Debug, Default)]
struct TextPlace {
    columns: Option<usize>,
    with: Option<usize>,
}

enum Visit {
    Expression(ExpressionId, bool),
    Query(QueryId),
    Grouping(GroupingId),
}

struct ReferenceWalk<'a> {
    sql: &'a str,
    names: &'a BlockScopes,
    arena: &'a Arena,
    scopes: Scopes,
    todo: Vec<(Visit, TextPlace)>,
    found: Vec<VariableReference>,
}

impl<'a> ReferenceWalk<'a> {
    fn run(&mut self) {
        while let Some((visit, place)) = self.todo.pop() {
            match visit {
                Visit::Expression(id, is_subscripted) => self.expression(id, is_subscripted, place),
                Visit::Query(id) => self.query(&self.arena[id], place),
                Visit::Grouping(id) => match &self.arena[id] {
                    Grouping::Expression(value) => self.later(*value, place),
                    Grouping::Empty(_) => {}
                    Grouping::Rollup(all, _) | Grouping::Cube(all, _) => self.all(all, place),
                    Grouping::Sets(all, _) => {
                        self.todo.extend(all.iter().map(|one| (Visit::Grouping(*one), place)));
                    }
                },
            }
        }
    }

    fn later(&mut self, id: ExpressionId, place: TextPlace) {
        self.todo.push((Visit::Expression(id, false), place));
    }

    fn all<'b>(&mut self, ids: impl IntoIterator<Item = &'b ExpressionId>, place: TextPlace) {
        for id in ids {
            self.later(*id, place);
        }
    }

    fn targets(&mut self, targets: &[Target], place: TextPlace) {
        self.all(targets.iter().map(|target| &target.value), place);
    }

    fn keys(&mut self, keys: &[SortKey], place: TextPlace) {
        self.all(keys.iter().map(|key| &key.value), place);
    }

    fn steps(&mut self, steps: &[Step], place: TextPlace) {
        for step in steps {
            match step {
                Step::Field(_) | Step::Star(_) => {}
                Step::Subscript(index) => self.later(*index, place),
                Step::Slice(from, to) => self.all(from.iter().chain(to), place),
            }
        }
    }

    fn columns(&mut self, columns: &[ColumnTarget], place: TextPlace) {
        columns.iter().for_each(|column| self.steps(&column.steps, place));
    }

    fn assignments(&mut self, set: &[Assignment], place: TextPlace) {
        for one in set {
            self.columns(&one.targets, place);
            self.later(one.value, place);
        }
    }

    /// Statements that get values of variables; in all others names are what they are.
    fn statement(&mut self, statement: &'a Statement, place: TextPlace) {
        match statement {
            Statement::Query(query) => self.todo.push((Visit::Query(*query), place)),
            Statement::Insert(insert) => {
                let place = self.with(insert.with.as_ref(), place);
                self.columns(&insert.columns, place);
                self.todo.extend(insert.source.map(|query| (Visit::Query(query), place)));
                let alias = insert.alias.as_ref().map(|name| name.text.as_str());
                let mut tables = vec![self.scopes.target(&insert.table, alias)];
                let returning = TextPlace { columns: self.scopes.add(place.columns, tables.clone()), ..place };
                self.targets(&insert.returning, returning);
                if let Some(update) = insert.on_conflict.as_ref().and_then(|conflict| conflict.update.as_ref()) {
                    tables.push(self.scopes.target(&insert.table, Some("excluded")));
                    tables[1].is_qualified_only = true;
                    let place = TextPlace { columns: self.scopes.add(place.columns, tables), ..place };
                    self.assignments(&update.set, place);
                    self.all(&update.filter, place);
                }
            }
            Statement::Update(update) => {
                let place = self.with(update.with.as_ref(), place);
                let alias = update.alias.as_ref().map(|name| name.text.as_str());
                let target = self.scopes.target(&update.table, alias);
                let place = self.from(&update.from, vec![target], place);
                self.assignments(&update.set, place);
                self.filter(&update.filter, place);
                self.targets(&update.returning, place);
            }
            Statement::Delete(delete) => {
                let place = self.with(delete.with.as_ref(), place);
                let alias = delete.alias.as_ref().map(|name| name.text.as_str());
                let target = self.scopes.target(&delete.table, alias);
                let place = self.from(&delete.using, vec![target], place);
                self.filter(&delete.filter, place);
                self.targets(&delete.returning, place);
            }
            Statement::Merge(merge) => {
                let place = self.with(merge.with.as_ref(), place);
                let alias = merge.alias.as_ref().map(|name| name.text.as_str());
                let target = self.scopes.target(&merge.table, alias);
                let place = self.from(&[merge.source], vec![target], place);
                self.later(merge.condition, place);
                for arm in &merge.arms {
                    self.all(&arm.condition, place);
                    match &arm.action {
                        MergeAction::Update(set) => self.assignments(set, place),
                        MergeAction::Insert { values: Some(values), .. } => self.all(values, place),
                        MergeAction::Nothing | MergeAction::Delete | MergeAction::Insert { .. } => {}
                    }
                }
            }
            Statement::Call(call) => self.later(call.call, place),
            Statement::CreateTableAs(create) => {
                if let TableSource::Query(query) = &create.source {
                    self.todo.push((Visit::Query(*query), place));
                }
            }
            _ => {}
        }
    }

    fn filter(&mut self, filter: &RowFilter, place: TextPlace) {
        if let RowFilter::Where(condition) = filter {
            self.later(*condition, place);
        }
    }

    /// The place behind WITH.
    fn with(&mut self, with: Option<&'a With>, place: TextPlace) -> TextPlace {
        let Some(with) = with else { return place };
        self.scopes.with.push(WithScope { parent: place.with, tables: Vec::new() });
        let number = self.scopes.with.len() - 1;
        let inner = TextPlace { with: Some(number), ..place };
        for table in &with.tables {
            let columns = self.scopes.statement(self.arena, table.statement, Some(number));
            let names = table.columns.iter().map(|name| name.text.clone()).collect();
            self.scopes.with[number].tables.push((table.name.text.clone(), rename(columns, names)));
        }
        for table in &with.tables {
            self.statement(&self.arena[table.statement], inner);
        }
        inner
    }

    /// The place that sees the tables of FROM beside those that are given.
    fn from(&mut self, from: &[FromId], mut tables: Vec<crate::sql_text::ScopeTable>, place: TextPlace) -> TextPlace {
        for item in from {
            tables.extend(self.scopes.tables(self.arena, *item, place.with, 0));
        }
        let inner = TextPlace { columns: self.scopes.add(place.columns, tables), ..place };
        let mut items = from.to_vec();
        while let Some(item) = items.pop() {
            let item = &self.arena[item];
            match &item.node {
                FromNode::Relation { sample, .. } => {
                    if let Some(sample) = sample {
                        self.all(sample.arguments.iter().chain(&sample.seed), place);
                    }
                }
                FromNode::Query(query) => {
                    self.todo.push((Visit::Query(*query), if item.lateral { inner } else { place }));
                }
                FromNode::Functions { functions, .. } => {
                    self.all(functions.iter().map(|function| &function.call), inner);
                }
                FromNode::Join { left, right, condition, .. } => {
                    items.extend([*left, *right]);
                    if let JoinCondition::On(condition) = condition {
                        self.later(*condition, inner);
                    }
                }
                FromNode::Other(_) => {}
            }
        }
        inner
    }

    fn query(&mut self, query: &'a Query, place: TextPlace) {
        let outer = self.with(query.with.as_ref(), place);
        self.all(query.limit.iter().chain(&query.offset), outer);
        match &query.body {
            QueryBody::Select(select) => {
                let inner = self.from(&select.from, Vec::new(), outer);
                self.targets(&select.targets, inner);
                self.all(select.filter.iter().chain(&select.having), inner);
                let named = |arena: &Arena, id: ExpressionId| match &arena[id].node {
                    ExpressionNode::Column { names, star: false } => {
                        let [name] = names.as_slice() else { return false };
                        let mut aliases = select.targets.iter().filter_map(|target| target.name.as_ref());
                        aliases.any(|alias| alias.text == name.text)
                    }
                    _ => false,
                };
                for group in &select.group {
                    let is_named = matches!(&self.arena[*group], Grouping::Expression(id) if named(self.arena, *id));
                    if !is_named {
                        self.todo.push((Visit::Grouping(*group), inner));
                    }
                }
                for key in query.order.iter().filter(|key| !named(self.arena, key.value)) {
                    self.later(key.value, inner);
                }
                if let grammar::ast::Distinct::On(all) = &select.distinct {
                    self.all(all, inner);
                }
                select.windows.iter().for_each(|window| self.window(&window.window, inner));
            }
            QueryBody::Values(rows) => {
                rows.iter().for_each(|row| self.all(row, outer));
                self.keys(&query.order, outer);
            }
            QueryBody::Operation { left, right, .. } => {
                self.todo.extend([(Visit::Query(*left), outer), (Visit::Query(*right), outer)]);
            }
        }
    }

    fn window(&mut self, window: &WindowSpecification, place: TextPlace) {
        self.all(&window.partition, place);
        self.keys(&window.order, place);
        let bounds = window.frame.iter().flat_map(|frame| [Some(frame.start), frame.end]);
        for bound in bounds.flatten() {
            if let FrameBound::Preceding(value) | FrameBound::Following(value) = bound {
                self.later(value, place);
            }
        }
    }

    fn expression(&mut self, id: ExpressionId, is_subscripted: bool, place: TextPlace) {
        use ExpressionNode as E;
        match &self.arena[id].node {
            E::Column { names, star } => self.column(names, *star, is_subscripted, place),
            E::Indirection { of, steps } => {
                self.todo.push((Visit::Expression(*of, true), place));
                self.steps(steps, place);
            }
            E::Operator { left, right, .. } => self.all(left.iter().chain([right]), place),
            E::Quantified { left, array, .. } => self.all([left, array], place),
            E::QuantifiedQuery { left, query, .. } | E::InQuery { value: left, query, .. } => {
                self.later(*left, place);
                self.todo.push((Visit::Query(*query), place));
            }
            E::Like { value, pattern, escape, .. } => self.all([value, pattern].into_iter().chain(escape), place),
            E::Between { value, low, high, .. } => self.all([value, low, high], place),
            E::In { value, list, .. } => self.all(list.iter().chain([value]), place),
            E::Distinct { left, right, .. } | E::NullIf(left, right) => self.all([left, right], place),
            E::And(all)
            | E::Or(all)
            | E::Coalesce(all)
            | E::Greatest(all)
            | E::Least(all)
            | E::Array(all)
            | E::Grouping(all)
            | E::Row { fields: all, .. } => self.all(all, place),
            E::Not(value)
            | E::IsNull { value, .. }
            | E::IsBoolean { value, .. }
            | E::Cast { value, .. }
            | E::Collate { value, .. } => self.later(*value, place),
            E::Call(call) => {
                self.all(call.arguments.iter().map(|argument| &argument.value), place);
                self.keys(&call.order, place);
                self.all(&call.filter, place);
                if let Some(Over::Window(window)) = &call.over {
                    self.window(window, place);
                }
            }
            E::Case { operand, arms, otherwise } => {
                self.all(arms.iter().flat_map(|arm| [&arm.condition, &arm.result]), place);
                self.all(operand.iter().chain(otherwise), place);
            }
            E::ArrayQuery(query) | E::Exists(query) | E::Subquery(query) => {
                self.todo.push((Visit::Query(*query), place));
            }
            E::Parameter(number) => {
                let at = self.arena[id].at as usize;
                self.found(vec![format!("${number}")], at, at, false, is_subscripted, place);
            }
            E::Null
            | E::Boolean(_)
            | E::Integer(_)
            | E::Number(_)
            | E::String(_)
            | E::BitString(_)
            | E::HexString(_)
            | E::SqlValue { .. }
            | E::Default
            | E::Other(_) => {}
        }
    }

    fn column(&mut self, names: &QualifiedName, star: bool, is_subscripted: bool, place: TextPlace) {
        let (Some(first), Some(last)) = (names.first(), names.last()) else { return };
        let all = names.iter().map(|name| name.text.clone()).collect();
        self.found(all, first.at as usize, last.at as usize, star, is_subscripted, place);
    }

    fn found(
        &mut self,
        names: Vec<String>,
        start: usize,
        last: usize,
        is_star: bool,
        is_subscripted: bool,
        place: TextPlace,
    ) {
        let Some(found) = self.names.find(&names) else { return };
        let Ok(token) = lexer::token(self.sql, last) else { return };
        let mut end = token.end;
        let variable = match (found, is_star) {
            (VariablePlace::Whole(number), true) => {
                let Some(star) = self.sql[end..].find('*') else { return };
                end += star + 1;
                VariablePlace::Fields(number)
            }
            (_, true) => return,
            (found, false) => found,
        };
        let scope = if names[0].starts_with('$') { None } else { place.columns };
        self.found.push(VariableReference { start, end, names, place: variable, scope, is_star, is_subscripted });
    }
}
