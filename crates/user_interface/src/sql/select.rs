//! SELECT and VALUES to action programs, where one table or none is read.
//!
//! Invariant: a program returns what PostgreSQL would, in an order that satisfies ORDER BY. Joins, aggregates, subqueries, sorting of rows that are not
//! locked, and system catalogs are [`beyond`] a program.

use crate::errors::{Result, SqlError, sqlstate};
use crate::sql::access::{self, OrderItem};
use crate::sql::expressions::{Compiler, Scope};
use crate::sql::names;
use crate::sql::scope::{HeldTable, tested_first};
use crate::sql::types::{Compiled, Stop, Typed, beyond};
use messages::database::DatabaseId;
use messages::namespace;
use messages::program::{
    Action, Expression, Program, ResultColumn, RowLockStrength, RowLockWait, RowSortKey, RowSource, SelectLock,
};
use messages::schema::{CatalogEntry, TableSchema, VersionedTable};
use messages::{Key, Timestamp};
use sqlparser::ast::{self, Expr, SelectItem, SetExpr};
use values::Type;
use values::cast::Context;
use values::operators::comparable;

/// An expression of a select list with the column that it becomes.
pub struct Output {
    /// What to compute.
    pub expression: Expression,
    /// How the client sees it.
    pub column: ResultColumn,
}

/// What a query of one table compiles to.
pub struct CompiledSelection {
    /// `Action::Select`.
    pub action: Action,
    /// What it returns.
    pub columns: Vec<ResultColumn>,
    /// The catalog row that it relies on.
    pub relies_on: Option<(Key, Timestamp)>,
    /// Whether it locks nothing.
    pub read_only: bool,
}

/// Where the rows of a query come from, and in which order.
#[derive(Default)]
struct SourceRows {
    source: Option<RowSource>,
    filter: Option<Expression>,
    order: Vec<RowSortKey>,
    relies_on: Option<(Key, Timestamp)>,
}

