//! INSERT, and the receiving end of COPY and INSERT ... SELECT, to action programs.
//!
//! Invariant: an Insert action has one expression for each column of the table, cast for assignment, defaults filled in; a dropped
//! column gets NULL.

use crate::errors::{Result, SqlError, sqlstate};
use crate::limits::COLUMNS_MAX;
use crate::sql::expressions::{Compiler, Scope};
use crate::sql::feed::{Feed, Supplying};
use crate::sql::names;
use crate::sql::parse::{self, Overriding};
use crate::sql::row_checks::GuardedChange;
use crate::sql::select::{Output, assigned, relies_on};
use crate::sql::sequences::check_is_table;
use crate::sql::set_clauses::{always, check_not_given, check_not_set, no_column, pairs};
use crate::sql::types::{Compiled, Stop, Typed};
use messages::TableId;
use messages::database::DatabaseId;
use messages::namespace;
use messages::program::{Action, ConflictClause, ConflictKey, Expression, InsertInput, Program};
use messages::schema::{Identity, IndexSchema, TableSchema, TableSchemaKind, TriggerEvent, VersionedTable};
use sqlparser::ast::{self, Expr, SetExpr};
use std::sync::Arc;
use values::{Value, Zone};

/// What an INSERT compiles to.
pub enum Insertion {
    /// A program of its own.
    Program(Program),
    /// A program that a query feeds.
    Feed(Feed),
}

