//! Changes of views' rows: a statement on a view that shows rows of one table becomes one on that table (PostgreSQL's `rewriteTargetView`).
//!
//! Invariants: names in the statement mean columns of the view, and no others of the table; rows that the view does not show are not changed; nothing is done
//! that the owner of the view may not do.

use crate::errors::{Result, SqlError, sqlstate};
use crate::limits::SQL_BYTES_MAX;
use crate::sql::functions::{is_aggregate, is_set_returning};
use crate::sql::held_tables::table_called;
use crate::sql::local_times;
use crate::sql::names;
use crate::sql::needs;
use crate::sql::rights::{self, Needs, Verdict};
use crate::sql::row_guards::guard;
use crate::sql::shown_columns::{Beside, Renaming, ShownColumn, column_of};
use crate::sql::view_checks::ViewCheck;
use crate::sql::views::{Expansion, query_of, view_named};
use messages::namespace;
use messages::schema::{Catalog, TableSchema, TableSchemaKind, TriggerEvent, VersionedTable, ViewCheckOption};
use sql_syntax::TooDeep;
use sql_syntax::limits::DEPTH_MAX;
use sqlparser::ast::{self, Expr, Ident, ObjectName, SelectItem, TableAlias, TableFactor};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

/// The one table, or view, whose rows a view shows.
struct ShownTable {
    name: String,
    columns: Vec<ShownColumn>,
    condition: Option<Expr>,
}

/// What is done to rows of a view, as errors name it.
struct RefusedChange {
    verb: &'static str,
    event: TriggerEvent,
    act: &'static str,
}

const INSERTION: RefusedChange =
    RefusedChange { verb: "insert into", event: TriggerEvent::Insert, act: "inserting into" };
const UPDATE: RefusedChange = RefusedChange { verb: "update", event: TriggerEvent::Update, act: "updating" };
const DELETION: RefusedChange =
    RefusedChange { verb: "delete from", event: TriggerEvent::Delete, act: "deleting from" };

/// What the query of a view shows. The error is why its rows cannot be changed, as PostgreSQL says it.
fn shown_by(
    query: &ast::Query,
    view: &TableSchema,
    catalog: &Catalog,
) -> std::result::Result<ShownTable, &'static str> {
    const NO_TABLE: &str = "Views that do not select from a single table or view are not automatically updatable.";
    let ast::SetExpr::Select(select) = query.body.as_ref() else {
        return Err("Views containing UNION, INTERSECT, or EXCEPT are not automatically updatable.");
    };
    if select.distinct.is_some() {
        return Err("Views containing DISTINCT are not automatically updatable.");
    }
    if !matches!(&select.group_by, ast::GroupByExpr::Expressions(by, _) if by.is_empty()) {
        return Err("Views containing GROUP BY are not automatically updatable.");
    }
    if select.having.is_some() {
        return Err("Views containing HAVING are not automatically updatable.");
    }
    if query.with.is_some() {
        return Err("Views containing WITH are not automatically updatable.");
    }
    if query.limit_clause.is_some() || query.fetch.is_some() {
        return Err("Views containing LIMIT or OFFSET are not automatically updatable.");
    }
    if let Some(what) = computed_of_many(&select.projection, catalog) {
        return Err(what);
    }
    let [ast::TableWithJoins { relation, joins }] = select.from.as_slice() else { return Err(NO_TABLE) };
    let TableFactor::Table { name, alias, args: None, with_ordinality: false, sample, .. } = relation else {
        return Err(NO_TABLE);
    };
    if sample.is_some() {
        return Err("Views containing TABLESAMPLE are not automatically updatable.");
    }
    let named = names::relation(name).ok().filter(|_| joins.is_empty());
    let known = named.and_then(|relation| catalog.tables.get(&relation.name).map(|known| &known.table));
    let is_changed = |table: &&Arc<TableSchema>| matches!(table.kind(), TableSchemaKind::Table | TableSchemaKind::View);
    let Some(table) = known.filter(is_changed) else { return Err(NO_TABLE) };
    let called = match alias {
        Some(alias) if !alias.columns.is_empty() => return Err(NO_TABLE),
        Some(alias) => names::identifier(&alias.name),
        None => namespace::bare(&table.name).to_owned(),
    };
    let own: Vec<String> = live_columns(table).collect();
    let table_name = namespace::bare(&table.name);
    let plain: Vec<ShownColumn> = own.iter().map(|name| ShownColumn::plain(name)).collect();
    let renaming = Renaming::within(&plain, &called, table_name, 0);
    let columns = projected(&select.projection, &own, &called, &renaming);
    if columns.len() != view.columns.len() {
        return Err(NO_TABLE);
    }
    let columns =
        view.columns.iter().zip(columns).map(|(column, shown)| ShownColumn { name: column.name.clone(), ..shown });
    let mut condition = select.selection.clone();
    if let Some(condition) = &mut condition {
        renaming.apply(condition).map_err(|_| NO_TABLE)?;
    }
    Ok(ShownTable { name: table.name.clone(), columns: columns.collect(), condition })
}