impl Compiler<'_> {
    /// A query as a program.
    pub fn select(&mut self, query: &ast::Query) -> Compiled<Program> {
        let CompiledSelection { action, columns, relies_on, read_only } = self.selection(query)?;
        Ok(Program {
            parameters: self.take_parameters()?,
            actions: vec![action],
            columns,
            relies_on: relies_on.into_iter().collect(),
            read_only,
            references: std::sync::Arc::default(),
            database: DatabaseId::FIRST,
        })
    }

    /// A query as an action.
    pub fn selection(&mut self, query: &ast::Query) -> Compiled<CompiledSelection> {
        let plain = query.with.is_none()
            && query.for_clause.is_none()
            && query.settings.is_none()
            && query.format_clause.is_none()
            && query.pipe_operators.is_empty();
        if !plain {
            return Err(beyond("a query of this form"));
        }
        let select = match query.body.as_ref() {
            SetExpr::Select(select) => select,
            SetExpr::Query(inner)
                if query.order_by.is_none() && query.limit_clause.is_none() && query.fetch.is_none() =>
            {
                return self.selection(inner);
            }
            _ => return Err(beyond("a query of this form")),
        };
        check_plain(select)?;
        let held = match select.from.as_slice() {
            [] => None,
            [from] => Some(self.from(from)?),
            _ => return Err(beyond("a join")),
        };
        let (found, guard) = match held {
            Some(HeldTable { name, versioned, condition }) => (Some((name, versioned)), condition),
            None => (None, None),
        };
        let lock = self.lock(query, found.as_ref())?;
        let scope = found.as_ref().map_or_else(Scope::empty, |(name, table)| Scope::table(name, &table.table));
        let outputs = match found.is_none() {
            true => self.drawing(|compiler| compiler.select_list(&select.projection, &scope, None))?,
            false => self.select_list(&select.projection, &scope, found.as_ref())?,
        };
        let condition = match &select.selection {
            Some(condition) => Some(self.condition(condition, "WHERE", &scope)?),
            None => None,
        };
        let condition = tested_first(guard, condition);
        let order = self.order(query, &scope, &outputs)?;
        let (limit, offset) = self.limits(query)?;
        let rows = match found {
            None if order.as_ref().is_none_or(|order| !order.is_empty()) => {
                return Err(beyond("ORDER BY without a table"));
            }
            None => SourceRows { filter: condition, ..SourceRows::default() },
            Some((_, versioned)) => match lock {
                None => self.found_in_order(&versioned, condition, order)?,
                Some(lock) => {
                    let keys = self.sort_keys(query, &scope, &outputs)?;
                    self.found_to_lock(&versioned, condition, order, keys, lock)?
                }
            },
        };
        let (output, columns) = outputs.into_iter().map(|output| (output.expression, output.column)).unzip();
        let SourceRows { source, filter, order, relies_on } = rows;
        let action = Action::Select { source, filter, output, offset, limit, lock, order };
        Ok(CompiledSelection { action, columns, relies_on, read_only: lock.is_none() })
    }

    fn found_in_order(
        &self,
        versioned: &VersionedTable,
        condition: Option<Expression>,
        order: Option<Vec<OrderItem>>,
    ) -> Compiled<SourceRows> {
        let order = order.ok_or_else(|| beyond("ORDER BY of an expression"))?;
        let chosen = access::choose(&versioned.table, condition, &order, self.parameters.known())
            .ok_or_else(|| beyond("sorting"))?;
        let source = RowSource { table: versioned.table.clone(), path: chosen.path, reverse: chosen.reverse };
        let relies_on = relies_on(versioned);
        Ok(SourceRows { source: Some(source), filter: chosen.filter, order: Vec::new(), relies_on })
    }

    /// Rows that are locked may be sorted. Those that are left out when they are locked pass the whole condition once more.
    fn found_to_lock(
        &self,
        versioned: &VersionedTable,
        condition: Option<Expression>,
        order: Option<Vec<OrderItem>>,
        keys: Vec<RowSortKey>,
        lock: SelectLock,
    ) -> Compiled<SourceRows> {
        let choose =
            |order: &[OrderItem]| access::choose(&versioned.table, condition.clone(), order, self.parameters.known());
        let in_order = order.as_deref().and_then(choose);
        let order = if in_order.is_some() { Vec::new() } else { keys };
        let chosen = in_order.or_else(|| choose(&[])).ok_or_else(|| beyond("this condition"))?;
        let source = RowSource { table: versioned.table.clone(), path: chosen.path, reverse: chosen.reverse };
        let filter = if lock.wait == RowLockWait::Skip { condition } else { chosen.filter };
        Ok(SourceRows { source: Some(source), filter, order, relies_on: relies_on(versioned) })
    }

    /// The parameters' types, once all of the statement is compiled.
    pub fn take_parameters(&mut self) -> Result<Vec<Type>> {
        std::mem::take(&mut self.parameters).finish()
    }

    /// The only table of a FROM clause and the name it goes by.
    fn from(&mut self, from: &ast::TableWithJoins) -> Compiled<HeldTable> {
        if !from.joins.is_empty() {
            return Err(beyond("a join"));
        }
        self.held_factor(&from.relation)
    }

    /// A plain table and the name it goes by.
    pub fn table_factor(&mut self, factor: &ast::TableFactor) -> Compiled<(String, VersionedTable)> {
        let ast::TableFactor::Table {
            name,
            alias,
            args: None,
            with_hints,
            version: None,
            with_ordinality: false,
            partitions,
            json_path: None,
            sample: None,
            index_hints,
        } = factor
        else {
            return Err(beyond("this form of FROM"));
        };
        let alias_columns = alias.as_ref().is_some_and(|alias| !alias.columns.is_empty());
        if alias_columns || !with_hints.is_empty() || !partitions.is_empty() || !index_hints.is_empty() {
            return Err(beyond("this form of FROM"));
        }
        let versioned = self.table(name)?;
        self.check_not_held(&versioned.table)?;
        let name = match alias {
            Some(alias) => names::identifier(&alias.name),
            None => namespace::bare(&versioned.table.name).to_owned(),
        };
        Ok((name, versioned))
    }

    /// A table of the catalog. Errors: 42P01, or beyond for a system catalog.
    pub fn table(&mut self, name: &ast::ObjectName) -> Compiled<VersionedTable> {
        let relation = names::relation(name)?;
        let own = relation.schema.as_deref().is_none_or(|schema| schema == "public");
        if let Some(found) = self.catalog.tables.get(&relation.name).filter(|_| own) {
            if found.table.view.is_some() {
                // Only what is not compiled as a statement of its own comes here with one.
                return Err(SqlError::unsupported(format!("the view \"{}\" here", relation.name)).into());
            }
            return Ok(found.clone());
        }
        if relation.is_system() {
            return Err(beyond("a system catalog"));
        }
        let place = match name.0.first() {
            Some(ast::ObjectNamePart::Identifier(first)) => names::place(first, self.text),
            _ => None,
        };
        let (code, message) = match self.catalog.index_names.get(&relation.name).filter(|_| own) {
            Some(_) => (sqlstate::WRONG_OBJECT_TYPE, format!("\"{}\" is an index", relation.name)),
            None => (
                sqlstate::UNDEFINED_TABLE,
                format!("relation \"{}\" does not exist", name.to_string().replace('"', "")),
            ),
        };
        Err(SqlError::new(code, message).at(place).into())
    }

    /// The columns of a select list or RETURNING.
    pub fn select_list(
        &mut self,
        items: &[SelectItem],
        scope: &Scope,
        table: Option<&(String, VersionedTable)>,
    ) -> Compiled<Vec<Output>> {
        let mut outputs = Vec::with_capacity(items.len());
        for item in items {
            match item {
                SelectItem::UnnamedExpr(expression) => {
                    outputs.push(self.output(expression, column_name(expression), scope, table)?);
                }
                // A type and a literal: `inet '10.0.0.1'`.
                SelectItem::ExprWithAlias { alias, .. } if alias.quote_style == Some('\'') => {
                    return Err(beyond("a literal of this type"));
                }
                SelectItem::ExprWithAlias { expr, alias } => {
                    outputs.push(self.output(expr, names::identifier(alias), scope, table)?);
                }
                SelectItem::Wildcard(options) if is_bare(options) => match table {
                    Some((_, versioned)) => {
                        outputs.extend(all_columns(&versioned.table));
                        scope.beside().for_each(|(_, table, first)| outputs.extend(columns_at(table, first)));
                    }
                    None => {
                        return Err(SqlError::new(
                            sqlstate::SYNTAX_ERROR,
                            "SELECT * with no tables specified is not valid",
                        )
                        .into());
                    }
                },
                SelectItem::QualifiedWildcard(ast::SelectItemQualifiedWildcardKind::ObjectName(name), options)
                    if is_bare(options) =>
                {
                    let wanted = names::own_relation(name)?;
                    let beside = scope.beside().find(|(name, ..)| *name == wanted);
                    match (table.filter(|(alias, _)| *alias == wanted), beside) {
                        (Some((_, versioned)), _) => outputs.extend(all_columns(&versioned.table)),
                        (None, Some((_, table, first))) => outputs.extend(columns_at(table, first)),
                        (None, None) => {
                            return Err(SqlError::new(
                                sqlstate::UNDEFINED_TABLE,
                                format!("missing FROM-clause entry for table \"{wanted}\""),
                            )
                            .into());
                        }
                    }
                }
                _ => return Err(beyond("this form of select list")),
            }
        }
        Ok(outputs)
    }

    fn output(
        &mut self,
        expression: &Expr,
        name: String,
        scope: &Scope,
        table: Option<&(String, VersionedTable)>,
    ) -> Compiled<Output> {
        let typed = self.handed_on(expression, scope)?;
        let column_type = typed.data_type.unwrap_or(Type::Text);
        let expression = self.parameters.coerce(typed, column_type, Context::Implicit)?;
        let origin = match (&expression, table) {
            (Expression::Column(position), Some((_, versioned)))
                if usize::from(*position) < versioned.table.columns.len() =>
            {
                (versioned.table.oid, *position as i16 + 1)
            }
            _ => (0, 0),
        };
        Ok(Output { expression, column: ResultColumn { name, column_type, origin } })
    }

    /// ORDER BY as columns; `None` when it orders by something else.
    fn order(&mut self, query: &ast::Query, scope: &Scope, outputs: &[Output]) -> Compiled<Option<Vec<OrderItem>>> {
        let Some(order_by) = &query.order_by else {
            return Ok(Some(Vec::new()));
        };
        let (ast::OrderByKind::Expressions(items), None) = (&order_by.kind, &order_by.interpolate) else {
            return Err(beyond("this form of ORDER BY"));
        };
        let mut order = Vec::with_capacity(items.len());
        for item in items {
            let Some(Expression::Column(column)) = self.order_expression(&item.expr, scope, outputs)? else {
                return Ok(None);
            };
            let has_order = |data_type: Type| comparable(data_type, data_type);
            if !scope.type_at(usize::from(column)).is_none_or(has_order) {
                return Err(beyond("ORDER BY of a type without order"));
            }
            let descending = item.options.asc == Some(false);
            order.push(OrderItem {
                column: usize::from(column),
                descending,
                nulls_first: item.options.nulls_first.unwrap_or(descending),
            });
        }
        Ok(Some(order))
    }

    /// ORDER BY as keys to sort by.
    fn sort_keys(&mut self, query: &ast::Query, scope: &Scope, outputs: &[Output]) -> Compiled<Vec<RowSortKey>> {
        let Some(order_by) = &query.order_by else { return Ok(Vec::new()) };
        let ast::OrderByKind::Expressions(items) = &order_by.kind else {
            return Err(beyond("this form of ORDER BY"));
        };
        let mut keys = Vec::with_capacity(items.len());
        for item in items {
            let expression = self.order_expression(&item.expr, scope, outputs)?;
            let expression = expression.ok_or_else(|| beyond("ORDER BY of this expression"))?;
            let known = expression.type_over(&|position| scope.type_at(position));
            if !known.is_none_or(|known| comparable(known, known)) {
                return Err(beyond("ORDER BY of a type without order"));
            }
            let descending = item.options.asc == Some(false);
            keys.push(RowSortKey {
                expression,
                descending,
                nulls_first: item.options.nulls_first.unwrap_or(descending),
            });
        }
        Ok(keys)
    }

    /// What an item of ORDER BY orders by: a name or number of an output, else an expression.
    fn order_expression(&mut self, item: &Expr, scope: &Scope, outputs: &[Output]) -> Compiled<Option<Expression>> {
        match item {
            Expr::Value(value) => {
                let ast::Value::Number(digits, _) = &value.value else {
                    return Ok(None);
                };
                let position = digits.parse::<usize>().ok().filter(|number| (1..=outputs.len()).contains(number));
                let Some(position) = position else {
                    return Err(SqlError::new(
                        sqlstate::INVALID_COLUMN_REFERENCE,
                        format!("ORDER BY position {digits} is not in select list"),
                    )
                    .into());
                };
                return Ok(Some(outputs[position - 1].expression.clone()));
            }
            Expr::Identifier(identifier) => {
                let name = names::identifier(identifier);
                if let Some(output) = outputs.iter().find(|output| output.column.name == name) {
                    return Ok(Some(output.expression.clone()));
                }
            }
            _ => {}
        }
        match self.expression(item, scope) {
            Ok(typed) => Ok(Some(typed.expression)),
            Err(Stop::Beyond(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// LIMIT and OFFSET, also as FETCH.
    fn limits(&mut self, query: &ast::Query) -> Compiled<(Option<Expression>, Option<Expression>)> {
        let (mut limit, mut offset) = (None, None);
        match &query.limit_clause {
            None => {}
            Some(ast::LimitClause::LimitOffset { limit: wanted, offset: skipped, limit_by }) if limit_by.is_empty() => {
                limit = wanted.as_ref();
                offset = skipped.as_ref().map(|skipped| &skipped.value);
            }
            Some(_) => return Err(beyond("this form of LIMIT")),
        }
        if let Some(fetch) = &query.fetch {
            if fetch.with_ties || fetch.percent {
                return Err(beyond("this form of FETCH"));
            }
            limit = fetch.quantity.as_ref();
            if limit.is_none() {
                return Ok((Some(Expression::Constant(values::Value::BigInt(1))), self.count(offset)?));
            }
        }
        Ok((self.count(limit)?, self.count(offset)?))
    }

    fn count(&mut self, expression: Option<&Expr>) -> Compiled<Option<Expression>> {
        expression.map(|expression| self.typed_as(expression, Type::BigInt, &Scope::empty())).transpose()
    }

    /// The strongest lock that the clauses ask for, and the least patient way of waiting.
    fn lock(&mut self, query: &ast::Query, found: Option<&(String, VersionedTable)>) -> Compiled<Option<SelectLock>> {
        let mut all: Option<SelectLock> = None;
        for clause in &query.locks {
            if let Some(of) = &clause.of {
                let wanted = names::own_relation(of)?;
                if found.is_none_or(|(name, _)| *name != wanted) {
                    let message =
                        format!("relation \"{wanted}\" in FOR {} clause not found in FROM clause", clause.lock_type);
                    return Err(SqlError::new(sqlstate::UNDEFINED_TABLE, message).into());
                }
            }
            let strength = match clause.lock_type {
                ast::LockType::Update => RowLockStrength::Update,
                ast::LockType::Share => RowLockStrength::Share,
            };
            let wait = match clause.nonblock {
                None => RowLockWait::Wait,
                Some(ast::NonBlock::Nowait) => RowLockWait::Error,
                Some(ast::NonBlock::SkipLocked) => RowLockWait::Skip,
            };
            let own = SelectLock { strength, wait };
            all = Some(all.map_or(own, |other| stronger(other, own)));
        }
        Ok(all)
    }
}

/// What both of two clauses for one table ask for.
fn stronger(one: SelectLock, other: SelectLock) -> SelectLock {
    let has = |strength| one.strength == strength || other.strength == strength;
    let waits = |wait| one.wait == wait || other.wait == wait;
    SelectLock {
        strength: if has(RowLockStrength::Update) { RowLockStrength::Update } else { RowLockStrength::Share },
        wait: match (waits(RowLockWait::Error), waits(RowLockWait::Skip)) {
            (true, _) => RowLockWait::Error,
            (false, true) => RowLockWait::Skip,
            (false, false) => RowLockWait::Wait,
        },
    }
}

/// The catalog row that a statement on this table relies on; none for a table that this very transaction made or changed.
pub fn relies_on(versioned: &VersionedTable) -> Option<(Key, Timestamp)> {
    (versioned.version != Timestamp::ZERO).then(|| (CatalogEntry::key(&versioned.table.name), versioned.version))
}

/// All columns of a table whose columns begin at this position.
fn columns_at(table: &TableSchema, first: usize) -> impl Iterator<Item = Output> {
    table.columns.iter().enumerate().map(move |(place, column)| Output {
        expression: Expression::Column((first + place) as u16),
        column: ResultColumn { name: column.name.clone(), column_type: column.column_type, origin: (0, 0) },
    })
}

/// Every column of a table, as `*` means it.
fn all_columns(table: &TableSchema) -> impl Iterator<Item = Output> + '_ {
    let visible = table.columns.iter().enumerate().filter(|(_, column)| !column.dropped);
    visible.map(|(position, column)| Output {
        expression: Expression::Column(position as u16),
        column: ResultColumn {
            name: column.name.clone(),
            column_type: column.column_type,
            origin: (table.oid, position as i16 + 1),
        },
    })
}

/// The name PostgreSQL gives an output without one.
pub fn column_name(expression: &Expr) -> String {
    strong_name(expression).or_else(|| weak_name(expression)).unwrap_or_else(|| "?column?".to_string())
}

/// A name that is kept within a cast or CASE (`FigureColname` in parse_target.c).
fn strong_name(expression: &Expr) -> Option<String> {
    Some(match expression {
        Expr::Identifier(identifier) => names::identifier(identifier),
        Expr::CompoundIdentifier(parts) => parts.last().map_or_else(String::new, names::identifier),
        Expr::Nested(inner) | Expr::Cast { expr: inner, .. } => return strong_name(inner),
        Expr::Case { else_result, .. } => return else_result.as_deref().and_then(strong_name),
        Expr::Function(function) => {
            return names::function(&function.name).map(|name| namespace::bare(&name).to_owned());
        }
        Expr::Array(_) => "array".to_string(),
        Expr::Extract { .. } => "extract".to_string(),
        Expr::Ceil { .. } => "ceil".to_string(),
        Expr::Floor { .. } => "floor".to_string(),
        Expr::Position { .. } => "position".to_string(),
        Expr::Substring { shorthand: true, .. } => "substr".to_string(),
        Expr::Substring { .. } => "substring".to_string(),
        Expr::Trim { trim_where, .. } => match trim_where {
            Some(ast::TrimWhereField::Leading) => "ltrim".to_string(),
            Some(ast::TrimWhereField::Trailing) => "rtrim".to_string(),
            _ => "btrim".to_string(),
        },
        _ => return None,
    })
}

/// The name of an output that is not named by what it computes.
fn weak_name(expression: &Expr) -> Option<String> {
    let of_type = |data_type| {
        let found = match crate::sql::types::user_type_name(data_type) {
            Some(name) => return names::relation(name).ok().map(|known| namespace::bare(&known.name).to_owned()),
            None => crate::sql::types::data_type(data_type).ok()?,
        };
        // An array is called as its elements are.
        Some(found.element().unwrap_or(found).catalog_name().to_string())
    };
    match expression {
        Expr::Nested(inner) => weak_name(inner),
        Expr::Cast { data_type, .. } => of_type(data_type),
        Expr::TypedString(typed) => of_type(&typed.data_type),
        Expr::Interval(_) => Some("interval".to_string()),
        Expr::Case { .. } => Some("case".to_string()),
        _ => None,
    }
}

fn is_bare(options: &ast::WildcardAdditionalOptions) -> bool {
    options.opt_ilike.is_none()
        && options.opt_exclude.is_none()
        && options.opt_except.is_none()
        && options.opt_replace.is_none()
        && options.opt_rename.is_none()
        && options.opt_alias.is_none()
}

/// Leaves clauses that no action has to the query processor.
fn check_plain(select: &ast::Select) -> Compiled<()> {
    let grouped = match &select.group_by {
        ast::GroupByExpr::Expressions(expressions, modifiers) => !expressions.is_empty() || !modifiers.is_empty(),
        ast::GroupByExpr::All(_) => true,
    };
    let plain = select.distinct.is_none()
        && select.top.is_none()
        && select.into.is_none()
        && select.lateral_views.is_empty()
        && select.prewhere.is_none()
        && select.connect_by.is_empty()
        && select.cluster_by.is_empty()
        && select.distribute_by.is_empty()
        && select.sort_by.is_empty()
        && select.having.is_none()
        && select.named_window.is_empty()
        && select.qualify.is_none()
        && select.value_table_mode.is_none();
    if select.into.is_some() {
        return Err(SqlError::unsupported("SELECT INTO").into());
    }
    if grouped || !plain {
        return Err(beyond("grouping"));
    }
    Ok(())
}

/// Casts an expression to a column for storing: shared by INSERT and UPDATE.
pub fn assigned(compiler: &mut Compiler, typed: Typed, table: &TableSchema, column: usize) -> Result<Expression> {
    let column = &table.columns[column];
    let from = typed.type_name();
    if let (Expression::Column(own), Some(domain)) = (&typed.expression, &column.domain)
        && let Some(Some(other)) = table.columns.get(usize::from(*own)).map(|other| &other.domain)
        && other.oid == domain.oid
    {
        // It is of the domain already, also where that has become stricter since.
        return Ok(typed.expression);
    }
    match (compiler.parameters.assign(typed, &column.name, column.column_type), &column.domain) {
        (Ok(value), _) => Ok(column.in_domain(value)),
        (Err(error), Some(domain)) if error.sqlstate == sqlstate::DATATYPE_MISMATCH => {
            let (name, domain) = (&column.name, &domain.name);
            let message = format!("column \"{name}\" is of type {domain} but expression is of type {from}");
            Err(Box::new(SqlError { message, ..*error }))
        }
        (Err(error), None) | (Err(error), Some(_)) => Err(error),
    }
}