impl Compiler<'_> {
    /// INSERT. `fed`: how many columns the feeding query has, once that is known.
    pub fn insert(&mut self, insert: &ast::Insert, made: &[TableId], fed: Option<usize>) -> Compiled<Insertion> {
        check_plain(insert)?;
        let ast::TableObject::TableName(name) = &insert.table else {
            return Err(SqlError::unsupported("INSERT into something that is no table").into());
        };
        let versioned = self.table(name)?;
        let table = versioned.table.clone();
        check_is_table(&table)?;
        self.check_fires_nothing(&table, TriggerEvent::Insert)?;
        let alias = match &insert.table_alias {
            Some(alias) => names::identifier(&alias.alias),
            None => namespace::bare(&table.name).to_owned(),
        };
        let explicit = !insert.columns.is_empty();
        let mut targets = targets(&table, &insert.columns)?;
        let (input, fed_by) = match insert.source.as_deref() {
            None => {
                targets.clear();
                (InsertInput::Rows(vec![Vec::new()]), None)
            }
            Some(source) => match self.drawing(|compiler| compiler.rows(source, &table, &mut targets, explicit))? {
                Some(rows) => (InsertInput::Rows(rows), None),
                None => {
                    check_count(fed, &mut targets, explicit)?;
                    (InsertInput::Supplied, Some(source))
                }
            },
        };
        let from_feed = fed_by.is_some();
        let values = self.drawing(|compiler| compiler.values(&table, &targets, from_feed))?;
        let on_conflict = match &insert.on {
            None => None,
            Some(ast::OnInsert::OnConflict(on)) => Some(self.on_conflict(on, &table, &alias, insert)?),
            Some(_) => return Err(SqlError::unsupported("ON DUPLICATE KEY UPDATE").into()),
        };
        let scope = Scope::table(&alias, &table);
        let named = (alias, versioned.clone());
        let outputs = self.select_list(insert.returning.as_deref().unwrap_or(&[]), &scope, Some(&named))?;
        let (returning, columns) = split(outputs);
        let guard = self.row_guard(&table, GuardedChange::Insert, |compiler| compiler.reads_inserted(insert))?;
        let action = Action::Insert {
            private: made.contains(&table.storage),
            table: table.clone(),
            values,
            input,
            on_conflict,
            returning,
            guard,
        };
        let mut program = program(action, &versioned);
        program.columns = columns;
        self.gather_first(&mut program)?;
        Ok(match fed_by {
            None => {
                program.parameters = self.take_parameters()?;
                Insertion::Program(program)
            }
            Some(source) => Insertion::Feed(Feed {
                supplying: match names::mentions(source, &table.name) {
                    true => Supplying::AllAtOnce,
                    false => Supplying::AsTheyCome,
                },
                sql: Arc::from(as_query(source, &table, &targets)),
                key_types: Vec::new(),
                program,
            }),
        })
    }

    /// A program that inserts supplied rows, whose values are of the columns' types already, into these columns.
    pub fn insert_supplied(
        &mut self,
        versioned: &VersionedTable,
        targets: &[usize],
        made: &[TableId],
    ) -> Result<Program> {
        let table = versioned.table.clone();
        if table.kind() != TableSchemaKind::MaterializedView {
            check_is_table(&table)?;
        }
        self.check_fires_nothing(&table, TriggerEvent::Insert)?;
        self.check_copied(&table)?;
        let before = self.overriding.replace(Overriding::System);
        let values = self.drawing(|compiler| compiler.values(&table, targets, false));
        self.overriding = before;
        let mut values = values.map_err(|stop| stop.into_error())?;
        for (place, target) in targets.iter().enumerate() {
            values[*target] = table.columns[*target].in_domain(Expression::Column(place as u16));
        }
        let action = Action::Insert {
            private: made.contains(&table.storage),
            table,
            values,
            input: InsertInput::Supplied,
            on_conflict: None,
            returning: Vec::new(),
            guard: None,
        };
        let mut program = program(action, versioned);
        self.rely(&mut program);
        Ok(program)
    }

    /// The input rows, each value cast for its column; `None` when a query has to find them.
    fn rows(
        &mut self,
        source: &ast::Query,
        table: &TableSchema,
        targets: &mut Vec<usize>,
        explicit: bool,
    ) -> Compiled<Option<Vec<Vec<Expression>>>> {
        if matches!(source.body.as_ref(), SetExpr::Select(select) if select.into.is_some()) {
            return Err(SqlError::new(sqlstate::SYNTAX_ERROR, "SELECT ... INTO is not allowed here").into());
        }
        let bare = source.with.is_none() && source.order_by.is_none() && source.limit_clause.is_none();
        match source.body.as_ref() {
            SetExpr::Query(inner) if bare => self.rows(inner, table, targets, explicit),
            SetExpr::Values(list) if bare => {
                let before = (self.parameters.clone(), targets.clone());
                let mut rows = Vec::with_capacity(list.rows.len());
                for row in &list.rows {
                    let row = &row.content;
                    if rows.is_empty() {
                        check_count(Some(row.len()), targets, explicit)?;
                    } else if row.len() != targets.len() {
                        return Err(
                            SqlError::new(sqlstate::SYNTAX_ERROR, "VALUES lists must all be the same length").into()
                        );
                    }
                    match self.row(row.iter(), table, targets) {
                        Ok(row) => rows.push(row),
                        Err(Stop::Beyond(_)) if !has_defaults(list) => {
                            (self.parameters, *targets) = before;
                            return Ok(None);
                        }
                        Err(stop) => return Err(stop),
                    }
                }
                Ok(Some(rows))
            }
            SetExpr::Select(select)
                if bare && select.from.is_empty() && select.selection.is_none() && select.distinct.is_none() =>
            {
                let expressions: Option<Vec<&Expr>> = select
                    .projection
                    .iter()
                    .map(|item| match item {
                        ast::SelectItem::UnnamedExpr(expr) | ast::SelectItem::ExprWithAlias { expr, .. } => Some(expr),
                        _ => None,
                    })
                    .collect();
                let Some(expressions) = expressions else {
                    return Ok(None);
                };
                let before = self.parameters.clone();
                let mut chosen = targets.clone();
                check_count(Some(expressions.len()), &mut chosen, explicit)?;
                match self.row(expressions.into_iter(), table, &chosen) {
                    Ok(row) => {
                        *targets = chosen;
                        Ok(Some(vec![row]))
                    }
                    Err(Stop::Beyond(_)) => {
                        self.parameters = before;
                        Ok(None)
                    }
                    Err(error) => Err(error),
                }
            }
            _ => Ok(None),
        }
    }

    fn row<'e>(
        &mut self,
        row: impl Iterator<Item = &'e Expr>,
        table: &TableSchema,
        targets: &[usize],
    ) -> Compiled<Vec<Expression>> {
        row.zip(targets)
            .map(|(expression, target)| {
                let is_identity = table.columns[*target].identity.is_some();
                if is_identity && self.overriding == Some(Overriding::User) {
                    // The sequence's value takes its place.
                    return Ok(Expression::Constant(Value::Null));
                }
                if is_default(expression) {
                    return Ok(self.default_of(table, *target)?);
                }
                check_not_given(table, *target)?;
                if self.overriding != Some(Overriding::System) {
                    check_identity(table, *target)?;
                }
                let typed = self.expression(expression, &Scope::empty())?;
                Ok(assigned(self, typed, table, *target)?)
            })
            .collect()
    }

    /// One expression for each column: the input's for targets, the default for all others.
    pub(super) fn values(&mut self, table: &TableSchema, targets: &[usize], cast: bool) -> Compiled<Vec<Expression>> {
        (0..table.columns.len())
            .map(|column| {
                let is_identity = table.columns[column].identity.is_some();
                let given = targets.iter().position(|target| *target == column);
                let given = given.filter(|_| !(is_identity && self.overriding == Some(Overriding::User)));
                if cast && given.is_some() {
                    check_not_given(table, column)?;
                    if self.overriding.is_none() {
                        check_identity(table, column)?;
                    }
                }
                let Some(place) = given else {
                    return Ok(self.default_of(table, column)?);
                };
                let input = Expression::Column(place as u16);
                Ok(if cast {
                    let column = &table.columns[column];
                    column.in_domain(Expression::Cast(Box::new(input), column.column_type, false))
                } else {
                    input
                })
            })
            .collect()
    }

    /// A column's default, or that of its domain, cast for it; NULL without one.
    pub fn default_of(&mut self, table: &TableSchema, column: usize) -> Result<Expression> {
        let known = &table.columns[column];
        let Some(text) = known.default_text().filter(|_| !known.dropped) else {
            let null = Expression::Constant(Value::Null);
            return Ok(if known.dropped || table.generated_column(column).is_some() {
                null
            } else {
                known.in_domain(null)
            });
        };
        let tree = parse::expression(text)?;
        let before = self.parameters.read_in(Zone::UTC);
        let typed = self.expression(&tree, &Scope::empty()).map_err(|stop| stop.into_error());
        let default = typed.and_then(|typed| assigned(self, typed, table, column));
        self.parameters.read_in(before);
        default
    }

    /// The keys that a target of ON CONFLICT means; none: any. Errors: 42704, 42P10.
    pub(super) fn conflict_keys(&self, on: &ast::OnConflict, table: &TableSchema) -> Compiled<Vec<ConflictKey>> {
        Ok(match &on.conflict_target {
            None => Vec::new(),
            Some(ast::ConflictTarget::Columns(parts)) => self.inferred_keys(table, parts)?,
            Some(ast::ConflictTarget::OnConstraint(name)) => {
                let wanted = names::own_relation(name)?;
                if table.primary_key_name.as_deref().map(namespace::bare) == Some(wanted.as_str()) {
                    vec![ConflictKey::PrimaryKey]
                } else {
                    let is_it = |index: &IndexSchema| index.constraint && namespace::bare(&index.name) == wanted;
                    let index = table.indexes.iter().position(is_it);
                    vec![ConflictKey::Index(index.ok_or_else(|| {
                        SqlError::new(
                            sqlstate::UNDEFINED_OBJECT,
                            format!("constraint \"{wanted}\" for table \"{}\" does not exist", table.name),
                        )
                    })?)]
                }
            }
        })
    }

    fn on_conflict(
        &mut self,
        on: &ast::OnConflict,
        table: &Arc<TableSchema>,
        alias: &str,
        insert: &ast::Insert,
    ) -> Compiled<ConflictClause> {
        let targets = self.conflict_keys(on, table)?;
        let update = match &on.action {
            ast::OnConflictAction::DoNothing => None,
            ast::OnConflictAction::DoUpdate(_) if targets.is_empty() => {
                return Err(SqlError::new(
                    sqlstate::SYNTAX_ERROR,
                    "ON CONFLICT DO UPDATE requires inference specification or constraint name",
                )
                .with_hint("For example, ON CONFLICT (column_name).")
                .into());
            }
            ast::OnConflictAction::DoUpdate(_) if alias == "excluded" => {
                let message = "table reference \"excluded\" is ambiguous";
                return Err(SqlError::new(sqlstate::AMBIGUOUS_ALIAS, message)
                    .with_hint("Give the table an alias.")
                    .into());
            }
            ast::OnConflictAction::DoUpdate(update) => {
                let scope = Scope::table(alias, table).and("excluded", table, table.columns.len());
                let assignments = self.assignments(&update.assignments, table, &scope)?;
                let condition = match &update.selection {
                    Some(condition) => Some(self.condition(condition, "WHERE", &scope)?),
                    None => None,
                };
                Some((assignments, condition))
            }
        };
        let guard = match &update {
            Some(_) => self.row_guard(table, GuardedChange::Conflict, |compiler| compiler.reads_inserted(insert))?,
            None => None,
        };
        Ok(ConflictClause { targets, update, guard })
    }

    /// SET clauses: each column once, each value cast for its column.
    pub fn assignments(
        &mut self,
        assignments: &[ast::Assignment],
        table: &TableSchema,
        scope: &Scope,
    ) -> Compiled<Vec<(usize, Expression)>> {
        let mut compiled: Vec<(usize, Expression)> = Vec::with_capacity(assignments.len());
        for (column, value) in pairs(assignments, table, parse::expression)? {
            let value = value.as_ref();
            let expression = if is_default(value) {
                self.drawing(|compiler| Ok(compiler.default_of(table, column)?))?
            } else {
                // What triggers make of a row is written as it is.
                if self.overriding != Some(Overriding::System) {
                    check_not_set(table, column)?;
                }
                let typed = self.drawing(|compiler| compiler.handed_on(value, scope))?;
                assigned(self, typed, table, column)?
            };
            compiled.push((column, expression));
        }
        Ok(compiled)
    }
}