fn live_columns(table: &TableSchema) -> impl Iterator<Item = String> {
    table.columns.iter().filter(|column| !column.dropped).map(|column| column.name.clone())
}

/// Why a list of results makes that rows of the view are none of the table. Queries within it are their own.
fn computed_of_many(projection: &[SelectItem], catalog: &Catalog) -> Option<&'static str> {
    struct OwnCalls<'a> {
        catalog: &'a Catalog,
        depth: usize,
    }
    impl ast::Visitor for OwnCalls<'_> {
        type Break = &'static str;

        fn pre_visit_query(&mut self, _: &ast::Query) -> ControlFlow<&'static str> {
            self.depth += 1;
            ControlFlow::Continue(())
        }

        fn post_visit_query(&mut self, _: &ast::Query) -> ControlFlow<&'static str> {
            self.depth -= 1;
            ControlFlow::Continue(())
        }

        fn pre_visit_expr(&mut self, expression: &Expr) -> ControlFlow<&'static str> {
            let Expr::Function(function) = expression else { return ControlFlow::Continue(()) };
            let name = names::function(&function.name).unwrap_or_default();
            let users = self.catalog.procedures.get(&name).and_then(|(known, _)| known.function.as_ref());
            let yields_set = is_set_returning(&name) || users.is_some_and(|function| function.returns_set);
            match () {
                () if self.depth > 0 => ControlFlow::Continue(()),
                () if function.over.is_some() => {
                    ControlFlow::Break("Views that return window functions are not automatically updatable.")
                }
                () if is_aggregate(&name) => {
                    ControlFlow::Break("Views that return aggregate functions are not automatically updatable.")
                }
                () if yields_set => {
                    ControlFlow::Break("Views that return set-returning functions are not automatically updatable.")
                }
                () => ControlFlow::Continue(()),
            }
        }
    }
    match projection.iter().try_for_each(|item| ast::Visit::visit(item, &mut OwnCalls { catalog, depth: 0 })) {
        ControlFlow::Break(what) => Some(what),
        ControlFlow::Continue(()) => None,
    }
}

/// What each result of a query over one table is, whose columns have these names.
fn projected(projection: &[SelectItem], own: &[String], called: &str, renaming: &Renaming) -> Vec<ShownColumn> {
    let mut columns = Vec::new();
    for item in projection {
        match item {
            SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..) => {
                columns.extend(own.iter().map(|name| ShownColumn::plain(name)));
            }
            SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => {
                let plain = column_of(expr, called).filter(|name| own.contains(name));
                columns.push(match plain {
                    Some(name) => ShownColumn::plain(&name),
                    None => {
                        let mut shown = expr.clone();
                        let is_known = renaming.apply(&mut shown).is_ok();
                        ShownColumn::computed(is_known.then_some(shown))
                    }
                });
            }
            _ => {}
        }
    }
    columns
}

