//! Which tables and columns a statement reads and changes, from its syntax tree.
//!
//! Names are looked for in the tables of the innermost SELECT first, as PostgreSQL does, but a query in FROM is not looked into for the names of its columns.
//! Invariant: what a statement uses is among its needs. Where a name could mean several columns, all of them are.

use crate::sql::conflict_targets;
use crate::sql::function_calls::called_within;
use crate::sql::lookup::NameLookup;
use crate::sql::merge_syntax;
use crate::sql::names;
use crate::sql::parse::{Parsed, Statement};
use crate::sql::qualify::qualified;
use crate::sql::rights::{Need, Needs};
use crate::sql::visits::visit_relations;
use crate::sql::{sequence_calls, sequence_names};
use messages::contention;
use messages::namespace;
use messages::privilege::Privileges;
use messages::schema::{Catalog, TableSchema};
use sqlparser::ast::{self, Expr, JoinConstraint, ObjectName, SelectItem, SetExpr, TableFactor, TableWithJoins};
use std::ops::ControlFlow;
use std::sync::Arc;

/// A table where names of columns are looked for.
#[derive(Clone)]
struct Entry {
    /// What it is called there.
    name: String,
    /// Its place among the needs; `None`: it needs nothing, as `excluded` of ON CONFLICT.
    need: Option<usize>,
}

struct Collector<'a> {
    catalog: &'a Catalog,
    needs: Needs,
    /// From the outermost query to the innermost, each with its tables.
    scopes: Vec<Vec<Entry>>,
}

/// What a statement needs.
pub fn of(statement: &ast::Statement, catalog: &Catalog) -> Needs {
    let mut needs = directly(statement, catalog);
    // A function reads with the rights of who calls it.
    let called = called_within(statement, catalog);
    needs.has_more |= called.has_more;
    for (known, parsed) in called.all {
        needs.functions.push(known.name.clone());
        if let Statement::Sql(query) = &parsed.statement {
            let of_one = query.with(|query| directly(query, catalog));
            needs.tables.extend(of_one.tables);
            needs.monitors |= of_one.monitors;
        }
    }
    needs
}

/// The same without what the functions need that it calls.
fn directly(statement: &ast::Statement, catalog: &Catalog) -> Needs {
    let mut collector = Collector { catalog, needs: Needs::default(), scopes: Vec::new() };
    let _ = ast::Visit::visit(statement, &mut collector);
    let _ = visit_relations(statement, |name| {
        collector.complete(name);
        ControlFlow::<()>::Continue(())
    });
    collector.needs
}

/// What the call of a procedure and the statements of its body need, which run as the caller.
pub fn of_call(function: &ast::Function, body: &[Parsed], lookup: &NameLookup) -> Needs {
    let catalog = lookup.catalog();
    let mut collector = Collector { catalog, needs: Needs::default(), scopes: vec![Vec::new()] };
    let _ = ast::Visit::visit(&function.args, &mut collector);
    let mut needs = collector.needs;
    needs.procedures.extend(names::own_relation(&function.name));
    for parsed in body {
        if let Statement::Sql(statement) = &parsed.statement {
            let of_one = statement.with(|statement| match qualified(statement, lookup) {
                Ok(Some(known)) => of(&known, catalog),
                // It was compiled before, which needs the same.
                Ok(None) | Err(_) => of(statement, catalog),
            });
            needs.tables.extend(of_one.tables);
            needs.functions.extend(of_one.functions);
            needs.has_more |= of_one.has_more;
            needs.monitors |= of_one.monitors;
            needs.qualified |= of_one.qualified;
            needs.unqualified = needs.unqualified.or(of_one.unqualified);
        }
    }
    needs
}