/// Errors: 428C9 for a value given to a column that is always generated.
pub(super) fn check_identity(table: &TableSchema, column: usize) -> Result<()> {
    let column = &table.columns[column];
    if column.identity != Some(Identity::Always) {
        return Ok(());
    }
    let message = format!("cannot insert a non-DEFAULT value into column \"{}\"", column.name);
    Err(SqlError::new(sqlstate::GENERATED_ALWAYS, message)
        .with_detail(always(&column.name))
        .with_hint("Use OVERRIDING SYSTEM VALUE to override."))
}

/// The positions of a table's columns by name; none named: all. Errors: 42703, 42701.
pub fn targets(table: &TableSchema, columns: &[ast::ObjectName]) -> Result<Vec<usize>> {
    let names: Vec<String> = columns.iter().map(names::own_relation).collect::<Result<_>>()?;
    targets_by_name(table, &names)
}

/// The columns that COPY fills, as [`targets`]: all but those that are generated. Errors: 42P10 for one of these.
pub fn copied_columns(table: &TableSchema, names: &[String]) -> Result<Vec<usize>> {
    let mut targets = targets_by_name(table, names)?;
    if names.is_empty() {
        targets.retain(|target| table.generated_column(*target).is_none());
    }
    match targets.iter().find(|target| table.generated_column(**target).is_some()) {
        None => Ok(targets),
        Some(target) => {
            let message = format!("column \"{}\" is a generated column", table.columns[*target].name);
            Err(SqlError::new(sqlstate::INVALID_COLUMN_REFERENCE, message)
                .with_detail("Generated columns cannot be used in COPY."))
        }
    }
}