/// Positions of the columns of a new view through which rows can be changed; none: its rows cannot be. Errors: 0A000 for a check option that it cannot have.
pub(super) fn changed_columns(view: &TableSchema, catalog: &Catalog) -> Result<Vec<usize>> {
    let (query, _) = query_of(view)?;
    let shown = shown_by(&query, view, catalog);
    let is_changed = |name: &str, column: &Option<String>| {
        let inner = catalog.tables.get(name).map(|known| &known.table);
        let place = column.as_deref().and_then(|column| inner?.column(column));
        place.is_some_and(|place| inner.is_some_and(|inner| inner.view.is_none() || inner.changed.contains(&place)))
    };
    let changed: Vec<usize> = match &shown {
        Ok(shown) => {
            let places = shown.columns.iter().enumerate();
            places.filter(|(_, column)| is_changed(&shown.name, &column.column)).map(|(place, _)| place).collect()
        }
        Err(_) => Vec::new(),
    };
    if view.check_option.is_some() && changed.is_empty() {
        let hint = shown.err().unwrap_or("Views that have no updatable columns are not automatically updatable.");
        let message = "WITH CHECK OPTION is supported only on automatically updatable views";
        return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, message).with_hint(hint));
    }
    Ok(changed)
}

/// The view whose rows a statement changes.
fn target_view<'c>(statement: &ast::Statement, catalog: &'c Catalog) -> Option<(&'c VersionedTable, RefusedChange)> {
    let of_factor = |factor: &TableFactor| match factor {
        TableFactor::Table { name, .. } => view_named(catalog, name),
        _ => None,
    };
    match statement {
        ast::Statement::Insert(insert) => match &insert.table {
            ast::TableObject::TableName(name) => Some((view_named(catalog, name)?, INSERTION)),
            _ => None,
        },
        ast::Statement::Update(update) => Some((of_factor(&update.table.relation)?, UPDATE)),
        ast::Statement::Delete(delete) => {
            let (ast::FromTable::WithFromKeyword(from) | ast::FromTable::WithoutKeyword(from)) = &delete.from;
            Some((from.first().and_then(|tables| of_factor(&tables.relation))?, DELETION))
        }
        _ => None,
    }
}

impl Expansion<'_> {
    /// Has a statement that changes rows of a view change those of the table that it shows, unless triggers take the place of that. Errors: 55000 for a view whose rows cannot be changed, 0A000 for a column
    /// that cannot be, 42703, 54000, 54001.
    pub(super) fn onto_table(&mut self, statement: &mut ast::Statement) -> Result<()> {
        let mut conditions: Vec<Expr> = Vec::new();
        let mut cascades = false;
        let (mut all_levels, mut left) = (0, SQL_BYTES_MAX);
        let mut found = None;
        while let Some((view, change)) = target_view(statement, self.catalog) {
            let view = Arc::clone(&view.table);
            self.rely(&view.name);
            if view.triggers.iter().any(|trigger| trigger.is_instead_of(change.event)) {
                self.instead = Some(view);
                break;
            }
            let (query, levels) = query_of(&view)?;
            local_times::refuse(&query, "a view", self.reader.zone)?;
            all_levels += levels;
            if self.levels + all_levels > DEPTH_MAX {
                return Err(TooDeep.into());
            }
            let shown = shown_by(&query, &view, self.catalog).map_err(|why| not_changed(&view, &change, why))?;
            self.rely(&shown.name);
            let (called, table) = (namespace::bare(&view.name), namespace::bare(&shown.name));
            let renaming = Renaming::within(&shown.columns, called, table, left);
            for condition in conditions.iter_mut().chain(self.checks.iter_mut().map(|check| &mut check.condition)) {
                renaming.apply(condition)?;
            }
            left = rename(statement, &view, &shown, &self.hidden_columns(&shown), renaming.left())?;
            cascades |= view.check_option == Some(ViewCheckOption::Cascaded);
            let checks = cascades || view.check_option.is_some();
            let tests = checks || !matches!(statement, ast::Statement::Insert(_));
            if let Some(condition) = shown.condition.filter(|_| tests) {
                let condition = self.condition_of(condition, &view, (query, levels))?;
                if checks {
                    let view = namespace::bare(&view.name).to_owned();
                    self.checks.insert(0, ViewCheck { view, condition: condition.clone() });
                }
                conditions.push(condition);
            }
            self.check_change(statement, &view)?;
            found = Some(shown.name);
        }
        let Some(table) = found.and_then(|name| self.catalog.tables.get(&name)) else { return Ok(()) };
        if table.table.row_security.is_enabled {
            return Err(SqlError::unsupported("changes of a view's rows whose table has row-level security"));
        }
        if !matches!(statement, ast::Statement::Insert(_)) {
            hold(statement, &table.table, conditions)?;
        }
        Ok(())
    }

    /// Columns of the table that the view does not show under their names.
    fn hidden_columns(&self, shown: &ShownTable) -> Vec<String> {
        let table = self.catalog.tables.get(&shown.name).map(|known| &known.table);
        let own = table.into_iter().flat_map(|table| live_columns(table));
        own.filter(|name| !shown.columns.iter().any(|column| column.name == *name)).collect()
    }

    /// What a view asks of rows, with its own views and tables as its owner reads them.
    fn condition_of(
        &mut self,
        condition: Expr,
        view: &TableSchema,
        (mut query, levels): (ast::Query, usize),
    ) -> Result<Expr> {
        self.check_owner(view, &query)?;
        if let ast::SetExpr::Select(select) = query.body.as_mut() {
            select.projection = vec![SelectItem::UnnamedExpr(Expr::value(ast::Value::Null))];
            select.from.clear();
            select.selection = Some(condition);
        }
        let role = std::mem::replace(&mut self.reader.role, view.rights.owner);
        let visited = self.apart(levels, |expansion| ast::VisitMut::visit(&mut query, expansion));
        self.reader.role = role;
        if let ControlFlow::Break(error) = visited {
            return Err(error);
        }
        let condition = match *query.body {
            ast::SetExpr::Select(select) => select.selection,
            _ => None,
        };
        let condition = condition.ok_or_else(|| SqlError::unsupported("changes of the rows of such a view"))?;
        Ok(Expr::Nested(Box::new(condition)))
    }

    /// A view changes rows with the rights of its owner.
    fn check_change(&mut self, statement: &ast::Statement, view: &TableSchema) -> Result<()> {
        let all = needs::of(statement, self.catalog);
        let needs = Needs { tables: all.tables.into_iter().take(1).collect(), ..Needs::default() };
        let Verdict { denied, rights } = rights::decide(self.catalog, view.rights.owner, || needs)?;
        self.relied.extend(rights);
        if self.denied.is_none() {
            self.denied = denied;
        }
        Ok(())
    }
}