impl ast::Visitor for Collector<'_> {
    type Break = ();

    fn pre_visit_statement(&mut self, statement: &ast::Statement) -> ControlFlow<()> {
        self.scopes.push(Vec::new());
        match statement {
            ast::Statement::Insert(insert) => self.insert(insert),
            ast::Statement::Update(update) => self.update(update),
            ast::Statement::Delete(delete) => self.delete(delete),
            ast::Statement::Merge(merge) => self.merge(merge),
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn post_visit_statement(&mut self, _: &ast::Statement) -> ControlFlow<()> {
        self.scopes.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_query(&mut self, query: &ast::Query) -> ControlFlow<()> {
        self.scopes.push(Vec::new());
        self.named_alone(&query.body);
        ControlFlow::Continue(())
    }

    /// The query's own tables are known now: what it locks, it needs the right to change.
    fn post_visit_query(&mut self, query: &ast::Query) -> ControlFlow<()> {
        let entries = self.scopes.pop().unwrap_or_default();
        for lock in &query.locks {
            let of = lock.of.as_ref().and_then(|name| names::relation(name).ok());
            let locked = entries.iter().filter(|entry| of.as_ref().is_none_or(|of| of.name == entry.name));
            for need in locked.filter_map(|entry| entry.need) {
                let need = &mut self.needs.tables[need];
                need.required = need.required | Privileges::UPDATE;
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &ast::Select) -> ControlFlow<()> {
        self.scopes.push(Vec::new());
        select.from.iter().for_each(|tables| self.from(tables, Privileges::SELECT));
        self.joined(&select.from);
        self.wildcards(&select.projection);
        ControlFlow::Continue(())
    }

    /// ORDER BY, which stands outside, names them, too.
    fn post_visit_select(&mut self, _: &ast::Select) -> ControlFlow<()> {
        let entries = self.scopes.pop().unwrap_or_default();
        if let Some(around) = self.scopes.last_mut() {
            around.extend(entries);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expression: &Expr) -> ControlFlow<()> {
        match expression {
            Expr::Identifier(ident) => self.column(&names::identifier(ident)),
            Expr::CompoundIdentifier(parts) => {
                let parts: Vec<String> = parts.iter().map(names::identifier).collect();
                self.qualified(&parts);
            }
            Expr::CompoundFieldAccess { .. } => self.everything(),
            Expr::QualifiedWildcard(name, _) => self.all_of(name),
            Expr::Wildcard(_) => self.everything(),
            Expr::Function(function) => {
                self.sequence(function);
                self.arguments(&function.args);
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

impl Collector<'_> {
    /// Whoever takes values of a sequence changes it, whoever asks for the last one reads it.
    fn sequence(&mut self, function: &ast::Function) {
        let required = match names::function(&function.name).as_deref() {
            Some("nextval") => Privileges::USAGE | Privileges::UPDATE,
            Some("setval") => Privileges::UPDATE,
            Some("currval") => Privileges::USAGE | Privileges::SELECT,
            _ => return,
        };
        let arguments = sequence_names::arguments(function);
        let named = arguments.as_deref().and_then(<[&Expr]>::first);
        if let Some(Ok(sequence)) = named.map(|named| sequence_calls::sequence_of(self.catalog, named)) {
            self.needs.tables.push(Need::of(sequence, required));
        }
    }

    fn table(&self, name: &ObjectName) -> Option<Arc<TableSchema>> {
        let relation = names::relation(name).ok()?;
        let is_own = relation.schema.as_deref().is_none_or(|schema| schema == "public");
        self.catalog.tables.get(&relation.name).filter(|_| is_own).map(|versioned| versioned.table.clone())
    }

    /// Adds a table and returns its place; `None` for one that is not ours.
    fn add(&mut self, name: &ObjectName, required: Privileges) -> Option<usize> {
        let relation = names::relation(name).ok()?;
        self.needs.monitors |= relation.schema.as_deref() == Some(contention::SCHEMA);
        let table = self.table(name)?;
        // What is in another schema was looked for by whoever may look into that.
        match relation.schema {
            _ if namespace::is_marked(&relation.name) => {}
            None => drop(self.needs.unqualified.get_or_insert(relation.name)),
            Some(_) => self.needs.qualified = true,
        }
        self.needs.tables.push(Need::of(table, required));
        Some(self.needs.tables.len() - 1)
    }

    /// A table that a place where it may stand was not looked at for: all of it.
    fn complete(&mut self, name: &ObjectName) {
        let is_known = |table: &TableSchema| self.needs.tables.iter().any(|need| need.table.oid == table.oid);
        let known = self.table(name).is_none_or(|table| is_known(&table));
        let of_raid = names::relation(name).is_ok_and(|name| name.schema.as_deref() == Some(contention::SCHEMA));
        self.needs.monitors |= of_raid;
        if !known && let Some(need) = self.add(name, Privileges::SELECT) {
            self.all_columns(need);
        }
    }

    fn enter(&mut self, name: String, need: Option<usize>) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.push(Entry { name, need });
        }
    }

    fn from(&mut self, tables: &TableWithJoins, required: Privileges) {
        self.factor(&tables.relation, required);
        tables.joins.iter().for_each(|join| self.factor(&join.relation, Privileges::SELECT));
    }

    fn factor(&mut self, factor: &TableFactor, required: Privileges) {
        match factor {
            TableFactor::Table { name, alias, .. } => {
                let need = self.add(name, required);
                let own = names::relation(name).map(|relation| relation.name).unwrap_or_default();
                let called = alias.as_ref().map_or(own, |alias| names::identifier(&alias.name));
                let renames = alias.as_ref().is_some_and(|alias| !alias.columns.is_empty());
                if let Some(need) = need.filter(|_| renames) {
                    self.all_columns(need);
                }
                self.enter(called, need);
            }
            TableFactor::NestedJoin { table_with_joins, alias } => {
                let before = self.needs.tables.len();
                self.from(table_with_joins, required);
                if alias.as_ref().is_some_and(|alias| !alias.columns.is_empty()) {
                    (before..self.needs.tables.len()).for_each(|need| self.all_columns(need));
                }
            }
            TableFactor::Derived { alias: Some(alias), .. } => self.enter(names::identifier(&alias.name), None),
            _ => {}
        }
    }

    /// Columns that joins compare without naming them in an expression.
    fn joined(&mut self, from: &[TableWithJoins]) {
        for tables in from {
            for join in &tables.joins {
                match constraint(&join.join_operator) {
                    Some(JoinConstraint::Using(columns)) => {
                        for column in columns.iter().filter_map(|name| names::relation(name).ok()) {
                            self.column(&column.name);
                        }
                    }
                    Some(JoinConstraint::Natural) => self.everything(),
                    _ => {}
                }
            }
            if let TableFactor::NestedJoin { table_with_joins, .. } = &tables.relation {
                self.joined(std::slice::from_ref(table_with_joins));
            }
            for join in &tables.joins {
                if let TableFactor::NestedJoin { table_with_joins, .. } = &join.relation {
                    self.joined(std::slice::from_ref(table_with_joins));
                }
            }
        }
    }

    fn wildcards(&mut self, items: &[SelectItem]) {
        for item in items {
            match item {
                SelectItem::Wildcard(_) => self.everything(),
                SelectItem::QualifiedWildcard(ast::SelectItemQualifiedWildcardKind::ObjectName(name), _) => {
                    self.all_of(name);
                }
                SelectItem::QualifiedWildcard(ast::SelectItemQualifiedWildcardKind::Expr(_), _) => self.everything(),
                _ => {}
            }
        }
    }

    fn arguments(&mut self, arguments: &ast::FunctionArguments) {
        let ast::FunctionArguments::List(list) = arguments else { return };
        for argument in &list.args {
            let value = match argument {
                ast::FunctionArg::Named { arg, .. } | ast::FunctionArg::ExprNamed { arg, .. } => arg,
                ast::FunctionArg::Unnamed(arg) => arg,
            };
            if let ast::FunctionArgExpr::QualifiedWildcard(name) = value {
                self.all_of(name);
            }
        }
    }

    /// `TABLE t`.
    fn named_alone(&mut self, body: &SetExpr) {
        match body {
            SetExpr::Table(table) => {
                let parts = table.schema_name.iter().chain(&table.table_name);
                let name =
                    ObjectName::from(parts.map(|part| ast::Ident::new(part.trim_matches('"'))).collect::<Vec<_>>());
                if let Some(need) = self.add(&name, Privileges::SELECT) {
                    self.all_columns(need);
                }
            }
            SetExpr::SetOperation { left, right, .. } => {
                self.named_alone(left);
                self.named_alone(right);
            }
            _ => {}
        }
    }

    fn select(&mut self, need: usize, column: usize) {
        let need = &mut self.needs.tables[need];
        need.required = need.required | Privileges::SELECT;
        need.selected.insert(column);
    }

    fn all_columns(&mut self, need: usize) {
        let table = self.needs.tables[need].table.clone();
        let live = (0..table.columns.len()).filter(|column| !table.columns[*column].dropped);
        live.for_each(|column| self.select(need, column));
    }

    /// All columns of all tables of the innermost scope.
    fn everything(&mut self) {
        let needs: Vec<usize> = self.scopes.last().into_iter().flatten().filter_map(|entry| entry.need).collect();
        needs.into_iter().for_each(|need| self.all_columns(need));
    }

    /// `t.*`.
    fn all_of(&mut self, name: &ObjectName) {
        let Some(name) = names::relation(name).ok() else { return self.everything() };
        match self.entries_called(&name.name) {
            Some(entries) => entries.into_iter().filter_map(|entry| entry.need).for_each(|need| self.all_columns(need)),
            None => self.everything(),
        }
    }

    /// The entries of this name in the innermost scope that has any.
    fn entries_called(&self, name: &str) -> Option<Vec<Entry>> {
        let in_scope =
            |scope: &Vec<Entry>| -> Vec<Entry> { scope.iter().filter(|entry| entry.name == name).cloned().collect() };
        self.scopes.iter().rev().map(in_scope).find(|entries| !entries.is_empty())
    }

    /// A name alone: a column, or all of a table.
    fn column(&mut self, name: &str) {
        for scope in (0..self.scopes.len()).rev() {
            let entries = self.scopes[scope].clone();
            let mut found = false;
            for need in entries.iter().filter_map(|entry| entry.need) {
                if let Some(column) = self.needs.tables[need].table.column(name) {
                    self.select(need, column);
                    found = true;
                }
            }
            if found {
                return;
            }
            if entries.iter().any(|entry| entry.name == name) {
                let called = entries.iter().filter(|entry| entry.name == name);
                called.filter_map(|entry| entry.need).for_each(|need| self.all_columns(need));
                return;
            }
        }
    }

    /// `t.column`, `schema.t.column`, or a field of a column.
    fn qualified(&mut self, parts: &[String]) {
        let [.., table, column] = parts else {
            return parts.iter().for_each(|part| self.column(part));
        };
        match self.entries_called(table) {
            Some(entries) => {
                for need in entries.into_iter().filter_map(|entry| entry.need) {
                    match self.needs.tables[need].table.column(column) {
                        Some(column) => self.select(need, column),
                        None => self.all_columns(need),
                    }
                }
            }
            None => parts.iter().for_each(|part| self.column(part)),
        }
    }

    fn insert(&mut self, insert: &ast::Insert) {
        let ast::TableObject::TableName(name) = &insert.table else { return };
        let Some(need) = self.add(name, Privileges::INSERT) else { return };
        let table = self.needs.tables[need].table.clone();
        let own = table.name.clone();
        self.enter(insert.table_alias.as_ref().map_or(own, |alias| names::identifier(&alias.alias)), Some(need));
        let given = insert.columns.iter().filter_map(|name| names::relation(name).ok());
        let named: Vec<usize> = given.filter_map(|name| table.column(&name.name)).collect();
        let live = (0..table.columns.len()).filter(|column| !table.columns[*column].dropped);
        let filled = match (named.is_empty(), &insert.source) {
            (false, _) => named,
            (true, Some(source)) => live.take(width(&source.body)).collect(),
            (true, None) => Vec::new(),
        };
        self.needs.tables[need].inserted.extend(filled);
        if let Some(ast::OnInsert::OnConflict(conflict)) = &insert.on {
            self.conflict(need, &table, conflict);
        }
        self.wildcards(insert.returning.as_deref().unwrap_or_default());
    }

    fn conflict(&mut self, need: usize, table: &TableSchema, conflict: &ast::OnConflict) {
        match &conflict.conflict_target {
            Some(ast::ConflictTarget::Columns(columns)) => {
                for part in columns {
                    let named = conflict_targets::columns_of(part, table);
                    named.into_iter().for_each(|column| self.select(need, column));
                }
            }
            Some(ast::ConflictTarget::OnConstraint(name)) => {
                let name = names::relation(name).map(|name| name.name).unwrap_or_default();
                let index = table.indexes.iter().find(|index| namespace::bare(&index.name) == name);
                let columns = index.map_or(table.primary_key.clone(), |index| index.columns_used().collect());
                columns.into_iter().for_each(|column| self.select(need, column));
            }
            None => {}
        }
        self.enter("excluded".to_owned(), None);
        if let ast::OnConflictAction::DoUpdate(update) = &conflict.action {
            self.assigned(need, &update.assignments);
        }
    }

    fn assigned(&mut self, need: usize, assignments: &[ast::Assignment]) {
        let table = self.needs.tables[need].table.clone();
        let need = &mut self.needs.tables[need];
        need.required = need.required | Privileges::UPDATE;
        for assignment in assignments {
            let targets = match &assignment.target {
                ast::AssignmentTarget::ColumnName(name) => std::slice::from_ref(name),
                ast::AssignmentTarget::Tuple(names) => names.as_slice(),
            };
            for part in targets.iter().filter_map(|name| name.0.last()?.as_ident()) {
                need.updated.extend(table.column(&names::identifier(part)));
            }
        }
    }

    fn update(&mut self, update: &ast::Update) {
        let before = self.needs.tables.len();
        self.from(&update.table, Privileges::UPDATE);
        if self.needs.tables.len() > before {
            self.assigned(before, &update.assignments);
        }
        let from = match &update.from {
            Some(ast::UpdateTableFromKind::BeforeSet(from) | ast::UpdateTableFromKind::AfterSet(from)) => {
                from.as_slice()
            }
            None => &[],
        };
        from.iter().for_each(|tables| self.from(tables, Privileges::SELECT));
        self.joined(from);
        self.wildcards(update.returning.as_deref().unwrap_or_default());
    }

    /// Of the target it reads what the expressions name, and changes what its actions say.
    fn merge(&mut self, merge: &ast::Merge) {
        let before = self.needs.tables.len();
        self.factor(&merge.table, Privileges::default());
        let is_own = self.needs.tables.len() > before;
        for clause in merge.clauses.iter().filter(|_| is_own) {
            match &clause.action {
                ast::MergeAction::Update(update) if !merge_syntax::does_nothing(&update.assignments) => {
                    self.assigned(before, &update.assignments);
                }
                ast::MergeAction::Insert(insert)
                    if !merge_syntax::is_named(&insert.columns, merge_syntax::is_nothing) =>
                {
                    self.merged(before, insert);
                }
                ast::MergeAction::Delete { .. } => {
                    let need = &mut self.needs.tables[before];
                    need.required = need.required | Privileges::DELETE;
                }
                ast::MergeAction::Update(_) | ast::MergeAction::Insert(_) => {}
            }
        }
        self.factor(&merge.source, Privileges::SELECT);
    }

    /// What a MERGE inserts.
    fn merged(&mut self, need: usize, insert: &ast::MergeInsertExpr) {
        let table = self.needs.tables[need].table.clone();
        let need = &mut self.needs.tables[need];
        need.required = need.required | Privileges::INSERT;
        let count = match &insert.kind {
            ast::MergeInsertKind::Values(values) => values.rows.first().map_or(0, |row| row.content.len()),
            ast::MergeInsertKind::Row => 0,
        };
        let named: Vec<usize> = insert
            .columns
            .iter()
            .filter_map(|name| names::own_relation(name).ok())
            .filter_map(|name| table.column(&name))
            .collect();
        match insert.columns.is_empty() {
            false => need.inserted.extend(named),
            true => {
                let live = (0..table.columns.len()).filter(|column| !table.columns[*column].dropped);
                need.inserted.extend(live.take(count));
            }
        }
    }

    fn delete(&mut self, delete: &ast::Delete) {
        let (ast::FromTable::WithFromKeyword(from) | ast::FromTable::WithoutKeyword(from)) = &delete.from;
        from.iter().for_each(|tables| self.from(tables, Privileges::DELETE));
        let using = delete.using.as_deref().unwrap_or_default();
        using.iter().for_each(|tables| self.from(tables, Privileges::SELECT));
        self.joined(using);
        self.wildcards(delete.returning.as_deref().unwrap_or_default());
    }
}

fn constraint(operator: &ast::JoinOperator) -> Option<&JoinConstraint> {
    use ast::JoinOperator as J;
    match operator {
        J::Join(on)
        | J::Inner(on)
        | J::Left(on)
        | J::LeftOuter(on)
        | J::Right(on)
        | J::RightOuter(on)
        | J::FullOuter(on)
        | J::CrossJoin(on)
        | J::Semi(on)
        | J::LeftSemi(on)
        | J::RightSemi(on)
        | J::Anti(on)
        | J::LeftAnti(on)
        | J::RightAnti(on)
        | J::StraightJoin(on)
        | J::AsOf { constraint: on, .. } => Some(on),
        J::CrossApply | J::OuterApply | J::ArrayJoin | J::LeftArrayJoin | J::InnerArrayJoin => None,
    }
}

/// How many columns the rows of a query have, as far as the text tells; else as many as there can be.
fn width(body: &SetExpr) -> usize {
    let is_plain = |item: &SelectItem| matches!(item, SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. });
    match body {
        SetExpr::Values(values) => values.rows.first().map_or(usize::MAX, |row| row.content.len()),
        SetExpr::Select(select) if select.projection.iter().all(is_plain) => select.projection.len(),
        SetExpr::Query(query) => width(&query.body),
        SetExpr::SetOperation { left, .. } => width(left),
        _ => usize::MAX,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::parse;
    use messages::TableId;
    use messages::schema::{CatalogEntry, Column};
    use messages::timestamp::Timestamp;
    use values::Type;

    fn catalog() -> Catalog {
        let mut catalog = Catalog::default();
        for (oid, name, columns) in [(1, "t", "a b c"), (2, "u", "a d")] {
            let column = |name: &str| Column::new(name, Type::Integer, false);
            let table = TableSchema {
                oid,
                primary_key: vec![0],
                ..TableSchema::new(name, TableId(oid), columns.split(' ').map(column).collect())
            };
            let row = CatalogEntry::Table(Arc::new(table)).encode();
            catalog.apply(CatalogEntry::key(name).as_bytes(), Timestamp::ZERO, Some(&row)).expect("it decodes");
        }
        catalog
    }

    /// `t r:ab w:b` for each table: its privileges by PostgreSQL's letters, each with its columns.
    fn needed(sql: &str) -> String {
        let parsed = parse::statement(sql).expect(sql).expect(sql);
        let Statement::Sql(statement) = &parsed.statement else { panic!("{sql}") };
        let needs = statement.with(|statement| of(statement, &catalog()));
        let one = |need: &Need| {
            let mut text = need.table.name.clone();
            for (privilege, letter, _) in Privileges::ALL {
                let columns = match letter {
                    'r' => &need.selected,
                    'a' => &need.inserted,
                    _ => &need.updated,
                };
                if need.required.contain(privilege) {
                    text += &format!(" {letter}:");
                    text.extend(columns.iter().map(|column| need.table.columns[*column].name.as_str()));
                }
            }
            text
        };
        needs.tables.iter().map(one).collect::<Vec<_>>().join(", ")
    }

    /// A role that may read some columns would read another one by a form of it that was not looked at.
    #[test]
    fn every_form_of_a_column_is_found() {
        for (sql, wanted) in [
            ("select a from t where b = 1", "t r:ab"),
            ("select * from t", "t r:abc"),
            ("select t.* from t, u", "t r:abc, u r:"),
            ("select count(*) from t", "t r:"),
            ("select count(t) from t", "t r:abc"),
            ("select count(x.*) from t x", "t r:abc"),
            ("select x from t as x", "t r:abc"),
            ("select p from t as x (p, q, r)", "t r:abc"),
            ("select d from u where exists (select 1 from t where t.a = d and b = u.a)", "u r:ad, t r:ab"),
            ("select d from t natural join u", "t r:abc, u r:ad"),
            ("select d from t join u using (a)", "t r:a, u r:ad"),
            ("select 1 from t order by c", "t r:c"),
            ("select 1 from t group by b having max(c) > 1", "t r:bc"),
            ("select sum(a) over (partition by b order by c) from t", "t r:abc"),
            ("select case when b > 0 then 1 end, c::text, -a from t", "t r:abc"),
            ("select a from t union all select d from u order by 1", "t r:a, u r:d"),
            ("with w as (select b from t) select * from w", "t r:b"),
            ("select (select max(c) from t where t.a = u.a) from u", "u r:a, t r:ac"),
            ("select public.t.b from public.t", "t r:b"),
            ("select s.a from (select a, b from t) s", "t r:ab"),
            ("select a from t for update", "t r:a w:"),
            ("insert into t (a, b) values (1, 2) returning c", "t a:ab r:c"),
            ("insert into t values (1, 2)", "t a:ab"),
            ("insert into t default values", "t a:"),
            ("insert into t (a) select d from u", "t a:a, u r:d"),
            ("insert into t (a) values (1) on conflict (a) do update set b = excluded.c", "t a:a r:a w:b"),
            ("insert into t (a) values (1) on conflict (a) do update set b = t.c", "t a:a r:ac w:b"),
            ("update t set b = 1", "t w:b"),
            ("update t set b = c + 1 where a = 1 returning *", "t r:abc w:b"),
            ("update t x set b = d from u where u.a = x.a", "t r:a w:b, u r:ad"),
            ("delete from t", "t d:"),
            ("delete from t using u where t.b = d", "t r:b d:, u r:d"),
        ] {
            assert_eq!(needed(sql), wanted, "{sql}");
        }
    }
}