/// As [`targets`].
fn targets_by_name(table: &TableSchema, names: &[String]) -> Result<Vec<usize>> {
    if names.is_empty() {
        let visible = table.columns.iter().enumerate().filter(|(_, column)| !column.dropped);
        return Ok(visible.map(|(position, _)| position).collect());
    }
    if names.len() > COLUMNS_MAX {
        return Err(SqlError::new(sqlstate::TOO_MANY_COLUMNS, "too many columns"));
    }
    let mut targets = Vec::with_capacity(names.len());
    for name in names {
        let position = table.column(name).ok_or_else(|| no_column(table, name))?;
        if targets.contains(&position) {
            return Err(SqlError::new(
                sqlstate::DUPLICATE_COLUMN,
                format!("column \"{name}\" specified more than once"),
            ));
        }
        targets.push(position);
    }
    Ok(targets)
}

/// Whether rows of values have a DEFAULT, of which a query knows nothing.
fn has_defaults(list: &ast::Values) -> bool {
    list.rows.iter().any(|row| row.content.iter().any(is_default))
}

/// The text of a query with these rows, for these columns. Lists of values become selections: the query processor computes no subquery within a list.
fn as_query(source: &ast::Query, table: &TableSchema, targets: &[usize]) -> String {
    match source.body.as_ref() {
        SetExpr::Values(list)
            if source.with.is_none() && source.order_by.is_none() && source.limit_clause.is_none() =>
        {
            let rows = list.rows.iter().map(|row| {
                let cells = row.content.iter().zip(targets);
                let cells: Vec<String> =
                    cells.map(|(cell, target)| as_cell(cell, table.columns[*target].column_type)).collect();
                format!("SELECT {}", cells.join(", "))
            });
            rows.collect::<Vec<_>>().join(" UNION ALL ")
        }
        SetExpr::Select(select) if select.distinct.is_none() => {
            let mut typed = source.clone();
            if let SetExpr::Select(select) = typed.body.as_mut() {
                give_types(&mut select.projection, table, targets);
            }
            typed.to_string()
        }
        _ => source.to_string(),
    }
}