/// Errors: 55000.
fn not_changed(view: &TableSchema, change: &RefusedChange, why: &str) -> Box<SqlError> {
    let (RefusedChange { verb, act, .. }, event) = (change, change.event.word());
    let message = format!("cannot {verb} view \"{}\"", namespace::bare(&view.name));
    SqlError::new(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, message).with_detail(why).with_hint(format!(
        "To enable {act} the view, provide an INSTEAD OF {event} trigger or an unconditional ON {event} DO INSTEAD rule."
    ))
}

/// Has the rows of a table tested before anything else is computed of them.
fn hold(statement: &mut ast::Statement, table: &TableSchema, conditions: Vec<Expr>) -> Result<()> {
    let and = |left: Expr, right: Expr| Expr::BinaryOp {
        left: left.into(),
        op: ast::BinaryOperator::And,
        right: right.into(),
    };
    // The innermost view is asked first.
    let Some(condition) = conditions.into_iter().rev().reduce(and) else { return Ok(()) };
    let target = match statement {
        ast::Statement::Update(update) => Some(&mut update.table.relation),
        ast::Statement::Delete(delete) => {
            let (ast::FromTable::WithFromKeyword(from) | ast::FromTable::WithoutKeyword(from)) = &mut delete.from;
            from.first_mut().map(|tables| &mut tables.relation)
        }
        _ => None,
    };
    if let Some(target) = target {
        let TableFactor::Table { name, alias, .. } = &*target else { return Ok(()) };
        *target = guard(name.clone(), table, alias.as_ref(), Some(condition))?;
    }
    Ok(())
}