/// Literals and parameters of a list have the types of the columns that they are for, as in PostgreSQL. Behind a `*` nothing tells which those are.
fn give_types(list: &mut [ast::SelectItem], table: &TableSchema, targets: &[usize]) {
    for (item, target) in list.iter_mut().zip(targets) {
        let (ast::SelectItem::UnnamedExpr(value) | ast::SelectItem::ExprWithAlias { expr: value, .. }) = item else {
            return;
        };
        if is_untyped(value)
            && !table.columns[*target].column_type.has_labels()
            && let Ok(typed) = parse::expression(&as_cell(value, table.columns[*target].column_type))
        {
            *value = typed;
        }
    }
}

/// Whether it is a literal or a parameter that says nothing of its type.
fn is_untyped(cell: &Expr) -> bool {
    match cell {
        Expr::Value(value) => {
            matches!(value.value, ast::Value::SingleQuotedString(_) | ast::Value::EscapedStringLiteral(_))
                || matches!(value.value, ast::Value::Null | ast::Value::Placeholder(_))
        }
        _ => false,
    }
}

/// A value in such a query. A literal or parameter without a type of its own has the column's, as in an INSERT of values.
pub(super) fn as_cell(cell: &Expr, column: values::Type) -> String {
    match is_untyped(cell) {
        true => format!("CAST({cell} AS {})", column.unmodified()),
        false => cell.to_string(),
    }
}

/// Whether so many values fit the target columns; without a list of columns, the last ones may be left out.
pub(super) fn check_count(count: Option<usize>, targets: &mut Vec<usize>, explicit: bool) -> Result<()> {
    let Some(count) = count else {
        return Ok(());
    };
    if count > targets.len() {
        return Err(SqlError::new(sqlstate::SYNTAX_ERROR, "INSERT has more expressions than target columns"));
    }
    if count < targets.len() && explicit {
        return Err(SqlError::new(sqlstate::SYNTAX_ERROR, "INSERT has more target columns than expressions"));
    }
    targets.truncate(count);
    Ok(())
}

/// A program of one action on one table; its parameters and columns are still to come.
pub fn program(action: Action, versioned: &VersionedTable) -> Program {
    Program {
        parameters: Vec::new(),
        actions: vec![action],
        columns: Vec::new(),
        relies_on: relies_on(versioned).into_iter().collect(),
        read_only: false,
        references: Arc::default(),
        database: DatabaseId::FIRST,
    }
}

/// Expressions and columns of a RETURNING list.
pub fn split(outputs: Vec<Output>) -> (Vec<Expression>, Vec<messages::program::ResultColumn>) {
    outputs.into_iter().map(|output| (output.expression, output.column)).unzip()
}

/// Whether it is DEFAULT.
pub(super) fn is_default(expression: &Expr) -> bool {
    matches!(expression, Expr::Identifier(word) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case("default"))
}

/// A supplied value as a column's: the cast that assignment makes.
pub fn supplied(place: usize, table: &TableSchema, column: usize) -> Typed {
    let column = &table.columns[column];
    let value = Expression::Cast(Box::new(Expression::Column(place as u16)), column.column_type, false);
    Typed::known(column.in_domain(value), column.column_type)
}

fn check_plain(insert: &ast::Insert) -> Result<()> {
    let plain = insert.or.is_none()
        && !insert.ignore
        && !insert.overwrite
        && insert.assignments.is_empty()
        && insert.partitioned.is_none()
        && insert.after_columns.is_empty()
        && insert.output.is_none()
        && !insert.replace_into
        && insert.insert_alias.is_none()
        && insert.settings.is_none()
        && insert.format_clause.is_none()
        && insert.multi_table_insert_type.is_none();
    if plain { Ok(()) } else { Err(SqlError::unsupported("INSERT of this form")) }
}