/// Puts the table and its columns in the place of the view and its own, in a statement on that. Returns how many bytes of `left` are still left.
fn rename(
    statement: &mut ast::Statement,
    view: &TableSchema,
    shown: &ShownTable,
    hidden: &[String],
    left: usize,
) -> Result<usize> {
    let quoted = |name: &str| Ident::with_quote('"', name);
    let table = ObjectName::from(vec![quoted(&shown.name)]);
    let bare = namespace::bare(&view.name);
    let called = |alias: Option<&TableAlias>| alias.map_or_else(|| quoted(bare), |alias| alias.name.clone());
    let placed = |factor: &mut TableFactor| -> Result<Ident> {
        let TableFactor::Table { alias, .. } = &*factor else {
            return Err(SqlError::unsupported("this form of a change of a view's rows"));
        };
        if alias.as_ref().is_some_and(|alias| !alias.columns.is_empty()) {
            return Err(SqlError::unsupported("names of columns behind the alias of a view that is changed"));
        }
        let name = called(alias.as_ref());
        let alias = TableAlias { explicit: true, name: name.clone(), columns: Vec::new(), at: None };
        *factor = table_called(table.clone(), Some(alias));
        Ok(name)
    };
    match statement {
        ast::Statement::Insert(insert) => {
            let alias = match &insert.table_alias {
                Some(alias) => alias.alias.clone(),
                None => quoted(bare),
            };
            let renaming = Renaming::of_statement(&shown.columns, &alias, hidden, Beside::Excluded, left);
            insert.table = ast::TableObject::TableName(table.clone());
            insert.table_alias = Some(ast::TableAliasWithoutColumns { explicit: true, alias });
            insert.columns = inserted(insert, view, shown)?;
            if let Some(ast::OnInsert::OnConflict(on)) = &mut insert.on {
                in_conflict(on, view, shown, &renaming)?;
            }
            returned(&mut insert.returning, &renaming)?;
            Ok(renaming.left())
        }
        ast::Statement::Update(update) => {
            let alias = placed(&mut update.table.relation)?;
            let beside = if update.from.is_some() { Beside::Tables } else { Beside::Nothing };
            let renaming = Renaming::of_statement(&shown.columns, &alias, hidden, beside, left);
            assigned(&mut update.assignments, view, shown, &renaming)?;
            if let Some(ast::UpdateTableFromKind::BeforeSet(from) | ast::UpdateTableFromKind::AfterSet(from)) =
                &mut update.from
            {
                renaming.apply(from)?;
            }
            update.selection.iter_mut().try_for_each(|filter| renaming.apply(filter))?;
            returned(&mut update.returning, &renaming)?;
            Ok(renaming.left())
        }
        ast::Statement::Delete(delete) => {
            let (ast::FromTable::WithFromKeyword(from) | ast::FromTable::WithoutKeyword(from)) = &mut delete.from;
            let Some(tables) = from.first_mut() else { return Ok(left) };
            let alias = placed(&mut tables.relation)?;
            let beside = if delete.using.is_some() { Beside::Tables } else { Beside::Nothing };
            let renaming = Renaming::of_statement(&shown.columns, &alias, hidden, beside, left);
            if let Some(using) = &mut delete.using {
                renaming.apply(using)?;
            }
            delete.selection.iter_mut().try_for_each(|filter| renaming.apply(filter))?;
            returned(&mut delete.returning, &renaming)?;
            Ok(renaming.left())
        }
        _ => Ok(left),
    }
}

/// The same in what is done with a row in the way of a new one.
fn in_conflict(on: &mut ast::OnConflict, view: &TableSchema, shown: &ShownTable, renaming: &Renaming) -> Result<()> {
    if let Some(ast::ConflictTarget::Columns(columns)) = &mut on.conflict_target {
        for column in columns {
            *column = Ident::with_quote('"', changed(&names::identifier(column), view, shown, "update")?);
        }
    }
    if let ast::OnConflictAction::DoUpdate(update) = &mut on.action {
        assigned(&mut update.assignments, view, shown, renaming)?;
        update.selection.iter_mut().try_for_each(|filter| renaming.apply(filter))?;
    }
    Ok(())
}

/// The column of the table that a column of the view is. Errors: 42703, 0A000 for one that is computed.
fn changed(name: &str, view: &TableSchema, shown: &ShownTable, verb: &str) -> Result<String> {
    let bare = namespace::bare(&view.name);
    match shown.columns.iter().find(|column| column.name == name) {
        None => {
            let message = format!("column \"{name}\" of relation \"{bare}\" does not exist");
            Err(SqlError::new(sqlstate::UNDEFINED_COLUMN, message))
        }
        Some(ShownColumn { column: Some(column), .. }) => Ok(column.clone()),
        Some(_) => {
            let message = format!("cannot {verb} column \"{name}\" of view \"{bare}\"");
            let detail = "View columns that are not columns of their base relation are not updatable.";
            Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, message).with_detail(detail))
        }
    }
}

/// The columns of the table that an INSERT fills.
fn inserted(insert: &ast::Insert, view: &TableSchema, shown: &ShownTable) -> Result<Vec<ObjectName>> {
    let given: Vec<String> = match insert.columns.as_slice() {
        [] => {
            let all = shown.columns.iter().map(|column| column.name.clone());
            match &insert.source {
                None => return Ok(Vec::new()),
                Some(source) => all.take(width(source).unwrap_or(usize::MAX)).collect(),
            }
        }
        columns => columns.iter().map(names::own_column).collect::<Result<_>>()?,
    };
    let column = |name: &String| Ok((name.clone(), changed(name, view, shown, "insert into")?));
    let columns: Vec<(String, String)> = given.iter().map(column).collect::<Result<_>>()?;
    check_distinct(&columns)?;
    Ok(columns.into_iter().map(|(_, column)| ObjectName::from(vec![Ident::with_quote('"', column)])).collect())
}

/// Errors: 42601 for two columns of a view that are one of the table.
fn check_distinct(columns: &[(String, String)]) -> Result<()> {
    let mut known = BTreeMap::new();
    for (name, column) in columns {
        if known.insert(column, name).is_some_and(|before| before != name) {
            let message = format!("multiple assignments to same column \"{column}\"");
            return Err(SqlError::new(sqlstate::SYNTAX_ERROR, message));
        }
    }
    Ok(())
}

/// How many values the rows of a query have, as far as that is seen.
fn width(query: &ast::Query) -> Option<usize> {
    let is_one = |item: &SelectItem| matches!(item, SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. });
    let mut body = query.body.as_ref();
    while let ast::SetExpr::SetOperation { left, .. } = body {
        body = left.as_ref();
    }
    match body {
        ast::SetExpr::Values(values) => values.rows.iter().map(|row| row.content.len()).max(),
        ast::SetExpr::Select(select) if select.projection.iter().all(is_one) => Some(select.projection.len()),
        _ => None,
    }
}

fn assigned(
    assignments: &mut [ast::Assignment],
    view: &TableSchema,
    shown: &ShownTable,
    renaming: &Renaming,
) -> Result<()> {
    let mut columns = Vec::new();
    let mut renamed = |target: &mut ObjectName| -> Result<()> {
        let name = names::own_column(target)?;
        let column = changed(&name, view, shown, "update")?;
        *target = ObjectName::from(vec![Ident::with_quote('"', column.as_str())]);
        columns.push((name, column));
        Ok(())
    };
    for assignment in assignments {
        match &mut assignment.target {
            ast::AssignmentTarget::ColumnName(target) => renamed(target)?,
            ast::AssignmentTarget::Tuple(targets) => targets.iter_mut().try_for_each(&mut renamed)?,
        }
        renaming.apply(&mut assignment.value)?;
    }
    check_distinct(&columns)
}

/// What a statement gives back, under the names that the view has for it.
fn returned(returning: &mut Option<Vec<SelectItem>>, renaming: &Renaming) -> Result<()> {
    let Some(items) = returning else { return Ok(()) };
    let mut all = Vec::new();
    for mut item in std::mem::take(items) {
        match &mut item {
            SelectItem::Wildcard(_) => all.extend(renaming.all()?),
            SelectItem::QualifiedWildcard(ast::SelectItemQualifiedWildcardKind::ObjectName(name), _)
                if renaming.is_called(name) =>
            {
                all.extend(renaming.all_of_view()?);
            }
            SelectItem::UnnamedExpr(expr) => {
                let name = renaming.name_of(expr);
                renaming.apply(expr)?;
                all.push(match name {
                    Some(alias) => SelectItem::ExprWithAlias { expr: expr.clone(), alias },
                    None => item,
                });
            }
            SelectItem::ExprWithAlias { expr, .. } => {
                renaming.apply(expr)?;
                all.push(item);
            }
            _ => all.push(item),
        }
    }
    *items = all;
    Ok(())
}
